//! Asking the person through the agent's own client, where it can: as an input-required result in 2026-07-28, as the error that
//! names an address in 2025-11-25.

use checkout::{Decision, ProofFault};
use primitives::ConfirmationId;
use rmcp::model::{InputRequiredResult, InputResponses};
use serde::Serialize;
use serde_json::{Value, json};

/// Where a client says in each request what it can do.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// What the question is called between client and server.
const APPROVAL: &str = "approval";
/// The error of 2025-11-25 by which a client is sent to an address first.
pub(crate) const URL_REQUIRED: i64 = -32042;

/// How a client can ask its person.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asks {
    /// In a form of its own.
    form: bool,
    /// By opening an address.
    url: bool,
}

/// What came back of a question.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    /// Which question.
    pub(crate) confirmation: ConfirmationId,
    /// What the person said in the client; none if they were sent to our page, which knows better.
    pub(crate) decision: Option<Decision>,
}

impl Asks {
    /// As the client's capabilities say; none if it cannot ask at all.
    pub(crate) fn of(capabilities: &impl Serialize) -> Option<Self> {
        let capabilities = serde_json::to_value(capabilities).ok()?;
        let elicitation = capabilities.get("elicitation")?.as_object()?.clone();
        let has = |name: &str| elicitation.get(name).is_some_and(|it| !it.is_null());
        // A client that names neither has forms, as the first version of the capability had.
        let asks = Self { form: has("form") || !has("url"), url: has("url") };
        Some(asks)
    }

    /// As the request says beside its arguments.
    pub(crate) fn of_meta(meta: Option<&Value>) -> Option<Self> {
        Self::of(meta?.get(CAPABILITIES)?)
    }

    /// What the client is asked to do about a refusal, if it can.
    pub(crate) fn question(self, envelope: &Value) -> Option<InputRequiredResult> {
        let asked = Asked::of(envelope)?;
        let params = if self.form && asked.is_form {
            json!({ "message": asked.question, "requestedSchema": {
                "type": "object",
                "properties": { "approve": {
                    "type": "boolean",
                    "title": "Approve this purchase",
                    "description": "Nothing is bought unless you say yes. You pay on the store's own page.",
                } },
                "required": ["approve"],
            } })
        } else if self.url {
            json!({ "mode": "url", "message": asked.question, "url": asked.url, "elicitationId": asked.id })
        } else {
            return None;
        };
        let requests = json!({ APPROVAL: { "method": "elicitation/create", "params": params } });
        let result = json!({ "resultType": "input_required", "inputRequests": requests, "requestState": asked.id });
        serde_json::from_value(result).ok()
    }

    /// The same in 2025-11-25: what an error carries.
    pub(crate) fn address(self, envelope: &Value) -> Option<Value> {
        let asked = Asked::of(envelope).filter(|_| self.url)?;
        let elicitation = json!({
            "mode": "url", "elicitationId": asked.id, "url": asked.url, "message": asked.question,
        });
        Some(json!({ "elicitations": [elicitation] }))
    }
}

/// A question that was put to a person, as a refusal tells of it.
struct Asked<'told> {
    id: &'told str,
    url: &'told str,
    question: &'told str,
    is_form: bool,
}

impl<'told> Asked<'told> {
    fn of(envelope: &'told Value) -> Option<Self> {
        let details = envelope.get("details")?;
        let text = |name: &str| details.get(name).and_then(Value::as_str);
        Some(Self {
            id: text("confirmation_id")?,
            url: text("confirm_url")?,
            question: text("question")?,
            is_form: text("reason") == Some(ProofFault::NotAsked.name()),
        })
    }
}

/// What a client brings back.
pub(crate) fn answered(
    state: Option<&str>,
    responses: Option<&InputResponses>,
) -> Option<Answered> {
    let confirmation = state?.parse().ok()?;
    let response = serde_json::to_value(responses?.get(APPROVAL)?).ok()?;
    let approve = response["content"]["approve"].as_bool();
    let decision = match (response["action"].as_str()?, approve) {
        ("accept", Some(true)) => Some(Decision::Approve),
        ("accept", Some(false)) | ("decline", _) => Some(Decision::Reject),
        _ => None,
    };
    Some(Answered { confirmation, decision })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(reason: &str) -> Value {
        json!({ "error": "confirmation_required", "message": "…", "details": {
            "reason": reason, "confirmation_id": "cnf_00000000000000000000000000000001",
            "confirm_url": "https://souk.example/attic/confirm/cnf_1", "question": "Buy 1 item?",
        } })
    }

    #[test]
    fn a_client_is_asked_in_the_way_it_can_and_the_store_accepts() {
        let forms = Asks::of(&json!({ "elicitation": {} })).unwrap();
        let urls = Asks::of(&json!({ "elicitation": { "url": {} } })).unwrap();
        let both = Asks::of(&json!({ "elicitation": { "form": {}, "url": {} } })).unwrap();
        assert!(Asks::of(&json!({ "sampling": {} })).is_none());
        let mode = |asks: Asks, reason: &str| {
            let asked = serde_json::to_value(asks.question(&refusal(reason))?).unwrap();
            let params = asked["inputRequests"]["approval"]["params"].clone();
            Some(params["mode"].as_str().unwrap_or("form").to_owned())
        };
        assert_eq!(mode(forms, "person_not_asked").as_deref(), Some("form"));
        assert_eq!(mode(forms, "proof_missing"), None);
        assert_eq!(mode(urls, "proof_missing").as_deref(), Some("url"));
        assert_eq!(mode(both, "person_not_asked").as_deref(), Some("form"));
        assert_eq!(mode(both, "proof_missing").as_deref(), Some("url"));
        assert!(urls.address(&refusal("proof_missing")).is_some());
        assert!(both.question(&json!({ "error": "out_of_stock", "details": {} })).is_none());
    }

    #[test]
    fn opening_an_address_is_no_yes() {
        let id = "cnf_00000000000000000000000000000001";
        let said = |response: Value| {
            let responses = serde_json::from_value(json!({ "approval": response })).unwrap();
            answered(Some(id), Some(&responses)).unwrap().decision
        };
        assert_eq!(
            said(json!({ "action": "accept", "content": { "approve": true } })),
            Some(Decision::Approve)
        );
        assert_eq!(
            said(json!({ "action": "accept", "content": { "approve": false } })),
            Some(Decision::Reject)
        );
        assert_eq!(said(json!({ "action": "decline" })), Some(Decision::Reject));
        assert_eq!(said(json!({ "action": "accept" })), None);
        assert_eq!(said(json!({ "action": "cancel" })), None);
        assert!(answered(Some("made up"), None).is_none());
    }
}
