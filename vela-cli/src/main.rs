//! The program `vela`: parses the command line, runs the command and ends with its exit code.
//!
//! Flow: [`args`] says what was typed, [`command`] has one file per command, [`target`] finds the cluster or the
//! sandbox they work on, [`screen`] is the only place that prints, [`error`] decides the exit code.

mod appfile;
mod applications;
mod args;
mod changes;
mod cluster;
mod command;
mod confirm;
mod containers;
mod crd;
mod cue_text;
mod differences;
mod download;
mod editor;
mod environment;
mod error;
mod events;
mod graph;
mod health;
mod input;
mod installation;
mod json_patch;
mod json_path;
mod kustomize;
mod listing;
mod missing_right;
mod new_file;
mod offline;
mod order;
mod ownership;
mod peer_flags;
mod peer_verbs;
mod pods;
mod pointer;
mod program;
mod prompt;
mod purpose;
mod requests;
mod revisions;
mod sandbox;
mod screen;
mod serving;
mod session;
mod simulated_cluster;
mod steps;
mod system_namespace;
mod table;
mod target;
mod terminal;
mod tree;
mod wait;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser;

/// What the rooms below say about their work is shown on request: `VELA_LOG=info`, or any filter of `tracing`.
const LOG: &str = "VELA_LOG";

/// The answer to words that KubeVela's command knows and this one does not.
fn not_here(error: &clap::Error) -> Option<error::Failure> {
    let words = || std::env::args().skip(1);
    peer_verbs::not_here(error, words()).or_else(|| peer_flags::not_here(error, words()))
}

fn main() -> ExitCode {
    let args = match args::Vela::try_parse() {
        Ok(args) => args,
        Err(error) => match not_here(&error) {
            Some(failure) => {
                screen::Screen::new().failure(&failure);
                return failure.exit_code();
            }
            None => error.exit(),
        },
    };
    if let Ok(filter) = std::env::var(LOG) {
        let filter = tracing_subscriber::EnvFilter::new(filter);
        let is_terminal = std::io::stderr().is_terminal();
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(is_terminal)
            .with_writer(std::io::stderr)
            .init();
    }
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A damaged store is told as an error, which names what to do.
        if std::thread::current().name() != Some(vela_apiserver::store::file::CHECK_THREAD) {
            usual(panic);
        }
    }));
    let is_logged = args.global.verbose >= requests::LEVEL;
    let mut screen = screen::Screen::new();
    if is_logged {
        // Lines of progress that are rewritten would take those of requests away.
        screen.append();
    }
    match command::run(args, &mut screen) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            screen.failure(&failure);
            failure.exit_code()
        }
    }
}
