//! `vela dashboard`: serves the console on a loopback port until Ctrl-C, and opens a browser.

mod machine;
mod users;

use std::io::IsTerminal as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use tokio::sync::mpsc;
use vela_console::{Access, Options, Secrets, Server};

use self::machine::Machine;
use self::users::Users;
use super::sandbox::stop_asked;
use crate::args::{Dashboard, Global};
use crate::error::{Error, Result};
use crate::ownership::FIELD_MANAGER;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on_threads};

/// Audits of writes that wait to be printed.
const AUDITS: usize = 64;

pub(crate) fn run(args: &Dashboard, global: &Global, screen: &mut Screen) -> Result<()> {
    let work = async {
        let users = Users::choose(args, global).await?;
        // In the sandbox its controllers run, so that the page shows what lives.
        let session = Session::open(global, Purpose::Change, screen).await?;
        let served = serve(&session, users, (args, global), screen).await;
        session.close().await.and(served)
    };
    // Many requests at once.
    block_on_threads(work)
}

async fn serve(
    session: &Session,
    users: Users,
    (args, global): (&Dashboard, &Global),
    screen: &mut Screen,
) -> Result<()> {
    // Other commands find the sandbox while this one has it.
    session.share().await?;
    let secrets = Secrets { link: secret(), session: secret(), form: secret() };
    let of_link = secrets.link.clone();
    let (audit, mut audits) = mpsc::channel(AUDITS);
    let system = session.cluster.system_namespace().await?.to_owned();
    let machine = Machine {
        cluster: session.cluster.title().to_owned(),
        types: global.namespace.clone().unwrap_or_else(|| system.clone()),
        system: system.clone(),
        is_shared: users.are_several(),
    };
    let options = Options {
        namespace: global.namespace.clone(),
        system_namespace: Some(system),
        changes_as: args.allow_changes.then(|| FIELD_MANAGER.to_owned()),
        commands: Some(Arc::new(machine)),
        cluster: session.cluster.title().to_owned(),
        audit: Some(audit),
        simulated_pods: session.is_sandbox(),
    };
    let (client, announcement) = (session.cluster.client().clone(), users.announcement());
    let door = |address| users.door(client, options, Access::new(secrets, address));
    let server = Server::start(args.port, door).await.map_err(|error| {
        Error::config(format!("port {} of this machine cannot be served: {error}", args.port))
            .hint("choose another with --port, or leave it to vela")
    })?;
    let does = if args.allow_changes {
        "it reads, deploys applications, steers workflows and rollouts, and keeps environments"
    } else {
        "it only reads"
    };
    screen.say(&format!("The console serves at http://{}; {does}. Ctrl-C stops it.", server.address()));
    let served =
        match announce(args, announcement, (&format!("http://{}", server.address()), &of_link), screen) {
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
    args: &Dashboard,
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
    if !args.no_open && std::io::stdout().is_terminal() {
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
