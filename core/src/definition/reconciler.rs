//! The parts that all phases of the controller of one kind of definition share.

use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_engine::DefinitionKind;
use vela_runtime::apply::{self as runtime_apply, Conflicts, Outcome};
use vela_runtime::{Informer, Key, owner};

use super::error::Error;
use crate::context::Context;

/// The parts that all phases of this controller share.
pub(super) struct DefinitionReconciler {
    pub(super) context: Context,
    pub(super) kind: DefinitionKind,
    pub(super) definitions: Arc<Informer>,
    pub(super) revisions: Arc<Informer>,
    pub(super) schemas: Arc<Informer>,
    pub(super) workloads: Arc<Informer>,
    pub(super) applications: Arc<Informer>,
}

impl DefinitionReconciler {
    /// Writes one object; gives its name, or nothing where a foreign object has that name.
    pub(super) async fn apply(&self, informer: &Informer, object: Value) -> Result<Option<String>, Error> {
        let uid = object.pointer("/metadata/ownerReferences/0/uid").and_then(Value::as_str);
        let uid = uid.unwrap_or_default().to_owned();
        let desired: DynamicObject = serde_json::from_value(object)?;
        let live = informer.get(&Key::of(&desired));
        let guard = |live: &DynamicObject| owner::controlled_by(live, &uid);
        // All its fields are ours and always the same ones, so an object that has all we want needs no write.
        let applied = self.context.applier.apply(&desired, live, true, Conflicts::Refuse, &guard).await;
        match applied {
            Ok(applied) => {
                if applied.outcome != Outcome::Unchanged {
                    informer.observe((*applied.object).clone());
                }
                Ok(desired.metadata.name)
            }
            Err(runtime_apply::Error::Foreign { object, reason }) => {
                tracing::info!(object, reason, "left alone");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}
