//! Parses `spec.components` into components with resolved types, and what they say of each other.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::{COMPONENT_LIMIT, Component, Input, Output, Parser, Trait, fields};
use crate::definition::{Definition, DefinitionKind};
use crate::diagnostic::{Code, Diagnostic};
use crate::nearest;

impl<'a> Parser<'a> {
    pub(super) fn components(&mut self, spec: &'a Map<String, Json>) -> Vec<Component> {
        let list = self.list("spec.components", spec.get("components"));
        if spec.get("components").is_none() {
            self.error(Code::MissingField, "spec", "an Application needs spec.components", None);
        }
        if list.len() > COMPONENT_LIMIT {
            let message = format!("{} components; the limit is {COMPONENT_LIMIT}", list.len());
            self.error(Code::Limit, "spec.components", message, None);
            return Vec::new();
        }
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut components = Vec::with_capacity(list.len());
        for (index, value) in list.iter().enumerate() {
            let path = format!("spec.components[{index}]");
            let fields = self.object(&path, Some(value));
            let name = fields.get("name").and_then(Json::as_str).unwrap_or("");
            if let Some(first) = seen.insert(name, index).filter(|_| !name.is_empty()) {
                let message =
                    format!("component name {name:?} is used twice (first by spec.components[{first}])");
                self.error(Code::DuplicateName, &format!("{path}.name"), message, None);
            }
            components.extend(self.component(path, fields));
        }
        components
    }

    pub(super) fn component(&mut self, path: String, fields: &'a Map<String, Json>) -> Option<Component> {
        self.known_fields(&path, fields, fields::component(self.era));
        let name = self.required_text(&path, fields, "name", "a component");
        if let Some(name) = name.as_deref().filter(|name| !fields::is_name(name)) {
            let message = format!("{name:?} is not a name: {}", fields::NAME_RULE);
            self.error(Code::WrongType, &format!("{path}.name"), message, None);
        }
        let type_ = self.required_type(&path, fields, "type", "a component");
        let definition = type_.as_deref().and_then(|type_| self.component_definition(&path, type_));
        let properties = self.properties(&path, fields, self.era.properties_field());
        let traits = self.traits(&path, fields, definition.as_deref(), type_.as_deref().unwrap_or(""));
        let depends_on = self.texts(&format!("{path}.dependsOn"), fields.get("dependsOn"));
        let (inputs, outputs) = self.inputs_outputs(&path, fields);
        let scopes = self.scopes(&path, fields.get("scopes"));
        let config = self.user_config(&path, name.as_deref().unwrap_or_default(), &properties);
        let given = format!("{path}.{}", self.era.properties_field());
        let secrets = match definition.as_deref() {
            Some(definition) => self.inserted(&given, definition, &properties),
            None => Vec::new(),
        };
        let named = (type_.as_deref().unwrap_or_default(), name.as_deref().unwrap_or_default());
        let written = fields.get(self.era.properties_field()).unwrap_or(&Json::Null);
        let referenced = definition.as_ref().and_then(|_| self.referenced(&path, named, written));
        let (properties, unknown_objects) = referenced.unwrap_or((properties, Vec::new()));
        Some(Component {
            name: name?,
            type_: type_?,
            definition: definition?,
            properties,
            traits,
            depends_on,
            inputs,
            outputs,
            scopes,
            config,
            secrets,
            unknown_objects,
            path,
        })
    }

    fn traits(
        &mut self,
        path: &str,
        fields: &'a Map<String, Json>,
        component: Option<&Definition>,
        component_type: &str,
    ) -> Vec<Trait> {
        let list = self.list(&format!("{path}.traits"), fields.get("traits"));
        let mut traits = Vec::with_capacity(list.len());
        for (index, value) in list.iter().enumerate() {
            let path = format!("{path}.traits[{index}]");
            let fields = self.object(&path, Some(value));
            self.known_fields(&path, fields, fields::trait_(self.era));
            let type_field = self.era.trait_type_field();
            let Some(type_) = self.required_type(&path, fields, type_field, "a trait") else { continue };
            let properties = self.properties(&path, fields, "properties");
            let type_path = format!("{path}.{type_field}");
            let Some(definition) = self.snapshot.definition(DefinitionKind::Trait, &type_).cloned() else {
                self.unknown_type(&type_path, &type_, &[DefinitionKind::Trait], "trait", "traits");
                continue;
            };
            if let Some(component) = component
                && !applies(&definition, component, component_type)
            {
                // Upstream writes the list down and never asks for it; its own examples stand outside it.
                let applies_to = definition.applies_to().join(", ");
                let what = component.workload_type().unwrap_or(component_type);
                let message = format!(
                    "trait {type_:?} is not meant for {component_type:?} ({what}) by its definition; it is used all the same"
                );
                let warning = Diagnostic::warning(Code::WrongWorkload, message).at(self.document, &type_path);
                self.found.push(warning.hint(format!("it is meant for: {applies_to}")));
            }
            let secrets = self.inserted(&format!("{path}.properties"), &definition, &properties);
            traits.push(Trait { type_, definition, properties, secrets, path });
        }
        traits
    }

    fn inputs_outputs(&mut self, path: &str, fields: &'a Map<String, Json>) -> (Vec<Input>, Vec<Output>) {
        let mut inputs = Vec::new();
        for (index, value) in self.list(&format!("{path}.inputs"), fields.get("inputs")).iter().enumerate() {
            let path = format!("{path}.inputs[{index}]");
            let fields = self.object(&path, Some(value));
            self.known_fields(&path, fields, &["from", "parameterKey"]);
            if let Some(from) = self.required_text(&path, fields, "from", "an input") {
                let key = fields.get("parameterKey").and_then(Json::as_str).unwrap_or("");
                inputs.push(Input::new(from, key));
            }
        }
        let mut outputs = Vec::new();
        for (index, value) in self.list(&format!("{path}.outputs"), fields.get("outputs")).iter().enumerate()
        {
            let path = format!("{path}.outputs[{index}]");
            let fields = self.object(&path, Some(value));
            self.known_fields(&path, fields, &["name", "valueFrom"]);
            let name = self.required_text(&path, fields, "name", "an output");
            let value_from = self.required_text(&path, fields, "valueFrom", "an output");
            if let (Some(name), Some(value_from)) = (name, value_from) {
                outputs.push(Output { name, value_from });
            }
        }
        (inputs, outputs)
    }

    /// Names in `dependsOn` and `inputs` must exist; circles are found by `plan`, which sees all edges. The search
    /// reads the written text, so that a component with other mistakes does not hide these.
    pub(super) fn references_between(&mut self, spec: &Map<String, Json>) {
        let list = items(spec.get("components"));
        let texts = |value: &'_ Json, list: &str, field: &str| -> Vec<String> {
            let items = value.get(list).and_then(Json::as_array).into_iter().flatten();
            items.map(|item| item.get(field).unwrap_or(item).as_str().unwrap_or("").to_owned()).collect()
        };
        let names: Vec<&str> = list.iter().filter_map(|c| c.get("name").and_then(Json::as_str)).collect();
        let workflow = items(spec.get("workflow").and_then(|workflow| workflow.get("steps")));
        let steps = workflow.iter().flat_map(|step| std::iter::once(step).chain(items(step.get("subSteps"))));
        let givers = list.iter().chain(steps);
        let outputs: Vec<String> = givers.flat_map(|giver| texts(giver, "outputs", "name")).collect();
        for (index, component) in list.iter().enumerate() {
            let name = component.get("name").and_then(Json::as_str).unwrap_or("");
            for (number, wanted) in texts(component, "dependsOn", "").iter().enumerate() {
                if !wanted.is_empty() && !names.contains(&wanted.as_str()) {
                    let hint = nearest::advice(wanted, "components", names.iter().copied());
                    let message = format!("component {name:?} depends on {wanted:?}, which does not exist");
                    let path = format!("spec.components[{index}].dependsOn[{number}]");
                    self.error(Code::UnknownReference, &path, message, hint);
                }
            }
            for (number, from) in texts(component, "inputs", "from").iter().enumerate() {
                if !from.is_empty() && !outputs.contains(from) {
                    let hint = nearest::advice(from, "outputs", outputs.iter().map(String::as_str));
                    let message = format!("no component and no workflow step has an output named {from:?}");
                    let path = format!("spec.components[{index}].inputs[{number}].from");
                    self.error(Code::UnknownReference, &path, message, hint);
                }
            }
        }
    }
}

/// The items of a list; none where it is no list.
fn items(value: Option<&Json>) -> &[Json] {
    value.and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// Does a trait apply to a component? A list entry is `*`, a resource name, `*.group` or a component type.
fn applies(definition: &Definition, component: &Definition, component_type: &str) -> bool {
    let allowed = definition.applies_to();
    // A component type that detects its workload may be anything.
    let resource = component.workload_type().filter(|name| !name.starts_with("autodetects."));
    let Some(resource) = resource else { return true };
    let group = resource.split_once('.').map_or("", |(_, group)| group);
    allowed.is_empty()
        || allowed.iter().any(|entry| {
            *entry == "*"
                || *entry == resource
                || *entry == component_type
                || *entry == component.name()
                || entry.strip_prefix("*.").is_some_and(|allowed_group| allowed_group == group)
        })
}
