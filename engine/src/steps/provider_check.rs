//! The text of a step → the first call in it without a provider, so that it is reported before anything is run.

use vela_cue::Source;
use vela_cue::ast::DeclKind;
use vela_cue::parser;
use vela_cue::source::FileId;

/// The calls of each package that are answered here or by who runs the workflow; every call of a package without a list.
const ANSWERED: [(&str, &[&str]); 16] = [
    ("vela/base64", &[]),
    ("vela/cue", &[]),
    ("vela/time", &[]),
    ("vela/util", &[]),
    ("vela/http", &[]),
    ("vela/email", &[]),
    ("vela/metrics", &[]),
    ("vela/config", &[]),
    ("vela/builtin", &["ConditionalWait", "Suspend", "Break", "DoVar", "Fail", "Message", "Steps"]),
    ("vela/kube", &[]),
    ("vela/multicluster", PLACES),
    ("vela/oam", LOADING),
    ("vela/op", OP),
    ("vela/query", &[]),
    ("vela/ql", &[]),
    ("vela/terraform", &[]),
];

/// Of `vela/multicluster`, under all the names that releases have for them.
const PLACES: &[&str] = &[
    "GetPlacementsFromTmulticlusterologyPolicies",
    "GetPlacementsFromTopologyPolicies",
    "ListClusters",
    "Placements",
];

/// Of `vela/oam`.
const LOADING: &[&str] =
    &["Load", "LoadComponets", "LoadComponetsInOrder", "LoadInOrder", "LoadPolicies", "Steps"];

/// Of the first package, which has those of all others.
const OP: &[&str] = &[
    "Apply",
    "ApplyInParallel",
    "Break",
    "ConditionalWait",
    "ConvertString",
    "CreateConfig",
    "DateToTimestamp",
    "Delete",
    "DeleteConfig",
    "DeployCloudResource",
    "DingTalk",
    "DoVar",
    "Fail",
    "GetPlacementsFromTopologyPolicies",
    "HTTPDelete",
    "HTTPDo",
    "HTTPGet",
    "HTTPPost",
    "HTTPPut",
    "Lark",
    "List",
    "ListClusters",
    "ListConfig",
    "Load",
    "LoadComponets",
    "LoadComponetsInOrder",
    "LoadInOrder",
    "LoadPolicies",
    "Log",
    "Message",
    "Patch",
    "PatchK8sObject",
    "PromCheck",
    "Read",
    "ReadConfig",
    "SendEmail",
    "ShareCloudResource",
    "Slack",
    "Steps",
    "Suspend",
    "TimestampToDate",
];

/// The first call of a step without a provider, as it is written: `http.#HTTPDo`.
pub fn unanswered(text: &str) -> Option<String> {
    if !text.contains("vela/") {
        return None;
    }
    // The compilation reports errors of the text.
    let (file, _) = parser::parse(&Source::new("template", text), FileId::default());
    let imports = file.decls.iter().filter_map(|decl| match &decl.kind {
        DeclKind::Import(import) => Some(&import.specs),
        _ => None,
    });
    for spec in imports.flatten() {
        let path = spec.path.split(':').next().unwrap_or_default();
        let Some(last) = path.strip_prefix("vela/") else { continue };
        let name = spec.name.as_ref().map_or(last, |name| name.name.as_str());
        let answered = ANSWERED.iter().find(|(known, _)| *known == path).map(|(_, calls)| *calls);
        let mut calls = calls(text, name);
        let is_open = |call: &&str| answered.is_none_or(|known| !known.is_empty() && !known.contains(call));
        if let Some(call) = calls.find(is_open) {
            return Some(format!("{name}.#{call}"));
        }
    }
    None
}

/// The definitions of a package that a text names.
fn calls<'a>(text: &'a str, package: &str) -> impl Iterator<Item = &'a str> {
    let part = format!("{package}.#");
    let ends: Vec<usize> = text.match_indices(&part).map(|(at, _)| at + part.len()).collect();
    ends.into_iter().map(|at| {
        let rest = &text[at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        &rest[..end]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_a_provider_is_named() {
        let of = |text: &str| unanswered(text);
        assert_eq!(of("a: 1"), None);
        assert_eq!(of("import \"vela/kube\"\na: kube.#Apply & {}\nb: kube.#Read"), None);
        assert_eq!(of("import \"vela/kube\"\na: kube.#Patch & {}"), None);
        let chart =
            "import (\n\t\"vela/builtin\"\n\tcharts \"vela/helm\"\n)\na: builtin.#Fail\nb: charts.#Render";
        assert_eq!(of(chart), Some("charts.#Render".to_owned()));
        assert_eq!(of("import \"vela/http\"\na: http.#HTTPPost"), None);
        assert_eq!(of("import \"vela/op\"\na: op.#Log\nb: op.#ConditionalWait"), None);
        assert_eq!(of("import \"vela/op\"\na: op.#SendEmail"), None);
        assert_eq!(of("import \"vela/op\"\na: op.#ApplyComponent"), Some("op.#ApplyComponent".to_owned()));
        assert_eq!(of("import \"vela/util\"\na: util.#PatchK8sObject"), None);
    }
}
