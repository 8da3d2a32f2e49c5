//! The objects that describe a Harbor → its address and the account to ask it with.

use serde_json::Value;

use super::api::Server;
use super::error::Error;
use super::reads::Reads;
use crate::field::Field;
use crate::parts::{SINGLE, kinds};

/// The account that every Harbor has.
const ADMINISTRATOR: &str = "admin";

/// The Harbor of a HarborCluster in the namespace of the owner.
pub(super) async fn of_cluster(reads: &Reads<'_>, field: &Field<'_>) -> Result<Server, Error> {
    let namespace = reads.owner.namespace();
    let cluster = reads.named(kinds::goharbor("HarborCluster"), namespace, field).await?;
    let described = format!("HarborCluster {namespace}/{}", field.text()?);
    let spec = Field::new(&described, "spec", &cluster["spec"]);
    let password = reads.secret(namespace, &spec.get("harborAdminPasswordRef"), SINGLE).await?;
    let certificate = spec.get("expose").get("core").get("tls").get("certificateRef");
    Ok(Server {
        url: address(&spec.get("externalURL"), "https")?,
        user: ADMINISTRATOR.to_owned(),
        password,
        authority: reads.authority(namespace, &certificate).await?,
        takes_any_certificate: false,
    })
}

/// The Harbor of a HarborServerConfiguration.
pub(super) async fn of_configuration(reads: &Reads<'_>, configuration: &Value) -> Result<Server, Error> {
    let name = configuration["metadata"]["name"].as_str().unwrap_or_default();
    let described = format!("HarborServerConfiguration {name}");
    let spec = Field::new(&described, "spec", &configuration["spec"]);
    let insecure = spec.get("insecure").flag()?;
    let scheme = if insecure { "http" } else { "https" };
    let credential = spec.get("accessCredential");
    let (namespace, secret) = (credential.get("namespace").text()?, credential.get("accessSecretRef"));
    Ok(Server {
        url: address(&spec.get("serverURL"), scheme)?,
        user: reads.secret(namespace, &secret, "accessKey").await?,
        password: reads.secret(namespace, &secret, "accessSecret").await?,
        authority: None,
        takes_any_certificate: insecure,
    })
}

/// The server as images name it: host and port.
pub(super) fn registry(field: &Field<'_>) -> Result<String, Error> {
    // The scheme is not among it, so that any one does.
    let url = address(field, "https")?;
    let parsed: Option<http::Uri> = url.parse().ok();
    let authority = parsed.as_ref().and_then(http::Uri::authority).map(http::uri::Authority::as_str);
    match authority.filter(|authority| !authority.contains('@')) {
        Some(authority) => Ok(authority.to_owned()),
        None => Err(Error::Address { field: field.path().to_owned() }),
    }
}

/// An address that has no scheme gets this one.
fn address(field: &Field<'_>, scheme: &str) -> Result<String, Error> {
    let text = field.text()?.trim_end_matches('/');
    let url = if text.contains("://") { text.to_owned() } else { format!("{scheme}://{text}") };
    let parsed: Option<http::Uri> = url.parse().ok();
    let is_server =
        parsed.is_some_and(|uri| uri.host().is_some_and(|host| !host.is_empty()) && uri.query().is_none());
    match is_server {
        true => Ok(url),
        false => Err(Error::Address { field: field.path().to_owned() }),
    }
}
