//! Writes the reference to the workload into traits whose definitions ask for it.

use serde_json::{Value as Json, json};

use super::{RenderedObject, Role, helm, maker};
use crate::definition::Language;
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics};
use crate::field_path;
use crate::parse::AppFile;

/// Writes `apiVersion`, `kind` and `name` of the workload at `workloadRefPath`, whatever the template says there.
pub(super) fn write(
    app: &AppFile,
    component: usize,
    objects: &mut [RenderedObject],
    found: &mut Diagnostics,
) {
    let Some(workload) = objects.iter().find(|object| object.role == Role::Workload) else { return };
    let reference = reference(workload);
    for made in objects.iter_mut().filter(|made| matches!(made.role, Role::Trait { .. })) {
        let path = made.definition.text(&["workloadRefPath"]);
        if path.is_empty() {
            continue;
        }
        if let Err(error) = field_path::set(&mut made.object, path, reference.clone()) {
            let message = format!("workloadRefPath {path:?} cannot be written: {error}");
            let place = DefinitionPlace::whole(made.definition.title());
            let (written, _) = maker(app, component, &made.role);
            let error = Diagnostic::error(Code::BadDefinition, message);
            found.push(error.at(app.document(), written).definition(place));
        }
    }
}

/// How a trait refers to the workload; that of a chart is what the chart makes, and not the release of it.
fn reference(workload: &RenderedObject) -> Json {
    let part = |path: &str| workload.object.pointer(path).cloned().unwrap_or(Json::Null);
    let charted = match workload.definition.language() {
        Language::Helm { .. } => workload.definition.workload_kind(),
        _ => None,
    };
    match charted {
        Some((api_version, kind)) => {
            json!({"apiVersion": api_version, "kind": kind, "name": helm::workload_name(&workload.object)})
        }
        None => {
            json!({"apiVersion": part("/apiVersion"), "kind": part("/kind"), "name": part("/metadata/name")})
        }
    }
}
