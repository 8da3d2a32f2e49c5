//! Subscription: which messages of a topic an application receives, and where; v2alpha1 chooses the path by rules.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A subscription with one path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionV1alpha1 {
    /// Ids of the applications that receive the messages; nothing means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// What is received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<SubscriptionV1alpha1Spec>,
}

/// What is received, and at which path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionV1alpha1Spec {
    /// Name of the pub/sub component.
    pub pubsubname: String,
    /// The topic.
    pub topic: String,
    /// Settings of the component for this subscription.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Path of the application that receives every message.
    pub route: String,
    /// Topic for messages that could not be delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letter_topic: Option<String>,
    /// Whether many messages come at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk_subscribe: Option<BulkSubscribe>,
}

/// A subscription whose path is chosen by rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionV2alpha1 {
    /// Ids of the applications that receive the messages; nothing means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// What is received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<SubscriptionV2alpha1Spec>,
}

/// What is received, and how its path is chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionV2alpha1Spec {
    /// Name of the pub/sub component.
    pub pubsubname: String,
    /// The topic.
    pub topic: String,
    /// Settings of the component for this subscription.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Paths of the application.
    pub routes: Routes,
    /// Topic for messages that could not be delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letter_topic: Option<String>,
    /// Whether many messages come at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk_subscribe: Option<BulkSubscribe>,
}

/// How the path of a message is chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Routes {
    /// Looked at in order; the first one that matches decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RoutingRule>,
    /// Path where no rule matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// A path, and the messages that take it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoutingRule {
    /// A CEL expression over the message; an empty one matches all.
    #[serde(rename = "match")]
    pub condition: String,
    /// The path.
    pub path: String,
}

/// Whether many messages come at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BulkSubscribe {
    /// Whether they do.
    pub enabled: bool,
    /// Most messages at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_messages_count: Option<i32>,
    /// Longest wait for more of them, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_await_duration_ms: Option<i32>,
}
