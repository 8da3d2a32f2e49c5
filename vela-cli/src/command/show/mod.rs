//! `vela show`: prints the parameters of a type.

pub(super) mod outline;

use serde_json::{Value as Json, json};
use vela_engine::definition::Language;
use vela_engine::nearest::advice;
use vela_engine::parameters::parameters;
use vela_engine::{ClusterVersion, Definition, DefinitionKind, Document, Snapshot, Templates};

use crate::args::{Global, Show, ShowFormat};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::offline::DEFINITION_KINDS;
use crate::screen::{BOLD, Screen, styled, wrapped};
use crate::session::{Purpose, Session, block_on};
use crate::table::Table;
use crate::{input, offline};

pub(crate) fn run(args: &Show, global: &Global, screen: &mut Screen) -> Result<()> {
    let documents =
        if args.definitions.is_empty() { Vec::new() } else { input::read_definitions(&args.definitions)? };
    let documents: Vec<&Document> =
        documents.iter().filter(|document| offline::is_definition(document)).collect();
    if args.offline {
        let reader = offline::built_in(ClusterVersion::newest(), &documents)?;
        let snapshot = block_on(async {
            let found = reader.all_definitions("default", &DEFINITION_KINDS).await;
            found.map_err(|error| offline::unread(None, error))
        })?;
        return show(&snapshot, args, screen);
    }
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let snapshot = types(&session.cluster, &documents).await;
        session.close().await?;
        show(&snapshot?, args, screen)
    })
}

async fn types(cluster: &Cluster, documents: &[&Document]) -> Result<Snapshot> {
    let reader = offline::of_cluster(cluster, documents).await?;
    let found = reader.all_definitions(cluster.namespace(), &DEFINITION_KINDS).await;
    found.map_err(|error| offline::unread(Some(cluster), error))
}

fn show(snapshot: &Snapshot, args: &Show, screen: &mut Screen) -> Result<()> {
    let mut known: Vec<&Definition> =
        snapshot.definitions().map(AsRef::as_ref).filter(|one| is_type(one)).collect();
    known.sort_by_key(|definition| (definition.kind().noun(), definition.name()));
    let Some(name) = &args.name else { return list(&known, args.output, screen) };
    let found: Vec<&Definition> =
        known.iter().copied().filter(|definition| definition.name() == name).collect();
    if found.is_empty() {
        let hint = advice(name, "type", known.iter().map(|definition| definition.name()));
        let error = Error::user(format!(
            "there is no type {name:?} of components, traits, policies or workflow steps"
        ));
        return Err(error.hint(hint.unwrap_or_else(|| "`vela show` lists all types".to_owned())).into());
    }
    let mut values = Vec::new();
    let mut text = String::new();
    for definition in found {
        if let Err(faults) = Templates::default().get(definition) {
            // What it declares is shown all the same.
            screen.say(&faults.to_string());
        }
        let parameters = parameters(definition);
        let noun = definition.kind().noun();
        match args.output {
            ShowFormat::Markdown => {
                text.push_str(&markdown(definition));
            }
            _ => {
                let width = screen.width().unwrap_or(usize::MAX);
                let title = format!("{noun} {}: {}", definition.name(), description(definition));
                let title = wrapped(title.trim_end_matches(": "), width);
                text.push_str(&title.replacen(definition.name(), &styled(BOLD, definition.name()), 1));
                text.push_str(&format!("\n\n{}\n", outline::render(&parameters, width)));
            }
        }
        let mut value = json!(parameters);
        if value["description"] != "" {
            value["propertiesDescription"] = value["description"].take();
        }
        value["name"] = json!(definition.name());
        value["kind"] = json!(noun);
        value["description"] = json!(description(definition));
        values.push(value);
    }
    match args.output.data() {
        Some(format) => screen.data(format, &Json::Array(values)),
        None if args.output == ShowFormat::Name => screen.print(name),
        None => screen.print(&text),
    }
}

/// A type as Markdown: its description and the tables of its parameters.
pub(super) fn markdown(definition: &Definition) -> String {
    let noun = definition.kind().noun();
    let head = format!("## {noun} `{}`\n\n{}", definition.name(), description(definition));
    format!("{}\n\n{}\n", head.trim_end(), parameters(definition).markdown(3))
}

/// Is it something whose name people write after `type:`?
pub(super) fn is_type(definition: &Definition) -> bool {
    match definition.kind() {
        DefinitionKind::Component
        | DefinitionKind::Trait
        | DefinitionKind::Policy
        | DefinitionKind::WorkflowStep => true,
        DefinitionKind::Workload => *definition.language() != Language::None,
        DefinitionKind::Scope => false,
    }
}

fn list(known: &[&Definition], format: ShowFormat, screen: &mut Screen) -> Result<()> {
    let row = |definition: &&Definition| {
        json!({
            "name": definition.name(),
            "kind": definition.kind().noun(),
            "description": description(definition),
        })
    };
    let rows: Json = known.iter().map(row).collect();
    if let Some(format) = format.data() {
        return screen.data(format, &rows);
    }
    match format {
        ShowFormat::Markdown => {
            let row = |one: &&Definition| {
                let words = description(one).replace('|', "\\|");
                format!("| {} | `{}` | {words} |\n", one.kind().noun(), one.name())
            };
            let rows: String = known.iter().map(row).collect();
            return screen.print(&format!("| Kind | Type | Description |\n|---|---|---|\n{rows}"));
        }
        ShowFormat::Name => {
            let names: Vec<&str> = known.iter().map(|definition| definition.name()).collect();
            return screen.print(&names.join("\n"));
        }
        _ => {}
    }
    let mut table = Table::new(&["KIND", "TYPE", "DESCRIPTION"]);
    for definition in known {
        table.row(vec![
            definition.kind().noun().to_owned(),
            definition.name().to_owned(),
            description(definition),
        ]);
    }
    let width = screen.width();
    screen.print(&table.cut_to(width, 2).render())
}

fn description(definition: &Definition) -> String {
    let annotation = "/metadata/annotations/definition.oam.dev~1description";
    definition.object().pointer(annotation).and_then(Json::as_str).unwrap_or("").replace('\n', " ")
}
