//! The address of a capability centre → the files that may hold definitions, bounded in number and size. It writes nothing.

use std::path::Path;

use serde_json::Value;
use vela_engine::Document;

use super::address::Address;
use super::file::{File, INSTEAD, LARGEST, is_wanted, too_large};
use super::{git, registry};
use crate::args::Recursive;
use crate::download::{self, Wanted};
use crate::error::{Error, Failure, Result};
use crate::input;

/// Bytes of the list of files that a server gives.
const LARGEST_LIST: usize = 4 * 1024 * 1024;

/// The objects in the files of the address, and what is wrong with files that cannot be read.
pub(super) fn documents(
    address: &Address,
    token: Option<&str>,
    home: &Path,
) -> Result<(Vec<Document>, Vec<Failure>)> {
    let files = match address {
        Address::Folder(folder) => {
            let (documents, failures) =
                input::gather_definitions(std::slice::from_ref(folder), Recursive { all: false });
            // A folder without any object is a mistake; one of whose files some cannot be read is none.
            return match Failure::all(failures.clone()).filter(|_| documents.is_empty()) {
                Some(failure) => Err(failure),
                None => Ok((documents, failures)),
            };
        }
        Address::Contents(url) => contents(url, token)?,
        Address::Git(repository) => git::files(repository, home)?,
        Address::Artifact(artifact) => registry::files(artifact)?,
    };
    if files.is_empty() {
        let error = Error::user(format!("there is no .yaml, .yml, .json or .cue file at {}", address.text()));
        return Err(error.hint("name the folder itself: folders inside it are not searched").into());
    }
    let (mut documents, mut failures) = (Vec::new(), Vec::new());
    for file in files {
        match input::of_bytes(&file.name, file.bytes) {
            Ok(more) => documents.extend(more),
            Err(failure) => failures.push(failure),
        }
    }
    Ok((documents, failures))
}

/// The files that a list of GitHub or Gitea names.
fn contents(url: &str, token: Option<&str>) -> Result<Vec<File>> {
    let list = get(url, LARGEST_LIST, token)?;
    let unreadable = |why: &str| {
        let message = format!("{url} lists no files: {why}");
        Failure::from(
            Error::user(message)
                .hint("name a folder: its list is an array of objects with a name and a download_url"),
        )
    };
    let list: Value = serde_json::from_slice(&list).map_err(|error| unreadable(&error.to_string()))?;
    let entries = list.as_array().ok_or_else(|| unreadable("it is no array, as it is of a file"))?;
    let mut files = Vec::new();
    for entry in entries.iter().filter(|entry| entry["type"] == "file") {
        let name = entry["name"].as_str().filter(|name| !name.contains('/'));
        let name = name.ok_or_else(|| unreadable("an entry has no name of a file"))?;
        if !is_wanted(name, files.len())? {
            continue;
        }
        if entry["size"].as_u64().is_some_and(|size| size > LARGEST as u64) {
            return Err(too_large(name));
        }
        let place = entry["download_url"].as_str().filter(|place| download::is_url(place));
        let place = place.ok_or_else(|| unreadable(&format!("{name} has no download_url")))?;
        if url.starts_with("https://") && !place.starts_with("https://") {
            return Err(unreadable(&format!("{name} would be read by http, which others could change")));
        }
        // The token is for the server that was named, whichever servers its list names.
        let token = token.filter(|_| server(place) == server(url));
        files.push(File { name: name.to_owned(), bytes: get(place, LARGEST, token)? });
    }
    Ok(files)
}

fn get(url: &str, at_most: usize, token: Option<&str>) -> Result<Vec<u8>> {
    let authorization = token.map(|token| format!("Bearer {token}"));
    let authorization = authorization.as_deref();
    download::ask(&Wanted { url, at_most, authorization, instead: INSTEAD, ..Wanted::default() })
}

/// Scheme, host and port.
fn server(url: &str) -> Option<String> {
    url.split('/').nth(2).map(str::to_lowercase)
}
