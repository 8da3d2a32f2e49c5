//! Stamps objects with the author who writes them, and reads on whose behalf an object is acted for.
//!
//! Admission stamps Applications and ApplicationConfigurations; where controllers act for authors, also every other kind that makes
//! the controllers act, and the controllers' own records, which have no other writer. Admission replaces what users write there, so
//! where admission is registered a stamp is a fact.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::PostParams;
use serde_json::{Map, Value};
pub use vela_crds::annotations::STAMPS;
use vela_crds::annotations::{GROUP, SERVICE_ACCOUNT_NAME, USERNAME};

use crate::review::{Operation, Review, User};
use crate::verdict::{Cause, Refusal, Verdict};

/// Users and groups of Kubernetes itself: the groups belong to no single user, and `system:masters` may do anything.
const SYSTEM: &str = "system:";
/// Users that are ServiceAccounts.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// On whose behalf an object is acted for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Author {
    /// Name of the user.
    pub user: String,
    /// Groups of the user, without those that the API server adds itself.
    pub groups: Vec<String>,
}

/// The name by which the API server knows an account; asked once.
#[derive(Clone, Debug, Default)]
pub struct OwnName(Arc<OnceLock<String>>);

impl OwnName {
    /// The name of the account that this client works under.
    pub async fn of(&self, client: &kube::Client) -> Result<&String, kube::Error> {
        if let Some(known) = self.0.get() {
            return Ok(known);
        }
        let api: vela_runtime::Api<SelfSubjectReview> = vela_runtime::Api::all(client.clone());
        let asked = api.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
        let user = asked.status.and_then(|status| status.user_info).and_then(|user| user.username);
        Ok(self.0.get_or_init(|| user.unwrap_or_default()))
    }
}

/// Why the controllers act for no author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorError {
    /// There is no stamp.
    #[error("its author is not known: it has no annotation {USERNAME}, which admission stamps")]
    Unstamped,
    /// There is a stamp that our admission would not have made, or a user for whom no controller may act.
    #[error("its author, as its annotations say, cannot be acted for: {0}")]
    Refused(String),
}

impl Author {
    /// The author that the annotations of an object in this namespace name.
    pub fn stamped(
        annotations: Option<&BTreeMap<String, String>>,
        namespace: &str,
    ) -> Result<Self, AuthorError> {
        let text = |key: &str| annotations.and_then(|all| all.get(key)).map_or("", String::as_str);
        let (user, groups, account) = (text(USERNAME), text(GROUP), text(SERVICE_ACCOUNT_NAME));
        if user.is_empty() {
            return Err(AuthorError::Unstamped);
        }
        let refused = |why: String| Err(AuthorError::Refused(why));
        if !is_plain(user) {
            return refused(format!("the name of user {user:?} cannot be sent"));
        }
        let of = account_of(user);
        if user.starts_with(SYSTEM) && of.is_none() {
            return refused(format!(
                "{user:?} is a user of Kubernetes itself; let a person or a ServiceAccount write it"
            ));
        }
        if !account.is_empty() && of != Some((namespace, account)) {
            return refused(format!("{SERVICE_ACCOUNT_NAME} names {account:?}, and the author is {user:?}"));
        }
        let groups: Vec<String> =
            groups.split(',').filter(|group| !group.is_empty()).map(str::to_owned).collect();
        if let Some(group) = groups.iter().find(|group| group.starts_with(SYSTEM) || !is_plain(group)) {
            return refused(format!("group {group:?} is none of a person"));
        }
        Ok(Self { user: user.to_owned(), groups })
    }
}

/// Whether a server reads the text of a header as the one that was sent: it would trim a name that has spaces around.
fn is_plain(text: &str) -> bool {
    text.trim() == text && !text.chars().any(char::is_control)
}

/// Namespace and name of the ServiceAccount that a user is.
fn account_of(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

/// Stamps an object with its author, as the only change.
pub fn mutate(review: &Review) -> Verdict {
    let mut object = review.object.clone();
    match stamp(review, &mut object) {
        Ok(()) => Verdict::changed(review, &object),
        Err(refused) => *refused,
    }
}

/// Lets only the account of this name write the records that the controllers believe.
pub fn validate_record(review: &Review, own: &str) -> Verdict {
    if review.user.username == own && !own.is_empty() {
        return Verdict::allowed();
    }
    let message = format!(
        "{} are records of vela-core, which acts by them for the authors of applications: only {own:?} writes them; \
         delete it, and vela-core makes it anew",
        review.resource.resource
    );
    Verdict::refused(Refusal::Denied, vec![Cause::invalid("", message)])
}

/// Stamps the object of a review with its author. A write that changes nothing of what its author is answerable for (a
/// finalizer, an owner) keeps the author it had.
pub fn stamp(review: &Review, object: &mut Value) -> Result<(), Box<Verdict>> {
    let stamps = match author_stays(review) {
        true => stamps_of(&review.old_object),
        false => stamps(&review.user, review.object_namespace()),
    };
    let wrong = |field, expected| Err(Box::new(Verdict::bad_request(field, expected)));
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return wrong("metadata", "expected an object");
    };
    let annotations = metadata.entry("annotations").or_insert(Value::Null);
    if annotations.is_null() {
        *annotations = Value::Object(Map::new());
    }
    let Some(annotations) = annotations.as_object_mut() else {
        return wrong("metadata.annotations", "expected a map of strings");
    };
    annotations.retain(|key, _| !STAMPS.contains(&key.as_str()));
    annotations.extend(stamps);
    if annotations.is_empty() {
        match review.object["metadata"].get("annotations") {
            Some(written) if written.as_object().is_none_or(Map::is_empty) => {
                metadata.insert("annotations".to_owned(), written.clone());
            }
            _ => drop(metadata.remove("annotations")),
        }
    }
    Ok(())
}

/// Spec, labels and annotations reach what is rendered; the rest of an object does not.
fn author_stays(review: &Review) -> bool {
    let (old, new) = (&review.old_object, &review.object);
    let texts = |object: &Value, field: &str| {
        let mut texts = object["metadata"][field].as_object().cloned().unwrap_or_default();
        texts.retain(|key, _| !STAMPS.contains(&key.as_str()));
        texts
    };
    review.operation == Operation::Update
        && old.is_object()
        && old["spec"] == new["spec"]
        && ["labels", "annotations"].iter().all(|field| texts(old, field) == texts(new, field))
}

fn stamps_of(object: &Value) -> Map<String, Value> {
    let mut annotations = object["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    annotations.retain(|key, _| STAMPS.contains(&key.as_str()));
    annotations
}

/// The stamp of a user. A ServiceAccount of another namespace cannot be told by its name alone.
fn stamps(user: &User, namespace: &str) -> Map<String, Value> {
    let mut stamps = Map::new();
    let mut stamp = |key: &str, value: String| {
        if !value.is_empty() {
            stamps.insert(key.to_owned(), Value::String(value));
        }
    };
    stamp(USERNAME, user.username.clone());
    // A comma separates groups, so a group with one in its name would be taken for two.
    let own = |group: &&String| !group.starts_with(SYSTEM) && !group.is_empty() && !group.contains(',');
    stamp(GROUP, user.groups.iter().filter(own).cloned().collect::<Vec<_>>().join(","));
    if let Some((of, name)) = account_of(&user.username)
        && of == namespace
    {
        stamp(SERVICE_ACCOUNT_NAME, name.to_owned());
    }
    stamps
}
