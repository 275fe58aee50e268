//! Notices to a merchant (docs/contract/merchant-api.md#notices).

use std::sync::Arc;

use axum::extract::State;
use database::Reading;
use identity::StoreScope;
use merchants::{NoticeCursor, NoticeRecord};
use primitives::PageRequest;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::envelope::CursorEnvelope;
use crate::request::InvalidField;
use crate::{Access, Endpoint, ErrorResponse, Query, Rest, RestState, Routes, StoreCaller};

pub(crate) fn endpoints() -> Routes<RestState> {
    let scope = Access::Store(StoreScope::Settings);
    let notices = Endpoint::get("/merchant/notices", scope, list)
        .operation_id("listNotices")
        .tag("merchant")
        .summary("List notices")
        .description("Returns what happened to the store, newest first: changed settings, decisions of operators, released holds, disputes that were opened, wait for an answer or have ended.")
        .query::<NoticeParameters>()
        .response::<CursorEnvelope<NoticeRecord>>(200);
    Routes::new().with(notices)
}

/// A page of notices.
#[derive(Debug, Deserialize, JsonSchema)]
struct NoticeParameters {
    /// `meta.next_cursor` of the previous page.
    #[schemars(length(max = 20))]
    cursor: Option<String>,
    /// Notices per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

async fn list(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<NoticeParameters>,
) -> Result<CursorEnvelope<NoticeRecord>, ErrorResponse> {
    let cursor = parameters.cursor.map(|cursor| cursor.parse::<NoticeCursor>()).transpose();
    let cursor = cursor.map_err(|_| InvalidField { field: "cursor" })?;
    let request = PageRequest::new(None, parameters.limit);
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let page = merchants::notices(&reading, caller.merchant, cursor, request.limit()).await?;
    let records = page.notices.into_iter().map(merchants::Notice::record).collect();
    Ok(CursorEnvelope::new(records, request.meta(page.total), page.next))
}
