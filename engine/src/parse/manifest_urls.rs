//! URLs of components of type `ref-objects` → which there are, and what their servers answered as objects; asks no server.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::parser::each_component;
use super::referenced_objects::is_meant;
use super::{Era, Parser};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::manifest::{self, Document};
use crate::observed::ObjectKey;
use crate::reference::{MANIFEST_BYTES_AT_MOST, SELECTED_AT_MOST, URLS_AT_MOST, shown};

/// A component that writes its objects itself.
const INSTEAD: &str = "write the objects in a component of type \"k8s-objects\"";

/// The URLs that an application has read, those in override policies among them, each with the name of a component that names it.
/// Those that must not be asked are left out, and so are more than a limit.
pub fn manifest_urls(application: &Document) -> BTreeMap<String, String> {
    named(application).into_iter().take(URLS_AT_MOST).collect()
}

fn named(application: &Document) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    each_component(application, Era::of(application.value()), |component| {
        if !is_meant(component.get("type").and_then(Json::as_str).unwrap_or_default()) {
            return;
        }
        let name = component.get("name").and_then(Json::as_str).unwrap_or_default();
        let urls = component.pointer("/properties/urls").and_then(Json::as_array);
        for url in urls.into_iter().flatten().filter_map(Json::as_str).filter(|url| wrong(url).is_none()) {
            all.entry(url.to_owned()).or_insert_with(|| name.to_owned());
        }
    });
    all
}

/// The objects in the answer of a server, or what is wrong with the answer.
///
/// # Errors
/// It is no list of manifests, or one of an object that must not come from elsewhere.
pub fn manifests(url: &str, answer: &[u8]) -> Result<Vec<Json>, String> {
    let expected = |found: &str| format!("expected manifests of Kubernetes objects in YAML, found {found}");
    if answer.len() > MANIFEST_BYTES_AT_MOST {
        return Err(format!("the answer is larger than {MANIFEST_BYTES_AT_MOST} bytes"));
    }
    let text = std::str::from_utf8(answer).map_err(|_| expected("bytes that are no text"))?;
    if text.trim_start().starts_with('<') {
        let page = expected("a web page");
        return Err(format!("{page}; give the address of the file itself, which sites of code call \"raw\""));
    }
    let documents = manifest::read(&shown(url), text).map_err(|errors| expected(&first(&errors)))?;
    let documents = documents.as_slice();
    if documents.is_empty() {
        return Err(expected("no document"));
    }
    if documents.len() > SELECTED_AT_MOST {
        return Err(format!("{} objects; the limit is {SELECTED_AT_MOST}", documents.len()));
    }
    let mut seen: BTreeMap<ObjectKey, usize> = BTreeMap::new();
    for (index, document) in documents.iter().enumerate() {
        let number = index + 1;
        let key = ObjectKey::of(document.value());
        if key.api_version.is_empty() || key.kind.is_empty() || key.name.is_empty() {
            let what = format!("document {number} without an apiVersion, a kind or a metadata.name");
            return Err(expected(&what));
        }
        if key.group() == vela_crds::GROUP && key.kind == "Application" {
            // One that loads itself, or always another one, would never end.
            return Err(format!("document {number}: an application does not load applications ({key})"));
        }
        if let Some(first) = seen.insert(key.clone(), number) {
            return Err(format!("documents {first} and {number} are both {key}; leave one of them out"));
        }
    }
    Ok(documents.iter().map(|document| document.value().clone()).collect())
}

/// The first of several errors: the others mostly follow from it.
fn first(errors: &Diagnostics) -> String {
    let first = errors.iter().next();
    let place = |error: &Diagnostic| match &error.manifest {
        Some(place) => format!("{} (line {}, column {})", error.message, place.line, place.column),
        None => error.message.clone(),
    };
    first.map_or_else(|| "no YAML".to_owned(), place)
}

/// Why no server may be asked for this, and what to do. Nothing of the URL is repeated but its public part.
fn wrong(url: &str) -> Option<(String, &'static str)> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Some(("expected a URL, such as \"https://example.com/objects.yaml\"".to_owned(), INSTEAD));
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if !["https", "http"].contains(&scheme) || authority.is_empty() {
        return Some((format!("{}: only URLs of http and https are read", shown(url)), INSTEAD));
    }
    if authority.contains('@') {
        let message = format!("{}: a URL with a user or a password in it is not asked", shown(url));
        return Some((message, "an Application is no place for a password: serve the file without one"));
    }
    None
}

impl Parser<'_> {
    /// The objects of the URLs of a component, and which are not known.
    pub(super) fn of_urls(&mut self, path: &str, component: &str, urls: &[Json]) -> (Vec<Json>, Vec<String>) {
        let (mut objects, mut unknown) = (Vec::new(), Vec::new());
        // All are asked in one reconcile, whichever component names them.
        let number = if urls.is_empty() { 0 } else { named(self.document).len().max(urls.len()) };
        if number > URLS_AT_MOST {
            let message = format!("{number} URLs; the limit of an application is {URLS_AT_MOST}");
            self.error(Code::Limit, path, message, Some(INSTEAD.to_owned()));
            return (objects, unknown);
        }
        for (index, url) in urls.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let Some(url) = url.as_str() else {
                let message = "expected a URL, such as \"https://example.com/objects.yaml\"".to_owned();
                self.error(Code::WrongType, &path, message, None);
                continue;
            };
            if let Some((message, hint)) = wrong(url) {
                self.error(Code::Refused, &path, message, Some(hint.to_owned()));
                continue;
            }
            match self.snapshot.manifests(url) {
                Some(Ok(found)) => objects.extend(found.iter().cloned()),
                Some(Err(why)) => {
                    let message = format!("component {component:?}: {}: {why}", shown(url));
                    let hint = format!("check the address, or {INSTEAD}");
                    self.error(Code::Unavailable, &path, message, Some(hint));
                }
                None => unknown.push(format!("{} was not asked", shown(url))),
            }
        }
        (objects, unknown)
    }

    /// Each object of a component is there once.
    pub(super) fn objects_once(&mut self, path: &str, own: &str, objects: &[Json]) {
        let mut seen = BTreeMap::new();
        for object in objects {
            let mut key = ObjectKey::of(object);
            if key.namespace.is_empty() {
                own.clone_into(&mut key.namespace);
            }
            if seen.insert(key.clone(), ()).is_some() {
                let message = format!("{key} is loaded twice");
                let hint = "leave one of the two references or URLs out".to_owned();
                self.error(Code::DuplicateName, path, message, Some(hint));
            }
        }
    }
}
