//! Prints the objects that an application would make, as `vela dry-run` shows them; touches nothing.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use crate::check::check;
use crate::diagnostic::Diagnostics;
use crate::field_path;
use crate::manifest::Document;
use crate::parse::{self, AppFile};
use crate::plan::{self, Step};
use crate::policy::is_topology;
use crate::render::stages::Stages;
use crate::render::{self, Inputs, Rendered, RenderedObject, Role, State, Templates, ValueOrigin};
use crate::revision;
use crate::snapshot::Snapshot;

/// Renders an Application for a preview: no revision is named, what is not supported yet is warned about. Where
/// it fails, the findings of all phases are told together.
///
/// # Errors
/// All findings, when one of them is an error.
pub fn render(
    application: &Document,
    snapshot: &Snapshot,
    templates: &Templates,
) -> Result<Rendered, Diagnostics> {
    rendered(application, snapshot, templates, false)
}

/// The same, and its objects say where each of their values was written.
///
/// # Errors
/// Those of [`render`].
pub fn explain(
    application: &Document,
    snapshot: &Snapshot,
    templates: &Templates,
) -> Result<Rendered, Diagnostics> {
    rendered(application, snapshot, templates, true)
}

fn rendered(
    application: &Document,
    snapshot: &Snapshot,
    templates: &Templates,
    origins: bool,
) -> Result<Rendered, Diagnostics> {
    let app_file =
        parse::parse(application, snapshot).map_err(|_| check(application, snapshot, templates))?;
    let plan = plan::preview(revision::revision(app_file, None))?;
    let inputs = Inputs { unnamed_revision: true, origins, stages: Stages::Assumed, ..Inputs::default() };
    render::render(&plan, templates, &inputs)
}

/// Where the values of an object were written, of those that the render left as the definitions wrote them.
pub fn origins(object: &RenderedObject) -> impl Iterator<Item = &ValueOrigin> {
    let is_unchanged =
        |origin: &&ValueOrigin| field_path::get(&object.object, &origin.path) == Ok(&origin.value);
    object.origins.iter().filter(is_unchanged)
}

/// By which policies a step goes, in the words of upstream.
fn how(app: &AppFile, step: &Step) -> String {
    let all = step.policies.iter().map(String::as_str);
    let topologies: Vec<&str> = all.filter(|policy| is_topology(app, policy)).collect();
    match (topologies.is_empty(), step.policies.is_empty()) {
        (false, _) => format!(" with topology {}", topologies.join(", ")),
        (true, false) => " only with override policies".to_owned(),
        (true, true) => String::new(),
    }
}

/// The text: a head line per component, the workload, then every other object with the trait it is from; policies that make
/// objects come last, as upstream prints them.
pub fn text(rendered: &Rendered) -> String {
    let app = rendered.app_file();
    let mut text = String::new();
    for (node, component) in rendered.components().iter().enumerate() {
        let name = &app.components()[component.index].name;
        let step = rendered.plan().steps().iter().find(|step| step.nodes.contains(&node));
        let placed = step.map_or_else(String::new, |step| how(app, step));
        let _ = write!(text, "---\n# Application({}{placed}) -- Component({name})\n---\n\n", app.name());
        match &component.state {
            State::Ready(objects) => {
                for object in objects {
                    match &object.role {
                        Role::Workload | Role::Policy { .. } => {}
                        Role::Auxiliary { .. } => text.push_str("## From the auxiliary workload\n"),
                        Role::Trait { type_, .. } => {
                            let _ = writeln!(text, "## From the trait {type_}");
                        }
                    }
                    let _ = write!(text, "{}\n---\n", yaml(&printed(object)));
                }
            }
            State::Pending(missing) => {
                for what in missing {
                    let _ = writeln!(text, "# waits: {what}");
                }
                text.push_str("---\n");
            }
        }
        for deferred in &component.deferred {
            let trait_ = app.components()[component.index].traits.get(deferred.index);
            let type_ = trait_.map_or("", |trait_| trait_.type_.as_str());
            let _ = writeln!(text, "# trait {type_} is made when the component is healthy: {}", deferred.why);
        }
        text.push('\n');
    }
    for policy in rendered.policies() {
        let _ = write!(text, "---\n# Application({}) -- Policy({})\n---\n\n", app.name(), policy.name);
        for object in &policy.objects {
            let _ = write!(text, "{}\n---\n", yaml(&printed(object)));
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// Every object in the order in which it is applied, as one list to print as JSON or YAML.
pub fn list(rendered: &Rendered) -> Json {
    let of_policies = rendered.policies().iter().flat_map(|policy| &policy.objects);
    let of_components = rendered.components().iter().flat_map(|component| match &component.state {
        State::Ready(objects) => objects.as_slice(),
        State::Pending(_) => &[],
    });
    let items: Vec<Json> = of_policies.chain(of_components).map(printed).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// The object as the preview shows it: annotations are always there.
fn printed(object: &RenderedObject) -> Json {
    let mut printed = object.object.clone();
    if let Some(metadata) = printed.get_mut("metadata").and_then(Json::as_object_mut) {
        metadata.entry("annotations").or_insert_with(|| Json::Object(Map::new()));
    }
    printed
}

/// A value as YAML, keys sorted, lists not indented.
pub fn yaml(value: &Json) -> String {
    // Only values that JSON cannot hold can fail to be written.
    serde_saphyr::to_string(value).unwrap_or_default()
}
