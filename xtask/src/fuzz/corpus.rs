//! The folders `fuzz/corpus` and `fuzz/regressions` of a room in; inputs out. Finds in; files out.

use std::path::{Path, PathBuf};

use super::child::Verdict;
use super::targets;
use crate::command;

/// One committed input.
pub(crate) struct Input {
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
}

/// The inputs of a target, in the order of their names.
pub(crate) fn read(target: &str) -> Result<Vec<Input>, String> {
    let mut paths = Vec::new();
    for folder in ["corpus", "regressions"] {
        let folder = command::root().join(targets::room(target)).join("fuzz").join(folder).join(target);
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        paths.extend(entries.map(|e| e.path()).filter(|p| p.is_file()));
    }
    paths.sort();
    if paths.is_empty() {
        return Err(format!("{}/fuzz/corpus/{target} holds no input", targets::room(target)));
    }
    let read = |path: &PathBuf| match std::fs::read(path) {
        Ok(bytes) => Ok(Input { bytes }),
        Err(e) => Err(format!("{}: {e}", path.display())),
    };
    paths.iter().map(read).collect()
}

/// Writes an input that showed a mistake; one name for the same bytes.
pub(crate) fn save(folder: &Path, target: &str, verdict: &Verdict, input: &[u8]) -> Result<PathBuf, String> {
    let kind = match verdict {
        Verdict::Fine => "fine",
        Verdict::Panic(_) => "panic",
        Verdict::Crash(_) => "crash",
        Verdict::Hang => "hang",
    };
    let folder = folder.join(target);
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let file = folder.join(format!("{kind}-{:016x}", digest(input)));
    std::fs::write(&file, input).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(file)
}

/// A short name for bytes (FNV-1a).
fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
