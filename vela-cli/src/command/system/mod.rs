//! `vela system`: shows the controllers of a cluster, and looks for what is wrong with an installation. Changes nothing.

mod checks;
mod controller;
mod findings;
mod judged;
mod operators;
mod webhooks;

use serde_json::{Value, json};

use self::controller::{Controller, Deployment};
use self::findings::{Finding, State};
use self::operators::Installed;
use crate::args::{Format, Global, System};
use crate::error::{Error, Result};
use crate::health::Health;
use crate::screen::{BAD, GOOD, Screen, styled};
use crate::session::{Purpose, Session, block_on};
use crate::table::Table;

pub(crate) fn run(args: &System, global: &Global, screen: &mut Screen) -> Result<()> {
    block_on(async {
        let session = Session::open_anywhere(global, Purpose::Read, screen).await?;
        let outcome = match args {
            System::Info { output } => info(&session, *output, screen).await,
            System::Diagnose { output } => diagnose(&session, *output, screen).await,
        };
        session.close().await?;
        outcome
    })
}

async fn info(session: &Session, format: Format, screen: &mut Screen) -> Result<()> {
    let cluster = &session.cluster;
    let kubernetes = cluster.version().await?;
    let controller = Controller::of_applications(cluster).await?;
    let operators = operators::installed(cluster).await?;
    if format != Format::Table {
        let value = json!({
            "program": {"version": env!("CARGO_PKG_VERSION")},
            "cluster": {"title": cluster.title(), "kubernetes": kubernetes, "sandbox": session.is_sandbox()},
            "controller": controller.value(),
            "operators": operators.iter().map(Installed::value).collect::<Vec<Value>>(),
        });
        return screen.data(format, &value);
    }
    let mut table = Table::new(&["WHAT", ""]);
    let mut row = |what: &str, value: String| table.row(vec![what.to_owned(), value]);
    row("program", format!("vela {}", env!("CARGO_PKG_VERSION")));
    row("cluster", cluster.title().to_owned());
    row("kubernetes", kubernetes);
    match controller.deployment() {
        Some(deployment) => {
            described("controller", deployment).into_iter().for_each(|(what, value)| row(what, value))
        }
        None if session.is_sandbox() => row("controller", "part of the sandbox".to_owned()),
        None => row("controller", "no Deployment in the cluster".to_owned()),
    }
    if let Some(leader) = controller.leader() {
        row("leader", leader.to_owned());
    }
    for Installed { operator, controller } in &operators {
        match controller.deployment() {
            Some(deployment) => {
                described(operator.name, deployment).into_iter().for_each(|(what, value)| row(what, value))
            }
            None => row(operator.name, "no Deployment in the cluster".to_owned()),
        }
        if let Some(leader) = controller.leader() {
            row("leader", leader.to_owned());
        }
    }
    screen.print(&table.render())
}

/// The lines about a Deployment; `name` is what it runs.
fn described<'a>(name: &'a str, deployment: &Deployment) -> [(&'a str, String); 4] {
    let (health, message) = deployment.health();
    let health = format!("{} {message}", styled(health.style(), health.word()));
    [
        (name, health.trim_end().to_owned()),
        ("image", deployment.image().to_owned()),
        ("version", deployment.version().to_owned()),
        ("arguments", deployment.args().join(" ")),
    ]
}

async fn diagnose(session: &Session, format: Format, screen: &mut Screen) -> Result<()> {
    let findings = checks::all(&session.cluster, session.is_sandbox()).await;
    match format {
        Format::Table => {
            let lines: Vec<String> = findings.iter().map(line).collect();
            screen.print(&lines.join("\n"))?;
        }
        format => {
            let values: Vec<Value> = findings.iter().map(Finding::value).collect();
            screen.data(format, &Value::Array(values))?;
        }
    }
    match findings.iter().filter(|one| one.state() == State::Wrong).count() {
        0 => Ok(()),
        1 => Err(Error::user("1 thing is wrong with this installation").into()),
        wrong => Err(Error::user(format!("{wrong} things are wrong with this installation")).into()),
    }
}

fn line(finding: &Finding) -> String {
    let mark = match finding.state() {
        State::Right => styled(GOOD, "✓"),
        State::Wrong => styled(BAD, "✗"),
        State::Unknown => styled(Health::Unknown.style(), "?"),
    };
    let mend = finding.mend().map_or_else(String::new, |mend| format!(" To mend it: {mend}"));
    format!("{mark} {}: {}.{mend}", finding.about(), finding.message().trim_end_matches('.'))
}
