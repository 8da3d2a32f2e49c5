//! A Harbor as its children see it: names, URLs, connections, images.

use serde_json::{Value, json};

use super::super::node::{Id, Node, kinds};
use super::super::settings::Settings;
use crate::error::Error;
use crate::field::Field;
use crate::names::{INGRESS_CONTROLLER, LONGEST_NAME, NETWORK_POLICIES, VERSION};
use crate::owner::Owner;

/// A Harbor with what its children are built of.
pub(super) struct Stack<'a> {
    pub(super) owner: &'a Owner,
    pub(super) settings: &'a Settings,
    /// The name of all parts.
    pub(super) name: String,
    /// Do the parts speak TLS to each other?
    pub(super) tls: bool,
}

impl<'a> Stack<'a> {
    pub(super) fn spec(&self, path: &str) -> Field<'a> {
        self.owner.spec(path)
    }

    /// The name of an object of a part.
    pub(super) fn part(&self, suffix: &str) -> Result<String, Error> {
        let name = format!("{}-{suffix}", self.name);
        match name.len() > LONGEST_NAME {
            true => Err(Error::NameTooLong { object: self.owner.described().to_owned(), child: name }),
            false => Ok(name),
        }
    }

    /// The URL of a part within the cluster, without a port.
    pub(super) fn url(&self, part: &str) -> Result<String, Error> {
        Ok(format!("{}://{}", if self.tls { "https" } else { "http" }, self.part(part)?))
    }

    /// The port of a part.
    pub(super) fn port(&self) -> i64 {
        if self.tls { 443 } else { 80 }
    }

    /// The secret with the certificate of a part, where the parts speak TLS.
    pub(super) fn tls(&self, part: &str) -> Result<Option<Value>, Error> {
        Ok(self
            .tls
            .then(|| self.part(&format!("internal-tls-{part}")))
            .transpose()?
            .map(|name| json!({ "certificateRef": name })))
    }

    /// The certificate of a part, to wait for.
    pub(super) fn certificate(&self, part: &str) -> Result<Option<Id>, Error> {
        let name = self.tls.then(|| self.part(&format!("internal-{part}"))).transpose()?;
        Ok(name.map(|name| Id::new(kinds::CERTIFICATE, name)))
    }

    pub(super) fn secret(&self, suffix: &str) -> Result<Id, Error> {
        Ok(Id::new(kinds::SECRET, self.part(suffix)?))
    }

    /// The pod settings of a component of the Harbor, with the images of the Harbor.
    pub(super) fn component(&self, component: &Field<'_>, image: &str) -> Result<Value, Error> {
        let mut spec = json!({ "resources": component.get("resources").or_empty() });
        let fields = [
            "image",
            "imagePullPolicy",
            "imagePullSecrets",
            "nodeSelector",
            "replicas",
            "serviceAccountName",
            "tolerations",
        ];
        for field in fields {
            copy(&mut spec, field, &component.get(field));
        }
        if let Some(source) = self.spec("imageSource").set() {
            if spec["image"].is_null() {
                let repository = source.get("repository").text_or(&self.settings.repository)?;
                let suffix = source.get("tagSuffix").text_or(&self.settings.tag_suffix)?;
                let version = self.spec("version").text()?;
                spec["image"] = json!(format!("{repository}/{image}:v{version}{suffix}"));
            }
            for field in ["imagePullPolicy", "imagePullSecrets"] {
                if spec[field].is_null() {
                    copy(&mut spec, field, &source.get(field));
                }
            }
        }
        copy(&mut spec, "network", &self.spec("network"));
        Ok(spec)
    }

    /// A part of this kind.
    pub(super) fn node(&self, kind: &'static str, spec: Value) -> Node {
        let mut annotations = json!({ VERSION: self.spec("version").value(), NETWORK_POLICIES: "false" });
        if ["Core", "Portal", "NotaryServer"].contains(&kind) {
            let controller = self.spec("expose.core.ingress.controller");
            annotations[INGRESS_CONTROLLER] =
                json!(controller.text_or_none().ok().flatten().unwrap_or("default"));
        }
        let object = json!({ "metadata": { "annotations": annotations }, "spec": spec });
        Node::new(kinds::goharbor(kind), &self.name, object).versioned()
    }

    /// The connection to the cache, for the part with this database.
    pub(super) fn redis(&self, database: i64) -> Result<Value, Error> {
        let redis = self.spec("redis");
        redis.get("host").text()?;
        let mut connection = redis.or_empty();
        connection["database"] = json!(database);
        Ok(connection)
    }

    /// The connection to the database, for the part with this name.
    pub(super) fn database(&self, name: &str) -> Result<Value, Error> {
        let database = self.spec("database");
        for host in database.get("hosts").list()? {
            host.get("host").text()?;
        }
        if database.get("hosts").list()?.is_empty() {
            return Err(database.get("hosts").wrong("must name a host at least"));
        }
        let mode = match database.get("sslMode").text_or("")? {
            // The driver of Notary does not know it.
            "allow" if name != "core" => "prefer",
            mode => mode,
        };
        let prefix = database.get("prefix").text_or("")?;
        let mut connection = json!({
            "hosts": database.get("hosts").value(),
            "database": format!("{prefix}{name}"),
            "parameters": { "sslmode": mode },
        });
        copy(&mut connection, "username", &database.get("username"));
        copy(&mut connection, "passwordRef", &database.get("passwordRef"));
        Ok(connection)
    }

    /// The proxy, for a component that is to use it.
    pub(super) fn proxy(&self, spec: &mut Value, component: &str) -> Result<(), Error> {
        let proxy = self.spec("proxy");
        let components = proxy.get("components");
        let all = ["core", "jobservice", "trivy"];
        let used = if components.is_set() {
            components.texts()?.contains(&component)
        } else {
            all.contains(&component)
        };
        if proxy.is_set() && used {
            let mut copied = proxy.or_empty();
            if let Some(fields) = copied.as_object_mut() {
                fields.remove("components");
            }
            spec["proxy"] = copied;
        }
        Ok(())
    }

    /// How much is logged, in the words of a part.
    pub(super) fn level(&self, part: &str) -> Result<&'static str, Error> {
        Ok(match (self.spec("logLevel").text_or("info")?, part) {
            ("debug", "jobservice") => "DEBUG",
            ("info", "jobservice") => "INFO",
            ("warning", "jobservice") => "WARNING",
            ("error", "jobservice") => "ERROR",
            ("fatal", "jobservice") => "FATAL",
            (_, "jobservice") => "INFO",
            ("debug", _) => "debug",
            ("warning", "core" | "exporter") => match part {
                "core" => "warn",
                _ => "warning",
            },
            ("warning", _) => "warning",
            ("error", _) => "error",
            ("fatal", "core" | "registry") => "error",
            ("fatal", "exporter") => "panic",
            ("fatal", _) => "fatal",
            _ => "info",
        })
    }
}

/// Copies a field where it is given.
pub(super) fn copy(spec: &mut Value, name: &str, field: &Field<'_>) {
    if field.is_set() {
        spec[name] = field.value().clone();
    }
}

/// Sets a field where there is something to set.
pub(super) fn put(spec: &mut Value, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        spec[name] = value;
    }
}

/// Adds fields to a spec.
pub(super) fn extend(spec: &mut Value, fields: Value) {
    if let (Some(spec), Value::Object(fields)) = (spec.as_object_mut(), fields) {
        spec.extend(fields);
    }
}
