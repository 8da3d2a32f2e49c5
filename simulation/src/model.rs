//! The writes of users in a schedule, and the objects that they mean: the simulation's own reading, not the engine's.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde_json::{Value, json};
use vela_embedded::objects::component_definition;

use crate::draws::Draws;

/// The application of every schedule.
pub(crate) const APPLICATION: &str = "shop";
/// Where everything happens.
pub(crate) const NAMESPACE: &str = "sim";
/// Names a component may have.
const NAMES: [&str; 4] = ["front", "back", "data", "side"];

/// The component whose objects stay as long as the application where it was applied with an odd value: a policy says so.
const STAYING: &str = "side";

/// The component with whose odd values a policy makes an object of its own, of this name.
const FENCED: (&str, &str) = ("back", "fence");

/// Store resource and name of an object in [`NAMESPACE`].
pub(crate) type Place = (String, String);

/// In which form people write the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// An Application of v1beta1.
    #[default]
    Application,
    /// An ApplicationConfiguration with Components.
    Configuration,
    /// An Application that leaves its workloads to AppRollouts, and such rollouts.
    Rollout,
    /// The same as early 2021 wrote it: the rollouts go between ApplicationConfigurations.
    RolloutSeed,
    /// An Application of v1beta1 with a workflow.
    Workflow,
}

impl FromStr for Form {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "application" => Ok(Self::Application),
            "configuration" => Ok(Self::Configuration),
            "rollout" => Ok(Self::Rollout),
            "rollout-seed" => Ok(Self::RolloutSeed),
            "workflow" => Ok(Self::Workflow),
            _ => Err("the forms are application, configuration, rollout, rollout-seed, workflow".to_owned()),
        }
    }
}

impl Form {
    /// Are its schedules about rollouts?
    pub(crate) fn rolls(self) -> bool {
        matches!(self, Self::Rollout | Self::RolloutSeed)
    }

    /// Does the seed of a schedule say that people write it?
    pub(crate) fn is_drawn(self) -> bool {
        matches!(self, Self::Application | Self::Configuration)
    }

    /// Do people write an Application that makes its objects itself?
    pub(crate) fn is_application(self) -> bool {
        matches!(self, Self::Application | Self::Workflow)
    }

    /// Store resource of the owner.
    pub(crate) fn resource(self) -> &'static str {
        match self {
            Self::Application | Self::Rollout | Self::RolloutSeed | Self::Workflow => {
                "applications.core.oam.dev"
            }
            Self::Configuration => CONFIGURATIONS,
        }
    }
}

/// Where ApplicationConfigurations lie.
pub(crate) const CONFIGURATIONS: &str = "applicationconfigurations.core.oam.dev";
/// Where Components lie.
pub(crate) const COMPONENTS: &str = "components.core.oam.dev";

/// Kinds that applications own here.
pub(crate) const OWNED: [&str; 5] =
    ["configmaps", "persistentvolumeclaims", "statefulsets.apps", "deployments.apps", "services"];

/// The component types of the simulation, lightest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Type {
    Settings,
    Claim,
    Store,
    Web,
}

impl Type {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Claim => "claim",
            Self::Store => "store",
            Self::Web => "web",
        }
    }

    fn of(name: &str) -> Option<Self> {
        [Self::Settings, Self::Claim, Self::Store, Self::Web].into_iter().find(|type_| type_.name() == name)
    }

    /// The workload of a Component.
    fn workload(self, name: &str, value: usize) -> Value {
        match self {
            Self::Claim => json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }),
            Self::Store | Self::Web => json!({
                "apiVersion": "apps/v1", "kind": "StatefulSet",
                "spec": {
                    "replicas": 0, "serviceName": name, "selector": {"matchLabels": {"component": name}},
                    "template": {
                        "metadata": {"labels": {"component": name}},
                        "spec": {"containers": [{"name": "main", "image": format!("store:{value}")}]},
                    },
                },
            }),
            Self::Settings => {
                json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": value.to_string()}})
            }
        }
    }

    fn resources(self) -> &'static [&'static str] {
        match self {
            Self::Settings => &["configmaps"],
            Self::Claim => &["persistentvolumeclaims"],
            Self::Store => &["statefulsets.apps"],
            Self::Web => &["deployments.apps", "services"],
        }
    }
}

/// The type of a component of that name, where names have types.
fn fixed_type(name: &str) -> Type {
    match name {
        "data" => Type::Claim,
        "side" => Type::Store,
        _ => Type::Settings,
    }
}

/// One component as a user writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Component {
    pub(crate) name: &'static str,
    pub(crate) type_: Type,
    pub(crate) value: usize,
    pub(crate) noted: bool,
}

/// The components of an application, in any of its forms.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spec {
    pub(crate) components: Vec<Component>,
}

impl Spec {
    /// One to three components.
    pub(crate) fn draw(draws: &mut Draws) -> Self {
        let mut components: Vec<Component> = Vec::new();
        for _ in 0..=draws.weighted(&[2, 3, 1]) {
            let name = NAMES[draws.below(NAMES.len())];
            if components.iter().any(|component| component.name == name) {
                continue;
            }
            let type_ = [Type::Settings, Type::Claim, Type::Store, Type::Web][draws.weighted(&[10, 2, 2, 2])];
            components.push(Component { name, type_, value: draws.below(3), noted: draws.once_in(4) });
        }
        Self { components }
    }

    /// The next write of a user: a component more or less, renamed, another value, a trait on or off.
    pub(crate) fn changed(&self, draws: &mut Draws) -> Self {
        let mut next = self.clone();
        let at = draws.below(next.components.len());
        match draws.below(6) {
            0 => next.components[at].value += 1,
            1 => next.components[at].noted = !next.components[at].noted,
            2 if next.components.len() > 1 => {
                next.components.remove(at);
            }
            3 => {
                let name = NAMES[draws.below(NAMES.len())];
                if next.components.iter().all(|component| component.name != name) {
                    next.components[at].name = name;
                }
            }
            4 => {
                let more = Self::draw(draws).components;
                let new = more.into_iter().find(|more| next.components.iter().all(|c| c.name != more.name));
                next.components.extend(new);
            }
            _ => next = Self::draw(draws),
        }
        next
    }

    /// The same with the type that each name has for good, so that a configuration alone says what is wanted.
    pub(crate) fn with_fixed_types(mut self) -> Self {
        for component in &mut self.components {
            component.type_ = fixed_type(component.name);
        }
        self
    }

    /// The Components of a configuration.
    pub(crate) fn components(&self) -> Vec<Value> {
        let written = |component: &Component| {
            json!({
                "apiVersion": "core.oam.dev/v1alpha2", "kind": "Component",
                "metadata": {"name": component.name, "namespace": NAMESPACE},
                "spec": {"workload": component.type_.workload(component.name, component.value)},
            })
        };
        self.components.iter().map(written).collect()
    }

    /// `spec` of an ApplicationConfiguration.
    pub(crate) fn configuration(&self) -> Value {
        let written = |component: &Component| {
            let mut written = json!({"componentName": component.name});
            if component.noted {
                let note = json!({
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": format!("{}-note", component.name)},
                    "data": {"text": component.value.to_string()},
                });
                written["traits"] = json!([{"trait": note}]);
            }
            written
        };
        json!({"components": self.components.iter().map(written).collect::<Vec<_>>()})
    }

    /// `spec` of a v1beta1 Application.
    pub(crate) fn modern(&self) -> Value {
        let components: Vec<Value> = self
            .components
            .iter()
            .map(|component| {
                let mut written = json!({
                    "name": component.name, "type": component.type_.name(),
                    "properties": {"value": component.value.to_string()},
                });
                if component.noted {
                    let properties = json!({"text": component.value.to_string()});
                    written["traits"] = json!([{"type": "note", "properties": properties}]);
                }
                written
            })
            .collect();
        json!({"components": components})
    }
}

impl Spec {
    /// `spec` of a v1beta1 Application with its policies, where components have values for which there are some. As values
    /// change, what is recorded of a component's objects goes from one record to another, and back, and the object of a policy comes,
    /// changes and goes.
    pub(crate) fn with_policies(&self) -> Value {
        let odd = |name: &str| self.components.iter().find(|one| one.name == name && one.value % 2 == 1);
        let rule = json!({"selector": {"componentNames": [STAYING]}, "strategy": "onAppDelete"});
        let policy = json!({"name": "stays", "type": "garbage-collect", "properties": {"rules": [rule]}});
        let mut spec = self.modern();
        let (fenced, type_) = FENCED;
        let fence = odd(fenced).map(|component| {
            let properties = json!({"value": component.value.to_string()});
            json!({"name": type_, "type": type_, "properties": properties})
        });
        let policies: Vec<Value> = odd(STAYING).map(|_| policy).into_iter().chain(fence).collect();
        spec["policies"] = json!(policies);
        spec
    }
}

/// May an object be there although nothing asks for it any more?
pub(crate) fn may_stay(object: &Value) -> bool {
    object["metadata"]["labels"]["app.oam.dev/component"] == STAYING
}

/// The workloads, traits and objects of policies that an Application's `spec` asks for.
pub(crate) fn wanted(application: &Value) -> BTreeSet<Place> {
    let mut places = BTreeSet::new();
    let policies = application["spec"]["policies"].as_array().into_iter().flatten();
    for policy in policies.filter(|policy| policy["type"] == FENCED.1) {
        let name = policy["name"].as_str().unwrap_or_default();
        places.insert(("configmaps".to_owned(), name.to_owned()));
    }
    for component in application["spec"]["components"].as_array().into_iter().flatten() {
        let configured = component["componentName"].as_str();
        let name = configured.or(component["name"].as_str()).unwrap_or_default();
        let type_ = match configured {
            Some(name) => Some(fixed_type(name)),
            None => component["type"].as_str().and_then(Type::of),
        };
        for resource in type_.map(Type::resources).unwrap_or_default() {
            places.insert(((*resource).to_owned(), name.to_owned()));
        }
        if component["traits"].as_array().is_some_and(|traits| !traits.is_empty()) {
            places.insert(("configmaps".to_owned(), format!("{name}-note")));
        }
    }
    places
}

/// Where an object of the namespace is; with an empty name, where its kind is.
pub(crate) fn path(resource: &str, name: &str) -> String {
    let root = match resource.split_once('.') {
        None => format!("/api/v1/namespaces/{NAMESPACE}/{resource}"),
        Some((plural @ ("applicationconfigurations" | "components"), group)) => {
            format!("/apis/{group}/v1alpha2/namespaces/{NAMESPACE}/{plural}")
        }
        Some((plural, "core.oam.dev")) => {
            format!("/apis/core.oam.dev/v1beta1/namespaces/{NAMESPACE}/{plural}")
        }
        Some((plural, group)) => format!("/apis/{group}/v1/namespaces/{NAMESPACE}/{plural}"),
    };
    if name.is_empty() { root } else { format!("{root}/{name}") }
}

/// Where objects like this are created.
pub(crate) fn collection(object: &Value) -> Result<String, String> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let plural = match kind {
        "CustomResourceDefinition" => "customresourcedefinitions",
        "Namespace" => "namespaces",
        "ComponentDefinition" => "componentdefinitions",
        "TraitDefinition" => "traitdefinitions",
        "PolicyDefinition" => "policydefinitions",
        "Application" => "applications",
        other => return Err(format!("no place known for kind {other}")),
    };
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
    Ok(match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}"),
        None => format!("{root}/{plural}"),
    })
}

/// Definitions of the types above, small enough that rendering costs nothing.
pub(crate) fn definitions() -> Vec<Value> {
    let component = |name: &str, version: &str, kind: &str, template: &str| {
        component_definition(NAMESPACE, name, (version, kind), template)
    };
    vec![
        component("settings", "v1", "ConfigMap", SETTINGS),
        component("claim", "v1", "PersistentVolumeClaim", CLAIM),
        component("store", "apps/v1", "StatefulSet", STORE),
        component("web", "apps/v1", "Deployment", WEB),
        json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "TraitDefinition",
            "metadata": {"name": "note", "namespace": NAMESPACE},
            "spec": {
                "appliesToWorkloads": ["*"],
                "schematic": {"handlebars": {"template": NOTE}},
            },
        }),
        json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "PolicyDefinition",
            "metadata": {"name": FENCED.1, "namespace": NAMESPACE},
            "spec": {"schematic": {"handlebars": {"template": SETTINGS}}},
        }),
    ]
}

const SETTINGS: &str = "apiVersion: v1\nkind: ConfigMap\ndata:\n  text: \"{{parameter.value}}\"\n";

const NOTE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{context.name}}-note\ndata:\n  \
                    text: \"{{parameter.text}}\"\n";

const CLAIM: &str = r#"apiVersion: v1
kind: PersistentVolumeClaim
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests:
      storage: 1Gi
"#;

const STORE: &str = r#"apiVersion: apps/v1
kind: StatefulSet
spec:
  replicas: 0
  serviceName: {{context.name}}
  selector:
    matchLabels:
      component: {{context.name}}
  template:
    metadata:
      labels:
        component: {{context.name}}
    spec:
      containers:
      - name: main
        image: store:{{parameter.value}}
"#;

const WEB: &str = r#"apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 0
  selector:
    matchLabels:
      component: {{context.name}}
  template:
    metadata:
      labels:
        component: {{context.name}}
    spec:
      containers:
      - name: main
        image: web:{{parameter.value}}
---
apiVersion: v1
kind: Service
metadata:
  name: {{context.name}}
spec:
  clusterIP: None
  selector:
    component: {{context.name}}
  ports:
  - port: 80
"#;
