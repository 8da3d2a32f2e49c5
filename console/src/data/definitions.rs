//! The types that people can use, and the parameters of one.

use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use vela_crds::annotations;
use vela_engine::parameters::{Parameters, parameters};
use vela_engine::{Definition as Read, DefinitionKind};
use vela_runtime::Api;

use crate::error::Error;

/// Definitions of one page of a list.
const PAGE: u32 = 500;
/// Definitions that are listed.
const DEFINITIONS_AT_MOST: usize = 5_000;
/// The types of components, as paths have them.
pub(crate) const COMPONENTS: &str = "componentdefinitions";
/// The kinds that people name.
const KINDS: [DefinitionKind; 5] = [
    DefinitionKind::Component,
    DefinitionKind::Trait,
    DefinitionKind::Workload,
    DefinitionKind::Policy,
    DefinitionKind::WorkflowStep,
];

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Definition {
    /// Of which kind, as paths have it: `componentdefinitions`.
    pub(crate) kind: String,
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name, which people write after `type:`.
    pub(crate) name: String,
    /// What it is for.
    pub(crate) description: String,
}

/// Types, and whether they are all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct DefinitionList {
    /// The types.
    pub(crate) items: Vec<Definition>,
    /// There are more than are shown.
    pub(crate) truncated: bool,
}

/// A type with what it takes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "DefinitionWithParameters")]
pub(crate) struct Described {
    /// The type.
    pub(crate) definition: Definition,
    /// What it takes, as a tree: name, type, description, default, required, parameters.
    #[schemars(with = "Value")]
    pub(crate) parameters: Parameters,
}

/// The kind as paths have it.
fn plural(kind: DefinitionKind) -> String {
    format!("{}s", kind.kind().to_lowercase())
}

fn api(client: &Client, kind: DefinitionKind, namespace: Option<&str>) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(vela_crds::GROUP, "v1beta1", kind.kind()));
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

fn definition(kind: DefinitionKind, object: &DynamicObject) -> Definition {
    Definition {
        kind: plural(kind),
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
        description: object
            .annotations()
            .get(annotations::DEFINITION_DESCRIPTION)
            .cloned()
            .unwrap_or_default(),
    }
}

/// Those of a namespace, or all.
pub(crate) async fn list(client: &Client, namespace: Option<&str>) -> Result<DefinitionList, Error> {
    let mut list = DefinitionList::default();
    for kind in KINDS {
        let api = api(client, kind, namespace);
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = api.list(&params).await.map_err(Error::cluster("the definitions"))?;
            list.items.extend(page.items.iter().map(|object| definition(kind, object)));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(_) if list.items.len() >= DEFINITIONS_AT_MOST => {
                    list.truncated = true;
                    return Ok(list);
                }
                Some(token) => params = params.continue_token(&token),
                None => break,
            }
        }
    }
    Ok(list)
}

/// One of them with what it takes.
pub(crate) async fn get(
    client: &Client,
    namespace: &str,
    kind: &str,
    name: &str,
) -> Result<Described, Error> {
    let Some(known) = KINDS.into_iter().find(|known| plural(*known) == kind) else {
        let all: Vec<String> = KINDS.into_iter().map(plural).collect();
        return Err(Error::NotFound(format!(
            "{kind:?} is no kind of definition; there are {}",
            all.join(", ")
        )));
    };
    let found =
        api(client, known, Some(namespace)).get_opt(name).await.map_err(Error::cluster("a definition"))?;
    let Some(object) = found else {
        return Err(Error::NotFound(format!(
            "there is no {} {name:?} in namespace {namespace:?}",
            known.kind()
        )));
    };
    let definition = definition(known, &object);
    let mut object = json!(object);
    object["apiVersion"] = json!(format!("{}/v1beta1", vela_crds::GROUP));
    object["kind"] = json!(known.kind());
    // Templates of strangers may take long to read, and other requests must not wait for that.
    let read = tokio::task::spawn_blocking(move || Read::from_object(object).map(|read| parameters(&read)));
    match read.await {
        Ok(Ok(parameters)) => Ok(Described { definition, parameters }),
        Ok(Err(finding)) => Err(Error::Unreadable(finding.to_string())),
        Err(_) => Err(Error::Unreadable(format!("the definition {name:?} could not be read"))),
    }
}
