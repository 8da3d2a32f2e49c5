//! Answers what the REST API of early 2021 writes of components by their parameters: one more, or one in place of that of its name.

use serde_json::Value;
use vela_engine::{DefinitionKind, Document};

use super::console::Console;
use super::write_2021::in_between;
use crate::data::api_2021;
use crate::data::applications;
use crate::data::deploy::{self, Seen};
use crate::data::workloads_2021::{self, Component, NewComponent};
use crate::error::Error;

impl Console {
    /// Gives an application a component; makes the application where there is none.
    pub(super) async fn run_workload(&self, namespace: &str, new: &NewComponent) -> Result<String, Error> {
        let (app, name) = (new.place.app.as_str(), new.place.component.as_str());
        let work = async {
            let (client, manager) = self.writer()?;
            self.is_within(namespace)?;
            let component = self.component_of(namespace, new).await?;
            let live = self.planner().live(namespace, app).await?;
            if !live.is_null() {
                let with = |live: &Value| Ok(component.among(live));
                self.write_components(&live, with, (client, manager)).await?;
                return Ok(format!("the application {app} has the component {name} as it was sent"));
            }
            let made = workloads_2021::application(namespace, app, &component);
            let application = Document::from_object(made);
            self.is_deployable(&application).await?;
            let seen = Seen { version: "", content_hash: "", key: self.inner.access.form_token() };
            deploy::write(client, &application, seen, manager).await.map_err(in_between)?;
            Ok(format!("application {app} is successfully created, with the component {name}"))
        };
        let said = self.audited(&order(name), format!("Application {namespace}/{app}"), work).await?;
        self.seen(namespace, app).await;
        Ok(said)
    }

    /// Writes a component over the one of its name; gives it as components are read.
    pub(super) async fn change_component(&self, namespace: &str, new: &NewComponent) -> Result<Value, Error> {
        let (app, name) = (new.place.app.as_str(), new.place.component.as_str());
        let change = async {
            let component = self.component_of(namespace, new).await?;
            Ok(move |live: &Value| {
                let all = live["spec"]["components"].as_array();
                match all.is_some_and(|all| all.iter().any(|one| one["name"] == name)) {
                    true => Ok(component.among(live)),
                    false => Err(Error::NotFound(format!("the application {app} has no component {name:?}"))),
                }
            })
        };
        let written = self.change_components((namespace, app), &order(name), change).await?;
        api_2021::component(&applications::summary(&written), name)
    }

    /// The component with values of the types that the definitions say.
    async fn component_of(&self, namespace: &str, new: &NewComponent) -> Result<Component, Error> {
        let (client, all) = (&self.inner.client, self.namespaces());
        let namespaces = all.around(namespace);
        let kinds = [DefinitionKind::Component, DefinitionKind::Workload];
        let parameters = api_2021::parameters_of_type(client, &namespaces, &kinds, &new.type_).await?;
        let properties = new.properties(&parameters)?;
        let mut traits = Vec::with_capacity(new.traits.len());
        for (index, one) in new.traits.iter().enumerate() {
            let kinds = [DefinitionKind::Trait];
            let parameters = api_2021::parameters_of_type(client, &namespaces, &kinds, &one.name).await?;
            let with_values = one.with_values(&parameters);
            traits.push(with_values.map_err(|error| Error::Invalid(format!("traits[{index}].{error}")))?);
        }
        let (name, type_) = (new.place.component.clone(), new.type_.clone());
        Ok(Component { name, type_, properties, traits })
    }
}

fn order(component: &str) -> String {
    format!("deploy component {component}")
}
