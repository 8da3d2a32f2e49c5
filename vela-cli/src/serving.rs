//! Finds out whether a controller in the cluster acts on applications.

use crate::cluster::Cluster;
use vela_core::access::ACCOUNT;

/// What everybody may look at to know (`vela install` lets them): the lease that a controller holds, and its Deployment.
const SIGNS: [(&str, &str); 2] = [("coordination.k8s.io/v1", "Lease"), ("apps/v1", "Deployment")];

/// What to say where no controller serves the cluster; nothing where there is one, or where it cannot be known.
pub(crate) async fn missing(cluster: &Cluster) -> Option<String> {
    let system = cluster.system_namespace().await.ok()?;
    for (api_version, kind) in SIGNS {
        match cluster.get(api_version, kind, Some(system), ACCOUNT).await {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => return None,
        }
    }
    Some(format!(
        "No controller seems to serve this cluster: neither the lease nor the deployment {system}/{ACCOUNT} is there, so \
         nothing may act on applications. `vela install --controller-image IMAGE` runs one in it, and `vela install \
         --controller local` one beside it."
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::system_namespace::USUAL;

    #[tokio::test]
    async fn a_lease_or_a_deployment_is_a_sign_of_a_controller() {
        for (api_version, kind) in SIGNS {
            let server = vela_apiserver::ApiServer::builder().build().unwrap();
            let client = kube::Client::new(server.service(), "default");
            let cluster = Cluster::new(client, "test".to_owned(), "default".to_owned());
            assert!(missing(&cluster).await.is_some_and(|said| said.contains("--controller local")));
            let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": USUAL}});
            cluster.apply(&space, false, false).await.unwrap();
            let mut sign = json!({"apiVersion": api_version, "kind": kind,
                "metadata": {"name": ACCOUNT, "namespace": USUAL}, "spec": {}});
            if kind == "Deployment" {
                let labels = json!({"app": "a"});
                sign["spec"] = json!({"selector": {"matchLabels": labels}, "template": {
                    "metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}});
            }
            cluster.apply(&sign, false, false).await.unwrap();
            assert_eq!(missing(&cluster).await, None, "{kind}");
        }
    }
}
