//! The address of a capability centre, as typed → where its files lie. It asks no server, and refuses what no reader takes.

use std::path::PathBuf;

use super::artifact::Artifact;
use super::file::is_part;
use crate::download::is_url;
use crate::error::{Error, Result};

/// The pages of repositories, which are read by the API below.
const PAGES: &str = "https://github.com/";
/// The API that lists the files of these pages.
const API: &str = "https://api.github.com/repos";
/// What every address is written like.
const FORMS: &str = "write a folder of this machine, https://github.com/OWNER/REPOSITORY/FOLDER, \
    https://HOST/…/repos/OWNER/REPOSITORY/contents/FOLDER, REPOSITORY.git//FOLDER#BRANCH, or oci://HOST/REPOSITORY:TAG//FOLDER";
/// Ends the address of a Git repository.
const GIT: &str = ".git";
/// Begins the address of an artefact.
const OCI: &str = "oci://";
/// How the address of a repository may begin that git reads from another machine.
const GIT_BEGINNINGS: [&str; 4] = ["https://", "ssh://", "git@", "file://"];

/// Where the files of a centre lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A URL that lists the files of a folder, as GitHub and Gitea do.
    Contents(String),
    /// A folder of a repository.
    Git(Repository),
    /// A folder of an artefact.
    Artifact(Artifact),
}

/// What git is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    pub(super) place: String,
    /// Empty for the whole repository.
    pub(super) folder: String,
    /// A branch or a tag, where not that of the repository.
    pub(super) branch: Option<String>,
}

impl Address {
    /// Reads an address. That of a folder is made whole, so that it is found from anywhere.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if text.is_empty() || text.chars().any(|c| c.is_control() || c.is_whitespace() && is_url(text)) {
            return Err(wrong(text, "it is empty or has spaces or control characters"));
        }
        if let Some(rest) = text.strip_prefix(OCI) {
            return Artifact::parse(rest).map(Self::Artifact).map_err(|why| wrong(text, why));
        }
        if let Some(repository) = git(text)? {
            return Ok(Self::Git(repository));
        }
        if let Some(rest) = text.strip_prefix(PAGES) {
            return page(text, rest).map(Self::Contents);
        }
        if is_url(text) {
            return contents(text).map(Self::Contents);
        }
        match std::fs::canonicalize(text) {
            Ok(folder) if folder.is_dir() => Ok(Self::Folder(folder)),
            Ok(_) => Err(wrong(text, "it is no folder")),
            Err(error) => Err(wrong(text, &format!("as a folder it cannot be read: {error}"))),
        }
    }

    /// The address as it is stored: it means the same from every folder.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Folder(path) => path.display().to_string(),
            Self::Contents(url) => url.clone(),
            Self::Artifact(artifact) => format!("{OCI}{artifact}"),
            Self::Git(Repository { place, folder, branch }) => {
                let folder = if folder.is_empty() { String::new() } else { format!("//{folder}") };
                let branch = branch.as_ref().map_or_else(String::new, |branch| format!("#{branch}"));
                format!("{place}{folder}{branch}")
            }
        }
    }

    /// Is a token kept from all but the server that it is for?
    pub(super) fn takes_token(&self) -> Result<()> {
        let error = match self {
            Self::Contents(url) if url.starts_with("https://") => return Ok(()),
            Self::Contents(url) => {
                let is_here = ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"];
                if is_here.iter().any(|here| url.starts_with(here)) {
                    return Ok(());
                }
                Error::user("a token goes to addresses by https:// only: others on the way could read it")
            }
            Self::Folder(_) => Error::user("a folder of this machine takes no token"),
            Self::Artifact(_) => Error::user("a registry takes no token from vela").hint(
                "log in with `docker login`, `podman login` or `oras login`, whose credentials vela reads",
            ),
            Self::Git(_) => Error::user("git takes no token from vela")
                .hint("store it with the credential helper of git, or use a key of SSH"),
        };
        Err(error.into())
    }
}

fn wrong(text: &str, why: &str) -> crate::error::Failure {
    Error::user(format!("{text:?} is no address of a capability centre: {why}")).hint(FORMS).into()
}

/// A repository that git reads, where the address is one.
fn git(text: &str) -> Result<Option<Repository>> {
    let (before, branch) = text.split_once('#').map_or((text, None), |(a, b)| (a, Some(b)));
    let (place, folder) = match before.split_once(".git//") {
        Some((place, folder)) => (format!("{place}{GIT}"), folder.trim_matches('/')),
        None if before.ends_with(GIT) => (before.to_owned(), ""),
        None => return Ok(None),
    };
    let place = match GIT_BEGINNINGS.iter().any(|beginning| place.starts_with(beginning)) {
        true => place,
        false if place.contains("://") => {
            return Err(wrong(text, "git reads https://, ssh:// and file:// here"));
        }
        false => {
            let path = std::fs::canonicalize(&place).map_err(|error| wrong(text, &error.to_string()))?;
            path.to_str().map(str::to_owned).ok_or_else(|| wrong(text, "its path is not UTF-8"))?
        }
    };
    if has_credentials(&place) {
        return Err(wrong(
            text,
            "it holds a user or a password, which would be stored; use git's credential helper",
        ));
    }
    if !folder.split('/').all(|part| folder.is_empty() || is_part(part)) {
        return Err(wrong(text, "its folder leads out of the repository"));
    }
    if branch.is_some_and(|branch| !branch.split('/').all(is_part)) {
        return Err(wrong(text, "what follows # is no branch or tag"));
    }
    Ok(Some(Repository { place, folder: folder.to_owned(), branch: branch.map(str::to_owned) }))
}

/// A page of a folder, as people copy it from their browser → the URL that lists its files.
fn page(text: &str, rest: &str) -> Result<String> {
    let mut parts = rest.trim_matches('/').split('/');
    let (Some(owner), Some(repository)) = (parts.next(), parts.next()) else {
        return Err(wrong(text, "it names no repository"));
    };
    let mut folder: Vec<&str> = parts.collect();
    let mut branch = String::new();
    if folder.first() == Some(&"tree") && folder.len() > 1 {
        branch = format!("?ref={}", folder[1]);
        folder.drain(..2);
    }
    if folder.first() == Some(&"blob") {
        return Err(wrong(text, "it is a file, not a folder"));
    }
    let slash = if folder.is_empty() { "" } else { "/" };
    contents(&format!("{API}/{owner}/{repository}/contents{slash}{}{branch}", folder.join("/")))
        .map_err(|_| wrong(text, "a part of it is no name"))
}

/// A URL that lists the files of a folder.
fn contents(text: &str) -> Result<String> {
    let (path, query) = text.split_once('?').map_or((text, None), |(path, query)| (path, Some(query)));
    if has_credentials(path) || text.contains('#') {
        return Err(wrong(text, "it holds a user, a password or a #"));
    }
    let places: Vec<&str> = path.split('/').collect();
    let at = places.windows(4).position(|four| four[0] == "repos" && four[3] == "contents");
    let Some(at) = at.filter(|at| *at >= 3) else {
        return Err(wrong(text, "vela knows the pages of github.com and the lists of files at …/contents/…"));
    };
    let is_named = |query: &str| query.strip_prefix("ref=").is_some_and(|name| name.split('/').all(is_part));
    if query.is_some_and(|query| !is_named(query)) {
        return Err(wrong(text, "only ?ref=BRANCH may follow its path"));
    }
    let folder = path.trim_end_matches('/');
    if !places[at..].iter().filter(|part| !part.is_empty()).all(|part| is_part(part)) {
        return Err(wrong(text, "a part of it is no name"));
    }
    Ok(query.map_or_else(|| folder.to_owned(), |query| format!("{folder}?{query}")))
}

/// A user or a password before the host.
fn has_credentials(url: &str) -> bool {
    let rest = url.strip_prefix("ssh://git@").or_else(|| url.split_once("://").map(|(_, rest)| rest));
    rest.is_some_and(|rest| rest.split('/').next().unwrap_or_default().contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_repositories_become_lists_of_files() {
        let list = |text: &str| Address::parse(text).map(|address| address.text()).unwrap();
        let of = |rest: &str| format!("https://api.github.com/repos/oam-dev/catalog/contents{rest}");
        assert_eq!(list("https://github.com/oam-dev/catalog/registry"), of("/registry"));
        assert_eq!(list("https://github.com/oam-dev/catalog/"), of(""));
        assert_eq!(list("https://github.com/oam-dev/catalog/tree/v1/a/b"), of("/a/b?ref=v1"));
        assert_eq!(list(&of("/registry?ref=a/b")), of("/registry?ref=a/b"));
        let gitea = "https://git.example.org/api/v1/repos/a/b/contents/c";
        assert_eq!(list(gitea), gitea);
    }

    #[test]
    fn repositories_have_a_folder_and_a_branch() {
        let git = |text: &str| match Address::parse(text).unwrap() {
            Address::Git(repository) => (repository.place, repository.folder, repository.branch),
            other => (format!("{other:?}"), String::new(), None),
        };
        let found = git("git@example.org:a/b.git//types/all#v1");
        assert_eq!(found, ("git@example.org:a/b.git".into(), "types/all".into(), Some("v1".into())));
        let found = git("https://github.com/a/b.git");
        assert_eq!(found, ("https://github.com/a/b.git".into(), String::new(), None));
        for text in ["git@example.org:a/b.git//types#v1", "ssh://git@example.org/a.git"] {
            assert_eq!(Address::parse(text).unwrap().text(), text);
        }
    }

    #[test]
    fn addresses_that_lead_elsewhere_are_refused() {
        for text in [
            "",
            " ",
            "https://gitlab.com/a/b",
            "https://github.com/a",
            "https://github.com/a/b/blob/main/x",
            "https://github.com/a/b/../c",
            "https://github.com/a/b/tree/main/%2E%2E/c",
            "ftp://a/b.git",
            "https://user:secret@example.org/b.git",
            "https://x/repos/a/b/contents/c?token=secret",
            "https://u@x/repos/a/b/contents",
            "https://example.org/a.git//../b",
            "https://example.org/a.git#--x",
            "--upload-pack=x.git",
            "ext::sh -c x.git",
            "nowhere",
            "https://x/repos/a/b/contents/c#d",
            "oci://example.org",
            "oci://user:secret@example.org/a",
            "oci://example.org/A:v1",
            "oci://example.org/a:v1//../b",
            "oci://example.org/a@md5:00",
            "/dev/null",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_token_goes_to_no_other_reader() {
        let takes = |text: &str| Address::parse(text).unwrap().takes_token().is_ok();
        assert!(takes("https://github.com/a/b") && takes("http://127.0.0.1:8080/repos/a/b/contents"));
        assert!(!takes("http://example.org/repos/a/b/contents") && !takes("git@a:b.git") && !takes("/"));
    }
}
