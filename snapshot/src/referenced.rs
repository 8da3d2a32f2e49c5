//! Reads the objects that components of applications refer to, with the rights of a client.

use kube::Client;
use kube::api::ListParams;
use vela_engine::reference::{Reference, Referenced, SELECTED_AT_MOST};
use vela_engine::{Bounds, ObjectKey};
use vela_runtime::Kind;

use crate::typed::with_type;

/// Objects asked for by one request.
const PAGE: u32 = 250;

/// What a cluster has of a reference by an application of the namespace `own`, which reaches as far as its bounds.
///
/// # Errors
/// When the cluster refuses to tell, or does not answer.
pub async fn read(
    client: &Client,
    kind: &Kind,
    reference: &Reference,
    (own, bounds): (&str, Bounds),
) -> Result<Referenced, kube::Error> {
    let namespace = if kind.namespaced { reference.namespace.as_str() } else { "" };
    let resource = &kind.resource;
    let key = ObjectKey::local(&resource.api_version, &resource.kind, namespace, &reference.name);
    if let Some((message, hint)) = bounds.refusal_of_reading(&key, own) {
        return Ok(Referenced::Refused(message, hint));
    }
    let api = kind.api(client.clone(), namespace);
    if reference.labels.is_empty() {
        let found = api.get_opt(&reference.name).await?;
        let found = found.into_iter().map(|object| with_type(object, resource));
        return Ok(Referenced::Objects(found.collect()));
    }
    let terms: Vec<String> = reference.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut params = ListParams::default().limit(PAGE).labels(&terms.join(","));
    let mut found = Vec::new();
    // The number of objects is limited, and each page has some.
    loop {
        let page = api.list(&params).await?;
        let next = page.metadata.continue_.filter(|token| !token.is_empty() && !page.items.is_empty());
        found.extend(page.items.into_iter().map(|object| with_type(object, resource)));
        if found.len() > SELECTED_AT_MOST {
            return Ok(Referenced::TooMany);
        }
        let Some(token) = next else { return Ok(Referenced::Objects(found)) };
        params = params.continue_token(&token);
    }
}
