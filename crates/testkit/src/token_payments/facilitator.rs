//! A facilitator that does what a test says.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use x402::{Authorization, PaymentPayload};

use super::chain::Chain;
use super::server::{Reply, Request, Server};

/// What a facilitator does when it is asked to settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    Settles,
    /// Settles, and then does not respond.
    SettlesAndHangs,
    /// Settles, and then closes the connection.
    SettlesAndCloses,
    /// Settles, and then responds with an error of the server.
    SettlesAndFails,
    /// Settles, and then responds with something that is no JSON.
    SettlesAndBabbles,
    /// Settles, and then says that it has not.
    SettlesAndDenies,
    /// Says that the transaction is pending. A test makes the transfer later.
    Broadcasts,
    /// Does not settle, and does not respond.
    Hangs,
    /// Refuses.
    Refuses,
    /// Says that it has settled, in a transaction that does not exist.
    Lies,
    /// Somebody else executes the authorization first.
    IsOvertaken,
    /// The payer cancels the authorization first.
    IsCanceled,
    /// The payer uses the nonce for another transfer first.
    IsSpentElsewhere,
    /// Responds to nothing.
    Down,
}

/// A facilitator of a chain.
#[derive(Debug)]
pub struct ScriptedFacilitator {
    server: Server,
    script: Arc<Mutex<Script>>,
}

impl ScriptedFacilitator {
    /// Starts a facilitator that settles.
    pub async fn start(chain: &Chain) -> Self {
        let script = Arc::new(Mutex::new(Script::Settles));
        let (chain, followed) = (chain.clone(), Arc::clone(&script));
        let server = Server::start(move |request| {
            let script = *followed.lock().unwrap();
            reply(&chain, script, request)
        });
        Self { server: server.await, script }
    }

    /// Sets what it does from now on.
    pub fn set(&self, script: Script) {
        *self.script.lock().unwrap() = script;
    }

    /// Returns its URL.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns the bodies of the requests to settle.
    #[must_use]
    pub fn settled(&self) -> Vec<String> {
        let requests = self.server.requests().into_iter();
        let settle = requests.filter(|request| request.head.starts_with("POST /settle"));
        settle.map(|request| request.body).collect()
    }

    /// Returns whether nothing but the supported kinds was asked for.
    #[must_use]
    pub fn saw_no_payment(&self) -> bool {
        self.server.requests().iter().all(|request| request.head.starts_with("GET /supported"))
    }
}

fn reply(chain: &Chain, script: Script, request: &Request) -> Reply {
    if script == Script::Down {
        return Reply::Close;
    }
    if request.head.starts_with("GET /supported") {
        let kind = json!({ "x402Version": 2, "scheme": "exact", "network": "eip155:84532" });
        return Reply::Json(200, json!({ "kinds": [kind] }).to_string());
    }
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let payload: PaymentPayload = serde_json::from_value(body["paymentPayload"].clone()).unwrap();
    settle(chain, script, &payload.payload.authorization)
}

fn settle(chain: &Chain, script: Script, authorization: &Authorization) -> Reply {
    let refused = |reason: &str| {
        let body = json!({ "success": false, "errorReason": reason, "transaction": "", "network": "eip155:84532" });
        Reply::Json(200, body.to_string())
    };
    match script {
        Script::Settles => match chain.transfer(authorization) {
            Some(transaction) => {
                let body = json!({ "success": true, "transaction": transaction, "network": "eip155:84532" });
                Reply::Json(200, body.to_string())
            }
            None => refused("invalid_exact_evm_nonce_already_used"),
        },
        Script::SettlesAndHangs => {
            chain.transfer(authorization);
            Reply::Hang
        }
        Script::SettlesAndCloses => {
            chain.transfer(authorization);
            Reply::Close
        }
        Script::SettlesAndFails => {
            chain.transfer(authorization);
            Reply::Json(500, String::from("{}"))
        }
        Script::SettlesAndBabbles => {
            chain.transfer(authorization);
            Reply::Json(200, String::from("settled!"))
        }
        Script::SettlesAndDenies => {
            chain.transfer(authorization);
            refused("unexpected_settle_error")
        }
        Script::IsOvertaken => {
            chain.transfer(authorization);
            refused("invalid_exact_evm_nonce_already_used")
        }
        Script::IsCanceled => {
            chain.cancel(authorization);
            refused("invalid_exact_evm_nonce_already_used")
        }
        Script::IsSpentElsewhere => {
            chain.spend_elsewhere(authorization);
            refused("invalid_exact_evm_nonce_already_used")
        }
        Script::Broadcasts => refused("settlement_pending"),
        Script::Hangs => Reply::Hang,
        Script::Refuses => refused("insufficient_funds"),
        Script::Lies => {
            let body = json!({ "success": true, "transaction": format!("0x{}", "42".repeat(32)), "network": "eip155:84532" });
            Reply::Json(200, body.to_string())
        }
        Script::Down => Reply::Close,
    }
}
