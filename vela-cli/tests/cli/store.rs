//! The sandbox's folder: private, damage and loss are told, and no other process is touched.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Person;

fn folder(person: &Person) -> PathBuf {
    person.path("vela").join("sandbox")
}

#[test]
fn the_folder_is_for_its_owner_only() {
    let person = Person::new();
    person.types(&["ls"]).ok();
    let folder = folder(&person);
    let modes = || {
        let mode = |path: PathBuf| {
            (path.clone(), std::fs::metadata(path).expect("there").permissions().mode() & 0o777)
        };
        let mut all: Vec<_> = std::fs::read_dir(&folder)
            .expect("read")
            .map(|entry| mode(entry.expect("entry").path()))
            .collect();
        all.push(mode(folder.clone()));
        all
    };
    let private = |all: Vec<(PathBuf, u32)>| {
        assert!(all.len() == 4, "{all:?}");
        for (path, mode) in all {
            assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
        }
    };
    private(modes());
    for (path, _) in modes() {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
    }
    person.types(&["ls"]).ok();
    private(modes());
}

#[test]
fn a_folder_that_is_a_link_is_refused() {
    let person = Person::new();
    std::fs::create_dir_all(person.path("vela")).expect("made");
    std::fs::create_dir_all(person.path("elsewhere")).expect("made");
    std::os::unix::fs::symlink(person.path("elsewhere"), folder(&person)).expect("linked");
    person.types(&["ls"]).fails(3, &["is a symbolic link, which is not followed", "VELA_HOME"]);
    assert_eq!(std::fs::read_dir(person.path("elsewhere")).expect("read").count(), 0);
}

#[test]
fn damage_is_told_put_aside_and_a_reset_begins_anew() {
    let person = Person::new();
    person.types(&["ls"]).ok();
    let store = folder(&person).join("store");
    let mut bytes = std::fs::read(&store).expect("read");
    // Every second kilobyte but the header's: whatever is used is hit.
    for block in bytes.chunks_mut(1024).skip(8).step_by(2) {
        block.fill(0x5a);
    }
    std::fs::write(&store, &bytes).expect("written");
    let said = person.types(&["ls"]).fails(3, &["are damaged", "store.damaged-1", "vela sandbox reset"]);
    assert!(!said.err.contains("free some space") && !said.err.contains("panicked"), "{said:?}");
    person.types(&["ls"]).fails(3, &["are missing, although it has been used", "vela sandbox reset"]);
    person.types(&["sandbox", "reset"]).ok();
    person.types(&["ls"]).ok();
    assert_eq!(std::fs::read(folder(&person).join("store.damaged-1")).expect("kept").len(), bytes.len());
}

#[test]
fn a_store_that_was_emptied_or_replaced_is_no_new_beginning() {
    let person = Person::new();
    person.types(&["ls"]).ok();
    let store = folder(&person).join("store");
    let whole = std::fs::read(&store).expect("read");

    std::fs::write(&store, []).expect("emptied");
    person.types(&["ls"]).fails(3, &["are missing, although it has been used", "vela sandbox reset"]);
    std::fs::remove_file(&store).expect("removed");
    person.types(&["ls"]).fails(3, &["are missing, although it has been used"]);
    drop(vela_apiserver::store::Store::file(&store).expect("another store"));
    person.types(&["ls"]).fails(3, &["are older than when it was closed"]);

    std::fs::write(&store, whole).expect("put back");
    person.types(&["ls"]).ok();
}

#[test]
fn a_lock_of_another_is_told_and_its_process_lives() {
    let person = Person::new();
    person.types(&["ls"]).ok();
    let mut innocent = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("a process");
    let lock = std::fs::File::options().write(true).open(folder(&person).join("lock")).expect("the lock");
    lock.try_lock().expect("held by this test");
    for word in ["serves", "works"] {
        std::fs::write(folder(&person).join("lock"), format!("{} {word}\n", innocent.id())).expect("written");
        person
            .types(&["sandbox", "stop"])
            .fails(3, &["held by a process that is not seen to be a vela", "end that process where it runs"]);
    }
    assert_eq!(innocent.try_wait().expect("asked"), None, "no process may have ended it");
    innocent.kill().expect("ended");
    innocent.wait().expect("gone");
    drop(lock);
    assert!(person.types(&["sandbox", "stop"]).ok().err.contains("does not serve"));
}
