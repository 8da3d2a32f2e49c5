//! A seed in → what people do to their applications, one thing after the other, and what must come of it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use vela_testkit::program::Random;

use super::cluster::{Cluster, NAMESPACES, SYSTEM};

/// The actions of people between two checkpoints.
const ACTIONS: usize = 100;
/// The longest pause between two of them: shorter and longer than a reconcile takes.
const PAUSE_AT_MOST: usize = 80;
/// Applications at the same time.
const AT_MOST: usize = 16;
/// Contents of the definition that people change: its revisions stay few.
const CONTENTS: usize = 5;
/// The definition that people change.
const DEFINITION: &str = "soak-note";

const OAM: &str = "core.oam.dev/v1beta1";
const OLD: &str = "core.oam.dev/v1alpha2";

/// The last write of a person.
struct Written {
    kind: &'static str,
    is_broken: bool,
}

/// The people and what they have.
pub(super) struct People {
    random: Random,
    /// By namespace and name.
    applications: BTreeMap<(&'static str, String), Written>,
    made: usize,
    asked: usize,
    has_definition: bool,
}

impl People {
    pub(super) fn new(seed: u64) -> Self {
        let random = Random::new(seed);
        Self { random, applications: BTreeMap::new(), made: 0, asked: 0, has_definition: false }
    }

    /// Applications so far.
    pub(super) fn made(&self) -> usize {
        self.made
    }

    /// Writes so far.
    pub(super) fn asked(&self) -> usize {
        self.asked
    }

    /// Everything between two checkpoints.
    pub(super) async fn work(&mut self, cluster: &Cluster) -> Result<(), String> {
        for _ in 0..ACTIONS {
            self.act(cluster).await?;
            self.asked += 1;
            let pause = self.random.below(PAUSE_AT_MOST) as u64;
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        Ok(())
    }

    async fn act(&mut self, cluster: &Cluster) -> Result<(), String> {
        let one = self.random.below(self.applications.len());
        let key = self.applications.keys().nth(one).cloned();
        let (what, Some((namespace, name))) = (self.random.below(100), key) else {
            return self.creates(cluster).await;
        };
        match what {
            0..30 if self.applications.len() < AT_MOST => self.creates(cluster).await,
            0..65 => self.changes(cluster, namespace, &name).await,
            65..75 => self.hurts(cluster, namespace, &name).await,
            75..80 => self.redefines(cluster).await,
            _ => self.deletes(cluster, namespace, &name).await,
        }
    }

    /// A new name each time: what is remembered of old ones would add up.
    async fn creates(&mut self, cluster: &Cluster) -> Result<(), String> {
        if !self.has_definition {
            self.redefines(cluster).await?;
        }
        self.made += 1;
        let namespace = self.random.pick(&NAMESPACES).copied().unwrap_or(NAMESPACES[0]);
        let name = format!("app-{}", self.made);
        let kind = if self.random.chance(20) { "ApplicationConfiguration" } else { "Application" };
        if kind != "Application" {
            let component = self.component_object(&name);
            cluster.create(namespace, &component).await?;
        }
        let (object, is_broken) = self.wish(kind, &name);
        cluster.create(namespace, &object).await?;
        self.applications.insert((namespace, name), Written { kind, is_broken });
        Ok(())
    }

    async fn changes(
        &mut self,
        cluster: &Cluster,
        namespace: &'static str,
        name: &str,
    ) -> Result<(), String> {
        let key = (namespace, name.to_owned());
        let Some(kind) = self.applications.get(&key).map(|written| written.kind) else { return Ok(()) };
        let (object, is_broken) = self.wish(kind, name);
        cluster.respecify(namespace, &object).await?;
        if kind != "Application" && self.random.chance(50) {
            let component = self.component_object(name);
            cluster.respecify(namespace, &component).await?;
        }
        if let Some(written) = self.applications.get_mut(&key) {
            written.is_broken = is_broken;
        }
        Ok(())
    }

    /// Deletes what an application made.
    async fn hurts(&mut self, cluster: &Cluster, namespace: &'static str, name: &str) -> Result<(), String> {
        cluster.delete(namespace, ("apps/v1", "Deployment"), &format!("{name}-0")).await?;
        cluster.delete(namespace, ("v1", "ConfigMap"), &format!("{name}-1")).await
    }

    /// A definition gets another content, which applications take up with their next change.
    async fn redefines(&mut self, cluster: &Cluster) -> Result<(), String> {
        let content = self.random.below(CONTENTS);
        let template = format!(
            "output: {{apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: context.name, data: {{text: parameter.text, content: \
             \"{content}\"}}}}\nparameter: text: string\n"
        );
        let definition = json!({
            "apiVersion": OAM, "kind": "ComponentDefinition", "metadata": {"name": DEFINITION},
            "spec": {
                "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
                "schematic": {"cue": {"template": template}},
            },
        });
        if std::mem::replace(&mut self.has_definition, true) {
            return cluster.respecify(SYSTEM, &definition).await;
        }
        cluster.create(SYSTEM, &definition).await
    }

    async fn deletes(
        &mut self,
        cluster: &Cluster,
        namespace: &'static str,
        name: &str,
    ) -> Result<(), String> {
        let Some(written) = self.applications.remove(&(namespace, name.to_owned())) else { return Ok(()) };
        if written.kind == "Application" {
            return cluster.delete(namespace, (OAM, written.kind), name).await;
        }
        cluster.delete(namespace, (OLD, written.kind), name).await?;
        cluster.delete(namespace, (OLD, "Component"), name).await
    }

    /// Everybody deletes everything.
    pub(super) async fn leave(&mut self, cluster: &Cluster) -> Result<(), String> {
        let all: Vec<_> = self.applications.keys().cloned().collect();
        for (namespace, name) in all {
            self.deletes(cluster, namespace, &name).await?;
        }
        Ok(())
    }

    /// Something else than before, one in six broken.
    fn wish(&mut self, kind: &str, name: &str) -> (Value, bool) {
        let is_broken = self.random.chance(16);
        if kind != "Application" {
            let wanted = if is_broken { "nowhere".to_owned() } else { name.to_owned() };
            let number = self.random.below(1000).to_string();
            let scaler = json!({"trait": {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{name}-1")}, "data": {"number": number},
            }});
            let components = json!([{"componentName": wanted, "traits": [scaler]}]);
            let object = json!({
                "apiVersion": OLD, "kind": kind, "metadata": {"name": name}, "spec": {"components": components},
            });
            return (object, is_broken);
        }
        let mut components = vec![self.service(&format!("{name}-0"))];
        if self.random.chance(50) {
            let text = "x".repeat(self.random.below(2000));
            components
                .push(json!({"name": format!("{name}-1"), "type": DEFINITION, "properties": {"text": text}}));
        }
        if self.random.chance(30) {
            let mut worker = self.service(&format!("{name}-2"));
            worker["type"] = json!("worker");
            components.push(worker);
        }
        if is_broken {
            match self.random.below(3) {
                0 => components[0]["type"] = json!("no-such-type"),
                1 => components[0]["properties"]["image"] = json!(7),
                _ => components[0]["traits"] = json!([{"type": "no-such-trait"}]),
            }
        }
        let object = json!({
            "apiVersion": OAM, "kind": kind, "metadata": {"name": name}, "spec": {"components": components},
        });
        (object, is_broken)
    }

    fn service(&mut self, name: &str) -> Value {
        let mut component = json!({
            "name": name, "type": "webservice", "properties": {"image": format!("nginx:{}", self.random.below(1000))},
        });
        if self.random.chance(40) {
            let replicas = self.random.below(3) + 1;
            component["traits"] = json!([{"type": "scaler", "properties": {"replicas": replicas}}]);
        }
        component
    }

    /// The Component of a configuration.
    fn component_object(&mut self, name: &str) -> Value {
        let labels = json!({"component": name});
        let image = format!("nginx:{}", self.random.below(1000));
        json!({
            "apiVersion": OLD, "kind": "Component", "metadata": {"name": name},
            "spec": {"workload": {
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": format!("{name}-0")},
                "spec": {
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]},
                    },
                },
            }},
        })
    }

    /// What is not broken and does not run as it was written last.
    pub(super) fn wrong(&self, cluster: &Cluster) -> Result<Vec<String>, String> {
        let mut wrong = Vec::new();
        for ((namespace, name), written) in self.applications.iter().filter(|(_, written)| !written.is_broken)
        {
            let resource = match written.kind {
                "Application" => "applications.core.oam.dev",
                _ => "applicationconfigurations.core.oam.dev",
            };
            let object = cluster.stored(resource, namespace, name).unwrap_or_default();
            let is_current = object["status"]["observedGeneration"] == object["metadata"]["generation"];
            let synced = &object["status"]["conditions"][0];
            let is_well = match written.kind {
                "Application" => object["status"]["status"] == "running",
                _ => synced["type"] == "Synced" && synced["status"] == "True",
            };
            if !(is_current && is_well) {
                wrong.push(format!("{} {namespace}/{name} is {}", written.kind, object["status"]));
            }
        }
        Ok(wrong)
    }
}
