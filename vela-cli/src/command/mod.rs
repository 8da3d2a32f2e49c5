//! One file per command.

mod completion;
mod delete;
mod dry_run;
mod install;
mod ls;
mod rollout;
mod sandbox;
mod show;
mod status;
mod uninstall;
mod up;
mod version;

use crate::args::{Command, Vela};
use crate::error::Result;
use crate::screen::Screen;

/// Does what was typed.
pub(crate) fn run(args: Vela, screen: &mut Screen) -> Result<()> {
    let Vela { global, command } = args;
    match command {
        Command::Up(args) => up::run(&args, &global, screen),
        Command::Status(args) => status::run(&args, &global, screen),
        Command::Ls(args) => ls::run(&args, &global, screen),
        Command::Delete(args) => delete::run(&args, &global, screen),
        Command::DryRun(args) => dry_run::run(&args, &global, screen),
        Command::Show(args) => show::run(&args, &global, screen),
        Command::Rollout(args) => rollout::run(&args, &global, screen),
        Command::Sandbox(args) => sandbox::run(&args, screen),
        Command::Install(args) => install::run(&args, &global, screen),
        Command::Uninstall(args) => uninstall::run(&args, &global, screen),
        Command::Completion(args) => completion::run(&args, screen),
        Command::Version(args) => version::run(&args, screen),
    }
}
