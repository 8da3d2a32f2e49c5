//! Applications whose objects are of other projects' kinds: with the real CRDs installed, the right objects are there.

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::expected::differences;
use vela_e2e::objects::{Cluster, until};
use vela_e2e::target::Target;

use crate::foreign::{accepted, install, namespace};
use crate::{CONVERGE_DEADLINE, scenario};

const STANDARD: &str = "standard.oam.dev/v1alpha1";
const CERTIFICATES: &str = "cert-manager.io/v1";

/// Waits until an object is there and says everything that `expected` says.
async fn becomes(cluster: &Cluster, expected: &Value) -> Result<()> {
    let field = |field: &str| expected[field].as_str().unwrap_or_default();
    let name = expected["metadata"]["name"].as_str().unwrap_or_default();
    until(&format!("{} {name} is as expected", field("kind")), CONVERGE_DEADLINE, async || {
        let found = cluster.get(field("apiVersion"), field("kind"), name).await;
        let live = found.map_err(|error| error.to_string())?.ok_or("it is not there")?;
        let wrong = differences(expected, &live);
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(format!("{}; status {}", wrong.join("; "), live["status"]))
        }
    })
    .await
}

/// An object without a spec of its own to tell.
fn named(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})
}

fn with(mut object: Value, field: &str, value: Value) -> Value {
    object[field] = value;
    object
}

fn component_definition(name: &str, workload: Value, schematic: Value) -> Value {
    let spec = json!({"workload": {"definition": workload}, "schematic": schematic});
    with(named("core.oam.dev/v1beta1", "ComponentDefinition", name), "spec", spec)
}

/// A chart as a component, with a trait that patches what the chart will make.
async fn helm(target: &Target, version: &str) -> Result<()> {
    let cluster = namespace(target, &format!("helm-{version}")).await?;
    let chart = json!({"chart": {"spec": {"chart": "podinfo", "version": "5.1.4"}}, "values": {"ui": {"color": "blue"}}});
    let schematic = json!({"helm": {"release": chart, "repository": {"url": "http://oam.dev/catalog/"}}});
    let workload = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
    accepted(&cluster, &component_definition("webapp-chart", workload, schematic)).await?;
    let template = "patch: spec: replicas: parameter.replicas\nparameter: replicas: *1 | int\n";
    let spec =
        json!({"appliesToWorkloads": ["deployments.apps"], "schematic": {"cue": {"template": template}}});
    accepted(&cluster, &with(named("core.oam.dev/v1beta1", "TraitDefinition", "patch-scaler"), "spec", spec))
        .await?;
    let (properties, type_) =
        if version == "v1alpha2" { ("settings", "name") } else { ("properties", "type") };
    let mut scaler = json!({"properties": {"replicas": 2}});
    scaler[type_] = json!("patch-scaler");
    let mut component = json!({"name": "demo", "type": "webapp-chart", "traits": [scaler]});
    component[properties] = json!({"image": {"tag": "5.1.2"}});
    let application = named(&format!("core.oam.dev/{version}"), "Application", "shop");
    accepted(&cluster, &with(application, "spec", json!({"components": [component]}))).await?;

    let release = json!({
        "interval": "5m",
        "chart": {"spec": {
            "chart": "podinfo", "version": "5.1.4",
            "sourceRef": {"kind": "HelmRepository", "name": "shop-demo", "namespace": cluster.namespace()},
        }},
        "values": {"image": {"tag": "5.1.2"}, "ui": {"color": "blue"}},
    });
    let kind = ("helm.toolkit.fluxcd.io/v2", "HelmRelease");
    becomes(&cluster, &with(named(kind.0, kind.1, "shop-demo"), "spec", release)).await?;
    let repository = json!({"interval": "5m", "url": "http://oam.dev/catalog/"});
    let source = named("source.toolkit.fluxcd.io/v1", "HelmRepository", "shop-demo");
    becomes(&cluster, &with(source, "spec", repository)).await?;
    // What the trait wrote goes along as a patch of what the chart renders.
    let live = cluster.get(kind.0, kind.1, "shop-demo").await?.unwrap_or_default();
    let patch = &live["spec"]["postRenderers"][0]["kustomize"]["patches"][0];
    let target = json!({"group": "apps", "version": "v1", "kind": "Deployment", "name": "shop-demo-podinfo"});
    let text: Value = serde_json::from_str(patch["patch"].as_str().unwrap_or_default())?;
    match patch["target"] == target && text["spec"] == json!({"replicas": 2}) {
        true => Ok(()),
        false => Err(format!("the release renders its chart with the patch {patch}").into()),
    }
}

/// A CloneSet of Kruise as the workload of a component.
async fn clone_set(target: &Target) -> Result<()> {
    let cluster = namespace(target, "kruise").await?;
    let template = "output: {\n\tapiVersion: \"apps.kruise.io/v1alpha1\"\n\tkind: \"CloneSet\"\n\tspec: {\n\t\treplicas: parameter.replicas\n\t\tselector: matchLabels: app: context.name\n\t\ttemplate: {\n\t\t\tmetadata: labels: app: context.name\n\t\t\tspec: containers: [{name: context.name, image: parameter.image}]\n\t\t}\n\t}\n}\nparameter: {\n\timage: string\n\treplicas: *3 | int\n}\n";
    let workload = json!({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet"});
    let definition = component_definition("clone", workload, json!({"cue": {"template": template}}));
    accepted(&cluster, &definition).await?;
    let components = json!([{"name": "set", "type": "clone", "properties": {"image": "nginx:1"}}]);
    let application = named("core.oam.dev/v1beta1", "Application", "shop");
    accepted(&cluster, &with(application, "spec", json!({"components": components}))).await?;
    let pods = json!({
        "metadata": {"labels": {"app": "set"}}, "spec": {"containers": [{"name": "set", "image": "nginx:1"}]},
    });
    let spec = json!({"replicas": 3, "selector": {"matchLabels": {"app": "set"}}, "template": pods});
    let made = named("apps.kruise.io/v1alpha1", "CloneSet", "set");
    becomes(&cluster, &with(made, "spec", spec)).await
}

/// A foreign controller says that an object is ready.
async fn says_ready(cluster: &Cluster, kind: &str, name: &str, spec: Value) -> Result<()> {
    accepted(cluster, &with(named(CERTIFICATES, kind, name), "spec", spec)).await?;
    let now = "2026-01-01T00:00:00Z";
    let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": now});
    cluster.patch_status(CERTIFICATES, kind, name, &json!({"status": {"conditions": [ready]}})).await
}

/// A scaler of KEDA, and a route that waits for certificates of cert-manager, as traits of one configuration.
async fn standard_traits(target: &Target) -> Result<()> {
    let cluster = namespace(target, "standard").await?;
    let deployments = named("core.oam.dev/v1alpha2", "WorkloadDefinition", "deployments.apps");
    let spec = json!({"definitionRef": {"name": "deployments.apps"}});
    accepted(&cluster, &with(deployments, "spec", spec)).await?;
    for name in ["autoscalers.standard.oam.dev", "routes.standard.oam.dev"] {
        let spec = json!({
            "appliesToWorkloads": ["*"], "definitionRef": {"name": name}, "workloadRefPath": "spec.workloadRef",
        });
        accepted(&cluster, &with(named("core.oam.dev/v1alpha2", "TraitDefinition", name), "spec", spec))
            .await?;
    }
    let pods = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "nginx:1", "ports": [{"containerPort": 80}]}]},
    });
    let workload = with(
        json!({"apiVersion": "apps/v1", "kind": "Deployment"}),
        "spec",
        json!({"selector": {"matchLabels": {"app": "web"}}, "template": pods}),
    );
    let component = named("core.oam.dev/v1alpha2", "Component", "web");
    accepted(&cluster, &with(component, "spec", json!({"workload": workload}))).await?;
    let cpu = json!({"type": "cpu", "condition": {"type": "Utilization", "value": "80"}});
    let scaler = json!({"minReplicas": 1, "maxReplicas": 4, "triggers": [cpu]});
    let scaler = with(named(STANDARD, "Autoscaler", "scale"), "spec", scaler);
    let route = json!({"host": "web.example", "tls": {"issuerName": "mine"}});
    let route = with(named(STANDARD, "Route", "way"), "spec", route);
    let entry = json!({"componentName": "web", "traits": [{"trait": scaler}, {"trait": route}]});
    let configuration = named("core.oam.dev/v1alpha2", "ApplicationConfiguration", "shop");
    accepted(&cluster, &with(configuration, "spec", json!({"components": [entry]}))).await?;

    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let scaled = json!({"scaleTargetRef": target, "minReplicaCount": 1, "maxReplicaCount": 4});
    becomes(&cluster, &with(named("keda.sh/v1alpha1", "ScaledObject", "scale"), "spec", scaled)).await?;
    let ingress = named("networking.k8s.io/v1", "Ingress", "way-auto-created");
    let tls = json!({"tls": [{"hosts": ["web.example"], "secretName": "way-auto-created-cert"}]});
    becomes(&cluster, &with(ingress, "spec", tls)).await?;
    says_ready(&cluster, "Issuer", "mine", json!({"selfSigned": {}})).await?;
    let wanted = json!({"secretName": "way-auto-created-cert", "issuerRef": {"name": "mine"}, "dnsNames": ["web.example"]});
    says_ready(&cluster, "Certificate", "way-auto-created-cert", wanted).await?;
    let address = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}});
    cluster.patch_status("networking.k8s.io/v1", "Ingress", "way-auto-created", &address).await?;
    let ready = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    becomes(&cluster, &with(named(STANDARD, "Route", "way"), "status", ready)).await
}

#[test]
fn kinds_of_other_projects_are_made_as_they_want_them() {
    scenario(async {
        let target = Target::open("others").await?;
        install(&target).await?;
        let done = futures::join!(
            helm(&target, "v1beta1"),
            helm(&target, "v1alpha2"),
            clone_set(&target),
            standard_traits(&target),
        );
        let stories =
            [("helm v1beta1", done.0), ("helm v1alpha2", done.1), ("CloneSet", done.2), ("standard", done.3)];
        let wrong = stories.into_iter().filter_map(|(name, done)| done.err().map(|e| format!("{name}: {e}")));
        let wrong: Vec<String> = wrong.collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
    });
}
