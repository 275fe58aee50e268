//! The directory of stores.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use merchants::{DirectoryQuery, Store};
use primitives::{ClientAddress, Failure, PageRequest, RequestId};

use crate::Web;
use crate::public_page::{PageQuery, Pager, TrustView, admit, failure_page, page};

/// Stores on a page.
const STORES_PER_PAGE: i64 = 24;

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/stores", get(show))
}

#[derive(Template)]
#[template(path = "stores.html")]
struct DirectoryPage {
    stores: Vec<Entry>,
    total: i64,
    pager: Pager,
}

struct Entry {
    slug: String,
    name: String,
    /// Names of the first categories.
    categories: String,
    country: String,
    product_count: i64,
    trust: TrustView,
}

impl Entry {
    fn of(store: &Store) -> Self {
        let categories: Vec<&str> = store.departments.iter().take(3).map(String::as_str).collect();
        Self {
            slug: store.slug.to_string(),
            name: store.name.clone(),
            categories: categories.join(", "),
            country: store.country.clone(),
            product_count: store.product_count,
            trust: TrustView::of(store),
        }
    }
}

async fn show(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    id: Option<Extension<RequestId>>,
    Query(query): Query<PageQuery>,
) -> Response {
    let found: Result<DirectoryPage, Failure> = async {
        let _permit = admit(&web, from).await?;
        let request = DirectoryQuery {
            words: None,
            category: None,
            min_trust: None,
            platform: None,
            page: PageRequest::new(query.number(), Some(STORES_PER_PAGE)),
        };
        let found = merchants::directory(&web.database, &request).await?;
        let pager = Pager::new(&found.meta)?;
        Ok(DirectoryPage {
            stores: found.stores.iter().map(Entry::of).collect(),
            total: found.meta.total,
            pager,
        })
    }
    .await;
    match found {
        Ok(found) => page(&found),
        Err(failure) => failure_page(&failure, id.as_deref()),
    }
}
