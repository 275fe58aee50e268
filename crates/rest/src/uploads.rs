//! How the body of a request is received, by the endpoint that it goes to.

use std::sync::LazyLock;

use axum::http::Method;

use crate::request::LARGE_JSON_BYTES_MAX;
use crate::routes::Operation;

/// How a body is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    /// Buffered, with the limits of an ordinary request.
    Buffered,
    /// Buffered up to a larger size, which may take longer: an endpoint that declares `.large_json()`.
    LargeJson {
        /// Largest size, in bytes.
        bytes_max: usize,
    },
    /// Processed while it arrives: an endpoint that declares `.upload()`.
    Stream,
}

/// Returns how the body of a request is received, by its method and path. The server calls this before routing, because
/// its body limits and timeouts wrap the whole router.
#[must_use]
pub fn body_kind(method: &Method, path: &str) -> BodyKind {
    static UPLOADS: LazyLock<Vec<Upload>> =
        LazyLock::new(|| uploads(crate::endpoints().operations()));
    let Some(path) = path.strip_prefix("/api/v1") else {
        return BodyKind::Buffered;
    };
    let upload = UPLOADS.iter().find(|upload| upload.matches(method, path));
    upload.map_or(BodyKind::Buffered, |upload| upload.kind)
}

/// An endpoint whose bodies may be larger than those of other requests.
struct Upload {
    method: &'static str,
    path: &'static str,
    kind: BodyKind,
}

impl Upload {
    fn matches(&self, method: &Method, path: &str) -> bool {
        let mut segments = path.split('/');
        let is_same_path = self.path.split('/').all(|expected| {
            segments.next().is_some_and(|it| it == expected || expected.starts_with('{'))
        });
        is_same_path
            && segments.next().is_none()
            && method.as_str().eq_ignore_ascii_case(self.method)
    }
}

fn uploads(operations: &[Operation]) -> Vec<Upload> {
    let upload = |operation: &Operation| {
        let kind = match operation.body_kind {
            BodyKind::Buffered => return None,
            kind => kind,
        };
        Some(Upload { method: operation.method, path: operation.path, kind })
    };
    operations.iter().filter_map(upload).collect()
}

impl BodyKind {
    /// The kind of an endpoint that extracts its body with `LargeJson`.
    pub(crate) const LARGE_JSON: Self = Self::LargeJson { bytes_max: LARGE_JSON_BYTES_MAX };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Endpoint, Routes};

    #[test]
    fn an_endpoint_declares_how_its_body_is_received() {
        let routes = Routes::<()>::new()
            .with(Endpoint::put("/feeds/{id}", Access::Public, async || "").upload())
            .with(Endpoint::patch("/feeds", Access::Public, async || "").large_json())
            .with(Endpoint::post("/feeds", Access::Public, async || ""));
        let uploads = uploads(routes.operations());
        let kind = |method: Method, path: &str| {
            uploads.iter().find(|it| it.matches(&method, path)).map(|upload| upload.kind)
        };
        assert_eq!(kind(Method::PUT, "/feeds/main"), Some(BodyKind::Stream));
        assert_eq!(kind(Method::PATCH, "/feeds"), Some(BodyKind::LARGE_JSON));
        for path in ["/feeds", "/feeds/main/more", "/feed/main", "/feeds/main/", ""] {
            assert_eq!(kind(Method::PUT, path), None, "{path}");
        }
        assert_eq!(kind(Method::POST, "/feeds/main").or(kind(Method::POST, "/feeds")), None);
    }

    #[test]
    fn other_bodies_are_buffered() {
        assert_eq!(body_kind(&Method::POST, "/demo-store/mcp"), BodyKind::Buffered);
        assert_eq!(body_kind(&Method::GET, "/api/v1/health"), BodyKind::Buffered);
        assert_eq!(body_kind(&Method::POST, "/api/v1/merchant/imports"), BodyKind::Stream);
        assert_eq!(body_kind(&Method::PATCH, "/api/v1/merchant/products"), BodyKind::LARGE_JSON);
    }
}
