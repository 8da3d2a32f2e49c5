//! `vela logs`: prints what the containers of an application write, of all its pods or of some.

use futures::StreamExt as _;
use futures::stream::{self, BoxStream, SelectAll};
use kube::api::LogParams;
use vela_runtime::pod_log;

use crate::applications::find_any;
use crate::args::{Global, Logs};
use crate::cluster::Cluster;
use crate::containers::{Wanted, simulated};
use crate::error::{Error, Failure, Result};
use crate::pods::{self, Pod};
use crate::screen::{DIM, Screen, styled};
use crate::session::{Purpose, Session, block_on};

/// Containers that are followed at once: each needs a connection to the cluster.
const MOST_STREAMS: usize = 100;

/// One container of a pod.
pub(super) struct Source {
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) container: String,
}

pub(crate) fn run(args: &Logs, global: &Global, screen: &mut Screen) -> Result<()> {
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let printed = match session.is_sandbox() {
            true => simulated(&session.cluster, &args.application, "writes a log").await,
            false => print(&session.cluster, args, screen).await,
        };
        session.close().await?;
        printed
    })
}

async fn print(cluster: &Cluster, args: &Logs, screen: &mut Screen) -> Result<()> {
    let application = find_any(cluster, &args.application).await?;
    let pods = pods::of(cluster, &application).await?;
    let sources = chosen(&pods, args)?;
    if sources.len() > MOST_STREAMS {
        let error = Error::user(format!(
            "{} containers write logs, at most {MOST_STREAMS} are read at once",
            sources.len()
        ));
        return Err(error.hint("choose some with --component, --pod or --container").into());
    }
    let has_prefix = sources.len() > 1;
    let mut failures: Vec<Failure> = Vec::new();
    let mut all: SelectAll<BoxStream<'_, Line>> = SelectAll::new();
    let mut one_by_one: Vec<BoxStream<'_, Line>> = Vec::new();
    for source in &sources {
        let prefix = if has_prefix {
            styled(DIM, &format!("{} {} ", source.pod, source.container))
        } else {
            String::new()
        };
        match open(cluster, source, &extent(&source.container, args)).await {
            Ok(lines) => {
                let lines = lines.map(move |line| line.map(|text| format!("{prefix}{text}"))).boxed();
                if args.follow { all.push(lines) } else { one_by_one.push(lines) }
            }
            Err(failure) => failures.push(failure),
        }
    }
    // Without --follow one container is printed after the other.
    let mut lines = stream::iter(one_by_one).flatten().chain(all);
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    loop {
        let line = tokio::select! {
            line = lines.next() => line,
            _ = &mut interrupt => break,
        };
        match line {
            Some(Ok(text)) => screen.print(&text)?,
            Some(Err(why)) => failures.push(Error::cluster(why).into()),
            None => break,
        }
    }
    Failure::all(failures).map_or(Ok(()), Err)
}

/// The containers that are asked for.
fn chosen(pods: &[Pod], args: &Logs) -> Result<Vec<Source>> {
    let name = &args.application;
    let wanted = Wanted { application: name, component: args.component.as_deref(), pod: args.pod.as_deref() }
        .pods(pods)?;
    let mut sources = Vec::new();
    for pod in &wanted {
        let all = pod.containers();
        // Containers that have not begun have no log, and asking for it is an error.
        let begun = |container: &&str| pod_log::has_begun(&pod.object, container);
        let of_pod =
            all.iter().copied().filter(|one| args.container.as_ref().is_none_or(|wanted| one == wanted));
        sources.extend(of_pod.filter(|one| args.container.is_some() || begun(one)).map(|container| Source {
            namespace: pod.namespace().to_owned(),
            pod: pod.name().to_owned(),
            container: container.to_owned(),
        }));
    }
    if sources.is_empty() {
        let mut there: Vec<&str> = wanted.iter().flat_map(|pod| pod.containers()).collect();
        there.sort_unstable();
        there.dedup();
        let error = Error::user(match &args.container {
            Some(container) => format!("no pod of {name} has a container {container:?}"),
            None => format!("no container of {name} has begun"),
        });
        return Err(error
            .hint(match args.container.is_some() {
                true => format!("there are {}", there.join(", ")),
                false => format!("`vela status {name}` says what the pods wait for"),
            })
            .into());
    }
    Ok(sources)
}

/// A line, or why there are no more.
pub(super) type Line = std::result::Result<String, String>;

/// How much of the log of a container is asked for.
fn extent(container: &str, args: &Logs) -> LogParams {
    let seconds = |since: std::time::Duration| i64::try_from(since.as_secs().max(1)).unwrap_or(i64::MAX);
    LogParams {
        container: Some(container.to_owned()),
        follow: args.follow,
        previous: args.previous,
        timestamps: args.timestamps,
        since_seconds: args.since.map(seconds),
        tail_lines: args.tail.map(i64::from),
        ..LogParams::default()
    }
}

/// The lines that a container wrote.
pub(super) async fn open(
    cluster: &Cluster,
    source: &Source,
    params: &LogParams,
) -> Result<BoxStream<'static, Line>> {
    let Source { namespace, pod, container } = source;
    let lines = pod_log::lines(cluster.client(), namespace, pod, params).await.map_err(|error| {
        cluster.failure(&format!("give the log of container {container} of pod {pod}"), &error)
    })?;
    let broken = format!("the log of container {container} of pod {pod} ends early");
    Ok(lines.map(move |line| line.map_err(|error| format!("{broken}: {error}"))).boxed())
}
