//! Nothing in; where the real `cue` is out, or why there is none.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;

/// The release that the answers are compared with.
const RELEASE: &str = "v0.17.1";
const MODULE: &str = "cuelang.org/go/cmd/cue";

/// The command given, one on the path of the right release, or one installed by Go; the inner error says why there is none.
pub(crate) fn find(given: Option<&Path>) -> Result<Result<PathBuf, String>, String> {
    if let Some(given) = given {
        let given = std::path::absolute(given).map_err(|e| e.to_string())?;
        return if given.is_file() { Ok(Ok(given)) } else { Err(format!("{} is no file", given.display())) };
    }
    if is_release(Path::new("cue")) {
        return Ok(Ok(PathBuf::from("cue")));
    }
    let cache = command::root().join("target/cue").join(RELEASE);
    let program = cache.join(format!("cue{}", std::env::consts::EXE_SUFFIX));
    if is_release(&program) {
        return Ok(Ok(program));
    }
    if !Command::new("go").arg("version").output().is_ok_and(|o| o.status.success()) {
        return Ok(Err(format!("cue {RELEASE} is not on the path and Go is not there to install it")));
    }
    install(&cache)?;
    if is_release(&program) { Ok(Ok(program)) } else { Err(format!("{} does not run", program.display())) }
}

/// A module that cannot be fetched is an error: a run that was meant to compare must not pass without.
fn install(cache: &Path) -> Result<(), String> {
    std::fs::create_dir_all(cache).map_err(|e| format!("{}: {e}", cache.display()))?;
    let module = format!("{MODULE}@{RELEASE}");
    println!("$ go install {module}");
    let status = Command::new("go")
        .args(["install", &module])
        .env("GOBIN", cache)
        .status()
        .map_err(|e| format!("cannot start go: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("`go install {module}` failed: {status}")) }
}

fn is_release(program: &Path) -> bool {
    let Ok(output) = Command::new(program).arg("version").output() else { return false };
    String::from_utf8_lossy(&output.stdout).lines().next().is_some_and(|line| line.ends_with(RELEASE))
}
