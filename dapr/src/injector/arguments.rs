//! The arguments with which a sidecar starts, in the order of Dapr's injector.

use std::fmt::Display;

use super::asked::Asked;
use super::reader::{Reader, shown};
use super::settings::SidecarSettings;
use super::words::{is_duration, is_quantity};

pub(super) const HTTP_PORT: i32 = 3500;
pub(super) const PUBLIC_PORT: i32 = 3501;
/// Where the sidecar finds the folder of the socket.
pub(super) const SOCKET_FOLDER: &str = "/var/run/dapr-sockets";
const LEVELS: [&str; 5] = ["debug", "info", "warn", "error", "fatal"];
const DURATION: &str = "a duration such as 5s or 1m30s";
const SIZE: &str = "a size such as 16Mi";

#[derive(Default)]
struct Arguments(Vec<String>);

impl Arguments {
    fn flag(&mut self, flag: &str, wanted: bool) {
        if wanted {
            self.0.push(flag.to_owned());
        }
    }

    fn set(&mut self, flag: &str, value: impl Display) {
        self.0.extend([flag.to_owned(), value.to_string()]);
    }

    fn set_if(&mut self, flag: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.set(flag, value);
        }
    }
}

/// What stands behind the name of the program.
pub(super) fn arguments(
    asked: &Asked,
    reader: &mut Reader<'_>,
    settings: &SidecarSettings,
    mtls: bool,
) -> Vec<String> {
    let mut all = Arguments::default();
    all.set("--dapr-http-port", HTTP_PORT);
    all.set("--dapr-grpc-port", asked.grpc_port);
    all.set("--dapr-internal-grpc-port", asked.internal_grpc_port);
    let listen = reader.text("dapr.io/sidecar-listen-addresses").unwrap_or("[::1],127.0.0.1");
    all.set("--dapr-listen-addresses", listen);
    all.set("--dapr-public-port", PUBLIC_PORT);
    all.set("--app-id", &asked.app_id);
    all.set("--app-protocol", &asked.app_protocol);
    all.set("--log-level", log_level(reader));
    let seconds = reader.number("dapr.io/graceful-shutdown-seconds").unwrap_or(-1);
    all.set("--dapr-graceful-shutdown-seconds", seconds);
    all.set("--mode", "kubernetes");
    all.set("--control-plane-address", settings.address("dapr-api:443"));
    all.set("--sentry-address", settings.address("dapr-sentry:443"));
    all.set_if("--app-port", app_port(reader));
    all.flag("--enable-metrics", asked.metrics);
    all.set_if("--metrics-port", asked.metrics.then_some(asked.metrics_port));
    all.set_if("--config", reader.given("dapr.io/config"));
    all.set_if("--app-channel-address", reader.given("dapr.io/app-channel-address"));
    place_actors(&mut all, reader, settings);
    all.set_if("--sentry-request-jwt-audiences", reader.given("dapr.io/sentry-request-jwt-audiences"));
    if let Some(log) = reader.word("dapr.io/enable-api-logging") {
        all.flag(&format!("--enable-api-logging={log}"), true);
    }
    let without_secrets = reader.is_yes("dapr.io/disable-builtin-k8s-secret-store");
    all.flag("--disable-builtin-k8s-secret-store", without_secrets);
    check_app_health(&mut all, reader);
    let binding = reader.checked("dapr.io/app-binding-options-timeout", is_duration, DURATION);
    all.set_if("--app-binding-options-timeout", binding);
    all.flag("--log-as-json", reader.is_yes("dapr.io/log-as-json"));
    all.flag("--enable-profiling", reader.is_yes("dapr.io/enable-profiling"));
    all.flag("--enable-mtls", mtls);
    all.flag("--app-ssl", asked.app_ssl);
    all.set_if("--app-max-concurrency", reader.number("dapr.io/app-max-concurrency"));
    all.set_if("--dapr-http-max-request-size", reader.number("dapr.io/http-max-request-size"));
    all.set_if("--max-body-size", reader.checked("dapr.io/max-body-size", is_quantity, SIZE));
    all.set_if("--dapr-http-read-buffer-size", reader.number("dapr.io/http-read-buffer-size"));
    all.set_if("--read-buffer-size", reader.checked("dapr.io/read-buffer-size", is_quantity, SIZE));
    all.set_if("--unix-domain-socket", asked.socket.as_ref().map(|_| SOCKET_FOLDER));
    let block = reader.checked("dapr.io/block-shutdown-duration", is_duration, DURATION);
    all.set_if("--dapr-block-shutdown-duration", block);
    let disseminate = reader.checked("dapr.io/actors-disseminate-timeout", is_duration, DURATION);
    all.set_if("--actors-disseminate-timeout", disseminate);
    match reader.text("dapr.io/scheduler-host-address") {
        Some(address) => all.set("--scheduler-host-address", address),
        None if settings.scheduler => {
            all.set("--scheduler-host-address", settings.address("dapr-scheduler-server-a:443"));
        }
        None => {}
    }
    all.set_if("--disable-init-endpoints", reader.given("dapr.io/disable-init-endpoints"));
    all.0
}

/// The program and its arguments; behind a debugger where one is asked for.
pub(super) fn under_debugger(port: Option<i32>, arguments: Vec<String>) -> (&'static str, Vec<String>) {
    let Some(port) = port else { return ("/daprd", arguments) };
    let debugger = [
        "--listen",
        &format!(":{port}"),
        "--accept-multiclient",
        "--headless=true",
        "--log",
        "--api-version=2",
        "exec",
        "/daprd",
        "--",
    ];
    ("/dlv", debugger.into_iter().map(str::to_owned).chain(arguments).collect())
}

fn log_level<'a>(reader: &mut Reader<'a>) -> &'a str {
    let level = reader.text("dapr.io/log-level").unwrap_or("info");
    if !LEVELS.iter().any(|known| level.eq_ignore_ascii_case(known)) {
        let message = format!("{} is not known; expected {}", shown(level), LEVELS.join(", "));
        reader.warn("dapr.io/log-level", message);
    }
    level
}

fn app_port(reader: &mut Reader<'_>) -> Option<i32> {
    let port = reader.number("dapr.io/app-port")?;
    if !(0..=65535).contains(&port) {
        reader.warn("dapr.io/app-port", format!("{port} is not a port; expected a number from 1 to 65535"));
    }
    Some(port).filter(|port| *port > 0)
}

/// An address in the annotation wins, also where it says nothing: then there is no placement.
fn place_actors(all: &mut Arguments, reader: &mut Reader<'_>, settings: &SidecarSettings) {
    match (reader.text("dapr.io/placement-host-address"), &settings.actors) {
        (Some(address), _) => {
            let quoted = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
            let said = !address.trim_matches(quoted).is_empty();
            all.set_if("--placement-host-address", said.then_some(address));
        }
        (None, Some(actors)) if actors.is_placement() => {
            all.set("--placement-host-address", settings.address(&actors.address));
        }
        (None, Some(actors)) => {
            all.set("--actors-service", format!("{}:{}", actors.name, settings.address(&actors.address)));
        }
        (None, None) => {}
    }
    if let Some(reminders) = &settings.reminders {
        let service = format!("{}:{}", reminders.name, settings.address(&reminders.address));
        all.set("--reminders-service", service);
    }
}

fn check_app_health(all: &mut Arguments, reader: &mut Reader<'_>) {
    let enabled = reader.is_yes("dapr.io/enable-app-health-check");
    let path = reader.text("dapr.io/app-health-check-path").unwrap_or("/healthz");
    let mut number = |name, default| reader.number(name).unwrap_or(default);
    let interval = number("dapr.io/app-health-probe-interval", 5);
    let timeout = number("dapr.io/app-health-probe-timeout", 500);
    let threshold = number("dapr.io/app-health-threshold", 3);
    if enabled {
        all.flag("--enable-app-health-check", true);
        all.set("--app-health-check-path", path);
        all.set("--app-health-probe-interval", interval);
        all.set("--app-health-probe-timeout", timeout);
        all.set("--app-health-threshold", threshold);
    }
}
