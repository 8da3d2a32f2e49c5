//! What people want of the Harbor of the simulation: the objects they write, and what the operator may never delete for it.

use serde_json::{Value, json};

pub(super) const NAMESPACE: &str = "sim";
/// The Harbor.
pub(super) const HARBOR: &str = "tiny";
/// Its parts, each in its own kind.
pub(super) const PARTS: &str = "tiny-harbor";
pub(super) const GOHARBOR: &str = "goharbor.io/v1beta1";
pub(super) const HARBORS: &str = "harbors.goharbor.io";
pub(super) const CERTIFICATES: &str = "certificates.cert-manager.io";
pub(super) const PORTALS: &str = "portals.goharbor.io";
pub(super) const EXPORTERS: &str = "exporters.goharbor.io";
/// The namespaces that may ask for projects.
pub(super) const ASKING: [&str; 2] = ["shop", "till"];
/// The annotation by which they do, and the one with their robot account.
pub(super) const PROJECT: &str = "goharbor.io/project";
pub(super) const ROBOT: &str = "goharbor.io/robot";
/// What describes the Harbor that runs.
pub(super) const SERVER: &str = "main";
pub(super) const BINDINGS: &str = "pullsecretbindings.goharbor.io";
/// What the operator makes in such a namespace.
pub(super) const BINDING: &str = "harbor-project";
pub(super) const PULL_SECRET: &str = "harbor-project-pull";
/// What people named in its ServiceAccount.
pub(super) const SECRET_OF_PEOPLE: &str = "mine";
/// The label of what people made themselves.
pub(super) const OF_PEOPLE: &str = "made-by";

/// Parts that a Harbor has only where people want them: the field, the resource.
const OPTIONAL: [(&str, &str); 2] =
    [("portal", "portals.goharbor.io"), ("exporter", "exporters.goharbor.io")];

/// Resources of which a deleted Harbor leaves nothing.
pub(super) const OWNED: [&str; 14] = [
    "configmaps",
    "cores.goharbor.io",
    CERTIFICATES,
    "deployments.apps",
    EXPORTERS,
    "ingresses.networking.k8s.io",
    "issuers.cert-manager.io",
    "jobservices.goharbor.io",
    "networkpolicies.networking.k8s.io",
    PORTALS,
    "registries.goharbor.io",
    "registrycontrollers.goharbor.io",
    "secrets",
    "services",
];

/// What people want.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wish {
    pub(super) portal: bool,
    pub(super) exporter: bool,
    /// Shows in the files of most parts.
    pub(super) debug: bool,
}

impl Wish {
    /// That of the Harbor with which schedules begin.
    pub(super) const FIRST: Self = Self { portal: true, exporter: false, debug: false };

    /// The change that makes a Harbor what is wanted.
    pub(super) fn patch(self) -> Value {
        let optional = |wanted: bool| if wanted { json!({}) } else { Value::Null };
        json!({ "spec": {
            "portal": optional(self.portal),
            "exporter": optional(self.exporter),
            "logLevel": if self.debug { "debug" } else { "info" },
        } })
    }

    /// The Harbor.
    pub(super) fn harbor(self) -> Value {
        let mut spec = json!({
            "version": "2.5.1",
            "externalURL": "https://hub.example.net",
            "harborAdminPasswordRef": "admin-pw",
            "expose": {"core": {"ingress": {"host": "hub.example.net"}}},
            "imageChartStorage": {"filesystem": {"registryPersistentVolume": {"claimName": "blobs"}}},
            "core": {"tokenIssuer": {"name": "token-issuer", "kind": "Issuer"}},
            "jobservice": {},
            "registry": {},
            "database": {
                "hosts": [{"host": "pg.example.net", "port": 5432}],
                "username": "harboruser",
                "passwordRef": "pg-pw",
            },
            "redis": {"host": "cache.example.net", "port": 6379},
        });
        for (field, value) in self.patch()["spec"].as_object().into_iter().flatten() {
            if !value.is_null() {
                spec[field] = value.clone();
            }
        }
        json!({"apiVersion": GOHARBOR, "kind": "Harbor", "metadata": {"name": HARBOR, "namespace": NAMESPACE}, "spec": spec})
    }
}

/// What stands beside a Harbor before it comes.
pub(super) fn beside() -> Vec<Value> {
    let named = |name: &str| json!({"name": name, "namespace": NAMESPACE, "labels": {OF_PEOPLE: "people"}});
    let secret = |name: &str, key: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": named(name), "stringData": {key: "pass-word-77"}});
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    vec![
        secret("admin-pw", "secret"),
        secret("pg-pw", "postgresql-password"),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": named("blobs"), "spec": claim}),
        json!({
            "apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": named("token-issuer"),
            "spec": {"selfSigned": {}},
        }),
    ]
}

/// The namespaces that may ask for projects, and what leads to the Harbor that has them.
pub(super) fn around() -> Vec<Value> {
    let labels = json!({OF_PEOPLE: "people"});
    let named = |name: &str, namespace: &str| json!({"name": name, "namespace": namespace, "labels": labels});
    let mut all = vec![
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": named("access", NAMESPACE),
            "stringData": {"accessKey": "admin", "accessSecret": "pass-word-77"},
        }),
        json!({
            "apiVersion": GOHARBOR, "kind": "HarborServerConfiguration", "metadata": {"name": SERVER},
            "spec": {
                "serverURL": "http://hub.example.net/peer", "version": "2.5.1", "default": true,
                "accessCredential": {"namespace": NAMESPACE, "accessSecretRef": "access"},
            },
        }),
    ];
    for namespace in ASKING {
        all.push(vela_embedded::objects::namespace(namespace));
        all.push(json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": named("default", namespace),
            "imagePullSecrets": [{"name": SECRET_OF_PEOPLE}],
        }));
    }
    all
}

/// A binding of the name that the operator's has, which people made for another account.
pub(super) fn foreign_binding(namespace: &str) -> Value {
    json!({
        "apiVersion": GOHARBOR, "kind": "PullSecretBinding",
        "metadata": {"name": BINDING, "namespace": namespace, "labels": {OF_PEOPLE: "people"}},
        "spec": {"harborServerConfig": SERVER, "projectId": "1", "robotId": "1", "serviceAccount": "other"},
    })
}

/// A Service that has the name of one of the operator's, and belongs to people.
pub(super) fn foreign_service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": format!("{PARTS}-portal"), "namespace": NAMESPACE, "labels": {OF_PEOPLE: "people"}},
        // A port without a name would have the API server refuse the ports of a Portal beside it.
        "spec": {"ports": [{"name": "other", "port": 9000}], "selector": {"app": "other"}},
    })
}

/// A kind of another operator whose objects may be of any shape.
fn foreign_kind(kind: &str, plural: &str) -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.cert-manager.io")},
        "spec": {
            "group": "cert-manager.io",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": any},
            }],
        },
    })
}

/// The kinds of goharbor.io, and those of a cert-manager.
pub(super) fn kinds() -> Result<Vec<Value>, String> {
    let mut kinds = vec![foreign_kind("Certificate", "certificates"), foreign_kind("Issuer", "issuers")];
    for crd in vela_crds::harbor_crds().map_err(|error| error.to_string())? {
        let mut crd = serde_json::to_value(crd).map_err(|error| error.to_string())?;
        crd["apiVersion"] = json!("apiextensions.k8s.io/v1");
        crd["kind"] = json!("CustomResourceDefinition");
        kinds.push(crd);
    }
    Ok(kinds)
}

/// Does this Harbor ask for the object? What it asks for at all times is asked for by each.
pub(super) fn wants(harbor: &Value, resource: &str) -> bool {
    let optional = OPTIONAL.iter().find(|(_, of)| *of == resource);
    optional.is_none_or(|(field, _)| !harbor["spec"][*field].is_null())
}

/// Are both conditions of an object `False` for its last change?
pub(super) fn is_ready(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let is_false = |name: &str| {
        let mut found = conditions.into_iter().flatten();
        found.any(|condition| condition["type"] == name && condition["status"] == "False")
    };
    is_false("InProgress")
        && is_false("Failed")
        && object["status"]["observedGeneration"] == object["metadata"]["generation"]
}

/// The owner that controls an object.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().find(|owner| owner["controller"] == true)
}

/// Is a Certificate issued?
pub(super) fn is_issued(certificate: &Value) -> bool {
    let conditions = certificate["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}
