//! An object and what it is made from in → annotations that say so, and from them whether anything must be written.
//!
//! For objects that a controller makes from others and that are worth no comparison field by field: what it wanted and
//! the versions of what it read stand on the object, and where they are the same nothing is written. The other side of
//! it: a change that somebody else makes to the object is not seen. An owner who has a record of what it applied and
//! compares the fields, as [`crate::apply::Applier`] does, needs none of this and puts no annotation on anybody's object.
//!
//! Keys, where `domain` is the user's own: `static.checksum.<domain>/object` for the object as wanted,
//! `<namespace>.<kind>.checksum.<domain>/<name>` for each dependency (without namespace: `<kind>.checksum…`), and
//! `<domain>/immutable` on a live object that is never to be written again. Pure: no clock, no client.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::apply::{hash, text_hash};

/// Longest part of an annotation's key behind the slash.
const NAME_BYTES_AT_MOST: usize = 63;
/// Longest part of an annotation's key before the slash.
const PREFIX_BYTES_AT_MOST: usize = 253;
/// What is left of a name that does not fit, before its hash of 32 letters.
const HEAD_BYTES: usize = 30;

/// Something an object is made from, in one version of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    kind: String,
    namespace: String,
    name: String,
    version: String,
}

impl Dependency {
    fn with(live: &DynamicObject, version: String) -> Self {
        Self {
            kind: live.types.as_ref().map(|types| types.kind.to_lowercase()).unwrap_or_default(),
            namespace: live.metadata.namespace.clone().unwrap_or_default(),
            name: live.metadata.name.clone().unwrap_or_default(),
            version,
        }
    }

    /// Any write to it counts, also of its status and labels.
    pub fn by_version(live: &DynamicObject) -> Self {
        let (uid, version) = (&live.metadata.uid, &live.metadata.resource_version);
        // The object that takes the name of a deleted one may come to the same version on another server.
        Self::with(
            live,
            format!("{}/{}", uid.as_deref().unwrap_or_default(), version.as_deref().unwrap_or_default()),
        )
    }

    /// Only a change of what is asked for counts: for an owner, whose status changes with every reconcile.
    pub fn by_generation(live: &DynamicObject) -> Self {
        let uid = live.metadata.uid.as_deref().unwrap_or_default();
        Self::with(live, format!("{uid}/{}", live.metadata.generation.unwrap_or_default()))
    }

    /// Only a change of what it holds counts: for a ConfigMap or Secret, which has no generation.
    pub fn by_content(live: &DynamicObject) -> Self {
        let mut content = live.data.clone();
        if let Some(fields) = content.as_object_mut() {
            fields.remove("status");
        }
        Self::with(live, text_hash(&content.to_string()))
    }
}

/// What is to be done with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is not there.
    Create,
    /// It was made from the same, and is as wanted.
    Unchanged,
    /// It says of itself that it is not to be written again.
    Immutable,
    /// These annotations differ: what changed.
    Write(Vec<String>),
}

/// The checksums of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksums {
    domain: String,
}

impl Checksums {
    /// Checksums under a domain of the user's own.
    pub fn new(domain: impl Into<String>) -> Self {
        Self { domain: domain.into() }
    }

    /// Write on a desired object what it is and what it was made from. Former checksums on it are replaced.
    pub fn stamp(&self, desired: &mut DynamicObject, dependencies: &[Dependency]) {
        let annotations = desired.metadata.annotations.get_or_insert_default();
        annotations.retain(|key, _| !self.is_ours(key));
        let own = hash(desired);
        let annotations = desired.metadata.annotations.get_or_insert_default();
        annotations.extend(self.of(dependencies));
        annotations.insert(format!("static.checksum.{}/object", self.domain), own);
    }

    /// Write on the pods that a desired workload makes what they read, so that a change of it replaces them. An object
    /// without a template for pods, or with one of another shape, stays as it is. To be done before [`Checksums::stamp`].
    pub fn roll(&self, desired: &mut DynamicObject, dependencies: &[Dependency]) {
        let Some(template) = desired.data.pointer_mut("/spec/template").and_then(Value::as_object_mut) else {
            return;
        };
        let metadata = template.entry("metadata").or_insert_with(|| json!({}));
        let Some(metadata) = metadata.as_object_mut() else { return };
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        let Some(annotations) = annotations.as_object_mut() else { return };
        annotations.retain(|key, _| !self.is_ours(key));
        annotations.extend(self.of(dependencies).into_iter().map(|(key, version)| (key, json!(version))));
    }

    /// What is to be done, given the live object and the desired one with its checksums.
    pub fn decide(&self, live: Option<&DynamicObject>, stamped: &DynamicObject) -> Decision {
        let Some(live) = live else { return Decision::Create };
        let immutable = format!("{}/immutable", self.domain);
        let annotations = live.metadata.annotations.as_ref();
        if annotations.and_then(|all| all.get(&immutable)).is_some_and(|value| value != "false") {
            return Decision::Immutable;
        }
        let (before, now) = (self.found(live), self.found(stamped));
        if now.is_empty() {
            // Nothing was stamped: nothing proves that it is as wanted.
            return Decision::Write(Vec::new());
        }
        let mut changed: Vec<String> = now
            .iter()
            .filter(|(key, version)| before.get(*key) != Some(version))
            .map(|(key, _)| (*key).clone())
            .collect();
        changed.extend(before.keys().filter(|key| !now.contains_key(*key)).map(|key| (*key).clone()));
        changed.sort();
        if changed.is_empty() { Decision::Unchanged } else { Decision::Write(changed) }
    }

    fn found<'a>(&self, object: &'a DynamicObject) -> BTreeMap<&'a String, &'a String> {
        let all = object.metadata.annotations.iter().flatten();
        all.filter(|(key, _)| self.is_ours(key)).collect()
    }

    fn is_ours(&self, key: &str) -> bool {
        let prefix = key.split_once('/').map(|(prefix, _)| prefix);
        let prefix = prefix.and_then(|prefix| prefix.strip_suffix(&self.domain));
        prefix.is_some_and(|prefix| prefix == "checksum." || prefix.ends_with(".checksum."))
    }

    /// The annotations of the dependencies. Kinds of one name in different groups share a key, and then their versions
    /// share its value.
    fn of(&self, dependencies: &[Dependency]) -> BTreeMap<String, String> {
        let mut all: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let mut sorted: Vec<&Dependency> = dependencies.iter().collect();
        sorted.sort();
        sorted.dedup();
        for dependency in sorted {
            all.entry(self.key(dependency)).or_default().push(&dependency.version);
        }
        let value = |versions: Vec<&str>| match versions.as_slice() {
            [one] => (*one).to_owned(),
            several => text_hash(&several.join(" ")),
        };
        all.into_iter().map(|(key, versions)| (key, value(versions))).collect()
    }

    fn key(&self, dependency: &Dependency) -> String {
        let Dependency { kind, namespace, name, .. } = dependency;
        let dot = if namespace.is_empty() { "" } else { "." };
        let prefix = format!("{namespace}{dot}{kind}.checksum.{}", self.domain);
        if prefix.len() <= PREFIX_BYTES_AT_MOST {
            return format!("{prefix}/{}", key_name(name));
        }
        // A kind's name may be as long as a prefix may be in all.
        let whole = text_hash(&format!("{namespace}/{kind}/{name}"));
        format!("checksum.{}/{whole}", self.domain)
    }
}

/// A name as an annotation's key may have it: one that is too long or has other letters keeps its head and gets a hash.
fn key_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric();
    let fits = name.len() <= NAME_BYTES_AT_MOST
        && name.chars().all(|c| plain(c) || matches!(c, '-' | '_' | '.'))
        && name.starts_with(plain)
        && name.ends_with(plain);
    if fits {
        return name.to_owned();
    }
    let head: String = name.chars().map(|c| if plain(c) { c } else { '-' }).take(HEAD_BYTES).collect();
    let head = head.trim_matches('-');
    let dash = if head.is_empty() { "" } else { "-" };
    format!("{head}{dash}{}", text_hash(name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn object(kind: &str, name: &str, more: &Value) -> DynamicObject {
        let mut object = json!({
            "apiVersion": "v1", "kind": kind, "metadata": {"namespace": "shop", "name": name, "uid": "u-1",
            "resourceVersion": "7", "generation": 3},
        });
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(object).unwrap()
    }

    fn sums() -> Checksums {
        Checksums::new("example.com")
    }

    fn stamped(more: &Value, dependencies: &[Dependency]) -> DynamicObject {
        let mut desired = object("ConfigMap", "web", more);
        sums().stamp(&mut desired, dependencies);
        desired
    }

    fn annotations(object: &DynamicObject) -> Vec<&str> {
        object.metadata.annotations.iter().flatten().map(|(key, _)| key.as_str()).collect()
    }

    #[test]
    fn what_was_made_from_the_same_is_not_written() {
        let password = object("Secret", "password", &json!({"data": {"a": "eA=="}}));
        let wanted = json!({"data": {"a": "1"}});
        let live = stamped(&wanted, &[Dependency::by_version(&password)]);
        assert_eq!(
            annotations(&live),
            ["shop.secret.checksum.example.com/password", "static.checksum.example.com/object"]
        );
        let decide = |desired: &DynamicObject| sums().decide(Some(&live), desired);
        assert_eq!(sums().decide(None, &live), Decision::Create);
        assert_eq!(decide(&stamped(&wanted, &[Dependency::by_version(&password)])), Decision::Unchanged);

        let changed = decide(&stamped(&json!({"data": {"a": "2"}}), &[Dependency::by_version(&password)]));
        assert_eq!(changed, Decision::Write(vec!["static.checksum.example.com/object".to_owned()]));
        let mut newer = password.clone();
        newer.metadata.resource_version = Some("8".to_owned());
        let changed = decide(&stamped(&wanted, &[Dependency::by_version(&newer)]));
        assert_eq!(changed, Decision::Write(vec!["shop.secret.checksum.example.com/password".to_owned()]));
        // One that it is not made from any more counts too.
        let changed = decide(&stamped(&wanted, &[]));
        assert_eq!(changed, Decision::Write(vec!["shop.secret.checksum.example.com/password".to_owned()]));
    }

    #[test]
    fn a_stamp_on_a_stamped_object_changes_nothing() {
        let owner = object("Harbor", "h", &json!({}));
        let once = stamped(&json!({}), &[Dependency::by_generation(&owner)]);
        let mut twice = once.clone();
        sums().stamp(&mut twice, &[Dependency::by_generation(&owner)]);
        assert_eq!(once.metadata.annotations, twice.metadata.annotations);
    }

    #[test]
    fn an_immutable_object_is_kept_and_an_unstamped_wish_is_written() {
        let wish = stamped(&json!({}), &[]);
        let mut live = object("ConfigMap", "web", &json!({}));
        let mark = |value: &str| BTreeMap::from([("example.com/immutable".to_owned(), value.to_owned())]);
        live.metadata.annotations = Some(mark("true"));
        assert_eq!(sums().decide(Some(&live), &wish), Decision::Immutable);
        live.metadata.annotations = Some(mark("false"));
        assert!(matches!(sums().decide(Some(&live), &wish), Decision::Write(_)));
        assert_eq!(sums().decide(Some(&live), &live), Decision::Write(Vec::new()));
    }

    #[test]
    fn each_kind_of_dependency_counts_what_it_says() {
        let before = object("Secret", "s", &json!({"data": {"a": "1"}, "status": {"n": 1}}));
        let mut after = object("Secret", "s", &json!({"data": {"a": "1"}, "status": {"n": 2}}));
        after.metadata.resource_version = Some("8".to_owned());
        assert_eq!(Dependency::by_content(&before), Dependency::by_content(&after));
        assert_eq!(Dependency::by_generation(&before), Dependency::by_generation(&after));
        assert_ne!(Dependency::by_version(&before), Dependency::by_version(&after));
        after.data["data"]["a"] = json!("2");
        assert_ne!(Dependency::by_content(&before), Dependency::by_content(&after));
        after.metadata.uid = Some("u-2".to_owned());
        assert_ne!(Dependency::by_generation(&before), Dependency::by_generation(&after));
    }

    #[test]
    fn pods_carry_what_they_read() {
        let settings = object("ConfigMap", "settings", &json!({"data": {"a": "1"}}));
        let dependencies = [Dependency::by_content(&settings)];
        let mut workload = object("Deployment", "web", &json!({"spec": {"template": {"spec": {}}}}));
        sums().roll(&mut workload, &dependencies);
        let found = &workload.data["spec"]["template"]["metadata"]["annotations"];
        assert!(found["shop.configmap.checksum.example.com/settings"].is_string(), "{found}");
        sums().roll(&mut workload, &[]);
        assert_eq!(workload.data["spec"]["template"]["metadata"]["annotations"], json!({}));
        for odd in
            [json!({}), json!({"spec": {"template": []}}), json!({"spec": {"template": {"metadata": 1}}})]
        {
            let mut other = object("Thing", "web", &odd);
            let before = other.data.clone();
            sums().roll(&mut other, &dependencies);
            assert_eq!(other.data, before);
        }
    }

    #[test]
    fn keys_are_ones_that_the_api_accepts_and_keep_names_apart() {
        let long = |end: &str| "a".repeat(200) + end;
        let names =
            [long("x"), long("y"), "system:node".to_owned(), "system-node".to_owned(), ":".to_owned()];
        let keys: std::collections::BTreeSet<String> = names.iter().map(|name| key_name(name)).collect();
        assert_eq!(keys.len(), names.len(), "{keys:?}");
        for key in keys {
            assert!(key.len() <= NAME_BYTES_AT_MOST && key.ends_with(|c: char| c.is_ascii_alphanumeric()));
            assert!(key.starts_with(|c: char| c.is_ascii_alphanumeric()), "{key}");
        }
        let kind = object(&"K".repeat(250), "s", &json!({}));
        let key = sums().key(&Dependency::by_content(&kind));
        let prefix = key.split_once('/').unwrap().0;
        assert!(prefix.len() <= PREFIX_BYTES_AT_MOST && sums().is_ours(&key), "{key}");
        assert!(!sums().is_ours("checksum.other.com/a") && !sums().is_ours("example.com/immutable"));
        assert!(!sums().is_ours("mychecksum.example.com/a"));
    }

    #[test]
    fn two_kinds_of_one_name_share_a_key_and_both_count() {
        let two = |version: &str| {
            let mut other = object("Secret", "s", &json!({}));
            other.metadata.resource_version = Some(version.to_owned());
            stamped(
                &json!({}),
                &[Dependency::by_version(&object("Secret", "s", &json!({}))), Dependency::by_version(&other)],
            )
        };
        assert!(matches!(sums().decide(Some(&two("8")), &two("9")), Decision::Write(_)));
        assert_eq!(sums().decide(Some(&two("8")), &two("8")), Decision::Unchanged);
    }
}
