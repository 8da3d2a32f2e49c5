//! The parts of a definition that belong to a Helm chart and that vela does not carry out: it says so to the author,
//! who would wait for them.

use serde_json::Value;
use vela_engine::definition::Language;
use vela_engine::{Code, Definition, Diagnostic, Diagnostics};

/// The findings, all of them warnings: none of them keeps a definition out.
pub(crate) fn findings(definition: &Definition) -> Diagnostics {
    [unchecked(definition), not_installed(definition), not_fetched(definition)]
        .into_iter()
        .flatten()
        .collect()
}

/// Charts are not read here, so the values that they take are unknown.
fn unchecked(definition: &Definition) -> Option<Diagnostic> {
    let Language::Helm { release, .. } = definition.language() else { return None };
    let chart = text(release, "/chart/spec/chart");
    let message = format!(
        "the parameters are the values of the chart {chart:?}, which is not read: an application's values are not checked, and there \
         is no schema of them"
    );
    let hint = "look them up with `helm show values`; Flux tells in the HelmRelease what the chart refuses";
    Some(warning("spec.schematic.helm", message).hint(hint))
}

/// `extension.install.helm`: the command line of 0.3 installed the chart when it read the definition.
fn not_installed(definition: &Definition) -> Option<Diagnostic> {
    let helm = definition.spec().pointer("/extension/install/helm").filter(|helm| helm.is_object())?;
    let (name, url, version) = (text(helm, "/name"), text(helm, "/url"), text(helm, "/version"));
    let (namespace, repo) = (text(helm, "/namespace"), text(helm, "/repo"));
    let message = format!("the chart {name:?} of {url} is not installed for the definition");
    let version = if version.is_empty() { String::new() } else { format!(" --version {version}") };
    let namespace = if namespace.is_empty() { String::new() } else { format!(" --namespace {namespace}") };
    let hint = format!(
        "install it where its kinds are missing: helm repo add {repo} {url} && helm install {name} {repo}/{name}{version}{namespace}"
    );
    Some(warning("spec.extension.install", message).hint(hint))
}

/// `extension.templateURI`: the command line of 0.3 fetched the template.
fn not_fetched(definition: &Definition) -> Option<Diagnostic> {
    let uri = text(definition.spec(), "/extension/templateURI");
    let has_template = *definition.language() != Language::None;
    (!uri.is_empty() && !has_template).then(|| {
        let message = format!("the template at {uri} is not fetched: the definition makes nothing");
        warning("spec.extension.templateURI", message)
            .hint("write the text itself at spec.schematic.cue.template")
    })
}

fn warning(path: &str, message: String) -> Diagnostic {
    Diagnostic { path: path.to_owned(), ..Diagnostic::warning(Code::NotSupported, message) }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
