//! A program and its arguments in; success, or an error that says which command failed.

use std::path::PathBuf;
use std::process::Command;

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

/// Runs any program in the repository.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    start(program, arguments, &[])
}

fn start(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let words = arguments.join(" ");
    println!("$ {program} {words}");
    let status = Command::new(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root())
        .status()
        .map_err(|e| format!("cannot start {program}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{program} {words}` failed: {status}")) }
}
