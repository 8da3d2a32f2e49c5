//! The words of `vela sandbox`.

use clap::{Args, Subcommand};

use super::format::{Format, output};

#[derive(Debug, Subcommand)]
pub(crate) enum Sandbox {
    /// Serve the sandbox on a loopback port until Ctrl-C, for kubectl and other programs
    Run(SandboxRun),
    /// Stop the sandbox that serves
    Stop,
    /// Stop the sandbox and delete everything in it
    Reset,
    /// Say whether it serves, where its data are and how much there is
    Status {
        /// How to print it
        #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
        output: Format,
    },
    /// Print the kubeconfig of the sandbox that serves
    Kubeconfig,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  vela sandbox run\n  vela sandbox run --console --allow-changes")]
pub(crate) struct SandboxRun {
    /// Loopback port; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Serve the console over it, too, as `vela dashboard` does, and print the link
    #[arg(long)]
    pub(crate) console: bool,
    /// Loopback port of the console; 0 takes a free one
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        requires = "console",
        help_heading = "With --console"
    )]
    pub(crate) console_port: u16,
    /// Open no browser
    #[arg(long, requires = "console", help_heading = "With --console")]
    pub(crate) no_open: bool,
    /// Let the console change what it shows, as with `vela dashboard --allow-changes`
    #[arg(long, requires = "console", help_heading = "With --console")]
    pub(crate) allow_changes: bool,
}
