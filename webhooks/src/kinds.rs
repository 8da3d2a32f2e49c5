//! A definition and a cluster → the definition with the cluster's kinds that its template imports.

use std::sync::Arc;

use kube::Client;
use vela_engine::{Definition, KubePackage, kube_packages};
use vela_runtime::openapi;

/// Reads the schemas of every group version that the template imports; without imports nothing is asked. What the
/// server does not serve stays missing, and the template says so when it is compiled, unless Kubernetes has withdrawn it.
pub async fn with_kinds(client: &Client, definition: Definition) -> Result<Definition, kube::Error> {
    let mut packages = Vec::new();
    for path in definition.imports() {
        let known = packages.len();
        for api_version in kube_packages::api_versions(&path) {
            let Some(document) = openapi::document(client, &api_version).await? else { continue };
            match KubePackage::new(&path, &api_version, &document) {
                Ok(package) => packages.push(Arc::new(package)),
                Err(error) => tracing::warn!(definition = %definition, path, %error, "kinds not importable"),
            }
            break;
        }
        if packages.len() == known {
            packages.extend(KubePackage::withdrawn(&path).map(Arc::new));
        }
    }
    Ok(definition.with_packages(packages))
}
