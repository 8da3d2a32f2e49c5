//! One file per command.

mod cap;
mod completion;
mod config;
mod dashboard;
mod def;
mod delete;
mod diff;
mod dry_run;
mod env;
mod exec;
mod export;
mod init;
mod install;
mod logs;
mod ls;
mod lsp;
mod policy;
mod port_forward;
mod ql;
mod revision;
mod rollback;
mod rollout;
mod sandbox;
mod show;
mod status;
mod stop;
mod system;
mod top;
mod types;
mod uninstall;
mod up;
mod version;
mod watch;
mod workflow;

use vela_engine::DefinitionKind;

use crate::args::{Command, Vela};
use crate::error::Result;
use crate::screen::Screen;

/// Does what was typed.
pub(crate) fn run(args: Vela, screen: &mut Screen) -> Result<()> {
    let Vela { global, command } = args;
    match command {
        Command::Init(args) => init::run(&args, &global, screen),
        Command::Up(args) => up::run(&args, &global, screen),
        Command::Status(args) => status::run(&args, &global, screen),
        Command::Top(args) => top::run(&args, &global, screen),
        Command::Ls(args) => ls::run(&args, &global, screen),
        Command::Delete(args) => delete::run(&args, &global, screen),
        Command::DryRun(args) => dry_run::run(&args, &global, screen),
        Command::Export(args) => export::run(&args, &global, screen),
        Command::Diff(args) => diff::run(&args, &global, screen),
        Command::Logs(args) => logs::run(&args, &global, screen),
        Command::Exec(args) => exec::run(&args, &global, screen),
        Command::PortForward(args) => port_forward::run(&args, &global, screen),
        Command::Rollback(args) => rollback::run(&args, &global, screen),
        Command::Env(args) => env::run(&args, &global, screen),
        Command::Config(args) => config::run(&args, &global, screen),
        Command::ConfigTemplate(args) => config::run_template(&args, &global, screen),
        Command::Ql(args) => ql::run(&args, &global, screen),
        Command::Revision(args) => revision::run(&args, &global, screen),
        Command::Def(args) => def::run(&args, &global, screen),
        Command::Cap(args) => cap::run(&args, &global, screen),
        Command::Components(args) => types::run(DefinitionKind::Component, &args, None, &global, screen),
        Command::Traits(args) => types::run_traits(&args, &global, screen),
        Command::Workloads(args) => types::run(DefinitionKind::Workload, &args, None, &global, screen),
        Command::Scopes(args) => types::run(DefinitionKind::Scope, &args, None, &global, screen),
        Command::Show(args) => show::run(&args, &global, screen),
        Command::Policy(args) => policy::run(&args, &global, screen),
        Command::Workflow(args) => workflow::run(&args, &global, screen),
        Command::Rollout(args) => rollout::run(&args, &global, screen),
        Command::Sandbox(args) => sandbox::run(&args, &global, screen),
        Command::Dashboard(args) => dashboard::run(&args, &global, screen),
        Command::Install(args) => install::run(&args, &global, screen),
        Command::Uninstall(args) => uninstall::run(&args, &global, screen),
        Command::System(args) => system::run(&args, &global, screen),
        Command::Lsp(args) => lsp::run(&args, &global, screen),
        Command::Completion(args) => completion::run(&args, screen),
        Command::Version(args) => version::run(&args, screen),
    }
}
