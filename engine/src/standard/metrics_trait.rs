//! Builds the Service and the ServiceMonitor by which a workload is scraped.
//!
//! The ServiceMonitor lives where Prometheus looks for it, in a namespace of its own. An owner reference does not reach
//! across namespaces (the garbage collector would take the owner for deleted and remove the monitor), so the monitor
//! carries the trait it belongs to in an annotation, and the controller that applies it also removes it.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Map, Value, json};
use vela_crds::standard_oam_dev::MetricsTrait;
use vela_crds::standard_oam_dev::metrics_trait::ScrapeService;

use super::{Error, Identity, labels, pods};

/// The trait kind.
pub const KIND: &str = "MetricsTrait";
/// API version of the monitor.
pub const MONITORING: &str = "monitoring.coreos.com/v1";
/// Kind of the monitor.
pub const SERVICE_MONITOR: &str = "ServiceMonitor";
/// Where Prometheus looks for monitors.
pub const NAMESPACE: &str = "monitoring";
/// Port of the Service that is scraped.
const PORT: i32 = 4848;
/// Labels by which Prometheus finds monitors and monitors find Services.
pub const LABELS: [(&str, &str); 2] = [("k8s-app", "oam"), (CONTROLLER_LABEL, CONTROLLER)];
/// The label that tells whose monitor it is…
pub const CONTROLLER_LABEL: &str = "controller";
/// …and its value.
pub const CONTROLLER: &str = "metricsTrait";
/// On a monitor: `namespace/name/uid` of the trait it belongs to.
pub const OWNER: &str = "standard.oam.dev/metrics-trait";

/// The wish of a trait, with its gaps filled in as the webhook fills them.
#[derive(Debug, Clone, PartialEq)]
pub struct Scrape {
    /// HTTP path.
    pub path: String,
    /// HTTP or HTTPS.
    pub scheme: String,
    /// The port written in the trait, unless it leaves the choice to us.
    port: Option<IntOrString>,
}

/// True unless the trait is switched off.
#[must_use]
pub fn is_enabled(trait_: &MetricsTrait) -> bool {
    trait_.spec.scrape_service.enabled.unwrap_or(true)
}

/// Reads what is to be scraped.
///
/// # Errors
/// A format or scheme that is not supported.
pub fn scrape(trait_: &MetricsTrait) -> Result<Scrape, Error> {
    let identity = Identity::of(trait_, KIND)?;
    let ScrapeService { format, port, path, scheme, selector: _, enabled: _ } = &trait_.spec.scrape_service;
    let or = |given: &Option<String>, otherwise: &str| match given.as_deref() {
        None | Some("") => otherwise.to_owned(),
        Some(given) => given.to_owned(),
    };
    let (format, scheme) = (or(format, "prometheus"), or(scheme, "http"));
    let refuse = |field: &str, message: String| Err(Error::new(identity.place(field), message));
    if format != "prometheus" {
        return refuse(
            "spec.scrapeService.format",
            format!("the data format `{format}` is not supported; write prometheus"),
        );
    }
    if scheme != "http" {
        return refuse(
            "spec.scrapeService.scheme",
            format!("the scheme `{scheme}` is not supported; write http"),
        );
    }
    let port = port.clone().filter(|port| match port {
        IntOrString::Int(number) => *number != 0,
        IntOrString::String(text) => !matches!(text.as_str(), "" | "0"),
    });
    Ok(Scrape { path: or(path, "/metrics"), scheme, port })
}

/// The Service through which the pods are scraped, and what it was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The Service.
    pub service: Value,
    /// Port of the pods.
    pub port: IntOrString,
    /// Labels that select the pods.
    pub selector: Map<String, Value>,
}

/// The Service `oam-<workload>`: controlled by the trait, in front of the workload's pods.
///
/// # Errors
/// No port anywhere, or no label that tells the pods from others.
pub fn target(
    trait_: &MetricsTrait,
    scrape: &Scrape,
    workload: &Value,
    children: &[Value],
) -> Result<Target, Error> {
    let identity = Identity::of(trait_, KIND)?;
    let own = pods::of_template(workload);
    let of_children = children.iter().find_map(pods::of_template);
    let discovered = || own.as_ref().or(of_children.as_ref()).and_then(|pods| pods.ports.first());
    let port = match &scrape.port {
        Some(port) => port.clone(),
        None => {
            let number = discovered().and_then(|port| i32::try_from(port.number).ok());
            IntOrString::Int(number.ok_or_else(|| {
                let message = "no ports discovered or specified; write the port that serves the metrics";
                Error::new(identity.place("spec.scrapeService.port"), message)
            })?)
        }
    };
    let written = json!(trait_.spec.scrape_service.selector).as_object().cloned().unwrap_or_default();
    let selector = [
        own.as_ref().map(|pods| pods.selector.clone()).unwrap_or_default(),
        written,
        labels(workload),
        of_children.as_ref().map(|pods| pods.selector.clone()).unwrap_or_default(),
    ]
    .into_iter()
    .find(|labels| !labels.is_empty())
    .ok_or_else(|| {
        let message =
            "is empty, and neither the workload nor its pods have labels; write the labels of the pods";
        Error::new(identity.place("spec.scrapeService.selector"), message)
    })?;
    let workload_name = workload["metadata"]["name"].as_str().unwrap_or_default();
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": format!("oam-{workload_name}"),
            "namespace": identity.namespace,
            "labels": fixed_labels(),
            "ownerReferences": identity.owner(),
        },
        "spec": {
            "type": "ClusterIP",
            "selector": selector,
            "ports": [{ "port": PORT, "targetPort": port, "protocol": "TCP" }],
        },
    });
    Ok(Target { service, port, selector })
}

/// The monitor of a trait, under one of its [`monitor_names`].
///
/// # Errors
/// A trait that was never stored.
pub fn monitor(
    trait_: &MetricsTrait,
    scrape: &Scrape,
    port: &IntOrString,
    name: &str,
) -> Result<Value, Error> {
    let identity = Identity::of(trait_, KIND)?;
    let Scrape { path, scheme, port: _ } = scrape;
    Ok(json!({
        "apiVersion": MONITORING,
        "kind": SERVICE_MONITOR,
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": fixed_labels(),
            "annotations": { OWNER: format!("{}/{}/{}", identity.namespace, identity.name, identity.uid) },
        },
        "spec": {
            "selector": { "matchLabels": fixed_labels() },
            "namespaceSelector": { "matchNames": [identity.namespace] },
            "endpoints": [{ "targetPort": port, "path": path, "scheme": scheme }],
        },
    }))
}

/// The names a trait's monitor may have, best first: that of the trait, and with its namespace where another
/// namespace's trait has taken the first.
#[must_use]
pub fn monitor_names(trait_: &MetricsTrait) -> [String; 2] {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let (namespace, name) = (text(&trait_.metadata.namespace), text(&trait_.metadata.name));
    // A dot cannot be part of a namespace, so two different pairs never give one name.
    [name.clone(), format!("{namespace}.{name}")]
}

/// The trait a monitor belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// The trait that a monitor says it belongs to; nothing where it was not made for a trait.
#[must_use]
pub fn owner(monitor: &Value) -> Option<Owner> {
    let metadata = &monitor["metadata"];
    let ours = metadata["labels"][CONTROLLER_LABEL] == CONTROLLER;
    let mut parts = metadata["annotations"][OWNER].as_str().filter(|_| ours)?.split('/').map(str::to_owned);
    let owner = Owner { namespace: parts.next()?, name: parts.next()?, uid: parts.next()? };
    (parts.next().is_none() && !owner.uid.is_empty()).then_some(owner)
}

fn fixed_labels() -> Value {
    Value::Object(LABELS.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(scrape: Value) -> MetricsTrait {
        serde_json::from_value(json!({
            "apiVersion": super::super::API_VERSION, "kind": KIND,
            "metadata": {"name": "m", "namespace": "ns", "uid": "u-1"}, "spec": {"scrapeService": scrape},
        }))
        .unwrap()
    }

    fn deployment() -> Value {
        json!({
            "kind": "Deployment", "metadata": {"name": "w", "labels": {"workload": "w"}},
            "spec": {"template": {
                "metadata": {"labels": {"pod": "p"}},
                "spec": {"containers": [{"ports": [{"containerPort": 80}, {"containerPort": 90}]}]},
            }},
        })
    }

    fn made(scrape_: Value, workload: &Value, children: &[Value]) -> Result<Target, Error> {
        let trait_ = metrics(scrape_);
        target(&trait_, &scrape(&trait_).unwrap(), workload, children)
    }

    #[test]
    fn the_first_port_is_found_where_none_is_written() {
        let found = made(json!({}), &deployment(), &[]).unwrap();
        assert_eq!(
            (&found.port, Value::Object(found.selector)),
            (&IntOrString::Int(80), json!({"pod": "p"}))
        );
        assert_eq!(found.service["metadata"]["name"], "oam-w");
        assert_eq!(
            found.service["metadata"]["labels"],
            json!({"k8s-app": "oam", "controller": "metricsTrait"})
        );
        assert_eq!(
            found.service["spec"]["ports"],
            json!([{"port": 4848, "targetPort": 80, "protocol": "TCP"}])
        );
        for port in [json!(0), json!("0"), json!("")] {
            assert_eq!(made(json!({"port": port}), &deployment(), &[]).unwrap().port, IntOrString::Int(80));
        }
        let written = made(json!({"port": "web", "selector": {"a": "b"}}), &deployment(), &[]).unwrap();
        // The pods' own labels go before the written ones.
        assert_eq!(
            (&written.port, &written.selector["pod"]),
            (&IntOrString::String("web".into()), &json!("p"))
        );
    }

    #[test]
    fn without_a_template_labels_are_written_or_the_workloads() {
        let workload =
            json!({"kind": "Foo", "metadata": {"name": "w", "labels": {"workload": "w"}}, "spec": {}});
        let selector = |scrape: Value| Value::Object(made(scrape, &workload, &[]).unwrap().selector);
        assert_eq!(selector(json!({"port": 1, "selector": {"a": "b"}})), json!({"a": "b"}));
        assert_eq!(selector(json!({"port": 1})), json!({"workload": "w"}));
        let error = made(json!({}), &workload, &[]).unwrap_err();
        assert!(error.to_string().contains("no ports discovered or specified"), "{error}");
        let of_child = made(json!({}), &workload, &[deployment()]).unwrap();
        assert_eq!(of_child.port, IntOrString::Int(80));
        let bare = json!({"kind": "Foo", "metadata": {"name": "w"}, "spec": {}});
        assert!(made(json!({"port": 1}), &bare, &[]).unwrap_err().place.contains("selector"));
    }

    #[test]
    fn the_monitor_belongs_to_its_trait_without_an_owner_reference() {
        let trait_ = metrics(json!({"port": 8080}));
        let made = monitor(&trait_, &scrape(&trait_).unwrap(), &IntOrString::Int(8080), "m").unwrap();
        assert_eq!(made["metadata"]["namespace"], "monitoring");
        assert_eq!(made["metadata"]["ownerReferences"], Value::Null);
        assert_eq!(
            made["spec"],
            json!({
                "selector": {"matchLabels": {"k8s-app": "oam", "controller": "metricsTrait"}},
                "namespaceSelector": {"matchNames": ["ns"]},
                "endpoints": [{"targetPort": 8080, "path": "/metrics", "scheme": "http"}],
            })
        );
        let owner_ = owner(&made).unwrap();
        assert_eq!(
            (owner_.namespace.as_str(), owner_.name.as_str(), owner_.uid.as_str()),
            ("ns", "m", "u-1")
        );
        let mut foreign = made;
        foreign["metadata"]["labels"] = json!({});
        assert_eq!(owner(&foreign), None);
        assert_eq!(monitor_names(&trait_), ["m", "ns.m"]);
    }

    #[test]
    fn only_what_prometheus_reads_over_http_is_supported() {
        let refused = |scrape_: Value| scrape(&metrics(scrape_)).unwrap_err().to_string();
        assert!(refused(json!({"format": "json"})).contains("the data format `json` is not supported"));
        assert!(refused(json!({"scheme": "https"})).contains("the scheme `https` is not supported"));
        let scrape = scrape(&metrics(json!({"path": "/m", "format": ""}))).unwrap();
        assert_eq!((scrape.path.as_str(), scrape.scheme.as_str()), ("/m", "http"));
        assert!(is_enabled(&metrics(json!({}))) && !is_enabled(&metrics(json!({"enabled": false}))));
    }
}
