//! Builds the Service and the Ingresses of a Route, and says what it still waits for.
//!
//! [`backend`] finds or makes the Service of each rule, [`ingress`] turns rules into Ingresses, [`readiness`] tells
//! whether certificates and addresses are there.

pub mod backend;
pub mod ingress;
pub mod readiness;

use vela_crds::standard_oam_dev::Route;
use vela_crds::standard_oam_dev::route::RouteTls;

/// The trait kind.
pub const KIND: &str = "Route";

/// The server of the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// ingress-nginx.
    Nginx,
    /// Contour.
    Contour,
}

impl Provider {
    /// The ingress class.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Contour => "contour",
        }
    }
}

/// The provider a route names. The second part is the word that names none; nginx serves such a route.
#[must_use]
pub fn provider(route: &Route) -> (Provider, Option<&str>) {
    match route.spec.provider.as_deref() {
        None | Some("" | "nginx") => (Provider::Nginx, None),
        Some("contour") => (Provider::Contour, None),
        Some(other) => (Provider::Nginx, Some(other)),
    }
}

/// The issuer of the route's certificates lives beside it, not in the whole cluster.
#[must_use]
pub fn local_issuer(route: &Route) -> Option<&str> {
    let tls = route.spec.tls.as_ref().filter(|tls| !is_cluster_issuer(tls))?;
    Some(tls.issuer_name.as_deref().unwrap_or_default())
}

fn is_cluster_issuer(tls: &RouteTls) -> bool {
    tls.issuer_type == "ClusterIssuer"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_provider_is_served_by_nginx() {
        let route = |provider: serde_json::Value| -> Route {
            serde_json::from_value(serde_json::json!({
                "apiVersion": "standard.oam.dev/v1alpha1", "kind": KIND, "metadata": {"name": "r"},
                "spec": {"host": "h", "provider": provider, "tls": {"issuerName": "i"}},
            }))
            .unwrap()
        };
        assert_eq!(provider(&route(serde_json::Value::Null)), (Provider::Nginx, None));
        assert_eq!(provider(&route("contour".into())), (Provider::Contour, None));
        assert_eq!(provider(&route("traefik".into())), (Provider::Nginx, Some("traefik")));
        assert_eq!(local_issuer(&route("".into())), Some("i"));
    }
}
