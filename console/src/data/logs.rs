//! The logs of an application: its tree and what is asked for in, the containers that are meant and their lines out.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::{BoxStream, iter, select_all};
use kube::Client;
use kube::api::LogParams;
use schemars::JsonSchema;
use serde::Serialize;
use vela_runtime::{Discovery, pod_log};

use crate::data::tree::{Tree, below};
use crate::error::Error;
use crate::find::is_name;
use crate::query::Query;
use crate::text;

/// Containers whose logs are read at once: each needs a connection to the cluster.
pub(crate) const CONTAINERS_AT_MOST: usize = 20;
/// Pods of an application that are asked for their containers.
const PODS_AT_MOST: usize = 200;
/// Requests under way at once.
const AT_ONCE: usize = 8;
/// Lines of each container from its end, where the request says nothing.
pub(crate) const TAIL: usize = 100;
/// Lines of each container from its end at most.
pub(crate) const TAIL_AT_MOST: usize = 10_000;
/// Lines that a page shows before its script follows the log.
const LINES_OF_PAGE: usize = 2_000;
/// Bytes of these lines.
const BYTES_OF_PAGE: usize = 1 << 20;

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct LogLine {
    /// The pod that wrote it.
    pub(crate) pod: String,
    /// The container of the pod.
    pub(crate) container: String,
    /// The line, without colours; a very long one comes in pieces.
    pub(crate) text: String,
}

/// A line, or why there are no more of a container.
pub(crate) type Line = Result<LogLine, Error>;

/// What a request asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// Of pods of this component.
    pub(crate) component: Option<String>,
    /// Of this pod.
    pub(crate) pod: Option<String>,
    /// Of containers with this name.
    pub(crate) container: Option<String>,
    /// Lines of each container from its end.
    pub(crate) tail: usize,
    /// Go on with what they write later.
    pub(crate) follow: Option<bool>,
    /// Of the container before its last restart.
    pub(crate) previous: bool,
    /// Each line begins with its time.
    pub(crate) timestamps: bool,
}

impl Wanted {
    /// Reads it.
    pub(crate) fn read(query: &Query) -> Result<Self, Error> {
        let named = |parameter: &str| match query.text(parameter) {
            Some(name) if !is_name(name) => {
                Err(Error::BadRequest(format!("{parameter}: {name:?} cannot be the name of one")))
            }
            name => Ok(name.map(str::to_owned)),
        };
        Ok(Self {
            component: named("component")?,
            pod: named("pod")?,
            container: named("container")?,
            tail: query.number("tail", TAIL_AT_MOST)?.unwrap_or(TAIL),
            follow: query.flag("follow")?,
            previous: query.flag("previous")?.unwrap_or_default(),
            timestamps: query.flag("timestamps")?.unwrap_or_default(),
        })
    }
}

/// A pod of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodOfComponent<'t> {
    /// The component that asked for what made it; empty where the record does not say.
    pub(crate) component: &'t str,
    /// Its namespace.
    pub(crate) namespace: &'t str,
    /// Its name.
    pub(crate) name: &'t str,
}

/// One container whose log is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    namespace: String,
    pod: String,
    /// Its name.
    pub(crate) container: String,
}

/// The pods of a tree, in its order, each once.
pub(crate) fn pods(tree: &Tree) -> Vec<PodOfComponent<'_>> {
    let mut seen = BTreeSet::new();
    let mut pods = Vec::new();
    for root in &tree.objects {
        let component = root.component.as_str();
        let nodes = below(std::slice::from_ref(root)).into_iter();
        for node in nodes.filter(|node| node.kind == "Pod" && node.api_version == "v1") {
            let (namespace, name) = (node.namespace.as_str(), node.name.as_str());
            if seen.insert((namespace, name)) {
                pods.push(PodOfComponent { component, namespace, name });
            }
        }
    }
    pods
}

/// The containers that are meant; never none.
pub(crate) async fn sources(
    client: &Client,
    discovery: &Discovery,
    application: &str,
    tree: &Tree,
    wanted: &Wanted,
) -> Result<Vec<Source>, Error> {
    let pods = chosen(application, pods(tree), wanted)?;
    let what = "the pods of the application";
    let kind = discovery.resolve("v1", "Pod").await.map_err(|error| Error::Unreadable(error.to_string()))?;
    let kind = &kind;
    let read = |pod: PodOfComponent<'_>| {
        let (namespace, name) = (pod.namespace.to_owned(), pod.name.to_owned());
        async move {
            let found = kind.api(client.clone(), &namespace).get_opt(&name).await;
            // A pod that has gone meanwhile has no log.
            found.map(|found| found.map(|found| serde_json::to_value(found).unwrap_or_default()))
        }
    };
    let found: Vec<_> = iter(pods.into_iter().map(read)).buffered(AT_ONCE).collect().await;
    let mut there = BTreeSet::new();
    let mut sources = Vec::new();
    for pod in found {
        let Some(pod) = pod.map_err(Error::cluster(what))? else { continue };
        for container in pod_log::containers(&pod) {
            there.insert(container.to_owned());
            let is_wanted = match &wanted.container {
                Some(wanted) => wanted == container,
                None => pod_log::has_begun(&pod, container),
            };
            if is_wanted {
                let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default().to_owned();
                let container = container.to_owned();
                sources.push(Source { namespace: text("namespace"), pod: text("name"), container });
            }
        }
    }
    bounded(application, wanted, sources, &there)
}

/// The pods that are meant; never none.
fn chosen<'t>(
    application: &str,
    pods: Vec<PodOfComponent<'t>>,
    wanted: &Wanted,
) -> Result<Vec<PodOfComponent<'t>>, Error> {
    let (there, count): (Vec<&str>, usize) = (pods.iter().take(10).map(|pod| pod.name).collect(), pods.len());
    let is_wanted = |pod: &PodOfComponent<'_>| {
        wanted.component.as_deref().is_none_or(|component| component == pod.component)
            && wanted.pod.as_deref().is_none_or(|name| name == pod.name)
    };
    let mut found: Vec<_> = pods.into_iter().filter(is_wanted).collect();
    found.truncate(PODS_AT_MOST);
    if !found.is_empty() {
        return Ok(found);
    }
    let none = match (&wanted.component, &wanted.pod) {
        (_, Some(pod)) => format!("{application} has no pod {pod:?}"),
        (Some(component), _) => format!("component {component:?} of {application} has no pod"),
        _ => format!("{application} has no pod"),
    };
    Err(Error::NotFound(match count {
        0 => format!("{none}; its objects say what it waits for"),
        _ => format!("{none} that is meant; of {count} pods the first are {}", there.join(", ")),
    }))
}

fn bounded(
    application: &str,
    wanted: &Wanted,
    sources: Vec<Source>,
    there: &BTreeSet<String>,
) -> Result<Vec<Source>, Error> {
    let count = sources.len();
    if count > CONTAINERS_AT_MOST {
        return Err(Error::BadRequest(format!(
            "{count} containers write logs, and at most {CONTAINERS_AT_MOST} are read at once; choose some with component, \
             pod or container"
        )));
    }
    match (&wanted.container, count) {
        (Some(container), 0) => {
            let there: Vec<&str> = there.iter().map(String::as_str).collect();
            Err(Error::NotFound(format!(
                "no pod of {application} has a container {container:?}; there are {}",
                there.join(", ")
            )))
        }
        (None, 0) => Err(Error::NotFound(format!(
            "no container of {application} has begun; its objects say what its pods wait for"
        ))),
        _ => Ok(sources),
    }
}

/// The lines of containers: as they come where they are followed, else those of one container after the other.
pub(crate) async fn open(client: &Client, sources: Vec<Source>, wanted: &Wanted) -> BoxStream<'static, Line> {
    let follow = wanted.follow.unwrap_or_default();
    let opened = join_all(sources.into_iter().map(|source| open_one(client, source, wanted, follow))).await;
    match follow {
        true => select_all(opened).boxed(),
        false => iter(opened).flatten().boxed(),
    }
}

async fn open_one(
    client: &Client,
    source: Source,
    wanted: &Wanted,
    follow: bool,
) -> BoxStream<'static, Line> {
    let Source { namespace, pod, container } = source;
    let params = LogParams {
        container: Some(container.clone()),
        follow,
        previous: wanted.previous,
        timestamps: wanted.timestamps,
        tail_lines: i64::try_from(wanted.tail).ok(),
        ..LogParams::default()
    };
    match pod_log::lines(client, &namespace, &pod, &params).await {
        Err(source) => {
            let what = format!("the log of container {container} of pod {pod}");
            let failed: Line = Err(Error::NoLog { what, source });
            iter([failed]).boxed()
        }
        Ok(lines) => lines
            .map(move |line| match line {
                Ok(line) => {
                    Ok(LogLine { pod: pod.clone(), container: container.clone(), text: text::line(&line) })
                }
                Err(error) => Err(Error::Unreadable(format!(
                    "the log of container {container} of pod {pod} ends early: {error}"
                ))),
            })
            .boxed(),
    }
}

/// The lines that a page shows at first, and whether there are more.
pub(crate) async fn first(mut lines: BoxStream<'static, Line>) -> (Vec<Line>, bool) {
    let (mut shown, mut bytes) = (Vec::new(), 0);
    while let Some(line) = lines.next().await {
        bytes += line.as_ref().map_or(0, |line| line.text.len());
        if shown.len() >= LINES_OF_PAGE || bytes > BYTES_OF_PAGE {
            return (shown, true);
        }
        shown.push(line);
    }
    (shown, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tree::Node;

    fn tree() -> Tree {
        let node = |kind: &str, name: &str, children| Node {
            api_version: "v1".into(),
            kind: kind.into(),
            namespace: "default".into(),
            name: name.into(),
            component: if kind == "Pod" { String::new() } else { name.into() },
            children,
            ..Node::default()
        };
        let pod = |name| node("Pod", name, Vec::new());
        let objects = vec![
            node("ReplicaSet", "web", vec![pod("a"), pod("b")]),
            node("Job", "db", vec![pod("c"), pod("a")]),
        ];
        Tree { objects, ..Tree::default() }
    }

    fn names(wanted: &Wanted) -> Result<String, String> {
        let tree = tree();
        let pods = chosen("shop", pods(&tree), wanted).map_err(|error| error.to_string())?;
        Ok(pods.iter().map(|pod| pod.name).collect())
    }

    #[test]
    fn pods_are_chosen_by_component_and_name() {
        let wanted = |component: Option<&str>, pod: Option<&str>| Wanted {
            component: component.map(str::to_owned),
            pod: pod.map(str::to_owned),
            ..Wanted::default()
        };
        assert_eq!(names(&wanted(None, None)).as_deref(), Ok("abc"));
        assert_eq!(names(&wanted(Some("web"), None)).as_deref(), Ok("ab"));
        assert_eq!(names(&wanted(None, Some("c"))).as_deref(), Ok("c"));
        let refused = names(&wanted(Some("web"), Some("c"))).unwrap_err();
        assert!(refused.contains("no pod \"c\"") && refused.contains("a, b, c"), "{refused}");
    }

    #[test]
    fn too_many_containers_and_none_are_refused() {
        let source = Source { namespace: "n".into(), pod: "p".into(), container: "c".into() };
        let there = BTreeSet::from(["c".to_owned()]);
        let refused = |wanted: &Wanted, count| {
            bounded("shop", wanted, vec![source.clone(); count], &there).map_err(|error| error.to_string())
        };
        assert!(refused(&Wanted::default(), 21).unwrap_err().contains("at most 20"));
        assert!(refused(&Wanted::default(), 0).unwrap_err().contains("has begun"));
        let named = Wanted { container: Some("d".into()), ..Wanted::default() };
        assert!(refused(&named, 0).unwrap_err().contains("there are c"));
        assert_eq!(refused(&named, 20).unwrap().len(), 20);
    }
}
