//! `vela install` over what a former release installed, while applications run.

use serde_json::{Value, json};

use crate::controller::{At, Cluster, Controller};
use crate::{CommandOutput, PAGE, Person, site};

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const CRDS: &str = "apiextensions.k8s.io/v1";
const OAM: &str = "core.oam.dev/v1beta1";
const SYSTEM: &str = "vela-system";
const RECORD: At<'static> = ("v1", "ConfigMap", SYSTEM, "vela-installation");
const CONTROLLER: At<'static> = ("apps/v1", "Deployment", SYSTEM, "vela-core");
const SCALER: At<'static> = (OAM, "TraitDefinition", SYSTEM, "scaler");
const FRONT: At<'static> = ("apps/v1", "Deployment", "default", "front");
const APPLICATIONS: At<'static> = (CRDS, "CustomResourceDefinition", "", "applications.core.oam.dev");

/// A user, and a cluster that vela is installed in.
struct Place {
    person: Person,
    cluster: Cluster,
}

impl Place {
    fn new() -> Self {
        let person = Person::new();
        let cluster = Cluster::new(&person);
        Self { person, cluster }
    }

    fn vela(&self, words: &[&str]) -> CommandOutput {
        self.person.types(&[words, &["--kubeconfig", &self.cluster.kubeconfig]].concat())
    }

    /// Written as an installation writes: under the name of the same program.
    fn applies(&self, objects: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let file = self.person.write("objects.yaml", list.to_string());
        self.vela(&["up", "-f", &file]).ok();
    }

    fn live(&self, (api_version, kind, namespace, name): At<'_>) -> Option<Value> {
        self.cluster.object(api_version, kind, namespace, name)
    }

    fn field(&self, at: At<'_>, pointer: &str) -> Value {
        self.live(at).and_then(|object| object.pointer(pointer).cloned()).unwrap_or_default()
    }

    /// Adds lines to the record, as a former release that had more objects would have.
    fn remembers(&self, version: &str, entries: &[(At<'_>, &str)]) {
        let lines: String = entries
            .iter()
            .map(|((api_version, kind, namespace, name), uid)| {
                let namespace = if namespace.is_empty() { "-" } else { namespace };
                let generation = self.field((api_version, kind, namespace, name), "/metadata/generation");
                let generation = generation.as_i64().unwrap_or(0);
                format!("{api_version} {kind} {namespace} {name} {uid} {generation}\n")
            })
            .collect();
        let former = self.field(RECORD, "/data/objects");
        let objects = format!("{}{lines}", former.as_str().unwrap());
        let patch = json!({"data": {"version": version, "objects": objects}});
        self.cluster.patch("vela-cli", RECORD, &patch);
    }

    fn uid(&self, at: At<'_>) -> String {
        self.field(at, "/metadata/uid").as_str().unwrap_or_default().to_owned()
    }
}

#[track_caller]
fn says(text: &str, words: &[&str]) {
    for words in words {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
}

/// As 0.2.0 left it: no record, another image, one field less of a kind, a type that was otherwise, and edits of users.
fn aged(place: &Place) {
    let Place { cluster, .. } = place;
    cluster.delete(RECORD.0, RECORD.1, RECORD.2, RECORD.3);
    let mut crd = place.live(APPLICATIONS).unwrap();
    crd["spec"]["versions"].as_array_mut().unwrap().iter_mut().for_each(|version| {
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
            .as_object_mut()
            .unwrap()
            .remove("workflow");
    });
    cluster.patch("vela-cli", APPLICATIONS, &json!({"spec": {"versions": crd["spec"]["versions"]}}));
    let older = (OAM, "ComponentDefinition", SYSTEM, "worker");
    cluster.patch("vela-cli", older, &json!({"spec": {"schematic": {"cue": {"template": "output: {}\n"}}}}));
    cluster.patch("kubectl-edit", SCALER, &json!({"spec": {"podDisruptive": true}}));
    cluster.patch(
        "kubectl",
        CONTROLLER,
        &json!({"spec": {"replicas": 3}, "metadata": {"labels": {"team": "a"}}}),
    );
    cluster.patch("kubectl", (RBAC, "ClusterRole", "", "vela-core-own"), &json!({"rules": []}));
}

#[test]
fn an_upgrade_leaves_applications_and_edits_alone() {
    let place = Place::new();
    let Place { person, cluster } = &place;
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(false));
    let former = Controller::start(person, cluster, "former.log");
    place.vela(&["install", "--image", "x/core:1"]).ok();
    place.vela(&["up", "-f", "site", "--timeout", "90s"]).ok();
    former.stop();
    aged(&place);
    // A role of a user, whose name is like those of ours.
    let role = (RBAC, "ClusterRole", "", "vela-core-extra");
    place.applies(&[
        json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": role.3}, "rules": []}),
    ]);
    let (front, app) = (place.uid(FRONT), (OAM, "Application", "default", "site"));
    let generation = place.field(app, "/metadata/generation");

    let plan = place.vela(&["install", "--image", "x/core:2", "--dry-run"]).ok();
    let scaler_stays = "TraitDefinition scaler kept: it was edited (by kubectl-edit)";
    let expected = [
        scaler_stays,
        "Deployment vela-core would be changed",
        "\"x/core:1\" → \"x/core:2\"",
        ".spec.replicas stays as kubectl set it",
        "CustomResourceDefinition applications.core.oam.dev would be changed",
        "ComponentDefinition worker would be changed",
        "ClusterRole vela-core-own: .rules is replaced, which kubectl set",
        "Nothing was written. 0 objects would be created, 4 changed, 0 taken away; 1 kept as edited",
    ];
    says(&plan.out, &expected);
    assert_eq!(place.live(RECORD), None);
    let image = "/spec/template/spec/containers/0/image";
    assert_eq!(place.field(CONTROLLER, image), "x/core:1", "a dry run writes nothing");

    let said = place.vela(&["install", "--image", "x/core:2"]).ok();
    says(&said.err, &[scaler_stays, "Deployment vela-core changed", "1 stay as they were edited"]);
    assert_eq!(place.field(CONTROLLER, image), "x/core:2");
    assert_eq!(place.field(CONTROLLER, "/spec/replicas"), 3);
    assert_eq!(place.field(CONTROLLER, "/metadata/labels/team"), "a");
    assert_eq!(place.field(SCALER, "/spec/podDisruptive"), true);
    let workflow = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/workflow";
    assert!(place.live(APPLICATIONS).unwrap().pointer(workflow).is_some());
    assert_ne!(place.field((RBAC, "ClusterRole", "", "vela-core-own"), "/rules"), json!([]));
    assert!(place.live(role).is_some(), "a role of a user stays");

    let present = Controller::start(person, cluster, "present.log");
    place.vela(&["up", "-f", "site", "--timeout", "90s"]).ok();
    present.stop();
    assert_eq!(place.uid(FRONT), front, "the workload is the same one");
    assert_eq!(place.field(app, "/metadata/generation"), generation);
}

#[test]
fn an_edited_type_stays_until_it_is_reset() {
    let place = Place::new();
    place.vela(&["install"]).ok();
    place.cluster.delete(RECORD.0, RECORD.1, RECORD.2, RECORD.3);
    place.cluster.patch("kubectl-edit", SCALER, &json!({"spec": {"podDisruptive": true}}));
    for _ in 0..2 {
        // First by its field managers, then by the record.
        let said = place.vela(&["install"]).ok();
        says(&said.err, &["TraitDefinition scaler kept: it was edited (by kubectl-edit)"]);
        assert!(!said.err.contains("changed"), "{said:?}");
        assert_eq!(place.field(SCALER, "/spec/podDisruptive"), true);
    }
    let said = place.vela(&["install", "--reset-definitions"]).ok();
    says(&said.err, &["TraitDefinition scaler changed"]);
    assert_eq!(place.field(SCALER, "/spec/podDisruptive"), false);
    let again = place.vela(&["install"]).ok();
    assert!(!again.err.contains("kept"), "{again:?}");
}

fn definition(name: &str) -> Value {
    json!({"apiVersion": OAM, "kind": "TraitDefinition", "metadata": {"name": name, "namespace": SYSTEM},
        "spec": {"schematic": {"cue": {"template": "patch: metadata: labels: a: \"b\"\n"}}}})
}

fn kind(plural: &str, kind: &str) -> Value {
    json!({"apiVersion": CRDS, "kind": "CustomResourceDefinition", "metadata": {"name": format!("{plural}.old.oam.dev")},
        "spec": {"group": "old.oam.dev", "scope": "Namespaced",
            "names": {"plural": plural, "singular": plural, "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

#[test]
fn leftovers_of_a_former_release_go_and_data_stays() {
    let place = Place::new();
    place.vela(&["install"]).ok();
    let role = |name: &str| json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": []});
    let app = json!({"apiVersion": OAM, "kind": "Application", "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"components": [{"name": "a", "type": "worker", "properties": {"image": "a"}, "traits": [{"type": "old-used"}]}]}});
    let olds = [
        role("vela-core-old"),
        role("vela-core-anew"),
        definition("old"),
        definition("old-used"),
        definition("old-edited"),
        kind("leers", "Leer"),
        kind("volls", "Voll"),
    ];
    place.applies(&olds);
    place.applies(&[json!({"apiVersion": "old.oam.dev/v1", "kind": "Voll", "metadata": {"name": "data", "namespace": "default"}})]);
    let file = place.person.write("app.yaml", app.to_string());
    place.vela(&["up", "-f", &file, "--no-wait"]).ok();
    let old = (RBAC, "ClusterRole", "", "vela-core-old");
    let anew = (RBAC, "ClusterRole", "", "vela-core-anew");
    let types = ["old", "old-used", "old-edited"].map(|name| (OAM, "TraitDefinition", SYSTEM, name));
    let kinds =
        ["leers.old.oam.dev", "volls.old.oam.dev"].map(|name| (CRDS, "CustomResourceDefinition", "", name));
    let mut named: Vec<(At<'_>, String)> =
        types.iter().chain(&kinds).chain([&old]).map(|at| (*at, place.uid(*at))).collect();
    named.push((anew, "another-uid".to_owned()));
    let named: Vec<(At<'_>, &str)> = named.iter().map(|(at, uid)| (*at, uid.as_str())).collect();
    place.remembers("0.2.9", &named);
    place.cluster.patch("kubectl-edit", types[2], &json!({"spec": {"podDisruptive": true}}));
    // The release brings a type of this name; the user had it first.
    let own = (OAM, "TraitDefinition", SYSTEM, "labels");
    let lines = place.field(RECORD, "/data/objects").as_str().unwrap().to_owned();
    let lines: String =
        lines.lines().filter(|line| !line.contains(" labels ")).map(|line| format!("{line}\n")).collect();
    place.cluster.patch("vela-cli", RECORD, &json!({"data": {"objects": lines}}));
    place.cluster.patch("kubectl-edit", own, &json!({"spec": {"podDisruptive": false}}));

    let plan = place.vela(&["install", "--dry-run"]).ok();
    let stays = [
        "TraitDefinition old-used stays, which this release has no more: it is used by Application default/shop",
        "TraitDefinition old-edited stays, which this release has no more: it was edited (by kubectl-edit)",
        "volls.old.oam.dev stays, which this release has no more: its objects would go with it: Voll default/data",
        "ClusterRole vela-core-anew stays, which this release has no more: it was made anew since",
        "TraitDefinition labels kept: it was not installed by vela",
    ];
    says(&plan.out, &stays);
    says(&plan.out, &["ClusterRole vela-core-old would be taken away", "3 taken away"]);
    assert!(place.live(old).is_some(), "a dry run takes nothing away");

    let said = place.vela(&["install"]).ok();
    says(&said.err, &stays);
    says(
        &said.err,
        &["vela 0.2.9 is installed", "TraitDefinition old taken away: this release has it no more"],
    );
    for at in [old, types[0], kinds[0]] {
        assert_eq!(place.live(at), None, "{at:?}");
    }
    for at in [anew, types[1], types[2], kinds[1], ("old.oam.dev/v1", "Voll", "default", "data")] {
        assert!(place.live(at).is_some(), "{at:?}");
    }
    assert_eq!(place.field(own, "/spec/podDisruptive"), false);

    // Once nothing uses it any more, it goes too.
    place.cluster.delete(OAM, "Application", "default", "shop");
    let said = place.vela(&["install"]).ok();
    says(&said.err, &["TraitDefinition old-used taken away"]);
}

#[test]
fn flags_that_are_missing_this_time_are_told() {
    let place = Place::new();
    place.vela(&["install", "--image", "x/core:1", "--webhooks", "--harbor"]).ok();
    let said = place.vela(&["install", "--harbor"]).ok();
    says(&said.err, &["The former installation had --controller-image --webhooks, which this one has not"]);
    assert!(place.live(CONTROLLER).is_some(), "the controller goes on");
    assert!(place.live(("v1", "ServiceAccount", "harbor-operator", "vela-harbor")).is_some());
    place.cluster.patch("kubectl", RECORD, &json!({"data": {"objects": "v1 Pod a\n"}}));
    place.vela(&["install"]).fails(1, &["data.objects, line 1", "delete the ConfigMap"]);
    place.cluster.delete(RECORD.0, RECORD.1, RECORD.2, RECORD.3);
    place.vela(&["install", "--image", "x/core:1"]).ok();
    place.vela(&["uninstall", "--keep-crds"]).ok();
    assert_eq!(place.live(RECORD), None);
}

/// The controller wrote its authority beside the conversion, which an API server refuses without one.
#[test]
fn a_conversion_that_no_flag_asks_for_goes() {
    let place = Place::new();
    let first = ["install", "--webhook-url", "https://127.0.0.1:1", "--webhook-conversion"];
    place.vela(&first).ok();
    let authority = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": "Cg=="}}}}});
    place.cluster.patch("vela-core", APPLICATIONS, &authority);
    let conversion = |path: &str| place.field(APPLICATIONS, &format!("/spec/conversion{path}"));
    let plan = place.vela(&["install", "--dry-run"]).ok().out;
    says(&plan, &["applications.core.oam.dev would be changed", "strategy"]);
    assert_eq!(conversion("/strategy"), "Webhook", "a dry run writes nothing");
    place.vela(&["install"]).ok();
    assert_eq!(conversion(""), json!({"strategy": "None"}));
    place.vela(&first).ok();
    assert_eq!(conversion("/strategy"), "Webhook");
}
