//! Tests against a real Redis.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use limits::{Bucket, Caller, Charge, Class, Limiter};
use primitives::{Id, KeyId};

/// A caller nobody else has: tests share one Redis.
fn caller() -> Caller {
    let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
    Caller::agent(KeyId::from_random(u128::from(random)))
}

fn limiter() -> Limiter {
    Limiter::new(&testkit::redis_url(), "souk").unwrap()
}

/// Waits until the first answer comes from Redis: connecting takes longer than a call may.
async fn ready(limiter: &Limiter) {
    for _ in 0..100 {
        let tried = limiter.take(&caller(), &Charge::tier(Class::Read, "x", 1)).await;
        if !tried.degraded {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("Redis did not answer");
}

#[tokio::test]
async fn both_buckets_are_taken_or_none() {
    let (limiter, caller) = (limiter(), caller());
    ready(&limiter).await;
    let call = async |tool: &str| {
        let charge = Charge::tier(Class::Read, "mcp", 10).and_tool(None, tool, 2);
        limiter.take(&caller, &charge).await
    };
    let first = call("a").await;
    assert_eq!((first.limit, first.remaining, first.degraded), (2, 1, false));
    assert!(call("a").await.is_admitted());
    for _ in 0..5 {
        assert_eq!(call("a").await.refused_by, Some(Bucket::Tool));
    }
    let rest = limiter.take(&caller, &Charge::tier(Class::Read, "mcp", 10)).await;
    assert_eq!(rest.remaining, 7, "refused calls took nothing");
    assert_eq!(rest.reset, first.reset);
}

#[tokio::test]
async fn many_at_once_get_exactly_the_figure() {
    let (limiter, caller) = (limiter(), caller());
    ready(&limiter).await;
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let (limiter, caller) = (limiter.clone(), caller.clone());
            tokio::spawn(async move {
                limiter.take(&caller, &Charge::tier(Class::Read, "mcp", 30)).await
            })
        })
        .collect();
    let mut admitted = 0;
    for task in tasks {
        let verdict = task.await.unwrap();
        admitted += u32::from(verdict.is_admitted() && !verdict.degraded);
    }
    assert_eq!(admitted, 30);
}

#[tokio::test]
async fn without_redis_each_process_counts_alone_and_soon_asks_no_more() {
    let (limiter, caller) = (Limiter::new("redis://127.0.0.1:1", "souk").unwrap(), caller());
    let charge = Charge::tier(Class::Write, "mcp", 20);
    let mut admitted = 0;
    for _ in 0..40 {
        let verdict = limiter.take(&caller, &charge).await;
        assert!(verdict.degraded);
        admitted += u32::from(verdict.is_admitted());
    }
    assert_eq!(admitted, 10);
    assert!(limiter.is_degraded());
    let began = std::time::Instant::now();
    for _ in 0..100 {
        limiter.take(&caller, &charge).await;
    }
    assert!(began.elapsed().as_millis() < 50, "{:?}", began.elapsed());
}
