//! Runs programs; an error names the command that failed.

use std::path::PathBuf;
use std::process::{Command, ExitStatus};

/// The root of the repository: the parent of this crate.
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}

/// Set by the gate, which has built the whole workspace: chores build nothing again, with fewer features.
pub(crate) const BUILT: &str = "XTASK_BUILT";

/// The `cargo` that started this program.
pub(crate) fn cargo_program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Whether every program of the workspace lies beside this one already.
fn is_built() -> bool {
    std::env::var_os(BUILT).is_some()
}

/// Builds programs with `cargo build WORDS`, unless they are built.
pub(crate) fn build(words: &[&str]) -> Result<(), String> {
    if is_built() { Ok(()) } else { cargo(&[&["build"], words].concat()) }
}

/// The program of the tests of a package in `tests/NAME.rs`, built.
pub(crate) fn tests_of(package: &str, name: &str) -> Result<PathBuf, String> {
    let which: &[&str] = if is_built() { &["--workspace"] } else { &["--package", package, "--test", name] };
    let room = PathBuf::from(package.strip_prefix("vela-").unwrap_or(package));
    let programs = test_programs_of(which)?;
    let found = programs.into_iter().find(|one| one.name == name && one.folder.ends_with(&room));
    found.map(|one| one.program).ok_or_else(|| format!("{package} has no tests in tests/{name}.rs"))
}

/// Every test program, built, with the folder in which it runs: of one package, or of all.
pub(crate) fn test_programs(package: Option<&str>) -> Result<Vec<(PathBuf, PathBuf)>, String> {
    let which = package.map_or_else(|| vec!["--workspace"], |package| vec!["--package", package]);
    let programs = test_programs_of(&which)?;
    Ok(programs.into_iter().map(|one| (one.folder, one.program)).collect())
}

/// A test program, as cargo tells of it.
struct TestProgram {
    name: String,
    folder: PathBuf,
    program: PathBuf,
}

fn test_programs_of(which: &[&str]) -> Result<Vec<TestProgram>, String> {
    let words = [&["test", "--no-run", "--quiet", "--message-format", "json"], which].concat();
    Ok(read_test_programs(&answer_of_cargo(&words)?))
}

fn read_test_programs(messages: &str) -> Vec<TestProgram> {
    let one = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let manifest = PathBuf::from(text(&message["manifest_path"])?);
        (message["profile"]["test"] == true).then_some(TestProgram {
            name: text(&message["target"]["name"])?,
            folder: manifest.parent()?.to_owned(),
            program: PathBuf::from(text(&message["executable"])?),
        })
    };
    messages.lines().filter_map(one).collect()
}

/// Runs `cargo` (the one that started this program) in the repository.
pub(crate) fn cargo(arguments: &[&str]) -> Result<(), String> {
    cargo_with(arguments, &[])
}

/// [`cargo`] with environment variables.
pub(crate) fn cargo_with(arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    start(&cargo_program(), arguments, environment)
}

/// The output of `cargo` in the repository.
///
/// # Errors
/// When it fails: what it said.
pub(crate) fn answer_of_cargo(arguments: &[&str]) -> Result<String, String> {
    let failed = |why: &str| format!("`cargo {}` failed: {why}", arguments.join(" "));
    let output = Command::new(cargo_program()).args(arguments).current_dir(root()).output();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_read_from_what_cargo_tells() {
        let line = |test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/r/e2e/Cargo.toml","target":{{"name":"e2e"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let messages = [line(false, "null"), line(true, "\"/t/e2e-1\""), "not JSON".to_owned()].join("\n");
        let found = read_test_programs(&messages);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].name.as_str(), found[0].folder.as_path()),
            ("e2e", std::path::Path::new("/r/e2e"))
        );
        assert_eq!(found[0].program, PathBuf::from("/t/e2e-1"));
    }
}
