//! Damaged store files: what is read is what was acknowledged, or it is told; nothing panics, and modes are private.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use vela_apiserver::store::file::Error as FileError;
use vela_apiserver::store::{Change, Error, Key, Precondition, Store};

/// How many damaged copies are opened: of each of the three kinds of damage a third.
const COPIES: u64 = 120;
/// A sector of a disk.
const BLOCK: usize = 512;

fn key(name: &str) -> Key {
    Key { resource: "secrets".into(), namespace: "default".into(), name: name.into() }
}

fn secret(name: &str, n: usize) -> Value {
    let data = format!("c2VjcmV0{}", "x".repeat(4 * n));
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}, "data": {"key": data}})
}

/// A closed store with many records; what it holds and how far it came.
fn closed(path: &Path) -> (BTreeMap<String, Value>, u64) {
    let store = Store::file(path).expect("a store");
    for n in 0..60 {
        let name = format!("s{n}");
        store
            .write(&key(&name), Precondition::Absent, Change::Put(secret(&name, n * 7)))
            .expect("acknowledged");
    }
    (contents(&store), store.revision())
}

fn contents(store: &Store) -> BTreeMap<String, Value> {
    let rows = store.list("secrets", None).0;
    rows.iter().map(|entry| (entry["metadata"]["name"].to_string(), entry.value().clone())).collect()
}

/// The same numbers in each run (an xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).expect("below an usize")
    }
}

#[test]
fn damage_is_told_or_harmless() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole");
    let (wanted, reached) = closed(&whole);
    let bytes = std::fs::read(&whole).expect("read");
    // Most of a file is free space: damage there is harmless, and shows little.
    let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut reported, mut harmless) = (0, 0);
    for copy in 0..COPIES {
        let mut damaged = bytes.clone();
        let at = used[numbers.below(used.len())];
        let what = match copy % 3 {
            0 => {
                let bit = numbers.below(8);
                damaged[at] ^= 1 << bit;
                format!("bit {bit} of byte {at}")
            }
            1 => {
                let begin = at / BLOCK * BLOCK;
                let end = (begin + BLOCK).min(damaged.len());
                damaged[begin..end].fill_with(|| u8::try_from(numbers.below(256)).expect("a byte"));
                format!("block at {begin}")
            }
            _ => {
                damaged.truncate(at);
                format!("cut at {at}")
            }
        };
        let path = folder.path().join(format!("copy-{copy}"));
        std::fs::write(&path, damaged).expect("written");
        match Store::file(&path) {
            Err(Error::File(FileError::Damaged(_) | FileError::Database(_))) => reported += 1,
            Err(other) => panic!("{what}: the file is damaged, not: {other}"),
            // An older root that is whole took the place of the newest one: `revision` tells.
            Ok(store) if store.revision() < reached => reported += 1,
            Ok(store) => {
                assert_eq!(contents(&store), wanted, "{what}: unnoticed");
                harmless += 1;
            }
        }
        std::fs::remove_file(&path).expect("removed");
    }
    println!("damaged copies: {reported} told, {harmless} harmless");
    assert!(
        reported > COPIES / 3,
        "only {reported} of {COPIES} were told: the damage does not reach what is used"
    );
}

#[test]
fn a_file_is_for_its_owner_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mode = || std::fs::metadata(&path).expect("there").permissions().mode() & 0o777;
    drop(Store::file(&path).expect("a store"));
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("set");
    drop(Store::file(&path).expect("a store"));
    assert_eq!(mode(), 0o600, "an existing file is closed to others");

    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    let error = Store::file(&link).expect_err("a link");
    assert!(error.to_string().contains("symbolic link"), "{error}");
}

#[test]
fn a_file_without_checksums_is_read_once_more_and_then_has_them() {
    use redb::{Database, ReadableDatabase, TableDefinition};
    let objects: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
    let meta: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mut object = secret("old", 1);
    object["metadata"]["resourceVersion"] = json!("7");
    {
        let database = Database::create(&path).expect("made");
        let write = database.begin_write().expect("begun");
        let text = object.to_string();
        write
            .open_table(objects)
            .expect("table")
            .insert("secrets\0default\0old", text.as_bytes())
            .expect("put");
        write.open_table(meta).expect("table").insert("format", 1).expect("put");
        write.open_table(meta).expect("table").insert("revision", 7).expect("put");
        write.commit().expect("committed");
    }
    for _ in 0..2 {
        let store = Store::file(&path).expect("a store");
        assert_eq!(store.get(&key("old")).expect("kept").value(), &object);
        assert_eq!(store.revision(), 7);
    }
    let database = Database::create(&path).expect("opened");
    let read = database.begin_read().expect("begun");
    assert_eq!(read.open_table(meta).expect("table").get("format").expect("read").expect("there").value(), 2);
}
