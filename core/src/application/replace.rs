//! An object with a field that cannot change → deleted through the one door and made again, where that loses nothing; else
//! told for good.
//!
//! What nothing brings back is not lost to a passing wish or to a mistake: the content stayed the same for the quiet time,
//! the definitions are those that the server has, the API server says that it would take the new object, and the delete is
//! that of [`crate::prune`].

use std::sync::Arc;
use std::time::Duration;

use kube::api::{DynamicObject, PostParams};
use vela_engine::Definition;
use vela_runtime::apply::{self as runtime_apply, describe};
use vela_runtime::confirm::Seen;
use vela_runtime::events::reference;

use super::CONFLICT_WAIT;
use super::apply::{Error, Piece};
use super::owned::may_delete;
use super::record::Owned;
use super::write::Pen;
use crate::fixed;
use crate::prune::{self, Decision, Pruned};

/// Because of what an object may be made again.
#[derive(Clone, Copy)]
pub(super) struct Replacing<'a> {
    /// Content hash of the application.
    pub(super) identity: &'a str,
    /// What it was rendered from, beside the Application.
    pub(super) definitions: &'a [Arc<Definition>],
}

/// What became of one object.
pub(super) enum Written {
    /// It is as it is wanted.
    Done(runtime_apply::Applied),
    /// It is to be made again: now is not the time, but then. Where no time is said, its end wakes the application.
    Later(Option<Duration>),
    /// It cannot be as it is wanted, for this reason; the same need not be tried again.
    Refused(String),
}

/// Make an object again whose change the API server refused with this error.
pub(super) async fn replace(
    pen: &Pen<'_>,
    piece: &Piece,
    owned: &Owned,
    fields: &[String],
    refusal: runtime_apply::Error,
) -> Result<Written, Error> {
    let (hands, owner) = (pen.hands, pen.application);
    let failed = |source| runtime_apply::Error::Client { object: describe(&piece.object), source };
    let kind = hands.context.discovery.resolve(&owned.api_version, &owned.kind).await;
    let kind =
        kind.map_err(|source| runtime_apply::Error::Kind { object: describe(&piece.object), source })?;
    let api = kind.api(pen.acting.client(), &owned.key.namespace);
    let Some(live) = api.get_opt(&owned.key.name).await.map_err(failed)? else {
        return Ok(Written::Later(Some(CONFLICT_WAIT)));
    };
    let refuse = |why: &str| {
        let told = format!("{}: {why}", pen.acting.told(&refusal));
        hands.refusals.keep(owned, &piece.object, &live, told.clone());
        Ok(Written::Refused(told))
    };
    if let Some(why) = fixed::kept(&piece.object, &live) {
        return refuse(&why);
    }
    let Some(Replacing { identity, definitions }) = pen.replacing else {
        return refuse("it is not made again while the application cannot be rendered");
    };
    if let Some(left) = hands.quiet.left(&owner.key, identity) {
        return Ok(Written::Later(Some(left)));
    }
    if !hands.world.confirm(&owner.key.namespace, definitions).await.map_err(failed)? {
        return Ok(Written::Later(Some(CONFLICT_WAIT)));
    }
    // Nothing goes for an object that nobody may make or that the API server does not take.
    let dry = PostParams { dry_run: true, field_manager: Some(crate::context::FIELD_MANAGER.to_owned()) };
    match api.create(&dry, &piece.object).await {
        Ok(_) => {}
        // All it finds fault with is that the former one is still there.
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(source) => return Err(Error::Object(failed(source))),
    }
    let uid = pen.before.entries.get(owned).and_then(|entry| entry.uid.clone());
    let guard = |now: &DynamicObject| {
        if now.metadata.uid != live.metadata.uid {
            return Err("another object took its name since".to_owned());
        }
        match fixed::kept(&piece.object, now) {
            Some(why) => Err(why),
            None => may_delete(owner, uid.as_deref(), now),
        }
    };
    let application = Seen { resource: &hands.applications.watch().resource, object: owner.object };
    let decision = Decision { context: &hands.context, acting: &pen.acting, seen: vec![application] };
    let identity = (owned.api_version.as_str(), owned.kind.as_str(), &owned.key);
    match prune::delete(&decision, identity, &guard).await? {
        Pruned::Gone => {}
        Pruned::Going => return Ok(Written::Later(None)),
        Pruned::Changed => return Ok(Written::Later(Some(CONFLICT_WAIT))),
        Pruned::Foreign(why) => return refuse(&why),
    }
    if let Ok(informer) = hands.owned.informer(&kind).await {
        informer.forget(&owned.key);
    }
    let said = format!(
        "{} cannot change {}: it is deleted and made again",
        describe(&piece.object),
        fields.join(", ")
    );
    hands.context.events.normal(&reference(owner.object), "Recreated", &said).await;
    pen.apply_piece(piece, owned).await
}
