//! An Application whose workflow has `deploy` steps → an Application for each step that makes objects: with that
//! step alone, and with those policies about places and forms that it names.

use serde_json::{Map, Value as Json, json};

use crate::definition::version::base_name;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::manifest::Document;
use crate::nearest;
use crate::plan::DEPLOY;
use crate::workflow::{APPLY_COMPONENT, DEPLOY_TO_ENV, STEP_GROUP, STEPS_AT_MOST, SUSPEND};

/// Types of policies that hold only in the steps that name them.
const NAMED_BY_STEPS: [&str; 3] = ["topology", "override", "replication"];

/// A step of a workflow, as a preview shows it.
#[derive(Debug, Clone)]
pub struct PreviewStep {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_: String,
    /// The policies that it names, in its order.
    pub policies: Vec<String>,
    /// The application that makes what the step makes; nothing where that cannot be foreseen.
    pub application: Option<Document>,
}

/// A step as it is written.
struct Written<'a> {
    step: &'a Json,
    path: String,
}

impl Written<'_> {
    fn text(&self, field: &str) -> &str {
        self.step[field].as_str().unwrap_or_default()
    }

    fn type_(&self) -> &str {
        base_name(self.text("type"))
    }

    fn policies(&self) -> impl Iterator<Item = &str> {
        let all = self.step["properties"]["policies"].as_array().into_iter().flatten();
        all.filter_map(Json::as_str)
    }
}

/// The steps of an application whose workflow has `deploy` steps, those of groups in place of the group; none where it has no
/// such step: then the application itself is what a preview shows.
///
/// # Errors
/// A step names a policy that is not there.
pub fn steps(application: &Document) -> Result<Vec<PreviewStep>, Diagnostics> {
    let all = written(application.value());
    if !all.iter().any(|step| [DEPLOY, DEPLOY_TO_ENV].contains(&step.type_())) {
        return Ok(Vec::new());
    }
    let mut found = Diagnostics::new();
    for step in all.iter().filter(|step| step.type_() == DEPLOY) {
        unknown(application, step, &mut found);
    }
    let shown = all.iter().filter(|step| ![SUSPEND, STEP_GROUP].contains(&step.type_()));
    let steps: Vec<PreviewStep> = shown.map(|step| preview(application, step)).collect();
    found.or(steps).map(|(steps, _)| steps)
}

/// Names of the policies that steps name and the application does not have.
pub(super) fn wanted_policies(application: &Json) -> Vec<String> {
    let own = policy_names(application);
    let all = written(application);
    let named = all.iter().filter(|step| step.type_() == DEPLOY).flat_map(|step| step.policies());
    named.filter(|name| !own.contains(name)).map(str::to_owned).collect()
}

fn written(application: &Json) -> Vec<Written<'_>> {
    let list = |value: &Json, path: String| -> Vec<(usize, String)> {
        let count = value.as_array().map_or(0, Vec::len).min(STEPS_AT_MOST);
        (0..count).map(|index| (index, format!("{path}[{index}]"))).collect()
    };
    let top = &application["spec"]["workflow"]["steps"];
    let mut all = Vec::new();
    for (index, path) in list(top, "spec.workflow.steps".to_owned()) {
        let step = &top[index];
        let below = list(&step["subSteps"], format!("{path}.subSteps"));
        all.push(Written { step, path });
        all.extend(below.into_iter().map(|(index, path)| Written { step: &step["subSteps"][index], path }));
    }
    all
}

fn policy_names(application: &Json) -> Vec<&str> {
    let policies = application["spec"]["policies"].as_array().into_iter().flatten();
    policies.filter_map(|policy| policy["name"].as_str()).collect()
}

/// Policies that a step names and that do not exist.
fn unknown(application: &Document, step: &Written<'_>, found: &mut Diagnostics) {
    let own = policy_names(application.value());
    for (index, name) in step.policies().enumerate().filter(|(_, name)| !own.contains(name)) {
        let message = format!("step {:?} goes by policy {name:?}, which does not exist", step.text("name"));
        let advice = nearest::advice(name, "policies", own.iter().copied());
        let hint = advice.map_or_else(String::new, |advice| format!("{advice}; "));
        let hint = format!("{hint}a Policy that stands by itself is given as a file, too");
        let path = format!("{}.properties.policies[{index}]", step.path);
        found.push(Diagnostic::error(Code::UnknownReference, message).at(application, path).hint(hint));
    }
}

fn preview(application: &Document, step: &Written<'_>) -> PreviewStep {
    let shown = match step.type_() {
        DEPLOY | DEPLOY_TO_ENV => Some(deployed(application, step)),
        APPLY_COMPONENT => Some(applied(application, step)),
        _ => None,
    };
    PreviewStep {
        name: step.text("name").to_owned(),
        type_: step.text("type").to_owned(),
        policies: step.policies().map(str::to_owned).collect(),
        application: shown,
    }
}

/// The components of the step, as its policies select them.
fn deployed(application: &Document, step: &Written<'_>) -> Document {
    let mut spec = spec_of(application);
    let (mut policies, named) = policies(application);
    let wanted = step.policies().filter_map(|name| named.iter().find(|policy| policy["name"] == name));
    policies.extend(wanted.cloned());
    spec.insert("policies".to_owned(), Json::Array(policies));
    // Selectors and copies are of the step alone; what it waits for and takes is shown by others.
    let alone: Map<String, Json> =
        ["name", "type", "properties"].into_iter().filter_map(|field| entry(step.step, field)).collect();
    spec.insert("workflow".to_owned(), json!({"steps": [alone]}));
    with_spec(application, spec)
}

fn entry(object: &Json, field: &str) -> Option<(String, Json)> {
    Some((field.to_owned(), object.get(field)?.clone()))
}

/// One component, at the place that the step says. It waits for no other: those are shown by their own steps.
fn applied(application: &Document, step: &Written<'_>) -> Document {
    let mut spec = spec_of(application);
    let wanted = &step.step["properties"]["component"];
    let all = spec.get("components").and_then(Json::as_array).into_iter().flatten();
    let mut components: Vec<Json> = all.filter(|component| component["name"] == *wanted).cloned().collect();
    for component in components.iter_mut().filter_map(Json::as_object_mut) {
        for field in ["dependsOn", "inputs", "outputs"] {
            component.remove(field);
        }
    }
    spec.insert("components".to_owned(), Json::Array(components));
    let (mut policies, _) = policies(application);
    let place = |field: &str| step.step["properties"][field].as_str().filter(|text| !text.is_empty());
    let mut properties = Map::new();
    if let Some(namespace) = place("namespace") {
        properties.insert("namespace".to_owned(), json!(namespace));
    }
    if let Some(cluster) = place("cluster") {
        properties.insert("clusters".to_owned(), json!([cluster]));
    }
    if !properties.is_empty() {
        policies.push(json!({"name": step.text("name"), "type": "topology", "properties": properties}));
    }
    spec.insert("policies".to_owned(), Json::Array(policies));
    with_spec(application, spec)
}

/// The spec without its workflow.
fn spec_of(application: &Document) -> Map<String, Json> {
    let mut spec = application.value()["spec"].as_object().cloned().unwrap_or_default();
    spec.remove("workflow");
    spec
}

/// The policies that hold for every step, and those that hold for the steps that name them.
fn policies(application: &Document) -> (Vec<Json>, Vec<Json>) {
    let all = application.value()["spec"]["policies"].as_array().into_iter().flatten().cloned();
    all.partition(|policy| !NAMED_BY_STEPS.contains(&base_name(policy["type"].as_str().unwrap_or_default())))
}

/// The places of the text are those of other fields by now, so none are given.
fn with_spec(application: &Document, spec: Map<String, Json>) -> Document {
    let mut value = application.value().clone();
    value["spec"] = Json::Object(spec);
    Document::from_object(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shop(steps: Json) -> Document {
        Document::from_object(json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "shop"},
            "spec": {
                "components": [{"name": "back", "type": "worker"}, {"name": "front", "type": "worker", "dependsOn": ["back"]}],
                "policies": [
                    {"name": "near", "type": "topology", "properties": {"namespace": "near"}},
                    {"name": "far", "type": "topology", "properties": {"namespace": "far"}},
                    {"name": "many", "type": "override", "properties": {"components": [{"properties": {"cmd": ["x"]}}]}},
                    {"name": "once", "type": "apply-once", "properties": {"enable": true}},
                ],
                "workflow": {"steps": steps},
            },
        }))
    }

    fn names(step: &PreviewStep, list: &str) -> Vec<String> {
        let application = step.application.as_ref().unwrap().value();
        let all = application["spec"][list].as_array().unwrap().iter();
        all.map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn each_deploy_step_has_the_policies_that_it_names() {
        let shop = shop(json!([
            {"name": "first", "type": "deploy", "properties": {"policies": ["near"]}},
            {"name": "look", "type": "suspend"},
            {"name": "rest", "type": "step-group", "subSteps": [
                {"name": "second", "type": "deploy@v1", "properties": {"policies": ["many", "far"]}},
                {"name": "say", "type": "notification"},
            ]},
        ]));
        let all = steps(&shop).unwrap();
        let shown: Vec<&str> = all.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(shown, ["first", "second", "say"]);
        assert_eq!(names(&all[0], "policies"), ["once", "near"]);
        assert_eq!(names(&all[1], "policies"), ["once", "many", "far"]);
        assert_eq!(names(&all[1], "components"), ["back", "front"]);
        let alone =
            json!([{"name": "second", "type": "deploy@v1", "properties": {"policies": ["many", "far"]}}]);
        assert_eq!(all[1].application.as_ref().unwrap().value()["spec"]["workflow"]["steps"], alone);
        assert!(all[2].application.is_none());
    }

    #[test]
    fn a_step_that_applies_one_component_says_its_place() {
        let shop = shop(json!([
            {"name": "first", "type": "apply-component", "properties": {"component": "front", "namespace": "near"}},
            {"name": "second", "type": "deploy", "properties": {}},
        ]));
        let all = steps(&shop).unwrap();
        assert_eq!(names(&all[0], "components"), ["front"]);
        assert_eq!(names(&all[0], "policies"), ["once", "first"]);
        let first = all[0].application.as_ref().unwrap().value();
        assert_eq!(first["spec"]["components"][0].get("dependsOn"), None);
        assert_eq!(first["spec"]["policies"][1]["properties"], json!({"namespace": "near"}));
        assert_eq!(names(&all[1], "policies"), ["once"]);
    }

    #[test]
    fn other_workflows_are_shown_whole() {
        let shop =
            shop(json!([{"name": "first", "type": "apply-component", "properties": {"component": "back"}}]));
        assert!(steps(&shop).unwrap().is_empty());
    }

    #[test]
    fn an_absent_policy_is_reported_with_the_nearest_name() {
        let shop =
            shop(json!([{"name": "first", "type": "deploy", "properties": {"policies": ["once", "naer"]}}]));
        let found = steps(&shop).unwrap_err();
        let first = found.iter().next().unwrap();
        assert_eq!(first.message, "step \"first\" goes by policy \"naer\", which does not exist");
        assert_eq!(first.path, "spec.workflow.steps[0].properties.policies[1]");
        assert!(first.hint.as_ref().is_some_and(|hint| hint.contains("near")), "{:?}", first.hint);
    }
}
