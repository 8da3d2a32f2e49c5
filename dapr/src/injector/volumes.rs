//! The volumes that a sidecar and the containers beside it share.

use serde_json::{Value, json};

use super::settings::SidecarSettings;

/// Holds the socket of app and sidecar.
pub(super) const SOCKET_VOLUME: &str = "dapr-unix-domain-socket";
/// Holds the token by which the sentry knows the sidecar.
pub(super) const TOKEN_VOLUME: &str = "dapr-identity-token";
/// Holds the sockets of components and sidecar.
pub(super) const COMPONENT_VOLUME: &str = "dapr-components-unix-domain-socket";
const TOKEN_SECONDS: u32 = 7200;
const TOKEN_MODE: u32 = 0o644;

pub(super) fn socket() -> Value {
    json!({"name": SOCKET_VOLUME, "emptyDir": {"medium": "Memory"}})
}

pub(super) fn empty(name: &str) -> Value {
    json!({"name": name, "emptyDir": {}})
}

pub(super) fn token(settings: &SidecarSettings) -> Value {
    let audience = format!("spiffe://{}/ns/{}/dapr-sentry", settings.trust_domain, settings.namespace);
    let token = json!({"audience": audience, "expirationSeconds": TOKEN_SECONDS, "path": "token"});
    json!({
        "name": TOKEN_VOLUME,
        "projected": {"sources": [{"serviceAccountToken": token}], "defaultMode": TOKEN_MODE},
    })
}
