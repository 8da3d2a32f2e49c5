//! Where the peers' results lie: folders beside the repository that a fresh clone elsewhere does not have.

use std::path::{Path, PathBuf};

/// The root of the repository, found from the room whose test is running.
#[must_use]
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// `../shared/conformance` beside the repository (or `VELA_CONFORMANCE_DIR`), when it is there.
#[must_use]
pub fn conformance_dir() -> Option<PathBuf> {
    let dir = std::env::var_os("VELA_CONFORMANCE_DIR")
        .map_or_else(|| repository_root().join("../shared/conformance"), PathBuf::from);
    dir.is_dir().then_some(dir)
}

/// `../shared/examples` beside the repository, when it is there.
#[must_use]
pub fn examples_dir() -> Option<PathBuf> {
    let dir = repository_root().join("../shared/examples");
    dir.is_dir().then_some(dir)
}

/// Says on standard error that a test had nothing to run on; never silent.
#[allow(clippy::print_stderr)]
pub fn skipped(what: &str, why: &str) {
    eprintln!("skipped: {what}: {why}");
}
