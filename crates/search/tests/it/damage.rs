//! What is broken is found out, never opened, and mended.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::world::{World, files};

/// A way to break a file.
type Breakage = fn(&PathBuf);

/// The largest object that is a file of a segment.
fn segment(world: &World) -> PathBuf {
    let is_file = |path: &PathBuf| path.to_str().unwrap().contains("/file-");
    let found = files(&world.object_directory()).into_iter().filter(is_file);
    found.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap()
}

fn flip(path: &PathBuf) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_objects_are_mended() {
    let world = World::with_stores(1).await;
    world.put_many(0, 50, "10").await;
    let writer = world.write();
    let replica = world.read("replica");
    world.wait_equal(&replica).await;
    let breakages: [(&str, Breakage); 3] = [
        ("flipped", flip),
        ("truncated", |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("missing", |path| fs::remove_file(path).unwrap()),
    ];
    for (name, breakage) in breakages {
        tokio::time::sleep(Duration::from_millis(700)).await;
        breakage(&segment(&world));
        let fresh = world.read(name);
        world.wait_equal(&fresh).await;
        assert!(fresh.damage_seen() > 0, "{name}");
        world.wait_number("SELECT count(damage_seen_at) FROM platform.search_shard", 0).await;
    }
    world.wait_equal(&replica).await;
    assert_eq!(replica.damage_seen(), 0);
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_object_store_is_filled_again() {
    let world = World::with_stores(2).await;
    world.put_many(0, 50, "10").await;
    let writer = world.write();
    let replica = world.read("replica");
    world.wait_equal(&replica).await;
    fs::remove_dir_all(world.object_directory()).unwrap();
    let fresh = world.read("fresh");
    world.wait_equal(&fresh).await;
    world.wait_equal(&replica).await;
    // With everything of the writer gone too, PostgreSQL is what is left.
    writer.kill().await;
    fs::remove_dir_all(world.object_directory()).unwrap();
    fs::remove_dir_all(world.root.join("writers")).unwrap();
    world.put(1, &["new"], "10").await;
    assert_eq!(replica.figures().unwrap().documents(), 50, "readers have what they had");
    let writer = world.write();
    world.wait_equal(&replica).await;
    let fresh = world.read("another");
    assert_eq!(world.wait_equal(&fresh).await.documents(), 51);
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_whose_working_copy_vanishes_fetches_it() {
    let world = World::with_stores(1).await;
    world.put_many(0, 50, "10").await;
    let writer = world.write();
    let replica = world.read("replica");
    world.wait_equal(&replica).await;
    for entry in fs::read_dir(world.root.join("writers/writer-0")).unwrap() {
        fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
    world.put(0, &["new", "mug-3"], "11").await;
    assert_eq!(world.wait_equal(&replica).await.documents(), 51);
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_checks_its_files_at_start() {
    let world = World::with_stores(1).await;
    world.put_many(0, 50, "10").await;
    let writer = world.write();
    let replica = world.read("replica");
    world.wait_equal(&replica).await;
    drop(replica);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let own = files(&world.root.join("replica/replica-0/files"));
    flip(own.iter().max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap());
    let replica = world.read("replica");
    world.wait_equal(&replica).await;
    assert!(replica.damage_seen() > 0);
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_notices_what_happens_to_its_files() {
    let world = World::with_stores(1).await;
    world.put_many(0, 50, "10").await;
    let writer = world.write();
    let mut settings = world.replica_settings("replica");
    settings.scrub_every = Duration::from_secs(1);
    let replica = search::Replica::start(world.database.clone(), settings);
    world.wait_equal(&replica).await;
    let directory = world.root.join("replica/replica-0/files");
    let largest = || {
        let files = files(&directory).into_iter();
        files.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap()
    };
    let whole = fs::read(largest()).unwrap();
    flip(&largest());
    wait_bytes(&largest(), &whole).await;
    assert!(replica.damage_seen() > 0);
    let gone = largest();
    fs::remove_dir_all(&directory).unwrap();
    wait_bytes(&gone, &whole).await;
    world.wait_equal(&replica).await;
    writer.stop().await;
}

async fn wait_bytes(path: &PathBuf, wanted: &[u8]) {
    for _ in 0..400 {
        if fs::read(path).is_ok_and(|found| found == wanted) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{} is not what it was", path.display());
}
