//! Damaged files are detected, never opened, and repaired.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::fixture::{Fixture, files};

/// A way to damage a file.
type Damage = fn(&PathBuf);

/// Returns the largest segment file in object storage.
fn largest_segment_file(fixture: &Fixture) -> PathBuf {
    let is_file = |path: &PathBuf| path.to_str().unwrap().contains("/file-");
    let found = files(&fixture.object_directory()).into_iter().filter(is_file);
    found.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap()
}

fn flip(path: &PathBuf) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_objects_are_repaired() {
    let fixture = Fixture::with_stores(1).await;
    fixture.put_many(0, 50, "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    let damages: [(&str, Damage); 3] = [
        ("flipped", flip),
        ("truncated", |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("missing", |path| fs::remove_file(path).unwrap()),
    ];
    for (name, damage) in damages {
        tokio::time::sleep(Duration::from_millis(700)).await;
        damage(&largest_segment_file(&fixture));
        let fresh = fixture.read(name);
        fixture.wait_until_equal(&fresh).await;
        assert!(fresh.damage_count() > 0, "{name}");
        fixture.wait_for_number("SELECT count(damage_seen_at) FROM platform.search_shard", 0).await;
    }
    fixture.wait_until_equal(&replica).await;
    assert_eq!(replica.damage_count(), 0);
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_objects_are_uploaded_again() {
    let fixture = Fixture::with_stores(2).await;
    fixture.put_many(0, 50, "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    fs::remove_dir_all(fixture.object_directory()).unwrap();
    let fresh = fixture.read("fresh");
    fixture.wait_until_equal(&fresh).await;
    fixture.wait_until_equal(&replica).await;
    // Without the working copy, the shard is filled from PostgreSQL.
    writer.kill().await;
    fs::remove_dir_all(fixture.object_directory()).unwrap();
    fs::remove_dir_all(fixture.root.join("writers")).unwrap();
    fixture.put(1, &["new"], "10").await;
    assert_eq!(replica.status().unwrap().documents(), 50, "readers serve the last version");
    let writer = fixture.write();
    fixture.wait_until_equal(&replica).await;
    let fresh = fixture.read("another");
    assert_eq!(fixture.wait_until_equal(&fresh).await.documents(), 51);
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_whose_working_copy_is_deleted_restores_it() {
    let fixture = Fixture::with_stores(1).await;
    fixture.put_many(0, 50, "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    for entry in fs::read_dir(fixture.root.join("writers/writer-0")).unwrap() {
        fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
    fixture.put(0, &["new", "mug-3"], "11").await;
    assert_eq!(fixture.wait_until_equal(&replica).await.documents(), 51);
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_verifies_its_files_at_start() {
    let fixture = Fixture::with_stores(1).await;
    fixture.put_many(0, 50, "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    drop(replica);
    fixture.wait_until_released("replica").await;
    let local = files(&fixture.root.join("replica/replica-0/files"));
    flip(local.iter().max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap());
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    assert!(replica.damage_count() > 0);
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_detects_damaged_and_missing_files() {
    let fixture = Fixture::with_stores(1).await;
    fixture.put_many(0, 50, "10").await;
    let writer = fixture.write();
    let mut settings = fixture.replica_settings("replica");
    settings.scrub_every = Duration::from_secs(1);
    let replica = search::Replica::start(fixture.database.clone(), settings);
    fixture.wait_until_equal(&replica).await;
    let directory = fixture.root.join("replica/replica-0/files");
    let largest = || {
        let files = files(&directory).into_iter();
        files.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap()
    };
    let content = fs::read(largest()).unwrap();
    flip(&largest());
    wait_for_content(&largest(), &content).await;
    assert!(replica.damage_count() > 0);
    let deleted = largest();
    fs::remove_dir_all(&directory).unwrap();
    wait_for_content(&deleted, &content).await;
    fixture.wait_until_equal(&replica).await;
    writer.stop().await;
}

async fn wait_for_content(path: &PathBuf, expected: &[u8]) {
    for _ in 0..400 {
        if fs::read(path).is_ok_and(|found| found == expected) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{} is not restored", path.display());
}
