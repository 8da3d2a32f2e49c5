//! The container of a sidecar.

use serde_json::{Map, Value, json};

use super::arguments::{HTTP_PORT, PUBLIC_PORT, SOCKET_FOLDER, arguments, under_debugger};
use super::asked::Asked;
use super::patch::list;
use super::reader::{Reader, shown};
use super::settings::SidecarSettings;
use super::volumes::{COMPONENT_VOLUME, SOCKET_VOLUME, TOKEN_VOLUME};
use super::words::{is_quantity, mounts, variables};

/// Name of the container.
pub(super) const NAME: &str = "daprd";
pub(super) const COMPONENT_SOCKETS_FOLDER: &str = "DAPR_COMPONENT_SOCKETS_FOLDER";
const TOKEN_FOLDER: &str = "/var/run/secrets/dapr.io/sentrytoken";
/// Its presence means Windows, where this user writes certificates.
const WINDOWS_VARIABLE: &str = "SSL_CERT_DIR";
const SECCOMP_PROFILES: [&str; 2] = ["RuntimeDefault", "Unconfined"];

/// Where a sidecar is put, and what is known of the cluster.
pub(super) struct Place<'a> {
    pub(super) pod: &'a Value,
    pub(super) namespace: &'a str,
    pub(super) mtls: bool,
    /// Whether there are containers of components.
    pub(super) components: bool,
}

pub(super) fn container(
    asked: &Asked,
    place: &Place<'_>,
    reader: &mut Reader<'_>,
    settings: &SidecarSettings,
) -> Value {
    let (program, mut args) =
        under_debugger(asked.debug_port, arguments(asked, reader, settings, place.mtls));
    let environment = environment(asked, place, reader, settings);
    let is_windows = environment.iter().any(|variable| variable["name"] == WINDOWS_VARIABLE);
    let image = reader.text("dapr.io/sidecar-image").unwrap_or(&settings.image);
    if image.is_empty() {
        reader.warn("dapr.io/sidecar-image", "is empty, so the sidecar has no image");
    }
    let mut container = json!({
        "name": NAME,
        "ports": ports(asked),
        "env": environment,
        "resources": resources(reader),
        "volumeMounts": volume_mounts(asked, place, reader),
        "livenessProbe": probe(reader, &LIVENESS, json!({"tcpSocket": {"port": PUBLIC_PORT}})),
        "readinessProbe":
            probe(reader, &READINESS, json!({"httpGet": {"path": "/v1.0/healthz", "port": PUBLIC_PORT}})),
        "imagePullPolicy": settings.image_pull_policy,
        "securityContext": security_context(reader, settings, is_windows),
    });
    if ignores_entrypoint(place.pod, settings) {
        container["command"] = json!([program]);
    } else {
        args.insert(0, program.to_owned());
    }
    container["args"] = json!(args);
    if !image.is_empty() {
        container["image"] = json!(image);
    }
    if asked.native {
        container["restartPolicy"] = json!("Always");
    }
    container
}

/// Some nodes run a container only by its command.
fn ignores_entrypoint(pod: &Value, settings: &SidecarSettings) -> bool {
    let plain = |toleration: &Value| -> Map<String, Value> {
        let fields = toleration.as_object().into_iter().flatten();
        let fields = fields.filter(|(_, value)| !value.is_null() && *value != "");
        fields.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    list(&pod["spec"]["tolerations"]).iter().any(|toleration| {
        settings.ignore_entrypoint_tolerations.iter().any(|ignoring| plain(ignoring) == plain(toleration))
    })
}

fn ports(asked: &Asked) -> Vec<Value> {
    let port = |name: &str, port: i32| json!({"name": name, "containerPort": port});
    let mut ports = vec![
        port("dapr-http", HTTP_PORT),
        port("dapr-grpc", asked.grpc_port),
        port("dapr-internal", asked.internal_grpc_port),
        port("dapr-metrics", asked.metrics_port),
    ];
    ports.extend(asked.debug_port.map(|debug| port("dapr-debug", debug)));
    ports
}

/// A variable; an empty value is left out, as Kubernetes writes it.
pub(super) fn variable(name: &str, value: &str) -> Value {
    if value.is_empty() { json!({"name": name}) } else { json!({"name": name, "value": value}) }
}

fn of_field(name: &str, path: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
}

fn of_secret(name: &str, secret: &str, key: &str) -> Value {
    json!({"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}})
}

fn environment(
    asked: &Asked,
    place: &Place<'_>,
    reader: &mut Reader<'_>,
    settings: &SidecarSettings,
) -> Vec<Value> {
    let mut all = vec![
        variable("NAMESPACE", place.namespace),
        variable("DAPR_TRUST_ANCHORS", &settings.trust_anchors.borrow()),
        of_field("POD_NAME", "metadata.name"),
        variable("DAPR_CONTROLPLANE_NAMESPACE", &settings.namespace),
        variable("DAPR_CONTROLPLANE_TRUST_DOMAIN", &settings.trust_domain),
    ];
    if settings.pod_ip {
        all.push(of_field("DAPR_HOST_IP", "status.podIP"));
    }
    let mut names = Vec::new();
    for part in variables(reader.given("dapr.io/env").unwrap_or_default()) {
        match part {
            Ok((name, value)) => {
                names.push(name);
                all.push(variable(name, value));
            }
            Err(part) => passed_over(reader, "dapr.io/env", part, "NAME=value"),
        }
    }
    for part in variables(reader.given("dapr.io/env-from-secret").unwrap_or_default()) {
        let expected = "NAME=secret:key or NAME=secret";
        match part {
            Ok((name, from)) => {
                names.push(name);
                match from.split(':').map(str::trim).collect::<Vec<_>>()[..] {
                    [secret] if !secret.is_empty() => all.push(of_secret(name, secret, secret)),
                    [secret, key] if !secret.is_empty() && !key.is_empty() => {
                        all.push(of_secret(name, secret, key));
                    }
                    _ => passed_over(reader, "dapr.io/env-from-secret", from, expected),
                }
            }
            Err(part) => passed_over(reader, "dapr.io/env-from-secret", part, expected),
        }
    }
    if !names.is_empty() {
        all.push(variable("DAPR_ENV_KEYS", &names.join(" ")));
    }
    if place.components {
        all.push(variable(COMPONENT_SOCKETS_FOLDER, &asked.component_sockets));
    }
    for (name, annotation) in
        [("DAPR_API_TOKEN", "dapr.io/api-token-secret"), ("APP_API_TOKEN", "dapr.io/app-token-secret")]
    {
        all.extend(reader.given(annotation).map(|secret| of_secret(name, secret, "token")));
    }
    all
}

fn passed_over(reader: &mut Reader<'_>, annotation: &str, part: &str, expected: &str) {
    reader.warn(annotation, format!("{} is passed over; expected {expected}", shown(part)));
}

/// All four quantities or none: half of what was asked for would be another request.
fn resources(reader: &mut Reader<'_>) -> Value {
    let mut resources = json!({});
    let mut wrong = false;
    for (annotation, list, resource) in [
        ("dapr.io/sidecar-cpu-limit", "limits", "cpu"),
        ("dapr.io/sidecar-memory-limit", "limits", "memory"),
        ("dapr.io/sidecar-cpu-request", "requests", "cpu"),
        ("dapr.io/sidecar-memory-request", "requests", "memory"),
    ] {
        let Some(text) = reader.given(annotation) else { continue };
        if is_quantity(text) {
            resources[list][resource] = json!(text);
        } else {
            wrong = true;
            let message =
                format!("{} is no quantity such as 500m or 64Mi; no resources are set", shown(text));
            reader.warn(annotation, message);
        }
    }
    if wrong { json!({}) } else { resources }
}

fn volume_mounts(asked: &Asked, place: &Place<'_>, reader: &mut Reader<'_>) -> Vec<Value> {
    let volumes = list(&place.pod["spec"]["volumes"]);
    let mut all = Vec::new();
    for (annotation, read_only) in [("dapr.io/volume-mounts", true), ("dapr.io/volume-mounts-rw", false)] {
        for part in mounts(reader.given(annotation).unwrap_or_default()) {
            match part {
                Ok((volume, path)) if volumes.iter().any(|known| known["name"] == volume) => {
                    let mut mount = json!({"name": volume, "mountPath": path});
                    if read_only {
                        mount["readOnly"] = json!(true);
                    }
                    all.push(mount);
                }
                Ok((volume, _)) => {
                    let message =
                        format!("the pod has no volume {}; the mount is passed over", shown(volume));
                    reader.warn(annotation, message);
                }
                Err(part) => passed_over(reader, annotation, part, "VOLUME:PATH"),
            }
        }
    }
    if asked.socket.is_some() {
        all.push(json!({"name": SOCKET_VOLUME, "mountPath": SOCKET_FOLDER}));
    }
    all.push(json!({"name": TOKEN_VOLUME, "readOnly": true, "mountPath": TOKEN_FOLDER}));
    if place.components {
        all.push(json!({"name": COMPONENT_VOLUME, "mountPath": asked.component_sockets}));
    }
    all
}

/// The annotations of a probe with their defaults: delay, timeout, period, threshold.
type Probe = [(&'static str, i32); 4];

const LIVENESS: Probe = [
    ("dapr.io/sidecar-liveness-probe-delay-seconds", 180),
    ("dapr.io/sidecar-liveness-probe-timeout-seconds", 3),
    ("dapr.io/sidecar-liveness-probe-period-seconds", 10),
    ("dapr.io/sidecar-liveness-probe-threshold", 5),
];
const READINESS: Probe = [
    ("dapr.io/sidecar-readiness-probe-delay-seconds", 1),
    ("dapr.io/sidecar-readiness-probe-timeout-seconds", 1),
    ("dapr.io/sidecar-readiness-probe-period-seconds", 1),
    ("dapr.io/sidecar-readiness-probe-threshold", 5),
];

/// A zero is left out, as Kubernetes writes it, and so becomes the default of API servers.
fn probe(reader: &mut Reader<'_>, annotations: &Probe, mut probe: Value) -> Value {
    let fields = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold"];
    for (field, (annotation, default)) in fields.into_iter().zip(*annotations) {
        let number = reader.number(annotation).unwrap_or(default);
        if number < 0 {
            reader.warn(annotation, format!("{number} is less than 0, so API servers refuse the pod"));
        }
        if number != 0 {
            probe[field] = json!(number);
        }
    }
    probe
}

fn security_context(reader: &mut Reader<'_>, settings: &SidecarSettings, is_windows: bool) -> Value {
    let confinement = &settings.confinement;
    let mut context = json!({
        "allowPrivilegeEscalation": false,
        "runAsNonRoot": confinement.non_root && !is_windows,
        "readOnlyRootFilesystem": confinement.read_only_root && !is_windows,
    });
    if is_windows {
        context["windowsOptions"] = json!({"runAsUserName": "ContainerAdministrator"});
    } else {
        for (field, id) in [("runAsUser", confinement.user), ("runAsGroup", confinement.group)] {
            if let Some(id) = id {
                context[field] = json!(id);
            }
        }
    }
    if confinement.drop_capabilities {
        context["capabilities"] = json!({"drop": ["ALL"]});
    }
    if let Some(profile) = reader.given("dapr.io/sidecar-seccomp-profile-type") {
        if !SECCOMP_PROFILES.contains(&profile) {
            let message = format!(
                "{} makes API servers refuse the pod; expected {}",
                shown(profile),
                SECCOMP_PROFILES.join(" or ")
            );
            reader.warn("dapr.io/sidecar-seccomp-profile-type", message);
        }
        context["seccompProfile"] = json!({"type": profile});
    }
    context
}
