//! `late-payment`: a merchant reports payments of sessions that were canceled, that have expired, and whose expiry a job has
//! already recorded. The first report of each finds its units and is an order to review; where they are gone, it is a refund to
//! make.

use merchants::Settings;
use primitives::ProductId;
use serde_json::json;

use super::expiry::release_expired;
use super::shop::{Shop, refused};
use crate::checkout::store::{Agent, report_paid};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[2, 2, 2], Settings::default()).await?;
    let (agent, key) = (shop.agent().await?, shop.key().await?);
    let [canceled, expired, recorded] = shop.products[..] else {
        return Err("three products expected".into());
    };
    let mut late = Late { shop: &shop, key, reports: 0 };
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let id = late.hold_all(&agent, canceled).await?;
        let cancel = json!({ "checkout_id": id });
        let mut client = agent.client(shop.port());
        agent.call(&mut client, "cancel_checkout", cancel).await.success()?;
        sessions.push(id);
    }
    late.report_all(&sessions).await?;
    let id = late.hold_all(&agent, expired).await?;
    late.expire().await?;
    late.report_all(&[id]).await?;
    let mut sessions = Vec::new();
    let _worker = Souk::work(&shop.url(), 10)?;
    for _ in 0..2 {
        sessions.push(late.hold_all(&agent, recorded).await?);
        late.expire().await?;
        release_expired(&shop.deployment.test, shop.merchant).await?;
    }
    late.report_all(&sessions).await?;
    let (orders, refunds) = late.books().await?;
    ensure((orders, refunds) == (3, 2), || format!("{orders} orders, {refunds} refunds"))?;
    Ok(format!(
        "{} payments of canceled and expired sessions: {orders} orders to review, {refunds} refunds to make, none ignored; stock \
         and holds balanced",
        late.reports
    ))
}

/// Sessions of a store that end before they are paid.
struct Late<'s> {
    shop: &'s Shop,
    key: String,
    /// Payments reported so far.
    reports: usize,
}

impl Late<'_> {
    /// Holds both units of a product and returns the id of the session.
    async fn hold_all(&self, agent: &Agent, product: ProductId) -> Result<String, Failure> {
        let cart = agent.cart(&mut agent.client(self.shop.port()), &[(product, 2)]).await?;
        self.shop.complete(agent, &cart).await
    }

    /// Lets the open sessions expire.
    async fn expire(&self) -> Result<(), Failure> {
        let past = "UPDATE checkout_session SET started_at = started_at - interval '31 minutes',
                           expires_at = expires_at - interval '31 minutes'
                    WHERE merchant_id = $1 AND status = 'requires_escalation' AND expires_at > now()";
        self.shop.execute(past).await
    }

    /// Reports the payments of sessions of one product: the first is accepted, also if it is repeated, all others are refunds.
    async fn report_all(&mut self, sessions: &[String]) -> Result<(), Failure> {
        let port = self.shop.port();
        for (number, session) in sessions.iter().enumerate() {
            self.reports += 1;
            let reference = format!("A-{}", self.reports);
            for _ in 0..2 {
                let reply = report_paid(port, &self.key, session, &reference).await;
                if number == 0 {
                    reply.success()?;
                } else {
                    refused(&reply, 409, "out_of_stock")?;
                }
            }
        }
        Ok(())
    }

    /// Returns the orders to review and the sessions to refund, and fails if stock and holds do not agree with them.
    async fn books(&self) -> Result<(i64, i64), Failure> {
        let left = "SELECT sum(stock_quantity + held) FROM product WHERE merchant_id = $1";
        let left = self.shop.count(left).await?;
        ensure(left == 0, || format!("{left} units in stock or held after all were sold"))?;
        let orders =
            "SELECT count(*) FROM placed_order WHERE merchant_id = $1 AND status = 'manual_review'";
        let refunds = "SELECT count(DISTINCT checkout_id) FROM payment_report WHERE merchant_id = $1 AND outcome = 'refund_due'";
        Ok((self.shop.count(orders).await?, self.shop.count(refunds).await?))
    }
}
