//! Who a client is, as the API server tells it by a SelfSubjectReview. Decides nothing about it.

use std::time::Duration;

use kube::Client;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use vela_runtime::Api;

use crate::error::Error;

/// The API server answers within this time.
const LONGEST: Duration = Duration::from_secs(5);
/// The user of a cluster older than Kubernetes 1.28, which has no such review.
const UNNAMED: &str = "(a user whom this cluster does not name)";
/// The user of a cluster that did not answer.
const UNKNOWN: &str = "(unknown: the cluster did not say)";

/// The name of the user whose rights a client has.
#[derive(Debug, Default)]
pub(crate) struct Identity(OnceCell<String>);

impl Identity {
    /// One that was asked for before.
    pub(crate) fn known(name: String) -> Self {
        Self(OnceCell::new_with(Some(name)))
    }

    /// The name, for an audit line: it is asked for once, and again only where the cluster did not answer.
    pub(crate) async fn name(&self, client: &Client) -> String {
        let name = self.0.get_or_try_init(|| ask(client)).await;
        name.map_or_else(|_| UNKNOWN.to_owned(), Clone::clone)
    }
}

/// The name of the user whose rights the client has.
pub(crate) async fn ask(client: &Client) -> Result<String, Error> {
    let kind = GroupVersionKind::gvk("authentication.k8s.io", "v1", "SelfSubjectReview");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let review = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {}});
    let review: DynamicObject = serde_json::from_value(review)
        .map_err(|error| Error::Unreadable(format!("the review cannot be written: {error}")))?;
    match tokio::time::timeout(LONGEST, api.create(&PostParams::default(), &review)).await {
        Err(_) => Err(Error::Timeout(LONGEST.as_secs())),
        Ok(Ok(review)) => {
            let name = review.data.pointer("/status/userInfo/username").and_then(Value::as_str);
            Ok(name.unwrap_or(UNNAMED).to_owned())
        }
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Ok(UNNAMED.to_owned()),
        Ok(Err(error)) => Err(Error::cluster("the name of the user")(error)),
    }
}
