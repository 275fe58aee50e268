//! `store-status`: a store that an operator suspends, pauses or closes is closed for agents within seconds, at every process; what
//! somebody already has there stays reachable, and nothing new is completed.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::shop::{Answer, Shop, agent_call, call, expect, paid_report, tool};
use crate::checkout::store::Agent;
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::output;

/// Stores are cached for two seconds.
const EFFECT_MAX: Duration = Duration::from_secs(5);

/// What operators do, and the reason that agents are told.
const STATUSES: [(&str, &str); 3] =
    [("suspend", "suspended"), ("pause", "paused"), ("close", "closed")];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let case = Case {
        agent: shop.agent().await?,
        owner: shop.member("owner").await?.1,
        key: shop.key().await?,
        ports: [shop.port(), shop.deployment.other_port().await?],
        shop,
    };
    // Each takes seconds, because stores are cached.
    let statuses = trial.rotate(STATUSES.to_vec(), 1);
    let mut slowest = Duration::ZERO;
    for (verb, reason) in &statuses {
        slowest = slowest.max(case.close(verb, reason).await?);
    }
    let verbs: Vec<&str> = statuses.iter().map(|(_, reason)| *reason).collect();
    Ok(format!(
        "{}: refused by both processes after at most {:.1} s; sessions read, canceled and reported as paid; nothing new \
         completed; reopened",
        verbs.join(", "),
        slowest.as_secs_f64()
    ))
}

/// A store that is closed and opened again.
struct Case {
    shop: Shop,
    agent: Agent,
    owner: String,
    key: String,
    /// The servers.
    ports: [u16; 2],
}

impl Case {
    async fn tool(&self, port: u16, name: &str, arguments: &Value) -> Result<Answer, Failure> {
        tool(port, &self.agent.key, &self.shop.slug, name, arguments).await
    }

    /// Closes the store and opens it again. Returns the time until every process refused calls.
    async fn close(&self, verb: &str, reason: &str) -> Result<Duration, Failure> {
        let (shop, here) = (&self.shop, self.ports[0]);
        let waiting = shop.cart(&self.agent).await?;
        let held = shop.complete(&self.agent, &shop.cart(&self.agent).await?).await?;
        let paid = shop.complete(&self.agent, &shop.cart(&self.agent).await?).await?;
        output(&shop.url(), &["stores", verb, &shop.slug, "--reason", "proof"]).await?;
        let since = Instant::now();
        for port in self.ports {
            while self.tool(port, "get_merchant_profile", &json!({})).await?.0 == 200 {
                ensure(since.elapsed() < EFFECT_MAX, || format!("{verb} has no effect after 5 s"))?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        let slowest = since.elapsed();
        for (name, arguments) in [
            ("get_merchant_profile", json!({})),
            ("complete_checkout", json!({ "cart_id": waiting })),
            ("create_cart", json!({ "items": [] })),
        ] {
            let refused = self.tool(here, name, &arguments).await?;
            expect(name, &refused, 403, Some(("reason", reason)))?;
            ensure(refused.1["error"] == "store_suspended", || format!("{name}: {refused:?}"))?;
        }
        self.listed(false).await?;
        self.reach(verb, &held, &paid).await?;
        let (_, notices) =
            call(here, &self.owner, "GET", "/merchant/notices", &Value::Null).await?;
        let newest = &notices["data"][0];
        ensure(newest["details"]["reason"] == "proof", || format!("no notice: {newest}"))?;
        output(&shop.url(), &["stores", "reinstate", &shop.slug, "--reason", "proof"]).await?;
        while self.tool(here, "get_merchant_profile", &json!({})).await?.0 != 200 {
            ensure(since.elapsed() < 4 * EFFECT_MAX, || String::from("it was not reopened"))?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.listed(true).await?;
        Ok(slowest)
    }

    /// What somebody already has there stays reachable.
    async fn reach(&self, verb: &str, held: &str, paid: &str) -> Result<(), Failure> {
        let (here, agent) = (self.ports[0], &self.agent.key);
        let path = format!("/agent/checkout/{held}");
        let read = agent_call(here, agent, "GET", &path, &Value::Null).await?;
        expect("reading a session", &read, 200, None)?;
        let cancel = format!("{path}/cancel");
        let canceled = agent_call(here, agent, "POST", &cancel, &json!({})).await?;
        expect("canceling a session", &canceled, 200, None)?;
        let report = paid_report(&format!("SHOP-{verb}"));
        let path = format!("/merchant/checkouts/{paid}/complete");
        let reported = call(here, &self.key, "POST", &path, &report).await?;
        expect("the payment report of a session from before", &reported, 200, None)
    }

    /// Checks whether the directory contains the store.
    async fn listed(&self, expected: bool) -> Result<(), Failure> {
        let slug = &self.shop.slug;
        let path = format!("/api/v1/stores/directory?limit=100&q={slug}");
        let found = Client::new(self.ports[0]).get(&path).await;
        let Delivery::Answered { status: 200, body } = found else {
            return Err(format!("the directory: {found:?}").into());
        };
        let is_listed = body.contains(&format!("\"slug\":\"{slug}\""));
        ensure(is_listed == expected, || format!("in the directory: {is_listed}"))
    }
}
