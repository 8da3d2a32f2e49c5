//! A path → a file that only its owner can read or write, whatever was there before.
//!
//! A store holds Secrets. The store refuses a file that another user prepared, or a link to elsewhere; it first closes
//! a file of ours that others could read.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The owner reads and writes.
const OWNER: u32 = 0o600;
/// Anybody else.
const OTHERS: u32 = 0o077;

/// Opens the file for reading and writing, and makes it when it is not there. Its content stays.
///
/// # Errors
/// Those of the file system; a symbolic link, something that is no file, and a file of another user are refused.
pub fn open(path: &Path) -> Result<File, Error> {
    let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(OWNER)
        .custom_flags(no_follow)
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => {
                refused("is a symbolic link, which is not followed")
            }
            _ => error,
        })?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(refused("is no file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused("belongs to another user"));
    }
    if found.mode() & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(OWNER))?;
    }
    Ok(file)
}

fn refused(why: &str) -> Error {
    Error::new(ErrorKind::PermissionDenied, format!("the file {why}"))
}
