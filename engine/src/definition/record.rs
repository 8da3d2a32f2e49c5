//! Builds the objects that keep and describe a definition: its revision, the schema of its parameters, its workload
//! kind.

use serde_json::{Map, Value as Json, json};
use vela_crds::{annotations, labels};
use vela_cue::ast::File;
use vela_cue::export::openapi::{self, DescriptionMarkers};
use vela_cue::source::Sources;
use vela_cue::{Source, parser};

use super::{Definition, DefinitionKind, KubeParameter, Language, immutable, version};
use crate::previous::Previous;

/// Where the comments of a parameter describe it to people, as KubeVela's definitions write it.
const USAGE: Option<DescriptionMarkers> = Some(DescriptionMarkers { before: "+usage=", behind: "+short" });

/// Key of the schema in its ConfigMap.
pub const SCHEMA_KEY: &str = "openapi-v3-json-schema";

/// Number and hash of the revision that holds the present content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionRevision {
    /// `<definition>-vN`, or with the version that the definition names.
    pub name: String,
    /// N.
    pub number: u64,
    /// Hash of the content.
    pub hash: String,
}

/// The version that the definition names itself: a semantic one in its spec, or any in the annotation.
pub fn named_version(definition: &Definition) -> Option<&str> {
    let version = definition.text(&["version"]);
    let annotation = || {
        let all = definition.object().pointer("/metadata/annotations")?;
        all.get(annotations::DEFINITION_REVISION_NAME)?.as_str()
    };
    match version {
        "" => annotation().filter(|name| version::parse_reference(&format!("x@v{name}")).is_some()),
        version => version::is_complete(version).then_some(version),
    }
}

/// Names the content: the latest revision if that holds it, the next number otherwise. A definition that names its
/// version gives the revision that name.
pub fn revision(definition: &Definition, latest: Option<&Previous>) -> DefinitionRevision {
    let hash = short(definition);
    let number = match latest {
        Some(latest) if latest.hash == hash => latest.number,
        Some(latest) => latest.number.saturating_add(1),
        None => 1,
    };
    let version = named_version(definition).map_or_else(|| number.to_string(), str::to_owned);
    DefinitionRevision { name: format!("{}-v{version}", definition.name()), number, hash }
}

/// Does a stored revision keep just this content? Its hash may be another one where a foreign controller cut it.
pub fn keeps(revision: &str, spec: &Json, definition: &Definition, hash: &str) -> bool {
    let Some(kept) = version::of_revision(revision, spec) else { return false };
    let computed = || Definition::from_object(kept.definition.clone()).is_ok_and(|kept| short(&kept) == hash);
    let same = || spec.get("revisionHash").and_then(Json::as_str) == Some(hash) || computed();
    kept.kind == definition.kind() && kept.name == definition.name() && same()
}

/// The message for a released version that is to get another content.
pub fn conflict(version: &str, revision: &str) -> String {
    format!(
        "version {version} is kept with another content by DefinitionRevision {revision}, which never changes: \
         give the changed definition a new version"
    )
}

fn short(definition: &Definition) -> String {
    definition.hash().chars().take(16).collect()
}

/// Label that says of which definition a revision is, by kind; nothing for kinds without revisions.
pub fn name_label(kind: DefinitionKind) -> Option<&'static str> {
    match kind {
        DefinitionKind::Component => Some(labels::COMPONENT_DEFINITION_NAME),
        DefinitionKind::Trait => Some(labels::TRAIT_DEFINITION_NAME),
        DefinitionKind::Policy => Some(labels::POLICY_DEFINITION_NAME),
        DefinitionKind::WorkflowStep => Some(labels::WORKFLOW_STEP_DEFINITION_NAME),
        DefinitionKind::Workload | DefinitionKind::Scope => None,
    }
}

/// The DefinitionRevision object that keeps the content.
pub fn revision_object(definition: &Definition, revision: &DefinitionRevision) -> Json {
    let metadata = definition.object().get("metadata");
    let kept = ["name", "namespace", "labels", "annotations"].into_iter().filter_map(|key| {
        metadata.and_then(|metadata| metadata.get(key)).map(|value| (key.to_owned(), value.clone()))
    });
    let frozen = json!({
        "apiVersion": definition.object().get("apiVersion"),
        "kind": definition.kind().kind(),
        "metadata": Json::Object(kept.collect()),
        "spec": definition.spec(),
    });
    let (type_, field) = match definition.kind() {
        DefinitionKind::Trait => ("Trait", "traitDefinition"),
        DefinitionKind::Policy => ("Policy", "policyDefinition"),
        DefinitionKind::WorkflowStep => ("WorkflowStep", "workflowStepDefinition"),
        _ => ("Component", "componentDefinition"),
    };
    let mut all = metadata
        .and_then(|metadata| metadata.get("labels"))
        .and_then(Json::as_object)
        .cloned()
        .unwrap_or_default();
    if let Some(label) = name_label(definition.kind()) {
        all.insert(label.to_owned(), json!(definition.name()));
    }
    json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "DefinitionRevision",
        "metadata": {
            "name": revision.name,
            "namespace": metadata.and_then(|metadata| metadata.get("namespace")),
            "labels": all,
            "ownerReferences": [owner(definition.object())],
        },
        "spec": {
            "revision": revision.number,
            "revisionHash": revision.hash,
            "definitionType": type_,
            field: frozen,
        },
    })
}

/// The ConfigMap `schema-<name>` of an owner: the definition, or one of its revisions.
pub fn schema_object(owned_by: &Json, schema: &Json) -> Json {
    let name = owned_by.pointer("/metadata/name").and_then(Json::as_str).unwrap_or("");
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": format!("schema-{name}"),
            "namespace": owned_by.pointer("/metadata/namespace"),
            "labels": {labels::DEFINITION: "schema"},
            "ownerReferences": [owner(owned_by)],
        },
        "data": {SCHEMA_KEY: schema.to_string()},
    })
}

/// The WorkloadDefinition of a component type whose workload kind is this resource.
pub fn workload_object(definition: &Definition, resource: &str, version: &str) -> Json {
    let mut spec = json!({"definitionRef": {"name": resource, "version": version}});
    for field in ["childResourceKinds", "revisionLabel", "podSpecPath"] {
        if let Some(value) = definition.spec().get(field).filter(|value| !value.is_null()) {
            spec[field] = value.clone();
        }
    }
    json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "WorkloadDefinition",
        "metadata": {
            "name": definition.name(),
            "namespace": definition.object().pointer("/metadata/namespace"),
            "ownerReferences": [owner(definition.object())],
        },
        "spec": spec,
    })
}

/// The WorkloadDefinition of a resource, for all component types of it.
pub fn shared_workload_object(namespace: &str, resource: &str, version: &str) -> Json {
    json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "WorkloadDefinition",
        "metadata": {"name": resource, "namespace": namespace},
        "spec": {"definitionRef": {"name": resource, "version": version}},
    })
}

fn owner(object: &Json) -> Json {
    json!({
        "apiVersion": object.get("apiVersion"),
        "kind": object.get("kind"),
        "name": object.pointer("/metadata/name"),
        "uid": object.pointer("/metadata/uid"),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// The OpenAPI schema of the parameters; nothing where the template's language declares none.
pub fn schema(definition: &Definition) -> Option<Json> {
    match definition.language() {
        Language::Cue(text) => {
            let mut schema = openapi::schema_of_field(&[parsed(definition, text)], "parameter", USAGE);
            immutable::mark(&mut schema, &definition.immutable_parameters());
            Some(schema)
        }
        Language::Kube { parameters, .. } => Some(kube_schema(parameters)),
        _ => None,
    }
}

/// The same for people: alternatives say their types.
pub(crate) fn typed_schema(definition: &Definition) -> Option<Json> {
    match definition.language() {
        Language::Cue(text) => {
            Some(openapi::typed_schema_of_field(&[parsed(definition, text)], "parameter", USAGE))
        }
        _ => schema(definition),
    }
}

fn parsed(definition: &Definition, text: &str) -> File {
    let source = Source::new(definition.title(), text);
    let id = Sources::default().add(source.clone());
    parser::parse(&source, id).0
}

fn kube_schema(parameters: &[KubeParameter]) -> Json {
    let property = |parameter: &KubeParameter| {
        let schema = json!({"type": parameter.value_type, "title": parameter.name});
        (parameter.name.clone(), schema)
    };
    let properties: Map<String, Json> = parameters.iter().map(property).collect();
    let required: Vec<&str> =
        parameters.iter().filter(|parameter| parameter.required).map(|p| p.name.as_str()).collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(image: &str) -> Definition {
        let template = format!("parameter: {{\n\t// +usage=What to run\n\timage: *\"{image}\" | string\n}}");
        let object = json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
            "metadata": {"name": "web", "namespace": "ns", "uid": "1", "labels": {"a": "b"}},
            "spec": {"schematic": {"cue": {"template": template}}, "podSpecPath": "spec.template.spec"},
        });
        Definition::from_object(object).unwrap_or_else(|error| unreachable!("{error}"))
    }

    #[test]
    fn a_revision_is_cut_when_the_content_changes() {
        let first = revision(&definition("nginx:1"), None);
        assert_eq!((first.name.as_str(), first.number), ("web-v1", 1));
        let latest = Previous { number: 1, hash: first.hash.clone() };
        assert_eq!(revision(&definition("nginx:1"), Some(&latest)), first);
        assert_eq!(revision(&definition("nginx:2"), Some(&latest)).name, "web-v2");
        let object = revision_object(&definition("nginx:1"), &first);
        assert_eq!(
            object["metadata"]["labels"],
            json!({"a": "b", "componentdefinition.oam.dev/name": "web"})
        );
        assert_eq!(object["spec"]["componentDefinition"]["metadata"]["name"], "web");
        assert!(object["spec"]["componentDefinition"]["metadata"]["uid"].is_null());
    }

    #[test]
    fn the_schema_tells_the_parameters() {
        let definition = definition("nginx:1");
        let schema = schema(&definition).unwrap_or_default();
        assert_eq!(schema["properties"]["image"]["default"], "nginx:1");
        assert_eq!(schema["properties"]["image"]["description"], "What to run");
        let object = schema_object(definition.object(), &schema);
        assert_eq!(object["metadata"]["name"], "schema-web");
        assert_eq!(object["data"][SCHEMA_KEY], schema.to_string());
        let workload = workload_object(&definition, "deployments.apps", "v1");
        assert_eq!(workload["spec"]["definitionRef"], json!({"name": "deployments.apps", "version": "v1"}));
        assert_eq!(workload["spec"]["podSpecPath"], "spec.template.spec");
    }
}
