//! A simulated sidecar: asks the operator for the Components of its namespace as a sidecar before Dapr 1.4 does, in plain text, and
//! prints what it would load and each change of that. It runs no building block.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Parser;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tonic::body::Body;
use vela_dapr::protocol::operator_client::OperatorClient;
use vela_dapr::protocol::{InNamespace, ResourceEventType};

type Failure = Box<dyn std::error::Error>;

/// Prints what a sidecar is given, until the operator stops.
#[derive(Parser)]
struct Args {
    /// Where the operator answers sidecars.
    #[arg(long, default_value = "127.0.0.1:6500", value_name = "HOST:PORT")]
    operator: String,
    /// Namespace of the sidecar.
    #[arg(long, default_value = "default", value_name = "NAMESPACE")]
    namespace: String,
    /// Id of its application.
    #[arg(long, value_name = "ID")]
    app_id: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sidecar: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<(), Failure> {
    let stream = tokio::net::TcpStream::connect(&args.operator).await?;
    let (mut channel, connection) =
        http2::handshake::<_, _, Body>(TokioExecutor::new(), TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let send = tower::service_fn(move |request| channel.send_request(request));
    let mut operator = OperatorClient::with_origin(send, "http://operator".parse()?);
    let namespace = || InNamespace { namespace: args.namespace.clone() };
    // The stream first, so that no change between the two is missed.
    let mut updates = operator.component_update(namespace()).await?.into_inner();
    let listed = operator.list_components(namespace()).await?.into_inner();
    let (mut loaded, mut words) = (BTreeSet::new(), Vec::new());
    for json in &listed.json {
        let component: Value = serde_json::from_slice(json)?;
        if is_for(&component, &args.app_id) {
            words.push(format!("{} ({})", name(&component), text(&component["spec"]["type"])));
            loaded.insert(name(&component));
        }
    }
    println!("{} has {}", args.app_id, words.join(", "));
    while let Some(event) = updates.message().await? {
        let component: Value = serde_json::from_slice(&event.json)?;
        let name = name(&component);
        let stays = is_for(&component, &args.app_id) && event.r#type() != ResourceEventType::Deleted;
        let was = if stays { !loaded.insert(name.clone()) } else { loaded.remove(&name) };
        let happened = match (was, stays) {
            (false, true) => "is new",
            (true, true) => "changed",
            (true, false) => "is gone",
            (false, false) => continue,
        };
        println!("{name} {happened}: {}", component["spec"]["metadata"]);
    }
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn name(component: &Value) -> String {
    text(&component["metadata"]["name"]).to_owned()
}

/// A sidecar without a certificate looks at the scopes itself.
fn is_for(component: &Value, app_id: &str) -> bool {
    let scopes = component["scopes"].as_array();
    scopes.is_none_or(|scopes| scopes.is_empty() || scopes.iter().any(|scope| scope == app_id))
}
