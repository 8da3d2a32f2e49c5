//! `vela exec`: runs a command in a container of an application, with its streams, its terminal and its exit code.

use futures::{FutureExt as _, SinkExt as _};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::api::{AttachParams, AttachedProcess, TerminalSize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use vela_runtime::Api;

use crate::applications::find_any;
use crate::args::{Exec, Global};
use crate::cluster::Cluster;
use crate::containers::{Wanted, container, simulated};
use crate::error::{Error, Failure, Result};
use crate::pods;
use crate::screen::{Passed, Screen};
use crate::session::{Purpose, Session, block_on};
use crate::target::causes;
use crate::terminal::{self, Raw};

/// Bytes of a stream that are under way at once.
const PIPE: usize = 64 * 1024;
/// Bytes that are read of standard input at once.
const CHUNK: usize = 16 * 1024;
/// Pieces of standard input that wait to be sent.
const MOST_CHUNKS: usize = 4;

pub(crate) fn run(args: &Exec, global: &Global, screen: &mut Screen) -> Result<()> {
    if args.tty && !terminal::is_there() {
        let error = Error::user("--tty (-t) needs a terminal, and standard input is none");
        return Err(error.hint("leave out -t; -i passes standard input on without a terminal").into());
    }
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let done = match session.is_sandbox() {
            true => simulated(&session.cluster, &args.application, "runs a command").await,
            false => exec(&session.cluster, args, screen).await,
        };
        session.close().await?;
        done
    })
}

async fn exec(cluster: &Cluster, args: &Exec, screen: &mut Screen) -> Result<()> {
    let application = find_any(cluster, &args.application).await?;
    let pods = pods::of(cluster, &application).await?;
    let wanted = Wanted {
        application: &args.application,
        component: args.component.as_deref(),
        pod: args.pod.as_deref(),
    };
    let (pod, note) = wanted.one(&pods)?;
    let container = container(pod, args.container.as_deref())?;
    if let Some(note) = note {
        screen.say(&note);
    }
    let place = format!("container {container} of pod {}", pod.name());
    let params = AttachParams {
        container: Some(container),
        stdin: args.stdin,
        stdout: true,
        // A terminal has one stream for both.
        stderr: !args.tty,
        tty: args.tty,
        max_stdin_buf_size: Some(PIPE),
        max_stdout_buf_size: Some(PIPE),
        max_stderr_buf_size: Some(PIPE),
    };
    let api: Api<Pod> = Api::namespaced(cluster.client().clone(), pod.namespace());
    let mut process = api
        .exec(pod.name(), &args.command, &params)
        .await
        .map_err(|error| cluster.failure(&format!("run a command in {place}"), &error))?;
    let raw = args.tty.then(Raw::enter).transpose()?;
    let ended = pass_on(&mut process, args, screen).await;
    // Messages from here on need the terminal in its former mode.
    drop(raw);
    match ended? {
        End::Reader => Ok(()),
        End::Command(status) => judge(&status, &place),
        End::Connection => Err(broken(process, &place, args.stdin).await),
    }
}

/// How the streams came to their end.
enum End {
    /// The command ended.
    Command(Box<Status>),
    /// The connection did, before the command said how it ended.
    Connection,
    /// The reader of our output (`head`, a pager) has seen enough.
    Reader,
}

/// Passes the streams on until one side ends.
async fn pass_on(process: &mut AttachedProcess, args: &Exec, screen: &mut Screen) -> Result<End> {
    let (mut out, mut err) = (stream(process.stdout()), stream(process.stderr()));
    let Some(status) = process.take_status() else { return Ok(End::Connection) };
    let mut status = std::pin::pin!(status);
    let mut fed = std::pin::pin!(feed(process.stdin()));
    let mut sized = std::pin::pin!(pass_size(process.terminal_size()));
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    let (mut of_out, mut of_err) = (vec![0; CHUNK], vec![0; CHUNK]);
    let (mut has_out, mut has_err, mut has_input) = (true, true, true);
    let end = loop {
        tokio::select! {
            read = out.read(&mut of_out), if has_out => match read {
                Ok(length @ 1..) if !screen.pass(&of_out[..length], Passed::Out)? => return Ok(End::Reader),
                Ok(1..) => {}
                _ => has_out = false,
            },
            read = err.read(&mut of_err), if has_err => match read {
                Ok(length @ 1..) if !screen.pass(&of_err[..length], Passed::Err)? => return Ok(End::Reader),
                Ok(1..) => {}
                _ => has_err = false,
            },
            fed = &mut fed, if has_input => {
                fed?;
                has_input = false;
            }
            () = &mut sized => {}
            status = &mut status => break status,
            // With a terminal of its own the command gets the key.
            _ = &mut interrupt, if !args.tty => {
                let error = Error::interrupted("interrupted");
                return Err(error.hint("the command may still run in its container").into());
            }
        }
    };
    // What was written before the end is in the pipes, and no more comes.
    for (reader, buffer, passed) in
        [(&mut out, &mut of_out, Passed::Out), (&mut err, &mut of_err, Passed::Err)]
    {
        while let Some(Ok(length @ 1..)) = tokio::task::unconstrained(reader.read(buffer)).now_or_never() {
            if !screen.pass(&buffer[..length], passed)? {
                return Ok(End::Reader);
            }
        }
    }
    Ok(end.map_or(End::Connection, |status| End::Command(Box::new(status))))
}

/// A stream of the command; one that it does not have has ended.
fn stream(reader: Option<impl AsyncRead + Send + Unpin + 'static>) -> Box<dyn AsyncRead + Send + Unpin> {
    match reader {
        Some(reader) => Box::new(reader),
        None => Box::new(tokio::io::empty()),
    }
}

/// Passes standard input on, where it is asked for, until it ends.
async fn feed(writer: Option<impl tokio::io::AsyncWrite + Unpin>) -> Result<()> {
    let Some(mut writer) = writer else { return Ok(()) };
    let mut input = standard_input();
    while let Some(chunk) = input.recv().await {
        let chunk =
            chunk.map_err(|error| Error::config(format!("standard input cannot be read: {error}")))?;
        // Where the command reads no more, how it ended comes as its status.
        if writer.write_all(&chunk).await.is_err() {
            break;
        }
    }
    let _ = writer.shutdown().await;
    Ok(())
}

/// Standard input, read by a thread of its own: a read cannot be given up, and must not hold up the end of the program.
fn standard_input() -> mpsc::Receiver<std::io::Result<Vec<u8>>> {
    use std::io::Read as _;
    let (sender, receiver) = mpsc::channel(MOST_CHUNKS);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut buffer = vec![0; CHUNK];
        loop {
            let chunk = match stdin.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => Ok(buffer[..length].to_vec()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let is_last = chunk.is_err();
            if sender.blocking_send(chunk).is_err() || is_last {
                break;
            }
        }
    });
    receiver
}

/// Tells the command how large the terminal is, now and whenever that changes; never ends.
async fn pass_size(sizes: Option<futures::channel::mpsc::Sender<TerminalSize>>) {
    if let (Some(mut sizes), Ok(mut changes)) = (sizes, signal(SignalKind::window_change())) {
        loop {
            if let Some((width, height)) = terminal::size()
                && sizes.send(TerminalSize { width, height }).await.is_err()
            {
                break;
            }
            changes.recv().await;
        }
    }
    std::future::pending().await
}

/// What the end of a command means.
fn judge(status: &Status, place: &str) -> Result<()> {
    if status.status.as_deref() == Some("Success") {
        return Ok(());
    }
    let causes = status.details.iter().flat_map(|details| details.causes.iter().flatten());
    let code = causes
        .filter(|cause| cause.reason.as_deref() == Some("ExitCode"))
        .find_map(|cause| cause.message.as_ref()?.parse::<u8>().ok());
    if status.reason.as_deref() == Some("NonZeroExitCode")
        && let Some(code) = code.filter(|code| *code != 0)
    {
        return Err(Failure::of_command(code));
    }
    let why = status.message.as_deref().unwrap_or("the cluster does not say why");
    let error = Error::cluster(format!("the command did not run in {place}: {why}"));
    Err(error.hint("check that its image has this program; a shell is often /bin/sh").into())
}

/// Says what is known of a connection that ended too early.
async fn broken(process: AttachedProcess, place: &str, has_input: bool) -> Failure {
    let why = process.join().await.err().map_or_else(String::new, |error| format!(": {}", causes(&error)));
    let message = format!("the connection to {place} ended before the command said how it ended{why}");
    let hint = match has_input {
        true => {
            "the command may still run; clusters before Kubernetes 1.30 end the connection when standard input ends"
        }
        false => "the command may still run in its container",
    };
    Error::cluster(message).hint(hint).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(status: serde_json::Value) -> std::result::Result<(), String> {
        let status: Status = serde_json::from_value(status).unwrap();
        judge(&status, "container web of pod a").map_err(|failure| failure.texts().join("\n"))
    }

    #[test]
    fn an_end_of_a_command_is_its_own_or_the_clusters() {
        assert_eq!(judged(json!({"status": "Success"})), Ok(()));
        let ended = |code: &str| {
            json!({"status": "Failure", "reason": "NonZeroExitCode", "message": "command terminated with non-zero exit code",
                "details": {"causes": [{"reason": "ExitCode", "message": code}]}})
        };
        assert!(judged(ended("3")).unwrap_err().contains("exit code 3"));
        for odd in ["0", "256", "x"] {
            assert!(
                judged(ended(odd)).unwrap_err().contains("did not run in container web of pod a"),
                "{odd}"
            );
        }
        let refused =
            judged(json!({"status": "Failure", "reason": "InternalError", "message": "no such file"}));
        assert!(refused.unwrap_err().contains("did not run in container web of pod a: no such file"));
    }
}
