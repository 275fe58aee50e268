//! A verb: reading a session.

use database::{Database, Reading, Work};
use primitives::{CheckoutId, KeyId, MerchantId, PageMeta, PageRequest};

use crate::{CheckoutError, Session, SessionSnapshot, Status, table};

/// Returns a session of this store. With an agent, `NotFound` if another agent owns it.
pub async fn session(
    reading: &Reading,
    merchant: MerchantId,
    id: CheckoutId,
    agent: Option<KeyId>,
) -> Result<SessionSnapshot, CheckoutError> {
    let (now, found) = reading
        .run(async |sql| {
            let now = sql.now().await?;
            Ok::<_, CheckoutError>((now, table::find(sql, merchant, Some(id), None).await?))
        })
        .await?;
    let session = found.filter(|session| agent.is_none_or(|agent| agent == session.owner.key));
    Ok(SessionSnapshot { session: session.ok_or(CheckoutError::NotFound)?, now })
}

/// Sessions that are counted for a list; the total of a longer one is a lower bound.
const COUNT_MAX: i64 = 10_000;

/// Selects sessions of a store.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionsFilter {
    /// Only sessions that hold units.
    pub holding_only: bool,
    /// Only sessions with this status now.
    pub status: Option<Status>,
    /// Only sessions that are older than this one, in place of the number of a page.
    pub after: Option<CheckoutId>,
}

/// Returns a page of the real sessions of a store that match a filter, the newest first.
pub async fn sessions(
    reading: &Reading,
    merchant: MerchantId,
    filter: &SessionsFilter,
    page: PageRequest,
) -> Result<(Vec<SessionSnapshot>, PageMeta), CheckoutError> {
    let (now, total, found) = reading
        .run(async |sql| {
            let now = sql.now().await?;
            let total = table::count(sql, merchant, filter, now, COUNT_MAX).await?;
            let found = table::find_page(sql, merchant, filter, now, page).await?;
            Ok::<_, CheckoutError>((now, total, found))
        })
        .await?;
    let snapshots = found.into_iter().map(|session| SessionSnapshot { session, now }).collect();
    Ok((snapshots, page.meta(total).estimated(total >= COUNT_MAX)))
}

/// Returns the merchant of a session, for requests that name a session without its store.
pub async fn merchant_of(database: &Database, id: CheckoutId) -> Result<MerchantId, CheckoutError> {
    let reading = Reading::for_platform(database);
    let found: Option<MerchantId> =
        reading.run(async |sql| Ok::<_, CheckoutError>(table::merchant_of(sql, id).await?)).await?;
    found.ok_or(CheckoutError::NotFound)
}

/// Locks a session and its cart until the work ends and returns both. With an agent, `NotFound` if another agent owns it.
/// The lock is the row of the cart, which every change of a session takes first.
pub(crate) async fn lock(
    work: &mut Work,
    merchant: MerchantId,
    id: CheckoutId,
    agent: Option<KeyId>,
) -> Result<(Session, carts::Cart), CheckoutError> {
    let found = table::find(work.sql(), merchant, Some(id), None).await?;
    let found = found.filter(|session| agent.is_none_or(|agent| agent == session.owner.key));
    let (cart, key) = found.map(|it| (it.cart, it.owner.key)).ok_or(CheckoutError::NotFound)?;
    let cart = carts::lock(work, merchant, cart, key).await?;
    let session = table::find(work.sql(), merchant, Some(id), None).await?;
    Ok((session.ok_or(CheckoutError::NotFound)?, cart))
}
