//! A pod and the rules that hold for it → a patch of its images. Pure.

use serde_json::{Value, json};

use super::choice::ServerRule;
use super::reference::Reference;

/// The lists of containers that a pod may be made with.
const LISTS: [&str; 2] = ["containers", "initContainers"];

/// What becomes of a pod.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Rewritten {
    /// A JSON patch; empty where all images stay.
    pub(super) patch: Vec<Value>,
    /// Why some of them stay.
    pub(super) warnings: Vec<String>,
}

/// Rewrites what a rule holds for.
pub(super) fn rewrite(pod: &Value, rules: &[ServerRule]) -> Rewritten {
    let mut rewritten = Rewritten::default();
    for list in LISTS {
        let containers = pod["spec"][list].as_array().into_iter().flatten();
        for (at, container) in containers.enumerate() {
            let Some(image) = container["image"].as_str().filter(|image| !image.is_empty()) else { continue };
            let place = format!("spec.{list}[{at}].image");
            let Some(reference) = Reference::read(image) else {
                rewritten.warnings.push(format!("{place}: {image:?} is no image, and stays as it is"));
                continue;
            };
            if let Some(rule) = rule_of(&reference, rules) {
                let value = reference.of_project(&rule.server, rule.rule.project());
                let path = format!("/spec/{list}/{at}/image");
                rewritten.patch.push(json!({"op": "replace", "path": path, "value": value}));
            }
        }
    }
    rewritten
}

/// The first rule that names the registry, else the first one for all of them.
fn rule_of<'a>(image: &Reference<'_>, rules: &'a [ServerRule]) -> Option<&'a ServerRule> {
    // What comes from one of the Harbors already was rewritten, or is what its author means.
    if rules.iter().any(|rule| rule.server == image.registry()) {
        return None;
    }
    let holds = |all: bool| {
        rules.iter().find(|one| one.rule.is_for_all() == all && one.rule.is_for(image.registry()))
    };
    holds(false).or_else(|| holds(true))
}

#[cfg(test)]
mod tests {
    use super::super::super::rule;
    use super::*;
    use crate::field::Field;

    fn rules(of: &[(&str, &[&str])]) -> Vec<ServerRule> {
        let of_one = |(server, rules): &(&str, &[&str])| {
            let value = json!(rules);
            let read =
                rule::of_list(&Field::new("HarborServerConfiguration main", "spec.rules", &value)).unwrap();
            read.into_iter().map(|rule| ServerRule { server: (*server).to_owned(), rule }).collect::<Vec<_>>()
        };
        of.iter().flat_map(of_one).collect()
    }

    /// What becomes of one image.
    fn rewritten(image: &str, rules: &[ServerRule]) -> Option<String> {
        let pod = json!({"spec": {"containers": [{"name": "app", "image": image}]}});
        let Rewritten { patch, warnings } = rewrite(&pod, rules);
        assert_eq!(warnings, Vec::<String>::new());
        patch.first().map(|step| step["value"].as_str().unwrap().to_owned())
    }

    #[test]
    fn the_first_rule_that_names_the_registry_holds() {
        let rules = rules(&[
            ("own.example", &["*,any", "docker.io,docker"]),
            ("main.example:8443", &["docker.io,late", "^quay\\.io$,quay", "*,late"]),
        ]);
        for (image, expected) in [
            ("nginx:1", "own.example/docker/library/nginx:1"),
            ("quay.io/a/b", "main.example:8443/quay/a/b:latest"),
            ("ghcr.io/a/b:2", "own.example/any/a/b:2"),
        ] {
            assert_eq!(rewritten(image, &rules).as_deref(), Some(expected), "{image}");
        }
    }

    #[test]
    fn an_image_without_a_rule_stays() {
        let rules = rules(&[("own.example", &["docker.io,docker"])]);
        assert_eq!(rewritten("quay.io/a/b", &rules), None);
        assert_eq!(rewritten("nginx", &[]), None);
    }

    #[test]
    fn an_image_of_one_of_the_harbors_stays() {
        let rules = rules(&[("own.example", &["*,any"]), ("main.example", &["*,any"])]);
        let once = rewritten("nginx", &rules).unwrap();
        assert_eq!(once, "own.example/any/library/nginx:latest");
        assert_eq!(rewritten(&once, &rules), None);
        assert_eq!(rewritten("main.example/team/app:1", &rules), None);
    }

    #[test]
    fn a_pod_is_patched_in_all_its_containers() {
        let rules = rules(&[("own.example", &["docker.io,docker"])]);
        let pod = json!({"spec": {
            "containers": [{"image": "quay.io/a"}, {"image": "a"}, {"image": "No image"}, {}],
            "initContainers": [{"image": "b@none"}, {"image": "b:2"}, {"image": 7}, {"image": ""}],
        }});
        let Rewritten { patch, warnings } = rewrite(&pod, &rules);
        let expected = json!([
            {"op": "replace", "path": "/spec/containers/1/image", "value": "own.example/docker/library/a:latest"},
            {"op": "replace", "path": "/spec/initContainers/1/image", "value": "own.example/docker/library/b:2"},
        ]);
        assert_eq!(json!(patch), expected);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert_eq!(warnings[0], "spec.containers[2].image: \"No image\" is no image, and stays as it is");
        assert!(warnings[1].starts_with("spec.initContainers[0].image: "), "{warnings:?}");
    }

    #[test]
    fn what_is_no_pod_is_left_alone() {
        for pod in
            [json!(null), json!({}), json!({"spec": 7}), json!({"spec": {"containers": {"image": "a"}}})]
        {
            assert_eq!(rewrite(&pod, &rules(&[("own.example", &["*,any"])])), Rewritten::default(), "{pod}");
        }
    }
}
