//! Finds what an update changes of parameters that never change once they are given (`// +immutable` in the template).
//!
//! Whether the former value was ever applied does not matter: it is what the object says, as upstream compares it.

use std::sync::Arc;

use serde_json::Value as Json;
use vela_crds::annotations::FORCE_PARAM_MUTATIONS;

use crate::definition::version::base_name;
use crate::definition::{Definition, DefinitionKind};
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics};
use crate::field_path;
use crate::manifest::Document;
use crate::parse::Era;
use crate::secrets::Secrets;
use crate::snapshot::Snapshot;

/// Longer values are cut off where they are told.
const SHOWN_CHARS: usize = 100;

/// An application before and after an update.
struct Update<'a> {
    former: &'a Document,
    now: &'a Document,
    /// Confidential values, which no message may quote.
    secrets: Secrets,
}

/// The marked parameters that have another value than before, or none any more, of components and traits that keep their
/// type. One that is given for the first time is free.
pub fn changes(former: &Document, now: &Document, snapshot: &Snapshot) -> Diagnostics {
    let mut found = Diagnostics::new();
    if is_forced(now.value()) {
        return found;
    }
    let mut secrets = Secrets::default();
    [former, now].iter().for_each(|document| secrets.add(document.value()));
    let update = Update { former, now, secrets };
    for (index, component) in items(now.value().get("spec"), "components").enumerate() {
        let same = |known: &&Json| known.get("name") == component.get("name");
        if let Some(known) = items(former.value().get("spec"), "components").find(same) {
            update.component(&format!("spec.components[{index}]"), [known, component], snapshot, &mut found);
        }
    }
    found
}

/// Does the author say that it shall be changed all the same?
fn is_forced(application: &Json) -> bool {
    let annotations = application.pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(FORCE_PARAM_MUTATIONS)?.as_str()) == Some("true")
}

impl Update<'_> {
    fn component(&self, path: &str, [known, now]: [&Json; 2], snapshot: &Snapshot, found: &mut Diagnostics) {
        let (era, former_era) = (Era::of(self.now.value()), Era::of(self.former.value()));
        let kinds = [DefinitionKind::Component, DefinitionKind::Workload];
        let (type_, former_type) = (text(now, "type"), text(known, "type"));
        if let Some(definition) = definition_of_same_type(type_, former_type, &kinds, snapshot) {
            let values = [known.get(former_era.properties_field()), now.get(era.properties_field())];
            self.parameters(&format!("{path}.{}", era.properties_field()), definition, values, found);
        }
        let type_of = |trait_: &Json| base_name(text(trait_, era.trait_type_field())).to_owned();
        let former_type_of =
            |trait_: &Json| base_name(text(trait_, former_era.trait_type_field())).to_owned();
        let traits: Vec<&Json> = items(Some(now), "traits").collect();
        for (index, trait_) in traits.iter().copied().enumerate() {
            let type_ = type_of(trait_);
            let earlier = traits[..index].iter().copied().filter(|other| type_of(other) == type_).count();
            let mut alike = items(Some(known), "traits").filter(|other| former_type_of(other) == type_);
            let Some(former) = alike.nth(earlier) else { continue };
            let written = text(trait_, era.trait_type_field());
            let Some(definition) = snapshot.definition(DefinitionKind::Trait, written) else { continue };
            let values = [former.get("properties"), trait_.get("properties")];
            self.parameters(&format!("{path}.traits[{index}].properties"), definition, values, found);
        }
    }

    fn parameters(
        &self,
        path: &str,
        definition: &Arc<Definition>,
        [former, now]: [Option<&Json>; 2],
        found: &mut Diagnostics,
    ) {
        for names in definition.immutable_parameters() {
            let Some(given) = value_at(former, &names) else { continue };
            let wanted = value_at(now, &names);
            if wanted == Some(given) {
                continue;
            }
            let mut path = path.to_owned();
            names.iter().for_each(|name| field_path::push_field(&mut path, name));
            let new = wanted.map_or_else(|| "none".to_owned(), shown);
            let message =
                format!("immutable field cannot be changed (current: {}, new: {new})", shown(given));
            let message = self.secrets.hide(&message).into_owned();
            let hint = format!(
                "keep what it was, or annotate the application with {FORCE_PARAM_MUTATIONS}: \"true\""
            );
            let place = DefinitionPlace::whole(definition.title());
            let error = Diagnostic::error(Code::Parameter, message).at(self.now, path).hint(hint);
            found.push(error.definition(place));
        }
    }
}

/// The definition of a component that has the type that it had, in whatever version.
fn definition_of_same_type<'s>(
    type_: &str,
    former: &str,
    kinds: &[DefinitionKind],
    snapshot: &'s Snapshot,
) -> Option<&'s Arc<Definition>> {
    let is_kept = base_name(type_) == base_name(former);
    kinds.iter().filter(|_| is_kept).find_map(|kind| snapshot.definition(*kind, type_))
}

fn value_at<'a>(value: Option<&'a Json>, names: &[String]) -> Option<&'a Json> {
    let found = names.iter().try_fold(value?, |value, name| value.get(name.as_str()));
    found.filter(|found| !found.is_null())
}

fn shown(value: &Json) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn text<'a>(value: &'a Json, field: &str) -> &'a str {
    value.get(field).and_then(Json::as_str).unwrap_or_default()
}

fn items<'a>(value: Option<&'a Json>, field: &str) -> impl Iterator<Item = &'a Json> {
    value.and_then(|value| value.get(field)).and_then(Json::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TEMPLATE: &str = "output: {}\nparameter: {\n\t// +immutable\n\tregion?: string\n\tsize: int\n\tdb: {\n\
                            \t\t// +immutable\n\t\tpassword?: string\n\t}\n}\n";

    fn snapshot() -> Snapshot {
        let mut snapshot = Snapshot::default();
        for (kind, name) in [("ComponentDefinition", "store"), ("TraitDefinition", "place")] {
            let definition = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": kind, "metadata": {"name": name},
                "spec": {"schematic": {"cue": {"template": TEMPLATE}}}});
            snapshot.insert_definition_object(definition).unwrap_or_else(|error| unreachable!("{error}"));
        }
        snapshot
    }

    fn application(type_: &str, properties: &Json, traits: &Json) -> Json {
        json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "a"}, "spec": {"components": [
            {"name": "first", "type": type_, "properties": properties, "traits": traits}]}})
    }

    fn changed(former: Json, now: Json) -> Vec<(String, String)> {
        let documents = [former, now].map(Document::from_object);
        let found = changes(&documents[0], &documents[1], &snapshot());
        found.into_iter().map(|finding| (finding.path, finding.message)).collect()
    }

    #[test]
    fn what_is_given_once_stays() {
        let of = |properties: Json| application("store", &properties, &json!([]));
        let given = of(json!({"region": "eu", "size": 1}));
        assert!(changed(given.clone(), of(json!({"region": "eu", "size": 2}))).is_empty());
        assert!(changed(of(json!({"size": 1})), given.clone()).is_empty(), "the first value is free");
        let path = "spec.components[0].properties.region".to_owned();
        let message = "immutable field cannot be changed (current: \"eu\", new: \"us\")".to_owned();
        assert_eq!(changed(given.clone(), of(json!({"region": "us"}))), [(path.clone(), message)]);
        let removed = changed(given.clone(), of(json!({"size": 1})));
        assert!(removed[0].1.ends_with("(current: \"eu\", new: none)"), "{removed:?}");
        let mut forced = of(json!({"region": "us"}));
        forced["metadata"]["annotations"] = json!({"app.oam.dev/force-param-mutations": "true"});
        assert!(changed(given.clone(), forced).is_empty());
        let other = application("other", &json!({"region": "us"}), &json!([]));
        assert!(changed(given, other).is_empty(), "another type has other parameters");
    }

    #[test]
    fn a_confidential_value_is_not_quoted() {
        let of = |password: &str| application("store", &json!({"db": {"password": password}}), &json!([]));
        let found = changed(of("correct horse"), of("battery staple"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "spec.components[0].properties.db.password");
        assert!(!found[0].1.contains("horse") && !found[0].1.contains("staple"), "{}", found[0].1);
    }

    #[test]
    fn traits_are_compared_with_those_of_their_type() {
        let of = |first: &str, second: &str| {
            let place = |region: &str| json!({"type": "place", "properties": {"region": region}});
            application("store", &json!({}), &json!([place(first), {"type": "else"}, place(second)]))
        };
        assert!(changed(of("a", "b"), of("a", "b")).is_empty());
        let found = changed(of("a", "b"), of("a", "c"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "spec.components[0].traits[2].properties.region");
        let fewer =
            application("store", &json!({}), &json!([{"type": "place", "properties": {"region": "a"}}]));
        assert!(changed(of("a", "b"), fewer).is_empty(), "a trait may be taken out");
    }
}
