//! `vela def`: judges, tests, renders, lists and prints definitions, begins, applies, edits and deletes them, and writes clients.

mod apply;
mod del;
mod edit;
mod files;
mod found;
mod gen_api;
mod init;
mod parts;
mod stored;
mod test;
mod users;

pub(super) use self::del::{Ask, delete};
pub(super) use self::files::judge;
pub(super) use self::parts::{applies_to, description, workload};
pub(super) use self::stored::{Stored, kind};
pub(super) use self::users::of as users_of;

use serde_json::{Value, json};
use vela_engine::nearest::advice;
use vela_engine::{Definition, DefinitionKind, Document, dry_run};

use crate::args::{Def, DefinitionFiles, DefinitionFormat, Format, Global, ListFormat};
use crate::error::{Error, Failure, Result};
use crate::input;
use crate::listing::print_plain;
use crate::screen::Screen;
use crate::table::Table;

/// The kinds of definitions, each of which a capability may be.
pub(super) const KINDS: [DefinitionKind; 6] = [
    DefinitionKind::Component,
    DefinitionKind::Trait,
    DefinitionKind::Workload,
    DefinitionKind::Policy,
    DefinitionKind::WorkflowStep,
    DefinitionKind::Scope,
];

pub(crate) fn run(args: &Def, global: &Global, screen: &mut Screen) -> Result<()> {
    match args {
        Def::Init(args) => init::run(args, screen),
        Def::Apply(args) => apply::run(args, global, screen),
        Def::Edit(args) => edit::run(args, global, screen),
        Def::Del(args) => del::run(args, global, screen),
        Def::GenApi(args) => gen_api::run(args, global, screen),
        Def::Vet(files) => vet(files, screen),
        Def::Test(args) => test::run(args, screen),
        Def::Render { files, output } => render(files, *output, screen),
        Def::List { which, output } => {
            let snapshot = found::there(which, global, screen)?;
            list(&found::chosen(&snapshot, which), *output, screen)
        }
        Def::Get { name, which, output } => {
            let snapshot = found::there(which, global, screen)?;
            get(name, &found::chosen(&snapshot, which), *output, screen)
        }
    }
}

fn vet(paths: &DefinitionFiles, screen: &mut Screen) -> Result<()> {
    let (documents, mut failures) = files::read(paths);
    input::print_warnings(&documents, screen);
    let mut valid = Vec::new();
    match files::judge(&documents) {
        Err(failure) => failures.push(failure),
        Ok(judged) => {
            for (document, found) in documents.iter().zip(judged) {
                match found {
                    Err(failure) => failures.push(failure),
                    Ok(found) if found.has_errors() => failures.push(found.into()),
                    Ok(found) => {
                        found.iter().for_each(|warning| screen.say(&warning.to_string()));
                        valid.push(format!("{} is valid", document.title()));
                    }
                }
            }
        }
    }
    if !valid.is_empty() {
        screen.print(&valid.join("\n"))?;
    }
    Failure::all(failures).map_or(Ok(()), Err)
}

fn render(paths: &DefinitionFiles, format: Format, screen: &mut Screen) -> Result<()> {
    let (documents, failures) = files::read(paths);
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    let values: Vec<&Value> = documents.iter().map(Document::value).collect();
    match format {
        Format::Json | Format::JsonPath(_) => {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": values});
            screen.data(format, &list)
        }
        Format::Yaml | Format::Table => {
            let all: Vec<String> = values.into_iter().map(dry_run::yaml).collect();
            screen.document(&all.join("---\n"))
        }
    }
}

fn list(definitions: &[&Definition], format: ListFormat, screen: &mut Screen) -> Result<()> {
    let row = |one: &&Definition| {
        let at = |path: &str| one.object().pointer(path).and_then(Value::as_str).unwrap_or_default();
        json!({
            "name": one.name(),
            "type": one.kind().noun(),
            "kind": one.kind().kind(),
            "namespace": at("/metadata/namespace"),
            "description": description(one.object()),
        })
    };
    let rows: Vec<Value> = definitions.iter().map(row).collect();
    let cell = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    if print_plain(
        &rows,
        |row| format!("{}.core.oam.dev/{}", cell(row, "kind").to_lowercase(), cell(row, "name")),
        format,
        screen,
    )? {
        return Ok(());
    }
    let mut table = Table::new(&["NAME", "TYPE", "NAMESPACE", "DESCRIPTION"]);
    for row in &rows {
        table.row(["name", "type", "namespace", "description"].map(|field| cell(row, field)).to_vec());
    }
    if table.is_empty() {
        screen.say("There is no definition; `vela install` brings the built-in ones.");
        return Ok(());
    }
    let width = screen.width().filter(|_| format == ListFormat::Table);
    screen.print(&table.cut_to(width, 3).render())
}

fn get(name: &str, definitions: &[&Definition], format: DefinitionFormat, screen: &mut Screen) -> Result<()> {
    let found: Vec<&Definition> = definitions.iter().copied().filter(|one| one.name() == name).collect();
    let one = match &found[..] {
        [one] => *one,
        [] => {
            let hint = advice(name, "definition", definitions.iter().map(|one| one.name()));
            let error = Error::user(format!("there is no definition {name:?}"));
            return Err(error.hint(hint.unwrap_or_else(|| "`vela def list` lists all".to_owned())).into());
        }
        many => {
            let types: Vec<&str> = many.iter().map(|one| one.kind().noun()).collect();
            let error =
                Error::user(format!("{name} is the name of several definitions: {}", types.join(", ")));
            return Err(error.hint("choose one with --type").into());
        }
    };
    let mut object = one.object().clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    match format {
        DefinitionFormat::Json => screen.data(Format::Json, &object),
        DefinitionFormat::JsonPath(template) => screen.data(Format::JsonPath(template), &object),
        DefinitionFormat::Yaml => screen.document(&dry_run::yaml(&object)),
        DefinitionFormat::Cue => match object.pointer("/spec/schematic/cue/template").and_then(Value::as_str)
        {
            Some(template) => screen.document(template),
            None => {
                let error = Error::user(format!("the {} {name} has no template in CUE", one.kind().noun()));
                Err(error.hint("-o yaml prints the object").into())
            }
        },
    }
}
