//! Finds what an API server would drop or refuse of rendered objects of built-in kinds, told where it was written.
//!
//! These are warnings: the cluster may be of another release, and answers for itself. A caller that wants no field to be
//! dropped in silence asks for [`super::Rendered::strictly`].

use std::collections::BTreeMap;

use serde_json::Value as Json;
use vela_kinds::Problem;

use super::valid_objects::ValidObjects;
use super::{RenderedComponent, RenderedObject, State, cue, maker};
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics};
use crate::field_path;
use crate::manifest::Document;
use crate::nearest;
use crate::parse::AppFile;
use crate::successor;

/// The errors of one object; `site` is the place of its component or trait, `valid` what was found valid before.
pub(super) fn object(
    rendered: &RenderedObject,
    origins: &[cue::Origin],
    (site, valid): ((&Document, &str), &ValidObjects),
    found: &mut Diagnostics,
) {
    // A withdrawn version is checked as the one that followed: its fields are the same, or are written anew there.
    let successor = successor::object(&rendered.object);
    for problem in valid.problems(successor.as_ref().unwrap_or(&rendered.object)) {
        if !is_reported(&problem, found) {
            found.push(diagnostic(rendered, origins, site, &problem));
        }
    }
}

/// An undeclared parameter that a template hands on is one slip, not two.
fn is_reported(problem: &Problem, found: &Diagnostics) -> bool {
    let segments = field_path::parse(&problem.field).unwrap_or_default();
    let Some(field_path::Segment::Field(name)) = segments.last() else { return false };
    let name = format!("{name:?}");
    let is_same =
        |finding: &Diagnostic| finding.code == Code::UnknownParameter && finding.message.contains(&name);
    !problem.known.is_empty() && found.iter().any(is_same)
}

fn diagnostic(
    rendered: &RenderedObject,
    origins: &[cue::Origin],
    (document, path): (&Document, &str),
    problem: &Problem,
) -> Diagnostic {
    let segments = field_path::parse(&problem.field).unwrap_or_default();
    let name = match segments.last() {
        Some(field_path::Segment::Field(name)) => name.as_str(),
        _ => "",
    };
    let hint = match problem.known.as_slice() {
        [] => None,
        known => nearest::advice(name, "fields", known.iter().copied()),
    };
    let message = format!("{}: {}: {}", rendered.key(), problem.field, problem.message);
    let mut warning = Diagnostic::warning(Code::InvalidObject, message).at(document, path).hint_opt(hint);
    // The last trait that wrote the field counts; a field of no trait stands in the template of the object.
    let changed = origins.iter().skip(1).rev().find_map(|origin| origin.find(&segments, true));
    let place = changed.or_else(|| origins.first().and_then(|origin| origin.find(&segments, false)));
    let whole = || DefinitionPlace::whole(rendered.definition.title());
    let (manifest, definition) = place.map_or_else(|| (None, whole()), |(given, place)| (given, place));
    warning.manifest = manifest.or(warning.manifest);
    warning.definition(definition)
}

/// Two autoscalers of one workload undo each other.
pub(super) fn scalers(app: &AppFile, components: &[RenderedComponent], found: &mut Diagnostics) {
    let mut seen: BTreeMap<[String; 4], String> = BTreeMap::new();
    for component in components {
        let State::Ready(objects) = &component.state else { continue };
        for rendered in objects {
            let text = |pointer: &str| {
                rendered.object.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned()
            };
            let target =
                ["/metadata/namespace", "/spec/scaleTargetRef/kind", "/spec/scaleTargetRef/name"].map(text);
            if text("/kind") != "HorizontalPodAutoscaler" || target[2].is_empty() {
                continue;
            }
            let [namespace, kind, name] = target;
            // The version does not make it another workload.
            let version = text("/spec/scaleTargetRef/apiVersion");
            let group = version.rsplit_once('/').map_or(String::new(), |(group, _)| group.to_owned());
            let (path, by) = maker(app, component.index, &rendered.role);
            let message = format!("{by} scales {kind} {name:?}, which");
            if let Some(first) = seen.insert([namespace, group, kind, name], by) {
                let message = format!("{message} {first} scales already: two autoscalers undo each other");
                let warning = Diagnostic::warning(Code::InvalidObject, message).hint("leave one of them out");
                found.push(warning.at(app.document(), path));
            }
        }
    }
}
