//! The folder of the sandbox: where it is, who holds it, how the holder can be reached.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::screen::Screen;

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
pub(crate) enum Taken {
    /// The store is ours.
    Ours(Lock),
    /// `vela sandbox run` serves it; its kubeconfig is in this file.
    Serving(PathBuf),
}

/// Who holds the lock, as the holder wrote it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holder {
    /// Process id.
    pub(crate) pid: u32,
    /// Does it serve, so that others can work through it?
    pub(crate) serves: bool,
}

impl Home {
    /// `$VELA_HOME`, else `vela` in the data folder of the XDG base directories.
    pub(crate) fn find() -> Result<Self> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let base = set("VELA_HOME")
            .or_else(|| set("XDG_DATA_HOME").filter(|path| path.is_absolute()).map(|data| data.join("vela")))
            .or_else(|| std::env::home_dir().map(|home| home.join(".local/share/vela")))
            .ok_or_else(|| {
                Error::config("there is no folder for the sandbox's data").hint("set VELA_HOME to a folder")
            })?;
        Ok(Self { path: base.join("sandbox") })
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

    /// An error of the folder as the person sees it.
    pub(crate) fn trouble(&self, doing: &str, error: &std::io::Error) -> Error {
        Error::config(format!("the sandbox's folder {} cannot be {doing}: {error}", self.path.display()))
            .hint("free some space or set VELA_HOME to a folder that can be written")
    }

    fn lock_file(&self) -> Result<File> {
        std::fs::create_dir_all(&self.path).map_err(|error| self.trouble("made", &error))?;
        File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.path.join("lock"))
            .map_err(|error| self.trouble("locked", &error).into())
    }

    /// The lock, if nobody holds it; else who does, as far as it can be read.
    pub(crate) fn try_lock(&self) -> Result<std::result::Result<Lock, Option<Holder>>> {
        let mut file = self.lock_file()?;
        match file.try_lock() {
            Ok(()) => {
                let lock = Lock { file };
                lock.sign(false).map_err(|error| self.trouble("written", &error))?;
                Ok(Ok(lock))
            }
            Err(TryLockError::WouldBlock) => Ok(Err(read_holder(&mut file))),
            Err(TryLockError::Error(error)) => Err(self.trouble("locked", &error).into()),
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
            Ok(()) => file.set_len(0).map(|()| None).map_err(|error| self.trouble("written", &error).into()),
            Err(TryLockError::WouldBlock) => Ok(read_holder(&mut file)),
            Err(TryLockError::Error(error)) => Err(self.trouble("locked", &error).into()),
        }
    }

    /// Empties the folder except for the lock file, whose holder the caller is.
    pub(crate) fn clear(&self) -> std::io::Result<()> {
        for entry in std::fs::read_dir(&self.path)? {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name == "lock") {
                continue;
            }
            if path.is_dir() { std::fs::remove_dir_all(&path)? } else { std::fs::remove_file(&path)? }
        }
        Ok(())
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

    /// Waits until the store is ours or somebody serves it.
    pub(crate) async fn take(&self, screen: &mut Screen) -> Result<Taken> {
        let deadline = Instant::now() + LONGEST_WAIT;
        let mut told = false;
        loop {
            let holder = match self.try_lock()? {
                Ok(lock) => return Ok(Taken::Ours(lock)),
                Err(holder) => holder,
            };
            if holder.is_some_and(|holder| holder.serves) {
                return Ok(Taken::Serving(self.kubeconfig()));
            }
            let who = holder.map_or_else(String::new, |holder| format!(" (process {})", holder.pid));
            if Instant::now() > deadline {
                let message = format!("another vela{who} has been working in the sandbox for too long");
                return Err(Error::config(message)
                    .hint("wait for it or stop it; `vela sandbox run` lets many commands work at once")
                    .into());
            }
            if !told {
                screen.say(&format!("Waiting for another vela{who} that works in the sandbox …"));
                told = true;
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

fn read_holder(file: &mut File) -> Option<Holder> {
    /// `4294967295 serves` and a line end fit well.
    const LONGEST: u64 = 64;
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    let (pid, word) = text.trim().split_once(' ')?;
    Some(Holder { pid: pid.parse().ok()?, serves: word == "serves" })
}
