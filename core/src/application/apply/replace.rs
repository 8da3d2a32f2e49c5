//! An object with a field that cannot change → room for it by the rule of [`crate::recreate`], as the application wants it.

use std::sync::Arc;

use kube::api::DynamicObject;
use vela_engine::Definition;
use vela_runtime::apply as runtime_apply;
use vela_runtime::confirm::Seen;

use crate::application::owned::{Application, may_delete};
use crate::application::reconciler::ApplicationReconciler;
use crate::author::Actor;
use crate::recreate::{RecreateReason, Recreation, Removal, remove_former};

/// Because of what an object may be made again.
#[derive(Clone, Copy)]
pub(super) struct Replacing<'a> {
    /// Content hash of the application.
    pub(super) identity: &'a str,
    /// What it was rendered from, beside the Application.
    pub(super) definitions: &'a [Arc<Definition>],
}

/// An object whose change the API server refused.
pub(super) struct RefusedChange<'a> {
    pub(super) desired: &'a DynamicObject,
    /// The uid that the record has of it.
    pub(super) recorded_uid: Option<&'a str>,
    /// What cannot change.
    pub(super) fields: &'a [String],
    pub(super) error: &'a runtime_apply::Error,
}

/// Make room for an object whose change the API server refused; nothing is made again without a reason for it.
pub(super) async fn make_room_for(
    reconciler: &ApplicationReconciler,
    owner: &Application<'_>,
    acting: &Actor,
    replacing: Option<Replacing<'_>>,
    refused: RefusedChange<'_>,
) -> Result<Removal, runtime_apply::Error> {
    let application = Seen { resource: &reconciler.applications.watch().resource, object: owner.object };
    let because = replacing.map(|Replacing { identity, definitions }| RecreateReason {
        wait: reconciler.quiet.left(&owner.key, identity),
        cluster: &reconciler.cluster,
        definitions,
        seen: vec![application],
    });
    let remake = Recreation {
        context: &reconciler.context,
        acting,
        owner: owner.object,
        kinds: &reconciler.owned,
        refusals: &reconciler.refusals,
        may_delete: &|now: &DynamicObject| may_delete(owner, refused.recorded_uid, now),
        because: because.ok_or("it is not made again while the application cannot be rendered"),
    };
    remove_former(remake, refused.desired, refused.fields, refused.error).await
}
