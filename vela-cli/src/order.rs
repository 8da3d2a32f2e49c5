//! Which object goes first when many are applied together, and last when they are deleted.

use vela_engine::Document;

/// Sorts so that everything comes after what it may refer to; otherwise the order of the files is kept.
pub(crate) fn sort(documents: &mut [Document]) {
    documents.sort_by_key(rank);
}

/// Is it an object that a controller of ours turns into others, so that it is worth waiting for?
pub(crate) fn is_application(document: &Document) -> bool {
    group(document) == "core.oam.dev" && matches!(document.kind(), "Application" | "ApplicationConfiguration")
}

/// An object that comes to rest some time after it was applied.
pub(crate) fn is_awaited(document: &Document) -> bool {
    is_application(document) || is_rollout(document)
}

/// A rollout between revisions.
pub(crate) fn is_rollout(document: &Document) -> bool {
    group(document) == "core.oam.dev" && document.kind() == "AppRollout"
}

fn group(document: &Document) -> &str {
    document.api_version().split_once('/').map_or("", |(group, _)| group)
}

fn rank(document: &Document) -> u8 {
    match (group(document), document.kind()) {
        ("", "Namespace") => 0,
        ("apiextensions.k8s.io", _) => 1,
        ("core.oam.dev", kind) if kind.ends_with("Definition") => 2,
        ("rbac.authorization.k8s.io", _) | ("", "ServiceAccount") => 3,
        ("", "Secret" | "ConfigMap" | "PersistentVolume" | "PersistentVolumeClaim") => 4,
        ("core.oam.dev", "Component") => 7,
        ("core.oam.dev", "ApplicationConfiguration" | "Application") => 8,
        ("core.oam.dev", kind) if kind.ends_with("Scope") => 6,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_referred_to_comes_first() {
        let document = |api_version: &str, kind: &str| {
            Document::from_object(json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}))
        };
        let mut documents = [
            document("core.oam.dev/v1alpha2", "ApplicationConfiguration"),
            document("core.oam.dev/v1alpha2", "Component"),
            document("core.oam.dev/v1alpha2", "HealthScope"),
            document("v1", "Secret"),
            document("core.oam.dev/v1beta1", "TraitDefinition"),
            document("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            document("v1", "Namespace"),
        ];
        sort(&mut documents);
        let kinds: Vec<&str> = documents.iter().map(Document::kind).collect();
        assert_eq!(
            kinds,
            [
                "Namespace",
                "CustomResourceDefinition",
                "TraitDefinition",
                "Secret",
                "HealthScope",
                "Component",
                "ApplicationConfiguration"
            ]
        );
    }
}
