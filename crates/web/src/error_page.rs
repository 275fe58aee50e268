//! Errors as pages for people: which requests get one, and the page.

use askama::Template;
use axum::body::Body;
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use primitives::RequestId;

use crate::PAGE_POLICY;

/// The path of a request and what its headers say about the form of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorForm {
    /// The error envelope.
    Envelope,
    /// A page for a person.
    Page,
}

impl ErrorForm {
    /// Returns the form of an error for a request. A page is for clients that prefer HTML to JSON, as browsers do; `*/*` does not.
    /// Paths of programs, `/api/…` and MCP endpoints, answer with a page only if a browser opens them as a document: some
    /// HTTP libraries prefer HTML without being asked to.
    #[must_use]
    pub fn of(path: &str, headers: &HeaderMap) -> Self {
        let is_for_programs =
            path.starts_with("/api/") || path.trim_end_matches('/').ends_with("/mcp");
        let is_document = headers.get("sec-fetch-dest").is_some_and(|value| value == "document");
        if prefers_html(headers) && (is_document || !is_for_programs) {
            Self::Page
        } else {
            Self::Envelope
        }
    }
}

/// Whether `Accept` names HTML with a higher quality than the one JSON has there.
fn prefers_html(headers: &HeaderMap) -> bool {
    let (mut html, mut json, mut json_rank) = (0.0, 0.0, 0);
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    for range in values.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default().to_ascii_lowercase();
        let quality = parts.find_map(|part| part.strip_prefix("q=")).unwrap_or("1");
        let quality: f64 = quality.trim().parse().unwrap_or(0.0);
        // The most specific range counts.
        let rank = match media.as_str() {
            "text/html" | "application/xhtml+xml" => {
                html = f64::max(html, quality);
                continue;
            }
            "application/json" => 3,
            "application/*" => 2,
            "*/*" => 1,
            _ => continue,
        };
        if rank > json_rank {
            (json, json_rank) = (quality, rank);
        }
    }
    html > json
}

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage<'text> {
    status: u16,
    title: &'text str,
    message: &'text str,
    request_id: &'text str,
}

/// Returns title and message for a status.
fn explain(status: StatusCode) -> (&'static str, &'static str) {
    match status.as_u16() {
        400 => ("This address is not valid", "The link is incomplete or contains an error."),
        401 => {
            ("This address needs a key", "It is part of the API, which programs call with a key.")
        }
        403 => ("This is not available", "You cannot open this address."),
        404 | 410 => (
            "Page not found",
            "There is no page at this address. The link may be incomplete, or the page was removed.",
        ),
        405 => (
            "This address is for programs",
            "It is part of the API and cannot be opened in a browser.",
        ),
        413 => ("This is too large", "The request is larger than this address accepts."),
        429 => ("Too many requests", "Wait a minute and load the page again."),
        503 => (
            "Souk is not available at the moment",
            "It is overloaded or under maintenance. Load the page again in half a minute.",
        ),
        500.. => {
            ("Something went wrong", "The error was recorded. Load the page again in a moment.")
        }
        _ => ("This is not possible", "The request was not accepted."),
    }
}

/// Replaces the body of an error response with a page. Headers such as `Allow` and `Retry-After` stay.
#[must_use]
pub fn with_error_page(response: Response, id: Option<&RequestId>) -> Response {
    let (title, message) = explain(response.status());
    replace(response, title, message, id)
}

/// Writes an error page into a response.
pub(crate) fn replace(
    mut response: Response,
    title: &str,
    message: &str,
    id: Option<&RequestId>,
) -> Response {
    let request_id = id.map_or("", RequestId::as_str);
    let status = response.status().as_u16();
    let page = ProblemPage { status, title, message, request_id };
    // Rendering only writes to memory, which cannot fail.
    let text = page.render().unwrap_or_default();
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    headers.append(VARY, HeaderValue::from_static("Accept"));
    *response.body_mut() = Body::from(text);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIREFOX: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    const CHROME: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8";
    const OLD_JAVA: &str = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2";

    fn form(path: &str, accept: &'static str, dest: Option<&'static str>) -> ErrorForm {
        let mut headers = HeaderMap::new();
        if !accept.is_empty() {
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
        }
        if let Some(dest) = dest {
            headers.insert("sec-fetch-dest", HeaderValue::from_static(dest));
        }
        ErrorForm::of(path, &headers)
    }

    #[test]
    fn only_a_client_that_prefers_html_gets_a_page() {
        for accept in [FIREFOX, CHROME, "text/html", "application/json;q=0.5, text/html"] {
            assert_eq!(form("/nowhere", accept, None), ErrorForm::Page, "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "application/json",
            "application/json, text/event-stream",
            "text/html, application/json",
            "text/html;q=0.5, */*",
            "text/html;q=0",
            "text/html;q=x",
            "text/plain",
        ] {
            assert_eq!(form("/nowhere", accept, None), ErrorForm::Envelope, "{accept}");
        }
    }

    #[test]
    fn a_path_of_programs_answers_with_a_page_only_to_a_browser() {
        for path in ["/api/v1/nowhere", "/demo-store/mcp", "/api/v1/demo-store/mcp/"] {
            for accept in [FIREFOX, OLD_JAVA] {
                assert_eq!(form(path, accept, None), ErrorForm::Envelope, "{path} {accept}");
            }
            assert_eq!(form(path, FIREFOX, Some("empty")), ErrorForm::Envelope, "{path}");
            assert_eq!(form(path, FIREFOX, Some("document")), ErrorForm::Page, "{path}");
            assert_eq!(form(path, "*/*", Some("document")), ErrorForm::Envelope, "{path}");
        }
    }
}
