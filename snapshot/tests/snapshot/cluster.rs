//! A cluster with the built-in definitions and some that make it difficult, and every way to read it.

use kube::Client;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};
use vela_apiserver::ApiServer;
use vela_crds::annotations;
use vela_engine::Document;
use vela_runtime::{Cache, Discovery};
use vela_snapshot::{Files, Live, Namespaces, Reader, Watched};

pub(crate) const SYSTEM: &str = "platform";
pub(crate) const FIRST: &str = "first";
pub(crate) const TEAM: &str = "team";

/// Readers of one cluster, as controllers, webhooks and command make them.
pub(crate) struct Readers {
    pub(crate) live: Reader<Live>,
    pub(crate) webhooks: Reader<Watched>,
    pub(crate) controllers: Reader<Watched>,
    pub(crate) command: Reader<Files<Live>>,
    _server: ApiServer,
    _cache: Cache,
}

pub(crate) fn component(name: &str, namespace: &str, says: &str) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "schematic": {"cue": {"template": format!(
                "output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: says: {says:?}}}\nparameter: {{}}\n"
            )}},
        },
    })
}

/// A policy that marks every application in its reach that has a certain name.
fn audit(namespace: &str, says: &str) -> Value {
    let template = format!(
        "config: enabled: context.appName == \"audited\"\noutput: annotations: audit: {says:?}\nparameter: {{}}\n"
    );
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "PolicyDefinition",
        "metadata": {"name": "audit", "namespace": namespace},
        "spec": {"scope": "Application", "global": true, "schematic": {"cue": {"template": template}}},
    })
}

fn version(definition: &Value, version: &str, number: u64) -> Value {
    let name = definition["metadata"]["name"].as_str().unwrap();
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "DefinitionRevision",
        "metadata": {
            "name": format!("{name}-v{version}"), "namespace": definition["metadata"]["namespace"],
            "labels": {"componentdefinition.oam.dev/name": name},
        },
        "spec": {
            "definitionType": "Component", "revision": number, "revisionHash": format!("hash{number}"),
            "componentDefinition": definition,
        },
    })
}

/// Everything beside the built-in definitions.
fn objects() -> Vec<Value> {
    let namespace = |name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let shared = component("note", SYSTEM, "shared");
    let mut objects = vec![
        namespace(SYSTEM),
        namespace(FIRST),
        namespace(TEAM),
        version(&component("note", SYSTEM, "one"), "1", 1),
        version(&component("note", SYSTEM, "one and two tenths"), "1.2.0", 2),
        version(&component("note", TEAM, "the team's two"), "2", 2),
        shared,
        component("note", TEAM, "the team's"),
        audit(SYSTEM, "shared"),
        audit(TEAM, "the team's"),
        component("everywhere", SYSTEM, "shared"),
        component("everywhere", FIRST, "first"),
        component("everywhere", TEAM, "the team's"),
        json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
            "metadata": {"name": "of-no-era", "namespace": SYSTEM, "annotations": {annotations::DEFINITION_CUE_ERA: "stone"}},
            "spec": {
                "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
                "schematic": {"cue": {"template": "output: {}"}},
            },
        }),
        json!({
            "apiVersion": "core.oam.dev/v1alpha2", "kind": "Component",
            "metadata": {"name": "front", "namespace": TEAM},
            "spec": {"workload": {"apiVersion": "v1", "kind": "ConfigMap"}},
        }),
    ];
    objects.extend(vela_definitions::builtin().iter().map(|definition| definition.manifest(SYSTEM)));
    objects
}

/// Our kinds as objects.
pub(crate) fn kinds() -> Vec<Value> {
    let crds = vela_crds::crds().unwrap().into_iter().map(|crd| {
        let mut crd = serde_json::to_value(crd).unwrap();
        crd["apiVersion"] = json!("apiextensions.k8s.io/v1");
        crd["kind"] = json!("CustomResourceDefinition");
        crd
    });
    crds.collect()
}

/// Creates objects one after the other.
pub(crate) async fn create(client: &Client, discovery: &Discovery, all: Vec<Value>) {
    for object in all {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let kind = discovery.resolve_object(&object).await.unwrap();
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let api = kind.api(client.clone(), &namespace);
        api.create(&PostParams::default(), &object).await.unwrap();
    }
}

pub(crate) async fn readers() -> Readers {
    let server = ApiServer::builder().build().unwrap();
    let client = Client::new(server.service(), "default");
    let discovery = Discovery::new(client.clone());
    let mut all = kinds();
    all.extend(objects());
    create(&client, &discovery, all).await;
    let cache = Cache::new(client.clone());
    let namespaces = Namespaces { first: Some(FIRST.to_owned()), system: SYSTEM.to_owned() };
    let live = Live::new(client, discovery);
    let watched = Watched::new(live.clone(), &cache);
    let with_objects = watched.clone().with_objects(&cache);
    cache.synced().await.unwrap();
    let files = Files::new(live.clone(), namespaces.clone(), Vec::<Document>::new()).unwrap();
    Readers {
        live: Reader::new(live, namespaces.clone()),
        webhooks: Reader::new(watched, namespaces.clone()),
        controllers: Reader::new(with_objects, namespaces.clone()),
        command: Reader::new(files, namespaces),
        _server: server,
        _cache: cache,
    }
}
