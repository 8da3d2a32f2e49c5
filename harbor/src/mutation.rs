//! Completes a child with what all children have: class, warning, labels, owner and checksums.
//!
//! Mutations are composed in order and stop at the first error, so that nothing is written that lacks one of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vela_runtime::apply;

use crate::names::VERSION;
use crate::owner::Owner;
use crate::parts::{Error, Id, Node, Settings, kinds};

/// Which operator looks after an object.
const CLASS: &str = "goharbor.io/class";

/// The inputs of a mutation.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The owner of the child.
    pub owner: &'a Owner,
    /// The child.
    pub node: &'a Node,
    /// Its dependencies, as they are.
    pub needs: &'a BTreeMap<Id, Value>,
    /// The settings of the operator.
    pub settings: &'a Settings,
}

/// Changes a desired object.
pub type Mutation = fn(&mut Value, &Context<'_>) -> Result<(), Error>;

/// Mutations in order.
#[derive(Clone, Debug, Default)]
pub struct Mutations(Vec<Mutation>);

impl Mutations {
    /// Those of every child.
    #[must_use]
    pub fn of_children() -> Self {
        Self::default()
            .append(class)
            .append(warning)
            .append(labels)
            .append(owner)
            .append(checksums)
            .append(stamps)
    }

    /// One more, behind the others.
    #[must_use]
    pub fn append(mut self, mutation: Mutation) -> Self {
        self.0.push(mutation);
        self
    }

    /// One more, before the others.
    #[must_use]
    pub fn prepend(mut self, mutation: Mutation) -> Self {
        self.0.insert(0, mutation);
        self
    }

    /// Changes a desired object by all of them.
    ///
    /// # Errors
    /// That of the first one that fails; none behind it is called.
    pub fn apply(&self, object: &mut Value, context: &Context<'_>) -> Result<(), Error> {
        self.0.iter().try_for_each(|mutation| mutation(object, context))
    }
}

fn class(object: &mut Value, context: &Context<'_>) -> Result<(), Error> {
    if !context.settings.class.is_empty() {
        object["metadata"]["annotations"][CLASS] = json!(context.settings.class);
    }
    Ok(())
}

fn is_workload(context: &Context<'_>) -> bool {
    context.node.id.kind == kinds::DEPLOYMENT.1
}

fn warning(object: &mut Value, context: &Context<'_>) -> Result<(), Error> {
    let text = format!("⚠️ This Resource is managed by *{}* ⚠️", context.owner.controller());
    if is_workload(context) {
        object["spec"]["template"]["metadata"]["annotations"]["goharbor.io/warning"] = json!(text);
    }
    object["metadata"]["annotations"]["goharbor.io/warning"] = json!(text);
    Ok(())
}

fn labels(object: &mut Value, context: &Context<'_>) -> Result<(), Error> {
    let labels = [
        ("goharbor.io/operator-controller", context.owner.controller()),
        ("goharbor.io/operator-version", context.settings.version.clone()),
    ];
    for (name, value) in labels {
        if is_workload(context) {
            object["spec"]["template"]["metadata"]["labels"][name] = json!(value);
        }
        object["metadata"]["labels"][name] = json!(value);
    }
    Ok(())
}

fn owner(object: &mut Value, context: &Context<'_>) -> Result<(), Error> {
    let owner = context.owner;
    object["metadata"]["namespace"] = json!(owner.namespace());
    object["metadata"]["ownerReferences"] = json!([owner.reference()]);
    Ok(())
}

/// The state of a dependency when the child was written: its content where that is no secret, else its version.
fn checksum(live: &Value) -> String {
    match live["kind"].as_str() {
        Some("ConfigMap") => {
            apply::text_hash(&json!([live["data"], live["binaryData"], live["immutable"]]).to_string())
        }
        // The version of these changes with each word of their status.
        Some(_) if live["metadata"]["generation"].is_i64() => live["metadata"]["generation"].to_string(),
        _ => live["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned(),
    }
}

fn checksums(object: &mut Value, context: &Context<'_>) -> Result<(), Error> {
    let (owner, node) = (context.owner, context.node);
    let namespace = owner.namespace();
    let key = |kind: &str, name: &str| format!("{namespace}.{kind}.checksum.goharbor.io/{name}");
    let mut annotations = vec![(key(&owner.controller(), owner.name()), owner.generation().to_string())];
    for id in &node.needs {
        if let Some(live) = context.needs.get(id) {
            annotations.push((key(&id.kind.to_lowercase(), &id.name), checksum(live)));
        }
    }
    if node.template {
        let text = json!([object["data"], object["binaryData"]]).to_string();
        annotations.push(("static.checksum.goharbor.io/template".to_owned(), apply::text_hash(&text)));
    }
    if node.versioned {
        let version = object["metadata"]["annotations"][VERSION].as_str().unwrap_or_default();
        let hash = apply::text_hash(version);
        annotations.push(("harbor.checksum.goharbor.io/version".to_owned(), hash));
    }
    for (name, value) in annotations {
        object["metadata"]["annotations"][name] = json!(value);
    }
    Ok(())
}

/// Says in the pods of which files and secrets they are, so that a change of these rolls them.
fn stamps(object: &mut Value, context: &Context<'_>) -> Result<(), Error> {
    if !is_workload(context) {
        return Ok(());
    }
    let (controller, namespace) = (context.owner.controller(), context.owner.namespace());
    for id in &context.node.needs {
        let Some(live) = context.needs.get(id) else { continue };
        let (name, kind) = (&id.name, id.kind.to_lowercase());
        let prefix = format!("{name}.{namespace}.{kind}.{controller}.goharbor.io");
        let annotations = &mut object["spec"]["template"]["metadata"]["annotations"];
        annotations[format!("{prefix}/uuid")] = live["metadata"]["uid"].clone();
        annotations[format!("{prefix}/version")] = json!(checksum(live));
    }
    Ok(())
}
