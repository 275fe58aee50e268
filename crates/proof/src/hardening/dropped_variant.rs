//! `dropped-variant`: a merchant drops a variant, by a push or a feed, while checkouts hold units of it. What was begun can be
//! paid, reported, canceled, released or expire; nothing new is begun; stock and holds balance.

use serde_json::{Value, json};

use super::expiry::release_expired;
use super::shop::{Shop, agent_call, call, expect_error, tool};
use crate::catalog::merchant::Merchant;
use crate::checkout::store::{Agent, Reply, settings_without_hold_limits};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

/// How a checkout ends.
#[derive(Debug, Clone, Copy)]
enum End {
    /// The person pays on the hosted page.
    Paid,
    /// The merchant reports a payment.
    Reported,
    /// The agent cancels.
    Canceled,
    /// The merchant releases the hold.
    Released,
    Expired,
}

const ENDS: [End; 5] = [End::Paid, End::Reported, End::Canceled, End::Released, End::Expired];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[], settings_without_hold_limits()).await?;
    let (agent, key) = (shop.agent().await?, shop.key().await?);
    let _worker = Souk::work(&shop.url(), 10)?;
    let mut case = Case { agent, key, product: String::new(), orders: 0, shop };
    for end in ENDS {
        case.drop_while_held(end, false).await.map_err(|why| format!("{end:?}: {why}"))?;
    }
    for end in trial.rotate(ENDS.to_vec(), 1) {
        case.drop_while_held(end, true).await.map_err(|why| format!("feed, {end:?}: {why}"))?;
    }
    let rounds = trial.by_tier(2, 60);
    let (mut completed, mut refused) = (0, 0);
    for round in 0..rounds {
        trial.progress(|| format!("round {round} of {rounds}"));
        let outcome = case.drop_meanwhile().await?;
        (completed, refused) = (completed + outcome.0, refused + outcome.1);
    }
    Ok(format!(
        "dropped by a push and by a feed while held: {} ends as they should, nothing new begun; {rounds} drops beside 8 \
         checkouts each: {completed} completed, {refused} refused; {} orders, all holds released, no unit left over",
        ENDS.len(),
        case.orders
    ))
}

struct Case {
    shop: Shop,
    agent: Agent,
    key: String,
    product: String,
    /// Orders that have to exist.
    orders: i64,
}

impl Case {
    fn shirt(skus: &[&str]) -> Value {
        let variants: Vec<Value> =
            skus.iter().map(|sku| json!({ "sku": sku, "stock_quantity": 50 })).collect();
        json!({ "external_id": "shirt", "name": "A shirt", "price": "10.00", "variants": variants })
    }

    /// Pushes the product with these variants.
    async fn push(&self, skus: &[&str]) -> Result<String, Failure> {
        let (path, body) = ("/merchant/products/shirt", Self::shirt(skus));
        let (status, answer) = call(self.shop.port(), &self.key, "PUT", path, &body).await?;
        let id = answer["data"]["product_id"].as_str().filter(|_| status == 200);
        id.map(str::to_owned).ok_or_else(|| format!("a push: {status} {answer}").into())
    }

    /// Replaces the catalog by a feed with these variants.
    async fn feed(&self, skus: &[&str]) -> Result<(), Failure> {
        let (port, merchant) = (self.shop.port(), Merchant::new(self.key.clone()));
        let feed = format!("{}\n", Self::shirt(skus));
        let path = "/api/v1/merchant/products";
        let job = merchant.send(port, "PUT", path, feed.as_bytes()).await?;
        let job = job.ok_or("the feed was not accepted")?;
        let end = merchant.wait_for_job(|| port, &job, |_| {}).await?;
        ensure(end["status"] == "completed", || format!("the feed: {end}"))
    }

    /// Offers both variants and returns the id of the one that is dropped later.
    async fn offer(&mut self) -> Result<String, Failure> {
        self.product = self.push(&["S", "M"]).await?;
        let arguments = json!({ "product_id": self.product });
        let (key, slug) = (&self.agent.key, &self.shop.slug);
        let read = tool(self.shop.port(), key, slug, "get_product_variants", &arguments).await?;
        let variants = read.1["variants"].as_array().cloned().unwrap_or_default();
        let small = variants.iter().find(|variant| variant["sku"] == "S");
        let id = small.and_then(|small| small["variant_id"].as_str().or(small["id"].as_str()));
        id.map(str::to_owned).ok_or_else(|| format!("no variant S: {read:?}").into())
    }

    async fn cart(&self, variant: &str) -> Result<String, Failure> {
        let items = json!([{ "product_id": self.product, "variant_id": variant, "quantity": 2 }]);
        let new = json!({ "items": items, "ship_to": { "country": "DE", "city": "Berlin", "street": "Way 1" } });
        let mut client = self.agent.client(self.shop.port());
        let cart = self.agent.call(&mut client, "create_cart", new).await.success()?;
        Ok(super::shop::text(&cart, "cart_id")?.to_owned())
    }

    async fn drop_while_held(&mut self, end: End, by_feed: bool) -> Result<(), Failure> {
        let variant = self.offer().await?;
        let session = self.shop.complete(&self.agent, &self.cart(&variant).await?).await?;
        let waiting = self.cart(&variant).await?;
        if by_feed {
            self.feed(&["M"]).await?;
        } else {
            self.push(&["M"]).await?;
        }
        self.books(2).await?;
        let (port, key, slug) = (self.shop.port(), &self.agent.key, &self.shop.slug);
        let items = json!([{ "product_id": self.product, "variant_id": variant }]);
        let new = tool(port, key, slug, "create_cart", &json!({ "items": items })).await?;
        expect_error("a new cart with it", &new, 404, "product_not_found")?;
        let late = json!({ "cart_id": waiting });
        let late = tool(port, key, slug, "complete_checkout", &late).await?;
        ensure((400..500).contains(&late.0) && late.1["details"]["hint"].is_string(), || {
            format!("completing a cart with it: {late:?}")
        })?;
        self.end(end, &session).await?;
        self.books(0).await
    }

    async fn end(&mut self, end: End, session: &str) -> Result<(), Failure> {
        let port = self.shop.port();
        let (status, expected) = match end {
            End::Paid => (self.shop.pay(session).await?, 303),
            End::Reported => {
                let path = format!("/merchant/checkouts/{session}/complete");
                let report = json!({ "reference": format!("R-{session}") });
                (call(port, &self.key, "POST", &path, &report).await?.0, 200)
            }
            End::Canceled => {
                let path = format!("/agent/checkout/{session}/cancel");
                (agent_call(port, &self.agent.key, "POST", &path, &json!({})).await?.0, 200)
            }
            End::Released => {
                let path = format!("/merchant/checkouts/{session}/release");
                (call(port, &self.key, "POST", &path, &json!({})).await?.0, 200)
            }
            End::Expired => return self.expire().await,
        };
        ensure(status == expected, || format!("answered with {status}"))?;
        self.orders += i64::from(matches!(end, End::Paid | End::Reported));
        Ok(())
    }

    async fn expire(&self) -> Result<(), Failure> {
        let past = "UPDATE checkout_session SET started_at = started_at - interval '31 minutes',
                           expires_at = expires_at - interval '31 minutes'
                    WHERE merchant_id = $1 AND is_holding";
        self.shop.execute(past).await?;
        release_expired(&self.shop.deployment.test, self.shop.merchant).await.map(|_| ())
    }

    /// Drops the variant while eight carts with it are completed. Returns how many were completed and how many refused.
    async fn drop_meanwhile(&mut self) -> Result<(u32, u32), Failure> {
        let variant = self.offer().await?;
        let mut carts = Vec::new();
        for _ in 0..8 {
            carts.push(self.cart(&variant).await?);
        }
        let (agent, port) = (&self.agent, self.shop.port());
        let completions = carts
            .iter()
            .map(|cart| async move { agent.complete(&mut agent.client(port), cart, None).await });
        let dropping = self.push(&["M"]);
        let (replies, dropped) = tokio::join!(futures::future::join_all(completions), dropping);
        dropped?;
        let (mut sessions, mut refused) = (Vec::new(), 0);
        for reply in replies {
            match reply {
                Reply::Success(session) => {
                    sessions.push(super::shop::text(&session, "checkout_id")?.to_owned());
                }
                Reply::Error(404 | 409 | 422, _) => refused += 1,
                other => return Err(format!("a checkout beside the drop: {other:?}").into()),
            }
        }
        self.books(2 * i64::try_from(sessions.len())?).await?;
        for (number, session) in sessions.iter().enumerate() {
            let end = if number % 2 == 0 { End::Paid } else { End::Canceled };
            self.end(end, session).await?;
        }
        self.books(0).await?;
        Ok((u32::try_from(sessions.len())?, refused))
    }

    /// Fails unless so many units are held, by the variants as by the sessions, and every payment is an order. A dropped variant
    /// exists as long as units of it are held.
    async fn books(&self, held: i64) -> Result<(), Failure> {
        let of_variants =
            "SELECT coalesce(sum(held), 0)::bigint FROM variant WHERE merchant_id = $1";
        let of_sessions = "SELECT coalesce(sum((line->>'quantity')::bigint), 0)::bigint
             FROM checkout_session, jsonb_array_elements(lines) AS line WHERE merchant_id = $1 AND is_holding";
        let dropped = "SELECT count(*) FROM variant WHERE merchant_id = $1 AND sku = 'S'";
        let orders = "SELECT count(*) FROM placed_order WHERE merchant_id = $1";
        let oversold =
            "SELECT count(*) FROM variant WHERE merchant_id = $1 AND held > stock_quantity";
        let found = [
            self.shop.count(of_variants).await?,
            self.shop.count(of_sessions).await?,
            self.shop.count(dropped).await?,
            self.shop.count(orders).await?,
            self.shop.count(oversold).await?,
        ];
        let expected = [held, held, i64::from(held > 0), self.orders, 0];
        ensure(found == expected, || {
            format!(
                "held by variants and sessions, dropped variants, orders, oversold: {found:?}, expected {expected:?}"
            )
        })
    }
}
