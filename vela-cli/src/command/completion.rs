//! `vela completion`: prints the completion script of a shell.

use clap::CommandFactory;

use crate::args::{Completion, Vela};
use crate::error::Result;
use crate::screen::Screen;

pub(crate) fn run(args: &Completion, screen: &mut Screen) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Vela::command(), "vela", &mut script);
    screen.document(&String::from_utf8_lossy(&script))
}
