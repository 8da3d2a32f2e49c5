//! Explains why pods are not ready, from the pods and the conditions of their controllers, in words that a user can act
//! on.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use vela_kinds::readiness::holds;

/// At most so many reasons are reported; more help no user.
const REASONS_SHOWN: usize = 3;
/// Words of a container's own message beyond this are cut.
const MESSAGE_LENGTH: usize = 200;
/// How long a batch may take where its workload does not say: what Kubernetes gives a Deployment to make progress.
pub const DEFAULT_DEADLINE_SECONDS: u64 = 600;

/// Why pods are not there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodProblem {
    /// Does it need action by a user? Otherwise time may mend it.
    pub needs_a_hand: bool,
    /// In one word, as Kubernetes spells it: `CrashLoopBackOff`.
    pub reason: String,
    /// How many pods it concerns; none where pods cannot be made at all.
    pub pods: usize,
    /// One of them, and what it says.
    pub message: String,
    /// The remedy.
    pub advice: String,
}

/// Reasons a container waits for that no time mends, and what to do; `{pod}` and `{container}` are filled in.
const WAITING: [(&str, &str); 10] = [
    ("CrashLoopBackOff", "look at `kubectl logs {pod} -c {container} --previous`"),
    ("ImagePullBackOff", "check the image's name and imagePullSecrets"),
    ("ErrImagePull", "check the image's name and imagePullSecrets"),
    ("InvalidImageName", "write the image's name as registry/name:tag"),
    ("ErrImageNeverPull", "load the image on the node, or change imagePullPolicy"),
    ("CreateContainerConfigError", "create the ConfigMap or Secret that the container names"),
    ("CreateContainerError", "look at `kubectl describe pod {pod}`"),
    ("RunContainerError", "check the container's command"),
    ("PostStartHookError", "check the container's postStart hook"),
    ("PreCreateHookError", "look at `kubectl describe pod {pod}`"),
];

/// All reasons, those that need a hand first, then those of most pods. `makers` are the workload and what it made to make
/// pods (ReplicaSets); of pods, those that go away do not count.
pub fn problems(pods: &[Json], makers: &[&Json]) -> Vec<PodProblem> {
    let mut found: BTreeMap<String, PodProblem> = BTreeMap::new();
    let living = pods.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
    for problem in makers.iter().filter_map(|maker| of_maker(maker)).chain(living.filter_map(of_pod)) {
        let known =
            found.entry(problem.reason.clone()).or_insert_with(|| PodProblem { pods: 0, ..problem.clone() });
        known.pods += problem.pods;
    }
    let mut found: Vec<PodProblem> = found.into_values().collect();
    found.sort_by(|one, other| {
        let rank =
            |problem: &PodProblem| (!problem.needs_a_hand, problem.pods > 0, usize::MAX - problem.pods);
        rank(one).cmp(&rank(other)).then_with(|| one.reason.cmp(&other.reason))
    });
    found
}

/// The reasons in one text; empty when nothing is wrong.
pub fn explain(problems: &[PodProblem]) -> String {
    let mut texts: Vec<String> = problems.iter().take(REASONS_SHOWN).map(PodProblem::to_string).collect();
    if problems.len() > REASONS_SHOWN {
        texts.push(format!("and {} more", problems.len() - REASONS_SHOWN));
    }
    texts.join("; ")
}

/// How long a batch of this workload may take.
pub fn deadline_seconds(workload: Option<&Json>) -> u64 {
    let own = workload.and_then(|workload| workload["spec"]["progressDeadlineSeconds"].as_u64());
    // Kubernetes reads the largest number as "never", and so does this.
    own.unwrap_or(DEFAULT_DEADLINE_SECONDS)
}

impl std::fmt::Display for PodProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.pods {
            0 => write!(f, "{}: {}", self.reason, self.message)?,
            1 => write!(f, "1 pod {} ({})", self.reason, self.message)?,
            pods => write!(f, "{pods} pods {} ({})", self.reason, self.message)?,
        }
        match self.advice.as_str() {
            "" => Ok(()),
            advice => write!(f, ": {advice}"),
        }
    }
}

/// A maker that cannot make pods, or has given up on them.
fn of_maker(maker: &Json) -> Option<PodProblem> {
    let conditions = maker["status"]["conditions"].as_array()?;
    let text = |each: &Json, field: &str| each[field].as_str().unwrap_or_default().to_owned();
    let refused = conditions.iter().find(|each| {
        (each["type"] == "ReplicaFailure" || each["type"] == "FailedScale") && each["status"] == "True"
    });
    if let Some(condition) = refused {
        let message = cut(&text(condition, "message"));
        let advice = match message.contains("exceeded quota") {
            true => "raise the ResourceQuota of the namespace, or ask for less",
            false => "the API server refuses the pod: change its template, or the rule that forbids it",
        };
        let reason = text(condition, "reason");
        let reason = if reason.is_empty() { "FailedCreate".to_owned() } else { reason };
        return Some(PodProblem { needs_a_hand: true, reason, pods: 0, message, advice: advice.to_owned() });
    }
    let late = conditions.iter().find(|each| {
        each["type"] == "Progressing"
            && each["status"] == "False"
            && each["reason"] == "ProgressDeadlineExceeded"
    })?;
    Some(PodProblem {
        needs_a_hand: true,
        reason: "ProgressDeadlineExceeded".to_owned(),
        pods: 0,
        message: cut(&text(late, "message")),
        advice: "look at its pods".to_owned(),
    })
}

fn of_pod(pod: &Json) -> Option<PodProblem> {
    let name = pod["metadata"]["name"].as_str().unwrap_or("?");
    let status = &pod["status"];
    let conditions = || status["conditions"].as_array().into_iter().flatten();
    if holds(pod, "Ready") {
        return None;
    }
    let problem = |needs_a_hand, reason: &str, message: String, advice: String| {
        let reason = reason.to_owned();
        Some(PodProblem {
            needs_a_hand,
            reason,
            pods: 1,
            message: format!("{name}: {}", cut(&message)),
            advice,
        })
    };
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    if status["phase"] == "Failed" {
        let reason = status["reason"].as_str().filter(|reason| !reason.is_empty()).unwrap_or("Failed");
        let advice = format!("look at `kubectl describe pod {name}`");
        return problem(true, reason, text(&status["message"]), advice);
    }
    if let Some(unscheduled) = conditions().find(|each| {
        each["type"] == "PodScheduled" && each["status"] == "False" && each["reason"] == "Unschedulable"
    }) {
        let advice = "free or add a node, or ask for less".to_owned();
        return problem(true, "Unschedulable", text(&unscheduled["message"]), advice);
    }
    for container in ["initContainerStatuses", "containerStatuses"]
        .iter()
        .flat_map(|list| status[*list].as_array().into_iter().flatten())
    {
        if let Some((reason, message, advice)) = of_container(container, name) {
            return problem(true, &reason, message, advice);
        }
    }
    let says = |type_: &str, status: &str| {
        conditions().find(|each| each["type"] == type_ && each["status"] == status)
    };
    if let (Some(ready), Some(_)) = (says("Ready", "False"), says("ContainersReady", "True")) {
        let gate = ready["reason"] == "ReadinessGatesNotReady";
        let node = pod["spec"]["nodeName"].as_str().unwrap_or("?");
        return match gate {
            true => {
                let advice = format!("look at the conditions of `kubectl describe pod {name}`");
                problem(false, "ReadinessGatesNotReady", text(&ready["message"]), advice)
            }
            // This is how a cluster writes that it has not heard of a node for a while.
            false => {
                let message = format!("its containers are ready, and node {node} does not answer for them");
                let advice = format!(
                    "look at `kubectl get node {node}`; where it is lost, `kubectl delete pod {name} --force` makes way for \
                     another pod"
                );
                problem(false, "NodeNotReady", message, advice)
            }
        };
    }
    if status["phase"] == "Running" {
        let advice = "its readiness probe says no so far".to_owned();
        return problem(false, "NotReady", "it runs".to_owned(), advice);
    }
    problem(false, "Starting", "it is being made".to_owned(), String::new())
}

/// Why a container does not run, where no time mends it.
fn of_container(container: &Json, pod: &str) -> Option<(String, String, String)> {
    let name = container["name"].as_str().unwrap_or("?");
    let waiting = &container["state"]["waiting"];
    let reason = waiting["reason"].as_str()?;
    let (reason, advice) = WAITING.iter().find(|(known, _)| *known == reason)?;
    let ended = ["/lastState/terminated", "/state/terminated"]
        .iter()
        .find_map(|pointer| container.pointer(pointer).filter(|ended| !ended.is_null()));
    let message = match ended {
        Some(ended) if *reason == "CrashLoopBackOff" => {
            let why = ended["reason"].as_str().unwrap_or("Error");
            let restarts = container["restartCount"].as_i64().unwrap_or(0);
            format!("container {name} ended with {why}, exit code {}, {restarts} restarts", ended["exitCode"])
        }
        _ => format!("container {name}: {}", waiting["message"].as_str().unwrap_or("no message")),
    };
    let advice = match ended {
        Some(ended) if ended["reason"] == "OOMKilled" => {
            format!("raise resources.limits.memory of container {name}")
        }
        _ => advice.replace("{pod}", pod).replace("{container}", name),
    };
    Some(((*reason).to_owned(), message, advice))
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MESSAGE_LENGTH {
        return text.to_owned();
    }
    text.chars().take(MESSAGE_LENGTH).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, status: Json) -> Json {
        json!({"metadata": {"name": name}, "status": status})
    }

    fn waiting(reason: &str, message: &str) -> Json {
        json!({"phase": "Pending", "containerStatuses": [{
            "name": "web", "restartCount": 4, "state": {"waiting": {"reason": reason, "message": message}},
        }]})
    }

    #[test]
    fn a_crash_is_told_with_its_exit_code_and_where_to_look() {
        let mut crashed = waiting("CrashLoopBackOff", "back-off 40s");
        crashed["containerStatuses"][0]["lastState"] =
            json!({"terminated": {"reason": "Error", "exitCode": 3}});
        let found = problems(&[pod("a", crashed.clone()), pod("b", crashed.clone())], &[]);
        assert_eq!(
            explain(&found),
            "2 pods CrashLoopBackOff (a: container web ended with Error, exit code 3, 4 restarts): look at `kubectl logs \
             a -c web --previous`"
        );
        crashed["containerStatuses"][0]["lastState"]["terminated"]["reason"] = json!("OOMKilled");
        assert!(
            explain(&problems(&[pod("a", crashed)], &[]))
                .ends_with("raise resources.limits.memory of container web")
        );
    }

    #[test]
    fn reasons_that_need_a_hand_come_first() {
        let unscheduled = json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"},
        ]});
        let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        let mut leaving = pod("l", waiting("ErrImagePull", "gone"));
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let pods = [
            pod("a", json!({"phase": "Running"})),
            pod("b", unscheduled),
            pod("c", ready),
            pod("d", waiting("ImagePullBackOff", "not found")),
            pod("e", waiting("ImagePullBackOff", "not found")),
            pod("f", json!({"phase": "Failed", "reason": "Evicted", "message": "disk"})),
            leaving,
            pod("g", waiting("ContainerCreating", "")),
        ];
        let reasons: Vec<(String, usize)> =
            problems(&pods, &[]).into_iter().map(|problem| (problem.reason, problem.pods)).collect();
        let expected =
            [("ImagePullBackOff", 2), ("Evicted", 1), ("Unschedulable", 1), ("NotReady", 1), ("Starting", 1)];
        assert_eq!(reasons, expected.map(|(reason, pods)| (reason.to_owned(), pods)));
        assert!(explain(&problems(&pods, &[])).ends_with("and 2 more"));
    }

    #[test]
    fn a_pod_with_ready_containers_waits_for_its_node_or_a_gate() {
        let explained = |reason: &str, message: &str| {
            let mut pod = pod(
                "a",
                json!({"phase": "Running", "conditions": [
                    {"type": "ContainersReady", "status": "True"},
                    {"type": "Ready", "status": "False", "reason": reason, "message": message},
                ]}),
            );
            pod["spec"]["nodeName"] = json!("n1");
            explain(&problems(&[pod], &[]))
        };
        let lost = explained("", "");
        assert!(lost.contains("NodeNotReady") && lost.contains("kubectl get node n1"), "{lost}");
        let gated = explained("ReadinessGatesNotReady", "gate balancer is missing");
        assert!(gated.contains("gate balancer is missing"), "{gated}");
    }

    #[test]
    fn pods_that_cannot_be_made_are_told_by_their_maker() {
        let maker = |type_: &str, status: &str, reason: &str, message: &str| json!({"status": {"conditions": [{"type": type_, "status": status, "reason": reason, "message": message}]}});
        let quota =
            maker("ReplicaFailure", "True", "FailedCreate", "pods \"a\" is forbidden: exceeded quota: q");
        let found = problems(&[], &[&quota]);
        assert!(found[0].needs_a_hand && found[0].reason == "FailedCreate");
        assert!(explain(&found).contains("raise the ResourceQuota"));
        let late = maker("Progressing", "False", "ProgressDeadlineExceeded", "timed out");
        assert_eq!(problems(&[], &[&late])[0].reason, "ProgressDeadlineExceeded");
        assert_eq!(problems(&[], &[&maker("Progressing", "True", "NewReplicaSetAvailable", "")]), []);
        assert_eq!(deadline_seconds(Some(&json!({"spec": {"progressDeadlineSeconds": 30}}))), 30);
        assert_eq!(deadline_seconds(None), DEFAULT_DEADLINE_SECONDS);
    }

    #[test]
    fn no_shape_of_pod_is_too_odd() {
        let odd = [
            json!(null),
            json!({"status": []}),
            json!({"status": {"containerStatuses": {"a": 1}}}),
            json!(3),
        ];
        assert_eq!(problems(&odd, &[&json!(null)]).len(), 1);
        let long = pod("a", json!({"phase": "Failed", "message": "ö".repeat(1000)}));
        assert!(explain(&problems(&[long], &[])).chars().count() < 400);
    }
}
