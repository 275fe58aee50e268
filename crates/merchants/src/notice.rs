//! Notices: what merchants are told about their store, kept for two years. They are read at `GET /merchant/notices`.

use database::{DatabaseError, Reading, Work};
use primitives::{MerchantId, NoticeId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{StoreError, table};

primitives::text_enum! {
    // docs/contract/merchant-api.md#notices
    /// What a notice is about. The names are part of the API.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum NoticeKind {
        /// Settings were changed; `details` has `actor` and `fields`.
        SettingsChanged,
        /// The page on which people pay was changed; `details` has `actor`.
        PaymentPageChanged,
        /// An operator allowed a host for the payment page; `details` has `host` and `reason`.
        PaymentHostAllowed,
        /// An operator no longer allows a host for the payment page; `details` has `host` and `reason`.
        PaymentHostDisallowed,
        /// An operator suspended the store; `details` has `reason`.
        StoreSuspended,
        /// The store was paused; `details` has `reason` and `actor`.
        StorePaused,
        /// The store was closed; `details` has `reason` and `actor`.
        StoreClosed,
        /// The store was reopened; `details` has `reason` and `actor`.
        StoreReinstated,
        /// The result of the identity verification was set; `details` has `status` and `reason`.
        IdentityVerificationSet,
        /// The stock held by a checkout was released; `details` has `checkout_id` and `actor`.
        HoldReleased,
        /// A payment was reported that placed no order: the merchant refunds it; `details` has `checkout_id` and `reference`.
        RefundDue,
        /// An operator set a quota of the catalog; `details` has `quota`, `maximum` and `reason`.
        QuotaSet,
        /// A dispute about an order was opened; `details` has `order_id`, `dispute_id` and `respond_by`.
        DisputeOpened,
        /// A dispute was not answered yet; `details` has `order_id`, `dispute_id` and `respond_by`.
        DisputeReminder,
        /// A dispute has ended; `details` has `order_id`, `dispute_id`, `resolution`, and for a refund `refund_amount` and `currency`.
        DisputeResolved,
        /// A webhook endpoint was disabled because it is gone or has failed for days; `details` has `endpoint_id` and `reason`.
        WebhookEndpointDisabled,
        /// The trust score fell below the threshold of suspension; `details` has `score`, `threshold`, `reasons` and `ends`.
        TrustSuspended,
        /// The trust score no longer suspends the store; `details` has `score`, `threshold` and `reasons`.
        TrustReinstated,
    }
}

impl NoticeKind {
    /// Returns the sentence that people read.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::SettingsChanged => "Settings of the store were changed.",
            Self::PaymentPageChanged => "The page on which people pay was changed.",
            Self::PaymentHostAllowed => "An operator allowed a host for the payment page.",
            Self::PaymentHostDisallowed => {
                "An operator no longer allows a host for the payment page."
            }
            Self::StoreSuspended => "An operator suspended the store.",
            Self::StorePaused => "The store was paused.",
            Self::StoreClosed => "The store was closed.",
            Self::StoreReinstated => "The store was reopened.",
            Self::IdentityVerificationSet => "The result of the identity verification was set.",
            Self::HoldReleased => "The stock held by a checkout was released.",
            Self::RefundDue => {
                "A payment was reported that placed no order. Refund it to the buyer."
            }
            Self::QuotaSet => "An operator set a quota of the catalog.",
            Self::DisputeOpened => {
                "A dispute about an order was opened. Answer it before the deadline."
            }
            Self::DisputeReminder => {
                "A dispute about an order is not answered. The deadline is near."
            }
            Self::DisputeResolved => "A dispute about an order has ended.",
            Self::WebhookEndpointDisabled => {
                "A webhook endpoint was disabled. Repair it, enable it, and recover the events."
            }
            Self::TrustSuspended => "The trust score suspended the store: it is below 0.20.",
            Self::TrustReinstated => "The trust score no longer suspends the store.",
        }
    }
}

/// A notice to a merchant.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    pub id: NoticeId,
    pub kind: NoticeKind,
    /// Never contains a secret.
    pub details: Map<String, Value>,
    pub created_at: Timestamp,
}

/// A notice in the merchant API.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NoticeRecord {
    /// ID of the notice.
    notice_id: NoticeId,
    /// What the notice is about.
    kind: NoticeKind,
    /// The same in a sentence.
    message: &'static str,
    /// Further data, depending on the kind.
    details: Map<String, Value>,
    /// When it was posted.
    created_at: Timestamp,
}

impl Notice {
    /// Returns the notice as merchants see it.
    #[must_use]
    pub fn record(self) -> NoticeRecord {
        let Self { id, kind, details, created_at } = self;
        NoticeRecord { notice_id: id, kind, message: kind.message(), details, created_at }
    }
}

/// A page of notices, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct NoticePage {
    pub notices: Vec<Notice>,
    /// The number of all notices of the store.
    pub total: i64,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<NoticeCursor>,
}

/// The position of a notice in the list of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoticeCursor(i64);

impl std::fmt::Display for NoticeCursor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::str::FromStr for NoticeCursor {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// Posts a notice in the transaction of what it is about. `details` is a JSON object; anything else is left out.
pub async fn post_notice(
    work: &mut Work,
    merchant: MerchantId,
    kind: NoticeKind,
    details: Value,
) -> Result<(), DatabaseError> {
    let details = match details {
        Value::Object(details) => details,
        _ => Map::new(),
    };
    let notice = Notice { id: work.new_id(), kind, details, created_at: work.now() };
    Ok(table::insert_notice(work, merchant, &notice).await?)
}

/// Returns a page of the notices of a store, newest first.
pub async fn notices(
    reading: &Reading,
    merchant: MerchantId,
    after: Option<NoticeCursor>,
    limit: u32,
) -> Result<NoticePage, StoreError> {
    let before = after.map_or(i64::MAX, |cursor| cursor.0);
    let (rows, total) = reading
        .run(async |sql| -> Result<_, StoreError> {
            let rows = table::notices(sql, merchant, before, i64::from(limit)).await?;
            Ok((rows, table::count_notices(sql, merchant).await?))
        })
        .await?;
    let is_full = rows.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let next = rows.last().filter(|_| is_full).map(|(position, _)| NoticeCursor(*position));
    let notices = rows.into_iter().filter_map(|(_, notice)| notice).collect();
    Ok(NoticePage { notices, total, next })
}
