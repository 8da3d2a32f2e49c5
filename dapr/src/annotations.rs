//! Reads the Dapr annotations of a pod template: what it asks for, what is passed over, and every mistake.

use std::collections::BTreeMap;

/// Switches the sidecar on.
pub(crate) const ENABLED: &str = "dapr.io/enabled";
/// Name under which other applications call this one.
pub(crate) const APP_ID: &str = "dapr.io/app-id";
/// Whether the sidecar serves metrics.
const ENABLE_METRICS: &str = "dapr.io/enable-metrics";
/// Port of the metrics.
const METRICS_PORT: &str = "dapr.io/metrics-port";
/// Port of the gRPC API.
const GRPC_PORT: &str = "dapr.io/grpc-port";
/// Port on which sidecars call each other.
const INTERNAL_GRPC_PORT: &str = "dapr.io/internal-grpc-port";
/// Further annotations of the Service: `key=value`, with commas between.
pub(crate) const SERVICE_ANNOTATIONS: &str = "dapr.io/sidecar-svc-annotations";

/// What the Service is called after the application's id.
const SUFFIX: &str = "-dapr";
/// A Service's name is a DNS label.
const NAME_AT_MOST: usize = 63;
/// Port of the Service that leads to the HTTP API.
pub(crate) const HTTP_PORT: i32 = 80;
const GRPC_PORT_DEFAULT: i32 = 50001;
const INTERNAL_GRPC_PORT_DEFAULT: i32 = 50002;
const METRICS_PORT_DEFAULT: i32 = 9090;

/// What a workload asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sidecar {
    /// The application's id.
    pub(crate) app_id: String,
    /// Port of the gRPC API.
    pub(crate) grpc_port: i32,
    /// Port on which sidecars call each other.
    pub(crate) internal_grpc_port: i32,
    /// Port of the metrics.
    pub(crate) metrics_port: i32,
    /// Whether metrics are scraped.
    pub(crate) metrics: bool,
    /// Further annotations of the Service.
    pub(crate) service_annotations: BTreeMap<String, String>,
    /// What cannot be read and is passed over, as the injector of the sidecar does.
    pub(crate) passed_over: Vec<AnnotationError>,
}

impl Sidecar {
    /// Name of the Service through which the sidecars are reached.
    pub(crate) fn service_name(&self) -> String {
        format!("{}{SUFFIX}", self.app_id)
    }

    /// The annotations of the Service that only the operator sets.
    pub(crate) fn reserved_annotations(&self) -> BTreeMap<String, String> {
        let mut reserved = BTreeMap::from([(APP_ID.to_owned(), self.app_id.clone())]);
        if self.metrics {
            let port = self.metrics_port.to_string();
            for (name, value) in
                [("scrape", "true"), ("probe", "true"), ("port", port.as_str()), ("path", "/")]
            {
                reserved.insert(format!("prometheus.io/{name}"), value.to_owned());
            }
        }
        reserved
    }
}

/// A mistake in one annotation: what stands there and what may.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("annotation {annotation}: {message}")]
pub(crate) struct AnnotationError {
    /// The annotation.
    pub(crate) annotation: &'static str,
    /// What is wrong and what to write instead.
    pub(crate) message: String,
}

/// Reads the annotations of a pod template; `None` when Dapr is not switched on.
///
/// # Errors
/// Every mistake that leaves no Service to make, so that one look mends all of them.
pub(crate) fn read(annotations: &BTreeMap<String, String>) -> Result<Option<Sidecar>, Vec<AnnotationError>> {
    let text = |name: &str| annotations.get(name).map(String::as_str).filter(|value| !value.is_empty());
    if !text(ENABLED).is_some_and(is_truthy) {
        return Ok(None);
    }
    let (mut mistakes, mut passed_over) = (Vec::new(), Vec::new());
    let app_id = text(APP_ID).unwrap_or_default().to_owned();
    if let Err(message) = check_app_id(&app_id) {
        mistakes.push(AnnotationError { annotation: APP_ID, message });
    }
    let mut port = |annotation, default| match text(annotation).map(read_port) {
        None => default,
        Some(Ok(port)) => port,
        Some(Err(PortError::Unreadable(message))) => {
            let message = format!("{message}; {default} is used instead");
            passed_over.push(AnnotationError { annotation, message });
            default
        }
        Some(Err(PortError::OutOfRange(message))) => {
            mistakes.push(AnnotationError { annotation, message });
            default
        }
    };
    let mut sidecar = Sidecar {
        app_id,
        grpc_port: port(GRPC_PORT, GRPC_PORT_DEFAULT),
        internal_grpc_port: port(INTERNAL_GRPC_PORT, INTERNAL_GRPC_PORT_DEFAULT),
        metrics_port: port(METRICS_PORT, METRICS_PORT_DEFAULT),
        metrics: text(ENABLE_METRICS).is_none_or(is_truthy),
        service_annotations: BTreeMap::new(),
        passed_over: Vec::new(),
    };
    mistakes.extend(check_ports_differ(&sidecar));
    let reserved = sidecar.reserved_annotations();
    for pair in text(SERVICE_ANNOTATIONS).into_iter().flat_map(|pairs| pairs.split(',')) {
        match read_pair(pair, &reserved) {
            Ok(Some((name, value))) => {
                sidecar.service_annotations.insert(name, value);
            }
            Ok(None) => {}
            Err(message) => {
                passed_over.push(AnnotationError { annotation: SERVICE_ANNOTATIONS, message });
            }
        }
    }
    sidecar.passed_over = passed_over;
    if mistakes.is_empty() { Ok(Some(sidecar)) } else { Err(mistakes) }
}

/// The words that mean yes, in any case, with blanks around them or not.
pub(crate) fn is_truthy(value: &str) -> bool {
    ["y", "yes", "true", "t", "on", "1"].iter().any(|yes| value.trim().eq_ignore_ascii_case(yes))
}

enum PortError {
    /// No number at all: the sidecar has its default, so the Service must have it too.
    Unreadable(String),
    /// A number that no Service may have: the sidecar would listen elsewhere than the Service leads.
    OutOfRange(String),
}

fn read_port(text: &str) -> Result<i32, PortError> {
    let expected = "expected a number from 1 to 65535";
    match text.parse::<i32>() {
        Ok(port @ 1..=65535) => Ok(port),
        Ok(port) => Err(PortError::OutOfRange(format!("{port} is not a port; {expected}"))),
        Err(_) => Err(PortError::Unreadable(format!("{text:?} is not a port; {expected}"))),
    }
}

/// A Service has each port once.
fn check_ports_differ(sidecar: &Sidecar) -> Vec<AnnotationError> {
    let mut taken = BTreeMap::from([(HTTP_PORT, "the HTTP API")]);
    let ports = [
        (GRPC_PORT, sidecar.grpc_port, "the gRPC API"),
        (INTERNAL_GRPC_PORT, sidecar.internal_grpc_port, "calls between sidecars"),
        (METRICS_PORT, sidecar.metrics_port, "metrics"),
    ];
    let mut mistakes = Vec::new();
    for (annotation, port, purpose) in ports {
        match taken.get(&port) {
            None => {
                taken.insert(port, purpose);
            }
            Some(other) => {
                let message =
                    format!("{port} cannot serve {purpose}, because it serves {other}; choose another port");
                mistakes.push(AnnotationError { annotation, message });
            }
        }
    }
    mistakes
}

/// One `key=value`; nothing where there is only a comma too many.
fn read_pair(pair: &str, reserved: &BTreeMap<String, String>) -> Result<Option<(String, String)>, String> {
    if pair.trim().is_empty() {
        return Ok(None);
    }
    let Some((name, value)) = pair.split_once('=').map(|(name, value)| (name.trim(), value.trim())) else {
        return Err(format!("{pair:?} is passed over; expected key=value"));
    };
    if name.is_empty() {
        return Err(format!("{pair:?} is passed over; it has no key, expected key=value"));
    }
    if reserved.contains_key(name) {
        return Err(format!("{name:?} is passed over; the operator sets it itself, so choose another key"));
    }
    Ok(Some((name.to_owned(), value.to_owned())))
}

/// Whether the id, with what its Service adds, is a DNS label.
pub(crate) fn check_app_id(id: &str) -> Result<(), String> {
    let longest = NAME_AT_MOST - SUFFIX.len();
    if id.is_empty() {
        return Err("is missing; give the application an id".to_owned());
    }
    if id.len() > longest {
        return Err(format!(
            "has {} characters; {longest} at most, because its Service adds {SUFFIX:?}",
            id.len()
        ));
    }
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    if id.bytes().all(inner) && !id.starts_with('-') {
        Ok(())
    } else {
        Err(format!(
            "{id:?} is no part of a DNS label; use lower-case letters, digits and `-`, and do not begin with `-`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<Sidecar>, Vec<AnnotationError>> {
        let map: BTreeMap<String, String> =
            pairs.iter().map(|(k, v)| (format!("dapr.io/{k}"), (*v).to_owned())).collect();
        super::read(&map)
    }

    fn asked(more: &[(&str, &str)]) -> Sidecar {
        let pairs = [&[("enabled", "true"), ("app-id", "a")], more].concat();
        read(&pairs).unwrap().unwrap()
    }

    #[test]
    fn dapr_is_off_unless_a_word_for_yes_switches_it_on() {
        assert_eq!(read(&[("app-id", "a")]), Ok(None));
        for no in ["no", "", "truee", "2"] {
            assert_eq!(read(&[("enabled", no), ("app-id", "a")]), Ok(None));
        }
        for yes in ["true", "Yes", "ON", "1", " y ", "t", "T"] {
            let sidecar = read(&[("enabled", yes), ("app-id", "a")]).unwrap().unwrap();
            assert_eq!((sidecar.app_id.as_str(), sidecar.metrics_port, sidecar.metrics), ("a", 9090, true));
        }
        assert!(!asked(&[("enable-metrics", "false")]).metrics);
        assert!(asked(&[("enable-metrics", "")]).metrics);
    }

    #[test]
    fn every_mistake_is_named_with_its_annotation() {
        let mistakes =
            read(&[("enabled", "true"), ("app-id", "Bad_Id"), ("metrics-port", "70000")]).unwrap_err();
        let named: Vec<&str> = mistakes.iter().map(|m| m.annotation).collect();
        assert_eq!(named, [APP_ID, METRICS_PORT]);
        for port in ["80", "50001", "0", "-1", "65536"] {
            let mistakes = read(&[("enabled", "true"), ("app-id", "a"), ("metrics-port", port)]).unwrap_err();
            assert_eq!(mistakes.len(), 1, "{port}: {mistakes:?}");
        }
    }

    #[test]
    fn an_app_id_is_the_beginning_of_a_dns_label() {
        for good in ["a", "1cart", "a-b", &"a".repeat(58)] {
            assert!(check_app_id(good).is_ok(), "{good}");
        }
        for bad in ["", "A", "a_b", "a.b", "-a", " a ", &"a".repeat(59)] {
            assert!(check_app_id(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn unreadable_ports_are_defaults_and_named() {
        let sidecar =
            asked(&[("grpc-port", "x"), ("internal-grpc-port", "5.5"), ("metrics-port", "4294967296")]);
        let ports = (sidecar.grpc_port, sidecar.internal_grpc_port, sidecar.metrics_port);
        assert_eq!(ports, (50001, 50002, 9090));
        let named: Vec<&str> = sidecar.passed_over.iter().map(|m| m.annotation).collect();
        assert_eq!(named, [GRPC_PORT, INTERNAL_GRPC_PORT, METRICS_PORT]);
        assert_eq!(asked(&[("metrics-port", "")]).passed_over, []);
    }

    #[test]
    fn service_annotations_leave_reserved_ones_alone() {
        let sidecar = asked(&[(
            "sidecar-svc-annotations",
            "a/b=c, d = e=f ,,nothing,dapr.io/app-id=x,prometheus.io/port=1,=x",
        )]);
        let expected = [("a/b", "c"), ("d", "e=f")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(sidecar.service_annotations, BTreeMap::from(expected));
        assert_eq!(sidecar.passed_over.len(), 4, "{:?}", sidecar.passed_over);
        let off = asked(&[("enable-metrics", "no"), ("sidecar-svc-annotations", "prometheus.io/port=1")]);
        assert_eq!((off.service_annotations.len(), off.passed_over.len()), (1, 0));
    }
}
