//! Writes the authorities of the webhook server into every labelled webhook configuration and every labelled kind with
//! a conversion webhook, where they differ; touches that one field only.
//!
//! Every replica writes the same bytes from the same Secret, so they cannot fight; with anybody else who keeps writing
//! another bundle we compete more and more slowly, and say so.

use std::collections::BTreeMap;

use crate::api::Api;
use k8s_openapi::ByteString;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

/// Rounds left out at most after another client wrote again and again: an hour, where a round is 15 seconds.
const ROUNDS_AT_MOST: u32 = 256;
/// Objects of one kind in one answer of the API server.
const PAGE: u32 = 500;

/// Where bundles are written.
#[derive(Clone)]
pub struct CaBundles {
    /// Through which objects are read and written.
    pub client: kube::Client,
    /// Which objects: a label selector.
    pub selector: String,
    /// Field manager of the one field.
    pub manager: String,
}

impl std::fmt::Debug for CaBundles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CaBundles")
            .field("selector", &self.selector)
            .field("manager", &self.manager)
            .finish_non_exhaustive()
    }
}

/// The history of one object.
#[derive(Debug, Default)]
struct History {
    /// Rounds in a row in which it had to be written although we had nothing new.
    rewrites: u32,
    /// Rounds that it is still left alone.
    rest: u32,
}

/// Remembers from round to round.
#[derive(Debug)]
pub(super) struct Writer {
    bundles: CaBundles,
    written: Vec<u8>,
    history: BTreeMap<(String, String), History>,
}

impl Writer {
    pub(super) fn new(bundles: CaBundles) -> Self {
        Self { bundles, written: Vec::new(), history: BTreeMap::new() }
    }

    /// One round: how many objects were written. An object that cannot be written is told and left for the next round.
    pub(super) async fn round(&mut self, authorities: &[u8]) -> Result<usize, kube::Error> {
        if self.written != authorities {
            self.history.clear();
            self.written = authorities.to_vec();
        }
        let wanted = json!(ByteString(authorities.to_vec()));
        let mut writes = 0;
        for kind in kinds() {
            for object in self.objects(&kind).await? {
                let Some(patch) = patch(&kind, &object, &wanted) else {
                    self.history.remove(&key(&kind, &object));
                    continue;
                };
                if self.rests(&kind, &object) {
                    continue;
                }
                writes += usize::from(self.write(&kind, &object, patch).await);
            }
        }
        Ok(writes)
    }

    async fn objects(&self, kind: &ApiResource) -> Result<Vec<DynamicObject>, kube::Error> {
        let api: Api<DynamicObject> = Api::all_with(self.bundles.client.clone(), kind);
        let mut params = ListParams::default().labels(&self.bundles.selector).limit(PAGE);
        let mut objects = Vec::new();
        loop {
            let page = api.list(&params).await?;
            objects.extend(page.items);
            match page.metadata.continue_ {
                Some(next) if !next.is_empty() => params.continue_token = Some(next),
                _ => return Ok(objects),
            }
        }
    }

    /// Another client keeps changing it: does this round leave it alone?
    fn rests(&mut self, kind: &ApiResource, object: &DynamicObject) -> bool {
        let history = self.history.entry(key(kind, object)).or_default();
        if history.rest > 0 {
            history.rest -= 1;
            return true;
        }
        history.rest = 2u32.saturating_pow(history.rewrites).min(ROUNDS_AT_MOST) - 1;
        history.rewrites = history.rewrites.saturating_add(1);
        if history.rewrites == 4 {
            let name = object.metadata.name.as_deref().unwrap_or_default();
            tracing::warn!(kind = kind.kind, name, "another client keeps changing its caBundle");
        }
        false
    }

    async fn write(&self, kind: &ApiResource, object: &DynamicObject, patch: Value) -> bool {
        let api: Api<DynamicObject> = Api::all_with(self.bundles.client.clone(), kind);
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let params = PatchParams::apply(&self.bundles.manager).force();
        match api.patch(name, &params, &Patch::Apply(&patch)).await {
            Ok(_) => {
                tracing::info!(kind = kind.kind, name, "wrote the authorities of the webhook server");
                true
            }
            Err(error) => {
                tracing::warn!(kind = kind.kind, name, %error, "cannot write the authorities of the webhook server");
                false
            }
        }
    }
}

fn key(kind: &ApiResource, object: &DynamicObject) -> (String, String) {
    (kind.kind.clone(), object.metadata.name.clone().unwrap_or_default())
}

fn kinds() -> [ApiResource; 3] {
    use k8s_openapi::api::admissionregistration::v1 as admission;
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as extensions;
    [
        ApiResource::erase::<admission::MutatingWebhookConfiguration>(&()),
        ApiResource::erase::<admission::ValidatingWebhookConfiguration>(&()),
        ApiResource::erase::<extensions::CustomResourceDefinition>(&()),
    ]
}

/// The fields to apply, if any differs.
fn patch(kind: &ApiResource, object: &DynamicObject, wanted: &Value) -> Option<Value> {
    let name = object.metadata.name.as_deref()?;
    let about = |field: &str, value: Value| {
        json!({
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name, "uid": object.metadata.uid},
            field: value,
        })
    };
    if kind.kind == "CustomResourceDefinition" {
        let conversion = object.data.pointer("/spec/conversion")?;
        if conversion["strategy"] != "Webhook" || conversion["webhook"]["clientConfig"]["caBundle"] == *wanted
        {
            return None;
        }
        let conversion = json!({"webhook": {"clientConfig": {"caBundle": wanted}}});
        return Some(about("spec", json!({"conversion": conversion})));
    }
    let webhooks = object.data["webhooks"].as_array()?;
    if webhooks.iter().all(|webhook| webhook["clientConfig"]["caBundle"] == *wanted) {
        return None;
    }
    // All of them, also those that are right already: what is applied no more would be taken away.
    let webhook = |webhook: &Value| json!({"name": webhook["name"], "clientConfig": {"caBundle": wanted}});
    Some(about("webhooks", webhooks.iter().map(webhook).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn only_what_differs_is_written_and_only_that_field() {
        let [mutating, _, definitions] = kinds();
        let wanted = json!("bmV3");
        let configuration = |bundle: Value| {
            object(json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
                "metadata": {"name": "a", "uid": "u"},
                "webhooks": [
                    {"name": "one.a.b", "clientConfig": {"url": "https://x", "caBundle": "bmV3"}},
                    {"name": "two.a.b", "clientConfig": {"url": "https://x", "caBundle": bundle}},
                ],
            }))
        };
        assert_eq!(patch(&mutating, &configuration(json!("bmV3")), &wanted), None);
        for differs in [json!("b2xk"), Value::Null] {
            let patch = patch(&mutating, &configuration(differs), &wanted).unwrap();
            assert_eq!(patch["metadata"], json!({"name": "a", "uid": "u"}));
            assert_eq!(
                patch["webhooks"],
                json!([
                    {"name": "one.a.b", "clientConfig": {"caBundle": "bmV3"}},
                    {"name": "two.a.b", "clientConfig": {"caBundle": "bmV3"}},
                ])
            );
        }
        let kind = |strategy: &str, bundle: &str| {
            object(json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "a"},
                "spec": {"conversion": {"strategy": strategy, "webhook": {"clientConfig": {"caBundle": bundle}}}},
            }))
        };
        assert_eq!(patch(&definitions, &kind("None", "b2xk"), &wanted), None);
        assert_eq!(patch(&definitions, &kind("Webhook", "bmV3"), &wanted), None);
        let patch = patch(&definitions, &kind("Webhook", "b2xk"), &wanted).unwrap();
        assert_eq!(patch["spec"], json!({"conversion": {"webhook": {"clientConfig": {"caBundle": "bmV3"}}}}));
    }
}
