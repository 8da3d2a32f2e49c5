//! A certificate source: a folder with `tls.crt` and `tls.key`, waited for at the start and read again when the files
//! change.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::certificate::{CertificateError, ServingCertificate};

/// The usual names of the certificate chain, the server's certificate first, and of its key.
const USUAL: [&str; 2] = ["tls.crt", "tls.key"];
/// The authority that signed it, where the filler of the folder says so.
const AUTHORITY: &str = "ca.crt";
/// Where a volume of a Secret keeps its files: a link that is swapped in one step.
const VOLUME: &str = "..data";
/// A chain is a few kilobytes long.
const FILE_AT_MOST: u64 = 1024 * 1024;
/// Files looked at in the folder; a Secret has a handful.
const FILES_AT_MOST: usize = 1000;

/// A folder, and how patiently it is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// Where.
    pub folder: PathBuf,
    /// Names of the certificate chain and of the key.
    pub files: [&'static str; 2],
    /// How long it may take until the files are there: the process that makes the Secret starts beside us.
    pub wait: Duration,
    /// How often it is looked at until then.
    pub ask_every: Duration,
    /// How often it is looked at afterwards; a kubelet takes up to a minute to bring a new Secret anyway.
    pub reload_every: Duration,
}

impl From<PathBuf> for Directory {
    fn from(folder: PathBuf) -> Self {
        Self {
            folder,
            files: USUAL,
            wait: Duration::from_secs(90),
            ask_every: Duration::from_secs(2),
            reload_every: Duration::from_secs(10),
        }
    }
}

/// The missing part of a folder.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// No certificate came in time.
    #[error("no certificate to serve webhooks with came within {waited:?}: {reason}")]
    InTime {
        /// How long it was waited for.
        waited: Duration,
        /// The parts that were still missing.
        reason: Box<DirectoryError>,
    },
    /// The folder is not there or cannot be listed.
    #[error("cannot list the folder {folder}: {source}; put {} and {} there", .files[0], .files[1], folder = .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The missing part.
        files: [&'static str; 2],
        /// The error of the system.
        source: std::io::Error,
    },
    /// A file is not there or cannot be read.
    #[error("cannot read {file}: {source}", file = .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The folder has no files yet.
    #[error("the folder {folder} is empty; put {} and {} there", .1[0], .1[1], folder = .0.display())]
    Empty(PathBuf, [&'static str; 2]),
    /// A file is still empty.
    #[error("{file} is empty", file = .0.display())]
    EmptyFile(PathBuf),
    /// A file is longer than any certificate.
    #[error("{file} has more than {FILE_AT_MOST} bytes", file = .0.display())]
    TooLong(PathBuf),
    /// The files are there, but no pair.
    #[error("{folder}: {source}", folder = .folder.display())]
    Unusable {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: CertificateError,
    },
}

/// A pair, and the authorities that signed it where the folder says so.
type Contents = (ServingCertificate, Option<Vec<u8>>);

impl Directory {
    /// Wait for a pair: the folder is there, has files, none of them is empty, and certificate and key match.
    pub(super) async fn first(&self) -> Result<Contents, DirectoryError> {
        let end = tokio::time::Instant::now() + self.wait;
        let mut reported = false;
        loop {
            let reason = match self.read().await {
                Ok(contents) => return Ok(contents),
                Err(reason) => reason,
            };
            if tokio::time::Instant::now() + self.ask_every > end {
                return Err(DirectoryError::InTime { waited: self.wait, reason: Box::new(reason) });
            }
            if !reported {
                tracing::info!(%reason, wait = ?self.wait, "waiting for the certificate of the webhook server");
                reported = true;
            }
            tokio::time::sleep(self.ask_every).await;
        }
    }

    /// Look at the folder now.
    pub(super) async fn read(&self) -> Result<Contents, DirectoryError> {
        let (folder, files) = (self.folder.clone(), self.files);
        let reading = tokio::task::spawn_blocking(move || read(&folder, files));
        reading.await.unwrap_or_else(|stopped| {
            Err(DirectoryError::File { file: self.folder.clone(), source: std::io::Error::other(stopped) })
        })
    }
}

fn read(folder: &Path, files: [&'static str; 2]) -> Result<Contents, DirectoryError> {
    complete(folder, files)?;
    // Both files of one generation: the link may be swapped while we read.
    let inside = std::fs::canonicalize(folder.join(VOLUME)).unwrap_or_else(|_| folder.to_owned());
    let [certificate, key] = files;
    let certificate = content(&inside.join(certificate))?;
    let key = content(&inside.join(key))?;
    let pair = ServingCertificate::read(&certificate, &key)
        .map_err(|source| DirectoryError::Unusable { folder: folder.to_owned(), source })?;
    Ok((pair, content(&inside.join(AUTHORITY)).ok()))
}

/// The folder has files and none of them is empty, so its filler has finished.
fn complete(folder: &Path, wanted: [&'static str; 2]) -> Result<(), DirectoryError> {
    let unlisted = |source| DirectoryError::Folder { folder: folder.to_owned(), files: wanted, source };
    let mut files = 0;
    for entry in std::fs::read_dir(folder).map_err(unlisted)?.take(FILES_AT_MOST) {
        let file = entry.map_err(unlisted)?.path();
        let about = match std::fs::metadata(&file) {
            Ok(about) => about,
            // Swapped away in between.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(source) => return Err(DirectoryError::File { file, source }),
        };
        if about.is_dir() {
            continue;
        }
        files += 1;
        if about.len() == 0 {
            return Err(DirectoryError::EmptyFile(file));
        }
    }
    if files == 0 { Err(DirectoryError::Empty(folder.to_owned(), wanted)) } else { Ok(()) }
}

fn content(file: &Path) -> Result<Vec<u8>, DirectoryError> {
    let unread = |source| DirectoryError::File { file: file.to_owned(), source };
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(unread)?;
    opened.take(FILE_AT_MOST + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > FILE_AT_MOST {
        return Err(DirectoryError::TooLong(file.to_owned()));
    }
    Ok(bytes)
}
