//! The system namespace: where the controller of a cluster and the definitions for everybody are.
//!
//! It is the one that a user names; else the one that the cluster tells, by the account that the rights of the controller are
//! bound to: one request, which every user may make where `vela install` was; else the usual one.

use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::Client;
use vela_core::access::{HOME_BINDING, home_of};
pub(crate) use vela_crds::finalizers::SYSTEM_NAMESPACE as USUAL;
use vela_engine::names;
use vela_runtime::Api;

use crate::args::Global;
use crate::error::{Error, Result};

/// The variables by which KubeVela learns it, in its order.
const VARIABLES: [&str; 2] = ["KUBEVELA_SYSTEM_NAMESPACE", "DEFAULT_VELA_NS"];

/// The one that a user names, by flag or by variable.
pub(crate) fn named(global: &Global) -> Result<Option<String>> {
    if let Some(name) = &global.system_namespace {
        return Ok(Some(name.clone()));
    }
    from_variables(|name| std::env::var(name).ok())
}

fn from_variables(value_of: impl Fn(&str) -> Option<String>) -> Result<Option<String>> {
    let set = |name| Some((name, value_of(name).filter(|value| !value.is_empty())?));
    let Some((variable, name)) = VARIABLES.into_iter().find_map(set) else { return Ok(None) };
    if !names::is_label(&name) {
        return Err(Error::config(format!(
            "the variable {variable} is {name:?}, which cannot be a namespace"
        ))
        .hint("correct it, unset it, or give the system namespace by --system-namespace")
        .into());
    }
    Ok(Some(name))
}

/// The one that the cluster tells; nothing where vela is not installed, or where this user may not know.
pub(crate) async fn recorded(client: &Client) -> kube::Result<Option<String>> {
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    match bindings.get_opt(HOME_BINDING).await {
        Ok(found) => Ok(found.as_ref().and_then(home_of)),
        // A release up to 0.2.0 gave no user this right, and lived in the usual one.
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_variable_counts_more() {
        let of = |set: &'static [(&str, &str)]| {
            from_variables(|name| set.iter().find(|one| one.0 == name).map(|one| one.1.to_owned()))
        };
        assert_eq!(of(&[]).ok(), Some(None));
        assert_eq!(of(&[("DEFAULT_VELA_NS", "old")]).unwrap().as_deref(), Some("old"));
        let both = of(&[("DEFAULT_VELA_NS", "old"), ("KUBEVELA_SYSTEM_NAMESPACE", "new")]);
        assert_eq!(both.unwrap().as_deref(), Some("new"));
        let empty = of(&[("DEFAULT_VELA_NS", "old"), ("KUBEVELA_SYSTEM_NAMESPACE", "")]);
        assert_eq!(empty.unwrap().as_deref(), Some("old"));
        let said = of(&[("DEFAULT_VELA_NS", "a_b")]).unwrap_err().texts().join("\n");
        assert!(said.contains("DEFAULT_VELA_NS is \"a_b\"") && said.contains("--system-namespace"), "{said}");
    }
}
