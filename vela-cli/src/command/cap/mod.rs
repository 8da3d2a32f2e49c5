//! `vela cap`: definitions that lie elsewhere, in capability centres, are listed, installed and taken away again.

mod address;
mod archive;
mod artifact;
mod center;
mod chart;
mod credentials;
mod fetch;
mod file;
mod git;
mod install;
mod list;
mod registry;
mod store;

pub(super) use self::center::{config, forget, sync};
pub(super) use self::install::{install_of, uninstall_of};
pub(super) use self::list::{Listed, run as list};
pub(super) use self::store::{Center, all as centers};
use crate::args::{Cap, Global};
use crate::error::Result;
use crate::screen::Screen;

pub(crate) fn run(args: &Cap, global: &Global, screen: &mut Screen) -> Result<()> {
    match args {
        Cap::Center(args) => center::run(args, screen),
        Cap::Ls { center, output } => {
            list::run(&Listed { center: center.as_deref(), kind: None, format: *output }, global, screen)
        }
        Cap::Install(args) => install::run(args, global, screen),
        Cap::Uninstall(args) => install::remove(args, global, screen),
    }
}
