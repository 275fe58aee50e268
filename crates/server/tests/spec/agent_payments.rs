//! Payments of agents with x402, over REST and MCP (docs/contract/payments.md#agent-payment).

use axum::body::Body;
use axum::http::Method;
use identity::Role;
use serde_json::{Value, json};
use testkit::token_payments::{Chain, Node, Script, ScriptedFacilitator, Wallet};
use x402::{Document, PaymentPayload, PaymentRequired, SettlementResponse};

use crate::app::{TestApp, TestResponse, post};
use crate::carts::{in_stock_products, structured_content};

/// A store that sells in euros.
const STORE: &str = "wiederlicht";
const PAY_TO: &str = "0x5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e";

/// An application whose agents pay in tokens at one store.
struct Market {
    app: TestApp,
    chain: Chain,
    // Responds as long as it exists.
    _node: Node,
    facilitator: ScriptedFacilitator,
    wallet: Wallet,
    agent: String,
    owner: String,
}

fn document<D: Document>(answer: &TestResponse) -> D {
    let header = answer.headers.get(D::HEADER).unwrap_or_else(|| panic!("{}", answer.text));
    D::from_header(header.as_bytes()).unwrap()
}

impl Market {
    async fn open() -> Self {
        let chain = Chain::new();
        let (node, facilitator) = (chain.node().await, ScriptedFacilitator::start(&chain).await);
        let app = TestApp::with_x402(&facilitator.url(), &node.url()).await;
        app.person("owner@example.com", &[(STORE, Role::Owner)]).await;
        let owner = app.log_in("owner@example.com").await;
        let agent = app.buyer_key("agent@example.com").await;
        let wallet = Wallet::new(7);
        Self { app, chain, _node: node, facilitator, wallet, agent, owner }
    }

    async fn accept_tokens(&self) {
        let x402 = json!({ "pay_to": PAY_TO, "unattended_limit": 1_000, "eur_rate": "1.16" });
        let patch = json!({ "x402": x402 });
        let headers = [("authorization", self.owner.as_str())];
        let set = self.app.request(Method::PATCH, "/merchant/settings", &headers, &patch).await;
        assert_eq!(set.status, 200, "{}", set.text);
        let expected = json!({
            "pay_to": PAY_TO,
            "network": "eip155:84532",
            "confirmations": 1,
            "unattended_limit": 1_000.0,
            "eur_rate": 1.16,
        });
        let stored = set.json()["data"]["x402"].clone();
        assert_eq!(stored["pay_to"].as_str().unwrap().to_lowercase(), PAY_TO);
        for field in ["network", "confirmations", "unattended_limit", "eur_rate"] {
            assert_eq!(stored[field], expected[field], "{field}");
        }
    }

    async fn session(&self) -> String {
        let body = json!({
            "merchant_slug": STORE,
            "items": [{ "product_id": in_stock_products(STORE)[0], "quantity": 1 }],
            "destination": { "country": "DE", "postal_code": "10115", "city": "Berlin", "street": "Way 1" },
            "buyer": { "name": "Eve", "email": "eve@example.com" },
        });
        let headers = [("x-agent-api-key", self.agent.as_str())];
        let answer = self.app.request(Method::POST, "/agent/checkout", &headers, &body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.json()["data"]["checkout_id"].as_str().unwrap().to_owned()
    }

    /// Pays over REST.
    async fn pay(&self, checkout: &str, signature: Option<&str>) -> TestResponse {
        let mut headers = vec![("x-agent-api-key", self.agent.as_str())];
        headers.extend(signature.map(|signature| ("payment-signature", signature)));
        let body = json!({ "checkout_id": checkout });
        self.app.request(Method::POST, "/agent/payment", &headers, &body).await
    }

    /// Signs what a response requires.
    fn sign(&self, required: &PaymentRequired, nonce: u8) -> PaymentPayload {
        self.wallet.pay(&required.accepts[0], nonce)
    }

    async fn status(&self, checkout: &str) -> Value {
        let headers = [("x-agent-api-key", self.agent.as_str())];
        let path = format!("/agent/payment/{checkout}");
        let answer = self.app.request(Method::GET, &path, &headers, &Value::Null).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["data"].clone()
    }

    /// Calls the tool that pays, as an MCP client.
    async fn call(&self, checkout: &str, payment: Option<&PaymentPayload>) -> Value {
        let mut params =
            json!({ "name": "process_agent_payment", "arguments": { "checkout_id": checkout } });
        if let Some(payment) = payment {
            params["_meta"] = json!({ "x402/payment": payment });
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let request = post(&format!("/{STORE}/mcp"))
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .header("x-agent-api-key", &self.agent)
            .body(Body::from(body.to_string()));
        let answer = self.app.send(request.unwrap()).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["result"].clone()
    }
}

#[tokio::test]
async fn a_session_is_paid_over_rest() {
    let market = Market::open().await;
    market.accept_tokens().await;
    let checkout = market.session().await;
    assert_eq!(market.status(&checkout).await, json!({ "checkout_id": checkout }));
    let unpaid = market.pay(&checkout, None).await;
    assert_eq!((unpaid.status.as_u16(), unpaid.code().as_str()), (402, "payment_required"));
    assert!(unpaid.json()["details"]["hint"].is_string(), "{}", unpaid.text);
    let required: PaymentRequired = document(&unpaid);
    assert_eq!(required.resource.url, "http://souk.test/api/v1/agent/payment");
    for (signature, field) in [("!", "payment-signature"), ("e30=", "payment-signature")] {
        let malformed = market.pay(&checkout, Some(signature)).await;
        assert_eq!(
            (malformed.status.as_u16(), malformed.code().as_str()),
            (400, "invalid_request")
        );
        assert_eq!(malformed.json()["details"]["field"], field);
    }
    let mut tampered = market.sign(&required, 1);
    tampered.payload.authorization.nonce = x402::Nonce::new([9; 32]);
    let invalid =
        market.pay(&checkout, Some(tampered.to_header().unwrap().to_str().unwrap())).await;
    assert_eq!((invalid.status.as_u16(), invalid.code().as_str()), (402, "payment_invalid"));
    assert_eq!(invalid.json()["details"]["reason"], "signer_mismatch");
    assert_eq!(document::<PaymentRequired>(&invalid).accepts, required.accepts);
    assert!(market.facilitator.saw_no_payment());
    let payload = market.sign(&required, 1);
    let signature = payload.to_header().unwrap().to_str().unwrap().to_owned();
    let paid = market.pay(&checkout, Some(&signature)).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    let response: SettlementResponse = document(&paid);
    assert!(response.success && response.transaction.is_some());
    let record = paid.json()["data"].clone();
    assert_eq!((&record["status"], &record["currency"]), (&json!("settled"), &json!("EUR")));
    assert_eq!(record["amount"], required.accepts[0].amount.to_string());
    assert!(record["order_id"].as_str().unwrap().starts_with("ord_"));
    let again = market.pay(&checkout, Some(&signature)).await;
    assert_eq!((again.status, &again.text), (paid.status, &paid.text));
    assert_eq!(again.headers["payment-response"], paid.headers["payment-response"]);
    assert_eq!(market.status(&checkout).await["payment"], record);
    let second = market.sign(&required, 2).to_header().unwrap().to_str().unwrap().to_owned();
    let refused = market.pay(&checkout, Some(&second)).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (409, "payment_already_processed")
    );
    assert!(refused.headers.get("payment-required").is_none());
    assert_eq!(market.facilitator.settled().len(), 1);
    assert_eq!(market.chain.received(PAY_TO.parse().unwrap()).len(), 1);
}

#[tokio::test]
async fn an_unknown_outcome_is_no_request_for_another_payment() {
    let market = Market::open().await;
    market.accept_tokens().await;
    let checkout = market.session().await;
    let required: PaymentRequired = document(&market.pay(&checkout, None).await);
    market.facilitator.set(Script::Broadcasts);
    let payload = market.sign(&required, 1);
    let signature = payload.to_header().unwrap().to_str().unwrap().to_owned();
    for sent in [Some(signature.as_str()), Some(signature.as_str()), None] {
        let pending = market.pay(&checkout, sent).await;
        assert_eq!(pending.status, 202, "{}", pending.text);
        let response: SettlementResponse = document(&pending);
        assert_eq!(response.error_reason.as_deref(), Some("settlement_pending"));
        let url = format!("http://souk.test/api/v1/agent/payment/{checkout}");
        assert_eq!(pending.json()["data"]["status_url"], url);
    }
    market.chain.transfer(&payload.payload.authorization).unwrap();
    let paid = market.pay(&checkout, Some(&signature)).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
}

#[tokio::test]
async fn a_session_is_paid_over_mcp() {
    let market = Market::open().await;
    market.accept_tokens().await;
    let checkout = market.session().await;
    let unpaid = market.call(&checkout, None).await;
    assert_eq!(unpaid["isError"], true);
    let required = PaymentRequired::from_value(&unpaid["structuredContent"]).unwrap();
    let text = unpaid["content"][0]["text"].as_str().unwrap();
    assert_eq!(PaymentRequired::from_json(text.as_bytes()).unwrap(), required);
    assert!(unpaid.get("_meta").is_none());
    let payload = market.sign(&required, 1);
    let paid = market.call(&checkout, Some(&payload)).await;
    assert_eq!(paid["isError"], false, "{paid}");
    assert_eq!(paid["structuredContent"]["status"], "settled");
    let response = SettlementResponse::from_value(&paid["_meta"]["x402/payment-response"]).unwrap();
    assert!(response.success);
    // The same payment over REST is the same payment.
    let signature = payload.to_header().unwrap().to_str().unwrap().to_owned();
    let again = market.pay(&checkout, Some(&signature)).await;
    assert_eq!(again.json()["data"], paid["structuredContent"]);
    let status = json!({ "checkout_id": checkout });
    let status = market.app.tool_as(&market.agent, STORE, "get_payment_status", status).await;
    assert_eq!(structured_content(&status)["payment"]["status"], "settled");
    let listing = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let listed = market.app.rpc(&format!("/{STORE}/mcp?schemas=full"), &listing).await.json();
    let tools = listed["result"]["tools"].as_array().unwrap();
    let without = tools.iter().filter(|tool| tool.get("outputSchema").is_none());
    let without: Vec<_> = without.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(without, ["process_agent_payment"]);
}

#[tokio::test]
async fn it_is_said_truly_whether_a_store_takes_tokens() {
    let market = Market::open().await;
    let methods = async || {
        let listed = market.app.tool(STORE, "list_payment_methods", json!({})).await;
        let methods = structured_content(&listed)["methods"].clone();
        let ids =
            methods.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(methods().await, ["stripe"]);
    let checkout = market.session().await;
    let refused = market.pay(&checkout, None).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (422, "unsupported_payment_method")
    );
    assert_eq!(refused.json()["details"]["reason"], "no_agent_payment");
    market.accept_tokens().await;
    assert_eq!(methods().await, ["stripe", "x402"]);
    assert_eq!(market.pay(&checkout, None).await.status, 402);
    let resource = "http://souk.test/api/v1/agent/payment";
    for path in ["/.well-known/x402", "/api/v1/.well-known/x402"] {
        let document = market.app.get(path).await.json();
        assert_eq!(document["resources"], json!([resource]));
        assert_eq!(document["items"][0]["resource"], resource);
    }
    let description = market.app.get("/api/v1/openapi.json").await.json();
    let operation = &description["paths"]["/agent/payment"]["post"];
    assert_eq!(operation["x-payment-info"]["protocols"], json!(["x402"]));
    assert!(operation["responses"]["402"].is_object());
}

#[tokio::test]
async fn only_an_owner_decides_which_account_is_paid() {
    let market = Market::open().await;
    market.app.person("staff@example.com", &[(STORE, Role::Staff)]).await;
    let staff = market.app.log_in("staff@example.com").await;
    let merchant = market.app.merchant(STORE).await;
    let key = format!("Bearer {}", market.app.store_key(merchant).await);
    let set = async |credential: &str, x402: Value| {
        let headers = [("authorization", credential)];
        let patch = json!({ "x402": x402 });
        market.app.request(Method::PATCH, "/merchant/settings", &headers, &patch).await
    };
    for credential in [&staff, &key] {
        let refused = set(credential, json!({ "pay_to": PAY_TO })).await;
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (403, "forbidden"));
        assert_eq!(refused.json()["details"]["field"], "x402");
    }
    let misspelt = json!({ "pay_to": "0x036cBD53842c5426634e7929541eC2318f3dCF7e" });
    let zero = json!({ "pay_to": format!("0x{}", "0".repeat(40)) });
    let rate = json!({ "pay_to": PAY_TO, "eur_rate": 0 });
    for (invalid, field) in
        [(misspelt, "x402.pay_to"), (zero, "x402.pay_to"), (rate, "x402.eur_rate")]
    {
        let refused = set(&market.owner, invalid).await;
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (400, "invalid_request"));
        assert_eq!(refused.json()["details"]["field"], field);
    }
    market.accept_tokens().await;
    let unchanged = set(&key, json!({ "pay_to": PAY_TO })).await;
    assert_eq!(unchanged.status, 403, "another limit is a change too: {}", unchanged.text);
    let kept = json!({ "destination_required": true });
    let headers = [("authorization", key.as_str())];
    let other = market.app.request(Method::PATCH, "/merchant/settings", &headers, &kept).await;
    assert_eq!(other.status, 200, "{}", other.text);
    assert!(other.json()["data"]["x402"].is_object());
}
