//! Which objects the controllers of a cluster make out of an object: rules by its kind, built in and of users, that say where to look
//! and which of what is found belongs to it. Pure: it lists nothing itself.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::manifest;

/// The label of ConfigMaps that hold rules of users, whatever its value.
pub const RULES_LABEL: &str = "rules.oam.dev/resources";
/// The key of such a ConfigMap under which the rules are.
const RULES_KEY: &str = "rules";
/// Rules of users; more come from a mistake.
const RULES_AT_MOST: usize = 500;

/// Which objects belong below others.
#[derive(Clone, Debug)]
pub struct Rules(Vec<Rule>);

#[derive(Clone, Debug)]
struct Rule {
    group: String,
    kind: String,
    child: Child,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Child {
    api_version: String,
    kind: String,
    found: Found,
}

/// How the children of an object are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// By the labels of its selector; its controller owns them.
    Selector,
    /// By their owner alone.
    Owner,
    /// By their name, which is its own.
    Name,
    /// By labels of Flux that name the object: with this prefix.
    Flux(&'static str),
}

/// What Flux installs, as far as people look at it. Secrets are left out: a tree needs nothing of them.
const OF_FLUX: [(&str, &str); 9] = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("v1", "ConfigMap"),
    ("v1", "Service"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "ServiceAccount"),
    ("batch/v1", "Job"),
    ("networking.k8s.io/v1", "Ingress"),
];

/// Group and kind of an object, API version and kind of what is made out of it, and how that is found.
const BUILT_IN: [(&str, &str, &str, &str, Found); 14] = [
    ("apps", "Deployment", "apps/v1", "ReplicaSet", Found::Selector),
    ("apps", "ReplicaSet", "v1", "Pod", Found::Selector),
    ("apps", "StatefulSet", "v1", "Pod", Found::Selector),
    ("apps", "DaemonSet", "v1", "Pod", Found::Selector),
    ("apps.kruise.io", "CloneSet", "v1", "Pod", Found::Selector),
    ("apps.kruise.io", "StatefulSet", "v1", "Pod", Found::Selector),
    ("apps.kruise.io", "DaemonSet", "v1", "Pod", Found::Selector),
    ("batch", "CronJob", "batch/v1", "Job", Found::Owner),
    ("batch", "Job", "v1", "Pod", Found::Selector),
    ("core.oam.dev", "ContainerizedWorkload", "apps/v1", "Deployment", Found::Owner),
    ("core.oam.dev", "ContainerizedWorkload", "v1", "Service", Found::Owner),
    ("standard.oam.dev", "PodSpecWorkload", "apps/v1", "Deployment", Found::Owner),
    ("standard.oam.dev", "PodSpecWorkload", "v1", "Service", Found::Owner),
    ("", "Service", "v1", "Endpoints", Found::Name),
];

/// Where objects below another one are looked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Search {
    /// Their API version.
    pub api_version: String,
    /// Their kind.
    pub kind: String,
    /// Their namespace; empty for every one.
    pub namespace: String,
    /// They have all of these labels.
    pub labels: BTreeMap<String, String>,
    proof: Proof,
}

/// What shows that an object that was found belongs below.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Proof {
    /// This uid among its owners.
    Owner(String),
    /// This name.
    Name(String),
    /// Its labels, by which it was found.
    Labels,
}

/// A rule as users write it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    parent_resource_type: WrittenParent,
    children_resource_type: Vec<WrittenChild>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenParent {
    #[serde(default)]
    group: String,
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenChild {
    api_version: String,
    kind: String,
    #[serde(default)]
    default_label_selector: bool,
}

impl Default for Rules {
    fn default() -> Self {
        let rule = |group: &str, kind: &str, api_version: &str, child: &str, found: Found| Rule {
            group: group.to_owned(),
            kind: kind.to_owned(),
            child: Child { api_version: api_version.to_owned(), kind: child.to_owned(), found },
        };
        let mut rules: Vec<Rule> = BUILT_IN
            .iter()
            .map(|(group, kind, api, child, found)| rule(group, kind, api, child, *found))
            .collect();
        for (group, kind, prefix) in [
            ("helm.toolkit.fluxcd.io", "HelmRelease", "helm.toolkit.fluxcd.io"),
            ("kustomize.toolkit.fluxcd.io", "Kustomization", "kustomize.toolkit.fluxcd.io"),
        ] {
            rules.extend(
                OF_FLUX.iter().map(|(api, child)| rule(group, kind, api, child, Found::Flux(prefix))),
            );
        }
        Self(rules)
    }
}

impl Rules {
    /// Adds the rules of a ConfigMap: a list of a `parentResourceType` and its `childrenResourceType`, in YAML or JSON. What is known
    /// already stays as it is.
    ///
    /// # Errors
    /// What is wrong with the text, with its line. No rule of the ConfigMap holds then.
    pub fn add(&mut self, config_map: &Json) -> Result<(), String> {
        let name = config_map["metadata"]["name"].as_str().unwrap_or_default();
        let place = format!("ConfigMap {name}, data.{RULES_KEY}");
        let text =
            config_map["data"][RULES_KEY].as_str().ok_or_else(|| format!("{place}: there is no text"))?;
        let documents = manifest::read(&place, text).map_err(|wrong| wrong.to_string())?;
        let mut added = Vec::new();
        for document in documents {
            let rules: Vec<Written> =
                serde_json::from_value(document.into_value()).map_err(|wrong| format!("{place}: {wrong}"))?;
            for Written { parent_resource_type: WrittenParent { group, kind }, children_resource_type } in
                rules
            {
                added.extend(children_resource_type.into_iter().map(|child| Rule {
                    group: group.clone(),
                    kind: kind.clone(),
                    child: child.read(),
                }));
            }
        }
        if self.0.len() + added.len() > RULES_AT_MOST {
            return Err(format!("{place}: there are more than {RULES_AT_MOST} rules"));
        }
        for rule in added {
            let is_known = self.0.iter().any(|known| {
                (&known.group, &known.kind) == (&rule.group, &rule.kind)
                    && (&known.child.api_version, &known.child.kind)
                        == (&rule.child.api_version, &rule.child.kind)
            });
            if !is_known {
                self.0.push(rule);
            }
        }
        Ok(())
    }

    /// Where the objects below this one are looked for; nowhere where its kind has no rule.
    pub fn searches(&self, object: &Json) -> Vec<Search> {
        let (group, _) =
            object["apiVersion"].as_str().unwrap_or_default().rsplit_once('/').unwrap_or_default();
        let kind = object["kind"].as_str().unwrap_or_default();
        if is_empty_set(kind, object) {
            return Vec::new();
        }
        let rules = self.0.iter().filter(|rule| rule.group == group && rule.kind == kind);
        rules.map(|rule| rule.child.search(object)).collect()
    }
}

impl WrittenChild {
    fn read(self) -> Child {
        let found = if self.default_label_selector { Found::Selector } else { Found::Owner };
        Child { api_version: self.api_version, kind: self.kind, found }
    }
}

impl Child {
    fn search(&self, object: &Json) -> Search {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let labels = match self.found {
            Found::Selector => selected(object),
            Found::Owner | Found::Name => BTreeMap::new(),
            Found::Flux(prefix) => BTreeMap::from([
                (format!("{prefix}/name"), text("name")),
                (format!("{prefix}/namespace"), text("namespace")),
            ]),
        };
        let (namespace, proof) = match self.found {
            // An owner is in the namespace of what it owns, or in none.
            Found::Selector | Found::Owner => (text("namespace"), Proof::Owner(text("uid"))),
            Found::Name => (text("namespace"), Proof::Name(text("name"))),
            Found::Flux(_) => (String::new(), Proof::Labels),
        };
        Search { api_version: self.api_version.clone(), kind: self.kind.clone(), namespace, labels, proof }
    }
}

impl Search {
    /// Does an object that was found belong below?
    pub fn finds(&self, object: &Json) -> bool {
        let metadata = &object["metadata"];
        match &self.proof {
            Proof::Owner(uid) => {
                let owners = metadata["ownerReferences"].as_array();
                !uid.is_empty()
                    && owners.is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == uid.as_str()))
            }
            Proof::Name(name) => metadata["name"] == name.as_str(),
            Proof::Labels => true,
        }
    }
}

/// The labels that a workload selects by; none where it has other conditions, because then only its owner tells.
fn selected(object: &Json) -> BTreeMap<String, String> {
    let selector = &object["spec"]["selector"];
    let labels = selector["matchLabels"].as_object();
    let pairs = labels.into_iter().flatten();
    pairs.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// A ReplicaSet of an earlier revision, which has no pod.
fn is_empty_set(kind: &str, object: &Json) -> bool {
    let count = |part: &str| object[part]["replicas"].as_u64();
    kind == "ReplicaSet" && count("spec") == Some(0) && count("status").unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment() -> Json {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "prod", "uid": "d"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
        })
    }

    #[test]
    fn a_deployment_has_the_replica_sets_that_it_owns() {
        let searches = Rules::default().searches(&deployment());
        let [search] = searches.as_slice() else { panic!("{searches:?}") };
        assert_eq!((search.kind.as_str(), search.namespace.as_str()), ("ReplicaSet", "prod"));
        assert_eq!(search.labels, BTreeMap::from([("app".to_owned(), "web".to_owned())]));
        let set = |owner: &str| json!({"metadata": {"ownerReferences": [{"uid": owner}]}});
        assert!(
            search.finds(&set("d")) && !search.finds(&set("e")) && !search.finds(&json!({"metadata": {}}))
        );
    }

    #[test]
    fn an_object_without_uid_owns_nothing() {
        let mut object = deployment();
        object["metadata"]["uid"] = json!("");
        let searches = Rules::default().searches(&object);
        assert!(!searches[0].finds(&json!({"metadata": {"ownerReferences": [{"uid": ""}]}})));
    }

    #[test]
    fn a_replica_set_of_an_earlier_revision_has_no_pods() {
        let set = |wanted: u64, there: u64| json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"uid": "r"}, "spec": {"replicas": wanted}, "status": {"replicas": there}});
        let searches = |object| Rules::default().searches(&object).len();
        assert_eq!((searches(set(0, 0)), searches(set(0, 1)), searches(set(2, 0))), (0, 1, 1));
    }

    #[test]
    fn services_and_flux_are_looked_up_by_name_and_labels() {
        let service =
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "prod"}});
        let searches = Rules::default().searches(&service);
        assert!(
            searches[0].finds(&json!({"metadata": {"name": "web"}}))
                && !searches[0].finds(&json!({"metadata": {"name": "db"}}))
        );
        let release = json!({
            "apiVersion": "helm.toolkit.fluxcd.io/v2beta1", "kind": "HelmRelease", "metadata": {"name": "db", "namespace": "prod"},
        });
        let searches = Rules::default().searches(&release);
        assert_eq!(searches.len(), OF_FLUX.len());
        assert!(searches.iter().all(
            |search| search.namespace.is_empty() && search.labels["helm.toolkit.fluxcd.io/name"] == "db"
        ));
    }

    fn rules(text: &str) -> Json {
        json!({"metadata": {"name": "mine"}, "data": {"rules": text}})
    }

    #[test]
    fn rules_of_users_are_added_to_the_built_in_ones() {
        let text = "- parentResourceType: {group: db.example.com, kind: Database}\n  childrenResourceType:\n  - {apiVersion: apps/v1, kind: StatefulSet}\n  - {apiVersion: v1, kind: Pod, defaultLabelSelector: true}\n- parentResourceType: {group: apps, kind: Deployment}\n  childrenResourceType: [{apiVersion: apps/v1, kind: ReplicaSet}]\n";
        let mut all = Rules::default();
        all.add(&rules(text)).unwrap();
        let database = json!({
            "apiVersion": "db.example.com/v1", "kind": "Database", "metadata": {"name": "db", "namespace": "prod", "uid": "u"},
            "spec": {"selector": {"matchLabels": {"db": "x"}}},
        });
        let searches = all.searches(&database);
        assert_eq!(
            searches.iter().map(|one| (one.kind.as_str(), one.labels.len())).collect::<Vec<_>>(),
            [("StatefulSet", 0), ("Pod", 1)]
        );
        assert_eq!(all.searches(&deployment())[0].labels.len(), 1, "the built-in rule stays");
        let as_json = r#"[{"parentResourceType": {"kind": "Node"}, "childrenResourceType": []}]"#;
        Rules::default().add(&rules(as_json)).unwrap();
    }

    #[test]
    fn broken_rules_name_their_config_map() {
        for (text, part) in [
            ("- parentResourceType: {", "line 1"),
            ("- parentResourceType: {kind: A}", "childrenResourceType"),
            ("- {parentResourceType: {kind: A}, childrenResourceType: [], more: 1}", "more"),
            ("a: b", "sequence"),
        ] {
            let error = Rules::default().add(&rules(text)).unwrap_err();
            assert!(
                error.contains("mine") && (error.contains(part) || error.contains(":1:")),
                "{text}: {error}"
            );
        }
        let error = Rules::default().add(&json!({"metadata": {"name": "mine"}})).unwrap_err();
        assert_eq!(error, "ConfigMap mine, data.rules: there is no text");
    }
}
