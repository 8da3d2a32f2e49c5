//! The last payloads that were written: all streams are told of one change, and the first one writes it for all.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use kube::api::DynamicObject;

/// Objects that change at about the same time; of one more the oldest is written again.
const REMEMBERED_AT_MOST: usize = 32;

/// Payloads of objects that take no value from a Secret, by the very object of the store.
#[derive(Debug, Default)]
pub(super) struct Payloads(Mutex<VecDeque<(Arc<DynamicObject>, Bytes)>>);

impl Payloads {
    /// The payload of this object, written where it is not known.
    pub(super) fn get_or_write<E>(
        &self,
        object: &Arc<DynamicObject>,
        write: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, payload)) = known.iter().find(|(one, _)| Arc::ptr_eq(one, object)) {
            return Ok(payload.clone());
        }
        let payload = write()?;
        if known.len() >= REMEMBERED_AT_MOST {
            known.pop_front();
        }
        known.push_back((object.clone(), payload.clone()));
        Ok(payload)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use kube::api::{ApiResource, GroupVersionKind};

    use super::*;

    #[test]
    fn an_object_is_written_once_and_few_are_remembered() {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("dapr.io", "v1alpha1", "Component"));
        let object = || Arc::new(DynamicObject::new("w", &kind));
        let (payloads, one, mut written) = (Payloads::default(), object(), 0);
        let mut ask = |object: &Arc<DynamicObject>| {
            let payload = payloads.get_or_write(object, || -> Result<_, Infallible> {
                written += 1;
                Ok(Bytes::from(written.to_string()))
            });
            payload.unwrap()
        };
        assert_eq!([ask(&one), ask(&one)], ["1", "1"]);
        assert_eq!(ask(&object()), "2", "another object of the same content");
        let others: Vec<_> = (0..REMEMBERED_AT_MOST).map(|_| object()).collect();
        others.iter().for_each(|other| drop(ask(other)));
        assert_eq!(ask(&one), "35", "long ago");
    }
}
