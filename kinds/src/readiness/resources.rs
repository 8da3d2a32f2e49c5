//! A live object that runs no pods → how far it is.

use serde_json::Value;

use super::conditions::{by, condition, holds, message_of};
use super::verdict::{Readiness, UNREPORTED};

/// It has a volume.
pub(super) fn claim(object: &Value) -> Readiness {
    match object["status"]["phase"].as_str().unwrap_or("Pending") {
        "Bound" => Readiness::current("Bound"),
        phase => Readiness::in_progress(phase),
    }
}

/// Inside the cluster it answers. A load balancer outside may come late or never, which is told and not waited for.
pub(super) fn service(object: &Value) -> Readiness {
    let spec = &object["spec"];
    if spec["type"] != "LoadBalancer" {
        return Readiness::current("");
    }
    if spec["clusterIP"].as_str().is_none_or(str::is_empty) {
        return Readiness::in_progress("it has no cluster IP yet");
    }
    let outside = object["status"]["loadBalancer"]["ingress"].as_array();
    Readiness::current(match outside.is_some_and(|addresses| !addresses.is_empty()) {
        true => "",
        false => "no load balancer has given it an address yet",
    })
}

/// Its kind is served.
pub(super) fn custom_resource_definition(object: &Value) -> Readiness {
    let refused = |type_: &str| condition(object, type_).filter(|found| found["status"] == "False");
    let established = refused("Established").filter(|found| found["reason"] != "Installing");
    if let Some(refused) = refused("NamesAccepted").or(established) {
        return Readiness::failed(message_of(refused).unwrap_or_else(|| "it is not accepted".to_owned()));
    }
    match holds(object, "Established") {
        true => Readiness::current("Established"),
        false => Readiness::in_progress("it is being established"),
    }
}

/// A kind whose controller always reports `Ready`: before it does, it has not begun.
pub(super) fn reports_ready(object: &Value) -> Readiness {
    condition(object, "Ready").map_or_else(|| Readiness::in_progress(UNREPORTED), by)
}
