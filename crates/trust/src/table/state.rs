//! Figures of stores at the time of a computation. Their owners keep them: `merchants`, `catalog`, `orders` and `webhooks`.

use primitives::{Currency, MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::table::rollup::delivered_after;
use crate::v41::{HumanOrders, RefundFigures, SetupFigures, V41Figures, v41_window};
use crate::{Epoch, Evidence, LatencyHistogram, PolicyFigures, StateFigures};

const DAY_SECONDS: u64 = 24 * 60 * 60;

#[expect(clippy::struct_excessive_bools, reason = "each is a column of its own")]
struct Row {
    merchant: MerchantId,
    slug: String,
    currency: String,
    member_since: Timestamp,
    synced_at: Option<Timestamp>,
    has_figures: bool,
    is_closed: bool,
    products: i64,
    complete: i64,
    consistent: i64,
    rated_products: i64,
    rating_sum_hundredths: i64,
    has_returns: bool,
    has_shipping: bool,
    has_privacy: bool,
    delivered: i64,
    is_identity_verified: bool,
    has_shipping_zones: bool,
    has_checkout_page: bool,
    has_webhook: bool,
    is_synthetic: bool,
    human_fulfilled: i64,
    human_canceled: i64,
    refunded_orders: i64,
    refunded_minor: i64,
}

impl Row {
    fn into_state(self, epoch: Epoch) -> StoreState {
        let evidence = self.evidence(epoch);
        let Self { merchant, slug, has_figures, is_closed, .. } = self;
        StoreState { merchant, slug, has_figures, is_closed, evidence }
    }

    /// Returns the evidence, without rows of days.
    fn evidence(&self, epoch: Epoch) -> Evidence {
        let state = StateFigures {
            products: self.products,
            complete: self.complete,
            consistent: self.consistent,
            synced_at: self.synced_at,
            policies: PolicyFigures {
                returns: self.has_returns,
                shipping: self.has_shipping,
                privacy: self.has_privacy,
            },
            rated_products: self.rated_products,
            rating_sum_hundredths: self.rating_sum_hundredths,
            // Nothing calls systems of merchants yet.
            latency: LatencyHistogram::default(),
        };
        let (days, delivered_total) = (Vec::new(), self.delivered);
        Evidence { epoch, state, days, delivered_total, v41: self.v41(epoch) }
    }

    fn v41(&self, epoch: Epoch) -> V41Figures {
        let age_days = epoch.as_of().since(self.member_since).as_secs() / DAY_SECONDS;
        let currency = self.currency.parse::<Currency>().ok();
        V41Figures {
            is_synthetic: self.is_synthetic,
            store_age_days: i64::try_from(age_days).unwrap_or(i64::MAX),
            human: HumanOrders { fulfilled: self.human_fulfilled, canceled: self.human_canceled },
            refunds: RefundFigures {
                orders: self.refunded_orders,
                amount_minor: self.refunded_minor,
            },
            currency_decimals: currency.filter(|it| it.is_supported()).map(Currency::decimals),
            setup: SetupFigures {
                shipping: self.has_shipping_zones,
                checkout_page: self.has_checkout_page,
                webhook: self.has_webhook,
            },
            is_identity_verified: self.is_identity_verified,
            ..V41Figures::default()
        }
    }
}

/// A store with the evidence of its state.
pub(crate) struct StoreState {
    pub(crate) merchant: MerchantId,
    pub(crate) slug: String,
    /// Whether the figures of its catalog were computed, and not before the upgrade that needs more of them. If they never were,
    /// it has no listed products here.
    pub(crate) has_figures: bool,
    /// A store that an operator closed is not scored.
    pub(crate) is_closed: bool,
    /// Without rows of days.
    pub(crate) evidence: Evidence,
}

/// Returns the state of these stores, ordered by id. Merchants without a store are left out.
pub(crate) async fn states(
    sql: &mut PgConnection,
    merchants: &[Uuid],
    epoch: Epoch,
) -> sqlx::Result<Vec<StoreState>> {
    let rows = rows(sql, merchants, epoch).await?;
    // What was delivered after the last day that counts is not of this epoch.
    let later = delivered_after(sql, merchants, epoch.last_day()).await?;
    let state = |mut row: Row| {
        row.delivered -= later.get(&row.merchant).copied().unwrap_or(0);
        row.into_state(epoch)
    };
    Ok(rows.into_iter().map(state).collect())
}

async fn rows(sql: &mut PgConnection, merchants: &[Uuid], epoch: Epoch) -> sqlx::Result<Vec<Row>> {
    let (first, last) = v41_window(epoch);
    // Ids of a batch are neighbors: their range is read by the index, however many they are.
    let (smallest, largest) = (merchants.iter().min().copied(), merchants.iter().max().copied());
    sqlx::query_as!(
        Row,
        r#"SELECT store.merchant_id AS "merchant!: MerchantId", store.slug AS "slug!", store.currency AS "currency!",
                  store.member_since AS "member_since!: Timestamp",
                  greatest(store.last_sync_at, quality.pushed_since) AS "synced_at?: Timestamp",
                  coalesce(NOT quality.is_outdated, false) AS "has_figures!", store.status = 'closed' AND NOT store.status_by_owner AS "is_closed!",
                  coalesce(quality.products, 0) AS "products!", coalesce(quality.complete, 0) AS "complete!",
                  coalesce(quality.consistent, 0) AS "consistent!",
                  coalesce(quality.rated_products, 0) AS "rated_products!",
                  coalesce(quality.rating_sum_hundredths, 0) AS "rating_sum_hundredths!",
                  policy.return_window_days IS NOT NULL AS "has_returns!",
                  policy.shipping_days_max IS NOT NULL AS "has_shipping!",
                  policy.privacy_url IS NOT NULL AS "has_privacy!",
                  coalesce(tally.delivered, 0) AS "delivered!",
                  coalesce(identity.status = 'verified', false) AS "is_identity_verified!",
                  coalesce(setting.shipping <> '[]', false) AS "has_shipping_zones!",
                  setting.checkout_url_template IS NOT NULL AS "has_checkout_page!",
                  EXISTS (SELECT FROM webhook_endpoint AS endpoint
                          WHERE endpoint.merchant_id = store.merchant_id AND endpoint.status = 'enabled') AS "has_webhook!",
                  synthetic.merchant_id IS NOT NULL AS "is_synthetic!",
                  human.fulfilled AS "human_fulfilled!", human.canceled AS "human_canceled!",
                  refunded.orders AS "refunded_orders!", refunded.amount_minor AS "refunded_minor!"
           FROM store
           LEFT JOIN catalog_quality AS quality USING (merchant_id)
           LEFT JOIN store_policy AS policy USING (merchant_id)
           LEFT JOIN trust_tally AS tally USING (merchant_id)
           LEFT JOIN identity_verification AS identity USING (merchant_id)
           LEFT JOIN store_setting AS setting USING (merchant_id)
           LEFT JOIN trust_synthetic AS synthetic USING (merchant_id)
           CROSS JOIN LATERAL (
               SELECT count(*) FILTER (WHERE newest.status IN ('delivered', 'completed')) AS fulfilled,
                      count(*) FILTER (WHERE newest.status IN ('canceled', 'failed')) AS canceled
               FROM (SELECT pushed.status FROM pushed_order AS pushed
                     WHERE pushed.merchant_id = store.merchant_id
                       AND pushed.status IN ('delivered', 'completed', 'canceled', 'failed')
                     ORDER BY pushed.placed_at DESC, pushed.order_id LIMIT 100) AS newest
           ) AS human
           CROSS JOIN LATERAL (
               SELECT count(DISTINCT refund.order_id) FILTER (WHERE refund.reason IN
                          ('out_of_stock', 'damaged', 'not_received', 'late_delivery', 'dispute')) AS orders,
                      least(coalesce(sum(refund.amount_minor), 0), 9000000000000000000)::bigint AS amount_minor
               FROM order_refund AS refund
               CROSS JOIN LATERAL (
                   SELECT is_sandbox, is_paid_late, currency FROM placed_order
                   WHERE placed_order.merchant_id = refund.merchant_id AND placed_order.order_id = refund.order_id
                   LIMIT 1) AS placed
               WHERE refund.merchant_id = store.merchant_id AND refund.created_at >= $2 AND refund.created_at < $3
                 AND NOT placed.is_sandbox AND NOT placed.is_paid_late AND placed.currency = store.currency
           ) AS refunded
           WHERE store.merchant_id BETWEEN $4 AND $5 AND store.merchant_id = ANY ($1) ORDER BY store.merchant_id"#,
        merchants,
        first.start() as Timestamp,
        last.end() as Timestamp,
        smallest.unwrap_or_default(),
        largest.unwrap_or_default(),
    )
    .fetch_all(sql)
    .await
}
