//! A page of `vela top` → its rows, again whenever a watch tells that they are other. While nothing changes, the cluster is asked
//! nothing.
//!
//! Rows of applications, pods and events are made of what the watches tell. The objects of an application may be of any kind:
//! their watches tell when the page is read again. What cannot be watched is read at long intervals, and the screen says so.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use futures::StreamExt as _;
use serde_json::Value;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use vela_runtime::pod_log;

use super::model::{Content, Object, Page, PodName};
use super::read::{
    LOG_LINES, Reader, SIMULATED, container, gone, no_log, of_events, of_log, of_pods, of_tree,
};
use crate::applications::APPLICATIONS;
use crate::changes::{Change, Changes, Key, Watched};
use crate::command::delete::is_part_of_application;
use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::{events, pods};

/// The least time between two pages that are begun or shown anew, however many keys are pressed.
pub(super) const LEAST_PAUSE: Duration = Duration::from_millis(200);
/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause before a lost watch begins again, and the longest one after many attempts.
const RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(10);
/// How often a page is read whose objects cannot be watched.
const READ_EVERY: Duration = Duration::from_secs(10);
/// How often the age of events is shown anew.
const TICK: Duration = Duration::from_secs(1);
/// Objects of one application that are watched: each needs a connection to the cluster.
const MOST_WATCHED: usize = 32;
/// Objects that are retained of what the watches of a page tell.
const MOST_RETAINED: usize = 100_000;

/// What is new on a page.
#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) content: Option<Content>,
    pub(super) problem: Option<String>,
}

/// Why a page is not followed any more, as it was.
enum End {
    /// The connection is lost, for this reason.
    Lost(String),
    /// There is something else to watch.
    Other,
    /// A log has ended.
    Closed,
}

/// Follows a page as long as it is asked for what is new.
pub(super) async fn follow(reader: &Reader<'_>, page: &Page, news: &Sender<News>) -> Infallible {
    let follower = Follower { reader, news };
    let mut pause = RETRY;
    loop {
        let began = Instant::now();
        let end = follower.page(page).await;
        if began.elapsed() > LONGEST_RETRY {
            pause = RETRY;
        }
        match end {
            Ok(End::Other) => {
                sleep(LEAST_PAUSE).await;
                continue;
            }
            Ok(End::Closed) => {}
            Ok(End::Lost(why)) => {
                let problem = Some(format!("The watch is lost and begins again: {why}"));
                follower.tell(News { problem, ..News::default() }).await;
            }
            Err(failure) => {
                follower.read(page, &failure).await;
                pause = READ_EVERY;
            }
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_RETRY);
    }
}

struct Follower<'a> {
    reader: &'a Reader<'a>,
    news: &'a Sender<News>,
}

impl Follower<'_> {
    async fn page(&self, page: &Page) -> Result<End> {
        match page {
            Page::Applications => self.applications().await,
            Page::Objects(application) => self.objects(application).await,
            Page::Pods(application, component) => self.pods(application, component.as_deref()).await,
            Page::Events(object) => self.events(&object.namespace, &object.kind, &object.name).await,
            Page::PodEvents(pod) => self.events(&pod.namespace, "Pod", &pod.name).await,
            Page::Log(pod, at) => self.log(pod, *at).await,
        }
    }

    async fn tell(&self, news: News) {
        if self.news.send(news).await.is_err() {
            // The page was left: this future is dropped, too.
            pending::<()>().await;
        }
    }

    async fn show(&self, content: Content) {
        self.tell(News { content: Some(content), problem: None }).await;
    }

    /// Reads what cannot be watched.
    async fn read(&self, page: &Page, failure: &Failure) {
        let words = |failure: &Failure| failure.texts().join(" ");
        let news = match timeout(PATIENCE, self.reader.read(page)).await {
            Ok(Ok(content)) => {
                let every = READ_EVERY.as_secs();
                let problem =
                    format!("Read every {every} s, because it cannot be watched: {}", words(failure));
                News { content: Some(content), problem: Some(problem) }
            }
            Ok(Err(failure)) => News { content: None, problem: Some(words(&failure)) },
            Err(_) => News { content: None, problem: Some(late()) },
        };
        self.tell(news).await;
    }

    async fn watch(&self, watched: &[Watched<'_>]) -> Result<Watch<'_>> {
        Ok(Watch {
            changes: Changes::of_all(self.reader.cluster, watched, &[]).await?,
            there: BTreeMap::new(),

            earliest: Instant::now(),
            due: None,
            deadline: Instant::now() + PATIENCE,
        })
    }

    async fn applications(&self) -> Result<End> {
        let namespace = (!self.reader.all_namespaces).then(|| self.reader.cluster.namespace());
        let watched =
            APPLICATIONS.map(|(api_version, kind)| Watched { api_version, kind, namespace, fields: None });
        let mut watch = self.watch(&watched).await?;
        loop {
            if let Some(why) = watch.lost().await? {
                return Ok(End::Lost(why));
            }
            let mut all: Vec<Value> = watch.there.values().cloned().collect();
            all.retain(|application| !is_part_of_application(application));
            self.show(self.reader.of_applications(&all)).await;
        }
    }

    async fn events(&self, namespace: &str, kind: &str, name: &str) -> Result<End> {
        let fields = Some(events::fields(kind, name));
        let watched = Watched { api_version: "v1", kind: "Event", namespace: Some(namespace), fields };
        let mut watch = self.watch(&[watched]).await?;
        loop {
            if let Some(why) = watch.lost().await? {
                return Ok(End::Lost(why));
            }
            self.show(of_events(kind, name, &events::read(watch.there.values()))).await;
            watch.due = Some(Instant::now() + TICK);
        }
    }

    async fn objects(&self, application: &Object) -> Result<End> {
        let late = || Error::cluster(late());
        let mut tree = timeout(PATIENCE, self.reader.tree(application)).await.map_err(|_| late())??;
        self.show(of_tree(application, &tree)).await;
        let keys = tree.keys();
        let watched = keys.iter().take(MOST_WATCHED);
        let watched = watched.map(|key| Watched::one(&key.api_version, &key.kind, &key.namespace, &key.name));
        let mut watch = self.watch(&watched.collect::<Vec<_>>()).await?;
        loop {
            if let Some(why) = watch.lost().await? {
                return Ok(End::Lost(why));
            }
            let began = Instant::now();
            tree = timeout(PATIENCE, self.reader.tree(application)).await.map_err(|_| late())??;
            // Never more than half of the time is spent on it.
            watch.earliest = Instant::now() + began.elapsed().max(LEAST_PAUSE);
            self.show(of_tree(application, &tree)).await;
            if tree.keys() != keys {
                return Ok(End::Other);
            }
            watch.due = (keys.len() > MOST_WATCHED).then(|| Instant::now() + READ_EVERY);
        }
    }

    async fn pods(&self, application: &Object, component: Option<&str>) -> Result<End> {
        let Object { api_version, kind, namespace, name } = application;
        let mut found = self.reader.application(application).await?;
        let mut owners = pods::owners(self.reader.cluster, &found).await?;
        let namespaces = owners.namespaces.clone();
        let mut watched = vec![Watched::one(api_version, kind, namespace, name)];
        for namespace in &namespaces {
            watched.extend(pods::BETWEEN.iter().chain(&[("v1", "Pod")]).map(|(api_version, kind)| Watched {
                api_version,
                kind,
                namespace: Some(namespace.as_str()),
                fields: None,
            }));
        }
        let mut watch = self.watch(&watched).await?;
        loop {
            if let Some(why) = watch.lost().await? {
                return Ok(End::Lost(why));
            }
            let now = watch.there.iter().find(|(key, _)| key.kind == *kind && key.name == *name);
            let (_, now) =
                now.ok_or_else(|| Error::user(format!("{kind} {name} of namespace {namespace} is gone")))?;
            if version(now) != version(&found) {
                found = now.clone();
                owners = pods::owners(self.reader.cluster, &found).await?;
                if owners.namespaces != namespaces {
                    return Ok(End::Other);
                }
            }
            let of = |is_pod: bool| {
                watch
                    .there
                    .iter()
                    .filter(move |(key, _)| (key.kind == "Pod") == is_pod)
                    .map(|(_, value)| value)
            };
            self.show(of_pods(name, component, &pods::owned(&owners, of(false), of(true)))).await;
        }
    }

    async fn log(&self, pod: &PodName, at: usize) -> Result<End> {
        let container = container(pod, at)?;
        if self.reader.is_simulated {
            self.show(no_log(SIMULATED)).await;
            return pending().await;
        }
        let mut watch = self.watch(&[Watched::one("v1", "Pod", &pod.namespace, &pod.name)]).await?;
        let object = loop {
            if let Some(why) = watch.lost().await? {
                return Ok(End::Lost(why));
            }
            let object = watch.there.values().find(|object| text(object, "/metadata/name") == pod.name);
            let object = object.ok_or_else(|| gone(pod))?;
            if pod_log::has_begun(object, container) {
                break object.clone();
            }
            self.show(no_log(&format!("Container {container} has not begun."))).await;
        };
        let mut stream = self.reader.lines(pod, container, true).await?;
        let mut lines: VecDeque<String> = VecDeque::new();
        let mut due = Some(Instant::now() + LEAST_PAUSE);
        loop {
            let line = tokio::select! {
                line = stream.next() => line,
                () = sleep_until(due.unwrap_or(watch.deadline)), if due.is_some() => {
                    self.show(of_log(container, lines.iter())).await;
                    due = None;
                    continue;
                }
            };
            match line {
                Some(Ok(line)) => {
                    if lines.len() == LOG_LINES {
                        lines.pop_front();
                    }
                    lines.push_back(line);
                    due.get_or_insert(Instant::now() + LEAST_PAUSE);
                }
                Some(Err(why)) => return Ok(End::Lost(why)),
                None => break,
            }
        }
        self.show(of_log(container, lines.iter())).await;
        self.begins_anew(&mut watch, container, &object).await
    }

    /// Waits until a container whose log has ended may have another one.
    async fn begins_anew(&self, watch: &mut Watch<'_>, container: &str, object: &Value) -> Result<End> {
        let state = |object: &Value| {
            let lists = ["/status/initContainerStatuses", "/status/containerStatuses"];
            let lists = lists.map(|list| object.pointer(list).and_then(Value::as_array));
            let mut all = lists.into_iter().flatten().flatten();
            all.find(|status| status["name"] == container).map(|status| status["state"].clone())
        };
        // The connection was cut, or the server has only begun to tell that the container ended.
        if state(object).is_some_and(|state| state.get("running").is_some()) {
            return Ok(End::Closed);
        }
        loop {
            if let Some(why) = watch.lost().await? {
                return Ok(End::Lost(why));
            }
            if watch.there.values().all(|now| state(now) != state(object)) {
                return Ok(End::Other);
            }
        }
    }
}

/// The watches of a page, and what they have told.
struct Watch<'a> {
    changes: Changes<'a>,
    there: BTreeMap<Key, Value>,
    /// When something new may be shown, and when it will be.
    earliest: Instant,
    due: Option<Instant>,
    /// When everything that is there has to be told.
    deadline: Instant,
}

impl Watch<'_> {
    /// Waits until the page is to be shown anew; the reason where the connection is lost.
    async fn lost(&mut self) -> Result<Option<String>> {
        loop {
            let is_whole = self.changes.is_whole();
            let next = if is_whole { self.due } else { Some(self.deadline) };
            tokio::select! {
                change = self.changes.next() => match change? {
                    Change::There(key, value) => drop(self.there.insert(key, value)),
                    Change::Gone(key) => drop(self.there.remove(&key)),
                    Change::Listed => {}
                    Change::Lost(why) => return Ok(Some(why)),
                },
                () = sleep_until(next.unwrap_or(self.deadline)), if next.is_some() => {
                    self.due = None;
                    self.earliest = Instant::now() + LEAST_PAUSE;
                    return Ok((!is_whole).then(late));
                }
            }
            if self.there.len() > MOST_RETAINED {
                return Err(
                    Error::cluster(format!("more than {MOST_RETAINED} objects belong to this page")).into()
                );
            }
            let soon = self.earliest.max(Instant::now());
            self.due = Some(self.due.map_or(soon, |due| due.min(soon)));
        }
    }
}

fn version(object: &Value) -> &str {
    text(object, "/metadata/resourceVersion")
}

fn late() -> String {
    format!("no answer for {} s", PATIENCE.as_secs())
}
