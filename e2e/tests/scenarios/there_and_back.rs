//! A running application is changed to something else and back within milliseconds, fifty times: it keeps its workload and its data.

use std::time::Duration;

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, until};
use vela_e2e::passing::{Outcome, judge};
use vela_e2e::target::Target;

use crate::foreign::{accepted, namespace};
use crate::{CONVERGE_DEADLINE, repository, scenario};

/// How often there and back.
const TIMES: usize = 50;
/// How long B lasts: from shorter than any reconcile to longer than one, so that A comes back before, while and after
/// the controller acts on B.
const LASTS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(2),
    Duration::from_millis(8),
    Duration::from_millis(25),
    Duration::from_millis(60),
];

/// An application that is changed: how it is named, what it is at first, and what it is in between.
pub(crate) struct Story {
    pub(crate) name: &'static str,
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) a: Value,
    pub(crate) others: Vec<Value>,
}

/// An application of each version, and a configuration.
fn stories() -> [Story; 3] {
    [
        application("v1beta1", "core.oam.dev/v1beta1"),
        application("v1alpha2", "core.oam.dev/v1alpha2"),
        configuration(),
    ]
}

impl Story {
    async fn object(&self, cluster: &Cluster) -> Result<Value> {
        let found = cluster.get(self.api_version, self.kind, "app").await?;
        found.ok_or_else(|| format!("{} app is gone", self.kind).into())
    }

    /// Applied and healthy for the spec it has now.
    pub(crate) async fn settles(&self, cluster: &Cluster) -> Result<()> {
        self.settles_within(cluster, CONVERGE_DEADLINE).await
    }

    /// The same where more time is needed.
    pub(crate) async fn settles_within(&self, cluster: &Cluster, deadline: Duration) -> Result<()> {
        until("the application runs as it is now", deadline, async || {
            let object = self.object(cluster).await.map_err(|error| error.to_string())?;
            let current = object["status"]["observedGeneration"] == object["metadata"]["generation"];
            let synced = object["status"]["conditions"][0]["status"] == "True"
                && object["status"]["conditions"][0]["type"] == "Synced";
            let well = match self.kind {
                "Application" => object["status"]["status"] == "running",
                _ => synced,
            };
            if current && well { Ok(()) } else { Err(format!("its status is {}", object["status"])) }
        })
        .await
    }

    pub(crate) async fn becomes(&self, cluster: &Cluster, spec: &Value) -> Result<()> {
        cluster.replace_spec(self.api_version, self.kind, "app", spec).await
    }

    /// The references of the application: definitions, or components.
    pub(crate) async fn prepare(&self, cluster: &Cluster) -> Result<()> {
        match self.kind {
            "Application" => definitions(cluster).await,
            _ => components(cluster).await,
        }
    }

    pub(crate) async fn create(&self, cluster: &Cluster) -> Result<()> {
        let object = json!({
            "apiVersion": self.api_version, "kind": self.kind, "metadata": {"name": "app"}, "spec": self.a,
        });
        accepted(cluster, &object).await
    }

    pub(crate) async fn delete(&self, cluster: &Cluster) -> Result<()> {
        cluster.delete(self.api_version, self.kind, "app").await
    }

    /// Does a spec want what [`identities`] looks at?
    pub(crate) fn keeps_web(&self, spec: &Value) -> bool {
        let names = |spec: &Value| -> Vec<Value> {
            let entries = spec["components"].as_array().cloned().unwrap_or_default();
            entries.iter().map(|entry| entry.get("name").unwrap_or(&entry["componentName"]).clone()).collect()
        };
        names(spec) == names(&self.a)
    }

    async fn holds(&self, cluster: &Cluster) -> Result<()> {
        self.create(cluster).await?;
        self.settles(cluster).await?;
        let before = identities(cluster).await?;
        for turn in 0..TIMES {
            self.becomes(cluster, &self.others[turn % self.others.len()]).await?;
            tokio::time::sleep(LASTS[(turn / self.others.len()) % LASTS.len()]).await;
            self.becomes(cluster, &self.a).await?;
            self.settles(cluster).await?;
            let after = identities(cluster).await.map_err(|error| format!("turn {turn}: {error}"))?;
            if after != before {
                return Err(format!("turn {turn}: the objects were {before:?}, now {after:?}").into());
            }
        }
        // What B brought has to go, and what A needs stays also then.
        until("nothing of B is left", CONVERGE_DEADLINE, async || {
            match cluster.get("apps/v1", "Deployment", "other").await {
                Ok(None) => Ok(()),
                Ok(Some(other)) => Err(format!("Deployment other is still there: {}", other["metadata"])),
                Err(error) => Err(error.to_string()),
            }
        })
        .await?;
        self.settles(cluster).await?;
        match identities(cluster).await? {
            after if after == before => Ok(()),
            after => Err(format!("at the end: the objects were {before:?}, now {after:?}").into()),
        }
    }
}

/// All stories, each with the namespace of its own that holds what it names.
pub(crate) async fn prepared(target: &Target) -> Result<Vec<(String, Story)>> {
    let mut all = Vec::new();
    for story in stories() {
        let cluster = namespace(target, story.name).await?;
        story.prepare(&cluster).await?;
        all.push((cluster.namespace().to_owned(), story));
    }
    Ok(all)
}

/// The same, and the application of each is written.
pub(crate) async fn created(target: &Target) -> Result<Vec<(String, Story)>> {
    let all = prepared(target).await?;
    for (namespace, story) in &all {
        story.create(&target.cluster().within(namespace)).await?;
    }
    Ok(all)
}

/// What must be kept of each story, now that it runs.
pub(crate) async fn settled(target: &Target, all: &[(String, Story)]) -> Result<Vec<[Value; 2]>> {
    let mut found = Vec::new();
    for (namespace, story) in all {
        let cluster = target.cluster().within(namespace);
        story.settles(&cluster).await?;
        found.push(identities(&cluster).await?);
    }
    Ok(found)
}

/// Every story runs and has what it had.
pub(crate) async fn unharmed(target: &Target, all: &[(String, Story)], before: &[[Value; 2]]) -> Result<()> {
    for ((namespace, _), (before, now)) in all.iter().zip(before.iter().zip(settled(target, all).await?)) {
        if now != *before {
            return Err(format!("{namespace} had {before:?}, now {now:?}").into());
        }
    }
    Ok(())
}

/// The identities of the workload and of its claim.
pub(crate) async fn identities(cluster: &Cluster) -> Result<[Value; 2]> {
    let mut found = [Value::Null, Value::Null];
    let objects = [("apps/v1", "Deployment", "web"), ("v1", "PersistentVolumeClaim", "web-data")];
    for ((api_version, kind, name), uid) in objects.into_iter().zip(&mut found) {
        let object = cluster.get(api_version, kind, name).await?;
        let object = object.ok_or_else(|| format!("{kind} {name} was deleted"))?;
        if !object["metadata"]["deletionTimestamp"].is_null() {
            return Err(format!("{kind} {name} is being deleted").into());
        }
        *uid = object["metadata"]["uid"].clone();
    }
    Ok(found)
}

const SERVICE: &str = r#"
output: {
	apiVersion: "apps/v1"
	kind:       "Deployment"
	spec: {
		selector: matchLabels: app: context.name
		template: {
			metadata: labels: app: context.name
			spec: containers: [{name: "main", image: parameter.image}]
		}
	}
}
outputs: data: {
	apiVersion: "v1"
	kind:       "PersistentVolumeClaim"
	metadata: name: context.name + "-data"
	spec: {
		accessModes: ["ReadWriteOnce"]
		resources: requests: storage: "1Gi"
	}
}
parameter: image: string
"#;

const NOTE: &str = r#"
outputs: note: {
	apiVersion: "v1"
	kind:       "ConfigMap"
	metadata: name: context.name + "-note"
	data: text: parameter.text
}
parameter: text: string
"#;

/// Definitions of this scenario, in its namespace.
async fn definitions(cluster: &Cluster) -> Result<()> {
    let schematic = |text: &str| json!({"cue": {"template": text}});
    let service = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "metadata": {"name": "kept-service"},
        "spec": {
            "workload": {"definition": {"apiVersion": "apps/v1", "kind": "Deployment"}},
            "schematic": schematic(SERVICE),
        },
    });
    let note = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "TraitDefinition", "metadata": {"name": "note"},
        "spec": {"appliesToWorkloads": ["*"], "schematic": schematic(NOTE)},
    });
    accepted(cluster, &service).await?;
    accepted(cluster, &note).await
}

/// An Application: A, and B with the component renamed, changed, without its trait, and gone for another.
fn application(name: &'static str, api_version: &'static str) -> Story {
    let (properties, type_) = match api_version {
        "core.oam.dev/v1alpha2" => ("settings", "name"),
        _ => ("properties", "type"),
    };
    let component = |name: &str, image: &str, noted: bool| {
        let mut component = json!({"name": name, "type": "kept-service"});
        component[properties] = json!({"image": image});
        if noted {
            let mut note = json!({});
            note[type_] = json!("note");
            note["properties"] = json!({"text": name});
            component["traits"] = json!([note]);
        }
        component
    };
    let spec = |components: &[Value]| json!({"components": components});
    Story {
        name,
        api_version,
        kind: "Application",
        a: spec(&[component("web", "busybox:1", true), component("side", "busybox:1", false)]),
        others: vec![
            spec(&[component("other", "busybox:1", true), component("side", "busybox:1", false)]),
            spec(&[component("side", "busybox:1", false)]),
            spec(&[component("web", "busybox:2", true), component("side", "busybox:1", false)]),
            spec(&[component("web", "busybox:1", false), component("side", "busybox:1", false)]),
            spec(&[component("other", "busybox:2", false)]),
        ],
    }
}

/// Components for an ApplicationConfiguration: two services, and a claim that is a component of its own.
async fn components(cluster: &Cluster) -> Result<()> {
    let component = |name: &str, workload: Value| {
        json!({
            "apiVersion": "core.oam.dev/v1alpha2", "kind": "Component", "metadata": {"name": name},
            "spec": {
                "workload": workload,
                "parameters": [{"name": "image", "fieldPaths": ["spec.template.spec.containers[0].image"]}],
            },
        })
    };
    let deployment = |name: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "spec": {
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{"name": "main", "image": "busybox:1"}]},
                },
            },
        })
    };
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    for (name, workload) in [("web", deployment("web")), ("other", deployment("other")), ("web-data", claim)]
    {
        accepted(cluster, &component(name, workload)).await?;
    }
    Ok(())
}

/// A configuration: A, and B with the component replaced, gone, changed, and without its trait.
fn configuration() -> Story {
    let note = |name: &str| {
        json!({"trait": {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{name}-note")},
            "data": {"text": name},
        }})
    };
    let noted = |name: &str| json!({"componentName": name, "traits": [note(name)]});
    let plain = |name: &str| json!({"componentName": name});
    let image = json!([{"name": "image", "value": "busybox:2"}]);
    let changed = json!({"componentName": "web", "parameterValues": image, "traits": [note("web")]});
    let spec = |components: &[Value]| json!({"components": components});
    Story {
        name: "configuration",
        api_version: "core.oam.dev/v1alpha2",
        kind: "ApplicationConfiguration",
        a: spec(&[noted("web"), plain("web-data")]),
        others: vec![
            spec(&[noted("other"), plain("web-data")]),
            spec(&[plain("web-data")]),
            spec(&[changed, plain("web-data")]),
            spec(&[plain("web"), plain("web-data")]),
            spec(&[plain("other")]),
        ],
    }
}

#[test]
fn a_user_who_comes_back_finds_everything() {
    scenario(async {
        let target = Target::open("back").await?;
        let outcomes_of = stories().into_iter().map(async |story| {
            let cluster = namespace(&target, story.name).await?;
            story.prepare(&cluster).await?;
            let outcome = story.holds(&cluster).await;
            let wrong = outcome.err().iter().map(ToString::to_string).collect();
            Ok(Outcome { name: story.name.to_owned(), wrong })
        });
        let outcomes: Result<Vec<Outcome>> =
            futures::future::join_all(outcomes_of).await.into_iter().collect();
        judge(&repository("e2e/expected/passing.txt"), "there-and-back", &outcomes?)
    });
}
