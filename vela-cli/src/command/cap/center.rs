//! `vela cap center`: reads, lists and forgets capability centres. The cluster is not asked.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use vela_engine::{DefinitionKind, Document, names};
use vela_runtime::clock;

use super::address::Address;
use super::fetch;
use super::store::{self, Center};
use crate::args::{Center as Words, ListFormat};
use crate::command::def;
use crate::error::{Error, Failure, Result};
use crate::listing::print_plain;
use crate::pointer::text;
use crate::screen::Screen;
use crate::table::Table;

pub(super) fn run(args: &Words, screen: &mut Screen) -> Result<()> {
    match args {
        Words::Config { name, address, token } => config(name, address, token.as_deref(), screen),
        Words::Ls { output } => list(*output, screen),
        Words::Sync { name } => sync(name.as_deref(), screen),
        Words::Remove { name } => forget(name, screen),
    }
}

/// Remembers a centre no longer.
pub(in crate::command) fn forget(name: &str, screen: &mut Screen) -> Result<()> {
    let all = store::all()?;
    store::find(&all, name)?.remove()?;
    screen.say(&format!("The capability centre {name} is forgotten. What is installed of it stays."));
    Ok(())
}

/// What cannot be read is not remembered: a mistake in the address would be met by each command to come.
pub(in crate::command) fn config(
    name: &str,
    address: &str,
    token: Option<&str>,
    screen: &mut Screen,
) -> Result<()> {
    let address = Address::parse(address)?;
    if token.is_some() {
        address.takes_token()?;
    }
    read(name, &address, token, screen)?.write()
}

/// Reads the definitions of a centre anew, or of all.
pub(in crate::command) fn sync(name: Option<&str>, screen: &mut Screen) -> Result<()> {
    let all = store::all()?;
    let chosen: Vec<&Center> = match name {
        Some(name) => vec![store::find(&all, name)?],
        None => all.iter().collect(),
    };
    if chosen.is_empty() {
        return Err(store::none_configured().into());
    }
    let mut failures = Vec::new();
    for center in chosen {
        let read = Address::parse(&center.address)
            .and_then(|address| read(&center.name, &address, center.token.as_deref(), screen))
            .and_then(|center| center.write());
        failures.extend(read.err().map(|failure| failure.at(format!("centre {}", center.name))));
    }
    Failure::all(failures).map_or(Ok(()), Err)
}

/// Reads the definitions of a centre, and says which of its objects are none that can be installed.
fn read(name: &str, address: &Address, token: Option<&str>, screen: &mut Screen) -> Result<Center> {
    let (documents, mut failures) = fetch::documents(address, token, &store::home()?)?;
    let total = documents.len() + failures.len();
    let definitions = valid(documents, &mut failures)?;
    for failure in &failures {
        failure.texts().iter().for_each(|text| screen.say(text));
    }
    if definitions.is_empty() {
        let error = Error::user(format!("{} has no definition that can be installed", address.text()));
        return Err(error
            .hint("give a folder of ComponentDefinitions, TraitDefinitions and their like")
            .into());
    }
    let left = match failures.len() {
        0 => String::new(),
        left => format!("; {left} are left out, as told above"),
    };
    screen.say(&format!("{} of {total} definitions of {name} are read{left}.", definitions.len()));
    let synced = clock::now().to_string();
    let token = token.map(str::to_owned);
    Ok(Center { name: name.to_owned(), address: address.text(), token, synced, definitions })
}

/// The definitions that `vela def vet` finds nothing wrong with, each once and as they are applied.
fn valid(documents: Vec<Document>, failures: &mut Vec<Failure>) -> Result<Vec<Value>> {
    let mut seen = BTreeSet::new();
    let mut definitions = Vec::new();
    for document in documents {
        match named(&document) {
            Ok(kind) if seen.insert((kind.kind(), document.name().to_owned())) => definitions.push(document),
            Ok(_) => failures.push(refused(&document, "is described twice; the first one is taken")),
            Err(failure) => failures.push(failure),
        }
    }
    let mut valid = Vec::new();
    for (document, found) in definitions.iter().zip(def::judge(&definitions)?) {
        match found {
            Err(failure) => failures.push(failure),
            Ok(found) if found.has_errors() => failures.push(found.into()),
            Ok(_) => valid.push(as_applied(document.value())),
        }
    }
    valid.sort_by_cached_key(|one| (text(one, "/metadata/name").to_owned(), text(one, "/kind").to_owned()));
    Ok(valid)
}

/// The kind of a definition with a name that a cluster takes.
fn named(document: &Document) -> Result<DefinitionKind> {
    let kind = DefinitionKind::from_kind(document.kind());
    let kind = kind.filter(|_| document.api_version().starts_with("core.oam.dev/"));
    let kind = kind.ok_or_else(|| refused(document, "is no definition"))?;
    match names::is_subdomain(document.name()) {
        true => Ok(kind),
        false => Err(refused(document, "has a name that no object has")),
    }
}

fn refused(document: &Document, why: &str) -> Failure {
    let place = document.places().value("kind").map(|place| format!("{place}: ")).unwrap_or_default();
    Error::user(format!("{place}{} {why}", document.title())).into()
}

/// The object without a namespace, and without what the server it was copied from added.
fn as_applied(object: &Value) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "labels", "annotations"] {
        if let Some(part) = object["metadata"].get(field) {
            metadata.insert(field.to_owned(), part.clone());
        }
    }
    json!({"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": metadata, "spec": object["spec"]})
}

fn list(format: ListFormat, screen: &mut Screen) -> Result<()> {
    let all = store::all()?;
    let row = |center: &Center| {
        json!({
            "name": center.name, "address": center.address, "capabilities": center.definitions.len(), "synced": center.synced,
        })
    };
    let rows: Vec<Value> = all.iter().map(row).collect();
    if print_plain(&rows, |row| text(row, "/name").to_owned(), format, screen)? {
        return Ok(());
    }
    let mut table = Table::new(&["NAME", "ADDRESS", "CAPABILITIES", "SYNCED"]);
    for Center { name, address, synced, definitions, .. } in &all {
        table.row(vec![name.clone(), address.clone(), definitions.len().to_string(), synced.clone()]);
    }
    if table.is_empty() {
        screen.say("There is no capability centre; `vela cap center config NAME ADDRESS` remembers one.");
        return Ok(());
    }
    screen.print(&table.render())
}
