//! The page of a store: what agents see of it.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use catalog::Product;
use database::Reading;
use merchants::{IdentityStatus, Store};
use primitives::{ClientAddress, Failure, PageRequest, RequestId};
use trust::Basis;

use crate::Web;
use crate::policy_view::PolicyView;
use crate::public_page::{
    ExternalLink, PageQuery, Pager, TrustView, admit, failure_page, page, store,
};
use crate::stock_view::stock_view;
use crate::terms_view::format_date;

/// Products on a page.
const PRODUCTS_PER_PAGE: i64 = 24;

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/stores/{slug}", get(show))
}

#[derive(Template)]
#[template(path = "store.html")]
struct StorePage<'found> {
    store: &'found Store,
    products: &'found [Card],
    total: i64,
    pager: &'found Pager,
    mcp_url: String,
    trust: TrustView,
    /// Whether the score was computed from synthetic facts.
    is_demo_score: bool,
    is_identity_verified: bool,
    website: Option<ExternalLink>,
    policies: PolicyView,
    member_since: String,
}

impl<'found> StorePage<'found> {
    fn new(found: &'found Found, site_url: &str) -> Self {
        let store = &*found.store;
        Self {
            store,
            products: &found.products,
            total: found.total,
            pager: &found.pager,
            mcp_url: format!("{site_url}/{}/mcp", store.slug),
            trust: TrustView::of(store),
            is_demo_score: found.basis == Some(Basis::Demo),
            is_identity_verified: store.identity.status == IdentityStatus::Verified,
            website: ExternalLink::new(&store.website_url),
            policies: PolicyView::of(store.policy_record(), store.currency),
            member_since: format_date(store.member_since),
        }
    }
}

/// A product in the list.
struct Card {
    id: String,
    name: String,
    brand: String,
    price: String,
    list_price: Option<String>,
    stock: &'static str,
    is_available: bool,
}

impl Card {
    fn of(product: &Product) -> Self {
        let facts = &product.facts;
        let (stock, is_available) = stock_view(facts.stock_status);
        let money = |minor| primitives::Money::new(minor, facts.price.currency()).to_string();
        Self {
            id: product.id.to_string(),
            name: facts.name.clone(),
            brand: facts.brand.clone(),
            price: facts.price.to_string(),
            list_price: facts.list_price_minor.map(money),
            stock,
            is_available,
        }
    }
}

/// A store with a page of its products.
struct Found {
    store: Arc<Store>,
    /// Origin of the trust score.
    basis: Option<Basis>,
    products: Vec<Card>,
    total: i64,
    pager: Pager,
}

async fn show(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    id: Option<Extension<RequestId>>,
    Path(slug): Path<String>,
    Query(query): Query<PageQuery>,
) -> Response {
    let found: Result<Found, Failure> = async {
        let _permit = admit(&web, from).await?;
        let store = store(&web, &slug).await?;
        let reading = Reading::for_store(&web.database, store.merchant)?;
        let basis = trust::latest(&reading, store.merchant).await?.map(|newest| newest.basis);
        let request = PageRequest::new(query.number(), Some(PRODUCTS_PER_PAGE));
        let (products, total) = catalog::new_arrivals(&reading, store.merchant, request).await?;
        let products = products.iter().map(Card::of).collect();
        let pager = Pager::new(&request.meta(total))?;
        Ok(Found { store, basis, products, total, pager })
    }
    .await;
    match found {
        Ok(found) => page(&StorePage::new(&found, &web.site_url)),
        Err(failure) => failure_page(&failure, id.as_deref()),
    }
}
