//! The feature gates of KubeVela 1.11: those that act, those whose answer is the same here whatever is asked, and those that
//! are refused.

use vela_engine::nearest;

use super::values::boolean;

/// The switches of the gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gates {
    /// `ApplyOnce`.
    pub(super) apply_once: bool,
    /// `AuthenticateApplication`.
    pub(super) authenticate_application: bool,
    /// `EnableApplicationScopedPolicies`.
    pub(super) application_policies: bool,
    /// `EnableGlobalPolicies`.
    pub(super) global_policies: bool,
    /// `EnableApplicationStatusMetrics`.
    pub(super) status_metrics: bool,
    /// `EnableSuspendOnFailure`.
    pub(super) suspend_on_failure: bool,
    /// `ValidateResourcesExist`.
    pub(super) absent_kinds: bool,
    /// `ValidateUndeclaredParameters`.
    pub(super) undeclared_parameters: bool,
}

impl Default for Gates {
    /// A policy acts where its definition says so: a definition that does nothing until a flag is set helps no author.
    fn default() -> Self {
        Self {
            apply_once: false,
            authenticate_application: false,
            application_policies: true,
            global_policies: true,
            status_metrics: false,
            suspend_on_failure: false,
            absent_kinds: false,
            undeclared_parameters: false,
        }
    }
}

/// The effect of a gate.
#[derive(Clone, Copy)]
enum Gate {
    /// It is switched as asked.
    Acts(fn(&mut Gates) -> &mut bool),
    /// It is `is` in any case; who asks for the other is told why.
    Always { is: bool, reason: &'static str },
    /// It is `is`, and the start ends where the other is asked for.
    Only { is: bool, reason: &'static str },
}

use Gate::{Acts, Always, Only};

const COMPRESSION: &str = "records and revisions are small, and stored as they are";
const SHARDING: &str = "one process reconciles all applications";

/// All of them, by name.
const GATES: &[(&str, Gate)] = &[
    ("ApplyOnce", Acts(|gates| &mut gates.apply_once)),
    (
        "ApplyResourceByUpdate",
        Only {
            is: false,
            reason: "each writer owns the fields that it writes; a policy resource-update replaces objects",
        },
    ),
    ("AuthenticateApplication", Acts(|gates| &mut gates.authenticate_application)),
    (
        "DeprecatedObjectLabelSelector",
        Only { is: false, reason: "write labelSelector in references to objects" },
    ),
    (
        "DeprecatedPolicySpec",
        Only { is: false, reason: "write clusters or clusterLabelSelector instead of clusterSelector" },
    ),
    (
        "DisableBootstrapClusterInfo",
        Always { is: true, reason: "there are no other clusters to be asked at the start" },
    ),
    ("DisableReferObjectsFromURL", Always { is: true, reason: "objects are not loaded from URLs" }),
    ("DisableWebhookAutoSchedule", Always { is: true, reason: SHARDING }),
    (
        "DisableWorkflowContextConfigMapCache",
        Always { is: true, reason: "values of workflows are read past the caches" },
    ),
    ("EnableApplicationScopedPolicies", Acts(|gates| &mut gates.application_policies)),
    ("EnableApplicationStatusMetrics", Acts(|gates| &mut gates.status_metrics)),
    (
        "EnableBackupWorkflowRecord",
        Only { is: false, reason: "revisions keep what became of workflows; nothing is sent elsewhere" },
    ),
    (
        "EnableCueValidation",
        Always { is: true, reason: "required and wrong parameters are refused in any case" },
    ),
    ("EnableGlobalPolicies", Acts(|gates| &mut gates.global_policies)),
    (
        "EnablePatchStatusAtOnce",
        Always { is: true, reason: "what a step came to is stored before the next begins" },
    ),
    ("EnableSuspendOnFailure", Acts(|gates| &mut gates.suspend_on_failure)),
    (
        "EnableWatchEventListener",
        Always { is: true, reason: "changes of objects that applications own wake them in any case" },
    ),
    ("GzipApplicationRevision", Always { is: false, reason: COMPRESSION }),
    ("GzipResourceTracker", Always { is: false, reason: COMPRESSION }),
    (
        "InformerCacheFilterUnnecessaryFields",
        Always { is: true, reason: "copies in memory lack unused fields in any case" },
    ),
    (
        "LegacyComponentRevision",
        Only { is: false, reason: "components of Applications have no revisions of their own" },
    ),
    ("LegacyObjectTypeIdentifier", Always { is: true, reason: "references may name apiVersion and kind" }),
    (
        "LegacyResourceOwnerValidation",
        Only {
            is: false,
            reason: "an object without an owner is taken over where a policy take-over says so",
        },
    ),
    ("LegacyResourceTrackerGC", Always { is: false, reason: "there are no trackers in other clusters" }),
    STAGES,
    (
        "PreDispatchDryRun",
        Always {
            is: false,
            reason: "objects are judged by the rules of their kinds before the first one is written",
        },
    ),
    (
        "SharedDefinitionStorageForApplicationRevision",
        Always { is: true, reason: "revisions share definitions in memory in any case" },
    ),
    ("ValidateComponentWhenSharding", Always { is: true, reason: SHARDING }),
    (
        "ValidateDefinitionPermissions",
        Only { is: false, reason: "who may use a definition is not asked yet" },
    ),
    ("ValidateResourcesExist", Acts(|gates| &mut gates.absent_kinds)),
    ("ValidateUndeclaredParameters", Acts(|gates| &mut gates.undeclared_parameters)),
    ("ZstdApplicationRevision", Always { is: false, reason: COMPRESSION }),
    ("ZstdResourceTracker", Always { is: false, reason: COMPRESSION }),
];

/// Whether the stages of traits are obeyed.
const STAGES: (&str, Gate) = (
    "MultiStageComponentApply",
    Always { is: true, reason: "the stages that definitions of traits name are obeyed in any case" },
);

/// Gates that a chart of KubeVela switches on or leaves off by default: no user asked for them, so nothing is said of
/// them.
const USUAL: &[(&str, bool)] = &[
    ("DisableBootstrapClusterInfo", false),
    ("DisableWebhookAutoSchedule", false),
    ("EnableCueValidation", false),
    ("PreDispatchDryRun", true),
    ("ValidateComponentWhenSharding", false),
    ("ZstdApplicationRevision", true),
    ("ZstdResourceTracker", true),
];

/// Reads `--feature-gates`, each of it a list of `Name=true` and `Name=false`; the last word on a gate counts. Gives what acts,
/// and what does not, one sentence each.
///
/// # Errors
/// A gate that is not known or refused, or a value that is neither true nor false.
pub(super) fn read(written: &[String]) -> Result<(Gates, Vec<String>), String> {
    let (mut gates, mut idle) = (Gates::default(), Vec::new());
    for one in written.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|one| !one.is_empty()) {
        let wrong = |why: &str| format!("invalid value {one:?} for --feature-gates: {why}");
        let (name, value) = one.split_once('=').ok_or_else(|| wrong("write Name=true or Name=false"))?;
        let (name, asked) = (name.trim(), boolean(value.trim()).map_err(|expected| wrong(&expected))?);
        let Some((name, gate)) = GATES.iter().find(|(known, _)| *known == name) else {
            let names = GATES.iter().map(|(known, _)| *known);
            let advice = nearest::advice(name, "feature gates", names).unwrap_or_default();
            return Err(wrong(&format!("no feature gate {name:?} is known; {advice}")));
        };
        match *gate {
            Acts(switch) => *switch(&mut gates) = asked,
            Always { is, .. } if is == asked || USUAL.contains(&(*name, asked)) => {}
            Always { reason, .. } => idle.push(format!("--feature-gates={one} changes nothing: {reason}")),
            Only { is, .. } if is == asked => {}
            Only { is, reason } => {
                return Err(format!(
                    "--feature-gates={one} is refused: {reason}; write {name}={is} or leave it out"
                ));
            }
        }
    }
    Ok((gates, idle))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gates(written: &[&str]) -> Result<(Gates, Vec<String>), String> {
        read(&written.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn gates_are_switched_one_by_one_and_in_lists() {
        let (gates, idle) = gates(&[
            "ValidateResourcesExist=true,EnableSuspendOnFailure=true",
            "EnableSuspendOnFailure=false, EnableApplicationStatusMetrics = T",
            "MultiStageComponentApply= true",
            "ZstdResourceTracker=true,EnableCueValidation=false,",
        ])
        .unwrap();
        let expected = Gates { absent_kinds: true, status_metrics: true, ..Gates::default() };
        assert_eq!(gates, expected);
        assert!(idle.is_empty(), "{idle:?}");
    }

    #[test]
    fn what_is_not_switched_is_said_or_refused() {
        let (_, idle) = gates(&["GzipResourceTracker=true", "EnablePatchStatusAtOnce=false"]).unwrap();
        assert_eq!(idle.len(), 2);
        assert!(
            idle[0].starts_with("--feature-gates=GzipResourceTracker=true changes nothing: "),
            "{idle:?}"
        );
        for (written, says) in [
            ("DeprecatedPolicySpec=true", "write DeprecatedPolicySpec=false"),
            ("ApplyResourceByUpdate=true", "policy resource-update"),
            ("ValidateResourceExist=true", "did you mean \"ValidateResourcesExist\"?"),
            ("ApplyOnce", "Name=true"),
            ("ApplyOnce=maybe", "true or false"),
        ] {
            let error = gates(&[written]).unwrap_err();
            assert!(error.contains(says) && error.contains("--feature-gates"), "{error}");
        }
        assert!(!gates(&["EnableGlobalPolicies=false"]).unwrap().0.global_policies);
    }

    #[test]
    fn every_gate_is_known_once() {
        assert!(GATES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(USUAL.iter().all(|(name, _)| GATES.iter().any(|(known, _)| known == name)));
    }
}
