//! Names and annotations that objects of goharbor.io and their children have.

/// Longest name of a child: Services have the narrowest limit.
pub(crate) const LONGEST_NAME: usize = 63;

/// Which release of Harbor a part is of.
pub(crate) const VERSION: &str = "harbor.goharbor.io/version";
/// Whether a part has network policies of its own.
pub(crate) const NETWORK_POLICIES: &str = "goharbor.io/network-policies";
/// For which ingress controller Services and Ingresses are.
pub(crate) const INGRESS_CONTROLLER: &str = "goharbor.io/ingress-controller";
