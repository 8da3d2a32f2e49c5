//! The common children of all parts: Service, file, Deployment, network policy.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::env::METRICS_PORT;
use super::node::{Content, Node, kinds};
use super::secrets::Found;
use super::settings::Settings;
use crate::error::Error;
use crate::field::Field;
use crate::names::{NETWORK_POLICIES, VERSION};
use crate::owner::Owner;

/// User and group of every pod.
const USER: i64 = 10000;
/// Where certificates to trust are found.
const TRUST: &str = "/harbor_cust_cert";
/// The volume with the certificate of a part.
const CERTIFICATES: &str = "internal-certificates";

/// An owner with what its children are built of.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) owner: &'a Owner,
    pub(crate) found: &'a Found,
    pub(crate) settings: &'a Settings,
    /// Name of the part: the suffix of its children.
    pub(crate) name: &'static str,
}

/// A container with the volumes it mounts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pod {
    pub(crate) mounts: Vec<Value>,
    pub(crate) volumes: Vec<Value>,
}

impl Pod {
    /// A file, or all files, of a volume.
    pub(crate) fn mount(&mut self, volume: &str, path: &str, sub_path: Option<&str>, read_only: bool) {
        let mut mount = json!({ "name": volume, "mountPath": path });
        if let Some(sub_path) = sub_path.filter(|path| !path.is_empty()) {
            mount["subPath"] = json!(sub_path);
        }
        if read_only {
            mount["readOnly"] = json!(true);
        }
        self.mounts.push(mount);
    }

    /// A volume with this source.
    pub(crate) fn volume(&mut self, name: &str, source: Value) {
        let mut volume = source;
        volume["name"] = json!(name);
        self.volumes.push(volume);
    }

    /// The certificate of the part, if it has one; else an empty folder where trusted ones would lie.
    pub(crate) fn certificates(&mut self, tls: &Field<'_>, part: &str, trust: bool) -> Result<(), Error> {
        match tls.get("certificateRef").text_or_none()?.filter(|name| !name.is_empty()) {
            Some(secret) => {
                if trust {
                    self.mount(CERTIFICATES, &format!("{TRUST}/ca.crt"), Some("ca.crt"), true);
                }
                self.mount(CERTIFICATES, &format!("/etc/{part}/ssl"), None, true);
                self.volume(CERTIFICATES, json!({ "secret": { "secretName": secret } }));
            }
            None if trust && part != "portal" => {
                self.mount(CERTIFICATES, TRUST, None, false);
                self.volume(CERTIFICATES, json!({ "emptyDir": {} }));
            }
            None => {}
        }
        Ok(())
    }

    /// Certificates of others to trust.
    pub(crate) fn trusted(&mut self, references: &Field<'_>) -> Result<(), Error> {
        for secret in references.texts()? {
            let volume = format!("{secret}-certifacts");
            self.mount(&volume, &format!("{TRUST}/{secret}.crt"), Some("ca.crt"), true);
            self.volume(&volume, json!({ "secret": { "secretName": secret } }));
        }
        Ok(())
    }
}

/// A file in YAML: JSON is. One way of writing it never changes, so that a new version of a library rolls no pods.
pub(crate) fn yaml(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Is there a certificate?
pub(crate) fn has_tls(tls: &Field<'_>) -> Result<bool, Error> {
    Ok(tls.get("certificateRef").text_or_none()?.is_some_and(|name| !name.is_empty()))
}

/// The name of the port of a part with or without TLS.
pub(crate) fn scheme(tls: bool) -> &'static str {
    if tls { "https" } else { "http" }
}

/// A port of a container.
pub(crate) fn port(name: &str, number: i64) -> Value {
    json!({ "name": name, "containerPort": number, "protocol": "TCP" })
}

/// A request that is answered when a container works.
pub(crate) fn probe(path: &str, port: impl Into<Value>, tls: bool) -> Value {
    json!({ "httpGet": { "path": path, "port": port.into(), "scheme": scheme(tls).to_uppercase() } })
}

impl<'a> Part<'a> {
    /// A field of the owner's spec.
    pub(crate) fn spec(&self, path: &str) -> Field<'a> {
        self.owner.spec(path)
    }

    /// The name that most children have.
    pub(crate) fn child(&self) -> Result<String, Error> {
        self.owner.child(self.name)
    }

    /// Which image a component runs.
    pub(crate) fn image(&self, component: &Field<'_>, owner: &Owner, image: &str) -> Result<String, Error> {
        if let Some(image) = component.get("image").text_or_none()?.filter(|image| !image.is_empty()) {
            return Ok(image.to_owned());
        }
        let version = owner.annotation(VERSION).filter(|version| !version.is_empty());
        let version = version.ok_or_else(|| Error::NoVersion { object: owner.described().to_owned() })?;
        let Settings { repository, tag_suffix, .. } = self.settings;
        Ok(format!("{repository}/{image}:v{version}{tag_suffix}"))
    }

    /// Labels by which the pods of the Deployment are found.
    pub(crate) fn selector(&self) -> Result<Value, Error> {
        let controller = self.owner.controller();
        let (name, namespace) =
            (format!("{controller}.goharbor.io/name"), format!("{controller}.goharbor.io/namespace"));
        Ok(json!({ name: self.child()?, namespace: self.owner.namespace() }))
    }

    /// A file made from a template.
    pub(crate) fn file(&self, name: &str, file: &str, text: &str) -> Node {
        Node::new(kinds::CONFIG_MAP, name, json!({ "binaryData": { file: STANDARD.encode(text) } }))
            .template()
    }

    /// A Service for the pods of the Deployment.
    pub(crate) fn service(
        &self,
        name: &str,
        ports: &[(&str, i64)],
        network: &Field<'_>,
    ) -> Result<Node, Error> {
        let ports: Vec<Value> = ports
            .iter()
            .map(|(name, port)| json!({ "name": name, "port": port, "protocol": "TCP", "targetPort": name }))
            .collect();
        let mut spec = json!({ "type": "ClusterIP", "ports": ports, "selector": self.selector()? });
        let families = network.get("ipFamilies").texts()?;
        if !families.is_empty() {
            spec["ipFamilies"] = json!(families);
            // The default is one family only, with which an API server refuses two.
            if families.len() > 1 {
                spec["ipFamilyPolicy"] = json!("PreferDualStack");
            }
        }
        Ok(Node::new(kinds::SERVICE, name, json!({ "spec": spec })))
    }

    /// Says on a Service where its metrics are.
    pub(crate) fn scraped(mut service: Node, port: i64, path: &str) -> Node {
        if let Content::Object(object) = &mut service.content {
            object["metadata"]["annotations"] = json!({
                "prometheus.io/scrape": "true",
                "prometheus.io/port": port.to_string(),
                "prometheus.io/path": path,
            });
        }
        service
    }

    /// The Service of a part that speaks HTTP, with its metrics if they are on.
    pub(crate) fn http_service(&self, port: &str, tls: bool, metrics: &Field<'_>) -> Result<Node, Error> {
        let number = if tls { 443 } else { 80 };
        let (name, network) = (self.child()?, self.spec("network"));
        if !metrics.get("enabled").flag()? {
            return self.service(&name, &[(port, number)], &network);
        }
        let at = metrics.get("port").number_or(METRICS_PORT)?;
        let service = self.service(&name, &[(port, number), ("metrics", at)], &network)?;
        Ok(Self::scraped(service, at, metrics.get("path").text_or("/metrics")?))
    }

    /// Completes containers to a Deployment. All of them have the resources and the pull policy of the owner.
    pub(crate) fn deployment(
        &self,
        containers: Vec<Value>,
        pod: Pod,
        grace: Option<i64>,
    ) -> Result<Node, Error> {
        let spec = self.spec("");
        let policy = spec.get("imagePullPolicy").text_or("IfNotPresent")?;
        let containers: Vec<Value> = containers
            .into_iter()
            .map(|mut container| {
                container["imagePullPolicy"] = json!(policy);
                container["resources"] = spec.get("resources").or_empty();
                container
            })
            .collect();
        let mut pod_spec = json!({
            "automountServiceAccountToken": false,
            "containers": containers,
            "securityContext": { "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER },
            "volumes": pod.volumes,
        });
        if let Some(grace) = grace {
            pod_spec["terminationGracePeriodSeconds"] = json!(grace);
        }
        for field in ["serviceAccountName", "nodeSelector", "tolerations", "imagePullSecrets"] {
            if let Some(value) = spec.get(field).set() {
                pod_spec[field] = value.value().clone();
            }
        }
        let selector = self.selector()?;
        let mut deployment = json!({
            "spec": {
                "selector": { "matchLabels": selector },
                "template": { "metadata": { "labels": selector }, "spec": pod_spec },
            },
        });
        if let Some(replicas) = spec.get("replicas").number()? {
            deployment["spec"]["replicas"] = json!(replicas);
        }
        let mut node = Node::new(kinds::DEPLOYMENT, self.child()?, deployment);
        if let Some(version) = self.owner.annotation(VERSION).filter(|version| !version.is_empty())
            && let Content::Object(object) = &mut node.content
        {
            object["metadata"]["annotations"] = json!({ VERSION: version });
            node = node.versioned();
        }
        Ok(node)
    }

    /// The network policy for what comes in, where the owner asks for one; no port lets nothing in.
    pub(crate) fn ingress_policy(&self, ports: &[&str]) -> Result<Option<Node>, Error> {
        let rules: Vec<Value> = ports.iter().map(|port| json!({ "port": port, "protocol": "TCP" })).collect();
        let mut spec = Map::from_iter([("policyTypes".to_owned(), json!(["Ingress"]))]);
        if !rules.is_empty() {
            spec.insert("ingress".to_owned(), json!([{ "ports": rules }]));
        }
        self.policy("ingress", spec)
    }

    /// A network policy for the pods of the Deployment.
    pub(crate) fn policy(&self, suffix: &str, mut spec: Map<String, Value>) -> Result<Option<Node>, Error> {
        if self.owner.annotation(NETWORK_POLICIES) != Some("true") {
            return Ok(None);
        }
        let label = format!("{}.goharbor.io/name", self.owner.controller());
        let child = self.child()?;
        spec.insert("podSelector".to_owned(), json!({ "matchLabels": { label: child } }));
        let name = self.owner.child(&format!("{}-{suffix}", self.name))?;
        Ok(Some(Node::new(kinds::NETWORK_POLICY, name, json!({ "spec": spec }))))
    }
}
