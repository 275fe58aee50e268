//! Notices to a merchant (docs/contract/merchant-api.md#notices).

use std::sync::Arc;

use axum::extract::State;
use database::Reading;
use identity::StoreScope;
use merchants::{NoticeCursor, NoticeRecord};
use primitives::PageRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::InvalidField;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Query, Rest, RestState, Routes, StoreCaller,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let scope = Access::Store(StoreScope::Settings);
    let notices = Endpoint::get("/merchant/notices", scope, list)
        .operation_id("listNotices")
        .tag("merchant")
        .summary("List notices")
        .description("Returns what happened to the store, newest first: changed settings, decisions of operators, released holds.")
        .query::<NoticeParameters>()
        .response::<Envelope<NoticeList>>(200);
    Routes::new().with(notices)
}

/// A page of notices.
#[derive(Debug, Deserialize, JsonSchema)]
struct NoticeParameters {
    /// `next_cursor` of the previous page.
    #[schemars(length(max = 20))]
    cursor: Option<String>,
    /// Notices per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

/// Notices, newest first.
#[derive(Debug, Serialize, JsonSchema)]
struct NoticeList {
    /// The notices.
    notices: Vec<NoticeRecord>,
    /// The `cursor` of the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

async fn list(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<NoticeParameters>,
) -> Result<Envelope<NoticeList>, ErrorResponse> {
    let cursor = parameters.cursor.map(|cursor| cursor.parse::<NoticeCursor>()).transpose();
    let cursor = cursor.map_err(|_| InvalidField { field: "cursor" })?;
    let limit = PageRequest::new(None, parameters.limit).limit();
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let page = merchants::notices(&reading, caller.merchant, cursor, limit).await?;
    Ok(Envelope::new(NoticeList {
        notices: page.notices.into_iter().map(merchants::Notice::record).collect(),
        next_cursor: page.next.map(|cursor| cursor.to_string()),
    }))
}
