//! (b) F1: the process dies at each place of the completing and of the paying transaction; the caller asks again, as the
//! specification says. One session, one address, one hold; after the payment one order.

use std::time::Duration;

use super::checker;
use super::shop::{Agent, Said, Shop, report_paid};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, lasting_port};

/// Places in completing.
const COMPLETING: [&str; 10] = [
    "complete.before",
    "complete.claimed",
    "complete.cart_held",
    "complete.looked",
    "complete.cart_started",
    "complete.session_written",
    "complete.recorded",
    "complete.answered",
    "complete.units_held",
    "complete.committed",
];
/// Places in learning of a payment.
const PAYING: [&str; 4] =
    ["pay.order_placed", "pay.units_sold", "report.before_commit", "report.committed"];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::open(&[1_000]).await?;
    let mut house = House::open(shop, Vec::new()).await?;
    let agent = house.agent().await?;
    let merchant_key = house.shop.merchant_key().await?;
    for place in COMPLETING.into_iter().step_by(trial.by_tier(4, 1)) {
        house.complete(&agent, place).await?;
    }
    for place in PAYING.into_iter().step_by(trial.by_tier(3, 1)) {
        house.pay(&agent, &merchant_key, place).await?;
    }
    let books = checker::check(&house.shop).await?;
    Ok(format!(
        "{} deaths at {} places, each asked again: {} sessions, {} holds, {} orders, none twice",
        house.deaths, house.deaths, books.sessions, books.holding, books.orders
    ))
}

/// A store and the one process that serves it, which dies and is started again.
pub(super) struct House {
    pub(super) shop: Shop,
    pub(super) port: u16,
    pub(super) deaths: u32,
    settings: Vec<(&'static str, String)>,
    server: Option<Souk>,
}

impl House {
    pub(super) async fn open(
        shop: Shop,
        settings: Vec<(&'static str, String)>,
    ) -> Result<Self, Failure> {
        let mut house = Self { shop, port: lasting_port()?, deaths: 0, settings, server: None };
        house.restart(None).await?;
        Ok(house)
    }

    pub(super) async fn agent(&self) -> Result<Agent, Failure> {
        self.shop.agent(self.server.as_ref().ok_or("no server")?, "ada").await
    }

    /// Another process in the place of the one there is.
    pub(super) async fn restart(&mut self, place: Option<&str>) -> Result<(), Failure> {
        drop(self.server.take());
        let mut settings = self.settings.clone();
        settings.extend(place.map(|place| ("SOUK_CRASH_AT", place.to_owned())));
        let server = Souk::serve_on(&self.shop.url(), self.port, &settings)?;
        self.server = Some(server.opened().await?);
        Ok(())
    }

    /// Whether the process died at the place, and did not just end.
    pub(super) async fn died(&mut self, place: &str) -> Result<(), Failure> {
        let server = self.server.as_mut().ok_or("no server")?;
        let code = server.wait(Duration::from_secs(10)).await?;
        ensure(code != Some(0), || format!("at {place} it ended in peace"))?;
        self.deaths += 1;
        Ok(())
    }

    async fn complete(&mut self, agent: &Agent, place: &str) -> Result<(), Failure> {
        self.restart(Some(place)).await?;
        let mut client = agent.client(self.port);
        let cart = agent.cart(&mut client, &[(self.shop.products[0], 2)]).await?;
        let said = agent.complete(&mut client, &cart, Some(place)).await;
        ensure(matches!(said, Said::Nothing(_)), || format!("at {place} it said {said:?}"))?;
        self.died(place).await?;
        self.restart(None).await?;
        let first = agent.insist(self.port, &cart, Some(place)).await.done()?;
        let second = agent.insist(self.port, &cart, Some(place)).await.done()?;
        let mut without = agent.client(self.port);
        let third = agent.complete(&mut without, &cart, None).await.done()?;
        for other in [&second, &third] {
            let same = |field: &str| first[field] == other[field] && first[field].is_string();
            ensure(same("checkout_id") && same("checkout_url"), || {
                format!("after {place}: {first} and {other}")
            })?;
        }
        Ok(())
    }

    async fn pay(&mut self, agent: &Agent, key: &str, place: &str) -> Result<(), Failure> {
        self.restart(Some(place)).await?;
        let mut client = agent.client(self.port);
        let cart = agent.cart(&mut client, &[(self.shop.products[0], 1)]).await?;
        let session = agent.complete(&mut client, &cart, None).await.done()?;
        let checkout = session["checkout_id"].as_str().ok_or("a session without an id")?.to_owned();
        let said = report_paid(self.port, key, &checkout, place).await;
        ensure(matches!(said, Said::Nothing(_)), || format!("at {place} it said {said:?}"))?;
        self.died(place).await?;
        self.restart(None).await?;
        let mut orders = Vec::new();
        for _ in 0..3 {
            let told = report_paid(self.port, key, &checkout, place).await.done()?;
            orders.push(told["order"]["order_id"].as_str().unwrap_or_default().to_owned());
        }
        orders.dedup();
        ensure(orders.len() == 1 && orders[0].starts_with("ord_"), || {
            format!("after {place}: {orders:?}")
        })
    }
}
