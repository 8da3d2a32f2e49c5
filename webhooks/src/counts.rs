//! Counts how much a review holds before anything is built of it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Most values of a review. An object of the largest size that API servers take has half as many, if it is written by people.
pub(crate) const VALUES_AT_MOST: usize = 600_000;

/// The size of a review.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Values of any kind.
    pub(crate) values: usize,
    /// Elements of `spec.components` of `request.object`, and of `request.oldObject`.
    pub(crate) components: [usize; 2],
    /// `apiVersion`.
    pub(crate) api_version: String,
    /// `request.uid`.
    pub(crate) uid: String,
}

/// Counts; fails where the bytes are no JSON or hold more than [`VALUES_AT_MOST`].
pub(crate) fn counts(bytes: &[u8]) -> Result<Counts, serde_json::Error> {
    let mut counts = Counts::default();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    Part { counts: &mut counts, place: Place::Review }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(counts)
}

/// Where a value stands, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Review,
    ApiVersion,
    Request,
    Uid,
    /// The object, or the former one, by its place in [`Counts::components`].
    Object(usize),
    Spec(usize),
    Components(usize),
    Elsewhere,
}

impl Place {
    fn inner(self, name: &str) -> Self {
        match (self, name) {
            (Self::Review, "apiVersion") => Self::ApiVersion,
            (Self::Review, "request") => Self::Request,
            (Self::Request, "uid") => Self::Uid,
            (Self::Request, "object") => Self::Object(0),
            (Self::Request, "oldObject") => Self::Object(1),
            (Self::Object(which), "spec") => Self::Spec(which),
            (Self::Spec(which), "components") => Self::Components(which),
            _ => Self::Elsewhere,
        }
    }
}

struct Part<'c> {
    counts: &'c mut Counts,
    place: Place,
}

/// A name, by the place that it leads to.
struct Name(Place);

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Place;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Place, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Place;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Place, E> {
        Ok(self.0.inner(name))
    }
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.counts.values += 1;
        if self.counts.values > VALUES_AT_MOST {
            let message =
                format!("more than {VALUES_AT_MOST} values, and no object that a cluster takes has so many");
            return Err(serde::de::Error::custom(message));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        match self.place {
            Place::ApiVersion => text.clone_into(&mut self.counts.api_version),
            Place::Uid => text.clone_into(&mut self.counts.uid),
            _ => {}
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let mut count = 0;
        while elements
            .next_element_seed(Part { counts: &mut *self.counts, place: Place::Elsewhere })?
            .is_some()
        {
            count += 1;
        }
        if let Place::Components(which) = self.place
            && let Some(components) = self.counts.components.get_mut(which)
        {
            *components = count;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        // Numbers of any precision come as maps of the reader's own, which count as nothing.
        while let Some(place) = fields.next_key_seed(Name(self.place))? {
            fields.next_value_seed(Part { counts: &mut *self.counts, place })?;
        }
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        IgnoredAny.visit_some(deserializer).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_components_are_counted_without_building_them() {
        let components = [r#"{"name":"a","type":"b"}"#; 3].join(",");
        let review = format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","request":{{"uid":"u","object":{{"spec":{{"components":[{components}]}}}},
               "oldObject":{{"spec":{{"components":[1,2,3,4,5]}}}},"n":1.5e3,"x":null}}}}"#
        );
        let found = counts(review.as_bytes()).expect("a review");
        assert_eq!((found.components, found.uid.as_str()), ([3, 5], "u"));
        assert_eq!(found.api_version, "admission.k8s.io/v1");
        assert_eq!(found.values, 26);
    }

    #[test]
    fn too_many_values_are_refused_where_they_become_too_many() {
        let many = format!("[{}0]", "0,".repeat(VALUES_AT_MOST));
        let message = counts(many.as_bytes()).expect_err("too many").to_string();
        assert!(message.contains("more than 600000 values"), "{message}");
        assert!(counts(b"{").is_err());
    }
}
