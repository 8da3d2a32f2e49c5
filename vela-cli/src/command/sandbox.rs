//! `vela sandbox`: serve it to other programs, also with a console, stop it, reset it, say how it is.

use std::time::{Duration, Instant};

use serde_json::json;

use super::dashboard::{self, Wanted};
use super::stop::stop_asked;
use crate::args::{Format, Global, Sandbox, SandboxRun};
use crate::error::{Error, Result};
use crate::requests::RequestLog;
use crate::sandbox::{Home, Local, LockAttempt, stop_process};
use crate::screen::Screen;
use crate::session::{Purpose, block_on_threads};

/// A serving sandbox closes its store and goes within this time, or something holds it.
const LONGEST_STOP: Duration = Duration::from_secs(30);
/// How often it is looked whether it has gone.
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &Sandbox, global: &Global, screen: &mut Screen) -> Result<()> {
    match args {
        Sandbox::Run(args) => serve(args, global, screen),
        Sandbox::Stop => {
            let home = Home::find()?;
            match stop(&home)? {
                true => screen.say("The sandbox has stopped; its data stay."),
                false => screen.say("The sandbox does not serve."),
            }
            Ok(())
        }
        Sandbox::Reset => reset(screen),
        Sandbox::Status { output } => status(*output, screen),
        Sandbox::Kubeconfig => {
            let home = Home::find()?;
            if !matches!(home.holder()?, Some(holder) if holder.serves) {
                return Err(Error::user("the sandbox does not serve, so there is nothing to connect to")
                    .hint("start it with `vela sandbox run` (in another terminal)")
                    .into());
            }
            let text =
                std::fs::read_to_string(home.kubeconfig()).map_err(|error| home.io_error("read", &error))?;
            screen.print(&text)
        }
    }
}

fn serve(args: &SandboxRun, global: &Global, screen: &mut Screen) -> Result<()> {
    let work = async {
        let home = Home::find()?;
        let lock = match home.take(screen).await? {
            LockAttempt::Ours(lock) => lock,
            LockAttempt::Serving(_) if args.console => {
                return Err(Error::user("the sandbox serves already")
                    .hint("`vela dashboard --sandbox` serves a console over it")
                    .into());
            }
            LockAttempt::Serving(path) => {
                return Err(Error::user("the sandbox serves already")
                    .hint(format!("use it with `export KUBECONFIG={}`", path.display()))
                    .into());
            }
        };
        let local = Local::open(home.clone(), lock, Purpose::Change).await?;
        local.notes().iter().for_each(|note| screen.say(note));
        let served = serve_until_stopped(&local, &home, (args, global), screen).await;
        local.close().await.and(served)
    };
    // Many clients at once.
    block_on_threads(work)
}

async fn serve_until_stopped(
    local: &Local,
    home: &Home,
    (args, global): (&SandboxRun, &Global),
    screen: &mut Screen,
) -> Result<()> {
    let address = local.serve(args.port).await?;
    screen.say(&format!(
        "The sandbox serves at https://{address}; pods are simulated. Ctrl-C stops it, its data stay."
    ));
    screen.say(&format!("  export KUBECONFIG={}", home.kubeconfig().display()));
    if args.console {
        let namespace = global.namespace.clone();
        let client = local.client(namespace.as_deref().unwrap_or("default"), RequestLog::default());
        let wanted = Wanted {
            namespace,
            port: args.console_port,
            port_flag: "--console-port",
            allow_changes: args.allow_changes,
            opens_browser: !args.no_open,
        };
        dashboard::serve_sandbox(client, wanted, screen).await?;
    } else {
        stop_asked().await?;
    }
    screen.say("Stopping …");
    Ok(())
}

/// Stops a serving sandbox and says whether there was one.
fn stop(home: &Home) -> Result<bool> {
    let Some(holder) = home.holder()? else { return Ok(false) };
    let Some(pid) = holder.pid else {
        let message =
            "the sandbox is held by a process that is not seen to be a vela of this machine and user";
        return Err(Error::config(message).hint("end that process where it runs").into());
    };
    if !holder.serves {
        let message = format!("another vela (process {pid}) works in the sandbox");
        return Err(Error::config(message).hint("wait until it is done, or stop it with Ctrl-C").into());
    }
    stop_process(pid)?;
    let deadline = Instant::now() + LONGEST_STOP;
    while home.holder()?.is_some_and(|now| now.pid == Some(pid)) {
        if Instant::now() > deadline {
            let message = format!("the sandbox (process {pid}) does not stop");
            return Err(Error::config(message).hint("end that process by hand").into());
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(true)
}

fn reset(screen: &mut Screen) -> Result<()> {
    let home = Home::find()?;
    stop(&home)?;
    let lock = match home.try_lock()? {
        Ok(lock) => lock,
        Err(_) => {
            return Err(Error::config("another vela has just taken the sandbox").hint("try again").into());
        }
    };
    let kept = home.clear().map_err(|error| home.io_error("cleared", &error))?;
    drop(lock);
    screen.say(&format!("The sandbox is empty; its data were in {}.", home.path().display()));
    for path in kept {
        screen.say(&format!(
            "Data that were found damaged stay in {}; remove them when you do not need them.",
            path.display()
        ));
    }
    Ok(())
}

fn status(output: Format, screen: &mut Screen) -> Result<()> {
    let home = Home::find()?;
    let holder = home.holder()?;
    let (state, pid) = match holder {
        Some(holder) if holder.serves => ("serving", holder.pid),
        Some(holder) => ("in use by one command", holder.pid),
        None => ("at rest", None),
    };
    let bytes = home.stored_bytes();
    if output != Format::Table {
        let value =
            json!({"state": state, "pods": "simulated", "pid": pid, "path": home.path(), "bytes": bytes});
        return screen.data(output, &value);
    }
    let mut text = format!("State   {state}\nPods    simulated\n");
    if let Some(pid) = pid {
        text.push_str(&format!("Process {pid}\n"));
    }
    text.push_str(&format!("Data    {} ({bytes} bytes)\n", home.path().display()));
    if state == "serving" {
        text.push_str(&format!("Connect export KUBECONFIG={}\n", home.kubeconfig().display()));
    }
    screen.print(&text)
}
