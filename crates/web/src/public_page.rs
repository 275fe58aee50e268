//! What the public pages share: admission, headers, paging, and errors.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use limits::{
    AdmissionPermit, Caller, Class, ConcurrencyLimit, PUBLIC_PAGE_PER_MINUTE, QuotaRequest,
};
use merchants::{Band, Store, StoreError};
use primitives::{
    ClientAddress, ErrorCode, Failure, PageMeta, Plan, Problem, RequestId, StoreSlug,
};
use serde::Deserialize;

use crate::terms_view::band_view;
use crate::{CacheFor, Web, error_page, headers, render};

/// Allows our own stylesheets and images: no script, no form, no frame, nothing of another host. Images of merchants are on
/// hosts of their own, which would learn who looks at what, so pages link to them.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; \
                                 form-action 'none'; frame-ancestors 'none'";

/// Counts a request for a public page.
pub(crate) async fn admit(web: &Web, from: ClientAddress) -> Result<AdmissionPermit, Failure> {
    let quota = QuotaRequest::tier(Class::Read, "public_page", PUBLIC_PAGE_PER_MINUTE);
    let limit = ConcurrencyLimit::for_plan(Plan::Free);
    Ok(web.admission.admit(&Caller::address(from), limit, &quota).await?)
}

/// Returns a store that agents can use.
pub(crate) async fn store(web: &Web, slug: &str) -> Result<Arc<Store>, Failure> {
    let slug: StoreSlug = slug.parse().map_err(|_| StoreError::NotFound)?;
    Ok(web.stores.admit(&slug).await?)
}

/// Renders a public page. It shows prices and stock, so that a cache may keep it for a minute only.
pub(crate) fn page(template: &impl Template) -> Response {
    render(headers("text/html; charset=utf-8", CacheFor::Minute, POLICY), template)
}

/// Renders an error. Internal causes are logged, not shown.
pub(crate) fn failure_page(failure: &Failure, id: Option<&RequestId>) -> Response {
    let code = failure.code();
    let request_id = id.map_or("", RequestId::as_str);
    if code.status() >= 500 {
        tracing::error!(request_id, cause = failure.cause(), "public page failed");
    }
    let status = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = status.into_response();
    // For the log line of the request.
    response.extensions_mut().insert(code);
    limits::write_error_headers(&failure.envelope(request_id), response.headers_mut());
    match code {
        ErrorCode::StoreNotFound => error_page::replace(
            response,
            "Store not found",
            "There is no store with this name. It may have closed.",
            id,
        ),
        ErrorCode::StoreSuspended => error_page::replace(
            response,
            "This store is not available",
            &format!("{}.", sentence(&failure.message())),
            id,
        ),
        ErrorCode::ProductNotFound => error_page::replace(
            response,
            "Product not found",
            "The store does not sell this product, or no longer does.",
            id,
        ),
        _ => error_page::with_error_page(response, id),
    }
}

/// Returns a text with a capital letter at its start.
pub(crate) fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// The parameters of a list. Anything that is not a page number is the first page.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct PageQuery(Vec<(String, String)>);

impl PageQuery {
    pub(crate) fn number(&self) -> Option<i64> {
        let page = self.0.iter().find(|(name, _)| name == "page");
        page.and_then(|(_, number)| number.parse().ok())
    }
}

/// Links to the neighbours of a page of a list.
pub(crate) struct Pager {
    pub(crate) page: i64,
    pub(crate) last: i64,
    pub(crate) previous: Option<i64>,
    pub(crate) next: Option<i64>,
}

impl Pager {
    /// Returns the links of a page, or an error if the list ends before it.
    pub(crate) fn new(meta: &PageMeta) -> Result<Self, PageNotFound> {
        let last = meta.total.div_euclid(meta.limit) + i64::from(meta.total % meta.limit != 0);
        let last = last.max(1);
        if meta.page > last {
            return Err(PageNotFound);
        }
        Ok(Self {
            page: meta.page,
            last,
            previous: (meta.page > 1).then(|| meta.page - 1),
            next: (meta.page < last).then_some(meta.page + 1),
        })
    }
}

/// The list has no such page.
#[derive(Debug, thiserror::Error)]
#[error("the list has no such page")]
pub(crate) struct PageNotFound;

impl Problem for PageNotFound {
    fn code(&self) -> ErrorCode {
        ErrorCode::NotFound
    }
}

/// A trust score, formatted.
pub(crate) struct TrustView {
    /// `0.93`, or a dash without a score.
    pub(crate) score: String,
    pub(crate) band: &'static str,
    pub(crate) band_class: &'static str,
    pub(crate) band_meaning: &'static str,
    pub(crate) is_provisional: bool,
}

impl TrustView {
    pub(crate) fn of(store: &Store) -> Self {
        let band: Option<Band> = store.standing.band();
        let (band, band_class, band_meaning) = band_view(band);
        Self {
            score: store.standing.score.map_or_else(|| String::from("–"), format_score),
            band,
            band_class,
            band_meaning,
            is_provisional: store.standing.provisional && store.standing.score.is_some(),
        }
    }
}

/// Formats a score with two decimals. It is rounded down, so that it never looks like that of a higher band.
pub(crate) fn format_score(score: f64) -> String {
    // The addition corrects values such as 0.29, whose product with 100 is below 29.
    format!("{:.2}", (score * 100.0 + 1e-9).floor() / 100.0)
}

/// A link to a page of a merchant: only `http` and `https` without a user name, shown as its host.
pub(crate) struct ExternalLink {
    pub(crate) url: String,
    pub(crate) host: String,
}

impl ExternalLink {
    pub(crate) fn new(url: &str) -> Option<Self> {
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return None;
        }
        // As browsers read it: the host ends at the first slash, question mark or number sign.
        let url = catalog::web_url(url).ok()?;
        let (_, rest) = url.split_once("://")?;
        let host = rest.split(['/', '?', '#']).next()?.to_owned();
        Some(Self { url, host })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pager(total: i64, page: i64) -> Option<(i64, Option<i64>, Option<i64>)> {
        let meta = PageMeta { total, page, limit: 24, total_is_estimate: None };
        Pager::new(&meta).ok().map(|pager| (pager.last, pager.previous, pager.next))
    }

    #[test]
    fn pages_link_to_their_neighbours() {
        assert_eq!(pager(0, 1), Some((1, None, None)));
        assert_eq!(pager(24, 1), Some((1, None, None)));
        assert_eq!(pager(25, 1), Some((2, None, Some(2))));
        assert_eq!(pager(25, 2), Some((2, Some(1), None)));
        assert_eq!(pager(25, 3), None);
        assert_eq!(pager(0, 2), None);
    }

    #[test]
    fn a_score_never_looks_higher_than_it_is() {
        let shown = [0.699_999, 0.7, 0.29, 0.949_9, 1.0, 0.0].map(format_score);
        assert_eq!(shown, ["0.69", "0.70", "0.29", "0.94", "1.00", "0.00"]);
    }

    #[test]
    fn only_web_addresses_are_linked() {
        let host = |url| ExternalLink::new(url).map(|link| link.host);
        assert_eq!(host("https://shop.example/a?b").as_deref(), Some("shop.example"));
        assert_eq!(host("http://shop.example").as_deref(), Some("shop.example"));
        assert_eq!(host(r"https://evil.example\@shop.example").as_deref(), Some("evil.example"));
        assert_eq!(host("https://bank.example@evil.example/"), None, "a user name like a host");
        for wrong in ["", "javascript:alert(1)", "data:text/html,x", "//evil.example", "https://"] {
            assert_eq!(host(wrong), None, "{wrong}");
        }
    }
}
