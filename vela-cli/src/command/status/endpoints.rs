//! The addresses at which an application is reached, as the view `service-endpoints-view` finds them.

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::command::ql;
use crate::error::Result;
use crate::pointer::text;

/// The addresses, one row each.
pub(super) async fn of(cluster: &Cluster, application: &Value) -> Result<Vec<Value>> {
    let (name, namespace) = (text(application, "/metadata/name"), text(application, "/metadata/namespace"));
    let query =
        format!("service-endpoints-view{{appName=\"{name}\", appNs=\"{namespace}\"}}.status.endpoints");
    let found = ql::asked(cluster, &query).await?;
    Ok(found.as_array().into_iter().flatten().map(row).collect())
}

fn row(found: &Value) -> Value {
    let part = |path: &str| text(found, path);
    json!({
        "component": part("/component"),
        "object": format!("{} {}/{}", part("/ref/kind"), part("/ref/namespace"), part("/ref/name")),
        "endpoint": address(&found["endpoint"]),
        "inner": found["endpoint"]["inner"] == true,
    })
}

/// The address as people write it: a protocol of applications before it makes it a URL, and its usual port is left out then.
fn address(endpoint: &Value) -> String {
    let (host, path) = (text(endpoint, "/host"), text(endpoint, "/path"));
    let port = endpoint["port"].as_u64().map_or_else(String::new, |port| format!(":{port}"));
    match (text(endpoint, "/appProtocol"), port.as_str()) {
        ("http", ":80") => format!("http://{host}{path}"),
        ("https", ":443") => format!("https://{host}{path}"),
        (protocol @ ("http" | "https"), port) => format!("{protocol}://{host}{port}{path}"),
        (_, port) => format!("{host}{port}{path}"),
    }
}

/// The cells of a row.
pub(super) fn cells(row: &Value) -> Vec<String> {
    let inner = if row["inner"] == true { "in the cluster" } else { "from outside" };
    vec![
        text(row, "/component").to_owned(),
        text(row, "/object").to_owned(),
        text(row, "/endpoint").to_owned(),
        inner.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_as_people_write_it() {
        for (endpoint, expected) in [
            (json!({"host": "web.prod", "port": 80, "appProtocol": "http"}), "http://web.prod"),
            (json!({"host": "a.b", "port": 443, "appProtocol": "https", "path": "/c"}), "https://a.b/c"),
            (json!({"host": "a.b", "port": 8080, "appProtocol": "http", "path": "/"}), "http://a.b:8080/"),
            (json!({"host": "db.prod", "port": 5432, "protocol": "TCP"}), "db.prod:5432"),
        ] {
            assert_eq!(address(&endpoint), expected);
        }
    }
}
