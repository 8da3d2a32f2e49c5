//! The texts of the chart: objects with the values of a user in them, and the files that say what the values are.

use serde_json::{Value, json};

use crate::args::Format;
use crate::pointer::text;
use crate::screen::data;

// Stand in the printed objects where a value of the chart goes.
pub(super) const IMAGE: &str = "chart-controller-image";
pub(super) const NAMESPACE: &str = "chart-release-namespace";
pub(super) const DAPR_IMAGE: &str = "chart-dapr-image";
pub(super) const SIDECAR_IMAGE: &str = "chart-sidecar-image";
pub(super) const JWT_ISSUER: &str = "https://chart-jwt-issuer";
pub(super) const HARBOR_IMAGE: &str = "chart-harbor-image";
const REPLICAS: &str = "chart-replicas";
const RESOURCES: &str = "chart-resources";
const ARGS: &str = "chart-args";

/// The image in the base, which the kustomization of a user replaces.
pub(super) const BASE_IMAGE: &str = concat!("vela-core:", env!("CARGO_PKG_VERSION"));

/// First line of every file that is made.
pub(super) const HEAD: &str =
    "# Made of what `vela install --print` prints: `cargo xtask codegen` writes it anew.\n";

pub(super) const KUSTOMIZATION: &str =
    "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n";

/// The part of the values for a program.
fn part(program: &str) -> &'static str {
    match program {
        "vela-dapr" => "dapr",
        "vela-harbor" => "harbor",
        _ => "controller",
    }
}

/// The object with marks where values of the chart go.
pub(super) fn marked(mut object: Value) -> Value {
    if text(&object, "/kind") != "Deployment" {
        return object;
    }
    let part = part(text(&object, "/metadata/name"));
    object["spec"]["replicas"] = json!(format!("{REPLICAS}-{part}"));
    let container = &mut object["spec"]["template"]["spec"]["containers"][0];
    container["resources"] = json!(format!("{RESOURCES}-{part}"));
    if let Some(args) = container["args"].as_array_mut() {
        args.push(json!(format!("{ARGS}-{part}")));
    }
    object
}

pub(super) fn yaml(object: &Value) -> String {
    data(Format::Yaml, object).unwrap().trim_end().to_owned()
}

/// The object as a document; no lines where there is none.
pub(super) fn lines(object: Option<&Value>) -> Vec<String> {
    let Some(object) = object else { return Vec::new() };
    // What looks like a template in a text of ours is none.
    let text = yaml(object).replace("{{", "{{ \"{{\" }}");
    std::iter::once("---").chain(text.lines()).map(str::to_owned).collect()
}

/// The lines with templates in place of marks.
pub(super) fn finished(lines: &[String]) -> String {
    lines.iter().map(|line| in_release(&finished_line(line)) + "\n").collect()
}

/// The line with the namespace of the release; a whole value is quoted, because a namespace may look like a number.
fn in_release(line: &str) -> String {
    let value = "{{ .Release.Namespace | quote }}";
    match line.strip_suffix(NAMESPACE) {
        Some(before) if before.ends_with(": ") || before.ends_with("- ") => format!("{before}{value}"),
        _ => line.replace(NAMESPACE, "{{ .Release.Namespace }}"),
    }
}

fn finished_line(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let margin = &line[..indent];
    let marked =
        |mark: &str| line.split_once(mark).map(|(before, part)| (before, part.trim_start_matches('-')));
    if let Some((before, part)) = marked(REPLICAS) {
        return format!("{before}{{{{ .Values.{part}.replicas }}}}");
    }
    if let Some((_, part)) = marked(RESOURCES) {
        let deeper = indent + 2;
        return format!(
            "{margin}resources:\n{margin}  {{{{- toYaml .Values.{part}.resources | nindent {deeper} }}}}"
        );
    }
    if let Some((_, part)) = marked(ARGS) {
        return format!(
            "{{{{- range .Values.{part}.args }}}}\n{margin}- {{{{ . | quote }}}}\n{{{{- end }}}}"
        );
    }
    for (mark, value) in [(SIDECAR_IMAGE, "dapr.sidecarImage"), (JWT_ISSUER, "dapr.jwtIssuer")] {
        if let Some((before, _)) = marked(mark) {
            let flag = before.trim_start().trim_start_matches("- ");
            return format!("{margin}- {{{{ printf \"{flag}%s\" .Values.{value} | quote }}}}");
        }
    }
    for (mark, value) in
        [(IMAGE, "controller.image"), (DAPR_IMAGE, "dapr.image"), (HARBOR_IMAGE, "harbor.image")]
    {
        if let Some((before, _)) = marked(mark) {
            return format!("{before}{{{{ .Values.{value} | quote }}}}");
        }
    }
    line.to_owned()
}

/// The files of the chart that no object stands in.
pub(super) fn written_by_hand() -> Vec<(String, String)> {
    let version = env!("CARGO_PKG_VERSION");
    let chart = |name: &str, about: &str, more: &str| {
        format!(
            "apiVersion: v2\nname: {name}\ndescription: {about}\ntype: application\nversion: {version}\nappVersion: {version}\n{more}"
        )
    };
    let dependency =
        |name: &str| format!("  - name: {name}\n    version: {version}\n    condition: {name}.enabled\n");
    let dependencies = format!("dependencies:\n{}{}", dependency("dapr"), dependency("harbor"));
    let files = [
        (
            "Chart.yaml",
            chart(
                "vela",
                "Applications on Kubernetes - controller, kinds and built-in types of vela",
                &dependencies,
            ),
        ),
        ("charts/dapr/Chart.yaml", chart("dapr", "The kinds of dapr.io", "")),
        ("charts/harbor/Chart.yaml", chart("harbor", "The kinds of goharbor.io", "")),
        ("values.yaml", VALUES.to_owned()),
        ("values.schema.json", schema()),
        ("templates/checks.yaml", CHECKS.to_owned()),
        ("templates/NOTES.txt", NOTES.to_owned()),
    ];
    files.map(|(name, text)| (format!("chart/{name}"), text)).to_vec()
}

const VALUES: &str = r#"# The flags of `vela install`, which stand behind each value. Everything lives in the namespace of the release, and the
# operators in dapr-system and harbor-operator, which built-in types and `vela` name.

# vela-core. Without an image (--controller-image) no controller is installed.
controller:
  image: ""
  replicas: 1
  resources: &resources
    requests: {cpu: 50m, memory: 64Mi}
    limits: {memory: 1Gi}
  # More flags of vela-core.
  args: []

# Broken input is refused when it is written (--webhooks).
webhooks:
  enabled: false
  # An application does only what its author could (--authenticate-application).
  authenticateApplication: false
  # Workloads get what ServiceBindings name (--trait-injector).
  traitInjector: false

# Objects outside the application's namespace (--allow-cross-namespace).
allowCrossNamespace: false
# Roles, kinds, webhook configurations and tokens by applications (--allow-granting-rights).
allowGrantingRights: false
# What applications make, too, and logs of pods that their steps read (--grant).
grant:
  secrets: false
  pods: false
  endpoints: false
  logs: false

# The Dapr operator (--dapr); without an image (--dapr-image) only its kinds and rights.
dapr:
  enabled: false
  image: ""
  # Sidecars that it adds to annotated pods (--dapr-sidecar-image).
  sidecarImage: ""
  # JWTs of sidecars, signed under this https:// address, which leads to the Service dapr-sentry-oidc (--dapr-jwt-issuer).
  jwtIssuer: ""
  replicas: 1
  resources: *resources
  args: []

# The Harbor operator (--harbor); without an image (--harbor-image) only its kinds and rights.
harbor:
  enabled: false
  image: ""
  replicas: 1
  resources: *resources
  args: []
"#;

const CHECKS: &str = r#"{{- if and .Values.webhooks.enabled (not .Values.controller.image) }}
{{- fail "webhooks.enabled needs controller.image: the controller serves the webhooks" }}
{{- end }}
{{- if and .Values.webhooks.authenticateApplication (not .Values.webhooks.enabled) }}
{{- fail "webhooks.authenticateApplication needs webhooks.enabled: only admission knows who writes an application" }}
{{- end }}
{{- if and .Values.webhooks.traitInjector (not .Values.webhooks.enabled) }}
{{- fail "webhooks.traitInjector needs webhooks.enabled" }}
{{- end }}
{{- if and .Values.dapr.image (not .Values.dapr.enabled) }}
{{- fail "dapr.image needs dapr.enabled" }}
{{- end }}
{{- if and .Values.dapr.sidecarImage (not .Values.dapr.image) }}
{{- fail "dapr.sidecarImage needs dapr.image" }}
{{- end }}
{{- if and .Values.dapr.jwtIssuer (not .Values.dapr.image) }}
{{- fail "dapr.jwtIssuer needs dapr.image" }}
{{- end }}
{{- if and .Values.harbor.image (not .Values.harbor.enabled) }}
{{- fail "harbor.image needs harbor.enabled" }}
{{- end }}
"#;

const NOTES: &str = r#"vela {{ .Chart.AppVersion }} is installed in the namespace {{ .Release.Namespace }}.
{{- if not .Values.controller.image }}
No controller runs: set controller.image, or run vela-core yourself as the ServiceAccount {{ .Release.Namespace }}/vela-core.
{{- end }}
`vela system diagnose` says whether everything is well.
"#;

/// Which values there are: Helm refuses a value that is misspelt.
fn schema() -> String {
    let closed = |properties: Value| json!({"type": "object", "additionalProperties": false, "properties": properties});
    let (text, switch) = (json!({"type": "string"}), json!({"type": "boolean"}));
    let program = |more: &[(&str, &Value)]| {
        let mut properties = json!({
            "image": text, "replicas": {"type": "integer", "minimum": 0}, "resources": {"type": "object"},
            "args": {"type": "array", "items": {"type": "string"}},
        });
        for (name, value) in more {
            properties[*name] = (*value).clone();
        }
        // Helm hands every chart below another one these.
        if !more.is_empty() {
            properties["global"] = json!({"type": "object"});
        }
        closed(properties)
    };
    let schema = closed(json!({
        "global": {"type": "object"},
        "controller": program(&[]),
        "webhooks": closed(json!({"enabled": switch, "authenticateApplication": switch, "traitInjector": switch})),
        "allowCrossNamespace": switch,
        "allowGrantingRights": switch,
        "grant": closed(json!({"secrets": switch, "pods": switch, "endpoints": switch, "logs": switch})),
        "dapr": program(&[
            ("enabled", &switch),
            ("sidecarImage", &text),
            ("jwtIssuer", &json!({"type": "string", "pattern": "^(https://[^\\s?#@]+)?$"})),
        ]),
        "harbor": program(&[("enabled", &switch)]),
    }));
    let mut text = serde_json::to_string_pretty(&schema).unwrap();
    text.push('\n');
    text
}
