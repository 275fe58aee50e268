use std::time::Duration;

use database::{Reading, Work};
use merchants::{Standing, StoreCache};
use primitives::{Currency, Id, MerchantId, StoreSlug, Timestamp};
use proptest::prelude::*;
use testkit::TestDatabase;
use tokio::sync::watch;

use super::*;
use crate::engine::{Keeper, Open};
use crate::view::View;
use crate::{CallerKind, Insight, Query, Search, SearchError, SearchSettings};

fn standing(score: Option<f64>, provisional: bool) -> Standing {
    Standing { score, provisional, computed_at: Timestamp::from_unix_micros(0) }
}

proptest! {
    #[test]
    fn more_trust_never_ranks_lower(
        low in 0.2..=1.0_f64,
        high in 0.2..=1.0_f64,
        provisional: bool,
    ) {
        let (low, high) = (low.min(high), low.max(high));
        let lower = Hot::of(true, &standing(Some(low), provisional));
        let higher = Hot::of(true, &standing(Some(high), provisional));
        prop_assert!(lower.factor <= higher.factor && lower.score <= higher.score);
        prop_assert!(lower.group >= higher.group);
    }

    #[test]
    fn a_group_follows_from_the_score_alone(score in 0.0..=1.0_f64, provisional: bool) {
        let hot = Hot::of(true, &standing(Some(score), provisional));
        let expected = match score {
            score if score >= 0.7 => Hot::OPEN,
            score if score >= 0.2 => Hot::LAST,
            _ => Hot::HIDDEN,
        };
        prop_assert_eq!(hot.group, expected);
        prop_assert_eq!(Hot::of(false, &standing(Some(score), provisional)).group, Hot::HIDDEN);
    }

    #[test]
    fn a_factor_is_between_a_half_and_one(score in 0.2..=1.0_f64, provisional: bool) {
        let hot = Hot::of(true, &standing(Some(score), provisional));
        let most = if provisional { 0.92 } else { 1.0 };
        prop_assert!((0.6..=most).contains(&hot.factor), "{:?}", hot);
    }
}

#[test]
fn a_store_without_a_score_comes_after_the_scored_ones() {
    let hot = Hot::of(true, &standing(None, true));
    assert_eq!(hot, Hot { score: 0.0, factor: 0.5, group: Hot::UNSCORED });
}

#[test]
fn what_was_never_read_is_stale_and_shows_nobody() {
    let roster = Roster::unread();
    assert!(roster.is_stale());
    assert_eq!(roster.hot_of(1).group, Hot::HIDDEN);
    assert!(roster.store(1).is_none());
}

#[tokio::test]
async fn searches_are_refused_when_nobody_confirmed_the_stores_for_a_minute() {
    let test = TestDatabase::new().await;
    let view = View { generation: 1, shards: Vec::new() };
    let (views, rosters) =
        (watch::Sender::new(Some(Arc::new(view))), watch::Sender::new(Arc::new(Roster::unread())));
    let open = Open {
        views: views.subscribe(),
        rosters: rosters.subscribe(),
        _keeper: Keeper::Nobody { _views: views, _rosters: rosters.clone() },
    };
    let stores = StoreCache::new(test.database().clone(), Duration::ZERO);
    let (insight, settings) =
        (Insight::start(test.database().clone()), SearchSettings::new("http://souk.test"));
    let search = Search::over(test.database().clone(), stores, Arc::new(open), insight, settings);
    for (age_seconds, is_answered) in [(None, false), (Some(59), true), (Some(61), false)] {
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        let confirmed = age_seconds.map(ago);
        rosters.send_replace(Arc::new(Roster { stores: Arc::default(), confirmed }));
        let found = search.find(Query::of_words("lamp"), CallerKind::Anonymous).await;
        let is_stale = matches!(found, Err(SearchError::Stale));
        assert_eq!((found.is_ok(), is_stale), (is_answered, !is_answered), "{age_seconds:?}");
        assert_eq!(search.state().answers(), is_answered);
    }
}

fn merchant(number: u128) -> MerchantId {
    MerchantId::from_random(number)
}

async fn score(test: &TestDatabase, number: u128, score: f64) {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let standing = Standing { score: Some(score), provisional: false, computed_at: work.now() };
    merchants::set_standing(&mut work, merchant(number), &standing).await.unwrap();
    work.commit().await.unwrap();
}

/// Waits until the roster is as it should be.
async fn becomes(
    receiver: &mut watch::Receiver<Arc<Roster>>,
    is: impl Fn(&Roster) -> bool,
) -> Arc<Roster> {
    let found = receiver.wait_for(|roster| !roster.is_stale() && is(roster));
    tokio::time::timeout(Duration::from_secs(20), found).await.unwrap().unwrap().clone()
}

fn group(roster: &Roster, number: u128) -> Option<u8> {
    let member = roster.by_merchant(merchant(number))?;
    Some(roster.hot_of(member.store.number).group)
}

#[tokio::test]
async fn changes_of_stores_reach_the_roster() {
    let test = TestDatabase::new().await;
    testkit::open_store(test.database(), merchant(1), "attic", Currency::EUR).await;
    score(&test, 1, 0.9).await;
    let mut receiver = RosterKeeper::start(test.database());
    let first = becomes(&mut receiver, |_| true).await;
    assert_eq!(group(&first, 1), Some(Hot::OPEN));
    let attic: StoreSlug = "attic".parse().unwrap();
    let number = first.by_slug(&attic).unwrap().store.number;
    assert_eq!(first.store(number).unwrap().store.merchant, merchant(1));

    score(&test, 1, 0.1).await;
    testkit::open_store(test.database(), merchant(2), "barn", Currency::EUR).await;
    let second = becomes(&mut receiver, |roster| group(roster, 1) == Some(Hot::HIDDEN)).await;
    assert_eq!(group(&first, 1), Some(Hot::OPEN), "whoever holds the old one keeps it");
    assert!(second.by_slug(&attic).is_some(), "a suspended store is known, and hidden");
    becomes(&mut receiver, |roster| group(roster, 2) == Some(Hot::UNSCORED)).await;
}

#[tokio::test]
async fn a_store_that_is_renamed_is_found_by_its_new_name_only() {
    let test = TestDatabase::new().await;
    testkit::open_store(test.database(), merchant(1), "attic", Currency::EUR).await;
    let reading = Reading::for_store(test.database(), merchant(1)).unwrap();
    let store = merchants::store(&reading, merchant(1)).await.unwrap();
    let (attic, loft): (StoreSlug, StoreSlug) = ("attic".parse().unwrap(), "loft".parse().unwrap());
    let before = Stores::of(vec![store.clone()]);
    let mut after = before.clone();
    after.put(Store { slug: loft.clone(), ..store });
    let [before, after] =
        [before, after].map(|stores| Roster { stores: Arc::new(stores), confirmed: None });
    assert!(after.by_slug(&loft).is_some() && after.by_slug(&attic).is_none());
    assert!(before.by_slug(&loft).is_none() && before.by_slug(&attic).is_some());
    assert_eq!(after.by_merchant(merchant(1)).unwrap().store.slug, loft);
}

#[tokio::test]
async fn an_engine_that_is_away_leaves_the_roster_as_it_is() {
    let test = TestDatabase::new().await;
    testkit::open_store(test.database(), merchant(1), "attic", Currency::EUR).await;
    let database = test.another_process();
    let mut receiver = RosterKeeper::start(&database);
    becomes(&mut receiver, |roster| group(roster, 1).is_some()).await;
    database.close().await;
    let before = receiver.borrow().age();
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let roster = receiver.borrow().clone();
    assert!(group(&roster, 1).is_some() && roster.age() > before);
}
