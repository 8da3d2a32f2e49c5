//! Answers what plans, deploys and deletes an application.

use std::time::Duration;

use http::{HeaderMap, Response, StatusCode};
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use vela_engine::{Code, Document};
use vela_runtime::clock;

use super::console::{Console, Inner};
use super::send::{BoxError, Sent};
use crate::answer::{Body, html, json};
use crate::data::definitions::{self, COMPONENTS, Described};
use crate::data::deploy::{self, Deletion, Seen};
use crate::data::dry_run::{DryRun, Finding};
use crate::data::form::Filled;
use crate::data::plan::{Plan, Planner, single};
use crate::data::view::view;
use crate::error::{Cause, Error};
use crate::find::Names;
use crate::pages::Written;
use crate::query::Query;
use crate::write::Write;
use crate::{pages, submit};

/// The field manager of `vela up`, by which a console that only reads compares.
const AUTHOR: &str = "vela-cli";
/// Characters of a name that an audit line repeats.
pub(super) const NAME_AT_MOST: usize = 253;
/// An application that was written is seen by the watch within this time; a page that comes earlier says that it is not there.
const SEEN_WITHIN: Duration = Duration::from_secs(5);

impl Console {
    /// Answers what is written at a path that is also read.
    pub(super) async fn written<B: Sent>(
        &self,
        write: Write,
        headers: &HeaderMap,
        (names, query): (&Names, &Query),
        body: B,
    ) -> Result<Response<Body>, Error>
    where
        B::Error: Into<BoxError>,
    {
        let access = &self.inner.access;
        access.same_origin(headers)?;
        access.has_header_token(headers)?;
        let (namespace, name) = (names.get("namespace"), names.get("name"));
        match write {
            Write::Deploy => {
                let text = submit::manifest(headers, &submit::whole(body).await?)?;
                let written = self.deploy((namespace, name), &text, query).await?;
                Ok(json(StatusCode::OK, &view(written, clock::now())))
            }
            Write::Delete => Ok(json(StatusCode::OK, &self.delete(namespace, name).await?)),
            Write::Of2021(write) => self.written_2021(write, headers, names, body).await,
        }
    }

    /// The component type that a path names.
    pub(super) async fn component(&self, names: &Names) -> Result<Described, Error> {
        let (namespace, kind, name) = (names.get("namespace"), names.get("kind"), names.get("name"));
        if kind != COMPONENTS {
            return Err(Error::NotFound(format!(
                "applications are made of {COMPONENTS}, and not of {kind:?}"
            )));
        }
        definitions::get(&self.inner.client, namespace, kind, name).await
    }

    /// Makes a manifest of a form, and plans it.
    pub(super) async fn new_application(&self, names: &Names, form: &Query) -> Result<Response<Body>, Error> {
        let token = self.inner.access.form_token();
        let described = self.component(names).await?;
        let name = &described.definition.name;
        let (filled, manifest) = Filled::read(form, name, &described.parameters.root.children)?;
        let Some(manifest) = manifest else {
            let page = pages::new_application(token, &described, &filled);
            return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, page));
        };
        let manifest = serde_saphyr::to_string(&manifest)
            .map_err(|error| Error::Unreadable(format!("the manifest cannot be written as YAML: {error}")))?;
        let namespace = filled.text("namespace").to_owned();
        let found = self.planned(&namespace, &manifest).await;
        let status = found.as_ref().map_or_else(Error::status, |_| StatusCode::OK);
        let written = Written { namespace, manifest };
        Ok(html(status, pages::dry_run(token, &written, Some(&found), self.token_of_orders())))
    }

    pub(super) fn planner(&self) -> Planner<'_> {
        let Inner { client, discovery, options, access, .. } = &*self.inner;
        let manager = options.changes_as.as_deref().unwrap_or(AUTHOR);
        Planner { client, discovery, namespaces: self.namespaces(), manager, key: access.form_token() }
    }

    /// What deploying a manifest would do.
    pub(super) async fn plan(&self, namespace: &str, text: &str) -> Result<Plan, Error> {
        match single(text) {
            Err(found) => Ok(Plan::failed(&found)),
            Ok(document) => self.plan_of(&document.in_namespace(namespace)).await,
        }
    }

    async fn plan_of(&self, application: &Document) -> Result<Plan, Error> {
        self.is_within(application.namespace())?;
        self.planner().plan(application, self.place_of_run()?).await
    }

    /// The same where the manifest is one application; a dry run where it is several objects.
    pub(super) async fn planned(&self, namespace: &str, text: &str) -> Result<Plan, Error> {
        match single(text) {
            Ok(document) => self.plan_of(&document.in_namespace(namespace)).await,
            // A dry run takes several objects, too.
            Err(found) if found.iter().all(|one| one.code == Code::WrongKind) => {
                let dry_run = self.dry_run(namespace, text).await?;
                Ok(Plan { dry_run, changes: None })
            }
            Err(found) => Ok(Plan::failed(&found)),
        }
    }

    /// Deploys the manifest of a page. Gives the path of the application.
    pub(super) async fn deploy_form(
        &self,
        namespace: &str,
        text: &str,
        form: &Query,
    ) -> Result<String, Error> {
        let document = single(text).ok().map(|document| document.in_namespace(namespace));
        let (namespace, name) = match &document {
            Some(document) => (document.namespace(), document.name()),
            None => (namespace, ""),
        };
        self.deploy((namespace, name), text, form).await?;
        self.seen(namespace, name).await;
        Ok(pages::application_path(namespace, name))
    }

    /// Writes an application over the one that a plan saw, which `sent` names, where the console was started for that.
    async fn deploy(
        &self,
        (namespace, name): (&str, &str),
        text: &str,
        sent: &Query,
    ) -> Result<Value, Error> {
        let seen = Seen {
            version: sent.text("resourceVersion").unwrap_or_default(),
            content_hash: sent.text("contentHash").unwrap_or_default(),
            key: self.inner.access.form_token(),
        };
        let work = async {
            let (client, manager) = self.writer()?;
            self.is_within(namespace)?;
            let document = single(text).map_err(|found| not_deployable(Plan::failed(&found).dry_run))?;
            let is_same = |field: &str, written: &str, path: &str| match written == path {
                true => Ok(()),
                false => Err(Error::Invalid(format!(
                    "metadata.{field}: the manifest says {written:?} and the path {path:?}; write the same in both"
                ))),
            };
            is_same("name", document.name(), name)?;
            let document = document.in_namespace(namespace);
            is_same("namespace", document.namespace(), namespace)?;
            self.is_deployable(&document).await?;
            deploy::write(client, &document, seen, manager).await
        };
        let name: String = name.chars().take(NAME_AT_MOST).collect();
        self.audited("deploy", format!("Application {namespace}/{name}"), work).await
    }

    /// Would the application run as it is?
    pub(super) async fn is_deployable(&self, application: &Document) -> Result<(), Error> {
        match self.planner().judge(application, Value::Null, self.place_of_run()?).await? {
            (dry_run, Some(_)) if dry_run.valid => Ok(()),
            (dry_run, _) => Err(not_deployable(dry_run)),
        }
    }

    /// Deletes an application, where the console was started for that.
    pub(super) async fn delete(&self, namespace: &str, name: &str) -> Result<Deletion, Error> {
        let work = async {
            let (client, _) = self.writer()?;
            self.is_within(namespace)?;
            self.is_shown(namespace, name).await?;
            deploy::delete(client, namespace, name).await
        };
        self.audited("delete", format!("Application {namespace}/{name}"), work).await
    }

    /// Waits until the watch has told of an application, so that its page is there.
    pub(super) async fn seen(&self, namespace: &str, name: &str) {
        let applications = &self.inner.applications;
        let mut changes = applications.changes();
        let wait = async {
            while applications.get(namespace, name).is_err() {
                if let Err(RecvError::Closed) = changes.recv().await {
                    return;
                }
            }
        };
        // Its page says that it is not there yet.
        let _ = tokio::time::timeout(SEEN_WITHIN, wait).await;
    }

    /// A console of one namespace plans and writes nothing in another.
    pub(super) fn is_within(&self, namespace: &str) -> Result<(), Error> {
        match self.inner.options.namespace.as_deref() {
            Some(own) if own != namespace => Err(Error::OutOfReach(format!(
                "metadata.namespace: this console is for namespace {own:?} alone, and this is {namespace:?}; start \
                 `vela dashboard` without -n for others"
            ))),
            _ => Ok(()),
        }
    }
}

fn not_deployable(dry_run: DryRun) -> Error {
    let cause = |finding: Finding| {
        let Finding { line, column, message, path, object, .. } = finding;
        let message = match line {
            0 => format!("{object} {path}: {message}").trim_start().to_owned(),
            line => format!("{line}:{column} {message}"),
        };
        Cause { field: path, message }
    };
    Error::NotDeployable(dry_run.diagnostics.into_iter().map(cause).collect())
}
