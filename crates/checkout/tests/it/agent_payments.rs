//! Payments by agents in tokens, with a facilitator and a chain that do what a test says.

mod failures;
mod refusals;

use std::time::Duration;

use carts::CartOwner;
use checkout::{
    AgentPayment, AgentPaymentError, AgentPaymentRequest, AgentPaymentStatus, CheckoutContext,
    PaymentGateway, ReconcilePayments, SessionSnapshot,
};
use database::Database;
use merchants::{Settings, TokenNetwork, X402Settings};
use orders::ConfirmationLevel;
use payments::{TestProvider, X402Provider};
use primitives::{CheckoutId, Currency, ErrorCode, Problem, ProductId};
use testkit::token_payments::{
    Chain, Node, START_SECONDS, Script, ScriptedFacilitator, Wallet, transaction,
};
use x402::{Address, ChainReader, Extensions, Network, PaymentPayload, PaymentRequirements};

use crate::shop::{Shop, agent};

/// The account of the merchant.
const PAY_TO: Address = Address::new([0x5e; 20]);
/// Two mugs with shipping, in cents, and in the smallest unit of USDC.
const TOTAL: i64 = 29_90;
const TOKENS: u128 = 29_900_000;
/// Time for a response of the facilitator and of the node.
const TIMEOUT: Duration = Duration::from_millis(400);

fn x402_settings() -> X402Settings {
    X402Settings {
        pay_to: PAY_TO,
        network: TokenNetwork::BaseSepolia,
        confirmations: 1,
        unattended_limit_minor: 100_00,
        eur_rate_micros: None,
    }
}

fn provider(database: &Database, facilitator: &str, node: &str) -> X402Provider {
    let client = testkit::loopback_client(TIMEOUT);
    let facilitator = x402::Facilitator::new(client.clone(), facilitator, None).unwrap();
    let chain = ChainReader::new(client, node, None, Network::BASE_SEPOLIA).unwrap();
    X402Provider::new(database.clone(), facilitator, chain)
}

/// A store whose agents pay in tokens.
struct Market {
    shop: Shop,
    chain: Chain,
    node: Node,
    facilitator: ScriptedFacilitator,
    wallet: Wallet,
    mug: ProductId,
}

impl Market {
    async fn open() -> Self {
        Self::with(Currency::USD, x402_settings()).await
    }

    async fn with(currency: Currency, x402: X402Settings) -> Self {
        let chain = Chain::new();
        let (node, facilitator) = (chain.node().await, ScriptedFacilitator::start(&chain).await);
        let settings = Settings { x402: Some(x402), ..Settings::default() };
        let (facilitator_url, node_url) = (facilitator.url(), node.url());
        let gateway = |database: &Database| {
            let provider = provider(database, &facilitator_url, &node_url);
            PaymentGateway::new(std::sync::Arc::new(TestProvider), true).with_x402(provider)
        };
        let shop = Shop::with_gateway(currency, settings, gateway).await;
        let [mug] = shop.stock(&[("mug", "12.50", 50)]).await;
        Self { shop, chain, node, facilitator, wallet: Wallet::new(7), mug }
    }

    /// Completes a cart of two mugs.
    async fn session(&self, owner: &CartOwner) -> SessionSnapshot {
        let cart = self.shop.cart(owner, &[(self.mug, 2)]).await;
        self.shop.complete(owner, cart.cart.id).await.unwrap()
    }

    async fn pay(
        &self,
        owner: &CartOwner,
        checkout: CheckoutId,
        payload: Option<&PaymentPayload>,
    ) -> Result<AgentPayment, AgentPaymentError> {
        self.pay_in(&self.shop.context(), owner, checkout, payload).await
    }

    async fn pay_in(
        &self,
        context: &CheckoutContext<'_>,
        owner: &CartOwner,
        checkout: CheckoutId,
        payload: Option<&PaymentPayload>,
    ) -> Result<AgentPayment, AgentPaymentError> {
        let request = AgentPaymentRequest { checkout, payload };
        Box::pin(checkout::pay_by_agent(context, owner, request)).await
    }

    /// Asks how to pay.
    async fn quote(&self, owner: &CartOwner, checkout: CheckoutId) -> PaymentRequirements {
        let unpaid = self.pay(owner, checkout, None).await.unwrap_err();
        assert_eq!(unpaid.code(), ErrorCode::PaymentRequired, "{unpaid}");
        let required = unpaid.required().unwrap();
        assert_eq!(required.accepts.len(), 1);
        required.accepts[0].clone()
    }

    async fn session_and_quote(&self, owner: &CartOwner) -> (CheckoutId, PaymentRequirements) {
        let checkout = self.session(owner).await.session.id;
        let quoted = self.quote(owner, checkout).await;
        (checkout, quoted)
    }

    /// Lets time pass, for the database and for the chain.
    fn pass(&self, seconds: u64) {
        self.shop.advance(Duration::from_secs(seconds));
        let now = self.shop.test.database().local_now().unix_seconds();
        self.chain.mine_until(u64::try_from(now).unwrap() - START_SECONDS);
    }

    async fn reconcile(&self) {
        self.shop.run::<ReconcilePayments>(self.shop.gateway()).await;
    }

    async fn count(&self, sql: &'static str) -> i64 {
        self.shop.count(sql).await
    }

    /// Checks that the session is paid once, on the chain and in the database.
    async fn assert_paid_once(&self) {
        assert_eq!(self.chain.received(PAY_TO), [TOKENS]);
        let orders = "SELECT count(*) FROM placed_order WHERE payment_provider = 'x402' AND total_minor = 2990";
        assert_eq!(self.count(orders).await, 1);
        let paid = "SELECT count(*) FROM payment WHERE status = 'paid' AND charged_minor = 2990";
        assert_eq!(self.count(paid).await, 1);
        let transfers = "SELECT count(*) FROM ledger_transfer WHERE kind = 'charge' AND debited = 'x402' AND amount_minor = 2990";
        assert_eq!(self.count(transfers).await, 1);
        assert_eq!(self.count("SELECT count(*) FROM ledger_transfer").await, 1);
        assert_eq!(self.shop.stock_and_held(self.mug).await, (48, 0));
    }

    /// Checks that nothing is paid, and that the units are held for another attempt.
    async fn assert_unpaid(&self) {
        assert_eq!(self.count("SELECT count(*) FROM placed_order").await, 0);
        assert_eq!(self.count("SELECT count(*) FROM ledger_transfer").await, 0);
        assert_eq!(self.shop.stock_and_held(self.mug).await, (50, 2));
    }
}

fn with_identifier(payload: &PaymentPayload, id: &str) -> PaymentPayload {
    let value = serde_json::json!({ "info": { "required": false, "id": id } });
    let extensions = Extensions::default().with("payment-identifier", value);
    PaymentPayload { extensions, ..payload.clone() }
}

#[tokio::test]
async fn a_session_is_paid_from_its_quote_to_its_order() {
    let market = Market::open().await;
    let owner = agent(1);
    let session = market.session(&owner).await.session;
    let unpaid = market.pay(&owner, session.id, None).await.unwrap_err();
    let required = unpaid.required().unwrap();
    assert_eq!(required.resource.url, "https://souk.example/api/v1/agent/payment");
    let description = required.resource.description.as_deref().unwrap();
    assert!(description.ends_with("29.90 USD, charged 1:1 as 29.900000 USDC"), "{description}");
    let quoted = &required.accepts[0];
    assert_eq!((quoted.amount.units(), quoted.pay_to), (TOKENS, PAY_TO));
    assert!(market.facilitator.saw_no_payment() && market.node.calls() == 0);
    let payload = market.wallet.pay(quoted, 1);
    let paid = market.pay(&owner, session.id, Some(&payload)).await.unwrap();
    assert_eq!(paid.status(), AgentPaymentStatus::Settled);
    let response = paid.response();
    assert!(response.success);
    let hash = transaction(payload.payload.authorization.nonce);
    assert_eq!(response.transaction, Some(hash));
    assert_eq!(response.payer, Some(market.wallet.address()));
    let record = paid.record("https://souk.example");
    assert!(record.order_id.is_some() && record.amount == "29900000");
    market.assert_paid_once().await;
    let level = "SELECT count(*) FROM placed_order WHERE confirmation_level = 'attested'";
    assert_eq!(market.count(level).await, 1);
}

#[tokio::test]
async fn the_same_payment_has_the_same_response_and_is_settled_once() {
    let market = Market::open().await;
    let owner = agent(1);
    let (checkout, quoted) = market.session_and_quote(&owner).await;
    let payload = with_identifier(&market.wallet.pay(&quoted, 1), "pay_0123456789abcdef");
    let mut responses = Vec::new();
    for sent in [Some(&payload), Some(&payload), None] {
        let paid = market.pay(&owner, checkout, sent).await.unwrap();
        let record = serde_json::to_string(&paid.record("")).unwrap();
        responses.push((record, serde_json::to_string(&paid.response()).unwrap()));
        market.pass(1);
    }
    assert!(responses.windows(2).all(|pair| pair[0] == pair[1]), "{responses:?}");
    assert_eq!(market.facilitator.settled().len(), 1);
    market.assert_paid_once().await;
}

#[tokio::test]
async fn the_attempt_is_committed_before_the_facilitator_hears_of_it() {
    let market = Market::open().await;
    let owner = agent(1);
    let (checkout, quoted) = market.session_and_quote(&owner).await;
    let payload = market.wallet.pay(&quoted, 1);
    market.facilitator.set(Script::Hangs);
    let seen = async {
        while market.facilitator.settled().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let stored =
            "SELECT count(*) FROM x402_authorization JOIN payment USING (merchant_id, payment_id)
                      WHERE status = 'begun' AND sent_count = 1 AND start_block = 100";
        market.count(stored).await
    };
    let (paid, stored) = tokio::join!(market.pay(&owner, checkout, Some(&payload)), seen);
    assert_eq!(stored, 1);
    assert_eq!(paid.unwrap().status(), AgentPaymentStatus::Pending);
}

#[tokio::test]
async fn of_concurrent_requests_with_one_payload_one_settles() {
    let market = Market::open().await;
    let owner = agent(1);
    let (checkout, quoted) = market.session_and_quote(&owner).await;
    let payload = market.wallet.pay(&quoted, 1);
    // Two processes have connections of their own.
    let other =
        provider(market.shop.test.database(), &market.facilitator.url(), &market.node.url());
    let other = PaymentGateway::new(std::sync::Arc::new(TestProvider), true).with_x402(other);
    let context = market.shop.context();
    let elsewhere = CheckoutContext { gateway: &other, ..context };
    let tries = (0..5).map(|number| {
        let context = if number % 2 == 0 { &context } else { &elsewhere };
        market.pay_in(context, &owner, checkout, Some(&payload))
    });
    for paid in futures::future::join_all(tries).await {
        let status = paid.unwrap().status();
        assert!(matches!(status, AgentPaymentStatus::Settled | AgentPaymentStatus::Pending));
    }
    assert_eq!(market.facilitator.settled().len(), 1);
    let paid = market.pay(&owner, checkout, Some(&payload)).await.unwrap();
    assert_eq!(paid.status(), AgentPaymentStatus::Settled);
    market.assert_paid_once().await;
}

#[tokio::test]
async fn of_concurrent_payloads_one_is_settled() {
    let market = Market::open().await;
    let owner = agent(1);
    let (checkout, quoted) = market.session_and_quote(&owner).await;
    let payloads: Vec<_> = (1..6).map(|nonce| market.wallet.pay(&quoted, nonce)).collect();
    let tries = payloads.iter().map(|payload| market.pay(&owner, checkout, Some(payload)));
    let outcomes = futures::future::join_all(tries).await;
    let (paid, refused): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    assert_eq!(paid.len(), 1);
    for refused in refused {
        assert_eq!(refused.unwrap_err().code(), ErrorCode::PaymentAlreadyProcessed);
    }
    assert_eq!(market.facilitator.settled().len(), 1);
    market.assert_paid_once().await;
}

#[tokio::test]
async fn above_the_limit_a_person_confirms_exactly_what_is_paid() {
    let limited = X402Settings { unattended_limit_minor: TOTAL - 1, ..x402_settings() };
    let market = Market::with(Currency::USD, limited).await;
    let owner = agent(1);
    let session = market.session(&owner).await.session;
    let ask = async || market.pay(&owner, session.id, None).await.unwrap_err();
    let unconfirmed = ask().await;
    let AgentPaymentError::Unconfirmed(requested) = &unconfirmed else { panic!("{unconfirmed}") };
    assert_eq!(unconfirmed.code(), ErrorCode::ConfirmationRequired);
    assert_eq!(requested.confirmation.quote_hash, session.quote_hash);
    let AgentPaymentError::Unconfirmed(again) = ask().await else { panic!("not asked again") };
    assert_eq!(again.confirmation.id, requested.confirmation.id, "the open request is returned");
    let confirmation = &requested.confirmation;
    let (id, token, hash) = (confirmation.id, confirmation.form_token, confirmation.quote_hash);
    let context = market.shop.context();
    let approve = checkout::Decision::Approve;
    let visitor = crate::shop::visitor();
    checkout::decide(&context, id, approve, &token, hash, visitor).await.unwrap();
    let quoted = market.quote(&owner, session.id).await;
    let payload = market.wallet.pay(&quoted, 1);
    let paid = market.pay(&owner, session.id, Some(&payload)).await.unwrap();
    assert_eq!(paid.session.confirmation.unwrap().level, ConfirmationLevel::Hosted);
    market.assert_paid_once().await;
    let used = "SELECT count(*) FROM confirmation WHERE used_by IS NOT NULL";
    assert_eq!(market.count(used).await, 1);
}

#[tokio::test]
async fn a_total_of_exactly_the_limit_needs_no_person() {
    let limited = X402Settings { unattended_limit_minor: TOTAL, ..x402_settings() };
    let market = Market::with(Currency::USD, limited).await;
    market.session_and_quote(&agent(1)).await;
}

#[tokio::test]
async fn euros_are_quoted_at_the_rate_of_the_store() {
    let rate = X402Settings { eur_rate_micros: Some(1_160_000), ..x402_settings() };
    let market = Market::with(Currency::EUR, rate).await;
    let owner = agent(1);
    let (checkout, quoted) = market.session_and_quote(&owner).await;
    assert_eq!(quoted.amount.units(), 34_684_000);
    // A quote that was sent holds at another rate.
    let other = X402Settings { eur_rate_micros: Some(2_000_000), ..x402_settings() };
    market.shop.change_settings(|settings| settings.x402 = Some(other)).await;
    assert_eq!(market.quote(&owner, checkout).await, quoted);
    // Not for another account.
    let pay_to = Address::new([0x5f; 20]);
    let other = X402Settings { pay_to, ..other };
    market.shop.change_settings(|settings| settings.x402 = Some(other)).await;
    let requoted = market.quote(&owner, checkout).await;
    assert_eq!((requoted.pay_to, requoted.amount.units()), (pay_to, 59_800_000));
    let old = market.wallet.pay(&quoted, 1);
    let refused = market.pay(&owner, checkout, Some(&old)).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::PaymentInvalid);
    assert!(market.facilitator.saw_no_payment());
}
