//! Reads tallies.

use database::Reading;
use primitives::MerchantId;

use super::AnalyticsError;
use crate::table::{self, Order};

/// Counts of a query over some days.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchTally {
    pub query: String,
    pub searches: i64,
    /// Searches without a result.
    pub without_result: i64,
    /// Average number of products found.
    pub average_hits: f64,
}

/// Returns the most frequent searches of the last days, including today: of one store, or, without a merchant,
/// those across all stores.
pub async fn top_searches(
    reading: &Reading,
    merchant: Option<MerchantId>,
    days: u32,
    limit: i64,
) -> Result<Vec<SearchTally>, AnalyticsError> {
    read(reading, merchant, days, limit, Order::Searches).await
}

/// Returns the searches of the last days that most often had no result: of one store, or, without a merchant, those
/// across all stores.
pub async fn searches_without_result(
    reading: &Reading,
    merchant: Option<MerchantId>,
    days: u32,
    limit: i64,
) -> Result<Vec<SearchTally>, AnalyticsError> {
    read(reading, merchant, days, limit, Order::WithoutResult).await
}

async fn read(
    reading: &Reading,
    merchant: Option<MerchantId>,
    days: u32,
    limit: i64,
    order: Order,
) -> Result<Vec<SearchTally>, AnalyticsError> {
    let days = i32::try_from(days).unwrap_or(i32::MAX);
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            Ok(match merchant {
                Some(merchant) => {
                    table::store_tallies(sql, merchant, now, days, limit, order).await?
                }
                None => table::tallies(sql, now, days, limit, order).await?,
            })
        })
        .await
}
