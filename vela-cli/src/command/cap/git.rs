//! A folder of a Git repository → its files, by the git that the user has, with the user's credentials.
//!
//! Nothing is checked out: git lists and prints what the commit holds, so that no link, hook or filter of the repository does anything.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::address::Repository;
use super::file::{File, LARGEST, is_wanted, too_large};
use crate::error::{Error, Result};
use crate::program::{Stopped, run};

/// How long reading a repository may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// Bytes of the list of files.
const LARGEST_LIST: usize = 1024 * 1024;
/// How git may connect; its other ways run commands that an address names.
const PROTOCOLS: &str = "file:https:ssh";
/// The folder of a clone is named after the process and this.
const CLONE: &str = "clone-";

/// The files of the folder. They are copied through a folder below `home`, which is removed again.
pub(super) fn files(repository: &Repository, home: &Path) -> Result<Vec<File>> {
    let clone = Clone::make(home)?;
    let mut words = vec!["clone", "--quiet", "--depth=1", "--single-branch", "--no-tags", "--no-checkout"];
    if let Some(branch) = &repository.branch {
        words.extend(["--branch", branch]);
    }
    let into = clone.path.display().to_string();
    words.extend(["--", &repository.place, &into]);
    git(repository, &words, LARGEST_LIST)?;

    let tree = format!("HEAD:{}", repository.folder);
    let list = git(repository, &["-C", &into, "ls-tree", "-z", "-l", &tree], LARGEST_LIST)?;
    let list = String::from_utf8_lossy(&list).into_owned();
    let mut files = Vec::new();
    for entry in list.split('\0').filter_map(Entry::read) {
        if !is_wanted(entry.name, files.len())? {
            continue;
        }
        let name = format!("{}/{}", tree.trim_start_matches("HEAD:"), entry.name);
        let name = name.trim_start_matches('/').to_owned();
        if entry.size > LARGEST {
            return Err(too_large(&name));
        }
        let bytes = git(repository, &["-C", &into, "cat-file", "blob", entry.hash], LARGEST)?;
        files.push(File { name, bytes });
    }
    Ok(files)
}

fn git(repository: &Repository, words: &[&str], at_most: usize) -> Result<Vec<u8>> {
    let mut command = Command::new("git");
    command
        .args(words)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ALLOW_PROTOCOL", PROTOCOLS)
        .env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
        // A repository that the command happens to be run in has no say.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE");
    let place = &repository.place;
    match run(command, at_most, PATIENCE) {
        Ok(bytes) => Ok(bytes),
        Err(Stopped::NotThere) => {
            let error = Error::config(format!("{place} cannot be read: git is not installed"));
            Err(error.hint("install git, or give a folder of this machine").into())
        }
        Err(Stopped::Failed(why)) => {
            let error = Error::user(format!("git cannot read {place}: {why}"));
            let hint = "check address, branch, folder and your credentials: git asks for none here";
            Err(error.hint(hint).into())
        }
    }
}

/// A line of the list of files.
struct Entry<'a> {
    hash: &'a str,
    size: usize,
    name: &'a str,
}

impl<'a> Entry<'a> {
    /// Links, folders and other repositories are no files.
    fn read(line: &'a str) -> Option<Self> {
        let (about, name) = line.split_once('\t')?;
        let mut words = about.split_whitespace();
        let (mode, _, hash, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
        mode.starts_with("100").then_some(())?;
        Some(Self { hash, size: size.parse().ok()?, name })
    }
}

/// A folder that goes when it is not needed any more.
struct Clone {
    path: PathBuf,
}

impl Clone {
    fn make(home: &Path) -> Result<Self> {
        let path = home.join(format!("{CLONE}{}", std::process::id()));
        std::fs::create_dir_all(home)
            .map_err(|error| Error::config(format!("{} cannot be created: {error}", home.display())))?;
        // A process of the same number may have died before it removed its own.
        let _ = std::fs::remove_dir_all(&path);
        Ok(Self { path })
    }
}

impl Drop for Clone {
    fn drop(&mut self) {
        // What stays takes room and nothing else.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_tree_are_read() {
        let file = Entry::read("100644 blob 0a1b      12\tqueue.yaml").unwrap();
        assert_eq!((file.hash, file.size, file.name), ("0a1b", 12, "queue.yaml"));
        for line in
            ["120000 blob 0a 12\tlink.yaml", "040000 tree 0a -\tfolder", "160000 commit 0a -\tother", ""]
        {
            assert!(Entry::read(line).is_none(), "{line}");
        }
    }
}
