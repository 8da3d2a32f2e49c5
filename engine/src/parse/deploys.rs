//! Expands `deploy` steps: further components, and the components that each step applies.

use serde_json::{Map, Value as Json};

use super::{Component, Parser, Workflow};
use crate::diagnostic::Code;
use crate::policy::Deployment;

impl<'a> Parser<'a> {
    /// Tells each step which components it applies: those written, and others behind them where policies change some.
    /// Equal components of two steps are one component.
    pub(super) fn deployed(
        &mut self,
        deployments: &'a [Deployment],
        spec: &Map<String, Json>,
        components: &mut Vec<Component>,
        workflow: &mut Workflow,
    ) {
        let written = spec.get("components").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        let of_written = components.len();
        let mut made: Vec<(&'a Json, usize)> = Vec::new();
        for deployment in deployments {
            if deployment.is_beyond {
                let message = "the deploy steps of the workflow make too many components of those written";
                let hint = "name fewer override policies, or deploy in several applications".to_owned();
                self.error(Code::Limit, &deployment.step, message, Some(hint));
                continue;
            }
            let mut deploys = Vec::new();
            match &deployment.components {
                None => deploys.extend(0..of_written),
                Some(changed) => {
                    for value in changed {
                        let name =
                            value["name"].as_str().and_then(|name| name.strip_suffix(&deployment.suffix));
                        let place = written.iter().position(|one| one["name"].as_str() == name);
                        let path = place.map(|at| format!("spec.components[{at}]"));
                        let is_as_written = place.is_some_and(|at| written[at] == *value);
                        let known = match made.iter().find(|(one, _)| *one == value) {
                            Some((_, known)) => Some(*known),
                            None if is_as_written => components[..of_written]
                                .iter()
                                .position(|component| Some(&component.path) == path.as_ref()),
                            None => {
                                let path = path.unwrap_or_else(|| deployment.step.clone());
                                let component = self.changed(path, value);
                                component.map(|component| {
                                    components.push(component);
                                    made.push((value, components.len() - 1));
                                    components.len() - 1
                                })
                            }
                        };
                        deploys.extend(known);
                    }
                }
            }
            if let Some(step) = workflow.steps.iter_mut().find(|step| step.path == deployment.step) {
                step.deploys = deploys;
            }
        }
    }

    /// A component as policies change it; what is wrong with it as it is written is said once.
    fn changed(&mut self, path: String, value: &'a Json) -> Option<Component> {
        let before = std::mem::take(&mut self.found);
        let fields = self.object(&path, Some(value));
        let component = self.component(path, fields);
        let now = std::mem::replace(&mut self.found, before);
        self.found.extend_new(now);
        component
    }
}
