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
    // Scores are not signed yet; gains raise alerts, which `souk trust alerts` lists.
    for (word, is_in_effect) in [("timestamp", false), ("alerts", true)] {
        let claim = claims.iter().filter_map(Value::as_str).find(|claim| claim.contains(word));
        let is_claimed = claim.map(|claim| !claim.ends_with("(not yet in effect)"));
        ensure(is_claimed == Some(is_in_effect), || format!("{word}: {claim:?}"))?;
    }
    ensure(document["scores_computed"] == true, || String::from("scores are not computed"))?;
    let appeal = client.post("/api/v1/trust/appeal", "{}").await;
    let exists = !matches!(appeal, Delivery::Answered { status: 404, .. });
    ensure(document["dispute_process"]["available"] == exists, || {
        format!("dispute_process.available does not say whether appeals exist: {appeal:?}")
    })?;
    Ok(String::from(
        "5 thresholds as specified; alerts are in effect, timestamp and appeals say that they are not",
    ))
}
