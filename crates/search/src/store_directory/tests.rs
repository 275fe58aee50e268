use std::time::Duration;

use database::{Reading, Work};
use merchants::{Standing, StoreCache};
use primitives::{Id, MerchantId, StoreSlug, Timestamp};
use proptest::prelude::*;
use testkit::TestDatabase;
use tokio::sync::watch;

use super::*;
use crate::engine::{SearchSources, UpdateSource};
use crate::snapshot::IndexSnapshot;
use crate::{Analytics, CallerKind, Query, Search, SearchError, SearchSettings};

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
        let lower = RankingInputs::of(true, &standing(Some(low), provisional));
        let higher = RankingInputs::of(true, &standing(Some(high), provisional));
        prop_assert!(lower.factor <= higher.factor && lower.score <= higher.score);
        prop_assert!(lower.group >= higher.group);
    }

    #[test]
    fn a_group_follows_from_the_score_alone(score in 0.0..=1.0_f64, provisional: bool) {
        let ranking = RankingInputs::of(true, &standing(Some(score), provisional));
        let expected = match score {
            score if score >= 0.7 => RankingInputs::CHECKOUT_ALLOWED,
            score if score >= 0.2 => RankingInputs::DEPRIORITIZED,
            _ => RankingInputs::HIDDEN,
        };
        prop_assert_eq!(ranking.group, expected);
        prop_assert_eq!(RankingInputs::of(false, &standing(Some(score), provisional)).group, RankingInputs::HIDDEN);
    }

    #[test]
    fn a_factor_is_between_a_half_and_one(score in 0.2..=1.0_f64, provisional: bool) {
        let ranking = RankingInputs::of(true, &standing(Some(score), provisional));
        let most = if provisional { 0.92 } else { 1.0 };
        prop_assert!((0.6..=most).contains(&ranking.factor), "{:?}", ranking);
    }
}

#[test]
fn a_store_without_a_score_comes_after_the_scored_ones() {
    let ranking = RankingInputs::of(true, &standing(None, true));
    assert_eq!(ranking, RankingInputs { score: 0.0, factor: 0.5, group: RankingInputs::UNSCORED });
}

#[test]
fn a_directory_that_was_never_loaded_is_stale_and_hides_every_store() {
    let directory = StoreDirectory::never_loaded();
    assert!(directory.is_stale());
    assert_eq!(directory.ranking_inputs(1).group, RankingInputs::HIDDEN);
    assert!(directory.store(1).is_none());
}

#[tokio::test]
async fn searches_are_refused_when_the_directory_was_not_confirmed_for_a_minute() {
    let test = TestDatabase::new().await;
    let snapshot = IndexSnapshot { generation: 1, shards: Vec::new() };
    let (snapshots, directories) = (
        watch::Sender::new(Some(Arc::new(snapshot))),
        watch::Sender::new(Arc::new(StoreDirectory::never_loaded())),
    );
    let sources = SearchSources {
        snapshots: snapshots.subscribe(),
        directories: directories.subscribe(),
        _updates: UpdateSource::Fixed { _snapshots: snapshots, _directories: directories.clone() },
    };
    let stores = StoreCache::new(test.database().clone(), Duration::ZERO);
    let (analytics, settings) =
        (Analytics::start(test.database().clone()), SearchSettings::new("http://souk.test"));
    let search = Search::from_sources(
        test.database().clone(),
        stores,
        Arc::new(sources),
        analytics,
        settings,
    );
    for (age_seconds, is_answered) in [(None, false), (Some(59), true), (Some(61), false)] {
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        let confirmed = age_seconds.map(ago);
        directories.send_replace(Arc::new(StoreDirectory { stores: Arc::default(), confirmed }));
        let found = search.find(Query::of_words("lamp"), CallerKind::Anonymous).await;
        let is_stale = matches!(found, Err(SearchError::StoreDirectoryStale));
        assert_eq!((found.is_ok(), is_stale), (is_answered, !is_answered), "{age_seconds:?}");
        assert_eq!(search.state().is_available(), is_answered);
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

/// Waits until the directory is fresh and meets a condition.
async fn becomes(
    receiver: &mut watch::Receiver<Arc<StoreDirectory>>,
    is: impl Fn(&StoreDirectory) -> bool,
) -> Arc<StoreDirectory> {
    let found = receiver.wait_for(|directory| !directory.is_stale() && is(directory));
    tokio::time::timeout(Duration::from_secs(20), found).await.unwrap().unwrap().clone()
}

fn group(directory: &StoreDirectory, number: u128) -> Option<u8> {
    let entry = directory.by_merchant(merchant(number))?;
    Some(directory.ranking_inputs(entry.store.number).group)
}

#[tokio::test]
async fn changes_of_stores_reach_the_directory() {
    let test = TestDatabase::new().await;
    testkit::StoreBuilder::new("attic").merchant(merchant(1)).build(test.database()).await;
    score(&test, 1, 0.9).await;
    let mut receiver = DirectoryFollower::start(test.database());
    let first = becomes(&mut receiver, |_| true).await;
    assert_eq!(group(&first, 1), Some(RankingInputs::CHECKOUT_ALLOWED));
    let attic: StoreSlug = "attic".parse().unwrap();
    let number = first.by_slug(&attic).unwrap().store.number;
    assert_eq!(first.store(number).unwrap().store.merchant, merchant(1));

    score(&test, 1, 0.1).await;
    testkit::StoreBuilder::new("barn").merchant(merchant(2)).build(test.database()).await;
    let second =
        becomes(&mut receiver, |directory| group(directory, 1) == Some(RankingInputs::HIDDEN))
            .await;
    assert_eq!(
        group(&first, 1),
        Some(RankingInputs::CHECKOUT_ALLOWED),
        "an old directory does not change"
    );
    assert!(second.by_slug(&attic).is_some(), "a suspended store is listed, and hidden");
    becomes(&mut receiver, |directory| group(directory, 2) == Some(RankingInputs::UNSCORED)).await;
}

#[tokio::test]
async fn a_store_that_is_renamed_is_found_by_its_new_name_only() {
    let test = TestDatabase::new().await;
    testkit::StoreBuilder::new("attic").merchant(merchant(1)).build(test.database()).await;
    let reading = Reading::for_store(test.database(), merchant(1)).unwrap();
    let store = merchants::store(&reading, merchant(1)).await.unwrap();
    let (attic, loft): (StoreSlug, StoreSlug) = ("attic".parse().unwrap(), "loft".parse().unwrap());
    let before = Stores::new(vec![store.clone()]);
    let mut after = before.clone();
    after.insert(Store { slug: loft.clone(), ..store });
    let [before, after] =
        [before, after].map(|stores| StoreDirectory { stores: Arc::new(stores), confirmed: None });
    assert!(after.by_slug(&loft).is_some() && after.by_slug(&attic).is_none());
    assert!(before.by_slug(&loft).is_none() && before.by_slug(&attic).is_some());
    assert_eq!(after.by_merchant(merchant(1)).unwrap().store.slug, loft);
}

#[tokio::test]
async fn an_unavailable_database_leaves_the_directory_unchanged() {
    let test = TestDatabase::new().await;
    testkit::StoreBuilder::new("attic").merchant(merchant(1)).build(test.database()).await;
    let database = test.another_process();
    let mut receiver = DirectoryFollower::start(&database);
    becomes(&mut receiver, |directory| group(directory, 1).is_some()).await;
    database.close().await;
    let before = receiver.borrow().age();
    // Longer than two poll intervals.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let directory = receiver.borrow().clone();
    assert!(group(&directory, 1).is_some() && directory.age() > before);
}
