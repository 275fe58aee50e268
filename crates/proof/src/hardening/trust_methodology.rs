//! `trust-methodology`: the published thresholds are those of the specification, and what is not in effect says so.

use serde_json::{Value, json};

use super::deployment::Deployment;
use crate::http::{Client, Delivery};
use crate::report::{Trial, Verdict, ensure};

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let mut client = Client::new(Deployment::of(&trial).await?.souk.port);
    let Delivery::Answered { status: 200, body } = client.get("/api/v1/trust/methodology").await
    else {
        return Err("no methodology".into());
    };
    let document: Value = serde_json::from_str(&body)?;
    let thresholds = json!([
        { "label": "ELITE", "min_score": 0.95, "effect": "top 5% of merchants; maximum agent trust" },
        { "label": "VERIFIED", "min_score": 0.85, "effect": "agents may proceed without friction" },
        { "label": "STANDARD", "min_score": 0.7, "effect": "minimum for agent checkout; normal confirmation" },
        { "label": "CAUTION", "min_score": 0.5, "effect": "deprioritized in search results; agents should add friction" },
        { "label": "RESTRICTED", "min_score": 0.2, "effect": "automatically suspended from agent discovery" },
    ]);
    ensure(document["thresholds"] == thresholds, || format!("{}", document["thresholds"]))?;
    let claims = document["anti_manipulation"].as_array().ok_or("no anti_manipulation")?;
    let open: Vec<&str> = claims
        .iter()
        .filter_map(Value::as_str)
        .filter(|claim| claim.contains("timestamp") || claim.contains("alerts"))
        .filter(|claim| !claim.ends_with("(not yet in effect)"))
        .collect();
    ensure(open.is_empty(), || format!("claimed, and not in effect: {open:?}"))?;
    ensure(document["scores_computed"] == false, || String::from("claims computed scores"))?;
    let appeal = client.post("/api/v1/trust/appeal", "{}").await;
    let exists = !matches!(appeal, Delivery::Answered { status: 404, .. });
    ensure(document["dispute_process"]["available"] == exists, || {
        format!("dispute_process.available does not say whether appeals exist: {appeal:?}")
    })?;
    Ok(String::from(
        "5 thresholds as specified; computation, timestamp, review and appeals say that they are not in effect",
    ))
}
