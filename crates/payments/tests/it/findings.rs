//! Findings: each is open once.

use std::time::Duration;

use database::Reading;
use payments::{FindingKind, NewFinding};

use crate::shop::{Shop, session};

#[tokio::test]
async fn a_finding_is_open_once_and_can_come_back() {
    let shop = Shop::open().await;
    let payment = shop.create_live(session(1)).await.id;
    let open = async |kind| {
        let mut work = shop.work(shop.merchant).await;
        let (expected, found) = ("é".repeat(400), String::from("a\0b"));
        let new = NewFinding { payment, kind, expected, found };
        let opened = payments::open_finding(&mut work, shop.merchant, &new).await.unwrap();
        work.commit().await.unwrap();
        opened
    };
    let both = tokio::join!(open(FindingKind::AmountMismatch), open(FindingKind::AmountMismatch));
    assert!(both.0 ^ both.1);
    shop.test.clock().advance(Duration::from_secs(1));
    assert!(!open(FindingKind::AmountMismatch).await, "also later");
    assert!(open(FindingKind::Unresolved).await, "another kind is another finding");
    let mut kinds: Vec<_> = shop.open_findings().await.into_iter().map(|(_, kind)| kind).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["amount_mismatch", "unresolved"]);
    let close = async || {
        let mut work = shop.work(shop.merchant).await;
        let kinds = [FindingKind::AmountMismatch];
        let closed = payments::close_findings(&mut work, shop.merchant, payment, &kinds).await;
        work.commit().await.unwrap();
        closed.unwrap()
    };
    assert_eq!((close().await, close().await), (1, 0));
    shop.test.clock().advance(Duration::from_secs(1));
    assert!(open(FindingKind::AmountMismatch).await);
    let reading = Reading::for_platform(shop.test.database());
    let all = reading.run(async |sql| payments::all_findings(sql, 10).await).await.unwrap();
    assert_eq!((all.len(), all[0].kind.as_str(), all[0].found.as_str()), (2, "unresolved", "ab"));
    let other = shop.another_merchant().await;
    assert_eq!(payments::findings(&shop.reading(other), other, 10).await.unwrap(), []);
}
