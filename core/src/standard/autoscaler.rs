//! An Autoscaler in; the ScaledObject that KEDA acts on, and the Autoscaler's status, out.

use kube::api::DynamicObject;
use vela_crds::standard::Autoscaler;
use vela_engine::standard::autoscaler as rendering;
use vela_runtime::interest::Look;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use super::hands::{Hands, Note, typed};
use super::trouble::Trouble;
use super::workload::locate;
use crate::context::Context;

const FIELD_MANAGER: &str = "vela-autoscaler";

/// The controller of Autoscalers.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let hands = Hands::new::<Autoscaler>(context, FIELD_MANAGER, &[]).whole();
    hands.controller("autoscaler", Autoscalers { hands: hands.clone() }, workers)
}

struct Autoscalers {
    hands: Hands,
}

impl Reconciler for Autoscalers {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.hands.live(&key) else { return Ok(Action::Done) };
        let autoscaler: Autoscaler = typed(&live)?;
        let look = self.hands.interests.look(&key);
        let outcome = match self.hands.for_author(&live).await {
            Ok(hands) => Self { hands }.bring_about(&look, &live, &autoscaler).await,
            Err(trouble) => Err(trouble),
        };
        self.hands.report(&live, autoscaler.status.unwrap_or_default(), outcome).await
    }
}

impl Autoscalers {
    async fn bring_about(
        &self,
        look: &Look,
        live: &DynamicObject,
        autoscaler: &Autoscaler,
    ) -> Result<Vec<Note>, Trouble> {
        let namespace = Key::of(live).namespace;
        let reference = autoscaler.spec.workload_ref.as_ref();
        let workload =
            locate(&self.hands, look, &namespace, reference, "failed to locate the workload").await?;
        let target = rendering::target(&workload.object, &workload.children);
        let desired = rendering::scaled_object(autoscaler, target)
            .map_err(|error| Trouble::wrong("cannot render the scaled object", error))?;
        let applied = self.hands.apply(look, live, desired, "cannot apply the scaled object").await?;
        Ok(Note::of(&applied, "ScaledObject created").into_iter().collect())
    }
}
