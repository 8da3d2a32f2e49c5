//! Names the workload and the traits of a component.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use vela_crds::{annotations, labels};

use super::parse::{Component, Parsed, Trait};
use super::recorded_reference::recorded_key;
use super::revision::number_of;
use super::{GROUP, items, text};
use crate::render::short_hash;
use crate::rollout::workload::changes_in_place;
use crate::snapshot::Snapshot;
use crate::workload_names::names_by_revision;

/// The placeholder in the name of a trait whose definition is not known.
const UNDEFINED: &str = "trait";

/// Is the configuration the work of an Application?
pub fn is_controlled_by_application(configuration: &Json) -> bool {
    application(configuration).is_some()
}

/// The reference to the Application that controls the configuration.
pub fn application(configuration: &Json) -> Option<&Json> {
    items(configuration, &["metadata", "ownerReferences"]).iter().find(|owner| {
        owner.get("controller") == Some(&Json::Bool(true))
            && text(owner, &["kind"]) == "Application"
            && text(owner, &["apiVersion"]).split_once('/').is_some_and(|(group, _)| group == GROUP)
    })
}

/// Does the configuration belong to one revision of its Application? One that is stored for all of them has the Application's
/// name.
pub fn is_of_a_revision(configuration: &Json) -> bool {
    let name = text(configuration, &["metadata", "name"]);
    application(configuration).is_some_and(|owner| text(owner, &["name"]) != name)
}

/// Is the configuration stored for all revisions of its Application? Then a workload that is not wanted any more has another
/// one in its place, whatever it is called.
pub(super) fn is_of_all_revisions(configuration: &Json) -> bool {
    is_controlled_by_application(configuration) && !is_of_a_revision(configuration)
}

/// The name of the workload. An Application's configuration keeps one workload and changes it in place unless a
/// rollout is asked for, or names by revision are, which need one workload per revision; anybody else's keeps what the
/// template says.
pub(super) fn workload_name(
    parsed: &Parsed,
    component: &Component,
    workload: &Json,
    revision_enabled: bool,
    snapshot: &Snapshot,
) -> Result<String, String> {
    let given = text(workload, &["metadata", "name"]);
    let controlled = is_controlled_by_application(parsed.document.value());
    // A release is named by application and component, and what its chart makes carries that name.
    if controlled && (given.is_empty() || !is_release(workload)) {
        return controlled_name(parsed, component, workload);
    }
    if !given.is_empty() {
        return Ok(given.to_owned());
    }
    if !revision_enabled {
        return Ok(component.name.clone());
    }
    if component.latest.is_empty() {
        return Err(format!(
            "cannot get latest revision for component {:?} while revision is enabled",
            component.name
        ));
    }
    Ok(recorded_workload(parsed, component, workload, snapshot).unwrap_or_else(|| component.latest.clone()))
}

fn controlled_name(parsed: &Parsed, component: &Component, workload: &Json) -> Result<String, String> {
    let annotation = |name: &str| {
        let all = parsed.document.value().get("metadata").and_then(|metadata| metadata.get("annotations"));
        all.and_then(|all| all.get(name)).and_then(Json::as_str)
    };
    let rolls = (annotation(annotations::ROLLOUT_TEMPLATE).is_some()
        || is_of_a_revision(parsed.document.value())
        || names_by_revision(parsed.document.value()))
        && annotation(annotations::INPLACE_UPGRADE) != Some("true");
    if !rolls || updates_in_place(workload) {
        return Ok(component.name.clone());
    }
    let revision = if component.pinned.is_empty() { &component.latest } else { &component.pinned };
    match number_of(revision) {
        Some(number) => Ok(format!("{}-v{number}", component.name)),
        None => Err(format!(
            "cannot name the workload of component {:?} after a revision: {revision:?} is no revision name (<component>-v<N>)",
            component.name
        )),
    }
}

/// Is it the release of a Helm chart?
pub(super) fn is_release(workload: &Json) -> bool {
    let group = text(workload, &["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
    group == "helm.toolkit.fluxcd.io" && text(workload, &["kind"]) == "HelmRelease"
}

/// Kinds whose own controller rolls from one revision to the next.
fn updates_in_place(workload: &Json) -> bool {
    changes_in_place(text(workload, &["apiVersion"]), text(workload, &["kind"]))
}

/// The workload that the status recorded last, if it is of this kind and of the latest revision already.
fn recorded_workload(
    parsed: &Parsed,
    component: &Component,
    workload: &Json,
    snapshot: &Snapshot,
) -> Option<String> {
    let recorded = items(parsed.document.value(), &["status", "workloads"])
        .iter()
        .rfind(|entry| text(entry, &["componentName"]) == component.name)?
        .get("workloadRef")?;
    let key = recorded_key(recorded, workload, &parsed.namespace)?;
    let live = snapshot.object(&key)?.get("metadata")?.get("labels")?;
    let revision = live.get(labels::APP_COMPONENT_REVISION)?.as_str()?;
    (revision == component.latest).then_some(key.name)
}

/// The names of a component's traits, in their order. A given name is kept; a nameless trait keeps the name its kind
/// had before, so that an edit of the trait changes the object instead of replacing it; a new one is named after its
/// entry. Several nameless traits of one kind share out the recorded names: first each takes the one made from its
/// own entry, then those left over take what is left over, the latest recorded first for a single one.
pub(super) fn trait_names(parsed: &Parsed, component: &Component) -> Vec<String> {
    let traits = &component.traits;
    let mut names: Vec<String> =
        traits.iter().map(|trait_| text(&trait_.object, &["metadata", "name"]).to_owned()).collect();
    let kind = |trait_: &Trait| {
        (text(&trait_.object, &["apiVersion"]).to_owned(), text(&trait_.object, &["kind"]).to_owned())
    };
    let kinds: BTreeSet<_> = traits.iter().map(kind).collect();
    for of_kind in kinds {
        let here: Vec<usize> = (0..traits.len()).filter(|at| kind(&traits[*at]) == of_kind).collect();
        let mut free = recorded_names(parsed, component, &of_kind);
        free.retain(|name| !here.iter().any(|at| names[*at] == *name));
        let mut nameless: Vec<usize> = here.into_iter().filter(|at| names[*at].is_empty()).collect();
        nameless.retain(|at| {
            let own = generated(component, &traits[*at]);
            let Some(position) = free.iter().position(|name| *name == own) else { return true };
            names[*at] = free.remove(position);
            false
        });
        let spare = free.len().saturating_sub(nameless.len());
        let mut left = free.into_iter().skip(spare);
        for at in nameless {
            names[at] = left.next().unwrap_or_else(|| generated(component, &traits[at]));
        }
    }
    names
}

fn recorded_names(parsed: &Parsed, component: &Component, kind: &(String, String)) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let recorded = items(parsed.document.value(), &["status", "workloads"])
        .iter()
        .filter(|entry| text(entry, &["componentName"]) == component.name)
        .flat_map(|entry| items(entry, &["traits"]))
        .filter_map(|entry| entry.get("traitRef"))
        .filter(|r| text(r, &["apiVersion"]) == kind.0 && text(r, &["kind"]) == kind.1)
        .map(|reference| text(reference, &["name"]))
        .filter(|name| !name.is_empty());
    for name in recorded {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// `<component>-<definition>-<hash of the entry>`.
fn generated(component: &Component, trait_: &Trait) -> String {
    let middle = trait_.definition.as_ref().map_or(UNDEFINED, |definition| {
        definition.name().split('.').next().filter(|part| !part.is_empty()).unwrap_or(UNDEFINED)
    });
    format!("{}-{}-{}", component.name, middle.to_lowercase(), short_hash(&[&trait_.entry.to_string()]))
}
