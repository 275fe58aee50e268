//! Changes are published, and nothing else is written.

use std::time::{Duration, Instant};

use database::{CellName, Clock, Database, RandomSource, Settings, Work};
use merchants::Standing;
use search::Replica;
use serde_json::Value;
use testkit::StoreBuilder;

use crate::fixture::{Fixture, files, merchant};

const VERSION: &str = "SELECT max(version) FROM platform.search_shard";

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_published() {
    let fixture = Fixture::with_stores(3).await;
    fixture.put(0, &["a", "b", "c"], "10").await;
    fixture.put(1, &["d"], "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    let status = fixture.wait_until_equal(&replica).await;
    assert_eq!(status.documents(), 4);
    fixture.put(0, &["a", "e"], "11").await;
    fixture.put(2, &["f"], "12").await;
    fixture.retire(1, "d").await;
    fixture.wait_for_status(&replica, |status| status.documents() == 5).await;
    fixture.wait_until_equal(&replica).await;
    fixture.wait_for_status(&replica, |status| status.age() < Duration::from_secs(2)).await;
    assert_eq!(replica.damage_count(), 0);
    writer.stop().await;
    assert_eq!(fixture.number("SELECT count(lease_token) FROM platform.search_shard").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_resumes_at_the_stored_cursor() {
    let fixture = Fixture::with_stores(2).await;
    fixture.put_many(0, 300, "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    writer.kill().await;
    // No event announces this change: only a backfill would include it.
    fixture.execute("UPDATE product SET updated_at = updated_at + interval '1 s' WHERE external_id = 'mug-7'").await;
    fixture.put(0, &["mug-8", "new"], "20").await;
    fixture.put(1, &["other"], "20").await;
    let writer = fixture.write();
    fixture.wait_for_status(&replica, |status| status.documents() == 302).await;
    let comparison = fixture.compare(&replica).await.unwrap();
    assert_eq!(
        (comparison.missing, comparison.extra, comparison.stale),
        (0, 0, 1),
        "{comparison:?}"
    );
    writer.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_small_changes_leave_few_segments() {
    let fixture = Fixture::with_stores(1).await;
    fixture.put_many(0, 100, "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    for round in 0..30 {
        let price = format!("{}", 20 + round);
        fixture.put(0, &["mug-1", "mug-2", &format!("new-{round}")], &price).await;
        // Each round is a publication of its own.
        fixture.wait_for_status(&replica, |status| status.documents() == 101 + round).await;
    }
    fixture.wait_until_equal(&replica).await;
    // Each segment has six files, seven with deletions; objects of a few versions are retained.
    fixture.wait_until_fewer_objects(120).await;
    fixture.wait_until_equal(&replica).await;
    writer.stop().await;
}

/// The files of a merge are as large as any here.
#[tokio::test(flavor = "multi_thread")]
async fn merged_files_are_listed_as_upcoming_before_a_version_contains_them() {
    let fixture = Fixture::with_stores(1).await;
    fixture.put_many(0, 100, "10").await;
    let mut settings = fixture.writer_settings();
    (settings.large_file_bytes, settings.gc_grace_period) = (1, Duration::from_hours(1));
    let writer = fixture.write_in(settings);
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    let started = Instant::now();
    let mut merged = 0;
    for round in 0.. {
        fixture.put(0, &["mug-1", &format!("new-{round}")], "20").await;
        fixture.wait_for_status(&replica, |status| status.documents() == 101 + round).await;
        merged = merged_files(&fixture);
        if merged > 0 {
            break;
        }
        assert!(started.elapsed() < Duration::from_mins(1), "no version lists a merged file");
    }
    assert!(merged > 0);
    fixture.wait_until_equal(&replica).await;
    writer.stop().await;
    assert_eq!(replica.damage_count(), 0);
}

/// Returns the number of files that a version contains after another one listed them as upcoming. No version before may
/// contain them.
fn merged_files(fixture: &Fixture) -> usize {
    let mut manifests: Vec<Value> = files(&fixture.object_directory())
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        // A manifest may be half written.
        .filter_map(|path| serde_json::from_slice(&std::fs::read(path).ok()?).ok())
        .collect();
    manifests.sort_by_key(|manifest| manifest["version"].as_i64());
    let has = |manifest: &Value, name: &Value| {
        let contained = manifest["files"].as_array().into_iter().flatten();
        contained.map(|file| &file["name"]).any(|contained| contained == name)
    };
    let mut merged = 0;
    for (place, manifest) in manifests.iter().enumerate() {
        for upcoming in manifest["upcoming"].as_array().into_iter().flatten() {
            let (before, after) = manifests.split_at(place + 1);
            assert!(!before.iter().any(|manifest| has(manifest, &upcoming["name"])));
            merged += usize::from(after.iter().any(|manifest| has(manifest, &upcoming["name"])));
        }
    }
    merged
}

#[tokio::test(flavor = "multi_thread")]
async fn of_all_changes_of_a_store_only_its_languages_reindex_documents() {
    let fixture = Fixture::with_stores(1).await;
    fixture.put(0, &["a", "b"], "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    fixture.wait_until_caught_up(&replica).await;
    let before = fixture.number(VERSION).await;
    let mut work = Work::for_platform(&fixture.database).await.unwrap();
    let computed_at = work.now();
    let standing = Standing { score: Some(0.1), provisional: false, computed_at };
    merchants::set_standing(&mut work, merchant(0), &standing).await.unwrap();
    work.commit().await.unwrap();
    fixture.wait_until_caught_up(&replica).await;
    assert_eq!(fixture.number(VERSION).await, before);
    writer.kill().await;
    set_languages(&fixture, &["de", "en"]).await;
    let writer = fixture.write();
    fixture.wait_for_number(VERSION, before + 1).await;
    fixture.wait_until_equal(&replica).await;
    writer.stop().await;
}

/// Changes the languages of the store.
async fn set_languages(fixture: &Fixture, languages: &[&str]) {
    let languages = languages.iter().map(|language| (*language).to_owned()).collect();
    let store = StoreBuilder::new("store-0").merchant(merchant(0));
    store.with(|store| store.languages = languages).build(&fixture.database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_starts_without_the_database() {
    let fixture = Fixture::with_stores(1).await;
    fixture.put(0, &["a", "b"], "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    writer.stop().await;
    drop(replica);
    fixture.wait_until_released("replica").await;
    let unreachable = Database::connect_lazy(Settings {
        url: String::from("postgres://souk@127.0.0.1:1/souk"),
        connections_max: 2,
        acquire_timeout: Duration::from_millis(200),
        cell: "cell-1".parse::<CellName>().unwrap(),
        clock: Clock::system(),
        random_source: RandomSource::system(),
    })
    .unwrap();
    let replica = Replica::start(unreachable, fixture.replica_settings("replica"));
    let status = fixture.wait_for_status(&replica, |status| status.documents() == 2).await;
    assert_eq!(status.shards.len(), 1);
}
