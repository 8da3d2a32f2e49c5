//! The programs under test, `vela` and `vela-core`, and the operators beside them: by environment, beside the test binary, or built on the spot.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::Result;

/// Paths of the programs.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `vela`.
    pub vela: PathBuf,
    /// `vela-core`.
    pub core: PathBuf,
}

/// `VELA_BIN` and `VELA_CORE_BIN`; without them the products of the same cargo profile next to this test binary,
/// which are built when one is missing. Found once per test run.
pub fn programs() -> Result<&'static Programs> {
    static FOUND: OnceLock<std::result::Result<Programs, String>> = OnceLock::new();
    FOUND
        .get_or_init(|| find().map_err(|error| error.to_string()))
        .as_ref()
        .map_err(|error| error.clone().into())
}

fn find() -> Result<Programs> {
    let profile = profile_folder()?;
    let named =
        |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let programs = Programs {
        vela: named("VELA_BIN").unwrap_or_else(|| profile.join("vela")),
        core: named("VELA_CORE_BIN").unwrap_or_else(|| profile.join("vela-core")),
    };
    if !programs.vela.exists() || !programs.core.exists() {
        build(&profile, &["--package", "vela-cli", "--package", "vela-core"])?;
    }
    for path in [&programs.vela, &programs.core] {
        if !path.exists() {
            return Err(format!("there is no program at {}", path.display()).into());
        }
    }
    Ok(programs)
}

/// `target/<profile>`: test binaries lie in `deps` below it.
fn profile_folder() -> Result<PathBuf> {
    let test = std::env::current_exe()?;
    test.parent()
        .filter(|folder| folder.ends_with("deps"))
        .and_then(Path::parent)
        .map(Path::to_owned)
        .ok_or_else(|| {
            format!(
                "{} does not lie in a cargo target folder: set VELA_BIN and VELA_CORE_BIN",
                test.display()
            )
            .into()
        })
}

/// A program of another package beside `vela`, or an example (`examples/NAME`); built where it is missing.
pub fn beside(package: &str, path: &str) -> Result<PathBuf> {
    let profile = programs()?.vela.parent().ok_or("vela lies in no folder")?;
    let found = profile.join(path);
    if !found.exists() {
        let product = match path.strip_prefix("examples/") {
            Some(example) => ["--example", example],
            None => ["--bin", path],
        };
        build(profile, &[&["--package", package], &product[..]].concat())?;
    }
    if found.exists() { Ok(found) } else { Err(format!("there is no program at {}", found.display()).into()) }
}

fn build(profile: &Path, words: &[&str]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.arg("build").args(words);
    match profile.file_name().and_then(|name| name.to_str()) {
        // The folder of the profile "dev" is called "debug".
        Some("debug") | None => {}
        Some(name) => {
            command.args(["--profile", name]);
        }
    }
    if let Some(target) = profile.parent() {
        command.arg("--target-dir").arg(target);
    }
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("cargo build {}: {status}", words.join(" ")).into()) }
}
