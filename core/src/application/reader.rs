//! A recorded object of the server → what it means, each version of it read and understood once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use kube::api::{ApiResource, DynamicObject};
use vela_runtime::Api;
use vela_runtime::Key;
use vela_runtime::apply::explain;

use crate::context::Context;

/// Why a record cannot be read; told to people.
pub(crate) type Trouble = String;

/// Which version of which object, read with what in mind.
type Version = (Key, String);

/// Reads records of one kind and remembers what they mean.
#[derive(Clone)]
pub(crate) struct Reader<T> {
    context: Context,
    resource: ApiResource,
    at_most: usize,
    known: Arc<Mutex<BTreeMap<Version, T>>>,
}

impl<T> fmt::Debug for Reader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("kind", &self.resource.kind).finish_non_exhaustive()
    }
}

impl<T: Clone> Reader<T> {
    /// Nothing is known yet. So many are remembered; beyond it the memory starts anew, at the price of reading each again.
    pub(crate) fn new(context: &Context, resource: ApiResource, at_most: usize) -> Self {
        Self { context: context.clone(), resource, at_most, known: Arc::default() }
    }

    /// What the record of that name means; nothing where it is not there. `stored` is what a watch shows of it (metadata is
    /// enough), `asked` what it is read with in mind, and `mean` understands a version that is not known yet.
    pub(crate) async fn get<F, E>(
        &self,
        key: &Key,
        stored: Option<&DynamicObject>,
        asked: &str,
        mean: impl FnOnce(DynamicObject) -> F,
    ) -> Result<Option<T>, E>
    where
        F: Future<Output = Result<T, E>>,
        E: From<Trouble>,
    {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |object: &DynamicObject| (key.clone(), version(object, asked));
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
        let meant = mean(found).await?;
        let mut known = lock();
        if known.len() >= self.at_most {
            known.clear();
        }
        known.insert(of_it, meant.clone());
        Ok(Some(meant))
    }
}

/// A namesake made anew has another uid.
fn version(object: &DynamicObject, asked: &str) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{} {} {asked}", part(&object.metadata.uid), part(&object.metadata.resource_version))
}
