//! A folder of a Git repository → its files, by the git that the user has, with the user's credentials.
//!
//! Nothing is checked out: git lists and prints what the commit holds, so that no link, hook or filter of the repository does anything.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::address::Repository;
use super::file::{File, LARGEST, is_wanted, too_large};
use crate::error::{Error, Failure, Result};
use crate::program::{Stopped, run};

/// How long reading a repository may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// Bytes of the list of files.
const LARGEST_LIST: usize = 1024 * 1024;
/// Bytes of the file that git copies a repository into.
const LARGEST_COPY: usize = 256 * 1024 * 1024;
/// The shell that bounds this file. A program that is not there ends it with 127.
const SHELL: &str = "/bin/sh";
const BOUNDED: &str = "ulimit -f \"$0\" && exec git \"$@\"";
/// Bytes of a unit of `ulimit -f`.
const BLOCK: usize = 512;
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
    copy(repository, &words, LARGEST_COPY)?;

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

/// Copies a repository into a file of at most so many bytes.
fn copy(repository: &Repository, words: &[&str], at_most: usize) -> Result<()> {
    let mut command = Command::new(SHELL);
    command.args(["-c", BOUNDED, &(at_most / BLOCK).to_string()]);
    match said(command, words, LARGEST_LIST) {
        // The program of git that writes the copy is ended; git says no more than that.
        Err(Stopped::Failed(why)) if why.contains("index-pack") => {
            let mib = at_most >> 20;
            let place = &repository.place;
            let error = Error::user(format!(
                "git did not copy {place} to its end: it is larger than {mib} MiB, even without its history, or the connection broke: {why}"
            ));
            Err(error.hint("name a repository of definitions alone, or give a folder of this machine").into())
        }
        Err(Stopped::Failed(why)) if why.starts_with("exit status: 127") => {
            Err(failed(repository, Stopped::NotThere))
        }
        other => other.map(drop).map_err(|stopped| failed(repository, stopped)),
    }
}

fn git(repository: &Repository, words: &[&str], at_most: usize) -> Result<Vec<u8>> {
    said(Command::new("git"), words, at_most).map_err(|stopped| failed(repository, stopped))
}

fn said(mut command: Command, words: &[&str], at_most: usize) -> std::result::Result<Vec<u8>, Stopped> {
    command
        .args(words)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ALLOW_PROTOCOL", PROTOCOLS)
        .env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
        // A repository that the command happens to be run in has no say.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE");
    run(command, at_most, PATIENCE)
}

fn failed(repository: &Repository, stopped: Stopped) -> Failure {
    let place = &repository.place;
    match stopped {
        Stopped::NotThere => {
            let error = Error::config(format!("{place} cannot be read: git is not installed"));
            error.hint("install git, or give a folder of this machine").into()
        }
        Stopped::Failed(why) => {
            let error = Error::user(format!("git cannot read {place}: {why}"));
            error.hint("check address, branch, folder and your credentials: git asks for none here").into()
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
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn a_repository_that_is_too_large_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let repository = Repository { place: path("large.git"), folder: String::new(), branch: None };
        let run = |words: &[&str]| git(&repository, words, 1024).unwrap();
        run(&["init", "-q", &path("large.git")]);
        // Bytes that do not compress.
        let noise: Vec<u8> = (0..40_000_u64).flat_map(|n| Sha256::digest(n.to_le_bytes())).collect();
        std::fs::write(path("large.git/noise"), noise).unwrap();
        run(&["-C", &path("large.git"), "add", "."]);
        run(&[
            "-C",
            &path("large.git"),
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-qm",
            "noise",
        ]);
        let place = format!("file://{}", repository.place);
        let words =
            |into: &str| ["clone", "--quiet", "--no-checkout", "--", &place, &path(into)].map(str::to_owned);
        let copy = |into: &str, at_most: usize| {
            copy(&repository, &words(into).each_ref().map(String::as_str), at_most)
        };
        let message = copy("small", 1024 * 1024).unwrap_err().texts().join("\n");
        assert!(message.contains("is larger than 1 MiB"), "{message}");
        copy("whole", LARGEST_COPY).unwrap();
    }

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
