//! The pages as browsers and agents see them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod app;
mod order_page;
mod trust_page;

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use http_body_util::BodyExt;
use tower::ServiceExt;
use web::Site;

struct Page {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Page {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

async fn page_of(site_url: &str, address: &str) -> Page {
    let router = web::pages(Site { site_url: site_url.into() });
    let request = Request::get(address).body(Body::empty()).unwrap();
    let (parts, body) = router.oneshot(request).await.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Page { status: parts.status.as_u16(), headers: parts.headers, text }
}

async fn page(address: &str) -> Page {
    page_of("https://souk.example", address).await
}

#[tokio::test]
async fn every_page_has_a_content_type_and_a_content_security_policy() {
    for (address, content_type) in [
        ("/", "text/html; charset=utf-8"),
        ("/assets/site.css", "text/css; charset=utf-8"),
        ("/assets/purchase.css", "text/css; charset=utf-8"),
        ("/assets/public.css", "text/css; charset=utf-8"),
        ("/llms.txt", "text/plain; charset=utf-8"),
        ("/robots.txt", "text/plain; charset=utf-8"),
        ("/api/docs", "text/html; charset=utf-8"),
        ("/api/docs/", "text/html; charset=utf-8"),
        ("/api/docs/start.js", "text/javascript; charset=utf-8"),
        ("/api/docs/swagger-ui.css", "text/css; charset=utf-8"),
        ("/api/docs/swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
        ("/demo/images/demo-store/mug.svg", "image/svg+xml"),
    ] {
        let page = page(address).await;
        assert_eq!((page.status, page.header("content-type")), (200, content_type), "{address}");
        assert_eq!(page.header("x-content-type-options"), "nosniff", "{address}");
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{address}: {policy}");
        assert!(!policy.contains("http") && !policy.contains('*'), "{address}: {policy}");
        let scripts_inline = policy.contains("script-src") && policy.contains("unsafe");
        assert!(!scripts_inline, "{address}: {policy}");
    }
}

/// The URLs that a page makes a browser load.
fn loaded(html: &str) -> Vec<&str> {
    let attributes = ["src=\"", "rel=\"stylesheet\" href=\""];
    let after = attributes.iter().flat_map(|attribute| html.split(attribute).skip(1));
    after.map(|rest| rest.split('"').next().unwrap()).collect()
}

#[tokio::test]
async fn pages_load_only_files_of_this_router() {
    let mut count = 0;
    for address in ["/", "/api/docs"] {
        let html = page(address).await.text;
        assert!(!html.contains("<style") && !html.contains("style=\"") && !html.contains("onload"));
        for file in loaded(&html) {
            assert_eq!(page(file).await.status, 200, "{address} loads {file}");
            count += 1;
        }
    }
    assert_eq!(count, 4);
    let start = page("/api/docs/start.js").await.text;
    assert!(start.contains("/api/v1/openapi.json") && start.contains("validatorUrl: null"));
}

#[tokio::test]
async fn the_landing_page_has_the_first_call_and_no_script() {
    let html = page("/").await.text;
    assert!(!html.contains("<script"));
    for expected in [
        "curl https://souk.example/demo-store/mcp",
        "href=\"/api/docs\"",
        "href=\"/stores\"",
        "href=\"/health\"",
    ] {
        assert!(html.contains(expected), "{expected} is missing");
    }
}

#[tokio::test]
async fn the_site_url_is_escaped_in_html_and_plain_in_text() {
    let odd = "https://souk.example/<script>&";
    let html = page_of(odd, "/").await.text;
    assert!(!html.contains("<script>") && html.contains("&#60;script&#62;"), "{html}");
    assert!(page_of(odd, "/llms.txt").await.text.contains(odd));
}

#[tokio::test]
async fn llms_txt_names_endpoints_and_tools() {
    let text = page("/llms.txt").await.text;
    for expected in [
        "https://souk.example/{slug}/mcp",
        "get_product_details",
        "browse_categories",
        "get_merchant_profile",
        "complete_checkout",
        "request_human_confirmation",
        "https://souk.example/api/v1/stores/directory",
        "/api/v1/stores/{slug}",
        "GET /api/v1/agent/orders",
        "`agent:orders` for orders, `agent:read` for all others",
        "https://souk.example/api/v1/openapi.json",
    ] {
        assert!(text.contains(expected), "{expected} is missing");
    }
    assert!(!text.contains("&#"), "plain text is not escaped");
    // The recommended flow, in its order.
    let flow = [
        "search_products",
        "get_trust_score",
        "create_cart",
        "preview_checkout",
        "Ask the person",
        "complete_checkout",
    ];
    let positions: Vec<usize> = flow.iter().map(|step| text.find(step).unwrap()).collect();
    assert!(positions.is_sorted(), "{positions:?}");
}

#[tokio::test]
async fn the_page_of_the_swagger_crate_is_not_served() {
    let ours = page("/api/docs").await.text;
    for address in ["/api/docs/", "/api/docs?title=x", "/api/docs/?%22%3E"] {
        assert_eq!(page(address).await.text, ours, "{address}");
    }
    for address in ["/api/docs/swagger-ui-bundle.js.map", "/api/docs/oauth2-redirect.html"] {
        assert_eq!(page(address).await.status, 404, "{address}");
    }
}

#[tokio::test]
async fn an_image_depends_on_store_and_name_alone() {
    let mug = page("/demo/images/demo-store/blue-mug.svg").await;
    assert_eq!(mug.header("cache-control"), "public, max-age=86400");
    assert_eq!(
        mug.header("content-security-policy"),
        "default-src 'none'; style-src 'unsafe-inline'"
    );
    assert!(mug.text.starts_with("<svg ") && mug.text.contains(">BM</text>"));
    assert!(!mug.text.contains("mug"), "the name is not repeated");
    assert_eq!(mug.text, page("/demo/images/demo-store/blue-mug.svg").await.text);
    assert_ne!(mug.text, page("/demo/images/demo-store/brown-mug.svg").await.text);
    assert_ne!(mug.text, page("/demo/images/other-store/blue-mug.svg").await.text);
}

#[tokio::test]
async fn an_invalid_image_name_is_not_found() {
    for address in [
        "/demo/images/demo-store/mug",
        "/demo/images/demo-store/mug.png",
        "/demo/images/demo-store/.svg",
        "/demo/images/Demo-Store/mug.svg",
        "/demo/images/demo_store/mug.svg",
        "/demo/images/demo-store/a%3Cscript%3E.svg",
        "/demo/images/demo-store/a%22b.svg",
        "/demo/images/demo-store/..%2Fmug.svg",
        "/demo/images/demo-store/%C3%A9.svg",
        &format!("/demo/images/demo-store/{}.svg", "x".repeat(101)),
    ] {
        assert_eq!(page(address).await.status, 404, "{address}");
    }
}
