//! A review of a pod → its answer. Reads what has a say of the cluster, and never refuses a pod: what goes wrong is a warning.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use vela_crds::goharbor_io::{GROUP, VERSION};
use vela_runtime::Api;
use vela_runtime::webhook::{Admission, AdmissionReview, Reply};

use super::super::namespace;
use super::choice::{self, Choice, Facts};
use super::rewrite::{Rewritten, rewrite};

/// HarborServerConfigurations of a cluster at most.
const SERVERS_AT_MOST: u32 = 500;
/// Warnings about one pod at most; each stands in the answer to its author.
const WARNINGS_AT_MOST: usize = 10;

/// Rewrites the images of pods that are made.
pub(crate) struct Rewriting {
    client: kube::Client,
}

/// What has a say cannot be known.
#[derive(Debug, thiserror::Error)]
enum Unknown {
    #[error("what decides about its images cannot be read: {0}")]
    Client(#[from] kube::Error),
    #[error("the cluster has more than {SERVERS_AT_MOST} HarborServerConfigurations: delete some")]
    TooMany,
}

impl Rewriting {
    /// By what this cluster says.
    pub(crate) fn new(client: kube::Client) -> Self {
        Self { client }
    }

    /// The answer to these bytes.
    pub(crate) async fn answer(&self, bytes: &[u8]) -> Reply {
        let review = match AdmissionReview::read(bytes) {
            Ok(review) => review,
            Err(error) => return Reply::failure(400, error.to_string()),
        };
        let Rewritten { patch, mut warnings } = self.rewritten(&review).await;
        let (namespace, pod) = (&review.request()["namespace"], &review.request()["name"]);
        warnings.truncate(WARNINGS_AT_MOST);
        for warning in &warnings {
            tracing::warn!(%namespace, %pod, "an image stays as it is: {warning}");
        }
        let patch = (!patch.is_empty()).then(|| patch.into());
        let admission = Admission::Admitted { patch, warnings };
        review.reply(&admission).unwrap_or_else(|error| Reply::failure(500, error.to_string()))
    }

    async fn rewritten(&self, review: &AdmissionReview) -> Rewritten {
        let namespace = review.request()["namespace"].as_str().unwrap_or_default();
        let facts = match self.facts(namespace).await {
            Ok(Some(facts)) => facts,
            Ok(None) => return Rewritten::default(),
            Err(error) => return Rewritten { patch: Vec::new(), warnings: vec![error.to_string()] },
        };
        let Choice { rules, errors } = choice::choose(&facts);
        let mut rewritten = rewrite(review.object(), &rules);
        rewritten.warnings.splice(..0, errors);
        rewritten
    }

    /// Read for each pod, so that a change counts at once; nothing where there is no such namespace.
    async fn facts(&self, namespace: &str) -> Result<Option<Facts>, Unknown> {
        let resource = |group: &str, version: &str, kind: &str| {
            ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
        };
        let namespaces: Api<DynamicObject> =
            Api::all_with(self.client.clone(), &resource("", "v1", "Namespace"));
        let Some(found) = namespaces.get_opt(namespace).await? else { return Ok(None) };
        let map = match namespace::annotation(&found, choice::RULES) {
            Some(name) => {
                let kind = resource("", "v1", "ConfigMap");
                let maps: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &kind);
                maps.get_opt(name).await?
            }
            None => None,
        };
        let kind = resource(GROUP, VERSION, "HarborServerConfiguration");
        let servers: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind);
        let servers = servers.list(&ListParams::default().limit(SERVERS_AT_MOST)).await?;
        if servers.metadata.continue_.is_some_and(|next| !next.is_empty()) {
            return Err(Unknown::TooMany);
        }
        Ok(Some(Facts { namespace: found, map, servers: servers.items }))
    }
}
