//! Files with certificate, key and trust anchors → the credentials of the API, read again while the operator runs.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use vela_dapr::{Credentials, Pem};

/// A kubelet takes up to a minute to bring a new Secret anyway.
pub(crate) const EVERY: Duration = Duration::from_secs(10);
/// A chain is a few kilobytes long.
const FILE_AT_MOST: u64 = 1024 * 1024;

/// Where the texts are.
#[derive(Clone, Debug)]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) trust_anchors: PathBuf,
}

/// The files and what was read of them last.
#[derive(Debug)]
pub(crate) struct Reload {
    files: TlsFiles,
    texts: Pem,
    credentials: Credentials,
}

impl TlsFiles {
    fn read(&self) -> Result<Pem, String> {
        let [certificate, key, trust_anchors] =
            [&self.certificate, &self.key, &self.trust_anchors].map(|file| content(file));
        Ok(Pem { certificate: certificate?, key: key?, trust_anchors: trust_anchors? })
    }
}

pub(crate) fn content(file: &Path) -> Result<Vec<u8>, String> {
    let unread = |error: std::io::Error| format!("cannot read {}: {error}", file.display());
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(unread)?;
    opened.take(FILE_AT_MOST + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > FILE_AT_MOST {
        return Err(format!("{} has more than {FILE_AT_MOST} bytes", file.display()));
    }
    Ok(bytes)
}

impl Reload {
    pub(crate) fn begin(files: TlsFiles) -> Result<Self, Box<dyn std::error::Error>> {
        let texts = files.read()?;
        let credentials = Credentials::new(&texts)?;
        Ok(Self { files, texts, credentials })
    }

    pub(crate) fn credentials(&self) -> Credentials {
        self.credentials.clone()
    }

    /// Looks at the files until the process ends. What cannot be used is logged once; what was used before is used further.
    pub(crate) async fn run(mut self) {
        loop {
            tokio::time::sleep(EVERY).await;
            let files = self.files.clone();
            match tokio::task::spawn_blocking(move || files.read()).await {
                Ok(Ok(texts)) if texts != self.texts => {
                    match self.credentials.replace(&texts) {
                        Ok(()) => tracing::info!("the certificate of the API was read again"),
                        Err(error) => tracing::warn!(%error, "the new certificate of the API is not used"),
                    }
                    self.texts = texts;
                }
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::warn!(error, "the certificate of the API cannot be read again"),
                Err(error) => tracing::warn!(%error, "the certificate of the API cannot be read again"),
            }
        }
    }
}
