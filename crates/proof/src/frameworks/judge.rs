//! Decides whether a client works: no call hangs, no session ends with a refusal, a model sees what an error tells it to do,
//! and no call is sent twice.

use std::collections::BTreeMap;

use super::client::{Call, Ended, Report, Step};
use super::proxy::{ReceivedCall, Traffic};
use crate::report::{Failure, Verdict, ensure};

/// What a call has to show the model.
enum Shows {
    /// All of these texts.
    Texts(&'static [&'static str]),
    /// The hint of the error that the server has sent.
    Hint,
}

use Shows::{Hint, Texts};

const PROFILE: Shows = Texts(&["demo-store", "trust_score"]);

/// The tool calls of each step with what they have to show, in the order in which they are made.
const STEPS: &[(&str, &[(&str, Shows)])] = &[
    ("connect", &[]),
    ("convert", &[]),
    (
        "read",
        &[
            ("search_products", Texts(&["prod_", "price"])),
            ("get_product_details", Texts(&["prod_", "price"])),
        ],
    ),
    ("empty-arguments", &[("get_product_details", Texts(&["prod_", "price"]))]),
    ("unknown-product", &[("get_product_details", Hint), ("get_merchant_profile", PROFILE)]),
    ("write-without-key", &[("create_cart", Hint), ("get_merchant_profile", PROFILE)]),
    ("limit", &[("get_merchant_profile", Hint)]),
    ("after-limit", &[("get_merchant_profile", PROFILE)]),
    ("sandbox-key", &[("create_sandbox_key", Texts(&["agnt_"]))]),
    ("wrong-key", &[("get_merchant_profile", Hint), ("get_merchant_profile", Hint)]),
    (
        "purchase",
        &[
            ("create_cart", Texts(&["cart_id", "cart_"])),
            ("preview_checkout", Texts(&["totals", "quote_hash"])),
            ("request_human_confirmation", Texts(&["cnf_", "confirm_url"])),
            ("get_confirmation_status", Texts(&["cnf_", "pending"])),
            ("complete_checkout", Texts(&["checkout_url", "checkout_id"])),
        ],
    ),
    (
        "elicitation",
        &[
            ("create_cart", Texts(&["cart_id", "cart_"])),
            ("complete_checkout", Texts(&["checkout_url", "checkout_id"])),
        ],
    ),
];

/// Steps that a framework may be unable to do: it sends no headers, or has no callback.
const OPTIONAL: [&str; 3] = ["wrong-key", "purchase", "elicitation"];

/// Returns one line with the result of every step, or every deviation.
pub(super) fn judge(report: &Report, traffic: &Traffic, tools: usize) -> Verdict {
    let versions: Vec<String> =
        report.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let (mut results, mut deviations) = (Vec::new(), Vec::new());
    for (name, expected) in STEPS {
        let received: Vec<&ReceivedCall> =
            traffic.calls.iter().filter(|call| call.step == *name).collect();
        let refused = traffic.refused_listings.iter().find(|(step, _)| step == name);
        let verdict = match report.steps.get(*name) {
            Some(Step { calls, .. }) if received.is_empty() && refused.is_some() => {
                refused_before_call(calls, refused.map_or("", |(_, hint)| hint))
            }
            None => Err("not reached".into()),
            Some(Step { not_applicable: Some(reason), .. }) if OPTIONAL.contains(name) => {
                Ok(format!("n/a ({reason})"))
            }
            Some(step) => judge_step(name, step, expected, &received, tools),
        };
        match verdict {
            Ok(result) => results.push(format!("{name} {result}")),
            Err(failure) => deviations.push(format!("{name}: {failure}")),
        }
    }
    let versions = versions.join(", ");
    ensure(deviations.is_empty(), || format!("{versions}: {}", deviations.join("; ")))?;
    let (results, requests, calls) = (results.join(", "), traffic.requests, traffic.calls.len());
    Ok(format!("{versions}; {results}; {calls} tool calls in {requests} requests"))
}

fn judge_step(
    name: &str,
    step: &Step,
    expected: &[(&str, Shows)],
    received: &[&ReceivedCall],
    tools: usize,
) -> Verdict {
    if let Some(error) = &step.connect_error {
        return Err(format!("could not connect: {}", excerpt(error)).into());
    }
    ensure(step.errors.is_empty(), || step.errors.join(", "))?;
    sent_once(&step.calls, received)?;
    let made: Vec<&str> = step.calls.iter().map(|call| call.tool.as_str()).collect();
    let planned: Vec<&str> = expected.iter().map(|(tool, _)| *tool).collect();
    ensure(made == planned, || format!("called {made:?} and not {planned:?}"))?;
    let answered = received.iter().filter(|call| !call.is_continuation);
    for ((call, (_, shows)), answered) in step.calls.iter().zip(expected).zip(answered) {
        judge_call(call, shows, answered).map_err(|why| format!("{}: {why}", call.tool))?;
    }
    match name {
        "connect" => {
            ensure(step.tools == tools, || format!("{} of {tools} tools listed", step.tools))?;
        }
        "convert" => {
            ensure(step.converted == tools, || format!("{} of {tools} tools", step.converted))?;
            if let Some(strict) = step.strict {
                let loose = step.not_strict.join(", ");
                ensure(strict == tools, || format!("{strict} of {tools} are strict; not {loose}"))?;
                return Ok(String::from("ok (strict)"));
            }
        }
        "elicitation" => return judge_elicitation(step, received),
        _ => {}
    }
    Ok(String::from("ok"))
}

/// A client that declares elicitation with its calls is asked once. Others are not asked, and complete the checkout without
/// (docs/contract/confirmation.md#elicitation).
fn judge_elicitation(step: &Step, received: &[&ReceivedCall]) -> Verdict {
    let asked = step.approvals;
    if !received.iter().any(|call| call.declares_elicitation) {
        ensure(asked == 0, || format!("asked {asked} times without declaring elicitation"))?;
        return Ok(String::from(
            "n/a (its calls do not declare elicitation: not asked, completed without)",
        ));
    }
    ensure(asked == 1, || format!("asked {asked} times"))?;
    let is_elicited = step.calls.last().is_some_and(|call| call.text.contains("elicited"));
    ensure(is_elicited, || String::from("the approval is not recorded as `elicited`"))?;
    Ok(String::from("ok"))
}

/// Judges a call that a client did not send, because a listing before it was refused: a client that connects for each call.
fn refused_before_call(calls: &[Call], hint: &str) -> Verdict {
    let shown = |call: &Call| {
        call.ended != Ended::TimedOut && comparable(&call.text).contains(&comparable(hint))
    };
    ensure(!hint.is_empty() && calls.iter().all(shown), || {
        format!("a listing was refused with the hint {hint:?}, and the model sees: {calls:?}")
    })?;
    Ok(String::from("ok (its listing before the call was refused)"))
}

/// Checks that the server has received each call exactly once.
fn sent_once(made: &[Call], received: &[&ReceivedCall]) -> Result<(), Failure> {
    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for call in made {
        counts.entry(&call.tool).or_default().0 += 1;
    }
    for call in received.iter().filter(|call| !call.is_continuation) {
        counts.entry(&call.tool).or_default().1 += 1;
    }
    for (tool, (made, received)) in counts {
        ensure(made == received, || {
            format!("{tool} was called {made} times and sent {received} times")
        })?;
    }
    Ok(())
}

fn judge_call(call: &Call, shows: &Shows, received: &ReceivedCall) -> Result<(), Failure> {
    ensure(call.ended != Ended::TimedOut, || String::from("timed out"))?;
    let seen = comparable(&call.text);
    let is_seen = |text: &str| seen.contains(&comparable(text));
    let status = received.status;
    match shows {
        Texts(texts) => {
            let missing = texts.iter().find(|text| !is_seen(text));
            ensure(missing.is_none(), || {
                format!(
                    "HTTP {status}, {missing:?} is not in what the model sees: {}",
                    excerpt(&call.text)
                )
            })
        }
        Hint => {
            let hint = received.hint.as_deref();
            let hint = hint
                .ok_or_else(|| format!("HTTP {status} without a hint: {}", excerpt(&call.text)))?;
            ensure(is_seen(hint), || {
                format!(
                    "HTTP {status}, the model does not see the hint {hint:?} but: {}",
                    excerpt(&call.text)
                )
            })
        }
    }
}

/// Removes what differs between a text and the same text inside one or more layers of JSON.
fn comparable(text: &str) -> String {
    text.replace("\\n", " ")
        .chars()
        .filter(|it| !matches!(it, '\\' | '"' | '\'') && !it.is_whitespace())
        .collect()
}

fn excerpt(text: &str) -> String {
    text.chars().take(300).collect::<String>().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(calls: &str) -> Step {
        serde_json::from_str(&format!(r#"{{"calls": [{calls}]}}"#)).unwrap()
    }

    fn received(tool: &str, hint: Option<&str>) -> ReceivedCall {
        ReceivedCall {
            step: String::from("write-without-key"),
            tool: tool.to_owned(),
            status: 200,
            hint: hint.map(str::to_owned),
            is_continuation: false,
            declares_elicitation: false,
        }
    }

    const SESSION: &str = r#"{"tool": "create_cart", "ended": "raised", "text": "failed: {\\\"hint\\\": \\\"Send a \\\\\"key\\\\\".\\\"}"},
        {"tool": "get_merchant_profile", "ended": "returned", "text": "demo-store trust_score"}"#;

    fn judged(session: &str, calls: &[ReceivedCall]) -> Verdict {
        let (_, expected) = STEPS.iter().find(|(name, _)| *name == "write-without-key").unwrap();
        let calls: Vec<&ReceivedCall> = calls.iter().collect();
        judge_step("write-without-key", &report(session), expected, &calls, 47)
    }

    fn why(verdict: Verdict) -> String {
        verdict.unwrap_err().to_string()
    }

    #[test]
    fn a_refusal_whose_hint_is_seen_passes() {
        let calls = [
            received("create_cart", Some("Send a \"key\".")),
            received("get_merchant_profile", None),
        ];
        assert_eq!(judged(SESSION, &calls).unwrap(), "ok");
    }

    #[test]
    fn a_lost_hint_a_second_request_and_a_hanging_call_fail() {
        let read = received("get_merchant_profile", None);
        let lost = [received("create_cart", Some("Ask the person.")), read.clone()];
        assert!(why(judged(SESSION, &lost)).contains("does not see the hint"));
        let write = received("create_cart", Some("Send a \"key\"."));
        let twice = [write.clone(), write.clone(), read.clone()];
        assert!(why(judged(SESSION, &twice)).contains("called 1 times and sent 2 times"));
        let hanging = SESSION.replace("raised", "timed out");
        assert!(why(judged(&hanging, &[write, read])).contains("timed out"));
    }
}
