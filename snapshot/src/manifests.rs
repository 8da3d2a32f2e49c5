//! Reads the objects behind URLs that components name, through the egress guard; writes nothing.

use std::time::Duration;

use serde_json::Value;
use vela_engine::parse;
use vela_engine::reference::MANIFEST_BYTES_AT_MOST;
use vela_runtime::egress::{EgressClient, EgressPolicy, Limits};

/// How long a server may take to be there, and to answer.
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(5),
    total: Duration::from_secs(10),
    answer_bytes: MANIFEST_BYTES_AT_MOST,
};

/// Each URL with its objects, or with the reason why they are not known. Services of the cluster are left out, since only programs
/// in the cluster know their names.
pub(crate) async fn read(
    egress_policy: EgressPolicy,
    urls: impl Iterator<Item = String>,
) -> Vec<(String, Result<Vec<Value>, String>)> {
    let urls: Vec<String> = urls.filter(|url| !is_of_cluster(url)).collect();
    if urls.is_empty() {
        // The authorities that the system trusts are read only for those that need them.
        return Vec::new();
    }
    let client = EgressClient::new(egress_policy, LIMITS).map_err(|error| error.to_string());
    let mut all = Vec::with_capacity(urls.len());
    for url in urls {
        let found = match &client {
            Ok(client) => objects(client, &url).await,
            Err(error) => Err(error.clone()),
        };
        all.push((url, found));
    }
    all
}

/// Is it the name of a Service?
fn is_of_cluster(url: &str) -> bool {
    let host =
        url.parse::<http::Uri>().ok().and_then(|url| url.host().map(str::to_lowercase)).unwrap_or_default();
    host.ends_with(".svc") || host.ends_with(".cluster.local")
}

async fn objects(client: &EgressClient, url: &str) -> Result<Vec<Value>, String> {
    let answer = client.read(url).await.map_err(|error| error.to_string())?;
    match answer.status.is_success() {
        true => parse::manifests(url, &answer.body),
        false => Err(format!("the server answers {}", answer.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_of_the_cluster_are_not_asked() {
        for url in ["http://files.shop.svc/x.yaml", "https://files.shop.svc.cluster.local:8443/x?y"] {
            assert!(is_of_cluster(url), "{url}");
        }
        for url in ["https://example.com/.svc", "https://svc.example.com/", "no url"] {
            assert!(!is_of_cluster(url), "{url}");
        }
    }
}
