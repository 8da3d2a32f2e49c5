//! Decides whether a Route is ready, from its live issuer, certificates and Ingresses, or what it waits for first.

use serde_json::Value;

use super::super::at;

/// The objects read for a route; an error is why one could not be read or found.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The issuer's name and the issuer, where the route has one of its own.
    pub issuer: Option<(String, Result<Value, String>)>,
    /// Each Ingress, and its Certificate where the route has TLS.
    pub ingresses: Vec<SeenIngress>,
}

/// One Ingress and its Certificate.
#[derive(Debug, Clone)]
pub struct SeenIngress {
    /// Name of the Ingress.
    pub name: String,
    /// Name of the Certificate and the Certificate.
    pub certificate: Option<(String, Result<Value, String>)>,
    /// The Ingress as it is.
    pub ingress: Result<Value, String>,
}

/// The summary in `status.status`.
pub const READY: &str = "Ready";
/// The summary while something is waited for.
pub const SYNCED: &str = "Synced";

/// The open waits of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The cause in one word.
    pub reason: String,
    /// The cause in a sentence.
    pub message: String,
}

const UNAVAILABLE: &str = "Unavailable";
const CREATING: &str = "Creating";

/// The first thing that is missing; nothing when the route serves, or has nothing to serve.
#[must_use]
pub fn judge(seen: &Seen) -> Option<Waiting> {
    let issuer = seen.issuer.as_ref().and_then(|(name, issuer)| granted("issuer", name, issuer, None));
    issuer.or_else(|| seen.ingresses.iter().find_map(judge_ingress))
}

fn judge_ingress(seen: &SeenIngress) -> Option<Waiting> {
    let certificate = seen
        .certificate
        .as_ref()
        .and_then(|(name, certificate)| granted("certificate", name, certificate, Some("Ready")));
    certificate.or_else(|| match &seen.ingress {
        Err(error) => Some(waiting(UNAVAILABLE, error.clone())),
        Ok(ingress) if has_address(ingress) => None,
        Ok(_) => Some(waiting(CREATING, format!("IP/Hostname of {} ingress is generating", seen.name))),
    })
}

/// An object of cert-manager holds when its first condition does (and is of that type).
fn granted(what: &str, name: &str, object: &Result<Value, String>, type_: Option<&str>) -> Option<Waiting> {
    let object = match object {
        Ok(object) => object,
        Err(error) => return Some(waiting(UNAVAILABLE, error.clone())),
    };
    let Some(first) = at(&object["status"], "conditions").and_then(|conditions| conditions.get(0)) else {
        let message = format!("{what} '{name}' is pending to be resolved by controller");
        return Some(waiting(UNAVAILABLE, message));
    };
    if first["status"] == "True" && type_.is_none_or(|type_| first["type"] == type_) {
        return None;
    }
    let text = |field: &str| first[field].as_str().unwrap_or_default().to_owned();
    let reason = Some(text("reason")).filter(|reason| !reason.is_empty());
    Some(Waiting { reason: reason.unwrap_or_else(|| UNAVAILABLE.to_owned()), message: text("message") })
}

fn has_address(ingress: &Value) -> bool {
    let first = &ingress["status"]["loadBalancer"]["ingress"][0];
    ["ip", "hostname"].iter().any(|field| first[field].as_str().is_some_and(|text| !text.is_empty()))
}

fn waiting(reason: &str, message: String) -> Waiting {
    Waiting { reason: reason.to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn conditions(type_: &str, status: &str) -> Value {
        json!({"status": {"conditions": [{"type": type_, "status": status, "reason": "Why", "message": "because"}]}})
    }

    fn ingress(address: Value) -> SeenIngress {
        let ingress = json!({"status": {"loadBalancer": {"ingress": [address]}}});
        SeenIngress { name: "r-0".into(), certificate: None, ingress: Ok(ingress) }
    }

    #[test]
    fn a_route_with_nothing_to_serve_is_ready() {
        assert_eq!(judge(&Seen::default()), None);
        let seen = Seen {
            issuer: None,
            ingresses: vec![ingress(json!({"ip": "1.2.3.4"})), ingress(json!({"hostname": "h"}))],
        };
        assert_eq!(judge(&seen), None);
    }

    #[test]
    fn the_issuer_is_asked_for_first() {
        let with = |issuer: Result<Value, String>| {
            let seen = Seen { issuer: Some(("i".into(), issuer)), ingresses: vec![ingress(json!({}))] };
            judge(&seen).unwrap()
        };
        assert_eq!(with(Err("not found".into())), waiting("Unavailable", "not found".into()));
        let pending = with(Ok(json!({})));
        assert_eq!(pending.message, "issuer 'i' is pending to be resolved by controller");
        assert_eq!(with(Ok(conditions("Ready", "False"))), waiting("Why", "because".into()));
        assert_eq!(with(Ok(conditions("Ready", "True"))).message, "IP/Hostname of r-0 ingress is generating");
    }

    #[test]
    fn a_certificate_must_be_ready_before_an_address_counts() {
        let with = |certificate: Value| {
            let certificate = Some(("r-0-cert".to_owned(), Ok(certificate)));
            let seen = SeenIngress { certificate, ..ingress(json!({"ip": "1.2.3.4"})) };
            judge(&Seen { issuer: None, ingresses: vec![seen] })
        };
        assert_eq!(with(conditions("Ready", "True")), None);
        assert_eq!(with(conditions("Issuing", "True")), Some(waiting("Why", "because".into())));
        assert!(with(json!({})).unwrap().message.contains("certificate 'r-0-cert' is pending"));
    }
}
