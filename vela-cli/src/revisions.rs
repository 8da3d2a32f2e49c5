//! The revisions of an application: which there are, which succeeded, and how the content of one comes back.

use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_crds::{annotations, labels};

use crate::applications;
use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::ownership::Path;
use crate::pointer::text;

pub(crate) const KIND: &str = "ApplicationRevision";
/// Where an application says which version it is published as.
const PUBLISHED: Path = &["metadata", "annotations", annotations::PUBLISH_VERSION];

/// The revisions of an application, newest first.
pub(crate) async fn of(cluster: &Cluster, application: &str) -> Result<Vec<DynamicObject>> {
    let mut all = cluster.list(applications::API_VERSION, KIND, Some(cluster.namespace())).await?;
    all.retain(|revision| revision.labels().get(labels::APP_NAME).is_some_and(|name| name == application));
    all.sort_by_key(|revision| std::cmp::Reverse(number(revision)));
    Ok(all)
}

/// The number behind the name, by which revisions are counted.
fn number(revision: &DynamicObject) -> u64 {
    number_in(&revision.name_any()).unwrap_or(0)
}

fn number_in(name: &str) -> Option<u64> {
    name.rsplit_once("-v").and_then(|(_, number)| number.parse().ok())
}

/// The revision of this name, where it is one of the application.
pub(crate) fn named<'a>(
    revisions: &'a [DynamicObject],
    application: &str,
    name: &str,
) -> Result<&'a DynamicObject> {
    revisions.iter().find(|revision| revision.name_any() == name).ok_or_else(|| {
        let names: Vec<String> = revisions.iter().map(ResourceExt::name_any).collect();
        let hint = match names.is_empty() {
            true => "no revision of it is stored".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        Error::user(format!("{application} has no revision {name:?}")).hint(hint).into()
    })
}

/// The revision that a person means by its name or its number.
pub(crate) fn meant<'a>(
    revisions: &'a [DynamicObject],
    application: &str,
    wanted: &str,
) -> Result<&'a DynamicObject> {
    let by_number = wanted
        .parse()
        .ok()
        .and_then(|wanted: u64| revisions.iter().find(|revision| number(revision) == wanted));
    by_number.map_or_else(|| named(revisions, application, wanted), Ok)
}

/// The newest revision before the current one that is recorded to have succeeded. Where no revision says what became of
/// it, that is the one before the current.
pub(crate) fn earlier<'a>(revisions: &'a [DynamicObject], current: &str) -> Option<&'a DynamicObject> {
    let of_current = number_in(current)?;
    let before = || revisions.iter().filter(move |revision| number(revision) < of_current);
    match revisions.iter().any(is_recorded) {
        true => before().find(|revision| revision.data.pointer("/status/succeeded") == Some(&json!(true))),
        false => before().next(),
    }
}

/// The newest revision but the current one that is recorded to have succeeded. Where no revision says what became of it,
/// that is the one before the current.
pub(crate) fn last_succeeded<'a>(revisions: &'a [DynamicObject], current: &str) -> Option<&'a DynamicObject> {
    let others = || revisions.iter().filter(|revision| revision.name_any() != current);
    match revisions.iter().any(is_recorded) {
        true => others().find(|revision| revision.data.pointer("/status/succeeded") == Some(&json!(true))),
        false => others().find(|revision| !is_newer(revision, current)),
    }
}

/// Does it say what became of it?
pub(crate) fn is_recorded(revision: &DynamicObject) -> bool {
    revision.data.pointer("/status/succeeded").is_some_and(Value::is_boolean)
}

fn is_newer(revision: &DynamicObject, current: &str) -> bool {
    number_in(current).is_some_and(|current| number(revision) > current)
}

/// Refuses where another command goes back, and where nothing can.
pub(crate) fn may_be_restored(application: &DynamicObject) -> Result<()> {
    let name = application.name_any();
    if !application.data["spec"]["rolloutPlan"].is_null() {
        let message = format!("{name} goes from one revision to the next by its rollout plan");
        return Err(Error::user(message).hint(format!("`vela rollout undo {name}` goes back")).into());
    }
    if application.metadata.deletion_timestamp.is_some() {
        let hint = format!("`vela status {name}` says what its deletion waits for");
        return Err(Error::user(format!("{name} is being deleted")).hint(hint).into());
    }
    Ok(())
}

/// Gives an application the content of a revision: its spec, and the version that it was published as, or another one.
pub(crate) async fn restore(
    cluster: &Cluster,
    application: &DynamicObject,
    revision: &DynamicObject,
    version: Option<&str>,
) -> Result<()> {
    let name = application.name_any();
    may_be_restored(application)?;
    let spec = content(revision)?;
    let version = version.map(str::to_owned).or_else(|| published(revision));
    let fields = [(&["spec"] as Path<'_>, Some(spec)), (PUBLISHED, version.map(Value::from))];
    cluster.change((applications::API_VERSION, applications::KIND), &name, &fields).await
}

/// Publishes an application as a version: its workflow runs for it, whether anything else changed or not.
pub(crate) async fn publish(cluster: &Cluster, name: &str, version: &str) -> Result<()> {
    cluster
        .change((applications::API_VERSION, applications::KIND), name, &[(PUBLISHED, Some(json!(version)))])
        .await
}

/// Which version an application or a revision is published as.
pub(crate) fn published(object: &DynamicObject) -> Option<String> {
    object.annotations().get(annotations::PUBLISH_VERSION).cloned().filter(|version| !version.is_empty())
}

/// The spec that the application had.
pub(crate) fn content(revision: &DynamicObject) -> Result<Value> {
    if let Some(spec) = revision.data.pointer("/spec/application/spec") {
        return Ok(spec.clone());
    }
    let name = revision.name_any();
    Err(match text(&revision.data, "/spec/compression/type") {
        "" => unreadable(format!("revision {name} does not say what the application was")),
        how => {
            unreadable(format!("the content of revision {name} is compressed ({how}), which is not read yet"))
        }
    })
}

fn unreadable(message: String) -> Failure {
    Error::user(message).hint("apply the former manifest of the application with `vela up -f`").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(name: &str, status: Value) -> DynamicObject {
        let object = json!({
            "apiVersion": applications::API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": {}, "status": status,
        });
        serde_json::from_value(object).unwrap()
    }

    fn last(revisions: &[DynamicObject], current: &str) -> Option<String> {
        last_succeeded(revisions, current).map(ResourceExt::name_any)
    }

    #[test]
    fn the_last_that_succeeded_is_gone_back_to() {
        let of = |name: &str, succeeded: bool| revision(name, json!({"succeeded": succeeded}));
        let all = [of("web-v4", false), of("web-v3", false), of("web-v2", true), of("web-v1", true)];
        assert_eq!(last(&all, "web-v4").as_deref(), Some("web-v2"));
        assert_eq!(last(&all, "web-v2").as_deref(), Some("web-v1"));
        assert_eq!(last(&all[..2], "web-v4"), None);
    }

    #[test]
    fn only_what_came_before_is_earlier() {
        let of = |name: &str, succeeded: bool| revision(name, json!({"succeeded": succeeded}));
        let all = [of("web-v4", true), of("web-v3", false), of("web-v2", true), of("web-v1", true)];
        let before = |all, current| earlier(all, current).map(ResourceExt::name_any);
        assert_eq!(before(&all[..], "web-v4").as_deref(), Some("web-v2"));
        assert_eq!(before(&all[..], "web-v1"), None, "never forward");
        assert_eq!(before(&all[..2], "web-v4"), None);
        let unknown = ["web-v11", "web-v10"].map(|name| revision(name, Value::Null));
        assert_eq!(before(&unknown[..], "web-v11").as_deref(), Some("web-v10"));
        assert_eq!(meant(&all, "web", "3").unwrap().name_any(), "web-v3");
        assert_eq!(meant(&all, "web", "web-v1").unwrap().name_any(), "web-v1");
        assert!(meant(&all, "web", "7").unwrap_err().texts()[0].contains("there are web-v4, web-v3"));
    }

    #[test]
    fn where_nothing_is_recorded_the_one_before_is_gone_back_to() {
        let all = ["web-v11", "web-v10", "web-v9"].map(|name| revision(name, Value::Null));
        assert_eq!(last(&all, "web-v10").as_deref(), Some("web-v9"));
        assert_eq!(last(&all, "web-v11").as_deref(), Some("web-v10"));
        assert_eq!(last(&all[2..], "web-v9"), None);
    }

    #[test]
    fn a_revision_that_cannot_be_read_is_told() {
        let mut packed = revision("web-v1", Value::Null);
        packed.data["spec"] = json!({"compression": {"type": "zstd", "data": "x"}});
        let failure = content(&packed).unwrap_err();
        assert!(failure.texts()[0].contains("compressed (zstd)"), "{:?}", failure.texts());
        packed.data["spec"] = json!({"application": {"spec": {"components": []}}});
        assert_eq!(content(&packed).unwrap(), json!({"components": []}));
        assert!(named(&[packed], "web", "web-v7").unwrap_err().texts()[0].contains("there are web-v1"));
    }
}
