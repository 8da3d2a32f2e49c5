//! `vela dashboard`: serves the console on a loopback port until Ctrl-C, and opens a browser.

use std::io::IsTerminal as _;
use std::process::{Command, Stdio};

use kube::{Client, Config};
use serde_json::json;
use tokio::sync::mpsc;
use vela_console::{Access, Console, Door, Options, People, Secrets, Server};

use super::sandbox::stop_asked;
use crate::args::{Auth, Dashboard, Global};
use crate::error::{Error, Result};
use crate::ownership::FIELD_MANAGER;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on_threads};
use crate::target::{self, Target};

/// Audits of writes that wait to be printed.
const AUDITS: usize = 64;

pub(crate) fn run(args: &Dashboard, global: &Global, screen: &mut Screen) -> Result<()> {
    let work = async {
        // In the sandbox its controllers run, so that the page shows what lives.
        let session = Session::open(global, Purpose::Change, screen).await?;
        let served = serve(&session, args, global, screen).await;
        session.close().await.and(served)
    };
    // Many requests at once.
    block_on_threads(work)
}

async fn serve(session: &Session, args: &Dashboard, global: &Global, screen: &mut Screen) -> Result<()> {
    // Other commands find the sandbox while this one has it.
    session.share().await?;
    let secrets = Secrets { link: secret(), session: secret(), form: secret() };
    let of_link = secrets.link.clone();
    let (audit, mut audits) = mpsc::channel(AUDITS);
    let options = Options {
        namespace: global.namespace.clone(),
        changes_as: args.allow_changes.then(|| FIELD_MANAGER.to_owned()),
        cluster: session.cluster.title().to_owned(),
        audit: Some(audit),
        simulated_pods: session.is_sandbox(),
    };
    let connect = match args.auth {
        Auth::Link => None,
        Auth::Token => Some(by_token(cluster_of_users(global).await?)),
    };
    let client = session.cluster.client().clone();
    let door = |address| -> Door {
        let access = Access::new(secrets, address);
        match connect {
            None => Console::new(client, options, access).into(),
            Some(connect) => People::new(connect, options, access).into(),
        }
    };
    let server = Server::start(args.port, door).await.map_err(|error| {
        Error::config(format!("port {} of this machine cannot be served: {error}", args.port))
            .hint("choose another with --port, or leave it to vela")
    })?;
    let does = if args.allow_changes {
        "it reads, deploys applications, and steers workflows and rollouts"
    } else {
        "it only reads"
    };
    screen.say(&format!("The console serves at http://{}; {does}. Ctrl-C stops it.", server.address()));
    let served = match announce(args, &format!("http://{}", server.address()), &of_link, screen) {
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
fn announce(args: &Dashboard, address: &str, of_link: &str, screen: &mut Screen) -> Result<()> {
    if args.auth == Auth::Token {
        screen.say("Each request needs the token of a user of the cluster: `Authorization: Bearer TOKEN`.");
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

/// The way to the cluster, where users have tokens.
async fn cluster_of_users(global: &Global) -> Result<Config> {
    match target::choose(global).await? {
        Target::Cluster(chosen) => Ok(chosen.config),
        Target::Sandbox { .. } => {
            Err(Error::user("the sandbox has one user, who may do everything, and knows no tokens")
                .hint("leave out --auth, or configure a cluster with --kubeconfig")
                .into())
        }
    }
}

/// Makes clients of the cluster that send a token, and nothing of the kubeconfig's own account.
fn by_token(config: Config) -> impl Fn(&str) -> std::result::Result<Client, String> {
    move |token| Client::try_from(with_token(&config, token)?).map_err(|error| target::causes(&error))
}

/// The way to the same cluster with this token in place of every other account.
fn with_token(config: &Config, token: &str) -> std::result::Result<Config, String> {
    let mut config = config.clone();
    config.auth_info =
        serde_json::from_value(json!({ "token": token })).map_err(|error| error.to_string())?;
    Ok(config)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_of_a_token_has_no_other_account() {
        let mut config = Config::new("https://127.0.0.1:1".parse().unwrap());
        let own =
            json!({"username": "admin", "password": "p", "client-certificate-data": "YQ==", "as": "root"});
        config.auth_info = serde_json::from_value(own).unwrap();
        let made = with_token(&config, "abc").unwrap();
        let account = &made.auth_info;
        assert!(account.token.is_some() && account.username.is_none() && account.impersonate.is_none());
        assert!(account.client_certificate_data.is_none() && account.exec.is_none());
        assert_eq!(made.cluster_url, config.cluster_url);
    }
}
