//! The HTTP service of the console: checks that a request is allowed, and answers; changes only what a user orders.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::BoxStream;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use kube::Client;
use serde_json::Value;
use tokio::sync::Semaphore;
use vela_runtime::{Cache, Discovery, clock};

use crate::access::Access;
use crate::answer::{Body, failure, html, json, response, whole};
use crate::data::applications::{Applications, Filter, PAGE, PAGE_AT_MOST};
use crate::data::dry_run::{self, DryRun};
use crate::data::logs::{self, Line, Wanted};
use crate::data::rollouts::{self, RolloutList};
use crate::data::steering;
use crate::data::tree::{self, Tree};
use crate::data::view::{ApplicationView, ApplicationWithTree, view};
use crate::data::workflow::{self, Workflow};
use crate::data::{Health, definitions, events, revisions};
use crate::error::Error;
use crate::pages::Written;
use crate::query::Query;
use crate::route::{self, Endpoint, Names, READS, is_name};
use crate::{openapi, pages, stream, submit};

/// No answer takes longer, streams aside.
const LONGEST: Duration = Duration::from_secs(30);
/// As `vela logs` says it.
const SIMULATED: &str = "the pods of the sandbox are simulated: no container runs, and none writes a log; the objects of the \
                         application say how they are";
/// Dry runs at once: each takes a processor for as long as its budget allows.
const RUNS: usize = 2;
/// Streams of events at once.
const STREAMS: usize = 256;

/// What the console shows, and of which cluster.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only applications of this namespace.
    pub namespace: Option<String>,
    /// The field manager by which the console writes what users order; without one it only reads.
    pub changes_as: Option<String>,
    /// The pods of the cluster are simulated: no container runs.
    pub simulated_pods: bool,
}

/// The console over one cluster.
#[derive(Clone)]
pub struct Console {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    options: Options,
    discovery: Discovery,
    cache: Cache,
    applications: Applications,
    access: Access,
    streams: Arc<Semaphore>,
    runs: Arc<Semaphore>,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("access", &"…").finish_non_exhaustive()
    }
}

impl Console {
    /// A console that reads with the rights of the client; it follows the applications from now on, so it is made inside
    /// of an event loop.
    pub fn new(client: Client, options: Options, access: Access) -> Self {
        let cache = Cache::new(client.clone());
        let applications = Applications::watch(&cache, options.namespace.clone());
        let discovery = Discovery::new(client.clone());
        let (streams, runs) = (Arc::new(Semaphore::new(STREAMS)), Arc::new(Semaphore::new(RUNS)));
        Self {
            inner: Arc::new(Inner { client, options, discovery, cache, applications, access, streams, runs }),
        }
    }

    /// Follows the applications no longer.
    pub async fn close(&self) {
        self.inner.cache.stop().await;
    }

    async fn respond<B: Sent>(&self, parts: &Parts, body: B) -> Response<Body>
    where
        B::Error: Into<BoxError>,
    {
        let mut answer = match self.answer(parts, body).await {
            Ok(answer) => answer,
            Err(error) => {
                let mut answer = match parts.uri.path().starts_with("/api/") {
                    true => failure(&error),
                    false => html(error.status(), pages::failure(&error)),
                };
                if let Some(allow) = error.allow() {
                    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
                }
                answer
            }
        };
        if parts.method == Method::HEAD {
            *answer.body_mut() = whole("");
        }
        answer
    }

    async fn answer<B: Sent>(&self, parts: &Parts, body: B) -> Result<Response<Body>, Error>
    where
        B::Error: Into<BoxError>,
    {
        let Parts { method, uri, headers, .. } = parts;
        let access = &self.inner.access;
        access.host(uri, headers)?;
        let found = route::find(uri.path());
        let allow = found.as_ref().map_or(READS, |(route, _)| route.endpoint.allow());
        if !allow.split(", ").any(|allowed| allowed == method.as_str()) {
            return Err(Error::MethodNotAllowed(allow));
        }
        let is_public = |endpoint| {
            matches!(endpoint, Endpoint::Enter | Endpoint::Style | Endpoint::Script | Endpoint::Icon)
        };
        let is_open = found.as_ref().is_ok_and(|(route, _)| is_public(route.endpoint));
        if !is_open && !access.has_session(headers) {
            return Err(Error::NoSession);
        }
        let (route, names) = found?;
        let query = Query::read(uri.query().unwrap_or_default())?;
        query.only(route.query)?;
        if route.endpoint == Endpoint::Enter {
            return self.enter(method, headers, &query);
        }
        let answer = async {
            match *method == Method::POST {
                true => self.sent(route.endpoint, headers, (&names, &query), body).await,
                false => self.at(route.endpoint, &names, &query).await,
            }
        };
        match tokio::time::timeout(LONGEST, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::Timeout(LONGEST.as_secs())),
        }
    }

    /// Answers what sends something, which a page of this console must have asked for.
    async fn sent<B: Sent>(
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
        if matches!(endpoint, Endpoint::DryRun | Endpoint::Steer) {
            let token = headers.get("x-csrf-token").and_then(|value| value.to_str().ok());
            access.has_form_token(token.unwrap_or_default())?;
        }
        if endpoint == Endpoint::Steer {
            let written = self.steer(names, names.get("order"), query.text("step")).await?;
            return Ok(json(StatusCode::OK, &view(written, clock::now())));
        }
        if endpoint == Endpoint::DryRun {
            let namespace = self.namespace_of_run(query)?;
            let text = submit::manifest(headers, &submit::whole(body).await?)?;
            return Ok(json(StatusCode::OK, &self.dry_run(&namespace, &text).await?));
        }
        let form = submit::form(headers, &submit::whole(body).await?)?;
        access.has_form_token(form.text("token").unwrap_or_default())?;
        if endpoint == Endpoint::WorkflowPage {
            form.only(&["token", "order", "step"])?;
            self.steer(names, form.text("order").unwrap_or_default(), form.text("step")).await?;
            return see(&pages::workflow_path(names.get("namespace"), names.get("name")));
        }
        form.only(&["token", "namespace", "manifest"])?;
        let namespace = self.namespace_of_run(&form)?;
        // Browsers end lines of forms as networks do.
        let manifest = form.text("manifest").unwrap_or_default().replace("\r\n", "\n");
        let found = self.dry_run(&namespace, &manifest).await;
        let status = found.as_ref().map_or_else(Error::status, |_| StatusCode::OK);
        let written = Written { namespace, manifest };
        Ok(html(status, pages::dry_run(access.form_token(), &written, Some(&found))))
    }

    /// Carries out what a user orders a workflow to do, where the console was started for that.
    async fn steer(&self, names: &Names, order: &str, step: Option<&str>) -> Result<Value, Error> {
        let Inner { client, options, applications, .. } = &*self.inner;
        let manager = options.changes_as.as_deref().ok_or(Error::ReadOnly)?;
        let (namespace, name) = (names.get("namespace"), names.get("name"));
        let order = steering::order(order, step)?;
        // What the console does not show, it does not change.
        applications.listed().await?;
        applications.get(namespace, name)?;
        steering::steer(client, (namespace, name), order, manager).await
    }

    /// The namespace of what names none.
    fn namespace_of_run(&self, given: &Query) -> Result<String, Error> {
        let own = self.inner.options.namespace.as_deref().unwrap_or("default");
        Ok(namespace_of(given)?.unwrap_or_else(|| own.to_owned()))
    }

    async fn dry_run(&self, namespace: &str, text: &str) -> Result<DryRun, Error> {
        let Inner { client, discovery, runs, .. } = &*self.inner;
        let place = runs.clone().try_acquire_owned().map_err(|_| Error::TooManyRuns(RUNS))?;
        dry_run::run(client, discovery, namespace, text, place).await
    }

    /// Sends a browser that has the token, or has a session already, to the first page.
    fn enter(&self, method: &Method, headers: &HeaderMap, query: &Query) -> Result<Response<Body>, Error> {
        let access = &self.inner.access;
        let mut answer = see("/")?;
        // A client that only looks whether a link works does not use it up.
        if method == Method::GET && !access.has_session(headers) {
            let cookie = access.enter(query.text("token").unwrap_or_default())?;
            let cookie = HeaderValue::try_from(cookie).map_err(|_| Error::NoSession)?;
            answer.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        Ok(answer)
    }

    async fn at(&self, endpoint: Endpoint, names: &Names, query: &Query) -> Result<Response<Body>, Error> {
        let Inner { client, applications, .. } = &*self.inner;
        let (namespace, name) = (names.get("namespace"), names.get("name"));
        let page = |text: String| Ok(html(StatusCode::OK, text));
        match endpoint {
            Endpoint::Style => Ok(response(StatusCode::OK, "text/css; charset=utf-8", whole(pages::STYLE))),
            Endpoint::Script => {
                Ok(response(StatusCode::OK, "text/javascript; charset=utf-8", whole(pages::SCRIPT)))
            }
            Endpoint::Icon => Ok(response(StatusCode::OK, "image/svg+xml", whole(pages::ICON))),
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
                page(pages::application(&view, &tree, &events, &revisions))
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
                page(pages::rollouts(namespace, name, &self.rollouts(namespace, name).await))
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
                let can_change = self.inner.options.changes_as.is_some();
                let token = can_change.then(|| self.inner.access.form_token());
                page(pages::workflow(namespace, name, &found, token))
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
                let namespace = namespace_of(query)?;
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
                page(pages::dry_run(self.inner.access.form_token(), &written, None))
            }
            // What only sends was answered before.
            Endpoint::Enter | Endpoint::DryRun | Endpoint::Steer => Err(Error::NoSession),
        }
    }

    fn place(&self) -> Result<stream::Place, Error> {
        self.inner.streams.clone().try_acquire_owned().map_err(|_| Error::TooManyStreams(STREAMS))
    }

    async fn view(&self, namespace: &str, name: &str) -> Result<ApplicationView, Error> {
        self.inner.applications.listed().await?;
        Ok(view(self.inner.applications.get(namespace, name)?, clock::now()))
    }

    async fn tree(&self, namespace: &str, name: &str) -> Result<Tree, Error> {
        tree::read(&self.inner.client, &self.inner.discovery, namespace, name).await
    }

    async fn workflow(&self, namespace: &str, name: &str) -> Result<Workflow, Error> {
        let Inner { client, applications, .. } = &*self.inner;
        applications.listed().await?;
        let application = applications.get(namespace, name)?;
        let found = workflow::read(&application, clock::now())
            .ok_or_else(|| Error::NotFound(format!("the workflow of {name} has not begun")))?;
        Ok(workflow::with_values(client, &application, found).await)
    }

    async fn rollouts(&self, namespace: &str, name: &str) -> Result<RolloutList, Error> {
        let Inner { client, applications, .. } = &*self.inner;
        applications.listed().await?;
        rollouts::read(client, &applications.get(namespace, name)?).await
    }

    /// The lines that are asked for; the first of them come with the stream.
    async fn logs(
        &self,
        namespace: &str,
        name: &str,
        wanted: &Wanted,
    ) -> Result<BoxStream<'static, Line>, Error> {
        self.view(namespace, name).await?;
        if self.inner.options.simulated_pods {
            return Err(Error::NotSupported(SIMULATED.to_owned()));
        }
        let Inner { client, discovery, .. } = &*self.inner;
        let tree = self.tree(namespace, name).await?;
        let sources = logs::sources(client, discovery, name, &tree, wanted).await?;
        Ok(logs::open(client, sources, wanted).await)
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

    async fn whole(&self, namespace: &str, name: &str) -> Result<ApplicationWithTree, Error> {
        let application = self.view(namespace, name).await?;
        Ok(ApplicationWithTree { application, tree: self.tree(namespace, name).await? })
    }

    async fn definitions(&self) -> Result<definitions::DefinitionList, Error> {
        definitions::list(&self.inner.client, self.inner.options.namespace.as_deref()).await
    }
}

/// Sends a browser to another page, so that it can be read anew without sending the form again.
fn see(path: &str) -> Result<Response<Body>, Error> {
    let mut answer =
        response(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", whole(format!("see {path}\n")));
    let path = HeaderValue::try_from(path)
        .map_err(|_| Error::BadRequest("the names in this path cannot stand in a header".to_owned()))?;
    answer.headers_mut().insert(header::LOCATION, path);
    Ok(answer)
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
        None => namespace_of(query)?,
    };
    let filter = Filter { namespace, search: query.text("search").map(str::to_owned), health };
    Ok((filter, query.text("continue"), query.number("limit", PAGE_AT_MOST)?.unwrap_or(PAGE)))
}

fn namespace_of(query: &Query) -> Result<Option<String>, Error> {
    match query.text("namespace") {
        Some(text) if !is_name(text) => {
            Err(Error::BadRequest(format!("namespace: {text:?} cannot be the name of one")))
        }
        namespace => Ok(namespace.map(str::to_owned)),
    }
}

fn revision<'q>(query: &'q Query, name: &str) -> Result<&'q str, Error> {
    match query.text(name) {
        Some(text) if is_name(text) => Ok(text),
        Some(text) => Err(Error::BadRequest(format!("{name}: {text:?} cannot be the name of a revision"))),
        None => Err(Error::BadRequest(format!("{name}: give the name of a revision, such as shop-v1"))),
    }
}

/// The body of a request.
trait Sent: http_body::Body<Data: Send> + Send + 'static {}
impl<B: http_body::Body<Data: Send> + Send + 'static> Sent for B {}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl<B> tower::Service<Request<B>> for Console
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let console = self.clone();
        let (parts, body) = request.into_parts();
        Box::pin(async move { Ok(console.respond(&parts, body).await) })
    }
}
