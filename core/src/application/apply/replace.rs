//! An object that is not merely changed → room for another by the rule of [`crate::recreate`], or itself in place of the live one.

use std::sync::Arc;

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;
use vela_engine::Definition;
use vela_engine::policy::replacement;
use vela_runtime::apply::{self as runtime_apply, Outcome, describe};
use vela_runtime::confirm::Seen;
use vela_runtime::{Key, Kind};

use crate::application::fetch::json as to_json;
use crate::application::owned_kinds::{Application, may_delete};
use crate::application::reconciler::ApplicationReconciler;
use crate::author::Actor;
use crate::recreate::{RecreateReason, Recreation, Removal, remove_former};

/// Because of what an object may be made again.
#[derive(Clone, Copy)]
pub(super) struct Replacing<'a> {
    /// Content hash of the application.
    pub(super) identity: &'a str,
    /// Name of its revision.
    pub(super) revision: &'a str,
    /// The definitions it was rendered from, beside the Application.
    pub(super) definitions: &'a [Arc<Definition>],
}

/// An object whose change the API server refused.
pub(super) struct RefusedChange<'a> {
    pub(super) desired: &'a DynamicObject,
    /// The uid that the record has of it.
    pub(super) recorded_uid: Option<&'a str>,
    /// The immutable fields.
    pub(super) fields: &'a [String],
    pub(super) error: &'a runtime_apply::Error,
    /// A policy of the application asks for it.
    pub(super) is_asked: bool,
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
    let because = replacing.map(|Replacing { identity, definitions, .. }| RecreateReason {
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
        is_asked: refused.is_asked,
        may_delete: &|now: &DynamicObject| may_delete(owner, refused.recorded_uid, now),
        because: because.ok_or("it is not made again while the application cannot be rendered"),
    };
    remove_former(remake, refused.desired, refused.fields, refused.error).await
}

/// Puts an object in place of the live one, with all that others have put into that. It is a patch of the version that was
/// read, so that the author needs no more rights for it than for any other object.
pub(super) async fn replace(
    acting: &Actor,
    kind: &Kind,
    desired: &DynamicObject,
    live: &DynamicObject,
) -> Result<runtime_apply::Applied, runtime_apply::Error> {
    let mut patch = replacement(&to_json(desired), &to_json(live));
    patch["metadata"]["uid"] = json!(live.metadata.uid);
    patch["metadata"]["resourceVersion"] = json!(live.metadata.resource_version);
    let key = Key::of(desired);
    let params = PatchParams {
        field_manager: Some(crate::context::FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let api = kind.api(acting.client(), &key.namespace);
    let written = api.patch(&key.name, &params, &Patch::Merge(&patch)).await;
    let written =
        written.map_err(|source| runtime_apply::Error::Client { object: describe(desired), source })?;
    let outcome = match written.metadata.resource_version == live.metadata.resource_version {
        true => Outcome::Unchanged,
        false => Outcome::Configured,
    };
    Ok(runtime_apply::Applied { object: Arc::new(written), kind: kind.clone(), outcome })
}
