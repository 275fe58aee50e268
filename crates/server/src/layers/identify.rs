//! Every request gets an id, found again in the log, in errors and in the answer's `X-Request-Id`.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use database::Dice;
use http::HeaderValue;
use primitives::RequestId;

const HEADER: &str = "x-request-id";

pub(crate) async fn identify(
    State(dice): State<Dice>,
    mut request: Request,
    next: Next,
) -> Response {
    let given = request.headers().get(HEADER).and_then(|value| value.to_str().ok());
    let id = given
        .and_then(RequestId::from_caller)
        .unwrap_or_else(|| RequestId::from_random(dice.draw()));
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}
