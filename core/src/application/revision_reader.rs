//! A revision on the server → what it means, each version of it read and understood once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use kube::api::{ApiResource, DynamicObject};
use vela_runtime::Api;
use vela_runtime::Key;
use vela_runtime::apply::explain;

use crate::context::Context;

/// Why a revision cannot be read, as a message for people.
pub(crate) type ReadError = String;

/// Which version of which object, read for which purpose.
type Version = (Key, String);

/// Reads revisions of one kind and remembers what they mean.
#[derive(Clone)]
pub(crate) struct RevisionReader<T> {
    context: Context,
    resource: ApiResource,
    at_most: usize,
    known: Arc<Mutex<BTreeMap<Version, T>>>,
}

impl<T> fmt::Debug for RevisionReader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevisionReader").field("kind", &self.resource.kind).finish_non_exhaustive()
    }
}

impl<T: Clone> RevisionReader<T> {
    /// An empty memory. It holds so many revisions; beyond it the memory starts anew, at the price of reading each again.
    pub(crate) fn new(context: &Context, resource: ApiResource, at_most: usize) -> Self {
        Self { context: context.clone(), resource, at_most, known: Arc::default() }
    }

    /// The parsed revision of that name; nothing where it is absent. `stored` is the copy of a watch (metadata is enough),
    /// `purpose` the reason of the read, and `understand` parses a version that is not known yet.
    pub(crate) async fn get<F, E>(
        &self,
        key: &Key,
        stored: Option<&DynamicObject>,
        purpose: &str,
        understand: impl FnOnce(DynamicObject) -> F,
    ) -> Result<Option<T>, E>
    where
        F: Future<Output = Result<T, E>>,
        E: From<ReadError>,
    {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |object: &DynamicObject| (key.clone(), version(object, purpose));
        if let Some(known) = stored.and_then(|stored| lock().get(&of(stored)).cloned()) {
            return Ok(Some(known));
        }
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.context.client.clone(), &key.namespace, &self.resource);
        let found = api.get_opt(&key.name).await;
        let found = found
            .map_err(|error| format!("cannot read {} {key}: {}", self.resource.kind, explain(&error)))?;
        let Some(found) = found else { return Ok(None) };
        let of_it = of(&found);
        let understood = understand(found).await?;
        let mut known = lock();
        if known.len() >= self.at_most {
            known.clear();
        }
        known.insert(of_it, understood.clone());
        Ok(Some(understood))
    }
}

/// A namesake made anew has another uid.
fn version(object: &DynamicObject, purpose: &str) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{} {} {purpose}", part(&object.metadata.uid), part(&object.metadata.resource_version))
}
