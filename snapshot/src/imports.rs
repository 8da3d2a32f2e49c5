//! Adds to a definition the kinds of the cluster that its template imports.

use std::sync::Arc;

use vela_engine::{Definition, KubePackage, kube_packages};

use crate::source::{Error, Source};

/// Reads the schemas of every group version that the template imports; without imports nothing is asked. A kind that the
/// cluster does not serve stays missing, and the template says so when it is compiled, unless Kubernetes has withdrawn it.
///
/// # Errors
/// When the source does not answer.
pub async fn with_imports<S: Source>(source: &S, definition: Definition) -> Result<Definition, Error> {
    let mut packages = Vec::new();
    for path in definition.imports() {
        let known = packages.len();
        for api_version in kube_packages::api_versions(&path) {
            let Some(document) = source.schemas(&api_version).await? else { continue };
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

/// Has it all that it imports? Kinds that are not served yet may be later.
pub(crate) fn is_complete(definition: &Definition) -> bool {
    definition.imports().len() == definition.packages().len()
}
