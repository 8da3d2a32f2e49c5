//! What the REST API of early 2021 said, of the objects of today: environments, applications and types in its own words.

use std::cmp::Reverse;

use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vela_crds::{annotations, labels};
use vela_engine::definition::record;
use vela_engine::parameters::{Parameter, Parameters, parameters};
use vela_engine::{Definition, DefinitionKind, names};
use vela_runtime::Api;

use crate::commands;
use crate::data::applications::{Component, Summary};
use crate::data::health::Health;
use crate::error::Error;

/// The label that makes a namespace an environment, and that with its name.
const USAGE: &str = "usage.oam.dev/control-plane=env";
const NAME: &str = "namespace.oam.dev/env";
/// The environment that every cluster has, in the namespace of that name.
pub(crate) const DEFAULT: &str = "default";
/// Characters of the name of an environment, and of its namespace.
const NAME_AT_MOST: usize = 32;
/// Objects of one kind that are listed.
const LISTED_AT_MOST: u32 = 1_000;

/// A successful answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// 200.
    pub(crate) code: u16,
    /// What was asked for.
    pub(crate) data: Value,
}

impl Answer {
    /// The answer that holds this.
    pub(crate) fn of(data: impl Serialize) -> Self {
        Self { code: 200, data: serde_json::to_value(data).unwrap_or_default() }
    }
}

/// An environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Environment {
    env_name: String,
    pub(crate) namespace: String,
    email: &'static str,
    domain: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    current: &'static str,
}

/// An environment that shall be.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewEnvironment {
    /// Its name.
    #[schemars(length(min = 1, max = 32))]
    env_name: String,
    /// Its namespace.
    #[schemars(length(min = 1, max = 32))]
    namespace: String,
    /// Read, and not kept.
    #[serde(default)]
    email: String,
    /// Read, and not kept.
    #[serde(default)]
    domain: String,
    /// Read, and not kept.
    #[serde(default)]
    current: String,
}

impl NewEnvironment {
    /// The environment, if both can be names.
    pub(crate) fn wanted(self) -> Result<commands::Environment, Error> {
        is_name("envName", &self.env_name)?;
        is_name("namespace", &self.namespace)?;
        Ok(commands::Environment { name: self.env_name, namespace: self.namespace })
    }
}

/// What becomes of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ChangedEnvironment {
    /// Its namespace.
    #[schemars(length(min = 1, max = 32))]
    namespace: String,
    /// Its name, which stays as the path has it.
    #[serde(default)]
    env_name: Option<String>,
    /// Read, and not kept.
    #[serde(default)]
    email: String,
    /// Read, and not kept.
    #[serde(default)]
    domain: String,
    /// Read, and not kept.
    #[serde(default)]
    current: String,
}

impl ChangedEnvironment {
    /// The environment `name` as it shall be.
    pub(crate) fn wanted(self, name: &str) -> Result<commands::Environment, Error> {
        is_name("namespace", &self.namespace)?;
        match self.env_name {
            Some(other) if other != name => Err(Error::Invalid(format!(
                "envName: the body says {other:?} and the path {name:?}; write the same in both, for an environment keeps its \
                 name"
            ))),
            _ => Ok(commands::Environment { name: name.to_owned(), namespace: self.namespace }),
        }
    }
}

/// Whether a field can be the name of an environment or of its namespace.
fn is_name(field: &str, given: &str) -> Result<(), Error> {
    if names::is_label(given) && given.len() <= NAME_AT_MOST {
        return Ok(());
    }
    let given: String = given.chars().take(100).collect();
    Err(Error::Invalid(format!(
        "{field}: {given:?} cannot be one: write lower-case letters, digits and inner '-', at most {NAME_AT_MOST} of them"
    )))
}

/// An application, alone or with its components.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ApplicationMeta {
    name: String,
    status: String,
    created_time: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    components: Vec<ComponentMeta>,
}

/// A component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ComponentMeta {
    name: String,
    status: &'static str,
    workload_name: String,
    traits_names: Vec<String>,
    app: String,
    created_time: String,
}

/// A type that people can use.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Capability {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    applies_to: Vec<String>,
    /// The center that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    center: Option<String>,
    status: &'static str,
}

/// The environments of a cluster, or the one of this name; `current` is the namespace of the one that is marked. A client that
/// may not list namespaces has the one environment that every cluster has.
pub(crate) async fn environments(
    client: &Client,
    current: &str,
    name: Option<&str>,
) -> Result<Vec<Environment>, Error> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace"));
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let listed = match api.list(&ListParams::default().labels(USAGE).limit(LISTED_AT_MOST)).await {
        Ok(listed) => listed.items,
        Err(kube::Error::Api(status)) if status.code == 403 => Vec::new(),
        Err(error) => return Err(Error::cluster("the environments")(error)),
    };
    let marked = listed.iter().filter_map(|namespace| {
        let name = namespace.labels().get(NAME).filter(|name| !name.is_empty())?;
        Some((name.clone(), namespace.name_any()))
    });
    let mut all: Vec<(String, String)> = marked.collect();
    if !all.iter().any(|(name, _)| name == DEFAULT) {
        all.insert(0, (DEFAULT.to_owned(), DEFAULT.to_owned()));
    }
    let environment = |(env_name, namespace): (String, String)| Environment {
        current: if current == namespace { "*" } else { "" },
        env_name,
        namespace,
        email: "",
        domain: "",
    };
    let is_wanted = |one: &Environment| name.is_none_or(|name| name == one.env_name);
    let found: Vec<Environment> = all.into_iter().map(environment).filter(is_wanted).collect();
    match name {
        Some(name) if found.is_empty() => Err(Error::NotFound(format!("env {name} not exist"))),
        _ => Ok(found),
    }
}

/// Applications, newest first.
pub(crate) fn applications(items: &[Summary]) -> Value {
    let mut all: Vec<ApplicationMeta> = items.iter().map(|one| meta(one, Vec::new())).collect();
    all.sort_by_key(|one| (Reverse(one.created_time.clone()), one.name.clone()));
    json!(all)
}

/// One application with its components.
pub(crate) fn application(summary: &Summary) -> Value {
    let components = summary.components.iter().map(|one| component_meta(summary, one)).collect();
    json!(meta(summary, components))
}

/// One component of an application.
pub(crate) fn component(summary: &Summary, name: &str) -> Result<Value, Error> {
    let found = summary.components.iter().find(|component| component.name == name);
    let found = found.map(|component| json!(component_meta(summary, component)));
    found.ok_or_else(|| {
        Error::NotFound(format!("the application {} has no component {name:?}", summary.metadata.name))
    })
}

/// The components of a stored application without the one of this name.
pub(crate) fn without_component(application: &Value, name: &str) -> Result<Value, Error> {
    let app = application["metadata"]["name"].as_str().unwrap_or_default();
    let all = application["spec"]["components"].as_array().map(Vec::as_slice).unwrap_or_default();
    let rest: Vec<&Value> = all.iter().filter(|component| component["name"] != name).collect();
    if rest.len() == all.len() {
        return Err(Error::NotFound(format!("the application {app} has no component {name:?}")));
    }
    if rest.is_empty() {
        return Err(Error::Refused(format!(
            "{name} is the only component of {app}, and an application without one is none; delete the application instead"
        )));
    }
    Ok(json!(rest))
}

fn meta(summary: &Summary, components: Vec<ComponentMeta>) -> ApplicationMeta {
    ApplicationMeta {
        name: summary.metadata.name.clone(),
        status: summary.phase.clone(),
        created_time: summary.metadata.creation_timestamp.clone(),
        components,
    }
}

fn component_meta(summary: &Summary, component: &Component) -> ComponentMeta {
    ComponentMeta {
        name: component.name.clone(),
        status: match component.health {
            Health::Healthy => "True",
            Health::Unknown => "Unknown",
            Health::Progressing | Health::Unhealthy | Health::Missing => "False",
        },
        workload_name: component.component_type.clone(),
        traits_names: component.traits.clone(),
        app: summary.metadata.name.clone(),
        created_time: summary.metadata.creation_timestamp.clone(),
    }
}

/// The types of a kind in these namespaces; of namesakes the first.
pub(crate) async fn types(
    client: &Client,
    namespaces: &[&str],
    kind: DefinitionKind,
) -> Result<Vec<Value>, Error> {
    let mut found: Vec<Capability> = Vec::new();
    for namespace in namespaces {
        let params = ListParams::default().limit(LISTED_AT_MOST);
        let listed = api(client, kind, namespace).list(&params).await;
        for object in listed.map_err(Error::cluster("the definitions"))?.items {
            if !found.iter().any(|known| known.name == object.name_any()) {
                found.push(capability(kind, &object));
            }
        }
    }
    Ok(found.iter().map(|one| json!(one)).collect())
}

/// A type as it is listed.
pub(crate) fn shown(kind: DefinitionKind, object: &DynamicObject) -> Value {
    json!(capability(kind, object))
}

/// One type with its parameters.
pub(crate) async fn type_of(
    client: &Client,
    namespaces: &[&str],
    kind: DefinitionKind,
    name: &str,
) -> Result<Value, Error> {
    let object = definition(client, namespaces, &[kind], name).await?;
    let mut shown = capability(kind, &object);
    let parameters = taken(kind, &object).await?;
    shown.parameters = Some(json!(parameters_of(&parameters)));
    Ok(json!(shown))
}

/// The parameters that a type takes, which is of the first of these kinds that has one of its name.
pub(crate) async fn parameters_of_type(
    client: &Client,
    namespaces: &[&str],
    kinds: &[DefinitionKind],
    name: &str,
) -> Result<Vec<Parameter>, Error> {
    let object = definition(client, namespaces, kinds, name).await?;
    let kind = kind_of(&object, kinds);
    Ok(taken(kind, &object).await?.root.children)
}

/// Which of these kinds a definition is.
fn kind_of(object: &DynamicObject, kinds: &[DefinitionKind]) -> DefinitionKind {
    let found = kinds.iter().find(|kind| object.types.as_ref().is_some_and(|of| of.kind == kind.kind()));
    found.copied().unwrap_or(DefinitionKind::Component)
}

async fn taken(kind: DefinitionKind, object: &DynamicObject) -> Result<Parameters, Error> {
    let (read, name) = (read(kind, object)?, object.name_any());
    // Templates of strangers may take long to read, and other requests must not wait for that.
    let parameters = tokio::task::spawn_blocking(move || parameters(&read)).await;
    parameters.map_err(|_| Error::Unreadable(format!("{name:?} could not be read")))
}

/// The OpenAPI schema of the parameters of a component type or a trait, as a text.
pub(crate) async fn schema(client: &Client, namespaces: &[&str], name: &str) -> Result<Value, Error> {
    let kinds = [DefinitionKind::Component, DefinitionKind::Trait, DefinitionKind::Workload];
    let object = definition(client, namespaces, &kinds, name).await?;
    let read = read(kind_of(&object, &kinds), &object)?;
    let schema = tokio::task::spawn_blocking(move || record::schema(&read)).await;
    let schema = schema.map_err(|_| Error::Unreadable(format!("{name:?} could not be read")))?;
    let schema = schema.ok_or_else(|| Error::Unreadable("OpenAPI v3 JSON Schema is not ready".to_owned()))?;
    Ok(Value::from(schema.to_string()))
}

/// The definition of this name, of the first kind and namespace that has one.
async fn definition(
    client: &Client,
    namespaces: &[&str],
    kinds: &[DefinitionKind],
    name: &str,
) -> Result<DynamicObject, Error> {
    for kind in kinds {
        for namespace in namespaces {
            let found = api(client, *kind, namespace).get_opt(name).await;
            if let Some(mut object) = found.map_err(Error::cluster("a definition"))? {
                object.types = Some(kube::api::TypeMeta {
                    api_version: format!("{}/v1beta1", vela_crds::GROUP),
                    kind: kind.kind().to_owned(),
                });
                return Ok(object);
            }
        }
    }
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.kind()).collect();
    Err(Error::NotFound(format!("there is no {} {name:?}", kinds.join(" or "))))
}

fn api(client: &Client, kind: DefinitionKind, namespace: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(vela_crds::GROUP, "v1beta1", kind.kind()));
    Api::namespaced_with(client.clone(), namespace, &resource)
}

fn read(kind: DefinitionKind, object: &DynamicObject) -> Result<Definition, Error> {
    let mut object = json!(object);
    object["apiVersion"] = json!(format!("{}/v1beta1", vela_crds::GROUP));
    object["kind"] = json!(kind.kind());
    Definition::from_object(object).map_err(|finding| Error::Unreadable(finding.to_string()))
}

fn capability(kind: DefinitionKind, object: &DynamicObject) -> Capability {
    let description = object.annotations().get(annotations::DEFINITION_DESCRIPTION);
    let applies_to = object.data["spec"]["appliesToWorkloads"].as_array().into_iter().flatten();
    Capability {
        name: object.name_any(),
        kind: match kind {
            DefinitionKind::Component => "componentType",
            DefinitionKind::Workload => "workload",
            DefinitionKind::Scope => "scope",
            _ => "trait",
        },
        description: description.map_or("description not defined", String::as_str).replace('\n', " "),
        parameters: None,
        applies_to: applies_to.filter_map(|one| one.as_str().map(str::to_owned)).collect(),
        center: object.labels().get(labels::CAPABILITY_CENTER).cloned(),
        status: "installed",
    }
}

fn parameters_of(found: &Parameters) -> Vec<Value> {
    let field = |one: &Parameter| {
        json!({"name": one.name, "usage": one.description, "default": one.default, "required": one.required,
            "type": one.type_})
    };
    found.root.children.iter().map(field).collect()
}
