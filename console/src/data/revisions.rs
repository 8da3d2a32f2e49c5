//! The revisions of an application, and the fields in which two of them differ.

use std::collections::BTreeSet;

use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use vela_crds::{annotations, labels};
use vela_engine::diff::diff;
use vela_runtime::Api;

use crate::data::secrets;
use crate::error::Error;

/// Revisions of one page of a list: each carries its definitions, so few at once.
const PAGE: u32 = 50;
/// Revisions of one application that are shown.
const REVISIONS_AT_MOST: usize = 500;
/// Fields of a difference that are shown.
const FIELDS_AT_MOST: usize = 1_000;
/// What revisions hold beside the application.
const DEFINITIONS: [&str; 5] = [
    "componentDefinitions",
    "workloadDefinitions",
    "traitDefinitions",
    "policyDefinitions",
    "workflowStepDefinitions",
];

/// A revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Revision {
    /// Its name.
    pub(crate) name: String,
    /// When it was made.
    pub(crate) created: String,
    /// The version that it was published as; empty where it was not.
    pub(crate) publish_version: String,
    /// Whether its workflow succeeded; absent where no controller recorded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) succeeded: Option<bool>,
}

/// Revisions, and whether they are all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RevisionList {
    /// The revisions, newest first.
    pub(crate) items: Vec<Revision>,
    /// There are more than are shown.
    pub(crate) truncated: bool,
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Field {
    /// Its path.
    pub(crate) path: String,
    /// Its value before; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<Value>,
    /// Its value after; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<Value>,
}

/// How two revisions differ.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Comparison {
    /// The revision before.
    pub(crate) from: String,
    /// The revision after.
    pub(crate) to: String,
    /// Fields of the application's spec.
    pub(crate) fields: Vec<Field>,
    /// Definitions that differ, such as `traitDefinitions/scaler`.
    pub(crate) definitions: Vec<String>,
    /// More fields differ than are shown.
    pub(crate) truncated: bool,
}

fn api(client: &Client, namespace: &str) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk(vela_crds::GROUP, "v1beta1", "ApplicationRevision");
    Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk(&gvk))
}

/// The number behind the name, by which revisions are counted.
fn number(name: &str) -> u64 {
    name.rsplit_once("-v").and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

/// Those of an application.
pub(crate) async fn list(client: &Client, namespace: &str, application: &str) -> Result<RevisionList, Error> {
    let api = api(client, namespace);
    let mut params = ListParams::default().labels(&format!("{}={application}", labels::APP_NAME)).limit(PAGE);
    let mut list = RevisionList::default();
    loop {
        let page = api.list(&params).await.map_err(Error::cluster("the revisions"))?;
        list.items.extend(page.items.iter().map(revision));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(_) if list.items.len() >= REVISIONS_AT_MOST => {
                list.truncated = true;
                break;
            }
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    list.items.sort_by_key(|revision| std::cmp::Reverse(number(&revision.name)));
    Ok(list)
}

fn revision(object: &DynamicObject) -> Revision {
    let created = object.metadata.creation_timestamp.as_ref().map(|time| time.0.to_string());
    Revision {
        name: object.name_any(),
        created: created.unwrap_or_default(),
        publish_version: object.annotations().get(annotations::PUBLISH_VERSION).cloned().unwrap_or_default(),
        succeeded: object.data.pointer("/status/succeeded").and_then(Value::as_bool),
    }
}

/// How two revisions of an application differ.
pub(crate) async fn compare(
    client: &Client,
    namespace: &str,
    application: &str,
    from: &str,
    to: &str,
) -> Result<Comparison, Error> {
    let (old, new) = futures::future::try_join(
        content(client, namespace, application, from),
        content(client, namespace, application, to),
    )
    .await?;
    let mut fields: Vec<Field> = diff(&old["application"]["spec"], &new["application"]["spec"])
        .into_iter()
        .map(|difference| Field { path: difference.path, from: difference.old, to: difference.new })
        .collect();
    let truncated = fields.len() > FIELDS_AT_MOST;
    fields.truncate(FIELDS_AT_MOST);
    let mut definitions = Vec::new();
    for list in DEFINITIONS {
        let names = |revision: &Value| -> BTreeSet<String> {
            revision[list].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
        };
        for name in names(&old).union(&names(&new)) {
            if old[list][name]["spec"] != new[list][name]["spec"] {
                definitions.push(format!("{list}/{name}"));
            }
        }
    }
    Ok(Comparison { from: from.to_owned(), to: to.to_owned(), fields, definitions, truncated })
}

/// What a revision holds, without what is confidential.
async fn content(client: &Client, namespace: &str, application: &str, name: &str) -> Result<Value, Error> {
    let found = api(client, namespace).get_opt(name).await.map_err(Error::cluster("a revision"))?;
    let is_of = |revision: &DynamicObject| {
        revision.labels().get(labels::APP_NAME).is_some_and(|of| of == application)
    };
    let Some(mut revision) = found.filter(is_of) else {
        return Err(Error::NotFound(format!("application {application:?} has no revision {name:?}")));
    };
    let mut spec = revision.data["spec"].take();
    if spec.pointer("/application/spec").is_none() {
        return Err(Error::Unreadable(format!(
            "revision {name:?} does not say what the application was: it is compressed, or of another writer"
        )));
    }
    secrets::hide(&mut spec);
    Ok(spec)
}
