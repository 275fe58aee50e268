//! What is changed is found, and nothing else is written.

use std::time::Duration;

use database::{CellName, Clock, Database, Dice, Settings, Work};
use merchants::{NewStore, Standing};
use primitives::{Currency, Timestamp};
use search::Replica;

use crate::world::{World, files, merchant};

const VERSION: &str = "SELECT max(version) FROM platform.search_shard";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_changed_is_found() {
    let world = World::with_stores(3).await;
    world.put(0, &["a", "b", "c"], "10").await;
    world.put(1, &["d"], "10").await;
    let writer = world.write();
    let replica = world.read("replica");
    let figures = world.wait_equal(&replica).await;
    assert_eq!(figures.documents(), 4);
    world.put(0, &["a", "e"], "11").await;
    world.put(2, &["f"], "12").await;
    world.retire(1, "d").await;
    world.wait_figures(&replica, |figures| figures.documents() == 5).await;
    world.wait_equal(&replica).await;
    world.wait_figures(&replica, |figures| figures.age() < Duration::from_secs(2)).await;
    assert_eq!(replica.damage_seen(), 0);
    writer.stop().await;
    assert_eq!(world.number("SELECT count(lease_token) FROM platform.search_shard").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_goes_on_where_the_last_one_stopped() {
    let world = World::with_stores(2).await;
    world.put_many(0, 300, "10").await;
    let writer = world.write();
    let replica = world.read("replica");
    world.wait_equal(&replica).await;
    writer.kill().await;
    // Nobody is told of this one: only an index that is filled anew would know.
    world.execute("UPDATE product SET updated_at = updated_at + interval '1 s' WHERE external_id = 'mug-7'").await;
    world.put(0, &["mug-8", "new"], "20").await;
    world.put(1, &["other"], "20").await;
    let writer = world.write();
    world.wait_figures(&replica, |figures| figures.documents() == 302).await;
    let comparison = world.compare(&replica).await.unwrap();
    assert_eq!(
        (comparison.missing, comparison.extra, comparison.stale),
        (0, 0, 1),
        "{comparison:?}"
    );
    writer.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_small_changes_leave_few_segments() {
    let world = World::with_stores(1).await;
    world.put_many(0, 100, "10").await;
    let writer = world.write();
    let replica = world.read("replica");
    world.wait_equal(&replica).await;
    for round in 0..30 {
        let price = format!("{}", 20 + round);
        world.put(0, &["mug-1", "mug-2", &format!("new-{round}")], &price).await;
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    world.wait_equal(&replica).await;
    // Each segment has six files, seven with deletions; readers keep a few states' worth.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let objects = files(&world.object_directory());
    assert!(objects.len() < 120, "{} objects", objects.len());
    world.wait_equal(&replica).await;
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_other_languages_make_documents_anew() {
    let world = World::with_stores(1).await;
    world.put(0, &["a", "b"], "10").await;
    let writer = world.write();
    let replica = world.read("replica");
    world.wait_equal(&replica).await;
    // The merge that may follow a first publication is over.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let before = world.number(VERSION).await;
    let mut work = Work::for_platform(&world.database).await.unwrap();
    let computed_at = work.now();
    let standing = Standing { score: Some(0.1), provisional: false, computed_at };
    merchants::set_standing(&mut work, merchant(0), &standing).await.unwrap();
    work.commit().await.unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(world.number(VERSION).await, before);
    writer.kill().await;
    speak(&world, &["de", "en"]).await;
    let writer = world.write();
    world.wait_number(VERSION, before + 1).await;
    world.wait_equal(&replica).await;
    writer.stop().await;
}

/// Makes the store speak other languages.
async fn speak(world: &World, languages: &[&str]) {
    let store = NewStore {
        merchant: merchant(0),
        slug: "store-0".parse().unwrap(),
        name: String::from("store-0"),
        legal_name: String::from("store-0 Ltd"),
        description: String::from("Old things."),
        website_url: String::from("https://store-0.example"),
        platform: String::from("api"),
        active: true,
        country: String::from("IE"),
        currency: Currency::EUR,
        languages: languages.iter().map(|language| (*language).to_owned()).collect(),
        ships_to: vec![String::from("IE")],
        support_email: String::from("help@store-0.example"),
        member_since: Timestamp::from_unix_micros(0),
        last_sync_at: None,
    };
    let mut work = Work::for_platform(&world.database).await.unwrap();
    merchants::register(&mut work, &store).await.unwrap();
    work.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_starts_without_the_database() {
    let world = World::with_stores(1).await;
    world.put(0, &["a", "b"], "10").await;
    let writer = world.write();
    let replica = world.read("replica");
    world.wait_equal(&replica).await;
    writer.stop().await;
    drop(replica);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let nowhere = Database::prepare(Settings {
        url: String::from("postgres://souk@127.0.0.1:1/souk"),
        connections_max: 2,
        acquire_timeout: Duration::from_millis(200),
        cell: "cell-1".parse::<CellName>().unwrap(),
        clock: Clock::real(),
        dice: Dice::real(),
    })
    .unwrap();
    let replica = Replica::start(nowhere, world.replica_settings("replica"));
    let figures = world.wait_figures(&replica, |figures| figures.documents() == 2).await;
    assert_eq!(figures.shards.len(), 1);
}
