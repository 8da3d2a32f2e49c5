//! Environment variables of a container, and the groups of them that several parts share.

use serde_json::{Value, json};

use crate::error::Error;
use crate::field::Field;

/// A list of environment variables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Env(Vec<Value>);

impl Env {
    /// A variable with a value.
    pub(crate) fn value(&mut self, name: &str, value: impl Into<String>) -> &mut Self {
        self.0.push(json!({ "name": name, "value": value.into() }));
        self
    }

    /// A variable that a key of a secret gives.
    pub(crate) fn secret(&mut self, name: &str, secret: &str, key: &str) -> &mut Self {
        let from = json!({ "secretKeyRef": { "key": key, "name": secret } });
        self.0.push(json!({ "name": name, "valueFrom": from }));
        self
    }

    /// The same, saying whether the container starts without it.
    pub(crate) fn secret_if(&mut self, name: &str, secret: &str, key: &str, optional: bool) -> &mut Self {
        let from = json!({ "secretKeyRef": { "key": key, "name": secret, "optional": optional } });
        self.0.push(json!({ "name": name, "valueFrom": from }));
        self
    }

    /// The variables.
    pub(crate) fn into_value(self) -> Value {
        Value::Array(self.0)
    }

    /// Metrics of a component, on or off.
    pub(crate) fn metrics(&mut self, metrics: &Field<'_>, part: &str) -> Result<(), Error> {
        let on = metrics.get("enabled").flag()?;
        self.value("METRIC_ENABLE", on.to_string());
        if on {
            self.value("METRIC_PORT", metrics.get("port").number_or(METRICS_PORT)?.to_string());
            self.value("METRIC_PATH", metrics.get("path").text_or("/metrics")?);
            self.value("METRIC_NAMESPACE", "harbor").value("METRIC_SUBSYSTEM", part);
        }
        Ok(())
    }

    /// Where traces go, if anywhere.
    pub(crate) fn trace(&mut self, trace: &Field<'_>, part: &str) -> Result<(), Error> {
        let on = trace.get("enabled").flag()?;
        self.value("TRACE_ENABLED", on.to_string());
        if !on {
            return Ok(());
        }
        self.value("TRACE_SAMPLE_RATE", trace.get("sampleRate").number_or(1)?.to_string());
        self.value("TRACE_NAMESPACE", trace.get("namespace").text_or("")?);
        self.value("TRACE_SERVICE_NAME", format!("harbor-{part}"));
        let attributes = trace.get("attributes");
        if !attributes.map()?.is_empty() {
            self.value("TRACE_ATTRIBUTES", attributes.value().to_string());
        }
        if trace.get("provider").text()? == "otel" {
            return self.otel(&trace.get("otel"));
        }
        let jaeger = trace.get("jaeger");
        if jaeger.get("mode").text()? == "agent" {
            let agent = jaeger.get("agent");
            self.value("TRACE_JAEGER_AGENT_HOSTNAME", agent.get("host").text_or("")?);
            self.value("TRACE_JAEGER_AGENT_PORT", agent.get("port").number_or(0)?.to_string());
            return Ok(());
        }
        let collector = jaeger.get("collector");
        self.value("TRACE_JAEGER_ENDPOINT", collector.get("endpoint").text()?);
        self.value("TRACE_JAEGER_USERNAME", collector.get("username").text_or("")?);
        if let Some(secret) = collector.get("passwordRef").text_or_none()? {
            self.secret("TRACE_JAEGER_PASSWORD", secret, super::secrets::SINGLE);
        }
        Ok(())
    }

    fn otel(&mut self, otel: &Field<'_>) -> Result<(), Error> {
        self.value("TRACE_OTEL_ENDPOINT", otel.get("endpoint").text()?);
        self.value("TRACE_OTEL_URL_PATH", otel.get("urlPath").text()?);
        self.value("TRACE_OTEL_COMPRESSION", otel.get("compression").flag()?.to_string());
        self.value("TRACE_OTEL_INSECURE", otel.get("insecure").flag()?.to_string());
        let timeout = otel.get("timeout").duration_or(10)?;
        self.value("TRACE_OTEL_TIMEOUT", timeout.as_secs().to_string());
        Ok(())
    }

    /// By which proxies the outside is reached.
    pub(crate) fn proxy(&mut self, proxy: &Field<'_>) -> Result<(), Error> {
        if !proxy.is_set() {
            return Ok(());
        }
        for (name, field) in [("HTTP_PROXY", "httpProxy"), ("HTTPS_PROXY", "httpsProxy")] {
            if let Some(url) = proxy.get(field).text_or_none()? {
                self.value(name, url);
            }
        }
        let direct = proxy.get("noProxy").texts()?;
        if !direct.is_empty() {
            self.value("NO_PROXY", direct.join(","));
        }
        Ok(())
    }

    /// Where the certificate of a part lies.
    pub(crate) fn tls(&mut self, ca: &str, directory: &str) -> &mut Self {
        self.value("INTERNAL_TLS_TRUST_CA_PATH", ca)
            .value("INTERNAL_TLS_CERT_PATH", format!("{directory}/tls.crt"))
            .value("INTERNAL_TLS_KEY_PATH", format!("{directory}/tls.key"))
    }
}

/// Where metrics are served unless an object says otherwise.
pub(crate) const METRICS_PORT: i64 = 8001;
