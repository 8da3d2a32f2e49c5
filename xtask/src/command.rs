//! Runs programs; an error names the command that failed.

use std::path::PathBuf;
use std::process::{Command, ExitStatus};

/// The root of the repository: the parent of this crate.
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}

/// Runs `cargo` (the one that started this program) in the repository.
pub(crate) fn cargo(arguments: &[&str]) -> Result<(), String> {
    cargo_with(arguments, &[])
}

/// [`cargo`] with environment variables.
pub(crate) fn cargo_with(arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    start(&cargo, arguments, environment)
}

/// What `cargo` prints in the repository.
///
/// # Errors
/// When it fails: what it said.
pub(crate) fn answer_of_cargo(arguments: &[&str]) -> Result<String, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let failed = |why: &str| format!("`cargo {}` failed: {why}", arguments.join(" "));
    let output = Command::new(cargo).args(arguments).current_dir(root()).output();
    let output = output.map_err(|e| failed(&e.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim()));
    }
    String::from_utf8(output.stdout).map_err(|e| failed(&e.to_string()))
}

fn start(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let status = status(program, arguments, environment)?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{program} {}` failed: {status}", arguments.join(" ")))
    }
}

/// Runs any program in the repository and tells how it ended.
pub(crate) fn status(
    program: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Result<ExitStatus, String> {
    println!("$ {program} {}", arguments.join(" "));
    Command::new(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root())
        .status()
        .map_err(|e| format!("cannot start {program}: {e}"))
}
