//! A page of `vela top` → its rows, by the readers of `ls`, `status` and `logs`. Every text of the cluster is harmless here.

use futures::StreamExt as _;
use futures::stream::BoxStream;
use jiff::Timestamp;
use kube::api::LogParams;
use serde_json::Value;
use vela_runtime::{clock, pod_log};

use super::model::{Content, Object, Page, PodName, Row};
use crate::cluster::Cluster;
use crate::command::logs::{self, Source};
use crate::command::{ls, status};
use crate::error::{Error, Result};
use crate::events::{self, Event};
use crate::health::{self, Health};
use crate::pods::{self, Pod};
use crate::pointer::text;
use crate::screen::{BUSY, plain, styled};
use crate::steps::whole_seconds;
use crate::tree::{self, Node};

/// The last lines of a log that are read.
pub(super) const LOG_LINES: usize = 500;
/// Why the sandbox has no log.
pub(super) const SIMULATED: &str =
    "The pods of the sandbox are simulated: no container runs, and none writes a log.";
/// Characters of a text that are shown of it.
const LONGEST: usize = 4_000;

/// Where pages are read.
pub(super) struct Reader<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) all_namespaces: bool,
    /// Do containers exist only by their names?
    pub(super) is_simulated: bool,
}

impl Reader<'_> {
    pub(super) async fn read(&self, page: &Page) -> Result<Content> {
        match page {
            Page::Applications => self.applications().await,
            Page::Objects(application) => self.objects(application).await,
            Page::Pods(application, component) => self.pods(application, component.as_deref()).await,
            Page::Events(object) => self.events(&object.namespace, &object.kind, &object.name).await,
            Page::PodEvents(pod) => self.events(&pod.namespace, "Pod", &pod.name).await,
            Page::Log(pod, container) => self.log(pod, *container).await,
        }
    }

    async fn applications(&self) -> Result<Content> {
        let namespace = (!self.all_namespaces).then(|| self.cluster.namespace());
        Ok(self.of_applications(&ls::read(self.cluster, namespace, "").await?))
    }

    pub(super) fn of_applications(&self, applications: &[Value]) -> Content {
        let mut heading = vec!["APP", "PHASE", "HEALTH", "COMPONENTS", "STATUS", "CREATED"];
        if self.all_namespaces {
            heading.insert(0, "NAMESPACE");
        }
        let place = match self.all_namespaces {
            true => format!("any namespace of {}", self.cluster.title()),
            false => self.cluster.place(),
        };
        let rows = applications.iter().map(|application| {
            let object = Object::of(application);
            let components = application.pointer("/spec/components").and_then(Value::as_array);
            let (health, message) = health::judge(application);
            let mut cells = vec![
                clean(&object.name),
                clean(ls::phase(application)),
                painted(health),
                components.map_or(0, Vec::len).to_string(),
                clean(status::problems(application).first().unwrap_or(&message)),
                clean(text(application, "/metadata/creationTimestamp")),
            ];
            if self.all_namespaces {
                cells.insert(0, clean(&object.namespace));
            }
            let id = format!("{}/{}/{}", object.namespace, object.kind, object.name);
            let events = Some(Page::Events(object.clone()));
            Row { id, cells, below: Some(Page::Objects(object)), events, log: None }
        });
        Content {
            rows: rows.collect(),
            long: heading.len() - 2,
            heading,
            empty: clean(&format!("There is no application in {place}.")),
        }
    }

    pub(super) async fn application(&self, object: &Object) -> Result<Value> {
        let Object { api_version, kind, namespace, name } = object;
        let found = self.cluster.get(api_version, kind, Some(namespace), name).await?;
        let mut found = serde_json::json!(
            found
                .ok_or_else(|| { Error::user(format!("{kind} {name} of namespace {namespace} is gone")) })?
        );
        found["kind"] = serde_json::json!(kind);
        found["apiVersion"] = serde_json::json!(api_version);
        Ok(found)
    }

    async fn objects(&self, application: &Object) -> Result<Content> {
        Ok(of_tree(application, &self.tree(application).await?))
    }

    pub(super) async fn tree(&self, application: &Object) -> Result<Node> {
        tree::read(self.cluster, &self.application(application).await?).await
    }

    async fn pods(&self, application: &Object, component: Option<&str>) -> Result<Content> {
        let all = pods::of(self.cluster, &self.application(application).await?).await?;
        Ok(of_pods(&application.name, component, &all))
    }

    async fn events(&self, namespace: &str, kind: &str, name: &str) -> Result<Content> {
        Ok(of_events(kind, name, &events::of(self.cluster, namespace, kind, name).await?))
    }

    async fn log(&self, pod: &PodName, at: usize) -> Result<Content> {
        let container = container(pod, at)?;
        if self.is_simulated {
            return Ok(no_log(SIMULATED));
        }
        let object = self.cluster.get("v1", "Pod", Some(&pod.namespace), &pod.name).await?;
        let object = object.ok_or_else(|| gone(pod))?;
        if !pod_log::has_begun(&serde_json::json!(object), container) {
            return Ok(no_log(&format!("Container {container} has not begun.")));
        }
        let lines = self.lines(pod, container, false).await?.take(LOG_LINES);
        let lines: Vec<logs::Line> = lines.collect().await;
        let lines: std::result::Result<Vec<String>, String> = lines.into_iter().collect();
        Ok(of_log(container, lines.map_err(Error::cluster)?.iter()))
    }

    /// The last lines of a log, and where it is followed those that are written from now on.
    pub(super) async fn lines(
        &self,
        pod: &PodName,
        container: &str,
        follow: bool,
    ) -> Result<BoxStream<'static, logs::Line>> {
        let source = Source {
            namespace: pod.namespace.clone(),
            pod: pod.name.clone(),
            container: container.to_owned(),
        };
        // By its time a line is known again when the log has grown.
        let params = LogParams {
            container: Some(container.to_owned()),
            follow,
            tail_lines: i64::try_from(LOG_LINES).ok(),
            timestamps: true,
            ..LogParams::default()
        };
        logs::open(self.cluster, &source, &params).await
    }
}

pub(super) fn container(pod: &PodName, at: usize) -> Result<&str> {
    let container = pod.containers.get(at).map(String::as_str);
    container.ok_or_else(|| Error::user(format!("pod {} has no such container", pod.name)).into())
}

pub(super) fn gone(pod: &PodName) -> Error {
    Error::user(format!("pod {} is gone", pod.name))
}

/// A log without a line, for this reason.
pub(super) fn no_log(sentence: &str) -> Content {
    Content { empty: clean(sentence), ..Content::default() }
}

pub(super) fn of_log<'a>(container: &str, lines: impl Iterator<Item = &'a String>) -> Content {
    let rows = lines.map(|line| of_line(line)).collect();
    Content { rows, ..no_log(&format!("Container {container} has written nothing.")) }
}

pub(super) fn of_tree(application: &Object, tree: &Node) -> Content {
    let mut rows = Vec::new();
    flatten(tree, &Place { application, component: None, depth: 0 }, &mut rows);
    let heading = vec!["OBJECT", "HEALTH", "ORIGIN", "MESSAGE"];
    Content { heading, long: 3, rows, empty: String::new() }
}

pub(super) fn of_pods(application: &str, component: Option<&str>, all: &[Pod]) -> Content {
    let wanted = all.iter().filter(|pod| component.is_none_or(|wanted| pod.component == wanted));
    let heading = vec!["POD", "READY", "PHASE", "RESTARTS", "COMPONENT", "NODE", "CREATED"];
    let empty = match component {
        Some(component) => format!("Component {component} of {application} has no pod."),
        None => format!("{application} has no pod."),
    };
    Content { heading, long: 4, rows: wanted.map(of_pod).collect(), empty: clean(&empty) }
}

pub(super) fn of_events(kind: &str, name: &str, all: &[Event]) -> Content {
    let heading = vec!["AGE", "TYPE", "REASON", "MESSAGE"];
    let empty = format!("The server has no event about {kind} {name}.");
    let now = clock::now();
    let rows = all.iter().map(|event| of_event(event, now)).collect();
    Content { heading, long: 3, rows, empty: clean(&empty) }
}

impl Object {
    fn of(object: &Value) -> Self {
        let [api_version, kind, namespace, name] =
            ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"]
                .map(|path| text(object, path).to_owned());
        Self { api_version, kind, namespace, name }
    }
}

/// Where a node stands.
struct Place<'a> {
    application: &'a Object,
    component: Option<&'a str>,
    depth: usize,
}

fn flatten(node: &Node, place: &Place<'_>, rows: &mut Vec<Row>) {
    let is_component = node.kind == "component";
    let component = if is_component { Some(node.name.as_str()) } else { place.component };
    let object = Object {
        api_version: String::new(),
        kind: node.kind.clone(),
        namespace: node.namespace.clone(),
        name: node.name.clone(),
    };
    rows.push(Row {
        id: format!("{}/{}/{}/{}", component.unwrap_or_default(), node.kind, node.namespace, node.name),
        cells: vec![
            format!("{}{} {}", "  ".repeat(place.depth), clean(&node.kind), clean(&node.name)),
            painted(node.health),
            clean(&node.origin),
            clean(&node.message),
        ],
        below: Some(Page::Pods(place.application.clone(), component.map(str::to_owned))),
        // A component is no object of the cluster.
        events: (!is_component).then_some(Page::Events(object)),
        log: None,
    });
    let below = Place { application: place.application, component, depth: place.depth + 1 };
    node.children.iter().for_each(|child| flatten(child, &below, rows));
}

fn of_pod(pod: &Pod) -> Row {
    let row = status::pod_row(pod);
    let cell =
        |field: &str| clean(&row[field].as_str().map_or_else(|| row[field].to_string(), str::to_owned));
    let name = PodName {
        namespace: pod.namespace().to_owned(),
        name: pod.name().to_owned(),
        containers: pod.containers().into_iter().map(str::to_owned).collect(),
    };
    let events = Page::PodEvents(name.clone());
    Row {
        id: format!("{}/{}", pod.namespace(), pod.name()),
        cells: ["pod", "ready", "phase", "restarts", "component", "node", "created"].map(cell).to_vec(),
        below: Some(events.clone()),
        events: Some(events),
        // The first container that is no init container is what a pod is for.
        log: main_container(pod).map(|at| Page::Log(name, at)),
    }
}

fn main_container(pod: &Pod) -> Option<usize> {
    let first = pod.object.pointer("/spec/containers/0").map(|first| text(first, "/name"))?;
    pod.containers().iter().position(|name| *name == first)
}

fn of_event(event: &Event, now: Timestamp) -> Row {
    let Event { last, is_warning, reason, message, count } = event;
    let kind = if *is_warning { styled(BUSY, "Warning") } else { "Normal".to_owned() };
    let age = last.parse().map_or_else(|_| clean(last), |last| whole_seconds(last, now));
    let often = if *count > 1 { format!("({count} times) ") } else { String::new() };
    Row {
        id: format!("{last}/{reason}/{message}"),
        cells: vec![age, kind, clean(reason), clean(&format!("{often}{message}"))],
        ..Row::default()
    }
}

fn of_line(line: &str) -> Row {
    let written = line.split_once(' ').map_or(line, |(_, written)| written);
    Row { id: line.to_owned(), cells: vec![clean(written)], ..Row::default() }
}

fn painted(health: Health) -> String {
    styled(health.style(), health.word())
}

/// A text of the cluster on one line of bounded length, in which nothing stands that a terminal would obey.
fn clean(text: &str) -> String {
    let short: String = text.chars().take(LONGEST).collect();
    plain(&short)
}
