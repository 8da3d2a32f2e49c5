//! A page of `vela top` → its rows, by the readers of `ls`, `status` and `logs`. Every text of the cluster is harmless here.

use futures::StreamExt as _;
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
const LOG_LINES: u16 = 500;
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
        let applications = ls::read(self.cluster, namespace).await?;
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
        Ok(Content {
            rows: rows.collect(),
            long: heading.len() - 2,
            heading,
            empty: clean(&format!("There is no application in {place}.")),
        })
    }

    async fn application(&self, object: &Object) -> Result<Value> {
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
        let tree = tree::read(self.cluster, &self.application(application).await?).await?;
        let mut rows = Vec::new();
        let whole = Place { application, component: None, depth: 0 };
        flatten(&tree, &whole, &mut rows);
        let heading = vec!["OBJECT", "HEALTH", "ORIGIN", "MESSAGE"];
        Ok(Content { heading, long: 3, rows, empty: String::new() })
    }

    async fn pods(&self, application: &Object, component: Option<&str>) -> Result<Content> {
        let all = pods::of(self.cluster, &self.application(application).await?).await?;
        let wanted = all.iter().filter(|pod| component.is_none_or(|wanted| pod.component == wanted));
        let heading = vec!["POD", "READY", "PHASE", "RESTARTS", "COMPONENT", "NODE", "CREATED"];
        let empty = match component {
            Some(component) => format!("Component {component} of {} has no pod.", application.name),
            None => format!("{} has no pod.", application.name),
        };
        Ok(Content { heading, long: 4, rows: wanted.map(of_pod).collect(), empty: clean(&empty) })
    }

    async fn events(&self, namespace: &str, kind: &str, name: &str) -> Result<Content> {
        let all = events::of(self.cluster, namespace, kind, name).await?;
        let heading = vec!["AGE", "TYPE", "REASON", "MESSAGE"];
        let empty = format!("The server has no event about {kind} {name}.");
        let now = clock::now();
        let rows = all.iter().map(|event| of_event(event, now)).collect();
        Ok(Content { heading, long: 3, rows, empty: clean(&empty) })
    }

    async fn log(&self, pod: &PodName, at: usize) -> Result<Content> {
        let Some(container) = pod.containers.get(at) else {
            return Err(Error::user(format!("pod {} has no such container", pod.name)).into());
        };
        let none = |sentence: String| Content { empty: clean(&sentence), ..Content::default() };
        if self.is_simulated {
            let why = "The pods of the sandbox are simulated: no container runs, and none writes a log.";
            return Ok(none(why.to_owned()));
        }
        let object = self.cluster.get("v1", "Pod", Some(&pod.namespace), &pod.name).await?;
        let object = object.ok_or_else(|| Error::user(format!("pod {} is gone", pod.name)))?;
        if !pod_log::has_begun(&serde_json::json!(object), container) {
            return Ok(none(format!("Container {container} has not begun.")));
        }
        let source =
            Source { namespace: pod.namespace.clone(), pod: pod.name.clone(), container: container.clone() };
        // By its time a line is known again when the log has grown.
        let params = LogParams {
            container: Some(container.clone()),
            tail_lines: Some(i64::from(LOG_LINES)),
            timestamps: true,
            ..LogParams::default()
        };
        let lines = logs::open(self.cluster, &source, &params).await?.take(usize::from(LOG_LINES));
        let lines: Vec<logs::Line> = lines.collect().await;
        let lines: std::result::Result<Vec<String>, String> = lines.into_iter().collect();
        let rows = lines.map_err(Error::cluster)?.iter().map(|line| of_line(line)).collect();
        Ok(Content { rows, ..none(format!("Container {container} has written nothing.")) })
    }
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
