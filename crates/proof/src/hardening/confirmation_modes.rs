//! `confirmation-modes`: a confirmation counts in the mode in which the person was asked. What a client answers on behalf of the
//! person replaces no decision on the page, whatever it sends back; a decision on the page replaces an answer of the client.

use merchants::{ConfirmationPolicy, Settings};
use serde_json::{Value, json};

use super::deployment::{NEWEST, mcp_post};
use super::shop::{Shop, text};
use crate::checkout::store::{Agent, settings_without_hold_limits};
use crate::http::{Client, tool_call};
use crate::report::{Failure, Trial, Verdict, ensure};

const OLDER: &str = "2025-11-25";

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let hosted =
        Settings { confirmation: ConfirmationPolicy::Hosted, ..settings_without_hold_limits() };
    let hosted = Case::open(&trial, hosted).await?;
    let forged = hosted.page_required().await?;
    hosted.older_client().await?;
    let attested = Case::open(&trial, settings_without_hold_limits()).await?;
    attested.form_of_client().await?;
    let asked_on_page = attested.page_asked_by_agent().await?;
    attested.other_levels().await?;
    Ok(format!(
        "where the store requires the page, {forged} answers of a client decide nothing, and the page does; a client that may ask \
         gets the level elicited; {asked_on_page} answers to a question for the page are refused; a level cannot be claimed"
    ))
}

/// A store, and an agent whose client can ask the person.
struct Case {
    shop: Shop,
    agent: Agent,
}

impl Case {
    async fn open(trial: &Trial, settings: Settings) -> Result<Self, Failure> {
        let shop = Shop::with(trial, &[1_000], settings).await?;
        Ok(Self { agent: shop.agent().await?, shop })
    }

    /// Completes a checkout as a client that declares these modes of elicitation, and returns the result.
    async fn complete(
        &self,
        version: &str,
        modes: &Value,
        arguments: &Value,
        response: Option<(&str, Value)>,
    ) -> Result<Value, Failure> {
        let mut call = tool_call("complete_checkout", arguments);
        if let Some((state, response)) = response {
            call["params"]["requestState"] = json!(state);
            call["params"]["inputResponses"] = json!({ "approval": response });
        }
        let capabilities = json!({ "elicitation": modes });
        let key = Some(self.agent.key.as_str());
        let request = mcp_post(&self.shop.slug, version, key, call, &capabilities);
        let answer = Client::exchange(self.shop.port(), &request).await?;
        ensure(answer.status == 200, || format!("{} {}", answer.status, answer.body))?;
        Ok(serde_json::from_str(&answer.body)?)
    }

    /// Returns the level and the status of a confirmation.
    async fn confirmation(&self, id: &str) -> Result<(String, Option<String>), Failure> {
        let mut raw = self.shop.deployment.test.raw().await;
        let found = "SELECT status, level FROM confirmation WHERE merchant_id = $1 AND confirmation_id = $2::uuid";
        let id = id.rsplit('_').next().unwrap_or_default();
        let found = sqlx::query_as(found).bind(self.shop.merchant).bind(id.to_owned());
        Ok(found.fetch_one(&mut raw).await?)
    }

    async fn undecided(&self, id: &str) -> Result<(), Failure> {
        let found = self.confirmation(id).await?;
        ensure(found == (String::from("pending"), None), || format!("a client decided: {found:?}"))
    }

    /// The store requires the page: a client is sent there, and no answer of it is an approval.
    async fn page_required(&self) -> Result<usize, Failure> {
        let named = json!({ "cart_id": self.shop.cart(&self.agent).await? });
        let both = json!({ "form": {}, "url": {} });
        let asked = self.complete(NEWEST, &both, &named, None).await?;
        let params = &asked["result"]["inputRequests"]["approval"]["params"];
        let (state, id) = (text(&asked["result"], "requestState")?, text(params, "elicitationId")?);
        let is_page =
            params["mode"] == "url" && params["url"].as_str().is_some_and(|url| url.ends_with(id));
        ensure(is_page, || format!("the client is not sent to the page: {asked}"))?;
        let yes = || json!({ "action": "accept", "content": { "approve": true } });
        let form = format!("form:{id}");
        let answers =
            [(state, yes()), (state, json!({ "action": "accept" })), (form.as_str(), yes())];
        for (state, response) in &answers {
            let reply =
                self.complete(NEWEST, &both, &named, Some((state, response.clone()))).await?;
            let is_completed = reply["result"]["structuredContent"]["checkout_id"].is_string();
            ensure(!is_completed, || format!("{state} was accepted: {reply}"))?;
            self.undecided(id).await?;
        }
        let form_only = self.complete(NEWEST, &json!({ "form": {} }), &named, None).await?;
        let envelope = envelope(&form_only);
        ensure(
            envelope["error"] == "confirmation_required"
                && envelope["details"]["confirm_url"].is_string(),
            || format!("a client without a browser: {form_only}"),
        )?;
        let decided = self.shop.decide(id, "approve").await?;
        ensure(decided == 303, || format!("the decision was answered with {decided}"))?;
        let done = self
            .complete(NEWEST, &both, &named, Some((state, json!({ "action": "accept" }))))
            .await?;
        level(&done, "hosted")?;
        Ok(answers.len())
    }

    /// A client of the older version is told to open the page.
    async fn older_client(&self) -> Result<(), Failure> {
        let named = json!({ "cart_id": self.shop.cart(&self.agent).await? });
        let asked = self.complete(OLDER, &json!({ "url": {} }), &named, None).await?;
        let page = &asked["error"]["data"]["elicitations"][0];
        ensure(asked["error"]["code"] == -32_042 && page["mode"] == "url", || {
            format!("no error with the page: {asked}")
        })?;
        self.undecided(text(page, "elicitationId")?).await
    }

    /// The store accepts less: the client asks the person itself.
    async fn form_of_client(&self) -> Result<(), Failure> {
        let form = json!({ "form": {} });
        for (approve, expected) in [(true, "confirmed"), (false, "rejected")] {
            let items = json!([{ "product_id": self.shop.products[0], "quantity": if approve { 3 } else { 4 } }]);
            let new = json!({ "items": items, "ship_to": { "country": "DE", "city": "Berlin", "street": "Way 1" } });
            let mut client = self.agent.client(self.shop.port());
            let cart = self.agent.call(&mut client, "create_cart", new).await.success()?;
            let named = json!({ "cart_id": cart["cart_id"] });
            let asked = self.complete(NEWEST, &form, &named, None).await?;
            let state = text(&asked["result"], "requestState")?;
            let id = state.strip_prefix("form:").ok_or_else(|| format!("no form: {asked}"))?;
            let response = json!({ "action": "accept", "content": { "approve": approve } });
            let done = self.complete(NEWEST, &form, &named, Some((state, response))).await?;
            if approve {
                level(&done, "elicited")?;
            } else {
                ensure(envelope(&done)["details"]["reason"] == "declined", || format!("{done}"))?;
            }
            let found = self.confirmation(id).await?;
            ensure(found.0 == expected, || format!("{expected} expected: {found:?}"))?;
        }
        Ok(())
    }

    /// The agent has asked for a decision on the page: its client cannot give it.
    async fn page_asked_by_agent(&self) -> Result<usize, Failure> {
        let cart = self.shop.cart(&self.agent).await?;
        let named = json!({ "cart_id": cart });
        let mut client = self.agent.client(self.shop.port());
        let asked = self.agent.call(&mut client, "request_human_confirmation", named.clone()).await;
        let asked = asked.success()?;
        let id = text(&asked, "confirmation_id")?;
        let yes = json!({ "action": "accept", "content": { "approve": true } });
        let states = [format!("form:{id}"), format!("page:{id}")];
        for state in &states {
            let response = Some((state.as_str(), yes.clone()));
            let reply = self.complete(NEWEST, &json!({ "form": {} }), &named, response).await?;
            let is_completed = reply["result"]["structuredContent"]["checkout_id"].is_string();
            ensure(!is_completed, || format!("{state} was accepted: {reply}"))?;
            self.undecided(id).await?;
        }
        Ok(states.len())
    }

    /// An agent claims a level that no person gave.
    async fn other_levels(&self) -> Result<(), Failure> {
        let cart = self.shop.cart(&self.agent).await?;
        let mut client = self.agent.client(self.shop.port());
        for claimed in ["elicited", "hosted", "mandate"] {
            let claim = json!({ "cart_id": cart, "confirmation": { "level": claimed } });
            let reply = self.agent.call(&mut client, "complete_checkout", claim).await;
            super::shop::refused(&reply, 409, "confirmation_required")?;
        }
        let done = self.agent.complete(&mut client, &cart, None).await.success()?;
        ensure(done["human_confirmation"]["level"] == "attested", || format!("{done}"))
    }
}

/// Returns the error of a failed result.
fn envelope(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

/// Fails unless a checkout was completed with this level of confirmation.
fn level(answer: &Value, expected: &str) -> Result<(), Failure> {
    let found = &answer["result"]["structuredContent"]["human_confirmation"]["level"];
    ensure(*found == expected, || format!("the level {expected} expected: {answer}"))
}
