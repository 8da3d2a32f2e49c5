//! Where an application recorded with KubeVela 1.11 and vela differ by choice. Each reason stands in `docs/differences/recorded-runs.md`.

use serde_json::{Value, json};
use vela_e2e::objects::text;
use vela_e2e::rules::Rule;

const MARKS: &str = "objects carry no marks of another program: its version, its hashes, the time and the text of its last apply; \
                     server-side apply and the records of vela do what they did";
const STEPS: &str = "an application without a workflow has no workflow record beyond its phase: no context object, no times, no ids";

const WORDS: &str = "messages name the object and the place, and what to do";
const FINALIZER: &str = "the finalizer is put on an application when there is something to clean up, so not on one that cannot be read";
const POSTPONED: &str = "an application one of whose objects the API server refuses is not called running, also where the object is a trait's";
const DETECTED: &str = "the status tells the kind of a workload that its definition leaves open";
const COUNTED: &str =
    "a component whose definition says nothing of its status tells how many of its pods are ready";
const RECORDED: &str = "an application with a rollout-template annotation is only recorded, as in 1.0: another controller deploys it";
const OTHERS: &str =
    "the namespace that the recorded application found belonged to another one of the recording";
const ROLLOUT_OF_0_3: &str = "the type `rollout` is the trait of 0.3: an application that means the one of KubeVela 1.1 is refused at its parameters, \
                              where KubeVela without that addon refuses the type";
const NOTHING: &str = "a parameter that is null stays null: KubeVela loses it when it writes the Application back, so its trait removes no label";
/// What stands in for the status of an application that KubeVela gave up: see [`tried_again`].
pub(crate) const GIVEN_UP: &str = "an application whose objects cannot be applied is tried again with back-off and says which one and why; \
                                   what can be applied of it stands. KubeVela gives up after some tries (`workflowFailed`) and applies \
                                   nothing of the component";

/// What stands in for the status of an application that KubeVela gave up because a definition is too old for the cluster.
pub(crate) const WITHDRAWN: &str = "an application whose definitions write a version that Kubernetes has withdrawn runs, with the object \
                                    in the version that followed";

/// The version that recorded applications were given up for.
const WITHDRAWN_VERSION: &str = "in version \"networking.k8s.io/v1beta1\"";

/// Did KubeVela give the application up?
pub(crate) fn is_given_up(expected: &[Value]) -> bool {
    expected.iter().any(|object| is_application(object) && text(object, "/status/status") == "workflowFailed")
}

fn is_application(object: &Value) -> bool {
    object["kind"] == "Application"
}

/// The object with as much of an Application's status as has to agree where KubeVela gave up and vela goes on: that it
/// could be read and rendered, its revision, and that it is not running because something cannot be applied – or that it
/// runs, where all that was wrong is a withdrawn version.
pub(crate) fn tried_again(mut object: Value) -> Value {
    if !is_application(&object) {
        return object;
    }
    let status = object["status"].take();
    let rendered = ["Parsed", "Revision", "Policy", "Render"];
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let mut kept: Vec<Value> =
        conditions.filter(|condition| rendered.contains(&text(condition, "/type"))).cloned().collect();
    // The failure is looked at too: an application that is about to run looks like one that is tried again.
    let failing = json!({"type": "Workflow", "status": "False", "reason": "ReconcileError"});
    let has = |field: &str, condition: &Value| condition[field] == failing[field];
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let is_failing = conditions.any(|condition| {
        let is_refused = condition["reason"] == "Refused";
        has("type", condition) && has("status", condition) && (is_refused || has("reason", condition))
    });
    let given_up = status["status"] == "workflowFailed";
    let mut steps = status["workflow"]["steps"].as_array().into_iter().flatten();
    let runs = given_up && steps.any(|step| text(step, "/message").contains(WITHDRAWN_VERSION));
    if (given_up || is_failing) && !runs {
        kept.push(failing);
    }
    let phase = match (runs, given_up) {
        (true, _) => &json!("running"),
        (false, true) => &json!("runningWorkflow"),
        (false, false) => &status["status"],
    };
    object["status"] =
        json!({"status": phase, "conditions": kept, "latestRevision": status["latestRevision"]});
    object
}

/// The live objects without those of the application that could be applied although others could not.
pub(crate) fn without_applied(live: Vec<Value>, expected: &[Value]) -> Vec<Value> {
    let name = |object: &Value| (object["kind"].clone(), object["metadata"]["name"].clone());
    let applied: Vec<(Value, Value)> = live
        .iter()
        .filter(|object| is_application(object))
        .flat_map(|object| object["status"]["appliedResources"].as_array().into_iter().flatten())
        .map(|applied| (applied["kind"].clone(), applied["name"].clone()))
        .filter(|applied| !expected.iter().any(|object| name(object) == *applied))
        .collect();
    live.into_iter().filter(|object| !applied.contains(&name(object))).collect()
}

const fn only(
    runs: &'static str,
    kind: &'static str,
    path: &'static [&'static str],
    reason: &'static str,
) -> Rule {
    Rule { runs, kind, path, reason }
}

const fn rule(kind: &'static str, path: &'static [&'static str], reason: &'static str) -> Rule {
    Rule { runs: "", kind, path, reason }
}

pub(crate) static TABLE: &[Rule] = &[
    rule("Application", &["metadata", "annotations"], MARKS),
    rule("ConfigMap", &["metadata", "annotations"], MARKS),
    rule("HorizontalPodAutoscaler", &["metadata", "annotations"], MARKS),
    rule("Service", &["metadata", "annotations"], MARKS),
    rule("Secret", &["metadata", "annotations"], MARKS),
    rule("*", &["metadata", "annotations", "oam.dev/kubevela-version"], MARKS),
    rule("*", &["metadata", "annotations", "app.oam.dev/last-applied-time"], MARKS),
    rule("*", &["metadata", "annotations", "app.oam.dev/last-applied-configuration"], MARKS),
    rule("*", &["metadata", "labels", "app.oam.dev/app-revision-hash"], MARKS),
    rule("*", &["metadata", "labels", "app.oam.dev/cluster"], MARKS),
    rule("*", &["metadata", "labels", "oam.dev/render-hash"], MARKS),
    rule("Application", &["status", "workflow", "contextBackend"], STEPS),
    rule("Application", &["status", "workflow", "mode"], STEPS),
    rule("Application", &["status", "workflow", "steps", "*", "id"], STEPS),
    rule("Application", &["status", "workflow", "steps", "*", "firstExecuteTime"], STEPS),
    rule("Application", &["status", "workflow", "steps", "*", "lastExecuteTime"], STEPS),
    rule("Application", &["metadata", "finalizers"], FINALIZER),
    rule("Application", &["status", "conditions", "[Parsed]", "message"], WORDS),
    only("ex__rollout-trait__", "Application", &["status", "**"], ROLLOUT_OF_0_3),
    only("ex__custom-trait__", "Application", &["status", "conditions", "[Ready]", "message"], WORDS),
    only("ex__advanced-cue__app2", "Application", &["status", "**"], POSTPONED),
    only("e2e__addon__mock__testdata__mock-addon", "Application", &["status", "services", "**"], DETECTED),
    only("ex__kube-module__", "Application", &["status", "services", "*", "message"], COUNTED),
    only("ex__cloneset-rollout__", "Application", &["status", "status"], RECORDED),
    only("ex__cloneset-rollout__", "Application", &["status", "conditions", "[Workflow]"], RECORDED),
    only("e2e__addon__mock__testdata__test-addon", "Application", &["status", "status"], OTHERS),
    only(
        "e2e__addon__mock__testdata__test-addon",
        "Application",
        &["status", "conditions", "[Workflow]"],
        OTHERS,
    ),
    only(
        "ex__traits__",
        "Deployment",
        &["spec", "template", "metadata", "labels", "to-delete-label-key"],
        NOTHING,
    ),
];
