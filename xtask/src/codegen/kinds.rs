//! Discovery and tables in, `apiserver/src/builtin/kinds.txt` out: how each built-in kind is named, listed and shown.

use super::facts::{RELEASE, Resource};
use super::served::Served;

/// Subresources that the embedded API server serves by what the table says.
const SUBRESOURCES: [&str; 2] = ["scale", "status"];

/// The text of the file.
pub(super) fn text(resources: &[Resource], served: &[Served]) -> Result<String, String> {
    let mut out = format!(
        "; How each built-in kind is served, one block per kind:\n\
         ; `#apiVersion Kind plural singular Namespaced|Cluster [generation]`, `short NAMES`, `categories NAMES`, `verbs NAMES`,\n\
         ; `subresources NAMES`, and `column PRIORITY TYPE[/FORMAT] HEADING` for each column of its table.\n\
         ; Made by `cargo xtask codegen` of what a Kubernetes {RELEASE} API server answers; do not edit.\n"
    );
    for kind in served {
        let resource =
            resources.iter().find(|r| r.api_version == kind.api_version && r.kind == kind.kind).ok_or_else(
                || format!("{} {}: Kubernetes {RELEASE} lists no such kind", kind.api_version, kind.kind),
            )?;
        for line in lines(resource, kind.generation) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    Ok(out)
}

fn lines(resource: &Resource, generation: bool) -> Vec<String> {
    let Resource { api_version, kind, plural, singular, .. } = resource;
    let scope = if resource.namespaced { "Namespaced" } else { "Cluster" };
    let counts = if generation { " generation" } else { "" };
    let mut lines = vec![format!("#{api_version} {kind} {plural} {singular} {scope}{counts}")];
    let subresources: Vec<String> =
        SUBRESOURCES.iter().map(|s| (*s).to_owned()).filter(|s| resource.subresources.contains(s)).collect();
    for (what, names) in [
        ("short", &resource.short_names),
        ("categories", &resource.categories),
        ("verbs", &resource.verbs),
        ("subresources", &subresources),
    ] {
        if !names.is_empty() {
            lines.push(format!("{what} {}", names.join(" ")));
        }
    }
    lines.extend(resource.columns.iter().map(|column| {
        let slash = if column.format.is_empty() { "" } else { "/" };
        format!("column {} {}{slash}{} {}", column.priority, column.type_, column.format, column.name)
    }));
    lines
}
