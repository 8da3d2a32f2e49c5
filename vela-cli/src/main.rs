//! Entry point of `vela`: typed words in, calls into rooms, an exit code out.
//!
//! Flow: [`args`] says what was typed, [`command`] has one file per command, [`target`] finds the cluster or the
//! sandbox they work on, [`screen`] is the only place that prints, [`error`] decides the exit code.

mod args;
mod cluster;
mod command;
mod crd;
mod error;
mod health;
mod input;
mod installation;
mod offline;
mod order;
mod sandbox;
mod screen;
mod session;
mod table;
mod target;
mod tree;
mod wait;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Vela::parse();
    let mut screen = screen::Screen::new();
    match command::run(args, &mut screen) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            screen.failure(&failure);
            failure.exit_code()
        }
    }
}
