//! A Subscription of one version → the same in the other. Fields that v1alpha1 lacks wait in an annotation, so a client that
//! reads an object as v1alpha1, changes it and writes it back loses nothing.

use serde_json::{Value, json};

use super::{
    GROUP, Routes, RoutingRule, SubscriptionV1alpha1, SubscriptionV1alpha1Spec, SubscriptionV2alpha1,
    SubscriptionV2alpha1Spec,
};

/// The rules of a Subscription while it is of v1alpha1, as JSON.
pub const ROUTING_RULES: &str = "dapr.io/v2alpha1-routing-rules";
/// The one kind with two versions.
const KIND: &str = "Subscription";

/// Why an object cannot be had in another version.
#[derive(Debug, thiserror::Error)]
pub enum ConversionError {
    /// It is of another kind, or no object at all.
    #[error("kind {0:?} is not converted; expected {KIND}")]
    Kind(String),
    /// There is no such version.
    #[error("version {0:?} is not known; expected {GROUP}/v1alpha1 or {GROUP}/v2alpha1")]
    Version(String),
    /// It has no metadata.
    #[error("metadata is missing or no object")]
    Metadata,
    /// A field is of another type.
    #[error("the subscription cannot be read: {0}")]
    Malformed(serde_json::Error),
    /// A client changed the annotation.
    #[error(
        "annotation {ROUTING_RULES} cannot be read: {0}; remove it, or write the rules of v2alpha1 as a JSON list"
    )]
    Rules(serde_json::Error),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1alpha1,
    V2alpha1,
}

impl Version {
    fn of(version: &str) -> Result<Self, ConversionError> {
        match version.strip_prefix(GROUP) {
            Some("/v1alpha1") => Ok(Self::V1alpha1),
            Some("/v2alpha1") => Ok(Self::V2alpha1),
            _ => Err(ConversionError::Version(version.to_owned())),
        }
    }
}

/// The Subscription in this version, such as `dapr.io/v1alpha1`. Fields that neither version has are left out.
///
/// # Errors
/// It is no Subscription, there is no such version, or a field is of another type.
pub fn convert_subscription(mut object: Value, version: &str) -> Result<Value, ConversionError> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, from) = (text("kind"), text("apiVersion"));
    if kind != KIND {
        return Err(ConversionError::Kind(kind));
    }
    let (from, to) = (Version::of(&from)?, Version::of(version)?);
    if from == to {
        return Ok(object);
    }
    let mut metadata = object.get_mut("metadata").map(Value::take).unwrap_or_default();
    let malformed = ConversionError::Malformed;
    let converted = match to {
        Version::V1alpha1 => {
            let subscription = serde_json::from_value(object).map_err(malformed)?;
            let (subscription, rules) = to_v1alpha1(subscription);
            write_rules(&mut metadata, &rules)?;
            serde_json::to_value(subscription)
        }
        Version::V2alpha1 => {
            let subscription = serde_json::from_value(object).map_err(malformed)?;
            serde_json::to_value(to_v2alpha1(subscription, take_rules(&mut metadata)?))
        }
    };
    let mut converted = converted.map_err(malformed)?;
    converted["apiVersion"] = json!(version);
    converted["kind"] = json!(KIND);
    converted["metadata"] = metadata;
    Ok(converted)
}

fn to_v1alpha1(subscription: SubscriptionV2alpha1) -> (SubscriptionV1alpha1, Vec<RoutingRule>) {
    let SubscriptionV2alpha1 { scopes, spec } = subscription;
    let Some(spec) = spec else { return (SubscriptionV1alpha1 { scopes, spec: None }, Vec::new()) };
    let SubscriptionV2alpha1Spec { pubsubname, topic, metadata, routes, dead_letter_topic, bulk_subscribe } =
        spec;
    let Routes { rules, default } = routes;
    let route = default.unwrap_or_default();
    let spec =
        SubscriptionV1alpha1Spec { pubsubname, topic, metadata, route, dead_letter_topic, bulk_subscribe };
    (SubscriptionV1alpha1 { scopes, spec: Some(spec) }, rules)
}

fn to_v2alpha1(subscription: SubscriptionV1alpha1, rules: Vec<RoutingRule>) -> SubscriptionV2alpha1 {
    let SubscriptionV1alpha1 { scopes, spec } = subscription;
    let spec = spec.map(|spec| {
        let SubscriptionV1alpha1Spec {
            pubsubname,
            topic,
            metadata,
            route,
            dead_letter_topic,
            bulk_subscribe,
        } = spec;
        let routes = Routes { rules, default: Some(route).filter(|route| !route.is_empty()) };
        SubscriptionV2alpha1Spec { pubsubname, topic, metadata, routes, dead_letter_topic, bulk_subscribe }
    });
    SubscriptionV2alpha1 { scopes, spec }
}

/// Notes the rules; where there are none, no note of others stays.
fn write_rules(metadata: &mut Value, rules: &[RoutingRule]) -> Result<(), ConversionError> {
    take_note(metadata)?;
    if rules.is_empty() {
        return Ok(());
    }
    let note = serde_json::to_string(rules).map_err(ConversionError::Malformed)?;
    metadata["annotations"][ROUTING_RULES] = json!(note);
    Ok(())
}

fn take_rules(metadata: &mut Value) -> Result<Vec<RoutingRule>, ConversionError> {
    match take_note(metadata)? {
        Some(note) => serde_json::from_str(&note).map_err(ConversionError::Rules),
        None => Ok(Vec::new()),
    }
}

/// The note, which is then gone.
fn take_note(metadata: &mut Value) -> Result<Option<String>, ConversionError> {
    let fields = metadata.as_object_mut().ok_or(ConversionError::Metadata)?;
    let Some(annotations) = fields.get_mut("annotations").filter(|found| !found.is_null()) else {
        return Ok(None);
    };
    let annotations = annotations.as_object_mut().ok_or(ConversionError::Metadata)?;
    let note = annotations.remove(ROUTING_RULES);
    if note.is_some() && annotations.is_empty() {
        fields.remove("annotations");
    }
    Ok(note.as_ref().and_then(Value::as_str).map(str::to_owned))
}
