//! Deletes an object whose immutable field must change, so that it is created again, where nothing is lost by that;
//! reports the refusal otherwise.
//!
//! Irreplaceable objects are not lost to a passing wish or to a mistake: the content stayed the same for the quiet time,
//! the definitions are those that the server has, the API server says that it would take the new object, and the delete is
//! that of [`crate::prune`].

use std::sync::Arc;
use std::time::Duration;

use kube::api::{DynamicObject, PostParams};
use vela_engine::Definition;
use vela_runtime::apply::{self as runtime_apply, Guard, describe};
use vela_runtime::confirm::Seen;
use vela_runtime::events::reference;
use vela_runtime::{CONFLICT_WAIT, Key};

use crate::application::fetch::ClusterReader;
use crate::application::inventory::Owned;
use crate::application::owned_kinds::OwnedKinds;
use crate::author::Actor;
use crate::context::Context;
use crate::immutable::{self, Refusals};
use crate::prune::{self, Decision, Pruned};

/// The object to make again, and its maker.
pub(crate) struct Recreation<'a> {
    pub(crate) context: &'a Context,
    pub(crate) acting: &'a Actor,
    pub(crate) owner: &'a DynamicObject,
    pub(crate) kinds: &'a OwnedKinds,
    pub(crate) refusals: &'a Refusals,
    /// People asked for it by a policy: what the object holds may go.
    pub(crate) is_asked: bool,
    /// May the owner delete the live object?
    pub(crate) may_delete: Guard<'a>,
    /// Because of what it is wanted so; nothing where nothing is made again, and why not.
    pub(crate) because: Result<RecreateReason<'a>, &'static str>,
}

/// Because of what an object may be made again.
pub(crate) struct RecreateReason<'a> {
    /// The rest of the quiet time of the owner's content.
    pub(crate) wait: Option<Duration>,
    pub(crate) cluster: &'a ClusterReader,
    /// The definitions that the object was rendered from, beside the owner.
    pub(crate) definitions: &'a [Arc<Definition>],
    /// The sources of the wish: the owner first.
    pub(crate) seen: Vec<Seen<'a>>,
}

/// The result for the former object.
pub(crate) enum Removal {
    /// It is gone: the new one can be made.
    Done,
    /// Now is not the time, but then. Where no time is said, its end wakes the owner.
    Later(Option<Duration>),
    /// It stays, for this reason; the same need not be tried again.
    Refused(String),
}

/// Make room for an object whose change the API server refused for these fields.
pub(crate) async fn remove_former(
    remake: Recreation<'_>,
    desired: &DynamicObject,
    fields: &[String],
    refusal: &runtime_apply::Error,
) -> Result<Removal, runtime_apply::Error> {
    let Recreation { context, acting, owner, kinds, refusals, is_asked, may_delete, because } = remake;
    let owned = Owned::of(desired);
    let failed = |source| runtime_apply::Error::Client { object: describe(desired), source };
    let kind = context.discovery.resolve(&owned.api_version, &owned.kind).await;
    let kind = kind.map_err(|source| runtime_apply::Error::Kind { object: describe(desired), source })?;
    let api = kind.api(acting.client(), &owned.key.namespace);
    let Some(live) = api.get_opt(&owned.key.name).await.map_err(failed)? else {
        return Ok(Removal::Later(Some(CONFLICT_WAIT)));
    };
    let refuse = |why: &str| {
        let message = format!("{}: {why}", acting.explain_apply(refusal));
        refusals.insert(&owned, desired, &live, message.clone());
        Ok(Removal::Refused(message))
    };
    let uid = owner.metadata.uid.as_deref().unwrap_or_default();
    let why_retained = |now: &DynamicObject| match is_asked {
        true => None,
        false => immutable::why_retained(desired, now, uid),
    };
    if let Some(why) = why_retained(&live) {
        return refuse(&why);
    }
    let RecreateReason { wait, cluster, definitions, seen } = match because {
        Ok(because) => because,
        Err(why) => return refuse(why),
    };
    if wait.is_some() {
        return Ok(Removal::Later(wait));
    }
    if !cluster.confirm(&Key::of(owner).namespace, definitions).await.map_err(failed)? {
        return Ok(Removal::Later(Some(CONFLICT_WAIT)));
    }
    // The former object stays where the author may not make the new one or the API server does not take it.
    let dry = PostParams { dry_run: true, field_manager: Some(crate::context::FIELD_MANAGER.to_owned()) };
    match api.create(&dry, desired).await {
        Ok(_) => {}
        // All it finds fault with is that the former one is still there.
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(source) => return Err(failed(source)),
    }
    let guard = |now: &DynamicObject| {
        if now.metadata.uid != live.metadata.uid {
            return Err("another object took its name since".to_owned());
        }
        match why_retained(now) {
            Some(why) => Err(why),
            None => may_delete(now),
        }
    };
    let decision = Decision { context, acting, seen };
    let identity = (owned.api_version.as_str(), owned.kind.as_str(), &owned.key);
    match prune::delete(&decision, identity, &guard).await? {
        Pruned::Gone => {}
        Pruned::Going => return Ok(Removal::Later(None)),
        Pruned::Changed => return Ok(Removal::Later(Some(CONFLICT_WAIT))),
        Pruned::Foreign(why) => return refuse(&why),
    }
    if let Ok(informer) = kinds.informer(&kind).await {
        informer.forget(&owned.key);
    }
    let said =
        format!("{} cannot change {}: it is deleted and made again", describe(desired), fields.join(", "));
    context.events.normal(&reference(owner), "Recreated", &said).await;
    Ok(Removal::Done)
}
