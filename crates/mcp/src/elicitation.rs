//! Elicitation: asks the person for approval through the agent's own client, if it supports that. The request is an
//! input-required result in 2026-07-28 and an error with a URL in 2025-11-25.

use checkout::{Decision, ElicitationResponse};
use primitives::Remedy;
use rmcp::model::{InputRequiredResult, InputResponses};
use serde_json::{Value, json};

/// Field of `_meta` with the capabilities of the client.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Key of the approval request and its response.
const APPROVAL: &str = "approval";
/// JSON-RPC error code of 2025-11-25 that asks a client to open a URL first.
pub(crate) const URL_REQUIRED: i64 = -32042;

/// How the person is asked. The state of a request names it, so that a response to one kind cannot decide the other.
const FORM: &str = "form";
const PAGE: &str = "page";

/// Elicitation modes that a client supports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ElicitationSupport {
    form: bool,
    url: bool,
}

impl ElicitationSupport {
    /// Returns the modes in the `_meta` of a request, or `None` if the client does not support elicitation.
    pub(crate) fn from_meta(meta: Option<&Value>) -> Option<Self> {
        let elicitation = meta?.get(CAPABILITIES)?.get("elicitation")?.as_object()?;
        let has = |name: &str| elicitation.get(name).is_some_and(|it| !it.is_null());
        // A client that names neither mode supports forms, as in the first version of the capability.
        Some(Self { form: has("form") || !has("url"), url: has("url") })
    }

    /// Returns the input request for a remedy, if the client supports a suitable mode.
    pub(crate) fn input_request(self, remedy: &Remedy) -> Option<InputRequiredResult> {
        let Remedy::HumanConfirmation { confirmation_id, question, form_allowed, .. } = remedy;
        let (mode, params) = if self.form && *form_allowed {
            let form = json!({ "message": question, "requestedSchema": {
                "type": "object",
                "properties": { "approve": {
                    "type": "boolean",
                    "title": "Approve this purchase",
                    "description": "Nothing is bought without your approval. You pay on a separate page.",
                } },
                "required": ["approve"],
            } });
            (FORM, form)
        } else if self.url {
            (PAGE, url_elicitation(remedy))
        } else {
            return None;
        };
        let requests = json!({ APPROVAL: { "method": "elicitation/create", "params": params } });
        let state = format!("{mode}:{confirmation_id}");
        let result = json!({ "resultType": "input_required", "inputRequests": requests, "requestState": state });
        serde_json::from_value(result).ok()
    }

    /// Returns the data of the 2025-11-25 error that asks the client to open the confirmation page.
    pub(crate) fn url_error(self, remedy: &Remedy) -> Option<Value> {
        self.url.then(|| json!({ "elicitations": [url_elicitation(remedy)] }))
    }
}

/// Returns the elicitation that sends the person to the confirmation page.
fn url_elicitation(remedy: &Remedy) -> Value {
    let Remedy::HumanConfirmation { confirmation_id, confirm_url, question, .. } = remedy;
    let id = confirmation_id.to_string();
    json!({ "mode": "url", "message": question, "url": confirm_url, "elicitationId": id })
}

/// Parses the response of a client to an approval request. Only the response to a form contains a decision: a page records
/// the person's decision itself.
pub(crate) fn parse_response(
    state: Option<&str>,
    responses: Option<&InputResponses>,
) -> Option<ElicitationResponse> {
    let (mode, confirmation) = state?.split_once(':')?;
    let confirmation = confirmation.parse().ok()?;
    let response = serde_json::to_value(responses?.get(APPROVAL)?).ok()?;
    let approve = response["content"]["approve"].as_bool();
    let decision = match (mode, response["action"].as_str()?, approve) {
        (FORM, "accept", Some(true)) => Some(Decision::Approve),
        (FORM, "accept", Some(false)) | (FORM, "decline", _) => Some(Decision::Reject),
        _ => None,
    };
    Some(ElicitationResponse { confirmation, decision })
}

#[cfg(test)]
mod tests {
    use primitives::{ConfirmationId, Id};

    use super::*;

    fn support(capabilities: &Value) -> Option<ElicitationSupport> {
        ElicitationSupport::from_meta(Some(&json!({ CAPABILITIES: capabilities })))
    }

    fn remedy(form_allowed: bool) -> Remedy {
        Remedy::HumanConfirmation {
            confirmation_id: ConfirmationId::from_random(1),
            confirm_url: String::from("https://souk.example/attic/confirm/cnf_1"),
            question: String::from("Buy 1 item?"),
            form_allowed,
        }
    }

    #[test]
    fn the_mode_is_one_the_client_supports_and_the_store_accepts() {
        let forms = support(&json!({ "elicitation": {} })).unwrap();
        let urls = support(&json!({ "elicitation": { "url": {} } })).unwrap();
        let both = support(&json!({ "elicitation": { "form": {}, "url": {} } })).unwrap();
        assert!(support(&json!({ "sampling": {} })).is_none());
        let mode = |support: ElicitationSupport, form_allowed| {
            let request = support.input_request(&remedy(form_allowed))?;
            let request = serde_json::to_value(request).unwrap();
            let params = request["inputRequests"]["approval"]["params"].clone();
            Some(params["mode"].as_str().unwrap_or("form").to_owned())
        };
        assert_eq!(mode(forms, true).as_deref(), Some("form"));
        assert_eq!(mode(forms, false), None);
        assert_eq!(mode(urls, false).as_deref(), Some("url"));
        assert_eq!(mode(both, true).as_deref(), Some("form"));
        assert_eq!(mode(both, false).as_deref(), Some("url"));
        assert!(urls.url_error(&remedy(false)).is_some());
        assert!(forms.url_error(&remedy(false)).is_none());
    }

    #[test]
    fn opening_the_page_is_not_an_approval() {
        let id = "cnf_00000000000000000000000000000001";
        let respond = |state: &str, response: Value| {
            let responses = serde_json::from_value(json!({ "approval": response })).unwrap();
            parse_response(Some(state), Some(&responses))
        };
        let decision = |mode: &str, response: Value| {
            respond(&format!("{mode}:{id}"), response).unwrap().decision
        };
        let yes = json!({ "action": "accept", "content": { "approve": true } });
        let no = json!({ "action": "accept", "content": { "approve": false } });
        let (decline, accept) = (json!({ "action": "decline" }), json!({ "action": "accept" }));
        assert_eq!(decision("form", yes.clone()), Some(Decision::Approve));
        assert_eq!(decision("form", no.clone()), Some(Decision::Reject));
        assert_eq!(decision("form", decline.clone()), Some(Decision::Reject));
        assert_eq!(decision("form", accept), None);
        assert_eq!(decision("form", json!({ "action": "cancel" })), None);
        for response in [yes.clone(), no, decline] {
            assert_eq!(decision("page", response), None, "the page records the decision");
        }
        for state in [id, "form:", "form:made up", "made up", ""] {
            assert!(respond(state, yes.clone()).is_none(), "{state}");
        }
        assert!(parse_response(None, None).is_none());
    }
}
