//! Turns errors into pages for people who open an address in a browser.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use primitives::RequestId;
use web::ErrorForm;

/// Replaces the body of an error with a page, if the client prefers one and the response is not a page already.
pub(crate) async fn error_pages(request: Request, next: Next) -> Response {
    let form = ErrorForm::of(request.uri().path(), request.headers());
    let id = request.extensions().get::<RequestId>().cloned();
    let response = next.run(request).await;
    let is_error = response.status() >= StatusCode::BAD_REQUEST;
    if form == ErrorForm::Page && is_error && !is_html(&response) {
        web::with_error_page(response, id.as_ref())
    } else {
        response
    }
}

fn is_html(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(b"text/html"))
}
