//! The export of a merchant's catalog, in a form that an import takes back.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use catalog::{CatalogError, FeedFormat, ProductDraft};
use database::Reading;
use futures::stream::try_unfold;
use identity::StoreScope;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Access, Endpoint, ErrorResponse, Query, Rest, RestState, Routes, StoreCaller};

pub(crate) fn endpoints() -> Routes<RestState> {
    let export = Endpoint::get("/merchant/export", Access::Store(StoreScope::Catalog), export)
        .operation_id("exportProducts")
        .tag("merchant")
        .summary("Export your products")
        .description(
            "Streams all products that are not retired, in the order of `external_id`. `ndjson` has every field and can be \
             sent to `PUT /merchant/products`. `csv` is the table that `POST /merchant/imports?format=shopify_csv` reads; it \
             has no ratings, reviews, policies, attributes, sales, manufacturer part numbers, product pages, conditions, \
             listing times and names of variants, at most three options per variant, and no products in another currency \
             than the store's. Products that change during the export are exported before or after the change.",
        )
        .query::<ExportParameters>()
        .stream_response("application/x-ndjson", "One product per line, as in `PATCH /merchant/products`.")
        .stream_response("text/csv", "A table with a header row.");
    Routes::new().with(export)
}

/// Format of an export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ExportFormat {
    /// One product per line, with every field.
    #[default]
    Ndjson,
    /// A table with one row per variant or image.
    Csv,
}

impl ExportFormat {
    const fn feed(self) -> FeedFormat {
        match self {
            Self::Ndjson => FeedFormat::Ndjson,
            Self::Csv => FeedFormat::ShopifyCsv,
        }
    }

    const fn disposition(self) -> &'static str {
        match self {
            Self::Ndjson => "attachment; filename=\"products.ndjson\"",
            Self::Csv => "attachment; filename=\"products.csv\"",
        }
    }
}

/// Options of an export.
#[derive(Debug, Deserialize, JsonSchema)]
struct ExportParameters {
    /// Format of the file.
    #[schemars(extend("default" = "ndjson"))]
    format: Option<ExportFormat>,
}

/// Where an export continues.
enum Position {
    First,
    After(String),
    End,
}

async fn export(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<ExportParameters>,
) -> Result<Response, ErrorResponse> {
    let format = parameters.format.unwrap_or_default();
    // The first page is read before the response begins, so that a failing database is an error response.
    let first = page(&rest, &caller, format, Position::First).await?;
    let (begin, position) = first.unwrap_or((Bytes::new(), Position::End));
    let rest_of_pages = try_unfold(position, move |position| {
        let (rest, caller) = (Arc::clone(&rest), caller.clone());
        async move { page(&rest, &caller, format, position).await.inspect_err(log) }
    });
    let begin = futures::stream::once(async { Ok::<_, CatalogError>(begin) });
    let body = Body::from_stream(futures::StreamExt::chain(begin, rest_of_pages));
    let headers =
        [(CONTENT_TYPE, format.feed().media_type()), (CONTENT_DISPOSITION, format.disposition())];
    Ok((headers, body).into_response())
}

/// The connection is closed before the end of the response, so that no client takes the part for the whole.
fn log(error: &CatalogError) {
    tracing::error!(%error, "an export was aborted; the client sees an incomplete response");
}

/// Returns the next page of a file and the position after it; `None` at the end.
async fn page(
    rest: &Rest,
    caller: &StoreCaller,
    format: ExportFormat,
    position: Position,
) -> Result<Option<(Bytes, Position)>, CatalogError> {
    let (after, is_first) = match position {
        Position::First => (String::new(), true),
        Position::After(id) => (id, false),
        Position::End => return Ok(None),
    };
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let page = catalog::export_page(&reading, caller.merchant, &after).await?;
    let drafts: Vec<ProductDraft> =
        page.products.iter().map(|own| own.draft(&rest.site_url)).collect();
    let bytes = (rest.write_feed)(format.feed(), &drafts, caller.store.currency);
    let bytes = match format {
        ExportFormat::Csv if !is_first => without_header(bytes),
        _ => bytes,
    };
    let next = page.last.map_or(Position::End, Position::After);
    Ok(Some((bytes.into(), next)))
}

/// Removes the first line, which has no quoted line break.
fn without_header(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
    bytes.drain(..end);
    bytes
}
