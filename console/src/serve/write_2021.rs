//! Answers what the REST API of early 2021 writes: environments, applications, components, traits. What it decides about environments
//! and Appfiles is what the commands of the program decide.

use std::future::Future;
use std::sync::Arc;

use http::{HeaderMap, Response, StatusCode};
use kube::Client;
use serde_json::Value;
use vela_engine::preview::written_fields;
use vela_engine::{DefinitionKind, Document};

use super::console::{Console, Inner};
use super::deploy::NAME_AT_MOST;
use super::send::{BoxError, Sent};
use crate::answer::{self, Body};
use crate::commands::{Commands, Environment, FromAppfile};
use crate::data::api_2021::{self, Answer, ChangedEnvironment, NewEnvironment};
use crate::data::centers_2021::CenterBody;
use crate::data::deploy::{self, Seen, content_hash};
use crate::data::traits_2021::{self, TraitBody};
use crate::data::workloads_2021::{Place, WorkloadBody};
use crate::error::Error;
use crate::find::Names;
use crate::submit;
use crate::write::Write2021;

impl Console {
    /// Answers a write that a page or a program of this console asked for.
    pub(super) async fn written_2021<B: Sent>(
        &self,
        write: Write2021,
        headers: &HeaderMap,
        names: &Names,
        body: B,
    ) -> Result<Response<Body>, Error>
    where
        B::Error: Into<BoxError>,
    {
        let (env, app) = (names.get("env"), names.get("app"));
        let said = match write {
            Write2021::MakeEnvironment => {
                let body = submit::whole(body).await?;
                let wanted = submit::json_2021::<NewEnvironment>(headers, &body, "environment")?.wanted()?;
                self.make_environment(wanted).await?
            }
            Write2021::ChangeEnvironment => {
                let body = submit::whole(body).await?;
                let wanted = submit::json_2021::<ChangedEnvironment>(headers, &body, "environment")?;
                self.change_environment(wanted.wanted(env)?).await?
            }
            Write2021::ChooseEnvironment => self.choose_environment(names).await?,
            Write2021::DeleteEnvironment => self.delete_environment(names).await?,
            Write2021::DeployAppfile | Write2021::ChangeApplication => {
                let body = submit::whole(body).await?;
                let appfile: Value = submit::json_2021(headers, &body, "Appfile")?;
                let path = (write == Write2021::ChangeApplication).then_some(app);
                self.deploy_appfile(names, path, &appfile, submit::text(&body)?).await?
            }
            Write2021::DeleteApplication => {
                let namespace = self.namespace_of_environment(names).await?;
                self.delete(&namespace, app).await?.message
            }
            Write2021::RunWorkload => {
                let body = submit::whole(body).await?;
                let new = submit::json_2021::<WorkloadBody>(headers, &body, "component")?.placed()?;
                let namespace = self.namespace_of_name(&new.place.env).await?;
                self.run_workload(&namespace, &new).await?
            }
            Write2021::ChangeComponent => {
                let (body, component) = (submit::whole(body).await?, names.get("component"));
                let new = submit::json_2021::<WorkloadBody>(headers, &body, "component")?;
                let place =
                    Place { env: env.to_owned(), app: app.to_owned(), component: component.to_owned() };
                let new = new.at(place)?;
                let namespace = self.namespace_of_environment(names).await?;
                let written = self.change_component(&namespace, &new).await?;
                return Ok(answer::json(StatusCode::OK, &Answer::of(written)));
            }
            Write2021::DeleteComponent => {
                let namespace = self.namespace_of_environment(names).await?;
                self.delete_component(&namespace, app, names.get("component")).await?
            }
            Write2021::AttachTrait => {
                let (body, component) = (submit::whole(body).await?, names.get("component"));
                let new = submit::json_2021::<TraitBody>(headers, &body, "trait")?.at(env, app, component)?;
                let namespace = self.namespace_of_environment(names).await?;
                self.attach_trait(&namespace, app, component, &new).await?
            }
            Write2021::DetachTrait => {
                let namespace = self.namespace_of_environment(names).await?;
                self.detach_trait(&namespace, app, names.get("component"), names.get("trait")).await?
            }
            Write2021::ConfigureCenter => {
                let body = submit::whole(body).await?;
                let wanted =
                    submit::json_2021::<CenterBody>(headers, &body, "capability center")?.wanted()?;
                self.configure_center(wanted).await?
            }
            Write2021::SyncCenter => self.sync_center(names).await?,
            Write2021::RemoveCenter => self.remove_center(names).await?,
            Write2021::InstallCapability => self.install_capability(names).await?,
            Write2021::UninstallCapability => self.uninstall_capability(names).await?,
        };
        Ok(answer::json(StatusCode::OK, &Answer::of(said)))
    }

    async fn make_environment(&self, wanted: Environment) -> Result<String, Error> {
        let object = of_environment(&wanted.name);
        let work = async {
            let (client, _) = self.writer()?;
            self.is_of_this_console(&wanted.namespace)?;
            match api_2021::environments(client, "", Some(&wanted.name)).await {
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
                Ok(_) => return Err(Error::Refused(format!("Env {} already exist", wanted.name))),
            }
            Ok(self.commands()?.init(client, wanted).await?)
        };
        self.audited("env init", object, work).await
    }

    async fn change_environment(&self, wanted: Environment) -> Result<String, Error> {
        let object = of_environment(&wanted.name);
        let work = async {
            let (client, _) = self.writer()?;
            self.is_of_this_console(&wanted.namespace)?;
            let before = api_2021::environments(client, "", Some(&wanted.name)).await?;
            for environment in before {
                self.is_of_this_console(&environment.namespace)?;
            }
            self.commands()?.relocate(client, wanted).await?;
            Ok("Update env succeed".to_owned())
        };
        self.audited("env change", object, work).await
    }

    async fn choose_environment(&self, names: &Names) -> Result<String, Error> {
        let name = names.get("env");
        let work = async {
            let (client, _) = self.writer()?;
            self.is_of_this_console(&self.namespace_of_environment(names).await?)?;
            Ok(self.commands()?.choose(client, name.to_owned()).await?)
        };
        self.audited("env set", of_environment(name), work).await
    }

    async fn delete_environment(&self, names: &Names) -> Result<String, Error> {
        let name = names.get("env");
        let work = async {
            let (client, _) = self.writer()?;
            self.is_of_this_console(&self.namespace_of_environment(names).await?)?;
            Ok(self.commands()?.delete(client, name.to_owned()).await?)
        };
        self.audited("env delete", of_environment(name), work).await
    }

    /// Deploys an Appfile as `vela up` does; over the application of the path, where there is one.
    async fn deploy_appfile(
        &self,
        names: &Names,
        path: Option<&str>,
        appfile: &Value,
        text: &str,
    ) -> Result<String, Error> {
        let namespace = self.namespace_of_environment(names).await?;
        let namespace = namespace.as_str();
        let name: String = appfile["name"].as_str().unwrap_or_default().chars().take(NAME_AT_MOST).collect();
        let work = async {
            let (client, manager) = self.writer()?;
            self.is_within(namespace)?;
            if let Some(path) = path {
                self.is_shown(namespace, path).await?;
                if path != name {
                    return Err(Error::Invalid(format!(
                        "name: the Appfile says {name:?} and the path {path:?}; write the same in both"
                    )));
                }
            }
            let FromAppfile { application, warnings } = {
                // It is rendered, and two places are for that.
                let _place = self.place_of_run()?;
                self.commands()?.application(client, namespace.to_owned(), text.to_owned()).await?
            };
            let application = Document::from_object(application);
            let live = self.planner().live(namespace, application.name()).await?;
            self.is_deployable(&application).await?;
            let (version, hash) = self.version_of(&live);
            let seen = Seen { version, content_hash: &hash, key: self.inner.access.form_token() };
            deploy::write(client, &application, seen, manager).await.map_err(in_between)?;
            let done = if live.is_null() { "created" } else { "updated" };
            Ok((application, format!("application {name} is successfully {done}"), warnings))
        };
        let object = format!("Application {namespace}/{name}");
        let (application, said, warnings) = self.audited("deploy", object, work).await?;
        self.seen(namespace, application.name()).await;
        Ok(std::iter::once(said).chain(warnings).collect::<Vec<_>>().join("\n"))
    }

    /// Takes a component out of an application, if it would run without.
    async fn delete_component(&self, namespace: &str, name: &str, component: &str) -> Result<String, Error> {
        let change = async { Ok(|live: &Value| api_2021::without_component(live, component)) };
        let order = format!("delete component {component}");
        self.change_components((namespace, name), &order, change).await?;
        Ok(format!(
            "the component {component} is out of the application {name}, and its objects are being deleted"
        ))
    }

    /// Gives a component a trait, if the application would run with it.
    async fn attach_trait(
        &self,
        namespace: &str,
        name: &str,
        component: &str,
        new: &TraitBody,
    ) -> Result<String, Error> {
        let type_ = &new.name;
        let change = async {
            let (client, all) = (&self.inner.client, self.namespaces());
            let (namespaces, kinds) = (all.around(namespace), [DefinitionKind::Trait]);
            let parameters = api_2021::parameters_of_type(client, &namespaces, &kinds, type_).await?;
            let new = new.with_values(&parameters)?;
            Ok(move |live: &Value| traits_2021::attached(live, component, &new))
        };
        let order = format!("attach trait {type_} to component {component}");
        self.change_components((namespace, name), &order, change).await?;
        Ok(format!("the component {component} of the application {name} has the trait {type_} now"))
    }

    /// Takes a trait away from a component, if the application would run without.
    async fn detach_trait(
        &self,
        namespace: &str,
        name: &str,
        component: &str,
        type_: &str,
    ) -> Result<String, Error> {
        let change = async { Ok(|live: &Value| traits_2021::detached(live, component, type_)) };
        let order = format!("detach trait {type_} from component {component}");
        self.change_components((namespace, name), &order, change).await?;
        Ok(format!("the component {component} of the application {name} has no trait {type_} any more"))
    }

    /// Writes the components of a stored application as `change` makes them, if it would run with them.
    pub(super) async fn change_components<C>(
        &self,
        (namespace, name): (&str, &str),
        order: &str,
        change: impl Future<Output = Result<C, Error>>,
    ) -> Result<Value, Error>
    where
        C: FnOnce(&Value) -> Result<Value, Error>,
    {
        let work = async {
            let (client, manager) = self.writer()?;
            self.is_within(namespace)?;
            self.is_shown(namespace, name).await?;
            let change = change.await?;
            let live = self.planner().live(namespace, name).await?;
            self.write_components(&live, change, (client, manager)).await
        };
        self.audited(order, format!("Application {namespace}/{name}"), work).await
    }

    /// The same without an audit, over the application that was read.
    pub(super) async fn write_components(
        &self,
        live: &Value,
        change: impl FnOnce(&Value) -> Result<Value, Error>,
        (client, manager): (&Client, &str),
    ) -> Result<Value, Error> {
        let components = change(live)?;
        let mut after = written_fields(live);
        after["spec"]["components"] = components.clone();
        let after = Document::from_object(after);
        self.is_deployable(&after).await?;
        let (version, hash) = self.version_of(live);
        let seen = Seen { version, content_hash: &hash, key: self.inner.access.form_token() };
        let place = (after.namespace(), after.name());
        deploy::write_components(client, place, &components, seen, manager).await.map_err(in_between)
    }

    /// What tells a stored application from a later one; both are empty where there is none.
    fn version_of<'a>(&self, live: &'a Value) -> (&'a str, String) {
        if live.is_null() {
            return ("", String::new());
        }
        let version = live["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        (version, content_hash(self.inner.access.form_token(), live))
    }

    pub(super) fn commands(&self) -> Result<Arc<dyn Commands>, Error> {
        self.inner.options.commands.clone().ok_or_else(|| {
            Error::NotSupported(
                "the program that started this console keeps no environments and no centers".to_owned(),
            )
        })
    }

    /// A console of one namespace keeps no environment that is another.
    fn is_of_this_console(&self, namespace: &str) -> Result<(), Error> {
        let Inner { options, .. } = &*self.inner;
        match options.namespace.as_deref() {
            Some(own) if own != namespace => Err(Error::OutOfReach(format!(
                "this console is for namespace {own:?} alone, and the environment is namespace {namespace:?}; start `vela \
                 dashboard` without -n for others"
            ))),
            _ => Ok(()),
        }
    }
}

fn of_environment(name: &str) -> String {
    format!("Environment {name}")
}

/// No plan was made, so that none can be made anew.
pub(super) fn in_between(error: Error) -> Error {
    match error {
        Error::Refused(_) => Error::Refused(
            "the application was changed, created or deleted by another in this moment, so nothing was written; look at it, and \
             send it again"
                .to_owned(),
        ),
        error => error,
    }
}
