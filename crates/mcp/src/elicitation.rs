//! Elicitation: asks the person for approval through the agent's own client, if it supports that. The request is an
//! input-required result in 2026-07-28 and an error with a URL in 2025-11-25.

use checkout::{Decision, ProofRejection};
use primitives::ConfirmationId;
use rmcp::model::{InputRequiredResult, InputResponses};
use serde::Serialize;
use serde_json::{Value, json};

/// Field of `_meta` with the capabilities of the client.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Key of the approval request and its response.
const APPROVAL: &str = "approval";
/// JSON-RPC error code of 2025-11-25 that asks a client to open a URL first.
pub(crate) const URL_REQUIRED: i64 = -32042;

/// Elicitation modes that a client supports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ElicitationSupport {
    form: bool,
    url: bool,
}

/// The response of a client to an approval request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ElicitationResponse {
    pub(crate) confirmation: ConfirmationId,
    /// None if the person was sent to the confirmation page, which records the decision itself.
    pub(crate) decision: Option<Decision>,
}

impl ElicitationSupport {
    /// Returns the modes in the capabilities of a client, or `None` if it does not support elicitation.
    pub(crate) fn from_capabilities(capabilities: &impl Serialize) -> Option<Self> {
        let capabilities = serde_json::to_value(capabilities).ok()?;
        let elicitation = capabilities.get("elicitation")?.as_object()?.clone();
        let has = |name: &str| elicitation.get(name).is_some_and(|it| !it.is_null());
        // A client that names neither mode supports forms, as in the first version of the capability.
        let support = Self { form: has("form") || !has("url"), url: has("url") };
        Some(support)
    }

    /// Returns the modes in the `_meta` of a request.
    pub(crate) fn from_meta(meta: Option<&Value>) -> Option<Self> {
        Self::from_capabilities(meta?.get(CAPABILITIES)?)
    }

    /// Returns the input request for an error that requires a confirmation, if the client supports a suitable mode.
    pub(crate) fn input_request(self, envelope: &Value) -> Option<InputRequiredResult> {
        let approval = ApprovalRequest::from_envelope(envelope)?;
        let params = if self.form && approval.is_form {
            json!({ "message": approval.question, "requestedSchema": {
                "type": "object",
                "properties": { "approve": {
                    "type": "boolean",
                    "title": "Approve this purchase",
                    "description": "Nothing is bought without your approval. You pay on a separate page.",
                } },
                "required": ["approve"],
            } })
        } else if self.url {
            json!({ "mode": "url", "message": approval.question, "url": approval.url, "elicitationId": approval.id })
        } else {
            return None;
        };
        let requests = json!({ APPROVAL: { "method": "elicitation/create", "params": params } });
        let result = json!({ "resultType": "input_required", "inputRequests": requests, "requestState": approval.id });
        serde_json::from_value(result).ok()
    }

    /// Returns the data of the 2025-11-25 error that asks the client to open the confirmation page.
    pub(crate) fn url_error(self, envelope: &Value) -> Option<Value> {
        let approval = ApprovalRequest::from_envelope(envelope).filter(|_| self.url)?;
        let elicitation = json!({
            "mode": "url", "elicitationId": approval.id, "url": approval.url, "message": approval.question,
        });
        Some(json!({ "elicitations": [elicitation] }))
    }
}

/// An approval request, as contained in the details of an error.
struct ApprovalRequest<'envelope> {
    id: &'envelope str,
    url: &'envelope str,
    question: &'envelope str,
    is_form: bool,
}

impl<'envelope> ApprovalRequest<'envelope> {
    fn from_envelope(envelope: &'envelope Value) -> Option<Self> {
        let details = envelope.get("details")?;
        let text = |name: &str| details.get(name).and_then(Value::as_str);
        Some(Self {
            id: text("confirmation_id")?,
            url: text("confirm_url")?,
            question: text("question")?,
            is_form: text("reason") == Some(ProofRejection::NotAsked.as_str()),
        })
    }
}

/// Parses the response of a client to an approval request.
pub(crate) fn parse_response(
    state: Option<&str>,
    responses: Option<&InputResponses>,
) -> Option<ElicitationResponse> {
    let confirmation = state?.parse().ok()?;
    let response = serde_json::to_value(responses?.get(APPROVAL)?).ok()?;
    let approve = response["content"]["approve"].as_bool();
    let decision = match (response["action"].as_str()?, approve) {
        ("accept", Some(true)) => Some(Decision::Approve),
        ("accept", Some(false)) | ("decline", _) => Some(Decision::Reject),
        _ => None,
    };
    Some(ElicitationResponse { confirmation, decision })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(reason: &str) -> Value {
        json!({ "error": "confirmation_required", "message": "…", "details": {
            "reason": reason, "confirmation_id": "cnf_00000000000000000000000000000001",
            "confirm_url": "https://souk.example/attic/confirm/cnf_1", "question": "Buy 1 item?",
        } })
    }

    #[test]
    fn the_mode_is_one_the_client_supports_and_the_store_accepts() {
        let forms = ElicitationSupport::from_capabilities(&json!({ "elicitation": {} })).unwrap();
        let urls = ElicitationSupport::from_capabilities(&json!({ "elicitation": { "url": {} } }))
            .unwrap();
        let both = ElicitationSupport::from_capabilities(
            &json!({ "elicitation": { "form": {}, "url": {} } }),
        )
        .unwrap();
        assert!(ElicitationSupport::from_capabilities(&json!({ "sampling": {} })).is_none());
        let mode = |support: ElicitationSupport, reason: &str| {
            let request = serde_json::to_value(support.input_request(&error(reason))?).unwrap();
            let params = request["inputRequests"]["approval"]["params"].clone();
            Some(params["mode"].as_str().unwrap_or("form").to_owned())
        };
        assert_eq!(mode(forms, "person_not_asked").as_deref(), Some("form"));
        assert_eq!(mode(forms, "proof_missing"), None);
        assert_eq!(mode(urls, "proof_missing").as_deref(), Some("url"));
        assert_eq!(mode(both, "person_not_asked").as_deref(), Some("form"));
        assert_eq!(mode(both, "proof_missing").as_deref(), Some("url"));
        assert!(urls.url_error(&error("proof_missing")).is_some());
        assert!(both.input_request(&json!({ "error": "out_of_stock", "details": {} })).is_none());
    }

    #[test]
    fn opening_the_page_is_not_an_approval() {
        let id = "cnf_00000000000000000000000000000001";
        let decision = |response: Value| {
            let responses = serde_json::from_value(json!({ "approval": response })).unwrap();
            parse_response(Some(id), Some(&responses)).unwrap().decision
        };
        assert_eq!(
            decision(json!({ "action": "accept", "content": { "approve": true } })),
            Some(Decision::Approve)
        );
        assert_eq!(
            decision(json!({ "action": "accept", "content": { "approve": false } })),
            Some(Decision::Reject)
        );
        assert_eq!(decision(json!({ "action": "decline" })), Some(Decision::Reject));
        assert_eq!(decision(json!({ "action": "accept" })), None);
        assert_eq!(decision(json!({ "action": "cancel" })), None);
        assert!(parse_response(Some("made up"), None).is_none());
    }
}
