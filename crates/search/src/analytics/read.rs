//! Reading tallies.

use database::Reading;
use primitives::MerchantId;

use super::InsightError;
use crate::table::{self, Order};

/// What came of a query over some days.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchTally {
    /// What was searched for.
    pub query: String,
    /// How often.
    pub searches: i64,
    /// How often nothing was found.
    pub without_result: i64,
    /// How many products were found on average.
    pub average_hits: f64,
}

/// The most frequent searches of the last days, today among them: of one store, or with none of those
/// across stores.
pub async fn top_searches(
    reading: &Reading,
    merchant: Option<MerchantId>,
    days: u32,
    limit: i64,
) -> Result<Vec<SearchTally>, InsightError> {
    read(reading, merchant, days, limit, Order::Searches).await
}

/// The searches of the last days that most often found nothing: of one store, or with none of those
/// across stores.
pub async fn searches_without_result(
    reading: &Reading,
    merchant: Option<MerchantId>,
    days: u32,
    limit: i64,
) -> Result<Vec<SearchTally>, InsightError> {
    read(reading, merchant, days, limit, Order::WithoutResult).await
}

async fn read(
    reading: &Reading,
    merchant: Option<MerchantId>,
    days: u32,
    limit: i64,
    order: Order,
) -> Result<Vec<SearchTally>, InsightError> {
    let days = i32::try_from(days).unwrap_or(i32::MAX);
    let mut snapshot = reading.open().await?;
    let now = snapshot.now().await?;
    let tallies = match merchant {
        Some(merchant) => {
            table::store_tallies(&mut snapshot, merchant, now, days, limit, order).await?
        }
        None => table::tallies(&mut snapshot, now, days, limit, order).await?,
    };
    snapshot.close().await?;
    Ok(tallies)
}
