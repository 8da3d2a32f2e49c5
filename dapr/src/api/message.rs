//! The longest message that a sidecar takes, and lists that have to fit into one. Sidecars of every release leave the limit of their gRPC
//! client as it is, and no flag or annotation of theirs changes it: a longer answer would only be an error that says nothing of its cause.

use bytes::Bytes;
use prost::length_delimiter_len;
use tonic::Status;

use crate::resources::ServedKind;

/// What a client of gRPC takes unless it is told otherwise.
pub(super) const MESSAGE_AT_MOST: usize = 4 * 1024 * 1024;
/// Around the object of an event: the numbers of two fields, its length and its type.
const AROUND: usize = 16;
/// The largest object that can be given alone.
pub(super) const OBJECT_AT_MOST: usize = MESSAGE_AT_MOST - AROUND;

/// The objects of a list, and how long their message is.
#[derive(Debug, Default)]
pub(super) struct ListMessage {
    payloads: Vec<Bytes>,
    objects: usize,
    bytes: usize,
}

impl ListMessage {
    /// Whether it is longer than a sidecar takes; then objects are only counted.
    pub(super) fn is_too_long(&self) -> bool {
        self.bytes > MESSAGE_AT_MOST
    }

    /// One object more.
    pub(super) fn push(&mut self, payload: Bytes) {
        self.objects += 1;
        self.bytes = self.bytes.saturating_add(1 + length_delimiter_len(payload.len()) + payload.len());
        if self.is_too_long() {
            self.payloads = Vec::new();
        } else {
            self.payloads.push(payload);
        }
    }

    /// The whole list, if a sidecar takes it. The code is one after which a sidecar does not ask at once again: only a person mends this.
    pub(super) fn finish(self, kind: ServedKind, namespace: Option<&str>) -> Result<Vec<Bytes>, Status> {
        if !self.is_too_long() {
            return Ok(self.payloads);
        }
        let Self { objects, bytes, .. } = self;
        let name = kind.name();
        let place = namespace.map_or("all namespaces".to_owned(), |name| format!("namespace {name:?}"));
        let remedy = if kind.lists_by_scope() {
            "give them `scopes`, so that each application is given only its own, or spread them over namespaces"
        } else {
            "spread them over namespaces, or make them smaller"
        };
        Err(Status::failed_precondition(format!(
            "the {objects} objects {name} of {place} are a list of at least {bytes} bytes; a sidecar takes \
             {MESSAGE_AT_MOST}, and none of its flags or annotations changes that: {remedy}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::protocol::Resources;

    fn filled(payloads: &[Bytes]) -> ListMessage {
        let mut list = ListMessage::default();
        payloads.iter().for_each(|payload| list.push(payload.clone()));
        list
    }

    #[test]
    fn a_list_is_counted_as_it_is_encoded() {
        for lengths in [vec![], vec![0], vec![127, 128, 16_383, 16_384], vec![2_097_152, 1]] {
            let payloads: Vec<Bytes> =
                lengths.iter().map(|length| Bytes::from(vec![b'x'; *length])).collect();
            let list = filled(&payloads);
            assert_eq!(list.bytes, Resources { json: payloads.clone() }.encoded_len(), "{lengths:?}");
            assert_eq!(list.finish(ServedKind::Component, None).unwrap(), payloads);
        }
    }

    #[test]
    fn a_list_of_one_byte_too_many_is_refused_with_a_remedy() {
        // A field has a number of one byte and a length of four.
        let whole = Bytes::from(vec![b'x'; MESSAGE_AT_MOST - 5]);
        assert_eq!(filled(&[whole]).finish(ServedKind::Component, Some("h1")).unwrap().len(), 1);
        let longer = || filled(&[Bytes::from(vec![b'x'; MESSAGE_AT_MOST - 4])]);
        let refused = longer().finish(ServedKind::Component, Some("h1")).unwrap_err();
        assert_eq!(refused.code(), tonic::Code::FailedPrecondition);
        for part in ["1 objects Component of namespace \"h1\"", "4194305 bytes", "4194304", "`scopes`"] {
            assert!(refused.message().contains(part), "{part}: {refused}");
        }
        let refused = longer().finish(ServedKind::Resiliency, None).unwrap_err();
        assert!(refused.message().contains("of all namespaces are"), "{refused}");
        assert!(!refused.message().contains("scopes"), "{refused}");
    }

    #[test]
    fn an_object_of_the_limit_fits_into_an_event() {
        let json = Bytes::from(vec![b'x'; OBJECT_AT_MOST]);
        let event = crate::protocol::ResourceEvent { json, r#type: 3 };
        assert!(event.encoded_len() <= MESSAGE_AT_MOST);
    }
}
