//! The gate on broken machines: `.ci/run` in a clone of its own, with a PATH of its own in which `fake.sh` stands for cargo, du and df.

use std::path::PathBuf;
use std::process::Command;

use super::*;

/// The programs that `.ci/run` needs as they are; Go and kubectl are not among them.
const REAL: [&str; 12] =
    ["awk", "bash", "cat", "cut", "dirname", "find", "grep", "ln", "mkdir", "mktemp", "rm", "tee"];
/// The programs that `fake.sh` stands for.
const FAKE: [&str; 4] = ["cargo", "rustup", "du", "df"];

/// What cargo says where no network reaches the registry: with an empty index, and with an index but without the crate.
const NO_NETWORK: [&str; 3] = [
    "error: failed to get `serde` as a dependency of package `a v0.1.0`\n\nCaused by:\n  download of config.json failed\n\n\
     Caused by:\n  failed to download from `https://index.crates.io/config.json`\n\nCaused by:\n  [7] Could not connect to server\n",
    "error: failed to download from `https://static.crates.io/crates/serde/serde-1.0.0.crate`\n\nCaused by:\n  \
     [7] Could not connect to server\n",
    "error: failed to download `serde v1.0.0`\n\nCaused by:\n  attempting to make an HTTP request, but --offline was specified\n",
];

/// A machine in a folder, which is removed at the end: `clone/.ci/run`, `bin` as its PATH, `home`.
struct Machine(PathBuf);

/// How `.ci/run` ended, and what it and its programs said.
struct Said {
    code: Option<i32>,
    text: String,
    calls: String,
}

impl Machine {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("xtask-gate-{name}-{}", std::process::id()));
        let machine = Self(folder);
        for folder in ["clone/.ci", "bin", "home"] {
            std::fs::create_dir_all(machine.at(folder)).unwrap();
        }
        std::fs::copy(command::root().join(".ci/run"), machine.at("clone/.ci/run")).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        for program in REAL {
            let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
            let real = places.find(|place| place.is_file()).unwrap_or_else(|| panic!("no {program} in PATH"));
            std::os::unix::fs::symlink(real, machine.at("bin").join(program)).unwrap();
        }
        for program in FAKE {
            let fake = command::root().join("xtask/src/gate/fake.sh");
            std::os::unix::fs::symlink(fake, machine.at("bin").join(program)).unwrap();
        }
        machine
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// `.ci/run` with `--only check` and these variables; an empty one is not set.
    fn run(&self, variables: &[(&str, &str)]) -> Said {
        let home = self.at("home");
        self.write("calls", "");
        let mut command = Command::new(self.at("bin/bash"));
        command.arg(self.at("clone/.ci/run")).args(["--only", "check"]).env_clear();
        command.env("PATH", self.at("bin")).env("HOME", home).env("TMPDIR", &self.0).env("FAKE", &self.0);
        for (name, value) in variables {
            command.env(name, value);
        }
        for (name, _) in variables.iter().filter(|(_, value)| value.is_empty()) {
            command.env_remove(name);
        }
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        Said {
            code: output.status.code(),
            text: String::from_utf8(text).unwrap(),
            calls: std::fs::read_to_string(self.at("calls")).unwrap(),
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // What cannot be removed from the folder for temporary files is left to the system.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Said {
    /// It passed: it has built as often as this, then run the steps.
    #[track_caller]
    fn passed(self, builds: usize) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.text);
        assert_eq!(self.builds(), builds, "{}", self.calls);
        assert!(self.calls.ends_with("xtask gate --only check\n"), "{}", self.calls);
        assert!(self.text.contains("built: 1"), "{}", self.text);
        self
    }

    /// It failed after so many builds and ran no step; it said all of this.
    #[track_caller]
    fn failed(self, builds: usize, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(1), "{}", self.text);
        assert_eq!(self.builds(), builds, "{}", self.calls);
        assert!(!self.calls.contains("xtask gate"), "{}", self.calls);
        self.says(words)
    }

    #[track_caller]
    fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.text.contains(word), "no {word:?} in {}", self.text);
        }
        self
    }

    fn builds(&self) -> usize {
        self.calls.lines().filter(|call| call.starts_with("cargo build")).count()
    }
}

/// The cache of a machine whose HOME says where it is.
const CACHE: &str = "home/.cache/vela-gate";

#[test]
fn a_machine_without_go_is_told_what_is_skipped() {
    let machine = Machine::new("lacks");
    machine.run(&[]).passed(1).says(&[
        "without Go, control-plane and e2e-real are skipped: https://go.dev/dl",
        "without kubectl",
        "shared/conformance, cases is skipped",
    ]);
    assert!(machine.at(CACHE).join("debug/xtask").exists(), "it is compiled in the cache");
    std::fs::create_dir_all(machine.at("shared/conformance")).unwrap();
    let said = machine.run(&[]).passed(1);
    assert!(!said.text.contains("shared/conformance"), "{}", said.text);
}

#[test]
fn a_machine_without_cargo_is_told_where_it_is() {
    let machine = Machine::new("cargo");
    std::fs::remove_file(machine.at("bin/cargo")).unwrap();
    machine.run(&[]).failed(0, &["cargo is not installed: https://rustup.rs"]);
}

#[test]
fn a_file_in_place_of_the_cache_is_told_and_passed_over() {
    let machine = Machine::new("file");
    machine.write(CACHE, "");
    let target = machine.at("clone/target/debug/xtask");
    machine.run(&[]).passed(1).says(&[
        "vela-gate cannot be written: everything is compiled in ./target",
        "remove what is in its way, or set CARGO_TARGET_DIR",
    ]);
    assert!(target.exists());
    machine.run(&[("HOME", "")]).passed(1).says(&["HOME is not set: everything is compiled in ./target"]);
    // A target folder that its user chose is not replaced.
    let chosen = machine.at(CACHE).to_string_lossy().into_owned();
    machine.run(&[("CARGO_TARGET_DIR", &chosen)]).failed(0, &["cannot be made: set CARGO_TARGET_DIR"]);
}

#[test]
fn an_unwritable_cache_is_told_and_passed_over() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = Machine::new("unwritable");
    std::fs::create_dir_all(machine.at(CACHE)).unwrap();
    std::fs::set_permissions(machine.at(CACHE), std::fs::Permissions::from_mode(0o555)).unwrap();
    // Root may write it all the same; then it is used.
    let is_writable = std::fs::write(machine.at(CACHE).join("probe"), "").is_ok();
    let said = machine.run(&[]).passed(1);
    assert_eq!(said.text.contains("cannot be written"), !is_writable, "{}", said.text);
    assert_eq!(machine.at(CACHE).join("debug/xtask").exists(), is_writable);
}

/// What cargo says of a file in place of a folder of fingerprints.
const DAMAGED: &str =
    "error: failed to write `debug/.fingerprint/a-1/invoked.timestamp`\n\nCaused by:\n  Not a directory\n";
/// What rustc says of a library that was cut off.
const CUT_OFF: &str = "error[E0786]: found invalid metadata files for crate `a`\n --> b/src/main.rs:1:11\n";

#[test]
fn a_damaged_cache_is_emptied_and_built_anew() {
    for (number, said) in [DAMAGED, CUT_OFF].iter().enumerate() {
        let machine = Machine::new(&format!("damaged-{number}"));
        machine.write(&format!("{CACHE}/debug/.fingerprint/a-1"), "damaged");
        machine.write("build-1", said);
        machine.run(&[]).passed(2).says(&["is emptied, and everything is compiled anew"]);
        assert!(!machine.at(CACHE).join("debug/.fingerprint").exists());
    }
    let machine = Machine::new("damaged-twice");
    machine.write("build-1", DAMAGED);
    machine.write("build-2", "error: no such linker\n");
    machine.run(&[]).failed(2, &["error: no such linker", "also with an empty cache"]);
}

#[test]
fn a_cache_that_cannot_be_emptied_is_told() {
    let machine = Machine::new("stuck");
    machine.write("build-1", DAMAGED);
    std::fs::remove_file(machine.at("bin/find")).unwrap();
    machine.run(&[]).failed(1, &["vela-gate cannot be emptied (above): remove it, or set CARGO_TARGET_DIR"]);
}

#[test]
fn a_target_folder_of_the_user_is_never_emptied() {
    let machine = Machine::new("chosen");
    machine.write("mine/size", "40000\n");
    machine.write("build-1", DAMAGED);
    let mine = machine.at("mine").to_string_lossy().into_owned();
    machine
        .run(&[("CARGO_TARGET_DIR", &mine)])
        .failed(1, &["the build failed: error: failed to write", &mine]);
    assert!(machine.at("mine/size").exists());
}

#[test]
fn a_mistake_in_the_source_empties_no_cache() {
    let mistakes = [
        "error[E0308]: mismatched types\n  --> cue/src/lib.rs:1:1\n",
        "error: expected `;`\n --> a.rs:1:1\n",
    ];
    for (number, mistake) in mistakes.iter().enumerate() {
        let machine = Machine::new(&format!("mistake-{number}"));
        machine.write(&format!("{CACHE}/kept"), "");
        machine.write("build-1", mistake);
        let first = mistake.lines().next().unwrap();
        machine.run(&[]).failed(1, &[&format!("gate: the build failed: {first}")]);
        assert!(machine.at(CACHE).join("kept").exists());
    }
}

#[test]
fn a_missing_network_is_told_and_empties_no_cache() {
    for (number, said) in NO_NETWORK.iter().enumerate() {
        let machine = Machine::new(&format!("network-{number}"));
        machine.write(&format!("{CACHE}/kept"), "");
        machine.write("build-1", said);
        machine
            .run(&[])
            .failed(1, &["crates that are not on this machine", "run cargo fetch where one does"]);
        assert!(machine.at(CACHE).join("kept").exists());
    }
}

#[test]
fn too_little_disk_is_told_before_anything_is_built() {
    let machine = Machine::new("disk");
    let words = ["has room for 110 MB and the build needs 8000: free some, or set CARGO_TARGET_DIR"];
    machine.run(&[("FAKE_FREE_MB", "100")]).failed(0, &words);
    machine.run(&[("FAKE_FREE_MB", "-")]).failed(0, &["is unknown: du says '10', df says '-'"]);
    let absent = machine.at("absent").to_string_lossy().into_owned();
    machine.run(&[("TMPDIR", &absent)]).failed(0, &["no file can be made in ", "or set TMPDIR"]);
    // What is compiled already needs no further room.
    machine.write(&format!("{CACHE}/size"), "7950\n");
    machine.run(&[("FAKE_FREE_MB", "100")]).passed(1);
}

#[test]
fn a_cache_that_grew_too_large_is_emptied() {
    let machine = Machine::new("large");
    machine.write(&format!("{CACHE}/size"), "30001\n");
    machine.run(&[]).passed(1).says(&["has grown beyond 30000 MB: it is emptied"]);
    assert!(!machine.at(CACHE).join("size").exists());
}

#[test]
fn the_gate_ends_with_the_code_of_its_steps() {
    let said = Machine::new("code").run(&[("FAKE_GATE", "3")]);
    assert_eq!(said.code, Some(3), "{}", said.text);
    assert!(said.text.contains("=== gate: "), "{}", said.text);
}

#[test]
fn the_control_plane_is_skipped_without_go() {
    let machine = Machine::new("go");
    let bash = |words: &[&str]| {
        let mut command = Command::new(machine.at("bin/bash"));
        command.args(words).current_dir(command::root()).env("PATH", machine.at("bin")).env_remove("KP_BIN");
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(bash(&["-c", CONTROL_PLANE]), (Some(0), "skipped: Go is not installed\n".to_owned()));
    // `e2e --real` reads this code.
    assert_eq!(bash(&["e2e/controlplane/with.sh", "true"]).0, Some(77));
}

fn outcomes(machine: &Machine, scripts: &[&str]) -> Vec<Outcome> {
    scripts.iter().map(|script| Step::new("one", "sh", &["-c", script], 1, "cases").run(&machine.0)).collect()
}

#[test]
fn a_step_that_failed_is_told_at_the_end() {
    let machine = Machine::new("fails");
    assert_eq!(conclude(&outcomes(&machine, &["echo 3 cases"])), Ok(()));
    let fails = outcomes(&machine, &["echo seed 7 breaks it; exit 1"]);
    assert_eq!(fails[0].excerpt(), ["seed 7 breaks it"]);
    assert_eq!(conclude(&fails), Err("FAILED: one".to_owned()));
}

#[test]
fn a_run_that_skipped_every_step_fails() {
    let (machine, skips) = (Machine::new("skips"), "echo skipped: Go is not installed");
    assert!(conclude(&outcomes(&machine, &[skips])).unwrap_err().starts_with("nothing was checked"));
    assert_eq!(conclude(&outcomes(&machine, &[skips, "echo 3 cases"])), Ok(()));
}

#[test]
fn a_step_that_does_not_exist_is_refused() {
    let options = Options { only: vec!["tset".to_owned()] };
    let error = run(&options).unwrap_err();
    assert!(error.contains("no step `tset`") && error.contains("conformance"), "{error}");
}

#[test]
fn steps_that_a_machine_cannot_run_stay_in_the_table() {
    let names: Vec<String> = steps().unwrap().into_iter().map(|step| step.name).collect();
    for name in ["kubectl", "cases", "pictures", "control-plane", "e2e-real"] {
        assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
    }
}

#[test]
fn what_another_clone_compiled_is_not_taken_for_this_one() {
    let machine = Machine::new("clones");
    let cleaned = |said: &Said| said.calls.lines().any(|call| call.starts_with("cargo clean"));
    assert!(cleaned(&machine.run(&[]).passed(1)), "it is unknown what is in the cache");
    assert!(!cleaned(&machine.run(&[]).passed(1)), "the cache is of this clone");
    machine.write(&format!("{CACHE}/clone"), "/another/clone\n");
    assert!(cleaned(&machine.run(&[]).passed(1)));
    let chosen = machine.at("chosen");
    assert!(!cleaned(&machine.run(&[("CARGO_TARGET_DIR", &chosen.to_string_lossy())]).passed(1)));
}
