//! The annotations that several parts of a sidecar follow from.

use super::reader::{Reader, shown};
use super::settings::SidecarSettings;

/// What the app's containers may be told that they speak.
const PROTOCOLS: [&str; 5] = ["http", "https", "grpc", "grpcs", "h2c"];
const COMPONENT_SOCKETS: &str = "/tmp/dapr-components-sockets";

/// What a pod asks for.
pub(super) struct Asked {
    pub(super) app_id: String,
    /// As it stands in the annotation.
    pub(super) app_protocol: String,
    pub(super) app_ssl: bool,
    pub(super) grpc_port: i32,
    pub(super) internal_grpc_port: i32,
    pub(super) metrics: bool,
    pub(super) metrics_port: i32,
    /// Where a debugger listens, if one does.
    pub(super) debug_port: Option<i32>,
    /// Folder of the socket in the app's containers.
    pub(super) socket: Option<String>,
    pub(super) native: bool,
    /// Containers of the pod that are components.
    pub(super) component_containers: Vec<String>,
    /// Folder of the components' sockets.
    pub(super) component_sockets: String,
}

impl Asked {
    pub(super) fn read(reader: &mut Reader<'_>, app_id: &str, settings: &SidecarSettings) -> Self {
        let metrics = reader.word("dapr.io/enable-metrics");
        let debug = reader.is_yes("dapr.io/enable-debug");
        let debug_port = reader.port("dapr.io/debug-port", 40000);
        let containers = reader.given("dapr.io/pluggable-components").unwrap_or_default().split(',');
        let asked = Self {
            app_id: app_id.to_owned(),
            app_protocol: reader.text("dapr.io/app-protocol").unwrap_or("http").to_owned(),
            app_ssl: reader.is_yes("dapr.io/app-ssl"),
            grpc_port: reader.port("dapr.io/grpc-port", 50001),
            internal_grpc_port: reader.port("dapr.io/internal-grpc-port", 50002),
            metrics: metrics.unwrap_or(true),
            metrics_port: reader.port("dapr.io/metrics-port", 9090),
            debug_port: debug.then_some(debug_port),
            socket: reader.given("dapr.io/unix-domain-socket-path").map(str::to_owned),
            native: reader.word("dapr.io/enable-native-sidecar").unwrap_or(settings.native),
            component_containers: containers
                .map(|name| name.trim().to_owned())
                .filter(|name| !name.is_empty())
                .collect(),
            component_sockets: reader
                .given("dapr.io/pluggable-components-sockets-folder")
                .unwrap_or(COMPONENT_SOCKETS)
                .to_owned(),
        };
        if asked.protocol_of_app().is_none() {
            let found = shown(&asked.app_protocol);
            reader.warn(
                "dapr.io/app-protocol",
                format!("{found} is not known; expected {}", PROTOCOLS.join(", ")),
            );
        }
        asked
    }

    /// What the app's containers are told that they speak; nothing where that is not known.
    pub(super) fn protocol_of_app(&self) -> Option<&'static str> {
        let protocol = self.app_protocol.to_lowercase();
        match (protocol.as_str(), self.app_ssl) {
            ("" | "http", true) => Some("https"),
            ("", false) => Some("http"),
            ("grpc", true) => Some("grpcs"),
            _ => PROTOCOLS.into_iter().find(|known| *known == protocol),
        }
    }
}
