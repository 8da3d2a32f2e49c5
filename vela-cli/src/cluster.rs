//! The verbs that commands need, on objects of any kind: find the kind, get, list, apply, delete.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::discovery::{ApiCapabilities, Scope, pinned_kind};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tower::timeout::error::Elapsed;
use vela_engine::successor::{self, VersionKind};
use vela_runtime::Api;

use crate::error::{Error, Failure, Kind, Result};
use crate::json_patch::json_patch;
use crate::ownership::{self, FIELD_MANAGER, Path};
use crate::{missing_right, system_namespace, target};

/// How the server begins to tell that our controller owns a field.
const CONTROLLER_CONFLICT: &str = "conflict with \"vela-core\"";
/// Objects of one list request; longer lists come in pages.
const PAGE: u32 = 500;
/// Pages of one list: beyond this the list is cut and says so by an error.
const MOST_PAGES: usize = 200;

/// What applying did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Applied {
    Created,
    Changed,
    Unchanged,
}

impl Applied {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
        }
    }
}

/// A connection, with the kinds that were looked up.
pub(crate) struct Cluster {
    client: Client,
    /// How messages call it.
    title: String,
    namespace: String,
    system: OnceCell<String>,
    kinds: Mutex<HashMap<(String, String), (ApiResource, Scope)>>,
}

impl Cluster {
    pub(crate) fn new(client: Client, title: String, namespace: String) -> Self {
        Self { client, title, namespace, system: OnceCell::new(), kinds: Mutex::default() }
    }

    /// The same where the system namespace is known; it is asked for otherwise.
    pub(crate) fn with_system(self, system: Option<String>) -> Self {
        Self { system: OnceCell::new_with(system), ..self }
    }

    /// Where the controller and the definitions for everybody are.
    pub(crate) async fn system_namespace(&self) -> Result<&str> {
        let found = self.system.get_or_try_init(|| async {
            let recorded = system_namespace::recorded(&self.client).await?;
            Ok::<_, kube::Error>(recorded.unwrap_or_else(|| system_namespace::USUAL.to_owned()))
        });
        found.await.map(String::as_str).map_err(|error| self.failure("say where vela is", &error))
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// How messages call it.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// The namespace of objects that name none.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Where a command without `-A` looked, for messages: the namespace and its cluster.
    pub(crate) fn place(&self) -> String {
        format!("namespace {} of {}", self.namespace, self.title)
    }

    /// One request that any cluster answers, so that an unreachable one is reported before any work is done.
    pub(crate) async fn reach(&self) -> Result<()> {
        self.client.apiserver_version().await.map(drop).map_err(|error| self.failure("be reached", &error))
    }

    /// The version of Kubernetes that it speaks, as it writes it.
    pub(crate) async fn version(&self) -> Result<String> {
        let version = self.client.apiserver_version().await;
        version.map(|version| version.git_version).map_err(|error| self.failure("tell its version", &error))
    }

    /// How the cluster serves a kind; one of a version that Kubernetes has withdrawn, in the version that followed.
    pub(crate) async fn kind(&self, api_version: &str, kind: &str) -> Result<(ApiResource, Scope)> {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Ok(kinds) = self.kinds.lock()
            && let Some(known) = kinds.get(&key)
        {
            return Ok(known.clone());
        }
        let mut served = self.served(api_version, kind).await?;
        if let Some(next) = successor::version(api_version, kind).filter(|_| served.is_none()) {
            served = self.served(next, kind).await?;
        }
        let served = served.ok_or_else(|| {
            let error = Error::user(format!("{} has no kind {kind} in {api_version}", self.title));
            let group = api_version.split_once('/').map_or("", |(group, _)| group);
            Failure::from(match group {
                "dapr.io" => error.hint("check the spelling; `vela install --dapr` brings the kinds of Dapr"),
                "goharbor.io" => {
                    error.hint("check the spelling; `vela install --harbor` brings the kinds of Harbor")
                }
                ours if ours.ends_with("oam.dev") => {
                    error.hint("check the spelling; on a cluster without vela, run `vela install` first")
                }
                _ => {
                    error.hint("check the spelling, or apply the CustomResourceDefinition of that kind first")
                }
            })
        })?;
        if let Ok(mut kinds) = self.kinds.lock() {
            kinds.insert(key, served.clone());
        }
        Ok(served)
    }

    /// Those kinds of withdrawn versions that the cluster serves only in the version that followed.
    pub(crate) async fn not_served(&self, withdrawn: BTreeSet<VersionKind>) -> BTreeSet<VersionKind> {
        let mut not_served = BTreeSet::new();
        for (api_version, kind) in withdrawn {
            // An unknown kind is reported when its object is applied.
            if let Ok((resource, _)) = self.kind(&api_version, &kind).await
                && resource.api_version != api_version
            {
                not_served.insert((api_version, kind));
            }
        }
        not_served
    }

    /// Does the cluster serve the kind in this version?
    pub(crate) async fn knows(&self, api_version: &str, kind: &str) -> Result<bool> {
        Ok(self.served(api_version, kind).await?.is_some())
    }

    /// How the cluster serves a kind in exactly this version; nothing where it does not.
    async fn served(&self, api_version: &str, kind: &str) -> Result<Option<(ApiResource, Scope)>> {
        if !vela_runtime::api::is_group_version(api_version) {
            return Ok(None);
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        match pinned_kind(&self.client, &gvk).await {
            Ok((resource, ApiCapabilities { scope, .. })) => Ok(Some((resource, scope))),
            Err(kube::Error::Discovery(_)) => Ok(None),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(self.failure("say which kinds it has", &error)),
        }
    }

    /// The door to objects of a kind, in `namespace` (or the usual one) when the kind has namespaces.
    pub(crate) async fn api(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<Api<DynamicObject>> {
        let (resource, scope) = self.kind(api_version, kind).await?;
        Ok(match scope {
            Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            Scope::Namespaced => {
                let namespace = namespace.filter(|name| !name.is_empty()).unwrap_or(&self.namespace);
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
        })
    }

    /// One object, if it exists.
    pub(crate) async fn get(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<DynamicObject>> {
        let api = self.api(api_version, kind, namespace).await?;
        api.get_opt(name).await.map_err(|error| self.failure(&format!("give {kind} {name}"), &error))
    }

    /// All objects of a kind, of one namespace or of all.
    pub(crate) async fn list(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<DynamicObject>> {
        self.list_labelled(api_version, kind, namespace, "").await
    }

    /// Those that a label selector chooses; an empty one chooses all.
    pub(crate) async fn list_labelled(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        selector: &str,
    ) -> Result<Vec<DynamicObject>> {
        let (resource, scope) = self.kind(api_version, kind).await?;
        let api: Api<DynamicObject> = match (scope, namespace) {
            (Scope::Namespaced, Some(namespace)) => {
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
            _ => Api::all_with(self.client.clone(), &resource),
        };
        let mut params = ListParams::default().limit(PAGE);
        params.label_selector = Some(selector.to_owned()).filter(|selector| !selector.is_empty());
        let mut objects = Vec::new();
        for _ in 0..MOST_PAGES {
            let page =
                api.list(&params).await.map_err(|error| self.failure(&format!("list {kind}"), &error))?;
            objects.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(objects),
            }
        }
        Err(Error::cluster(format!("{} has too many objects of kind {kind}", self.title)).into())
    }

    /// Applies an object by server-side apply. `check` asks the cluster to judge it and to store nothing.
    pub(crate) async fn apply(
        &self,
        object: &Value,
        force: bool,
        check: bool,
    ) -> Result<(Applied, DynamicObject)> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let (name, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
        let api = self.api(api_version, kind, Some(namespace)).await?;
        let (resource, _) = self.kind(api_version, kind).await?;
        let current = (resource.api_version != api_version).then(|| successor::object(object)).flatten();
        let object = current.as_ref().unwrap_or(object);
        let cannot = |error: kube::Error| self.failure(&format!("take {kind} {name}"), &error);
        let mut before = api.get_opt(name).await.map_err(cannot)?;
        if let Some(found) = before.take() {
            let is_ours =
                if check { Ok(found) } else { ownership::claimed(&api, found, &[], FIELD_MANAGER).await };
            before = Some(is_ours.map_err(cannot)?);
        }
        let params = PatchParams { dry_run: check, force, ..PatchParams::apply(FIELD_MANAGER) };
        let after = match api.patch(name, &params, &Patch::Apply(object)).await {
            Err(error) => match without_filled_in(object, &error) {
                Some(rest) => api.patch(name, &params, &Patch::Apply(&rest)).await.map_err(cannot)?,
                None => return Err(cannot(error)),
            },
            Ok(after) => after,
        };
        let applied = match before {
            None => Applied::Created,
            Some(before) if is_same(&before, &after) => Applied::Unchanged,
            Some(_) => Applied::Changed,
        };
        Ok((applied, after))
    }

    /// Changes a few fields of an object that exists: gives each its value, or takes it away from its writer.
    /// It is written as [`Cluster::apply`] writes, so that both can follow each other in any order.
    pub(crate) async fn change(
        &self,
        (api_version, kind): (&str, &str),
        name: &str,
        fields: &[(Path<'_>, Option<Value>)],
    ) -> Result<()> {
        let api = self.api(api_version, kind, None).await?;
        ownership::change(&api, name, fields, FIELD_MANAGER)
            .await
            .map(drop)
            .map_err(|error| self.failure(&format!("change {kind} {name}"), &error))
    }

    /// Adds a finalizer to an object, beside those that it has by now.
    pub(crate) async fn hold(
        &self,
        (api_version, kind): (&str, &str),
        object: &DynamicObject,
        finalizer: &str,
    ) -> Result<()> {
        let held = object.finalizers();
        if held.iter().any(|one| one == finalizer) {
            return Ok(());
        }
        let operations = match held {
            [] => vec![
                json!({"op": "test", "path": "/metadata/resourceVersion", "value": object.metadata.resource_version}),
                json!({"op": "add", "path": "/metadata/finalizers", "value": [finalizer]}),
            ],
            _ => vec![json!({"op": "add", "path": "/metadata/finalizers/-", "value": finalizer})],
        };
        let name = object.name_any();
        let api = self.api(api_version, kind, object.metadata.namespace.as_deref()).await?;
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let changed = api.patch(&name, &params, &json_patch(operations)?).await;
        changed.map(drop).map_err(|error| self.failure(&format!("change {kind} {name}"), &error))
    }

    /// Asks for an object's deletion and gives its uid if there was one. What an ApplicationConfiguration owns is
    /// collected by the cluster, so it must go first (foreground); an Application's finalizer does that by itself.
    pub(crate) async fn delete(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<String>> {
        let api = self.api(api_version, kind, namespace).await?;
        let found =
            api.get_opt(name).await.map_err(|error| self.failure(&format!("give {kind} {name}"), &error))?;
        let Some(uid) = found.and_then(|object| object.uid()) else { return Ok(None) };
        let whole = kind == "ApplicationConfiguration";
        let params = if whole { DeleteParams::foreground() } else { DeleteParams::background() };
        match api.delete(name, &params).await {
            Ok(_) => Ok(Some(uid)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(self.failure(&format!("delete {kind} {name}"), &error)),
        }
    }

    /// What the cluster or the way to it said, as an error of ours: `cannot` ends "the cluster cannot …".
    pub(crate) fn failure(&self, cannot: &str, error: &kube::Error) -> Failure {
        let said = |kind: Kind, words: String| Error { kind, message: words, hint: None };
        match error {
            kube::Error::Api(status) => {
                let words = target::reason(&self.title, status);
                match status.code {
                    400 | 404 | 422 => said(Kind::User, words),
                    409 => said(Kind::User, words)
                        .hint("another program manages these fields: --force-conflicts takes them over"),
                    401 => said(Kind::Config, format!("{} refuses this user: {words}", self.title))
                        .hint("renew the credentials in the kubeconfig"),
                    403 => said(Kind::Denied, words).hint(missing_right::to_ask_for(&status.message)),
                    507 => said(Kind::Config, words).hint("free some space on the disk of the sandbox"),
                    _ => said(Kind::Cluster, format!("{} cannot {cannot}: {words}", self.title)),
                }
            }
            kube::Error::Service(cause) if cause.is::<Elapsed>() => Error::cluster(format!(
                "{} cannot {cannot}: it did not answer within --request-timeout",
                self.title
            ))
            .hint("give it longer, or check that the cluster runs"),
            other => Error::cluster(format!("{} cannot {cannot}: {}", self.title, target::causes(other)))
                .hint("check that the cluster runs and the kubeconfig points to it, or use --sandbox"),
        }
        .into()
    }
}

/// The object without the fields that only our own controller disputes: it fills in, for example, which workloads a scope
/// has, and a file that is applied again does not take that back. Only of our own kinds; nothing where another program
/// takes part.
fn without_filled_in(object: &Value, error: &kube::Error) -> Option<Value> {
    let kube::Error::Api(status) = error else { return None };
    let ours = object["apiVersion"].as_str()?.split_once('/')?.0.ends_with("oam.dev");
    let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    if status.code != 409 || causes.is_empty() || !ours {
        return None;
    }
    let mut rest = object.clone();
    for cause in causes {
        if !cause.message.starts_with(CONTROLLER_CONFLICT) {
            return None;
        }
        let (parent, field) =
            cause.field.strip_prefix('.').map(|path| path.rsplit_once('.').unwrap_or(("", path)))?;
        let parent = parent
            .split('.')
            .filter(|part| !part.is_empty())
            .try_fold(&mut rest, |at, part| at.get_mut(part))?;
        parent.as_object_mut()?.remove(field)?;
    }
    Some(rest)
}

/// Is it the object that it was? A controller may have written its status in between, which is another version of the same.
fn is_same(before: &DynamicObject, after: &DynamicObject) -> bool {
    let written = |object: &DynamicObject| {
        let mut object = object.clone();
        object.metadata.resource_version = None;
        object.metadata.managed_fields = None;
        if let Some(fields) = object.data.as_object_mut() {
            fields.remove("status");
        }
        object
    };
    before.resource_version() == after.resource_version() || written(before) == written(after)
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use serde_json::json;

    use super::*;

    fn conflict(message: &str, field: &str) -> kube::Error {
        let status = json!({
            "status": "Failure", "reason": "Conflict", "code": 409, "message": "conflict",
            "details": {"causes": [{"reason": "FieldManagerConflict", "message": message, "field": field}]},
        });
        let status: Status = serde_json::from_value(status).unwrap();
        kube::Error::Api(Box::new(status))
    }

    /// A cluster in this process, with a ConfigMap that `writes` wrote: a manager, and data to merge into it.
    async fn written_by(writes: &[(&str, Value)]) -> Cluster {
        let server = vela_apiserver::ApiServer::builder().build().unwrap();
        let client = Client::new(server.service(), "default");
        let cluster = Cluster::new(client, "test".to_owned(), "default".to_owned());
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1", "b": "1"}});
        cluster.apply(&object, false, false).await.unwrap();
        let api = cluster.api("v1", "ConfigMap", None).await.unwrap();
        for (manager, data) in writes {
            let params = PatchParams { field_manager: Some((*manager).to_owned()), ..PatchParams::default() };
            api.patch("a", &params, &Patch::Merge(json!({ "data": data }))).await.unwrap();
        }
        cluster
    }

    async fn data(cluster: &Cluster) -> Value {
        cluster.get("v1", "ConfigMap", None, "a").await.unwrap().unwrap().data["data"].clone()
    }

    #[test]
    fn a_status_makes_no_other_object_of_one() {
        let object = |version: &str, text: &str, status: &str| -> DynamicObject {
            serde_json::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap", "status": status,
                "metadata": {"name": "a", "resourceVersion": version}, "data": {"text": text}}))
            .unwrap()
        };
        let before = object("1", "one", "new");
        assert!(is_same(&before, &object("2", "one", "seen")));
        assert!(!is_same(&before, &object("2", "two", "new")));
    }

    #[tokio::test]
    async fn updates_of_an_older_release_are_applied_over() {
        let cluster = written_by(&[(FIELD_MANAGER, json!({"a": "2", "c": "2"}))]).await;
        let object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "3"}});
        let (applied, _) = cluster.apply(&object, false, false).await.unwrap();
        assert_eq!((applied, data(&cluster).await), (Applied::Changed, json!({"a": "3"})));
        assert_eq!(cluster.apply(&object, false, false).await.unwrap().0, Applied::Unchanged);
        // Fields of other writers are still theirs.
        let cluster = written_by(&[("kubectl", json!({"a": "2"}))]).await;
        let failure = cluster.apply(&object, false, false).await.unwrap_err();
        assert!(failure.texts()[0].contains("conflict with \"kubectl\""), "{:?}", failure.texts());
    }

    #[tokio::test]
    async fn one_field_is_changed_and_all_others_stay() {
        let cluster = written_by(&[("kubectl", json!({"c": "1", "d": "1"}))]).await;
        let what = ("v1", "ConfigMap");
        cluster
            .change(what, "a", &[(&["data", "b"], Some(json!("2"))), (&["data", "c"], None)])
            .await
            .unwrap();
        assert_eq!(data(&cluster).await, json!({"a": "1", "b": "2", "d": "1"}));
        cluster.change(what, "a", &[(&["data", "d"], Some(json!("2")))]).await.unwrap();
        assert_eq!(data(&cluster).await, json!({"a": "1", "b": "2", "d": "2"}));
        let object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "3"}});
        cluster.apply(&object, false, false).await.unwrap();
        assert_eq!(data(&cluster).await, json!({"a": "3"}), "the file says all that this program wrote");
    }

    #[test]
    fn only_what_our_controller_filled_in_gives_way() {
        let ours = r#"conflict with "vela-core" using core.oam.dev/v1alpha2"#;
        let scope = json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "HealthScope", "spec": {"workloadRefs": [], "probe-timeout": 5}});
        let without = json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "HealthScope", "spec": {"probe-timeout": 5}});
        assert_eq!(without_filled_in(&scope, &conflict(ours, ".spec.workloadRefs")), Some(without));
        let theirs = r#"conflict with "kubectl" using core.oam.dev/v1alpha2"#;
        assert_eq!(without_filled_in(&scope, &conflict(theirs, ".spec.workloadRefs")), None);
        let odd = r#".spec.list[name="a"].value"#;
        assert_eq!(without_filled_in(&scope, &conflict(ours, odd)), None);
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1}});
        assert_eq!(without_filled_in(&deployment, &conflict(ours, ".spec.replicas")), None);
    }
}
