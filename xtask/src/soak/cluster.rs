//! Nothing in → the embedded API server on a port, with everything that `vela install` puts there, and what people do to its objects.

use std::net::{Ipv4Addr, SocketAddr};

use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use serde_json::{Value, json};
use vela_apiserver::{ApiServer, Controllers, Served};
use vela_embedded::objects::{kinds, namespace};

/// Where definitions live.
pub(super) const SYSTEM: &str = "vela-system";
/// Where people work.
pub(super) const NAMESPACES: [&str; 3] = ["soak-a", "soak-b", "soak-c"];
/// What every namespace has, and what tells of things that were.
const USUAL: [&str; 2] = ["serviceaccounts", "events"];
/// The report lists at most this many leftovers; more help no reader.
const SHOWN_AT_MOST: usize = 10;

/// The server; it ends with this.
pub(super) struct Cluster {
    server: ApiServer,
    served: Served,
    client: kube::Client,
    _controllers: Controllers,
}

fn kind_of(object: &Value) -> ApiResource {
    let (version, kind) = (&object["apiVersion"], &object["kind"]);
    resource(version.as_str().unwrap_or_default(), kind.as_str().unwrap_or_default())
}

fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

impl Cluster {
    pub(super) async fn start() -> Result<Self, String> {
        let server = ApiServer::builder().build().map_err(|error| error.to_string())?;
        let controllers = server.run_controllers();
        let served = server.serve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await;
        let served = served.map_err(|error| error.to_string())?;
        let client = kube::Client::new(server.service(), "default");
        let cluster = Self { server, served, client, _controllers: controllers };
        for kind in kinds()? {
            cluster.create("", &kind).await?;
        }
        for name in [&[SYSTEM][..], &NAMESPACES].concat() {
            cluster.create("", &namespace(name)).await?;
        }
        let built_in = vela_definitions::builtin().iter().map(|definition| definition.manifest(SYSTEM));
        for definition in built_in {
            cluster.create(SYSTEM, &definition).await?;
        }
        Ok(cluster)
    }

    /// A way in over the network.
    pub(super) fn kubeconfig(&self) -> String {
        self.served.kubeconfig()
    }

    fn api(&self, namespace: &str, resource: &ApiResource) -> Api<DynamicObject> {
        match namespace {
            "" => Api::all_with(self.client.clone(), resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, resource),
        }
    }

    pub(super) async fn create(&self, namespace: &str, object: &Value) -> Result<(), String> {
        let api = self.api(namespace, &kind_of(object));
        let object: DynamicObject =
            serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
        let name = object.metadata.name.clone().unwrap_or_default();
        let made = api.create(&PostParams::default(), &object).await;
        made.map(|_| ()).map_err(|error| format!("cannot create {name} in {namespace}: {error}"))
    }

    /// Gives an object another spec, whatever it had.
    pub(super) async fn respecify(&self, namespace: &str, object: &Value) -> Result<(), String> {
        let patch = json!([{"op": "replace", "path": "/spec", "value": object["spec"]}]);
        let patch: Patch<Value> =
            Patch::Json(serde_json::from_value(patch).map_err(|error| error.to_string())?);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let api = self.api(namespace, &kind_of(object));
        let written = api.patch(name, &PatchParams::default(), &patch).await;
        written.map(|_| ()).map_err(|error| format!("cannot change {name} in {namespace}: {error}"))
    }

    /// Deletes an object that may be gone.
    pub(super) async fn delete(
        &self,
        namespace: &str,
        (api_version, kind): (&str, &str),
        name: &str,
    ) -> Result<(), String> {
        let api = self.api(namespace, &resource(api_version, kind));
        match api.delete(name, &DeleteParams::background()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(format!("cannot delete {kind} {name} in {namespace}: {error}")),
        }
    }

    /// An object as it is stored.
    pub(super) fn stored(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.server.store().find(resource, namespace, name).map(|entry| entry.shared().as_ref().clone())
    }

    /// What people or controllers made and is still there.
    pub(super) fn left(&self) -> Result<Vec<String>, String> {
        let store = self.server.store();
        let mut left = Vec::new();
        for (resource, _) in store.resources() {
            if USUAL.iter().any(|usual| resource.split('.').next() == Some(usual)) {
                continue;
            }
            for namespace in NAMESPACES {
                let (entries, _) = store.list(&resource, Some(namespace));
                left.extend(entries.iter().map(|entry| named(&resource, &entry.shared())));
            }
        }
        let (trackers, _) = store.list("resourcetrackers.core.oam.dev", None);
        left.extend(trackers.iter().map(|entry| named("resourcetrackers", &entry.shared())));
        left.truncate(SHOWN_AT_MOST);
        Ok(left)
    }
}

fn named(resource: &str, object: &Value) -> String {
    let metadata = &object["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    let finalizers = match &metadata["finalizers"] {
        Value::Array(finalizers) if !finalizers.is_empty() => format!(" with finalizers {finalizers:?}"),
        _ => String::new(),
    };
    format!("{resource} {}/{}{finalizers}", text("namespace"), text("name"))
}
