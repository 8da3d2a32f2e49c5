//! `vela show`: the name of a component or trait type in, the parameters that it takes out.

use serde_json::{Value as Json, json};
use vela_cue::{FieldKind, FieldOptions, Kind, Source, Template, Value};
use vela_engine::definition::Language;
use vela_engine::nearest::advice;
use vela_engine::{Definition, DefinitionKind, Document, Snapshot};

use crate::args::{Format, Global, Show};
use crate::error::{Error, Result};
use crate::screen::{BOLD, Screen, data, styled};
use crate::session::{Purpose, Session, block_on};
use crate::table::Table;
use crate::{input, offline};

/// Parameters inside parameters are shown to this depth; deeper ones are the definition's own documentation.
const DEEPEST: usize = 8;

/// One parameter.
struct Parameter {
    /// Path below the properties, such as `livenessProbe.httpGet.port`.
    name: String,
    description: String,
    kind: String,
    required: bool,
    default: Option<Json>,
}

pub(crate) fn run(args: &Show, global: &Global, screen: &mut Screen) -> Result<()> {
    let documents =
        if args.definitions.is_empty() { Vec::new() } else { input::read_definitions(&args.definitions)? };
    let documents: Vec<&Document> =
        documents.iter().filter(|document| offline::is_definition(document)).collect();
    if args.offline {
        return show(&block_on(offline::built_in_snapshot(&documents))?, args, screen);
    }
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let namespace = session.cluster.namespace().to_owned();
        let snapshot = offline::cluster_snapshot(&session.cluster, &documents, &[&namespace]).await;
        session.close().await?;
        show(&snapshot?, args, screen)
    })
}

fn show(snapshot: &Snapshot, args: &Show, screen: &mut Screen) -> Result<()> {
    let shown = |definition: &&Definition| {
        matches!(definition.kind(), DefinitionKind::Component | DefinitionKind::Trait)
    };
    let mut known: Vec<&Definition> = snapshot.definitions().map(AsRef::as_ref).filter(shown).collect();
    known.sort_by_key(|definition| (definition.kind().noun(), definition.name()));
    let Some(name) = &args.name else { return list(&known, args.output, screen) };
    let found: Vec<&Definition> =
        known.iter().copied().filter(|definition| definition.name() == name).collect();
    if found.is_empty() {
        let hint = advice(name, "type", known.iter().map(|definition| definition.name()));
        let error = Error::user(format!("there is no component or trait type {name:?}"));
        return Err(error.hint(hint.unwrap_or_else(|| "`vela show` lists all types".to_owned())).into());
    }
    let mut values = Vec::new();
    let mut text = String::new();
    for definition in found {
        let parameters = parameters(definition)?;
        values.push(json!({
            "name": definition.name(),
            "kind": definition.kind().noun(),
            "description": description(definition),
            "parameters": parameters.iter().map(|parameter| json!({
                "name": parameter.name,
                "description": parameter.description,
                "type": parameter.kind,
                "required": parameter.required,
                "default": parameter.default,
            })).collect::<Vec<_>>(),
        }));
        let title = format!("{} {}", definition.kind().noun(), styled(BOLD, definition.name()));
        text.push_str(&format!("{title}: {}\n\n", description(definition)));
        text.push_str(&table(&parameters));
        text.push('\n');
    }
    match args.output {
        Format::Table => screen.print(&text),
        format => screen.print(&data(format, &Json::Array(values))?),
    }
}

fn list(known: &[&Definition], format: Format, screen: &mut Screen) -> Result<()> {
    if format != Format::Table {
        let row = |definition: &&Definition| {
            json!({
                "name": definition.name(),
                "kind": definition.kind().noun(),
                "description": description(definition),
            })
        };
        return screen.print(&data(format, &known.iter().map(row).collect())?);
    }
    let mut table = Table::new(&["KIND", "TYPE", "DESCRIPTION"]);
    for definition in known {
        table.row(vec![
            definition.kind().noun().to_owned(),
            definition.name().to_owned(),
            description(definition),
        ]);
    }
    screen.print(&table.render())
}

fn description(definition: &Definition) -> String {
    let annotation = "/metadata/annotations/definition.oam.dev~1description";
    definition.object().pointer(annotation).and_then(Json::as_str).unwrap_or("").replace('\n', " ")
}

fn table(parameters: &[Parameter]) -> String {
    if parameters.is_empty() {
        return "It takes no parameters.\n".to_owned();
    }
    let mut table = Table::new(&["NAME", "DESCRIPTION", "TYPE", "REQUIRED", "DEFAULT"]);
    for parameter in parameters {
        table.row(vec![
            parameter.name.clone(),
            parameter.description.clone(),
            parameter.kind.clone(),
            parameter.required.to_string(),
            parameter.default.as_ref().map(Json::to_string).unwrap_or_default(),
        ]);
    }
    table.render()
}

fn parameters(definition: &Definition) -> Result<Vec<Parameter>> {
    match definition.language() {
        Language::Cue(text) => cue_parameters(definition, text),
        Language::Kube { parameters, .. } => Ok(parameters
            .iter()
            .map(|parameter| Parameter {
                name: parameter.name.clone(),
                description: format!("Written at {}", parameter.field_paths.join(", ")),
                kind: parameter.value_type.clone(),
                required: parameter.required,
                default: None,
            })
            .collect()),
        Language::Handlebars(_) => Err(Error::user(format!(
            "{} is written in handlebars, which does not declare its parameters",
            definition.title()
        ))
        .into()),
        Language::Terraform(_) => Err(Error::user(format!(
            "{} is a terraform configuration: its parameters are the variables declared there",
            definition.title()
        ))
        .into()),
        Language::Helm { .. } => Err(Error::user(format!(
            "{} is a Helm chart: its parameters are the values of the chart",
            definition.title()
        ))
        .into()),
        Language::Other(schematic) => Err(Error::user(format!(
            "{} is a {schematic} schematic, which vela cannot read",
            definition.title()
        ))
        .into()),
        Language::None => Ok(Vec::new()),
    }
}

fn cue_parameters(definition: &Definition, text: &str) -> Result<Vec<Parameter>> {
    let broken = |error: vela_cue::Diagnostics| {
        Error::user(format!("the template of {} is broken:\n{}", definition.title(), error.render(false)))
    };
    // A template may speak of its context, which only a rendering has.
    let sources = [Source::new(definition.name(), text), Source::new("context", "context: _")];
    let template = Template::compile(&sources).map_err(broken)?;
    let parameter = template.instantiate(&[]).root().lookup("parameter");
    let mut found = Vec::new();
    if parameter.exists() {
        collect(&parameter, "", 0, &mut found);
    }
    Ok(found)
}

fn collect(value: &Value, prefix: &str, depth: usize, into: &mut Vec<Parameter>) {
    if depth == DEEPEST {
        return;
    }
    for field in value.fields(FieldOptions { optional: true, ..FieldOptions::default() }) {
        let comments = field.value.comments();
        let description = match comments.marker("usage") {
            Some(usage) => usage.trim().to_owned(),
            None => comments.doc.join(" "),
        };
        let name = format!("{prefix}{}", field.name);
        let kind = field.value.kind();
        let default = if kind == Kind::Struct { None } else { field.value.to_json().ok() };
        into.push(Parameter {
            description,
            kind: word(kind).to_owned(),
            required: field.kind != FieldKind::Optional && default.is_none() && kind != Kind::Struct,
            default,
            name: name.clone(),
        });
        if kind == Kind::Struct {
            collect(&field.value, &format!("{name}."), depth + 1, into);
        }
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Bottom => "none",
        Kind::Null => "null",
        Kind::Bool => "bool",
        Kind::Int => "int",
        Kind::Float => "float",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Bytes => "bytes",
        Kind::List => "list",
        Kind::Struct => "object",
        Kind::Any => "any",
    }
}
