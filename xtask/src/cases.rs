//! Packs the recorded cases of the peers into the archives of `testkit/cases`, or checks that they are current.

use std::path::{Path, PathBuf};

use vela_testkit::{cases, tar_gz};

use crate::command;

/// Where recordings are made.
const BESIDE: &str = "../shared";
/// Tools that lie beside the cases and are none.
const LEFT_OUT: [&str; 1] = ["score.py"];
/// Folders are nested no deeper than this.
const MAX_DEPTH: usize = 32;

/// The action on the archives.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only compare
    #[arg(long)]
    check: bool,
    /// Where the cases were recorded [default: ../shared]
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

/// Packs every folder that has an archive; with `--check` compares what is packed instead. Recordings that came later are named.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let check = options.check;
    let from = options.from.clone().unwrap_or_else(|| command::root().join(BESIDE));
    // Recordings are made beside the repository, where they are made at all.
    if check && options.from.is_none() && !from.join("conformance").is_dir() {
        println!("skipped: {BESIDE} is not there; recordings are compared where they are made");
        return Ok(());
    }
    let (mut stale, mut bytes, mut count) = (Vec::new(), 0, 0);
    for name in cases::ARCHIVES {
        let files = recorded(&from.join(name))?;
        count += files.len();
        if check {
            let packed = cases::contents(name)?;
            let new = files.keys().filter(|file| !packed.contains_key(*file)).count();
            if new > 0 {
                println!(
                    "cases: {new} recorded files of {name} are not packed: run `cargo xtask cases` for them"
                );
            }
            if packed.iter().any(|(file, text)| files.get(file) != Some(text)) {
                stale.push(name);
            }
            continue;
        }
        let (path, archive) = (cases::archive(name), tar_gz::pack(&files)?);
        bytes += archive.len();
        let folder = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        std::fs::write(&path, archive).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    match (check, stale.is_empty()) {
        (true, true) => println!("cases: {count} files, as recorded"),
        (true, false) => {
            return Err(format!(
                "{} differ from {}: run `cargo xtask cases`",
                stale.join(", "),
                from.display()
            ));
        }
        (false, _) => println!("cases: {count} files in {} archives of {bytes} bytes", cases::ARCHIVES.len()),
    }
    Ok(())
}

/// Every file below a folder of recordings.
fn recorded(folder: &Path) -> Result<tar_gz::Files, String> {
    let mut files = tar_gz::Files::new();
    collect(folder, folder, 0, &mut files)?;
    if files.is_empty() { Err(format!("{} holds no file", folder.display())) } else { Ok(files) }
}

fn collect(root: &Path, folder: &Path, depth: usize, files: &mut tar_gz::Files) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        if path.is_dir() {
            if depth == MAX_DEPTH {
                return Err(format!("{} is nested deeper than {MAX_DEPTH} folders", path.display()));
            }
            collect(root, &path, depth + 1, files)?;
        } else if path.file_name().is_some_and(|name| LEFT_OUT.iter().all(|left_out| name != *left_out)) {
            let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            files.insert(name, bytes);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_that_are_not_there_are_an_error() {
        let absent = Options { check: true, from: Some(PathBuf::from("/nowhere")) };
        assert!(run(&absent).unwrap_err().contains("/nowhere/conformance/applications"));
    }
}
