//! The folder of the sandbox: where it is, who holds it, how the holder can be reached.

use std::fs::{DirBuilder, File, Permissions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use vela_apiserver::store::private;

use crate::error::{Error, Result};
use crate::screen::Screen;

/// The owner reads, writes and enters the folder.
const OWNER: u32 = 0o700;
/// Anybody else.
const OTHERS: u32 = 0o077;
/// Damaged stores are kept under names that end in a number, up to this many.
const QUARANTINED_AT_MOST: u32 = 9;
const QUARANTINED: &str = "store.damaged-";

/// How long a command waits for another that works in the sandbox.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// How often it looks whether the other is done: file locks cannot be waited for with a deadline.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The folder.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    path: PathBuf,
}

/// The right to open the store; given back when dropped (or when the process dies: the lock is the kernel's).
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

/// What trying for the lock brought.
#[derive(Debug)]
pub(crate) enum LockAttempt {
    /// The store is ours.
    Ours(Lock),
    /// `vela sandbox run` serves it; its kubeconfig is in this file.
    Serving(PathBuf),
}

/// Who holds the lock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holder {
    /// The process that the lock names, when it is seen to have the lock open: anybody may have written a number, and
    /// the process of that number may be another user's by now.
    pub(crate) pid: Option<u32>,
    /// Does it serve, so that others can work through it?
    pub(crate) serves: bool,
}

impl Holder {
    /// ` (process 12)`, or nothing.
    fn process(self) -> String {
        self.pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
    }
}

/// The folder of this program: `$VELA_HOME`, else `vela` in the data folder of the XDG base directories.
pub(crate) fn base() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("VELA_HOME")
        .or_else(|| set("XDG_DATA_HOME").filter(|path| path.is_absolute()).map(|data| data.join("vela")))
        .or_else(|| std::env::home_dir().map(|home| home.join(".local/share/vela")))
        .ok_or_else(|| {
            Error::config("there is no folder for the data of vela").hint("set VELA_HOME to a folder").into()
        })
}

impl Home {
    /// Below the folder of this program.
    pub(crate) fn find() -> Result<Self> {
        Ok(Self { path: base()?.join("sandbox") })
    }

    /// The folder itself.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the API server keeps its objects.
    pub(crate) fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    /// Where the serving sandbox leaves its kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.path.join("kubeconfig")
    }

    /// What is remembered of the store: what was installed into it, and how far it came.
    pub(crate) fn record(&self) -> PathBuf {
        self.path.join("installed")
    }

    /// An error of the folder as the person sees it, with the advice that fits it.
    pub(crate) fn io_error(&self, doing: &str, error: &std::io::Error) -> Error {
        Error::config(format!("the sandbox's folder {} cannot be {doing}: {error}", self.path.display()))
            .hint(advice(error.kind()))
    }

    /// Makes the folder, for its owner only: Secrets lie in it.
    fn prepare(&self) -> Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(OWNER)
            .create(&self.path)
            .map_err(|error| self.io_error("made", &error))?;
        let found = std::fs::symlink_metadata(&self.path).map_err(|error| self.io_error("read", &error))?;
        let refused = |why: &str| {
            Error::config(format!("the sandbox's folder {} {why}", self.path.display()))
                .hint("set VELA_HOME to a folder of your own")
        };
        if found.is_symlink() {
            return Err(refused("is a symbolic link, which is not followed").into());
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(refused("belongs to another user").into());
        }
        if found.mode() & OTHERS != 0 {
            self.close_to_others().map_err(|error| self.io_error("closed to others", &error))?;
        }
        Ok(())
    }

    /// Corrects the modes of a folder that others could enter, as earlier builds left it.
    fn close_to_others(&self) -> std::io::Result<()> {
        std::fs::set_permissions(&self.path, Permissions::from_mode(OWNER))?;
        for entry in std::fs::read_dir(&self.path)? {
            let path = entry?.path();
            let found = std::fs::symlink_metadata(&path)?;
            if found.is_file() && found.mode() & OTHERS != 0 {
                std::fs::set_permissions(&path, Permissions::from_mode(found.mode() & !OTHERS))?;
            }
        }
        Ok(())
    }

    fn lock_file(&self) -> Result<File> {
        self.prepare()?;
        private::open(&self.path.join("lock")).map_err(|error| self.io_error("locked", &error).into())
    }

    /// The lock, if it is free; else its holder, as far as it can be read.
    pub(crate) fn try_lock(&self) -> Result<std::result::Result<Lock, Holder>> {
        let mut file = self.lock_file()?;
        match file.try_lock() {
            Ok(()) => {
                let lock = Lock { file };
                lock.sign(false).map_err(|error| self.io_error("written", &error))?;
                Ok(Ok(lock))
            }
            Err(TryLockError::WouldBlock) => Ok(Err(read_holder(&mut file))),
            Err(TryLockError::Error(error)) => Err(self.io_error("locked", &error).into()),
        }
    }

    /// Who holds the lock now, if anybody.
    pub(crate) fn holder(&self) -> Result<Option<Holder>> {
        if !self.path.exists() {
            return Ok(None);
        }
        let mut file = self.lock_file()?;
        match file.try_lock() {
            // What a killed holder has left is not true any more.
            Ok(()) => file.set_len(0).map(|()| None).map_err(|error| self.io_error("written", &error).into()),
            Err(TryLockError::WouldBlock) => Ok(Some(read_holder(&mut file))),
            Err(TryLockError::Error(error)) => Err(self.io_error("locked", &error).into()),
        }
    }

    /// Writes a file of the folder that only its owner may read.
    pub(crate) fn write_private(&self, path: &Path, text: &str) -> Result<()> {
        // Readers find the former file or the new one, never half of it: a process may be killed in the middle.
        let new = path.with_extension("new");
        let write = || {
            let mut file = private::open(&new)?;
            file.set_len(0)?;
            file.write_all(text.as_bytes())?;
            std::fs::rename(&new, path)
        };
        write().map_err(|error| self.io_error("written", &error).into())
    }

    /// Puts a damaged store aside, where it stays until a user removes it. Gives its new place; nothing where it
    /// stays in its old one, because there is no name left or the disk refuses.
    pub(crate) fn quarantine(&self) -> Option<PathBuf> {
        let free = (1..=QUARANTINED_AT_MOST)
            .map(|n| self.path.join(format!("{QUARANTINED}{n}")))
            .find(|path| !path.exists())?;
        std::fs::rename(self.store(), &free).ok().map(|()| free)
    }

    /// Empties the folder except for the lock file, whose holder the caller is, and damaged stores put aside, which
    /// a user may still want to look into; gives these.
    pub(crate) fn clear(&self) -> std::io::Result<Vec<PathBuf>> {
        let mut kept = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name == "lock") {
                continue;
            }
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(QUARANTINED)) {
                kept.push(path);
                continue;
            }
            let folder = std::fs::symlink_metadata(&path)?.is_dir();
            if folder { std::fs::remove_dir_all(&path)? } else { std::fs::remove_file(&path)? }
        }
        kept.sort();
        Ok(kept)
    }

    /// How much the objects take on the disk; what cannot be read counts as nothing.
    pub(crate) fn stored_bytes(&self) -> u64 {
        let store = self.store();
        let files = std::fs::read_dir(&store).into_iter().flatten().flatten();
        let inside: u64 = files
            .filter_map(|file| file.metadata().ok())
            .filter(|data| data.is_file())
            .map(|data| data.len())
            .sum();
        inside + std::fs::metadata(&store).ok().filter(|data| data.is_file()).map_or(0, |data| data.len())
    }

    /// Waits until the store is ours or another process serves it.
    pub(crate) async fn take(&self, screen: &mut Screen) -> Result<LockAttempt> {
        let deadline = Instant::now() + LONGEST_WAIT;
        let mut reported = false;
        loop {
            let holder = match self.try_lock()? {
                Ok(lock) => return Ok(LockAttempt::Ours(lock)),
                Err(holder) => holder,
            };
            if holder.serves {
                return Ok(LockAttempt::Serving(self.kubeconfig()));
            }
            let who = holder.process();
            if Instant::now() > deadline {
                let message = format!("another vela{who} has been working in the sandbox for too long");
                return Err(Error::config(message)
                    .hint("wait for it or stop it; `vela sandbox run` lets many commands work at once")
                    .into());
            }
            if !reported {
                screen.say(&format!("Waiting for another vela{who} that works in the sandbox …"));
                reported = true;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The next reader must not find a holder that is gone; a kernel that refuses this still frees the lock.
        let _ = self.file.set_len(0);
    }
}

impl Lock {
    /// Writes into the lock file who holds it and whether it serves.
    pub(crate) fn sign(&self, serves: bool) -> std::io::Result<()> {
        let word = if serves { "serves" } else { "works" };
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{} {word}", std::process::id())?;
        file.flush()
    }
}

/// What the lock says; a text that is none of ours says nothing.
fn read_holder(file: &mut File) -> Holder {
    let (pid, serves) = read_signature(file).unwrap_or((0, false));
    Holder { pid: (pid != 0 && has_open(pid, file)).then_some(pid), serves }
}

fn read_signature(file: &mut File) -> Option<(u32, bool)> {
    /// `4294967295 serves` and a line end fit well.
    const LONGEST: u64 = 64;
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    let (pid, word) = text.trim().split_once(' ')?;
    Some((pid.parse().ok()?, word == "serves"))
}

/// Whether that process is seen to have this very file open. Systems without `/proc` show no files of others: there
/// the number is believed, because only its owner can write into the folder.
fn has_open(pid: u32, file: &File) -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let Ok(wanted) = file.metadata() else { return false };
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| std::fs::metadata(entry.path()).ok())
        .any(|found| (found.dev(), found.ino()) == (wanted.dev(), wanted.ino()))
}

/// What a person can do about an error of the file system.
pub(crate) fn advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "free some space on that disk, or set VELA_HOME to a folder on another one"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::NotADirectory => {
            "set VELA_HOME to a folder of your own that can be written"
        }
        _ => "look after that disk, or set VELA_HOME to a folder on another one",
    }
}
