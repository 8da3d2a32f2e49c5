//! The name of an OCI artefact, as typed: where its registry is, and which artefact of the repository is meant.

use std::fmt;

use super::file::is_part;

/// The registry that `docker.io` means.
const DOCKER: (&str, &str) = ("docker.io", "registry-1.docker.io");
/// The tag where none is written.
const LATEST: &str = "latest";
/// Characters of a tag.
const LONGEST_TAG: usize = 128;
/// Characters of the name of a repository.
const LONGEST_NAME: usize = 255;

/// What a registry is asked for: `HOST/REPOSITORY:TAG//FOLDER`, or `…@sha256:DIGEST//FOLDER`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Artifact {
    /// Name or address of the registry, with its port where one is written.
    pub(super) host: String,
    pub(super) repository: String,
    /// A tag or a digest.
    pub(super) reference: String,
    /// Empty for what lies in none.
    pub(super) folder: String,
}

impl Artifact {
    /// Reads what follows `oci://`; an error says what is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let (name, folder) = text.split_once("//").unwrap_or((text, ""));
        let (host, path) = name.split_once('/').ok_or("it names no repository of the registry")?;
        if host.contains('@') {
            return Err("it holds a user or a password, which would be stored; log in with `docker login`");
        }
        let is_host = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
        if host.is_empty() || !host.chars().all(is_host) || host.parse::<http::uri::Authority>().is_err() {
            return Err("its registry is no host");
        }
        let (repository, reference) = match (path.split_once('@'), path.split_once(':')) {
            (Some((before, digest)), _) => {
                // A tag beside a digest says nothing more.
                let repository = before.split_once(':').map_or(before, |(repository, _)| repository);
                (repository, is_digest(digest).then_some(digest).ok_or("its digest is no sha256:…")?)
            }
            (None, Some((repository, tag))) => {
                (repository, is_tag(tag).then_some(tag).ok_or("its tag is none")?)
            }
            (None, None) => (path, LATEST),
        };
        if repository.len() > LONGEST_NAME || !repository.split('/').all(is_component) {
            return Err("its repository has lower-case letters, digits and . _ - between slashes");
        }
        let folder = folder.trim_matches('/');
        if !folder.split('/').all(|part| folder.is_empty() || is_part(part)) {
            return Err("its folder leads out of the artefact");
        }
        let repository = match host == DOCKER.0 && !repository.contains('/') {
            true => format!("library/{repository}"),
            false => repository.to_owned(),
        };
        let [host, reference, folder] = [host, reference, folder].map(str::to_owned);
        Ok(Self { host, repository, reference, folder })
    }

    /// The URL of a manifest or a blob. A registry on this machine is asked without TLS.
    pub(super) fn url(&self, what: &str, reference: &str) -> String {
        let host = if self.host == DOCKER.0 { DOCKER.1 } else { self.host.as_str() };
        let scheme = if self.is_here() { "http" } else { "https" };
        format!("{scheme}://{host}/v2/{}/{what}/{reference}", self.repository)
    }

    /// Is its registry on this machine?
    pub(super) fn is_here(&self) -> bool {
        ["127.0.0.1", "localhost", "[::1]"].iter().any(|here| {
            let rest = self.host.strip_prefix(here);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        })
    }
}

impl fmt::Display for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if is_digest(&self.reference) { '@' } else { ':' };
        write!(f, "{}/{}{sign}{}", self.host, self.repository, self.reference)?;
        match self.folder.is_empty() {
            true => Ok(()),
            false => write!(f, "//{}", self.folder),
        }
    }
}

/// The only algorithm that all registries have.
pub(super) fn is_digest(text: &str) -> bool {
    let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    text.strip_prefix("sha256:").is_some_and(|sum| sum.len() == 64 && sum.chars().all(hexadecimal))
}

fn is_tag(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=LONGEST_TAG).contains(&text.len()) && text.chars().all(is_plain) && !text.starts_with(['.', '-'])
}

/// A name between two slashes of a repository.
fn is_component(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(is_plain)
        && text.ends_with(is_plain)
        && text.chars().all(|c| is_plain(c) || "._-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_registry_a_repository_and_a_tag() {
        let read = |text: &str| Artifact::parse(text).unwrap().to_string();
        assert_eq!(read("ghcr.io/acme/types"), "ghcr.io/acme/types:latest");
        assert_eq!(read("127.0.0.1:5000/types:v1//a/b/"), "127.0.0.1:5000/types:v1//a/b");
        let digest = format!("sha256:{}", "0a".repeat(32));
        assert_eq!(read(&format!("ghcr.io/a:v1@{digest}")), format!("ghcr.io/a@{digest}"));
        assert_eq!(read("docker.io/types"), "docker.io/library/types:latest");
        let url = |text: &str| Artifact::parse(text).unwrap().url("manifests", "v1");
        assert_eq!(url("docker.io/a/b"), "https://registry-1.docker.io/v2/a/b/manifests/v1");
        assert_eq!(url("[::1]:5000/a"), "http://[::1]:5000/v2/a/manifests/v1");
        assert_eq!(url("localhost.example.org/a"), "https://localhost.example.org/v2/a/manifests/v1");
    }
}
