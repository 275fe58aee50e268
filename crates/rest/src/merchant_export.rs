//! The export of a merchant's catalog, in a form that an import reads back.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use catalog::{CatalogError, FeedFormat, ProductDraft, StoredProduct};
use database::Reading;
use futures::Stream;
use futures::stream::try_unfold;
use identity::StoreScope;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::large_reads::LargeReads;
use crate::{Access, Endpoint, ErrorResponse, Query, Rest, RestState, Routes, StoreCaller};

/// The time within which a client must take a page, and the whole export.
const STALL_MAX: Duration = Duration::from_mins(1);
const DURATION_MAX: Duration = Duration::from_hours(2);

pub(crate) fn endpoints() -> Routes<RestState> {
    let export = Endpoint::get("/merchant/export", Access::Store(StoreScope::Catalog), export)
        .operation_id("exportProducts")
        .tag("merchant")
        .summary("Export your products")
        .description(
            "Streams all products that are not retired, in the order of `external_id`. `ndjson` has every field and can be \
             sent to `PUT /merchant/products`. `shopify_csv` is Shopify's table, for `POST /merchant/imports` and other shops; it \
             has no ratings, reviews, policies, attributes, sales, manufacturer part numbers, product pages, conditions, \
             listing times and names of variants, at most three options per variant, and no products in another currency \
             than the store's: imported into the same store, it clears those fields. Products that change during the export are exported before or after the change.",
        )
        .query::<ExportParameters>()
        .stream_response("application/x-ndjson", "One product per line, as in `PATCH /merchant/products`.")
        .stream_response("text/csv", "A table with a header row.");
    Routes::new().with(export)
}

/// Format of an export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ExportFormat {
    /// One product per line, with every field.
    #[default]
    Ndjson,
    /// Shopify's product export: one row per variant or image.
    ShopifyCsv,
}

impl ExportFormat {
    const fn feed(self) -> FeedFormat {
        match self {
            Self::Ndjson => FeedFormat::Ndjson,
            Self::ShopifyCsv => FeedFormat::ShopifyCsv,
        }
    }

    const fn disposition(self) -> &'static str {
        match self {
            Self::Ndjson => "attachment; filename=\"products.ndjson\"",
            Self::ShopifyCsv => "attachment; filename=\"products.csv\"",
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

/// A message of the task that reads an export.
enum Message {
    Page(Bytes),
    /// The export is complete.
    End,
}

async fn export(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    State(large_reads): State<LargeReads>,
    Query(parameters): Query<ExportParameters>,
) -> Result<Response, ErrorResponse> {
    let format = parameters.format.unwrap_or_default();
    // Until the last byte is taken, or the client is gone.
    let permit = large_reads.admit_export(caller.merchant)?;
    // The first page is read before the response begins, so that a failing database is an error response.
    let first = page(&rest, &caller, format, Position::First).await?;
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let merchant = caller.merchant;
        let sent = timeout(DURATION_MAX, send_pages(&rest, &caller, format, first, &sender)).await;
        match sent {
            Ok(Ok(())) => {}
            Ok(Err(Aborted::Gone)) => tracing::debug!(%merchant, "the client of an export is gone"),
            Ok(Err(Aborted::Unread(error))) => {
                tracing::error!(%error, %merchant, "an export was aborted; the client sees an incomplete response");
            }
            Ok(Err(Aborted::Stalled)) | Err(_) => {
                tracing::warn!(%merchant, "an export was aborted, because its client reads too slowly");
            }
        }
        drop(permit);
    });
    let headers =
        [(CONTENT_TYPE, format.feed().media_type()), (CONTENT_DISPOSITION, format.disposition())];
    Ok((headers, Body::from_stream(pages(receiver))).into_response())
}

/// Returns the pages that arrive. Without the end of the export the stream fails: the connection is then closed before the
/// end of the response, so that no client takes the part for the whole.
fn pages(receiver: mpsc::Receiver<Message>) -> impl Stream<Item = Result<Bytes, Incomplete>> {
    try_unfold(receiver, |mut receiver| async move {
        match receiver.recv().await {
            Some(Message::Page(bytes)) => Ok(Some((bytes, receiver))),
            Some(Message::End) => Ok(None),
            None => Err(Incomplete),
        }
    })
}

/// The export ended before its last page.
#[derive(Debug, thiserror::Error)]
#[error("the export is incomplete")]
struct Incomplete;

/// Why an export ends early.
enum Aborted {
    Unread(CatalogError),
    /// The client took no page for too long.
    Stalled,
    Gone,
}

async fn send_pages(
    rest: &Rest,
    caller: &StoreCaller,
    format: ExportFormat,
    first: Option<(Bytes, Position)>,
    sender: &mpsc::Sender<Message>,
) -> Result<(), Aborted> {
    let mut next = first;
    while let Some((bytes, position)) = next {
        send(sender, Message::Page(bytes), STALL_MAX).await?;
        next = page(rest, caller, format, position).await.map_err(Aborted::Unread)?;
    }
    send(sender, Message::End, STALL_MAX).await
}

/// Sends a message as soon as the one before is taken.
async fn send(
    sender: &mpsc::Sender<Message>,
    message: Message,
    stall_max: Duration,
) -> Result<(), Aborted> {
    match timeout(stall_max, sender.send(message)).await {
        Ok(sent) => sent.map_err(|_| Aborted::Gone),
        Err(_) => Err(Aborted::Stalled),
    }
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
    let draft = |stored: &StoredProduct| match format {
        ExportFormat::Ndjson => stored.draft(),
        ExportFormat::ShopifyCsv => stored.draft().with_absolute_images(&rest.site_url),
    };
    let drafts: Vec<ProductDraft> = page.products.iter().map(draft).collect();
    let bytes = (rest.write_feed)(format.feed(), &drafts, caller.store.currency);
    let bytes = match format {
        ExportFormat::ShopifyCsv if !is_first => without_header(bytes),
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

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use super::*;

    #[tokio::test]
    async fn a_client_that_stalls_is_left_and_sees_an_incomplete_response() {
        let (sender, receiver) = mpsc::channel(1);
        let page = || Message::Page(Bytes::from_static(b"x"));
        assert!(send(&sender, page(), Duration::from_millis(10)).await.is_ok());
        let second = send(&sender, page(), Duration::from_millis(10)).await;
        assert!(matches!(second, Err(Aborted::Stalled)));
        drop(sender);
        let read: Result<Vec<Bytes>, Incomplete> = pages(receiver).try_collect().await;
        assert!(read.is_err());
    }

    #[tokio::test]
    async fn a_complete_export_ends() {
        let (sender, receiver) = mpsc::channel(2);
        for message in [Message::Page(Bytes::from_static(b"x")), Message::End] {
            assert!(send(&sender, message, Duration::from_millis(10)).await.is_ok());
        }
        let read: Result<Vec<Bytes>, Incomplete> = pages(receiver).try_collect().await;
        assert_eq!(read.unwrap().len(), 1);
    }
}
