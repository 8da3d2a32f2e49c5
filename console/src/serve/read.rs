//! Answers what is only read: pages, the REST API, and streams.

use http::{Response, StatusCode};

use super::console::{Console, Inner};
use crate::answer::{Body, html, json, response, whole};
use crate::data::applications::{Filter, PAGE, PAGE_AT_MOST};
use crate::data::form::Filled;
use crate::data::logs::{self, Wanted};
use crate::data::tree::Tree;
use crate::data::{Health, definitions, deploy, events, revisions};
use crate::error::Error;
use crate::find::{Names, is_name};
use crate::pages::Written;
use crate::query::Query;
use crate::route::Endpoint;
use crate::{openapi, pages, stream};

impl Console {
    pub(super) async fn at(
        &self,
        endpoint: Endpoint,
        names: &Names,
        query: &Query,
    ) -> Result<Response<Body>, Error> {
        let Inner { client, applications, .. } = &*self.inner;
        let (namespace, name) = (names.get("namespace"), names.get("name"));
        let page = |text: String| Ok(html(StatusCode::OK, text));
        match endpoint {
            Endpoint::Style | Endpoint::Script | Endpoint::Icon => Ok(asset(endpoint)),
            Endpoint::OverviewPage => {
                let (filter, after, limit) = asked(query, None)?;
                applications.listed().await?;
                let list = applications.page(&filter, after, limit)?;
                page(pages::overview(&list, &filter, after, limit))
            }
            Endpoint::Applications | Endpoint::NamespaceApplications => {
                let of = (endpoint == Endpoint::NamespaceApplications).then_some(namespace);
                let (filter, after, limit) = asked(query, of)?;
                applications.listed().await?;
                Ok(json(StatusCode::OK, &applications.page(&filter, after, limit)?))
            }
            Endpoint::ApplicationPage => {
                let view = self.view(namespace, name).await?;
                let (tree, revisions) = futures::future::join(
                    self.tree(namespace, name),
                    revisions::list(client, namespace, name),
                )
                .await;
                let events = match &tree {
                    Ok(tree) => events::read(client, namespace, name, tree).await,
                    Err(_) => events::read(client, namespace, name, &Tree::default()).await,
                };
                page(pages::application(&view, &tree, &events, &revisions, self.token_of_orders().is_some()))
            }
            Endpoint::Application => Ok(json(StatusCode::OK, &self.view(namespace, name).await?)),
            Endpoint::Tree => {
                self.view(namespace, name).await?;
                Ok(json(StatusCode::OK, &self.tree(namespace, name).await?))
            }
            Endpoint::Events => {
                self.view(namespace, name).await?;
                let tree = self.tree(namespace, name).await?;
                Ok(json(StatusCode::OK, &events::read(client, namespace, name, &tree).await?))
            }
            Endpoint::Revisions => {
                self.view(namespace, name).await?;
                Ok(json(StatusCode::OK, &revisions::list(client, namespace, name).await?))
            }
            Endpoint::Compare | Endpoint::ComparePage => {
                let (from, to) = (revision(query, "from")?, revision(query, "to")?);
                let found = revisions::compare(client, namespace, name, from, to).await?;
                match endpoint {
                    Endpoint::Compare => Ok(json(StatusCode::OK, &found)),
                    _ => page(pages::compare(namespace, name, &found)),
                }
            }
            Endpoint::Rollouts => Ok(json(StatusCode::OK, &self.rollouts(namespace, name).await?)),
            Endpoint::RolloutsPage => {
                self.view(namespace, name).await?;
                page(pages::rollouts(
                    namespace,
                    name,
                    &self.rollouts(namespace, name).await,
                    self.token_of_orders(),
                ))
            }
            Endpoint::WatchRollouts => {
                self.view(namespace, name).await?;
                let (console, namespace, name) = (self.clone(), namespace.to_owned(), name.to_owned());
                let look = move || {
                    let (console, namespace, name) = (console.clone(), namespace.clone(), name.clone());
                    async move { console.rollouts(&namespace, &name).await }
                };
                Ok(response(StatusCode::OK, "text/event-stream", stream::looks(look, self.place()?)))
            }
            Endpoint::Workflow => Ok(json(StatusCode::OK, &self.workflow(namespace, name).await?)),
            Endpoint::WorkflowPage => {
                let found = self.workflow(namespace, name).await;
                // A name that is no application has no page.
                self.view(namespace, name).await?;
                page(pages::workflow(namespace, name, &found, self.token_of_orders()))
            }
            Endpoint::Explain => Ok(json(StatusCode::OK, &self.explain(namespace, name).await?)),
            Endpoint::ExplainPage => {
                let found = self.explain(namespace, name).await;
                // A name that is no application has no page.
                self.view(namespace, name).await?;
                page(pages::explain(namespace, name, &found))
            }
            Endpoint::Logs => {
                let wanted = Wanted::read(query)?;
                let body = stream::lines(self.logs(namespace, name, &wanted).await?, self.place()?);
                Ok(response(StatusCode::OK, "text/event-stream", body))
            }
            Endpoint::LogsPage => page(self.logs_page(namespace, name, query).await?),
            Endpoint::Definitions => Ok(json(StatusCode::OK, &self.definitions().await?)),
            Endpoint::DefinitionsPage => page(pages::definitions(&self.definitions().await?)),
            Endpoint::Definition | Endpoint::DefinitionPage => {
                let found = definitions::get(client, namespace, names.get("kind"), name).await?;
                match endpoint {
                    Endpoint::Definition => Ok(json(StatusCode::OK, &found)),
                    _ => page(pages::definition(&found)),
                }
            }
            Endpoint::WatchApplications => {
                applications.listed().await?;
                let namespace = query.namespace()?;
                let body = stream::changes(applications.changes(), namespace, self.place()?);
                Ok(response(StatusCode::OK, "text/event-stream", body))
            }
            Endpoint::WatchApplication => {
                self.view(namespace, name).await?;
                let (console, namespace, name) = (self.clone(), namespace.to_owned(), name.to_owned());
                let look = move || {
                    let (console, namespace, name) = (console.clone(), namespace.clone(), name.clone());
                    async move { console.whole(&namespace, &name).await }
                };
                Ok(response(StatusCode::OK, "text/event-stream", stream::looks(look, self.place()?)))
            }
            Endpoint::OpenApi => Ok(json(StatusCode::OK, &openapi::document())),
            Endpoint::CsrfToken => {
                Ok(json(StatusCode::OK, &serde_json::json!({"token": self.inner.access.form_token()})))
            }
            Endpoint::DryRunPage => {
                let written = Written { namespace: self.namespace_of_run(query)?, ..Written::default() };
                page(pages::dry_run(self.inner.access.form_token(), &written, None, None))
            }
            Endpoint::Of2021(resource) => self.at_2021(resource, names).await,
            Endpoint::NewPage => {
                let described = self.component(names).await?;
                let filled = Filled::new(&self.namespace_of_run(query)?);
                page(pages::new_application(self.inner.access.form_token(), &described, &filled))
            }
            Endpoint::EditPage => {
                applications.listed().await?;
                let authored = deploy::authored(applications.get(namespace, name)?);
                let manifest = serde_saphyr::to_string(&authored).map_err(|error| {
                    Error::Unreadable(format!("{name} cannot be written as YAML: {error}"))
                })?;
                let written = Written { namespace: namespace.to_owned(), manifest };
                page(pages::dry_run(self.inner.access.form_token(), &written, None, None))
            }
            Endpoint::DeletePage => {
                self.view(namespace, name).await?;
                let tree = self.tree(namespace, name).await;
                page(pages::delete(namespace, name, &tree, self.token_of_orders()))
            }
            // What only sends was answered before.
            Endpoint::Enter
            | Endpoint::DryRun
            | Endpoint::Plan
            | Endpoint::DeployPage
            | Endpoint::Steer
            | Endpoint::SteerRollout => Err(Error::NoSession),
        }
    }

    async fn logs_page(&self, namespace: &str, name: &str, query: &Query) -> Result<String, Error> {
        let wanted = Wanted::read(query)?;
        let tree = self.tree(namespace, name).await?;
        // The page is whole without a script; the script follows the log where the page does not say otherwise.
        let found = match self.logs(namespace, name, &Wanted { follow: None, ..wanted.clone() }).await {
            Ok(lines) => Ok(logs::first(lines).await),
            // A name that is no application has no page.
            Err(error) => {
                self.view(namespace, name).await?;
                Err(error)
            }
        };
        Ok(pages::logs(namespace, name, &tree, &wanted, &found))
    }
}

/// What pages are drawn with, which is no secret.
pub(super) fn asset(endpoint: Endpoint) -> Response<Body> {
    let (media, text) = match endpoint {
        Endpoint::Style => ("text/css; charset=utf-8", pages::STYLE),
        Endpoint::Script => ("text/javascript; charset=utf-8", pages::SCRIPT),
        _ => ("image/svg+xml", pages::ICON),
    };
    response(StatusCode::OK, media, whole(text))
}

/// Which applications are asked for, where their page begins, and how long it is.
fn asked<'q>(query: &'q Query, namespace: Option<&str>) -> Result<(Filter, Option<&'q str>, usize), Error> {
    let health = match query.text("health") {
        None => None,
        Some(text) => Some(Health::of(text).ok_or_else(|| {
            let all = Health::ALL.map(Health::as_str).join(", ");
            Error::BadRequest(format!("health: {text:?} is none of {all}"))
        })?),
    };
    let namespace = match namespace {
        Some(namespace) => Some(namespace.to_owned()),
        None => query.namespace()?,
    };
    let filter = Filter { namespace, search: query.text("search").map(str::to_owned), health };
    Ok((filter, query.text("continue"), query.number("limit", PAGE_AT_MOST)?.unwrap_or(PAGE)))
}

fn revision<'q>(query: &'q Query, name: &str) -> Result<&'q str, Error> {
    match query.text(name) {
        Some(text) if is_name(text) => Ok(text),
        Some(text) => Err(Error::BadRequest(format!("{name}: {text:?} cannot be the name of a revision"))),
        None => Err(Error::BadRequest(format!("{name}: give the name of a revision, such as shop-v1"))),
    }
}
