//! Decides whether an application may make a rendered object, by how far the operator lets applications reach.
//!
//! Where controllers act for no author, an application has the rights of the controller: a user who may write one in a
//! namespace would write into every other one, give rights away and have tokens made. So two things need an operator's word,
//! each by a flag.

use serde_json::Value as Json;

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::manifest::Document;
use crate::observed::ObjectKey;

/// The flag of vela-core that lets applications make objects outside their namespace.
pub const ALLOW_CROSS_NAMESPACE: &str = "--allow-cross-namespace";
/// The flag of vela-core that lets applications make what gives rights.
pub const ALLOW_GRANTING_RIGHTS: &str = "--allow-granting-rights";
/// The flag by which authors' own rights decide.
const AUTHENTICATE: &str = "--authenticate-application";
/// The type of Secrets that the cluster fills with the token of a ServiceAccount.
const TOKEN: &str = "kubernetes.io/service-account-token";

/// How far the objects of an application may reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// They are in the application's own namespace.
    pub own_namespace: bool,
    /// None of them gives rights.
    pub no_rights: bool,
}

impl Bounds {
    /// Everywhere and everything: where an author's own rights decide, or nothing is made at all.
    pub const NONE: Self = Self { own_namespace: false, no_rights: false };
    /// The bounds by default.
    pub const SAFE: Self = Self { own_namespace: true, no_rights: true };

    /// Why an application of this namespace may not make the object: what is wrong, and what to do.
    pub fn refusal(self, object: &Json, namespace: &str) -> Option<(String, String)> {
        let key = ObjectKey::of(object);
        if self.no_rights
            && let Some(what) = gives_rights(object, &key)
        {
            return Some((format!("{key}: {what}, and an application may not give rights"), rights()));
        }
        if !self.own_namespace {
            return None;
        }
        if is_of_cluster(key.group(), &key.kind) {
            return Some((of_cluster(&key), elsewhere()));
        }
        (!key.namespace.is_empty() && key.namespace != namespace).then(|| {
            let message = format!(
                "{key}: metadata.namespace is {:?}, and an application makes objects in its own namespace {namespace:?} only",
                key.namespace
            );
            (message, elsewhere())
        })
    }

    /// Why an application of a namespace may not place its components in another one.
    pub(crate) fn refusal_of_namespace(self, namespace: &str, own: &str) -> Option<(String, String)> {
        let is_elsewhere = !namespace.is_empty() && namespace != own;
        (self.own_namespace && is_elsewhere).then(|| {
            let message = format!(
                "namespace {namespace:?} is not the application's, and an application makes objects in its own namespace {own:?} only"
            );
            (message, elsewhere())
        })
    }

    /// The same for an object of a kind that turned out to have no namespaces.
    pub fn refusal_of_cluster(self, key: &ObjectKey) -> Option<(String, String)> {
        self.own_namespace.then(|| (of_cluster(key), elsewhere()))
    }

    /// Why an application of this namespace may not look at the object: with the rights of the controller it could read what
    /// its author must not see.
    pub fn refusal_of_reading(self, key: &ObjectKey, namespace: &str) -> Option<(String, String)> {
        (self.own_namespace && key.namespace != namespace).then(|| {
            let message =
                format!("{key}: an application reads objects of its own namespace {namespace:?} only");
            (message, elsewhere())
        })
    }

    /// Tells of the object, made by the field at this path of the document, if it is refused.
    pub(crate) fn judge(
        self,
        object: &Json,
        namespace: &str,
        (document, path): (&Document, &str),
        found: &mut Diagnostics,
    ) {
        if let Some((message, hint)) = self.refusal(object, namespace) {
            found.push(Diagnostic::error(Code::Refused, message).at(document, path).hint(hint));
        }
    }
}

fn of_cluster(key: &ObjectKey) -> String {
    let ObjectKey { kind, name, .. } = key;
    format!(
        "{kind} {name}: it belongs to the whole cluster, and an application makes objects in its own namespace only"
    )
}

fn elsewhere() -> String {
    format!(
        "vela-core allows it with {ALLOW_CROSS_NAMESPACE}, or with {AUTHENTICATE} to those who have the right themselves"
    )
}

fn rights() -> String {
    format!(
        "vela-core allows it with {ALLOW_GRANTING_RIGHTS}, or with {AUTHENTICATE} to those who have the right themselves"
    )
}

/// In which way the object gives rights, changes what enters the cluster, or becomes the token of an account.
fn gives_rights(object: &Json, key: &ObjectKey) -> Option<&'static str> {
    match (key.group(), key.kind.as_str()) {
        ("rbac.authorization.k8s.io" | "authorization.k8s.io", _) => Some("it says who may do what"),
        ("admissionregistration.k8s.io", _) => Some("it changes or refuses what others write"),
        ("apiextensions.k8s.io" | "apiregistration.k8s.io", _) => Some("it changes the API of the cluster"),
        ("certificates.k8s.io" | "authentication.k8s.io", _) => Some("it gives an identity"),
        ("", "Secret") => {
            let is_token = object.get("type").and_then(Json::as_str) == Some(TOKEN);
            is_token.then_some("the cluster puts the token of a ServiceAccount into it")
        }
        _ => None,
    }
}

/// The kinds of Kubernetes without namespaces, for those who cannot ask a cluster.
fn is_of_cluster(group: &str, kind: &str) -> bool {
    match group {
        "" => ["Namespace", "Node", "PersistentVolume"].contains(&kind),
        "rbac.authorization.k8s.io" => ["ClusterRole", "ClusterRoleBinding"].contains(&kind),
        "storage.k8s.io" => kind != "CSIStorageCapacity",
        "networking.k8s.io" => ["IngressClass", "IPAddress", "ServiceCIDR"].contains(&kind),
        "policy" => kind == "PodSecurityPolicy",
        "core.oam.dev" => kind == "ResourceTracker",
        "cert-manager.io" => kind == "ClusterIssuer",
        "admissionregistration.k8s.io"
        | "apiextensions.k8s.io"
        | "apiregistration.k8s.io"
        | "flowcontrol.apiserver.k8s.io"
        | "node.k8s.io"
        | "scheduling.k8s.io" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(api_version: &str, kind: &str, namespace: &str) -> Json {
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": namespace}})
    }

    fn said(bounds: Bounds, object: &Json) -> String {
        bounds.refusal(object, "shop").map(|(message, hint)| format!("{message}; {hint}")).unwrap_or_default()
    }

    #[test]
    fn an_application_reads_in_its_namespace() {
        let key = |namespace: &str| ObjectKey::of(&object("v1", "Secret", namespace));
        let (message, hint) =
            Bounds::SAFE.refusal_of_reading(&key("kube-system"), "shop").unwrap_or_default();
        assert!(message.contains("Secret kube-system/x") && message.contains("\"shop\""), "{message}");
        assert!(hint.contains(ALLOW_CROSS_NAMESPACE), "{hint}");
        assert_eq!(Bounds::SAFE.refusal_of_reading(&key("shop"), "shop"), None);
        assert_eq!(Bounds::NONE.refusal_of_reading(&key("kube-system"), "shop"), None);
    }

    #[test]
    fn an_application_stays_in_its_namespace() {
        let elsewhere = object("v1", "ConfigMap", "kube-system");
        let message = said(Bounds::SAFE, &elsewhere);
        for word in ["ConfigMap kube-system/x", "metadata.namespace", "\"shop\"", ALLOW_CROSS_NAMESPACE] {
            assert!(message.contains(word), "{word}: {message}");
        }
        assert_eq!(said(Bounds { own_namespace: false, ..Bounds::SAFE }, &elsewhere), "");
        for namespace in ["shop", ""] {
            assert_eq!(said(Bounds::SAFE, &object("v1", "ConfigMap", namespace)), "");
        }
        for (version, kind) in [("v1", "Namespace"), ("storage.k8s.io/v1", "StorageClass")] {
            // An engine that asks no cluster gives every object a namespace.
            assert!(said(Bounds::SAFE, &object(version, kind, "shop")).contains("whole cluster"), "{kind}");
        }
    }

    #[test]
    fn nothing_that_gives_rights_is_made() {
        let only_rights = Bounds { own_namespace: false, ..Bounds::SAFE };
        for (version, kind) in [
            ("rbac.authorization.k8s.io/v1", "Role"),
            ("rbac.authorization.k8s.io/v1", "RoleBinding"),
            ("rbac.authorization.k8s.io/v1beta1", "ClusterRoleBinding"),
            ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            ("apiregistration.k8s.io/v1", "APIService"),
            ("certificates.k8s.io/v1", "CertificateSigningRequest"),
        ] {
            let message = said(only_rights, &object(version, kind, "shop"));
            assert!(message.contains(kind) && message.contains(ALLOW_GRANTING_RIGHTS), "{message}");
            assert_eq!(said(Bounds::NONE, &object(version, kind, "shop")), "");
        }
        let mut token = object("v1", "Secret", "shop");
        assert_eq!(said(Bounds::SAFE, &token), "");
        token["type"] = json!(TOKEN);
        assert!(said(Bounds::SAFE, &token).contains("token of a ServiceAccount"));
    }
}
