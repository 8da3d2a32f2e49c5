//! Deletes an object if the one that is there now may go; the delete is bound to exactly what was read.

use std::sync::{Arc, Mutex, PoisonError};

use crate::api::Api;
use futures::future::BoxFuture;
use kube::api::{DeleteParams, DynamicObject, Preconditions, PropagationPolicy};

use super::{Applier, Deletion, Error, Guard};
use crate::cache::Key;
use crate::discovery;

/// How often a deletion is judged anew when its object changes in between: a busy status writer must not hold it up,
/// and a reconcile must end.
const DELETE_TRIES: usize = 4;

/// The question between the read of an object and its deletion: does the caller still want to delete it?
pub type Confirm<'a> = &'a (dyn Fn() -> BoxFuture<'a, Result<bool, kube::Error>> + Send + Sync);

impl Applier {
    /// Delete one object if it exists and the guard allows it. `live` is what the cache knows; with nothing known the
    /// server is asked. The delete is bound to the identity and the version that the guard saw: a namesake created
    /// meanwhile survives, and an object that changed meanwhile is read anew and judged again.
    ///
    /// # Errors
    /// Its kind is not known, the guard says whose it is, or the server refused.
    pub async fn delete(
        &self,
        api_version: &str,
        kind: &str,
        key: &Key,
        live: Option<Arc<DynamicObject>>,
        guard: Guard<'_>,
    ) -> Result<Deletion, Error> {
        let yes: Confirm<'_> = &|| Box::pin(async { Ok(true) });
        let mut live = live;
        let judged: Mutex<Option<String>> = Mutex::new(None);
        // A namesake is left alone, and no error says that it is foreign: the caller looks anew.
        let same = |object: &DynamicObject| {
            let mut judged = judged.lock().unwrap_or_else(PoisonError::into_inner);
            let uid = object.metadata.uid.clone().unwrap_or_default();
            if judged.get_or_insert_with(|| uid.clone()) != &uid {
                return Err(String::new());
            }
            guard(object)
        };
        let mut conflict = None;
        for _ in 0..DELETE_TRIES {
            match self.delete_once(api_version, kind, key, live.take(), &same, yes).await {
                Err(Error::Client { source: kube::Error::Api(status), object }) if status.code == 409 => {
                    conflict = Some(Error::Client { source: kube::Error::Api(status), object });
                }
                Err(Error::Foreign { reason, .. }) if reason.is_empty() => break,
                Ok(deletion) => return Ok(deletion.unwrap_or(Deletion::Going)),
                Err(error) => return Err(error),
            }
        }
        conflict.map_or(Ok(Deletion::Going), Err)
    }

    /// Deletes an object that its owner no longer wants: reads it from the server, asks `confirm`, then deletes exactly
    /// that object in exactly that version. Does nothing when `confirm` says no; a conflict, which means that another
    /// client wrote the object meanwhile, is an error.
    ///
    /// # Errors
    /// Those of [`Applier::delete`], and a conflict where another client wrote the object meanwhile.
    pub async fn delete_confirmed<'a>(
        &self,
        api_version: &str,
        kind: &str,
        key: &Key,
        guard: Guard<'_>,
        confirm: Confirm<'a>,
    ) -> Result<Option<Deletion>, Error> {
        self.delete_once(api_version, kind, key, None, guard, confirm).await
    }

    /// The object as shown to callers that may read it.
    async fn seen(
        &self,
        look: &Api<DynamicObject>,
        api: &Api<DynamicObject>,
        key: &Key,
    ) -> Result<Option<DynamicObject>, kube::Error> {
        match look.get_opt(&key.name).await {
            Err(kube::Error::Api(status)) if status.code == 403 => api.get_opt(&key.name).await,
            looked => looked,
        }
    }

    async fn delete_once<'a>(
        &self,
        api_version: &str,
        kind: &str,
        key: &Key,
        live: Option<Arc<DynamicObject>>,
        guard: Guard<'_>,
        confirm: Confirm<'a>,
    ) -> Result<Option<Deletion>, Error> {
        let object = format!("{kind} {key}");
        let kind = match self.discovery.resolve(api_version, kind).await {
            Ok(kind) => kind,
            // With its kind gone from the server the object is gone too.
            Err(discovery::Error::Unknown { .. }) => return Ok(Some(Deletion::Gone)),
            Err(source) => return Err(Error::Kind { object, source }),
        };
        // That something is gone must be seen also by those who may not read it any more.
        let look = kind.api(self.own.clone(), &key.namespace);
        let api = kind.api(self.client.clone(), &key.namespace);
        let failed = |source| Error::Client { object: object.clone(), source };
        let live = match live {
            Some(live) => live,
            None => match self.seen(&look, &api, key).await.map_err(failed)? {
                Some(live) => Arc::new(live),
                None => return Ok(Some(Deletion::Gone)),
            },
        };
        guard(&live).map_err(|reason| Error::Foreign { object: object.clone(), reason })?;
        if live.metadata.deletion_timestamp.is_some() {
            return Ok(Some(Deletion::Going));
        }
        if !confirm().await.map_err(failed)? {
            return Ok(None);
        }
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            preconditions: Some(Preconditions {
                uid: live.metadata.uid.clone(),
                resource_version: live.metadata.resource_version.clone(),
            }),
            ..DeleteParams::default()
        };
        self.forget(&(format!("{api_version}/{}", kind.resource.kind), key.clone()));
        match api.delete(&key.name, &params).await {
            // The server answers with the object while finalizers hold it, and with a status once it is gone.
            Ok(answer) => {
                let held = answer.and_then(|object| object.metadata.finalizers);
                let held = held.is_some_and(|held| !held.is_empty());
                Ok(Some(if held { Deletion::Going } else { Deletion::Gone }))
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Some(Deletion::Gone)),
            Err(source) => Err(failed(source)),
        }
    }
}
