use clap::Parser;
use primitives::Id;
use testkit::{StoreBuilder, TestDatabase};

use super::*;
use crate::Cli;

#[test]
fn recomputing_names_one_store_or_all() {
    let parse =
        |rest: &[&str]| Cli::try_parse_from([&["souk", "trust", "recompute"], rest].concat());
    assert!(parse(&["--store", "attic"]).is_ok() && parse(&["--all"]).is_ok());
    assert!(parse(&[]).is_err() && parse(&["--all", "--store", "attic"]).is_err());
}

#[tokio::test]
async fn a_store_is_scored_again_exported_and_compared() {
    let test = TestDatabase::new().await;
    StoreBuilder::new("attic").build(test.database()).await;
    let run = async |command| run(test.database(), MethodologyVersion::V20, command).await;
    let store: StoreSlug = "attic".parse().unwrap();
    let recompute =
        || TrustCommand::Recompute(RecomputedStores { store: Some(store.clone()), all: false });
    let first = run(recompute()).await.unwrap();
    assert!(first.contains("score none") && first.contains("revision 0"), "{first}");
    assert!(run(recompute()).await.unwrap().contains("revision 1"));
    let all = TrustCommand::Recompute(RecomputedStores { store: None, all: true });
    assert_eq!(run(all).await.unwrap(), "1 scores were computed again.");
    let rebuild = |check| TrustCommand::Rebuild { store: None, check };
    assert_eq!(run(rebuild(false)).await.unwrap(), "0 days of 1 stores were counted; 0 differed.");
    assert!(run(rebuild(true)).await.unwrap().contains("equal the facts"));
    let one = run(TrustCommand::Export { store: Some(store.clone()) }).await.unwrap();
    let exported: serde_json::Value = serde_json::from_str(&one).unwrap();
    assert_eq!(exported["merchant_slug"], "attic");
    assert_eq!(exported["evidence"]["state"]["products"], 0);
    assert_eq!(run(TrustCommand::Export { store: None }).await.unwrap(), one);
    let compare = TrustCommand::Compare { store: Some(store), after: None, limit: 9 };
    let compared = run(compare).await.unwrap();
    assert!(compared.contains("\nattic "), "{compared}");
    let alerts = run(TrustCommand::Alerts { days: 30, limit: 9 }).await.unwrap();
    assert_eq!(alerts, "No alerts.");
    assert!(run(TrustCommand::Status).await.unwrap().contains("stores            1\n"));
}

#[tokio::test]
async fn a_store_that_fails_stops_no_other_and_is_named_at_the_end() {
    let test = TestDatabase::new().await;
    for (number, slug) in [(1, "attic"), (2, "cellar")] {
        let merchant = MerchantId::from_random(number);
        StoreBuilder::new(slug).merchant(merchant).build(test.database()).await;
        catalog::refresh_quality(test.database(), merchant).await.unwrap();
    }
    for broken in [
        "UPDATE store SET member_since = '-infinity' WHERE slug = 'attic'",
        "ALTER TABLE trust_tally ADD CONSTRAINT broken
         CHECK (merchant_id <> '00000000-0000-0000-0000-000000000001')",
    ] {
        sqlx::query(broken).execute(&mut test.raw().await).await.unwrap();
    }
    let run = async |command| run(test.database(), MethodologyVersion::V20, command).await;
    let attic = MerchantId::from_random(1);
    for (command, done) in [
        (
            TrustCommand::Recompute(RecomputedStores { store: None, all: true }),
            "1 scores were computed again.",
        ),
        (TrustCommand::Export { store: None }, "1 stores were exported."),
        (
            TrustCommand::Rebuild { store: None, check: false },
            "0 days of 1 stores were counted; 0 differed.",
        ),
    ] {
        let error = run(command).await.unwrap_err().to_string();
        let expected = format!("{done} 1 stores failed:\n{attic}");
        assert!(error.starts_with(&expected), "{error}");
    }
    let status = run(TrustCommand::Status).await.unwrap();
    assert!(status.contains("cannot be scored  1\n"), "{status}");
    assert!(status.contains("  attic  score: "), "{status}");
}
