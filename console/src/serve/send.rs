//! Answers what sends something: orders, and texts for a dry run. Changes only what a user orders.

use std::future::Future;

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use kube::Client;
use serde_json::Value;
use vela_runtime::clock;

use super::audit::{Audit, Pending};
use super::console::{Console, Inner};
use crate::answer::{Body, html, json, response, whole};
use crate::data::dry_run::{self, DryRun};
use crate::data::rollout_orders::{self, Ordered};
use crate::data::steering;
use crate::data::view::view;
use crate::error::Error;
use crate::find::{Names, is_name};
use crate::pages::Written;
use crate::query::Query;
use crate::route::Endpoint;
use crate::{pages, submit};

impl Console {
    /// Answers what sends something, which a page of this console must have asked for.
    pub(super) async fn sent<B: Sent>(
        &self,
        endpoint: Endpoint,
        headers: &HeaderMap,
        (names, query): (&Names, &Query),
        body: B,
    ) -> Result<Response<Body>, Error>
    where
        B::Error: Into<BoxError>,
    {
        let access = &self.inner.access;
        access.same_origin(headers)?;
        if matches!(endpoint, Endpoint::DryRun | Endpoint::Plan | Endpoint::Steer | Endpoint::SteerRollout) {
            access.has_header_token(headers)?;
        }
        if endpoint == Endpoint::Steer {
            let written = self.steer(names, names.get("order"), query.text("step")).await?;
            return Ok(json(StatusCode::OK, &view(written, clock::now())));
        }
        if endpoint == Endpoint::SteerRollout {
            let (rollout, order) = (names.get("rollout"), names.get("order"));
            let done = self.steer_rollout(names, rollout, order, query.flag("full")?).await?;
            return Ok(json(StatusCode::OK, &done));
        }
        if endpoint == Endpoint::DryRun {
            let namespace = self.namespace_of_run(query)?;
            let text = submit::manifest(headers, &submit::whole(body).await?)?;
            return Ok(json(StatusCode::OK, &self.dry_run(&namespace, &text).await?));
        }
        if endpoint == Endpoint::Plan {
            let namespace = self.namespace_of_run(query)?;
            let text = submit::manifest(headers, &submit::whole(body).await?)?;
            return Ok(json(StatusCode::OK, &self.plan(&namespace, &text).await?));
        }
        let form = submit::form(headers, &submit::whole(body).await?)?;
        access.has_form_token(form.text("token").unwrap_or_default())?;
        if endpoint == Endpoint::WorkflowPage {
            form.only(&["token", "order", "step"])?;
            self.steer(names, form.text("order").unwrap_or_default(), form.text("step")).await?;
            return see(&pages::workflow_path(names.get("namespace"), names.get("name")));
        }
        if endpoint == Endpoint::RolloutsPage {
            form.only(&["token", "rollout", "order", "full"])?;
            let text = |name| form.text(name).unwrap_or_default();
            let (order, full) = (text("order"), form.flag("full")?);
            // The box is sent with every button of its form.
            let full = full.filter(|_| order == "promote");
            self.steer_rollout(names, text("rollout"), order, full).await?;
            return see(&pages::rollouts_path(names.get("namespace"), names.get("name")));
        }
        if endpoint == Endpoint::DeletePage {
            form.only(&["token"])?;
            self.delete(names.get("namespace"), names.get("name")).await?;
            return see("/");
        }
        if endpoint == Endpoint::NewPage {
            return self.new_application(names, &form).await;
        }
        let is_deployed = endpoint == Endpoint::DeployPage;
        match is_deployed {
            true => form.only(&["token", "namespace", "manifest", "resourceVersion", "contentHash"])?,
            false => form.only(&["token", "namespace", "manifest"])?,
        }
        let namespace = self.namespace_of_run(&form)?;
        // Browsers end lines of forms as networks do.
        let manifest = form.text("manifest").unwrap_or_default().replace("\r\n", "\n");
        let found = match is_deployed {
            true => match self.deploy_form(&namespace, &manifest, &form).await {
                Ok(path) => return see(&path),
                Err(error) => Err(error),
            },
            false => self.planned(&namespace, &manifest).await,
        };
        let status = found.as_ref().map_or_else(Error::status, |_| StatusCode::OK);
        let written = Written { namespace, manifest };
        Ok(html(status, pages::dry_run(access.form_token(), &written, Some(&found), self.token_of_orders())))
    }

    /// Carries out what a user orders a workflow to do, where the console was started for that.
    async fn steer(&self, names: &Names, order: &str, step: Option<&str>) -> Result<Value, Error> {
        let (namespace, name) = (names.get("namespace"), names.get("name"));
        let steered = async {
            let (client, manager) = self.writer()?;
            let order = steering::order(order, step)?;
            self.is_shown(namespace, name).await?;
            steering::steer(client, (namespace, name), order, manager).await
        };
        let step = step.map(|step| format!(" of step {step}")).unwrap_or_default();
        self.audited(&format!("{order}{step}"), format!("Application {namespace}/{name}"), steered).await
    }

    /// Carries out what a user orders a rollout to do, where the console was started for that.
    async fn steer_rollout(
        &self,
        names: &Names,
        rollout: &str,
        order: &str,
        full: Option<bool>,
    ) -> Result<Ordered, Error> {
        let (namespace, name) = (names.get("namespace"), names.get("name"));
        let steered = async {
            let (client, manager) = self.writer()?;
            let order = rollout_orders::order(order, full)?;
            if !is_name(rollout) {
                return Err(Error::BadRequest("rollout: give the name of one".to_owned()));
            }
            self.is_shown(namespace, name).await?;
            rollout_orders::steer(client, (namespace, name, rollout), order, manager).await
        };
        let rollout: String = rollout.chars().take(253).collect();
        self.audited(order, format!("AppRollout {namespace}/{rollout}"), steered).await
    }

    /// The client and the field manager that write.
    pub(super) fn writer(&self) -> Result<(&Client, &str), Error> {
        let Inner { client, options, .. } = &*self.inner;
        Ok((client, options.changes_as.as_deref().ok_or(Error::ReadOnly)?))
    }

    /// What the console does not show, it does not change.
    pub(super) async fn is_shown(&self, namespace: &str, name: &str) -> Result<(), Error> {
        let applications = &self.inner.applications;
        applications.listed().await?;
        applications.get(namespace, name).map(drop)
    }

    /// The result of an order, told before it is answered.
    pub(super) async fn audited<T>(
        &self,
        order: &str,
        object: String,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let Inner { client, options, user, .. } = &*self.inner;
        let Some(audits) = &options.audit else { return work.await };
        let user = user.name(client).await;
        let who = (user.as_str(), options.cluster.as_str());
        let pending = Pending::new(audits.clone(), who, order, &object);
        let result = work.await;
        pending.disarm();
        // A receiver that is gone has ended with its program.
        let _ = audits.send(Audit::of(who, order, object, &result)).await;
        result
    }

    /// The namespace of what names none.
    pub(super) fn namespace_of_run(&self, given: &Query) -> Result<String, Error> {
        let own = self.inner.options.namespace.as_deref().unwrap_or("default");
        Ok(given.namespace()?.unwrap_or_else(|| own.to_owned()))
    }

    pub(super) async fn dry_run(&self, namespace: &str, text: &str) -> Result<DryRun, Error> {
        let Inner { client, discovery, .. } = &*self.inner;
        let place = self.place_of_run()?;
        dry_run::run((client, discovery), self.namespaces(), namespace, text, place).await
    }
}

/// Sends a browser to another page, so that it can be read anew without sending the form again.
pub(super) fn see(path: &str) -> Result<Response<Body>, Error> {
    let mut answer =
        response(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", whole(format!("see {path}\n")));
    let path = HeaderValue::try_from(path)
        .map_err(|_| Error::BadRequest("the names in this path cannot stand in a header".to_owned()))?;
    answer.headers_mut().insert(header::LOCATION, path);
    Ok(answer)
}

/// The body of a request.
pub(super) trait Sent: http_body::Body<Data: Send> + Send + 'static {}
impl<B: http_body::Body<Data: Send> + Send + 'static> Sent for B {}

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;
