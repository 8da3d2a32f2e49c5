//! A field of an Application → what is written there: a type, or a parameter of one.

use serde_json::Value;
use vela_engine::DefinitionKind;
use vela_engine::field_path::Segment;
use vela_engine::parameters::Parameter;

/// What is written at a place.
#[derive(Debug, PartialEq)]
pub(super) enum Written<'d> {
    /// A type of this kind.
    Type(DefinitionKind),
    /// A parameter of this type, and its path below `properties`.
    Parameter(DefinitionKind, &'d str, Vec<Segment>),
}

/// What is written at this path of a document.
pub(super) fn written<'d>(document: &'d Value, path: &[Segment]) -> Option<Written<'d>> {
    let text = |field: &str| document.get(field).and_then(Value::as_str).unwrap_or_default();
    if text("kind") != "Application" || !text("apiVersion").starts_with("core.oam.dev/") {
        return None;
    }
    let (name, rest) = path.strip_prefix(&[field("spec")])?.split_first()?;
    let at = |names: &[&str]| names.iter().try_fold(document.get("spec")?, |value, name| value.get(name));
    let Segment::Field(name) = name else { return None };
    match name.as_str() {
        "components" => component(at(&["components"])?, rest),
        "policies" => {
            let (policy, rest) = item(at(&["policies"])?, rest)?;
            let is_override = policy.get("type").and_then(Value::as_str) == Some("override");
            match rest.strip_prefix(&[field("properties"), field("components")]) {
                Some(inner) if is_override && !inner.is_empty() => {
                    component(policy.get("properties")?.get("components")?, inner)
                }
                _ => of_type(DefinitionKind::Policy, policy, rest),
            }
        }
        "workflow" => {
            let rest = rest.strip_prefix(&[field("steps")])?;
            let (step, rest) = item(at(&["workflow", "steps"])?, rest)?;
            let (step, rest) = match rest.strip_prefix(&[field("subSteps")]) {
                Some(inner) => item(step.get("subSteps")?, inner)?,
                None => (step, rest),
            };
            of_type(DefinitionKind::WorkflowStep, step, rest)
        }
        _ => None,
    }
}

fn component<'d>(list: &'d Value, path: &[Segment]) -> Option<Written<'d>> {
    let (component, rest) = item(list, path)?;
    match rest.strip_prefix(&[field("traits")]) {
        Some(inner) => {
            let (trait_, rest) = item(component.get("traits")?, inner)?;
            of_type(DefinitionKind::Trait, trait_, rest)
        }
        None => of_type(DefinitionKind::Component, component, rest),
    }
}

/// The item of a list that a path begins with.
fn item<'d, 'p>(list: &'d Value, path: &'p [Segment]) -> Option<(&'d Value, &'p [Segment])> {
    match path.split_first()? {
        (Segment::Index(index), rest) => Some((list.get(*index)?, rest)),
        (Segment::Field(_), _) => None,
    }
}

fn of_type<'d>(kind: DefinitionKind, owner: &'d Value, path: &[Segment]) -> Option<Written<'d>> {
    match path.split_first()? {
        (Segment::Field(name), []) if name == "type" => Some(Written::Type(kind)),
        (Segment::Field(name), rest) if name == "properties" => {
            Some(Written::Parameter(kind, owner.get("type")?.as_str()?, rest.to_vec()))
        }
        _ => None,
    }
}

fn field(name: &str) -> Segment {
    Segment::Field(name.to_owned())
}

/// The parameter at a path below `properties`, and the type of the value there: items of lists and values of maps have no
/// parameter of their own.
pub(super) fn parameter<'p>(root: &'p Parameter, path: &[Segment]) -> Option<(&'p Parameter, &'p str)> {
    let (mut at, mut type_) = (root, root.type_.as_str());
    for segment in path {
        type_ = match segment {
            Segment::Index(_) => ungrouped(type_.strip_prefix("[]")?),
            Segment::Field(name) => match type_.strip_prefix("map[string]") {
                Some(value) => ungrouped(value),
                None => {
                    at = at.children.iter().find(|child| child.name == *name)?;
                    &at.type_
                }
            },
        };
    }
    Some((at, type_))
}

fn ungrouped(type_: &str) -> &str {
    type_.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(type_)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vela_engine::field_path::parse;

    use super::*;

    #[test]
    fn every_kind_of_type_is_found() {
        let override_ = json!([{"type": "a", "traits": [{"type": "b"}], "properties": {"c": 1}}]);
        let document = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "spec": {
            "components": [{"type": "web", "traits": [{"type": "scaler", "properties": {"n": 1}}]}],
            "policies": [{"type": "override", "properties": {"components": override_, "selector": []}}],
            "workflow": {"steps": [{"type": "group", "subSteps": [{"type": "deploy", "properties": {"p": []}}]}]},
        }});
        let at = |path: &str| written(&document, &parse(path).unwrap());
        use DefinitionKind::{Component, Policy, Trait, WorkflowStep};
        for (path, kind) in [
            ("spec.components[0].type", Component),
            ("spec.components[0].traits[0].type", Trait),
            ("spec.policies[0].type", Policy),
            ("spec.policies[0].properties.components[0].type", Component),
            ("spec.policies[0].properties.components[0].traits[0].type", Trait),
            ("spec.workflow.steps[0].type", WorkflowStep),
            ("spec.workflow.steps[0].subSteps[0].type", WorkflowStep),
        ] {
            assert_eq!(at(path), Some(Written::Type(kind)), "{path}");
        }
        let parameter = |kind, type_, path: &str| Some(Written::Parameter(kind, type_, parse(path).unwrap()));
        assert_eq!(at("spec.components[0].traits[0].properties.n"), parameter(Trait, "scaler", "n"));
        assert_eq!(
            at("spec.policies[0].properties.components[0].properties.c"),
            parameter(Component, "a", "c")
        );
        assert_eq!(at("spec.policies[0].properties.selector"), parameter(Policy, "override", "selector"));
        for path in ["spec.components[0].name", "metadata.name", "spec.components", "spec"] {
            assert_eq!(at(path), None, "{path}");
        }
    }

    #[test]
    fn parameters_of_lists_and_maps_are_found() {
        let named = |name: &str, type_: &str, children: Vec<Parameter>| Parameter {
            name: name.to_owned(),
            type_: type_.to_owned(),
            children,
            ..Parameter::default()
        };
        let port = || vec![named("port", "int", Vec::new())];
        let root = named(
            "",
            "object",
            vec![named("ports", "[]object", port()), named("by", "map[string](object | string)", port())],
        );
        let at = |path: &str| {
            parameter(&root, &parse(path).unwrap()).map(|(one, type_)| (one.name.as_str(), type_))
        };
        assert_eq!(at("ports[1].port"), Some(("port", "int")));
        assert_eq!(at("by.name.port"), Some(("port", "int")));
        assert_eq!(at("by.name"), Some(("by", "object | string")));
        assert_eq!(at("ports[1]"), Some(("ports", "object")));
        assert_eq!(at("ports.port"), Some(("port", "int")));
        assert_eq!((at("none"), at("by[0]")), (None, None));
    }
}
