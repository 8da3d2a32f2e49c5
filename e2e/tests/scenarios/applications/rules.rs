//! Where an application recorded with KubeVela 1.11 and vela differ by choice. Each reason stands in `docs/differences.md`.

use vela_e2e::rules::Rule;

const MARKS: &str = "objects carry no marks of another program: its version, its hashes, the time and the text of its last apply; \
                     server-side apply and the records of vela do what they did";
const STEPS: &str = "an application without a workflow has no workflow record beyond its phase: no context object, no times, no ids";

const fn rule(kind: &'static str, path: &'static [&'static str], reason: &'static str) -> Rule {
    Rule { runs: "", kind, path, reason }
}

pub(crate) static TABLE: &[Rule] = &[
    rule("Application", &["metadata", "annotations"], MARKS),
    rule("ConfigMap", &["metadata", "annotations"], MARKS),
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
];
