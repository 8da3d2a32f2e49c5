//! The trust bundle in the cluster: the Secret with the issuer, and the ConfigMap with the anchors that others read.
//!
//! A bundle that is there is used as it is. One that is ours, by its label, is renewed in time. Each write names the version that it
//! replaces, so that replicas that start at once agree on one.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};
use vela_runtime::{Api, clock};

use super::authority::Authority;
use super::bundle::Names;
use super::error::AuthorityError;
use super::texts::BundleTexts;
use crate::controller::FIELD_MANAGER;

/// Name of both, as of Dapr's own.
pub(super) const BUNDLE: &str = "dapr-trust-bundle";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const ISSUER: &str = "issuer.crt";
const ISSUER_KEY: &str = "issuer.key";
const ANCHORS: &str = "ca.crt";
const ROOT_KEY: &str = "ca.key";
const JWT_KEY: &str = "jwt.key";
const JWT_KEYS: &str = "jwks.json";
/// Another replica was faster this often: a sixth try is not worth it now.
const TRIES: usize = 5;

/// Why there is no trust bundle.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It could not be read or written.
    #[error("cannot {verb} the {kind} {namespace}/{BUNDLE}: {source}")]
    Cluster {
        /// What was tried.
        verb: &'static str,
        /// Secret or ConfigMap.
        kind: &'static str,
        /// Where.
        namespace: String,
        /// What the API server said.
        source: Box<kube::Error>,
    },
    /// Part of the Secret is missing.
    #[error(
        "the Secret {namespace}/{BUNDLE} has no {key}; expected issuer.crt, issuer.key and ca.crt: add it, or delete the Secret to have a new one made"
    )]
    Incomplete {
        /// Where.
        namespace: String,
        /// The key that is missing.
        key: &'static str,
    },
    /// Nothing can be signed with it.
    #[error("the Secret {namespace}/{BUNDLE}: {source}")]
    Unusable {
        /// Where.
        namespace: String,
        /// Why.
        source: AuthorityError,
    },
    /// Others wrote the Secret each time we were about to.
    #[error("the Secret {0}/{BUNDLE} changes all the time")]
    Contended(String),
}

impl StoreError {
    /// Whether it may be otherwise in a moment.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Cluster { source, .. } => match source.as_ref() {
                kube::Error::Api(status) => status.code == 429 || status.code >= 500,
                _ => true,
            },
            Self::Contended(_) => true,
            Self::Incomplete { .. } | Self::Unusable { .. } => false,
        }
    }
}

/// Where the bundle is, and what is written into a new one.
#[derive(Clone)]
pub(super) struct Store {
    pub(super) client: kube::Client,
    pub(super) namespace: String,
    pub(super) names: Names,
    pub(super) skew: Duration,
    /// Whether the bundle has to have a key of tokens.
    pub(super) signs_tokens: bool,
}

impl Store {
    /// The bundle, brought up to date; `held` is what was known of it, in case the Secret was deleted: sidecars trust that.
    pub(super) async fn refresh(&self, held: Option<&BundleTexts>) -> Result<Authority, StoreError> {
        let authority = self.secret(held).await?;
        self.publish(&authority.texts().anchors).await?;
        Ok(authority)
    }

    async fn secret(&self, held: Option<&BundleTexts>) -> Result<Authority, StoreError> {
        let api = self.api("Secret");
        for _ in 0..TRIES {
            let live = api.get_opt(BUNDLE).await.map_err(|source| self.failed("read", "Secret", source))?;
            let stored = live.as_ref().map(read).filter(|stored| !stored.is_empty());
            let is_ours = stored.is_none()
                || live
                    .as_ref()
                    .and_then(|live| live.metadata.labels.as_ref()?.get(MANAGED_BY))
                    .is_some_and(|manager| manager == FIELD_MANAGER);
            let found = stored.clone().or_else(|| held.cloned()).unwrap_or_default();
            if stored.is_some() {
                self.complete(&found)?;
            }
            let now = clock::now();
            let unusable = |source| StoreError::Unusable { namespace: self.namespace.clone(), source };
            if stored.is_some() {
                // What cannot be read is for a person: a new issuer in its place would cut off every sidecar.
                match Authority::read(&found, now) {
                    Ok(authority) if !is_ours => return self.with_tokens(authority).map_err(unusable),
                    Ok(_) => {}
                    Err(error) => {
                        let expired = is_ours && self.is_expired(&found, now);
                        if !expired {
                            return Err(unusable(error));
                        }
                    }
                }
            }
            let mut wanted = found.renewed(&self.names, self.skew, now).map_err(unusable)?;
            if self.signs_tokens {
                wanted = wanted.with_jwt_key().map_err(unusable)?;
            }
            let authority = Authority::read(&wanted, now).and_then(|read| self.with_tokens(read));
            let authority = authority.map_err(unusable)?;
            if stored.as_ref() == Some(&wanted) {
                return Ok(authority);
            }
            let written = match live {
                Some(live) => api.replace(BUNDLE, &PostParams::default(), &filled(live, &wanted)).await,
                None => api.create(&PostParams::default(), &self.new_secret(&wanted)).await,
            };
            match written {
                Ok(_) => {
                    tracing::info!(namespace = self.namespace, name = BUNDLE, "wrote the trust bundle");
                    return Ok(authority);
                }
                // Another replica was faster, or the Secret went: read again.
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(source) => return Err(self.failed("write", "Secret", source)),
            }
        }
        Err(StoreError::Contended(self.namespace.clone()))
    }

    fn with_tokens(&self, authority: Authority) -> Result<Authority, AuthorityError> {
        if self.signs_tokens { authority.signing_tokens() } else { Ok(authority) }
    }

    /// Whether time alone makes it unusable: with its issuer valid, it would be read.
    fn is_expired(&self, texts: &BundleTexts, now: jiff::Timestamp) -> bool {
        texts
            .issuer_validity()
            .is_some_and(|validity| validity.until <= now && Authority::read(texts, validity.from).is_ok())
    }

    fn complete(&self, texts: &BundleTexts) -> Result<(), StoreError> {
        let parts = [(ISSUER, &texts.issuer), (ISSUER_KEY, &texts.issuer_key), (ANCHORS, &texts.anchors)];
        match parts.into_iter().find(|(_, text)| text.trim().is_empty()) {
            Some((key, _)) => Err(StoreError::Incomplete { namespace: self.namespace.clone(), key }),
            None => Ok(()),
        }
    }

    /// Has the anchors where other programs look for them.
    async fn publish(&self, anchors: &str) -> Result<(), StoreError> {
        let api = self.api("ConfigMap");
        let failed = |verb| move |source| self.failed(verb, "ConfigMap", source);
        let live = api.get_opt(BUNDLE).await.map_err(failed("read"))?;
        if live.as_ref().is_some_and(|live| live.data["data"][ANCHORS] == anchors) {
            return Ok(());
        }
        let data = json!({"data": {ANCHORS: anchors}});
        let written = match live {
            Some(_) => {
                let params =
                    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
                api.patch(BUNDLE, &params, &Patch::Merge(&data)).await
            }
            None => {
                let mut map = DynamicObject::new(BUNDLE, &resource("ConfigMap")).within(&self.namespace);
                map.data = data;
                api.create(&PostParams::default(), &map).await
            }
        };
        match written {
            // Another replica was faster, with the same anchors or with others: the next look tells.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            written => written.map(|_| ()).map_err(failed("write")),
        }
    }

    fn new_secret(&self, texts: &BundleTexts) -> DynamicObject {
        filled(DynamicObject::new(BUNDLE, &resource("Secret")).within(&self.namespace), texts)
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource(kind))
    }

    fn failed(&self, verb: &'static str, kind: &'static str, source: kube::Error) -> StoreError {
        StoreError::Cluster { verb, kind, namespace: self.namespace.clone(), source: Box::new(source) }
    }
}

fn resource(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind))
}

fn read(secret: &DynamicObject) -> BundleTexts {
    let text = |key: &str| {
        let bytes = secret.data["data"][key].as_str().and_then(|text| STANDARD.decode(text).ok());
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
    };
    BundleTexts {
        issuer: text(ISSUER),
        issuer_key: text(ISSUER_KEY),
        anchors: text(ANCHORS),
        root_key: text(ROOT_KEY),
        jwt_key: text(JWT_KEY),
        jwt_keys: text(JWT_KEYS),
    }
}

/// The Secret with these texts, marked as ours; foreign keys stay.
fn filled(mut secret: DynamicObject, texts: &BundleTexts) -> DynamicObject {
    let BundleTexts { issuer, issuer_key, anchors, root_key, jwt_key, jwt_keys } = texts;
    let mut data = secret.data["data"].as_object().cloned().unwrap_or_default();
    for (key, text) in [(ISSUER, issuer), (ISSUER_KEY, issuer_key), (ANCHORS, anchors), (ROOT_KEY, root_key)]
    {
        data.insert(key.to_owned(), STANDARD.encode(text).into());
    }
    // Only where tokens are signed.
    for (key, text) in
        [(JWT_KEY, jwt_key), (JWT_KEYS, jwt_keys)].into_iter().filter(|(_, text)| !text.is_empty())
    {
        data.insert(key.to_owned(), STANDARD.encode(text).into());
    }
    match secret.data.as_object_mut() {
        Some(content) => {
            content.insert("data".to_owned(), Value::Object(data));
        }
        None => secret.data = Value::Object(Map::from_iter([("data".to_owned(), Value::Object(data))])),
    }
    let labels = secret.metadata.labels.get_or_insert_default();
    labels.insert(MANAGED_BY.to_owned(), FIELD_MANAGER.to_owned());
    secret
}
