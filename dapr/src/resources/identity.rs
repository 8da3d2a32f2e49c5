//! The identity of a sidecar, as its certificate names it.

use std::str::FromStr;

use vela_runtime::api::is_part;

/// Who a sidecar is: `spiffe://TRUST-DOMAIN/ns/NAMESPACE/APP-ID`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Who vouches for it.
    pub trust_domain: String,
    /// Namespace of its pod.
    pub namespace: String,
    /// Id of its application.
    pub app_id: String,
}

/// A certificate that names no sidecar.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no identity of a sidecar; expected spiffe://TRUST-DOMAIN/ns/NAMESPACE/APP-ID")]
pub struct IdentityError(String);

impl FromStr for Identity {
    type Err = IdentityError;

    fn from_str(uri: &str) -> Result<Self, IdentityError> {
        let wrong = || IdentityError(uri.to_owned());
        let parts: Vec<&str> = uri.strip_prefix("spiffe://").ok_or_else(wrong)?.split('/').collect();
        match parts.as_slice() {
            [trust_domain, "ns", namespace, app_id]
                if !trust_domain.is_empty() && is_part(namespace) && is_part(app_id) =>
            {
                Ok(Self {
                    trust_domain: (*trust_domain).to_owned(),
                    namespace: (*namespace).to_owned(),
                    app_id: (*app_id).to_owned(),
                })
            }
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_has_four_parts() {
        let identity: Identity = "spiffe://cluster.local/ns/shop/cart".parse().unwrap();
        assert_eq!((identity.namespace.as_str(), identity.app_id.as_str()), ("shop", "cart"));
        for wrong in [
            "",
            "cluster.local/ns/shop/cart",
            "spiffe://cluster.local/ns/shop",
            "spiffe://cluster.local/ns/shop/cart/more",
            "spiffe:///ns/shop/cart",
            "spiffe://cluster.local/sa/shop/cart",
            "spiffe://cluster.local/ns//cart",
        ] {
            assert!(wrong.parse::<Identity>().is_err(), "{wrong}");
        }
    }
}
