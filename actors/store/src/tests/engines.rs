//! Requirements on every engine.

use super::*;
use crate::engine::VALUE_LIMIT;
use crate::sled_engine::SledEngine;

fn engines() -> Vec<(Option<tempfile::TempDir>, Arc<dyn Engine>)> {
    let mut all: Vec<(Option<tempfile::TempDir>, Arc<dyn Engine>)> = vec![(None, Arc::new(MemoryEngine::default()))];
    for kind in [EngineKind::Sled, EngineKind::Redb] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let engine = kind.open(folder.path(), PAGE_CACHE).expect("opens");
        all.push((Some(folder), engine));
    }
    all
}

fn scan(engine: &dyn Engine, from: &[u8], to: Option<&[u8]>) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let visit = &mut |key: &[u8], _: &[u8]| {
        found.push(key.to_vec());
        true
    };
    engine.scan(from, to, visit).expect("scans");
    found
}

#[test]
fn keys_come_back_in_order_within_their_bounds() {
    for (_folder, engine) in engines() {
        assert_eq!(engine.get(b"a").expect("reads an empty engine"), None);
        assert!(scan(&*engine, &[], None).is_empty());
        let mut batch = Batch::default();
        for key in ["b", "a", "c", "ab"] {
            batch.put(key.into(), key.into());
        }
        batch.put(b"gone".to_vec(), vec![1]);
        batch.delete(b"gone".to_vec());
        engine.apply(&batch).expect("applies");
        engine.sync().expect("syncs");
        assert_eq!(scan(&*engine, &[], None), [b"a".to_vec(), b"ab".to_vec(), b"b".to_vec(), b"c".to_vec()]);
        assert_eq!(scan(&*engine, b"ab", Some(b"c")), [b"ab".to_vec(), b"b".to_vec()]);
        assert!(scan(&*engine, b"c", Some(b"a")).is_empty(), "{}: turned bounds hold nothing", engine.name());
        assert_eq!(engine.get(b"ab").expect("reads").as_deref(), Some(&b"ab"[..]));
        let mut batch = Batch::default();
        batch.delete(b"ab".to_vec());
        engine.apply(&batch).expect("applies");
        assert_eq!(engine.get(b"ab").expect("reads"), None);
    }
}

#[test]
fn what_was_synced_is_there_after_reopening() {
    for kind in [EngineKind::Sled, EngineKind::Redb] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        {
            let engine = kind.open(folder.path(), PAGE_CACHE).expect("opens");
            let mut batch = Batch::default();
            (0..2000u32).for_each(|n| batch.put(n.to_be_bytes().to_vec(), vec![7; 300]));
            engine.apply(&batch).expect("applies");
            engine.sync().expect("syncs");
        }
        let engine = kind.open(folder.path(), PAGE_CACHE).expect("opens again");
        assert_eq!(scan(&*engine, &[], None).len(), 2000);
    }
}

#[test]
fn everything_can_be_copied_from_each_engine_to_each() {
    for (_from_folder, from) in engines() {
        let mut batch = Batch::default();
        (0..3000u32).for_each(|n| batch.put(n.to_be_bytes().to_vec(), vec![1; n as usize % 900]));
        from.apply(&batch).expect("applies");
        for (_to_folder, to) in engines() {
            assert_eq!(copy_all(&*from, &*to).expect("copies"), 3000);
            assert_eq!(scan(&*to, &[], None), scan(&*from, &[], None));
            assert_eq!(to.get(&2999u32.to_be_bytes()).expect("reads"), Some(vec![1; 299]));
        }
    }
}

#[test]
fn a_value_that_would_become_a_blob_is_refused() {
    let mut batch = Batch::default();
    batch.put(b"k".to_vec(), vec![0; VALUE_LIMIT]);
    batch.check().expect("the limit itself is allowed");
    batch.put(b"k".to_vec(), vec![0; VALUE_LIMIT + 1]);
    let error = batch.check().expect_err("over the limit").to_string();
    assert!(error.contains(&(VALUE_LIMIT + 1).to_string()), "{error}");
}

#[test]
fn the_largest_values_in_any_order_make_no_blob_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let engine = SledEngine::open(folder.path(), PAGE_CACHE).expect("opens");
    for round in 0..40u64 {
        let mut batch = Batch::default();
        for n in 0..64u64 {
            let key = (n * 7919 + round * 104_729) % 1024;
            batch.put([&[b'k'; 400][..], &key.to_be_bytes()].concat(), vec![round.to_le_bytes()[0]; VALUE_LIMIT]);
        }
        engine.apply(&batch).expect("applies");
        engine.sync().expect("syncs");
        let blobs = std::fs::read_dir(folder.path().join("blobs")).expect("a folder").count();
        assert_eq!(blobs, 0, "after round {round}");
    }
}

#[test]
fn a_disk_without_power_keeps_what_was_synced_and_a_prefix_of_the_rest() {
    let mut kept_some = false;
    for seed in 0..200 {
        let disk = MemoryEngine::default();
        let write = |n: u8| {
            let mut batch = Batch::default();
            batch.put(vec![n, 0], vec![n]);
            batch.put(vec![n, 1], vec![n]);
            disk.apply(&batch).expect("applies");
        };
        write(0);
        Engine::sync(&disk).expect("syncs");
        (1..6).for_each(write);
        disk.power_cut(Some(seed));
        let left = scan(&disk, &[], None);
        assert!(left.len() >= 2 && left.len().is_multiple_of(2), "batches are whole: {left:?}");
        let expected: Vec<_> = (0..6u8).flat_map(|n| [vec![n, 0], vec![n, 1]]).take(left.len()).collect();
        assert_eq!(left, expected, "a prefix");
        kept_some |= left.len() > 2;
    }
    assert!(kept_some);
}
