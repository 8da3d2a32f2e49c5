//! `vela dashboard`: serves the console on a loopback port until Ctrl-C, and opens a browser.

mod machine;
mod users;

use std::io::IsTerminal as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use kube::Client;
use tokio::sync::mpsc;
use vela_console::{Access, Options, Secrets, Server};

use self::machine::Machine;
use self::users::Users;
use super::stop::stop_asked;
use crate::args::{Dashboard, Global};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::ownership::FIELD_MANAGER;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on_threads};
use crate::system_namespace::USUAL;

/// Audits of writes that wait to be printed.
const AUDITS: usize = 64;

/// What kind of console is served.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Only applications of this namespace.
    pub(super) namespace: Option<String>,
    pub(super) port: u16,
    /// The flag that chooses the port.
    pub(super) port_flag: &'static str,
    pub(super) allow_changes: bool,
    pub(super) opens_browser: bool,
}

pub(crate) fn run(args: &Dashboard, global: &Global, screen: &mut Screen) -> Result<()> {
    let work = async {
        let users = Users::choose(args, global).await?;
        let wanted = Wanted {
            namespace: global.namespace.clone(),
            port: args.port,
            port_flag: "--port",
            allow_changes: args.allow_changes,
            opens_browser: !args.no_open,
        };
        // In the sandbox its controllers run, so that the page shows what lives.
        let session = Session::open(global, Purpose::Change, screen).await?;
        let served = async {
            // Other commands find the sandbox while this one has it.
            session.share().await?;
            serve((&session.cluster, session.is_sandbox()), users, wanted, screen).await
        };
        let served = served.await;
        session.close().await.and(served)
    };
    // Many requests at once.
    block_on_threads(work)
}

/// Serves a console over the sandbox of this process until it is stopped.
pub(super) async fn serve_sandbox(client: Client, wanted: Wanted, screen: &mut Screen) -> Result<()> {
    let namespace = client.default_namespace().to_owned();
    let cluster =
        Cluster::new(client, "the local sandbox".to_owned(), namespace).with_system(Some(USUAL.to_owned()));
    serve((&cluster, true), Users::Link, wanted, screen).await
}

async fn serve(
    (cluster, is_sandbox): (&Cluster, bool),
    users: Users,
    wanted: Wanted,
    screen: &mut Screen,
) -> Result<()> {
    let Wanted { namespace, port, port_flag, allow_changes, opens_browser } = wanted;
    let secrets = Secrets { link: secret(), session: secret(), form: secret() };
    let of_link = secrets.link.clone();
    let (audit, mut audits) = mpsc::channel(AUDITS);
    let system = cluster.system_namespace().await?.to_owned();
    let machine = Machine {
        cluster: cluster.title().to_owned(),
        types: namespace.clone().unwrap_or_else(|| system.clone()),
        system: system.clone(),
        is_shared: users.are_several(),
    };
    let options = Options {
        namespace,
        system_namespace: Some(system),
        changes_as: allow_changes.then(|| FIELD_MANAGER.to_owned()),
        commands: Some(Arc::new(machine)),
        cluster: cluster.title().to_owned(),
        audit: Some(audit),
        simulated_pods: is_sandbox,
    };
    let (client, announcement) = (cluster.client().clone(), users.announcement());
    let door = |address| users.door(client, options, Access::new(secrets, address));
    let server = Server::start(port, door).await.map_err(|error| {
        Error::config(format!("port {port} of this machine cannot be served: {error}"))
            .hint(format!("choose another with {port_flag}, or leave it to vela"))
    })?;
    let does = if allow_changes {
        "it reads, deploys applications, steers workflows and rollouts, and keeps environments"
    } else {
        "it only reads"
    };
    screen.say(&format!("The console serves at http://{}; {does}. Ctrl-C stops it.", server.address()));
    let announced =
        announce(opens_browser, announcement, (&format!("http://{}", server.address()), &of_link), screen);
    let served = match announced {
        Ok(()) => {
            let stop = stop_asked();
            tokio::pin!(stop);
            loop {
                tokio::select! {
                    stopped = &mut stop => break stopped,
                    Some(audit) = audits.recv() => screen.say(&audit.to_string()),
                }
            }
        }
        Err(failure) => Err(failure),
    };
    server.stop().await;
    served
}

/// Says how to get in.
fn announce(
    opens_browser: bool,
    announcement: Option<&str>,
    (address, of_link): (&str, &str),
    screen: &mut Screen,
) -> Result<()> {
    if let Some(announcement) = announcement {
        screen.say(announcement);
        return screen.print(address);
    }
    let link = format!("{address}/enter?token={of_link}");
    screen.say("This link works once, in one browser:");
    screen.print(&link)?;
    if opens_browser && std::io::stdout().is_terminal() {
        open(&link);
    }
    Ok(())
}

/// A secret that cannot be guessed: 244 random bits.
fn secret() -> String {
    let [first, second] = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
    format!("{}{}", first.simple(), second.simple())
}

/// Opens the link where there is something that does; where there is not, it is on the screen.
fn open(link: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(program)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Ok(mut browser) = started {
        // The ended process is waited for, so that no zombie stays.
        std::thread::spawn(move || browser.wait());
    }
}
