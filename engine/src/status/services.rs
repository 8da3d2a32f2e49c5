//! The entry of each component in `status.services`, from its observed objects.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use vela_crds::AppRolloutStatus;

use crate::graph::Graph;
use crate::health::{self, ComponentHealth};
use crate::observed::{ObjectKey, Observed};
use crate::render::Templates;

/// One component in the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The component.
    pub name: String,
    /// Its workload.
    pub workload: Option<ObjectKey>,
    /// Its health.
    pub health: ComponentHealth,
    /// The scopes its workload joins, in the v1alpha2 form.
    pub scopes: Vec<ObjectKey>,
    /// Were all its objects applied and seen?
    pub applied: bool,
}

impl Service {
    pub(super) fn to_json(&self) -> Json {
        let mut service = json!({
            "name": self.name,
            "healthy": self.health.healthy,
            "workloadHealthy": self.health.workload.healthy,
        });
        if !self.health.workload.message.is_empty() {
            service["message"] = json!(self.health.workload.message);
        }
        if !self.health.details.is_empty() {
            service["details"] = json!(self.health.details);
        }
        if let Some(workload) = &self.workload {
            service["workloadDefinition"] =
                json!({"apiVersion": workload.api_version, "kind": workload.kind});
            if !workload.namespace.is_empty() {
                service["namespace"] = json!(workload.namespace);
            }
            if !workload.cluster.is_empty() {
                service["cluster"] = json!(workload.cluster);
            }
        }
        if !self.health.traits.is_empty() {
            let traits: Vec<Json> = self
                .health
                .traits
                .iter()
                .map(|trait_| {
                    let mut value = json!({"type": trait_.type_, "healthy": trait_.health.healthy});
                    if !trait_.health.message.is_empty() {
                        value["message"] = json!(trait_.health.message);
                    }
                    if trait_.pending {
                        value["pending"] = json!(true);
                    }
                    if !trait_.details.is_empty() {
                        value["details"] = json!(trait_.details);
                    }
                    value
                })
                .collect();
            service["traits"] = Json::Array(traits);
        }
        if !self.scopes.is_empty() {
            let reference =
                |key: &ObjectKey| json!({"apiVersion": key.api_version, "kind": key.kind, "name": key.name});
            service["scopes"] = self.scopes.iter().map(reference).collect();
        }
        service
    }
}

/// The entries as they are shown: copies of a component at one place are one, as unwell as any of them is.
pub(super) fn shown(services: &[Service]) -> Json {
    let mut shown: Vec<Json> = Vec::with_capacity(services.len());
    let mut seen: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for service in services {
        let place = service.workload.as_ref().map(|key| (key.cluster.as_str(), key.namespace.as_str()));
        let known = place.map(|(cluster, namespace)| (service.name.as_str(), cluster, namespace));
        match known.and_then(|known| seen.get(&known)).copied() {
            Some(first) if shown[first]["healthy"] == true && !service.health.healthy => {
                shown[first] = service.to_json();
            }
            Some(_) => {}
            None => {
                seen.extend(known.map(|known| (known, shown.len())));
                shown.push(service.to_json());
            }
        }
    }
    Json::Array(shown)
}

/// A component that was not begun, because others are not healthy, says so.
pub(super) fn say_who_waits(graph: &Graph, observed: &Observed, services: &mut [Service]) {
    for index in 0..services.len() {
        let is_begun = graph.objects_of(index).iter().any(|object| {
            let key = object.key();
            observed.object(&key).is_some() || observed.error(&key).is_some()
        });
        if is_begun || services[index].health.healthy || !graph.pending(index).is_empty() {
            continue;
        }
        let others = graph.waits_for(index).filter_map(|other| services.get(other));
        let unhealthy: Vec<&str> =
            others.filter(|other| !other.health.healthy).map(|other| other.name.as_str()).collect();
        if !unhealthy.is_empty() {
            let message = format!("waits for {}", unhealthy.join(", "));
            services[index].health.workload = health::Health { healthy: false, message };
        }
    }
}

/// How many pods of a component are new, in words; nothing before that is known.
pub(super) fn pods(status: &AppRolloutStatus, component: &str) -> String {
    if status.unchanged_components.iter().any(|each| each == component) {
        return "nothing of it changed".to_owned();
    }
    let status = &status.rollout;
    let own = status.components.iter().find(|each| each.name == component);
    let (total, ready) = match own {
        Some(own) => (own.rollout_target_size, own.upgraded_ready_replicas),
        None => (status.rollout_target_size, status.upgraded_ready_replicas),
    };
    total
        .filter(|total| *total >= 0)
        .map_or_else(String::new, |total| format!("{ready} of {total} pods are new and ready"))
}

pub(super) fn service(graph: &Graph, index: usize, observed: &Observed, templates: &Templates) -> Service {
    let objects = graph.objects_of(index);
    Service {
        name: graph.component(index).map_or_else(String::new, |component| component.name.clone()),
        workload: objects.first().filter(|_| !graph.is_withheld(index)).map(|object| object.key()),
        health: health::component(graph, index, observed, templates),
        scopes: scopes(graph, index),
        applied: !objects.is_empty() && objects.iter().all(|object| observed.object(&object.key()).is_some()),
    }
}

/// The scopes that a component's workload joins; one of an unknown kind is reported where the component is stored.
pub(super) fn scopes(graph: &Graph, index: usize) -> Vec<ObjectKey> {
    let Some(component) = graph.component(index) else { return Vec::new() };
    let namespace = graph.app_file().namespace();
    let known = component.scopes.iter().filter_map(|scope| {
        let (api_version, kind) = scope.kind.as_ref()?;
        Some(ObjectKey::local(api_version, kind, namespace, &scope.name))
    });
    known.collect()
}

impl ComponentHealth {
    /// Why it is not healthy, in words.
    pub(super) fn reason(&self) -> String {
        if !self.workload.healthy {
            return if self.workload.message.is_empty() {
                "not healthy".to_owned()
            } else {
                self.workload.message.clone()
            };
        }
        let trait_ = self.traits.iter().find(|trait_| !trait_.health.healthy);
        trait_.map_or_else(String::new, |trait_| format!("trait {}: {}", trait_.type_, trait_.health.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_cluster_is_named() {
        let service = |workload: ObjectKey| Service {
            name: "web".to_owned(),
            workload: Some(workload),
            health: ComponentHealth::default(),
            scopes: Vec::new(),
            applied: true,
        };
        let local = ObjectKey::local("apps/v1", "Deployment", "prod", "web");
        assert_eq!(service(local.clone()).to_json().get("cluster"), None);
        let far = ObjectKey { cluster: "far".to_owned(), ..local.clone() };
        assert_eq!(service(far.clone()).to_json()["cluster"], "far");
        assert_eq!(local.to_string(), "Deployment prod/web");
        assert_eq!(far.to_string(), "Deployment prod/web in cluster far");
        assert_ne!(local, far, "one name in two clusters is two objects");
    }
}
