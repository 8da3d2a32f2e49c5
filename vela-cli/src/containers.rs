//! The pods of an application and what was asked for → the pod and the container that are meant.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::applications::find_any;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::pods::Pod;
use crate::pointer::text;

/// By which a pod says which container is meant where none is named.
const DEFAULT_CONTAINER: &str = "/metadata/annotations/kubectl.kubernetes.io~1default-container";

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) application: &'a str,
    pub(crate) component: Option<&'a str>,
    pub(crate) pod: Option<&'a str>,
}

impl Wanted<'_> {
    /// All pods that are meant; never none.
    pub(crate) fn pods<'p>(&self, pods: &'p [Pod]) -> Result<Vec<&'p Pod>> {
        let name = self.application;
        let is_wanted = |pod: &&Pod| {
            let component = self.component.is_none_or(|wanted| pod.component == wanted);
            component && self.pod.is_none_or(|wanted| pod.name() == wanted)
        };
        let wanted: Vec<&Pod> = pods.iter().filter(is_wanted).collect();
        if !wanted.is_empty() {
            return Ok(wanted);
        }
        let error = Error::user(match (self.component, self.pod) {
            (_, Some(pod)) => format!("{name} has no pod {pod:?}"),
            (Some(component), _) => format!("component {component:?} of {name} has no pod"),
            _ => format!("{name} has no pod"),
        });
        let there: Vec<String> =
            pods.iter().map(|pod| format!("{} (component {})", pod.name(), pod.component)).collect();
        Err(error
            .hint(match there.is_empty() {
                true => format!("`vela status {name}` says what it waits for"),
                false => format!("there are {}", there.join(", ")),
            })
            .into())
    }

    /// The one pod that is meant: of several of one component the first that is ready. With it comes what to say where
    /// there was a choice.
    pub(crate) fn one<'p>(&self, pods: &'p [Pod]) -> Result<(&'p Pod, Option<String>)> {
        let name = self.application;
        let wanted = self.pods(pods)?;
        let components: BTreeSet<&str> = wanted.iter().map(|pod| pod.component.as_str()).collect();
        if components.len() > 1 {
            let all: Vec<&str> = components.into_iter().collect();
            let error = Error::user(format!("{name} has pods of {} components", all.len()));
            let hint = format!("choose one with --component ({}), or a pod with --pod", all.join(", "));
            return Err(error.hint(hint).into());
        }
        let running: Vec<&Pod> = wanted.iter().copied().filter(|pod| is_running(&pod.object)).collect();
        let Some(chosen) = running.iter().find(|pod| is_ready(&pod.object)).or(running.first()).copied()
        else {
            let error = Error::user(match wanted[..] {
                [pod] => format!("pod {} of {name} does not run: {}", pod.name(), phase(&pod.object)),
                _ => format!("none of the {} pods of {name} runs", wanted.len()),
            });
            return Err(error.hint(format!("`vela status {name} --pod` says how they are")).into());
        };
        let note = (running.len() > 1).then(|| {
            format!("Pod {} is one of {} that run; --pod chooses another.", chosen.name(), running.len())
        });
        Ok((chosen, note))
    }
}

fn is_running(pod: &Value) -> bool {
    text(pod, "/status/phase") == "Running" && pod.pointer("/metadata/deletionTimestamp").is_none()
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

fn phase(pod: &Value) -> &str {
    match pod.pointer("/metadata/deletionTimestamp") {
        Some(_) => "it is being deleted",
        None => {
            Some(text(pod, "/status/phase")).filter(|phase| !phase.is_empty()).unwrap_or("it has no phase")
        }
    }
}

/// The container of a pod that is meant, which must run.
pub(crate) fn container(pod: &Pod, wanted: Option<&str>) -> Result<String> {
    let all = pod.containers();
    let (name, there) = (pod.name(), all.join(", "));
    let by_itself = Some(text(&pod.object, DEFAULT_CONTAINER)).filter(|name| all.contains(name));
    let first = || pod.object.pointer("/spec/containers/0").map(|first| text(first, "/name"));
    let Some(chosen) = wanted.or(by_itself).or_else(first) else {
        return Err(Error::user(format!("pod {name} has no container")).into());
    };
    if !all.contains(&chosen) {
        let error = Error::user(format!("pod {name} has no container {chosen:?}"));
        return Err(error.hint(format!("there are {there}")).into());
    }
    let lists =
        ["/status/initContainerStatuses", "/status/containerStatuses"].map(|at| pod.object.pointer(at));
    let mut statuses = lists.into_iter().flatten().filter_map(Value::as_array).flatten();
    let state = statuses.find(|status| text(status, "/name") == chosen).map(|status| &status["state"]);
    if let Some(state) = state.filter(|state| state.get("running").is_none()) {
        let how = state.as_object().and_then(|state| state.iter().next());
        let how = how.map_or_else(String::new, |(word, more)| match text(more, "/reason") {
            "" => format!(": {word}"),
            reason => format!(": {word} ({reason})"),
        });
        let error = Error::user(format!("container {chosen} of pod {name} does not run{how}"));
        return Err(error
            .hint(format!("the containers of this pod are {there}; `vela logs` shows what they wrote"))
            .into());
    }
    Ok(chosen.to_owned())
}

/// What every command that needs running containers says of the sandbox, once the application is known to be there. `none`
/// ends "no container runs, and none …".
pub(crate) async fn simulated(cluster: &Cluster, application: &str, none: &str) -> Result<()> {
    find_any(cluster, application).await?;
    let error = Error::not_supported(format!(
        "the pods of the sandbox are simulated: no container runs, and none {none}"
    ));
    let hint = format!(
        "`vela status {application}` says how they are; give a cluster with --kubeconfig or --context"
    );
    Err(error.hint(hint).into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(component: &str, name: &str, phase: &str, ready: &str) -> Pod {
        let object = json!({
            "metadata": {"name": name},
            "spec": {"initContainers": [{"name": "before"}], "containers": [{"name": "web"}, {"name": "helper"}]},
            "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}],
                "initContainerStatuses": [{"name": "before", "state": {"terminated": {"reason": "Completed"}}}],
                "containerStatuses": [{"name": "web", "state": {"running": {}}}, {"name": "helper", "state": {"waiting": {}}}]},
        });
        Pod { component: component.to_owned(), object }
    }

    fn one(pods: &[Pod], component: Option<&str>, pod: Option<&str>) -> std::result::Result<String, String> {
        let chosen = Wanted { application: "shop", component, pod }.one(pods);
        chosen.map(|(pod, _)| pod.name().to_owned()).map_err(|failure| failure.texts().join("\n"))
    }

    #[test]
    fn the_first_pod_that_is_ready_is_meant() {
        let all = [
            pod("web", "a", "Pending", "False"),
            pod("web", "b", "Running", "False"),
            pod("web", "c", "Running", "True"),
        ];
        assert_eq!(one(&all, None, None).as_deref(), Ok("c"));
        assert_eq!(one(&all[..2], None, None).as_deref(), Ok("b"));
        assert_eq!(one(&all, None, Some("b")).as_deref(), Ok("b"));
        let refused = one(&all, None, Some("a")).unwrap_err();
        assert!(refused.contains("pod a of shop does not run: Pending"), "{refused}");
        assert!(one(&[], None, None).unwrap_err().contains("shop has no pod"));
    }

    #[test]
    fn of_several_components_one_has_to_be_chosen() {
        let all = [pod("back", "a", "Running", "True"), pod("web", "b", "Running", "True")];
        let refused = one(&all, None, None).unwrap_err();
        assert!(refused.contains("pods of 2 components") && refused.contains("(back, web)"), "{refused}");
        assert_eq!(one(&all, Some("web"), None).as_deref(), Ok("b"));
        assert!(one(&all, Some("db"), None).unwrap_err().contains("component \"db\" of shop has no pod"));
    }

    #[test]
    fn a_container_that_does_not_run_is_told() {
        let mut pod = pod("web", "a", "Running", "True");
        assert_eq!(container(&pod, None).unwrap(), "web");
        let refused = |wanted| container(&pod, Some(wanted)).unwrap_err().texts().join("\n");
        assert!(refused("helper").contains("container helper of pod a does not run: waiting"));
        assert!(refused("before").contains("terminated (Completed)"));
        assert!(
            refused("db").contains("has no container \"db\"")
                && refused("db").contains("before, web, helper")
        );
        pod.object["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/default-container": "helper"});
        assert!(container(&pod, None).unwrap_err().texts()[0].contains("helper"));
    }
}
