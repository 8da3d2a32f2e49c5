//! `vela port-forward`: forwards ports of this machine to a pod of an application, until Ctrl-C.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::Duration;

use futures::future::{FutureExt as _, join_all};
use k8s_openapi::api::core::v1::Pod as PodObject;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use vela_crds::labels;
use vela_runtime::Api;

use super::stop::stop_asked;
use crate::applications::find_any;
use crate::args::{Global, PortForward, Ports, Remote};
use crate::cluster::Cluster;
use crate::containers::{Wanted, simulated};
use crate::error::{Error, Result};
use crate::pods::{self, Pod};
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};

/// Connections to one port at once; each needs one to the cluster.
const MOST_CONNECTIONS: usize = 100;
/// Ports that are forwarded at once.
const MOST_PORTS: usize = 32;
/// How long the rest of an answer may take when the client has said all it had to say.
const LINGER: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &PortForward, global: &Global, screen: &mut Screen) -> Result<()> {
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let done = match session.is_sandbox() {
            true => simulated(&session.cluster, &args.application, "listens on a port").await,
            false => forward(&session.cluster, args, screen).await,
        };
        session.close().await?;
        done
    })
}

/// The pod that connections go to.
struct Target {
    namespace: String,
    pod: String,
}

async fn forward(cluster: &Cluster, args: &PortForward, screen: &mut Screen) -> Result<()> {
    let (pod, service, note) = choose(cluster, args).await?;
    if let Some(note) = note {
        screen.say(&note);
    }
    let pairs = pairs(args, &pod, service.as_ref())?;
    let mut listeners = Vec::new();
    for (local, remote) in pairs {
        let address = SocketAddr::new(args.address, local);
        let cannot = |error: std::io::Error| {
            Error::config(format!("{address} of this machine cannot be listened on: {error}"))
                .hint(format!("write LOCAL:{remote} with another LOCAL, or :{remote} for a free port"))
        };
        let listener = vela_listen::bind(address).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        listeners.push((listener, address, remote));
    }
    let whose = match (&args.service, pod.component.as_str()) {
        (Some(service), _) => format!(" (Service {service})"),
        (None, "") => String::new(),
        (None, component) => format!(" (component {component})"),
    };
    for (_, address, remote) in &listeners {
        screen.print(&format!("Forwarding {address} to port {remote} of pod {}{whose}", pod.name()))?;
    }
    screen.say("Ctrl-C stops it.");
    let target = RefCell::new(Target { namespace: pod.namespace().to_owned(), pod: pod.name().to_owned() });
    let screen = RefCell::new(screen);
    let served = listeners.into_iter().map(|(listener, address, remote)| {
        let (target, screen) = (&target, &screen);
        let each = move |stream| async move {
            if let Err(why) = connect(cluster, args, target, remote, stream).await {
                screen.borrow_mut().say(&format!("A connection to {address} failed: {why}"));
            }
        };
        vela_listen::streams(listener, MOST_CONNECTIONS, each, std::future::pending())
    });
    tokio::select! {
        stopped = stop_asked() => stopped,
        _ = join_all(served) => Ok(()),
    }
}

/// The pod that is meant, the Service where one is, and what to say where there was a choice.
async fn choose(cluster: &Cluster, args: &PortForward) -> Result<(Pod, Option<Value>, Option<String>)> {
    let name = args.application.as_str();
    let application = find_any(cluster, name).await?;
    let mut pods = pods::of(cluster, &application).await?;
    let wanted = Wanted { application: name, component: args.component.as_deref(), pod: args.pod.as_deref() };
    let service = match &args.service {
        Some(service) => Some(service_of(cluster, name, service).await?),
        None => None,
    };
    if let Some(service) = &service {
        let selector = service.pointer("/spec/selector").and_then(Value::as_object);
        let Some(selector) = selector.filter(|all| !all.is_empty()) else {
            let title = text(service, "/metadata/name");
            let error = Error::user(format!("Service {title} of {name} selects no pods"));
            return Err(error.hint("choose a pod with --component or --pod").into());
        };
        pods.retain(|pod| {
            let labels = &pod.object["metadata"]["labels"];
            selector.iter().all(|(key, value)| labels.get(key) == Some(value))
        });
        // Pods of several components may stand behind one Service, and any will do.
        pods.iter_mut().for_each(|pod| pod.component.clear());
    }
    let (chosen, note) = wanted.one(&pods)?;
    let chosen = Pod { component: chosen.component.clone(), object: chosen.object.clone() };
    Ok((chosen, service, note))
}

/// A Service that belongs to the application.
async fn service_of(cluster: &Cluster, application: &str, name: &str) -> Result<Value> {
    let found = cluster.get("v1", "Service", None, name).await?;
    let is_its = |labels: &std::collections::BTreeMap<String, String>| {
        labels.get(labels::APP_NAME).is_some_and(|owner| owner == application)
    };
    match found.filter(|service| service.metadata.labels.as_ref().is_some_and(is_its)) {
        Some(service) => Ok(serde_json::json!(service)),
        None => {
            let error = Error::user(format!(
                "{application} has no Service {name:?} in namespace {}",
                cluster.namespace()
            ));
            Err(error.hint(format!("`vela status {application}` lists its objects")).into())
        }
    }
}

/// Ports of this machine, each with the port of the pod behind it.
fn pairs(args: &PortForward, pod: &Pod, service: Option<&Value>) -> Result<Vec<(u16, u16)>> {
    let declared: Vec<(u16, u16)> = match service {
        Some(service) => {
            let ports = service.pointer("/spec/ports").and_then(Value::as_array);
            let of = |port: &Value| Some((number(&port["port"])?, behind(port, pod)?));
            ports.into_iter().flatten().filter(|port| is_tcp(port)).filter_map(of).collect()
        }
        None => container_ports(pod)
            .filter_map(|port| number(&port["containerPort"]))
            .map(|one| (one, one))
            .collect(),
    };
    let whose = match &args.service {
        Some(service) => format!("Service {service}"),
        None => format!("pod {}", pod.name()),
    };
    if args.ports.is_empty() && declared.is_empty() {
        let error = Error::user(format!("{whose} declares no TCP port"));
        return Err(error.hint("write the port that it listens on as LOCAL:REMOTE, such as 8080:80").into());
    }
    let named = |name: &str| match service {
        Some(service) => {
            let ports = service.pointer("/spec/ports").and_then(Value::as_array);
            let port = ports.into_iter().flatten().find(|port| text(port, "/name") == name)?;
            Some((number(&port["port"])?, behind(port, pod)?))
        }
        None => {
            let port = container_ports(pod).find(|port| text(port, "/name") == name)?;
            number(&port["containerPort"]).map(|port| (port, port))
        }
    };
    let wrong = |what: String| {
        let there: Vec<String> = declared.iter().map(|(port, _)| port.to_string()).collect();
        let error = Error::user(format!("{whose} has no TCP port {what}"));
        error.hint(match there.is_empty() {
            true => "it declares none; write the number that it listens on".to_owned(),
            false => format!("there are {}", there.join(", ")),
        })
    };
    let one = |ports: &Ports| -> Result<(u16, u16)> {
        let (shown, remote) = match &ports.remote {
            Remote::Name(name) => named(name).ok_or_else(|| wrong(name.clone()))?,
            // A pod may listen on ports that it does not declare, a Service may not.
            Remote::Number(port) if service.is_none() => (*port, *port),
            Remote::Number(port) => declared
                .iter()
                .find(|(shown, _)| shown == port)
                .copied()
                .ok_or_else(|| wrong(port.to_string()))?,
        };
        Ok((ports.local.unwrap_or(shown), remote))
    };
    let pairs = match args.ports.is_empty() {
        true => declared.clone(),
        false => args.ports.iter().map(one).collect::<Result<Vec<_>>>()?,
    };
    if pairs.len() > MOST_PORTS {
        let error = Error::user(format!("{} ports are too many: at most {MOST_PORTS} at once", pairs.len()));
        return Err(error.hint("name those that are needed").into());
    }
    Ok(pairs)
}

/// The port of the pod behind a port of a Service.
fn behind(port: &Value, pod: &Pod) -> Option<u16> {
    match &port["targetPort"] {
        Value::Null => number(&port["port"]),
        Value::String(name) => {
            let of_pod = container_ports(pod).find(|port| text(port, "/name") == name)?;
            number(&of_pod["containerPort"])
        }
        target => number(target),
    }
}

fn container_ports(pod: &Pod) -> impl Iterator<Item = &Value> {
    let containers = pod.object.pointer("/spec/containers").and_then(Value::as_array);
    let ports =
        containers.into_iter().flatten().filter_map(|container| container["ports"].as_array()).flatten();
    ports.filter(|port| is_tcp(port))
}

/// Other protocols are not forwarded.
fn is_tcp(port: &Value) -> bool {
    matches!(text(port, "/protocol"), "" | "TCP")
}

fn number(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
}

/// Forwards one connection; to another pod where the first one is gone.
async fn connect(
    cluster: &Cluster,
    args: &PortForward,
    target: &RefCell<Target>,
    port: u16,
    local: TcpStream,
) -> std::result::Result<(), String> {
    let open = || {
        let (namespace, pod) = {
            let target = target.borrow();
            (target.namespace.clone(), target.pod.clone())
        };
        async move {
            let api: Api<PodObject> = Api::namespaced(cluster.client().clone(), &namespace);
            let opened = api.portforward(&pod, port).await;
            opened.map_err(|error| {
                let texts = cluster.failure(&format!("forward to pod {pod}"), &error).texts().join("; ");
                texts.trim_start_matches("error: ").to_owned()
            })
        }
    };
    let mut forwarder = match open().await {
        Ok(forwarder) => forwarder,
        Err(why) => {
            let (pod, ..) = choose(cluster, args).await.map_err(|_| why.clone())?;
            if pod.name() == target.borrow().pod {
                return Err(why);
            }
            *target.borrow_mut() =
                Target { namespace: pod.namespace().to_owned(), pod: pod.name().to_owned() };
            open().await?
        }
    };
    let (Some(remote), Some(error)) = (forwarder.take_stream(port), forwarder.take_error(port)) else {
        return Err(format!("port {port} was not opened"));
    };
    let mut error = std::pin::pin!(error.fuse());
    let (mut from_local, mut to_local) = local.into_split();
    let (mut from_pod, mut to_pod) = tokio::io::split(remote);
    // A client that has said all may still wait for the answer, and kube closes both directions at once.
    let sent = async {
        let _ = tokio::io::copy(&mut from_local, &mut to_pod).await;
        tokio::time::sleep(LINGER).await;
    };
    let answered = async {
        let _ = tokio::io::copy(&mut from_pod, &mut to_local).await;
        let _ = to_local.shutdown().await;
    };
    let refused = async {
        match error.as_mut().await {
            Some(why) => why,
            None => std::future::pending().await,
        }
    };
    let why = tokio::select! {
        biased;
        why = refused => Some(why),
        () = answered => None,
        () = sent => None,
    };
    forwarder.abort();
    let why = why.or_else(|| error.now_or_never().flatten());
    why.map_or(Ok(()), |why| Err(format!("pod {}: {}", target.borrow().pod, why.trim())))
}
