//! Events: writing them with their deliveries, and listing those of a store.

use database::Work;
use primitives::{EndpointId, EventId, MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{EventKind, EventPosition, ListedEvent};

/// A webhook event as it is stored.
pub(crate) struct StoredEvent<'event> {
    pub(crate) id: EventId,
    pub(crate) kind: EventKind,
    pub(crate) subject: Uuid,
    pub(crate) body: &'event str,
}

/// Inserts an event with its body, a delivery for each enabled endpoint that selects its kind, or for `only` one whatever it
/// selects, and a row that wakes a dispatcher if there is one. All of it is one statement: a purchase waits for a single
/// round trip.
pub(crate) async fn insert(
    work: &mut Work,
    merchant: MerchantId,
    event: &StoredEvent<'_>,
    only: Option<EndpointId>,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "WITH header AS (
             INSERT INTO webhook_event (merchant_id, event_id, kind, subject, created_at)
             VALUES ($1, $2, $3, $4, $6)
         ), body AS (
             INSERT INTO webhook_body (bucket, merchant_id, event_id, body, created_at)
             VALUES (webhook_bucket($6), $1, $2, $5, $6)
         ), queued AS (
             INSERT INTO webhook_delivery (merchant_id, endpoint_id, event_at, event_id, due_at, attempts, starts)
             SELECT merchant_id, endpoint_id, $6, $2, $6, 0, 0 FROM webhook_endpoint
             WHERE merchant_id = $1 AND status = 'enabled'
               AND CASE WHEN $7::uuid IS NULL THEN $3 = ANY (kinds) ELSE endpoint_id = $7 END
             RETURNING endpoint_id
         )
         INSERT INTO webhook_wake (merchant_id) SELECT $1 WHERE EXISTS (SELECT FROM queued)",
        merchant as MerchantId,
        event.id as EventId,
        event.kind.as_str(),
        event.subject,
        event.body.as_bytes(),
        now as Timestamp,
        only as Option<EndpointId>,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

struct ListedRow {
    id: EventId,
    kind: EventKind,
    created_at: Timestamp,
    body: Option<Vec<u8>>,
}

/// Returns events of a store after a position, the oldest first, each with its position and without tests of endpoints. An
/// event whose body is gone is `None`.
pub(crate) async fn after(
    sql: &mut PgConnection,
    merchant: MerchantId,
    after: EventPosition,
    limit: i64,
) -> sqlx::Result<Vec<(EventPosition, Option<ListedEvent>)>> {
    // Events of a release that did not deliver have their body in the header.
    let rows = sqlx::query_as!(
        ListedRow,
        r#"SELECT event.event_id AS "id: EventId", event.kind AS "kind: EventKind",
                  event.created_at AS "created_at: Timestamp", coalesce(stored.body, event.body) AS body
           FROM (SELECT merchant_id, event_id, kind, created_at, body FROM webhook_event
                 WHERE merchant_id = $1 AND created_at >= $2 AND (created_at, event_id) > ($2, $3)
                   AND kind <> 'webhook.test'
                 ORDER BY created_at, event_id LIMIT $4) AS event
           LEFT JOIN LATERAL (
               SELECT webhook_body.body FROM webhook_body
               WHERE webhook_body.bucket = webhook_bucket(event.created_at)
                 AND webhook_body.merchant_id = event.merchant_id AND webhook_body.event_id = event.event_id
           ) AS stored ON true
           ORDER BY event.created_at, event.event_id"#,
        merchant as MerchantId,
        after.at as Timestamp,
        after.id as EventId,
        limit,
    );
    let listed = |row: ListedRow| {
        let ListedRow { id, kind, created_at, body } = row;
        let event = body.map(|body| ListedEvent { id, kind, created_at, body });
        (EventPosition { at: created_at, id }, event)
    };
    Ok(rows.fetch_all(sql).await?.into_iter().map(listed).collect())
}
