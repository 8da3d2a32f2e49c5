//! Unpacks the archives of the peers' cases into folders.
//!
//! The cases are inputs with what the real systems made of them: KubeVela, `cue`, an API server. They lie in `testkit/cases`,
//! so that every test has them in every clone; `testkit/cases/NOTICE.md` says where they are from. `cargo xtask cases`
//! makes the archives anew from the folder they were recorded in. They are unpacked below the build's own folder, once.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::tar_gz::{self, Files};

/// The folders that have an archive of their own. None lies within another.
pub const ARCHIVES: [&str; 11] = [
    "conformance/applications",
    "conformance/cli-today/render",
    "conformance/crds",
    "conformance/cue",
    "conformance/dapr",
    "conformance/definitions",
    "conformance/harbor",
    "conformance/runs-today",
    "conformance/runs-v1.0",
    "conformance/trait-pairs",
    "examples",
];

/// All archives together must stay smaller: everybody who clones the repository gets each of their versions.
#[cfg(test)]
const MAX_BYTES: u64 = 10_000_000;

/// Where the archive of one of [`ARCHIVES`] lies.
#[must_use]
pub fn archive(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(format!("{name}.tar.gz"))
}

/// The content of an archive.
///
/// # Errors
/// When it cannot be read.
pub fn contents(name: &str) -> Result<Files, String> {
    let path = archive(name);
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    tar_gz::unpack(&bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// A folder of cases: one of [`ARCHIVES`], or one within it.
///
/// # Panics
/// When there is no such folder: a test calls this.
#[must_use]
#[allow(clippy::panic)]
pub fn folder(path: &str) -> PathBuf {
    let within = |name: &&&str| path == **name || path.starts_with(&format!("{name}/"));
    let Some(name) = ARCHIVES.iter().find(within) else { panic!("{path} is in none of {ARCHIVES:?}") };
    let root = root().unwrap_or_else(|error| panic!("{error}"));
    unpacked(&root, name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let folder = root.join(path);
    assert!(folder.exists(), "{path} is not in {}", archive(name).display());
    folder
}

/// The folder in which all of [`ARCHIVES`] are unpacked.
///
/// # Panics
/// As [`folder`].
#[must_use]
#[allow(clippy::panic)]
pub fn all() -> PathBuf {
    let root = root().unwrap_or_else(|error| panic!("{error}"));
    for name in ARCHIVES {
        unpacked(&root, name).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    root
}

/// A folder of the build for the archives as they are now: others get another.
fn root() -> Result<PathBuf, String> {
    static ROOT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    ROOT.get_or_init(find_root).clone()
}

fn find_root() -> Result<PathBuf, String> {
    let me = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = me.parent().unwrap_or(Path::new("."));
    let profile = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
    // FNV-1a.
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for name in ARCHIVES {
        for byte in stamp(&archive(name))? {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Ok(profile.join("cases").join(format!("{digest:016x}")))
}

/// The checksum and the length with which every compressed file ends.
fn stamp(archive: &Path) -> Result<[u8; 8], String> {
    let bytes = std::fs::read(archive).map_err(|error| format!("{}: {error}", archive.display()))?;
    bytes.last_chunk().copied().ok_or_else(|| format!("{} is no archive", archive.display()))
}

/// Unpacks an archive unless that was done. A folder appears as a whole: other processes may want the same one.
fn unpacked(root: &Path, name: &str) -> Result<(), String> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let _one = ONE_AT_A_TIME.lock();
    let place = root.join(name);
    if place.exists() {
        return Ok(());
    }
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let half = root.join(format!(".unpacking-{}-{number}", std::process::id()));
    for (path, bytes) in contents(name)? {
        let file = half.join(path);
        let folder = file.parent().unwrap_or(&half);
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        std::fs::write(&file, bytes).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let folder = place.parent().unwrap_or(root);
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    match std::fs::rename(&half, &place) {
        Err(error) if !place.exists() => Err(format!("{}: {error}", place.display())),
        // Another process was faster.
        Err(_) => std::fs::remove_dir_all(&half).map_err(|error| format!("{}: {error}", half.display())),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_holds_what_its_archive_does() {
        let folder = folder("examples/first");
        let files = contents("examples").unwrap();
        let web = files.get("first/web/app.yaml").unwrap();
        assert_eq!(&std::fs::read(folder.join("web/app.yaml")).unwrap(), web);
    }

    #[test]
    fn the_archives_are_small_enough_for_a_repository() {
        let bytes: u64 = ARCHIVES.iter().map(|name| std::fs::metadata(archive(name)).unwrap().len()).sum();
        assert!(bytes < MAX_BYTES, "{bytes} bytes");
    }
}
