//! Where a recorded run and vela differ by choice. Each reason stands in `docs/differences/recorded-runs.md` in the same words.

use vela_e2e::rules::Rule;

const DIRECT: &str = "a v1beta1 Application goes to its workloads directly, as KubeVela does from 1.2 on: \
                      no Component, ControllerRevision or ApplicationContext in between";
const TODAY: &str = "the status, finalizer and labels of a v1beta1 Application are those of KubeVela 1.11";
const SNAPSHOT: &str =
    "an ApplicationRevision holds what was rendered from, as KubeVela 1.11 has it, and not what was rendered";
const CHILDREN: &str = "children of a ContainerizedWorkload or PodSpecWorkload do not inherit its last-applied-configuration annotation";
const PROTOCOL: &str =
    "the definition of PodSpecWorkload fills in TCP where a port names no protocol, as that of 0.3 did";
const WRITES: &str = "a generation counts writes, and vela writes only what changes";
const WOKEN: &str =
    "a changed Component wakes the configurations that name it, where 1.0.7 waited for its timer";
const WORDS: &str = "messages name the object and the place, and what to do";
const GIVEN_UP: &str =
    "an AppRollout remembers the targets it left before they were reached, so that nothing of them stays";
const RECORDED: &str = "an ApplicationRevision records what was applied of a configuration, by which that is kept when something breaks";
const REFUSED: &str = "an object that no other try makes better is told by the reason Refused";
/// Reasons whose places differ only now and then: how many writes led to a state depends on who was faster.
pub(crate) const BY_CHANCE: [&str; 2] = [WRITES, WOKEN];
/// The runs with v1beta1 Applications begin with these letters.
const APPLICATIONS: &str = "app";

const fn direct(kind: &'static str, path: &'static [&'static str]) -> Rule {
    Rule { runs: APPLICATIONS, kind, path, reason: DIRECT }
}

const fn today(kind: &'static str, path: &'static [&'static str]) -> Rule {
    Rule { runs: APPLICATIONS, kind, path, reason: TODAY }
}

const fn snapshot(path: &'static [&'static str]) -> Rule {
    Rule { runs: APPLICATIONS, kind: "ApplicationRevision", path, reason: SNAPSHOT }
}

const fn writes(kind: &'static str, path: &'static [&'static str]) -> Rule {
    Rule { runs: "", kind, path, reason: WRITES }
}

const fn woken(kind: &'static str, path: &'static [&'static str]) -> Rule {
    Rule { runs: "revision", kind, path, reason: WOKEN }
}

const fn recorded(runs: &'static str) -> Rule {
    Rule { runs, kind: "ApplicationRevision", path: &[], reason: RECORDED }
}

pub(crate) static TABLE: &[Rule] = &[
    recorded("containerized"),
    recorded("dep-"),
    recorded("revision"),
    recorded("rollout-demo"),
    Rule {
        runs: "typed",
        kind: "ApplicationConfiguration",
        path: &["status", "conditions", "[Synced]", "reason"],
        reason: REFUSED,
    },
    direct("ControllerRevision", &[]),
    direct("Component", &[]),
    direct("ApplicationContext", &[]),
    direct("Application", &["status", "components"]),
    direct("Deployment", &["metadata", "ownerReferences"]),
    direct("Deployment", &["metadata", "annotations", "app.oam.dev/generation"]),
    direct("Deployment", &["metadata", "annotations", "app.oam.dev/last-applied-configuration"]),
    direct("Deployment", &["metadata", "labels", "app.oam.dev/revision"]),
    Rule {
        runs: "approllout-full",
        kind: "AppRollout",
        path: &["status", "givenUpRevisions"],
        reason: GIVEN_UP,
    },
    // On the workload of a rollout there is no other annotation.
    Rule { runs: "approllout", kind: "Deployment", path: &["metadata", "annotations"], reason: DIRECT },
    today("Deployment", &["metadata", "labels", "app.oam.dev/app-revision-hash"]),
    today("Deployment", &["metadata", "labels", "app.oam.dev/namespace"]),
    today("Application", &["metadata", "finalizers"]),
    today("Application", &["status", "appliedResources"]),
    today("Application", &["status", "conditions", "*"]),
    today("Application", &["status", "observedGeneration"]),
    today("Application", &["status", "rollout"]),
    today("Application", &["status", "workflow"]),
    today("Application", &["status", "services", "*", "message"]),
    today("Application", &["status", "services", "*", "namespace"]),
    today("Application", &["status", "services", "*", "workloadHealthy"]),
    snapshot(&["spec", "application", "metadata"]),
    snapshot(&["spec", "application", "status"]),
    snapshot(&["spec", "applicationConfiguration"]),
    snapshot(&["spec", "components"]),
    snapshot(&["spec", "componentDefinitions", "*", "metadata"]),
    snapshot(&["spec", "traitDefinitions", "*", "metadata"]),
    Rule {
        runs: "containerized",
        kind: "ConfigMap",
        path: &["metadata", "annotations", "app.oam.dev/last-applied-configuration"],
        reason: CHILDREN,
    },
    Rule {
        runs: "containerized",
        kind: "Deployment",
        path: &["metadata", "annotations", "app.oam.dev/last-applied-configuration"],
        reason: CHILDREN,
    },
    Rule {
        runs: "rollout-demo-podspec",
        kind: "Deployment",
        path: &["metadata", "annotations", "app.oam.dev/last-applied-configuration"],
        reason: CHILDREN,
    },
    Rule {
        runs: "rollout-demo-podspec",
        kind: "Deployment",
        path: &["spec", "template", "metadata", "annotations", "app.oam.dev/last-applied-configuration"],
        reason: CHILDREN,
    },
    Rule {
        runs: "rollout-demo-podspec",
        kind: "PodSpecWorkload",
        path: &["spec", "podSpec", "containers", "*", "ports", "*", "protocol"],
        reason: PROTOCOL,
    },
    Rule {
        runs: "approllout",
        kind: "AppRollout",
        path: &["status", "conditions", "*", "message"],
        reason: WORDS,
    },
    writes("Deployment", &["metadata", "generation"]),
    writes("Deployment", &["status", "observedGeneration"]),
    writes("HealthScope", &["metadata", "generation"]),
    woken("Bar", &[]),
    woken("Bar", &["metadata", "**"]),
    woken("ApplicationConfiguration", &["status", "workloads", "[00]", "**"]),
    woken("ApplicationConfiguration", &["status", "historyWorkloads"]),
    Rule {
        runs: "typed",
        kind: "ApplicationConfiguration",
        path: &["status", "conditions", "[Synced]", "message"],
        reason: WORDS,
    },
    Rule {
        runs: "typed",
        kind: "HealthScope",
        path: &["status", "healthConditions", "[00]", "diagnosis"],
        reason: WORDS,
    },
];
