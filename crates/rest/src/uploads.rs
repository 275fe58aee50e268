//! Recognizes requests to endpoints that declare `.upload()`.

use std::sync::LazyLock;

use axum::http::Method;

use crate::routes::Operation;

/// Returns whether a request is an upload, by its method and path. The server calls this before routing, because its
/// body limits and timeouts wrap the whole router.
#[must_use]
pub fn is_upload(method: &Method, path: &str) -> bool {
    static UPLOADS: LazyLock<Vec<Upload>> =
        LazyLock::new(|| uploads(crate::endpoints().operations()));
    let Some(path) = path.strip_prefix("/api/v1") else {
        return false;
    };
    UPLOADS.iter().any(|upload| upload.matches(method, path))
}

/// Method and path template of an endpoint that accepts uploads.
struct Upload {
    method: &'static str,
    path: &'static str,
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
    let uploads = operations.iter().filter(|operation| operation.upload);
    uploads.map(|operation| Upload { method: operation.method, path: operation.path }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Endpoint, Routes};

    #[test]
    fn an_endpoint_declares_whether_it_accepts_uploads() {
        let routes = Routes::<()>::new()
            .with(Endpoint::put("/feeds/{id}", Access::Public, async || "").upload())
            .with(Endpoint::post("/feeds", Access::Public, async || ""));
        let uploads = uploads(routes.operations());
        let is = |method: Method, path: &str| uploads.iter().any(|it| it.matches(&method, path));
        assert!(is(Method::PUT, "/feeds/main"));
        for path in ["/feeds", "/feeds/main/more", "/feed/main", "/feeds/main/", ""] {
            assert!(!is(Method::PUT, path), "{path}");
        }
        assert!(!is(Method::POST, "/feeds/main") && !is(Method::POST, "/feeds"));
    }

    #[test]
    fn other_paths_are_no_uploads() {
        assert!(!is_upload(&Method::POST, "/demo-store/mcp"));
        assert!(!is_upload(&Method::GET, "/api/v1/health"));
    }
}
