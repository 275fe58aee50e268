//! Which requests are uploads, as their endpoints say.

use std::sync::LazyLock;

use axum::http::Method;

use crate::routes::Operation;

/// Whether a request is an upload, by its method and the path of its address. The server asks before
/// the request is routed, because limits lie around the whole.
#[must_use]
pub fn is_upload(method: &Method, path: &str) -> bool {
    static UPLOADS: LazyLock<Vec<Upload>> =
        LazyLock::new(|| uploads(crate::endpoints().operations()));
    let Some(path) = path.strip_prefix("/api/v1") else {
        return false;
    };
    UPLOADS.iter().any(|upload| upload.is(method, path))
}

/// Method and path of an endpoint that says it takes uploads.
struct Upload {
    method: &'static str,
    path: &'static str,
}

impl Upload {
    fn is(&self, method: &Method, path: &str) -> bool {
        let mut parts = path.split('/');
        let same = self.path.split('/').all(|wanted| {
            parts.next().is_some_and(|part| part == wanted || wanted.starts_with('{'))
        });
        same && parts.next().is_none() && method.as_str().eq_ignore_ascii_case(self.method)
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
    fn an_endpoint_says_whether_it_takes_uploads() {
        let routes = Routes::<()>::new()
            .with(Endpoint::put("/feeds/{id}", Access::Public, async || "").upload())
            .with(Endpoint::post("/feeds", Access::Public, async || ""));
        let uploads = uploads(routes.operations());
        let is = |method: Method, path: &str| uploads.iter().any(|it| it.is(&method, path));
        assert!(is(Method::PUT, "/feeds/main"));
        for path in ["/feeds", "/feeds/main/more", "/feed/main", "/feeds/main/", ""] {
            assert!(!is(Method::PUT, path), "{path}");
        }
        assert!(!is(Method::POST, "/feeds/main") && !is(Method::POST, "/feeds"));
    }

    #[test]
    fn what_is_not_ours_is_no_upload() {
        assert!(!is_upload(&Method::POST, "/demo-store/mcp"));
        assert!(!is_upload(&Method::GET, "/api/v1/health"));
    }
}
