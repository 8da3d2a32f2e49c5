//! The words of `vela system`.

use clap::Subcommand;

use super::format::{Format, output};

/// What is asked about an installation.
#[derive(Debug, Subcommand)]
pub(crate) enum System {
    /// Show the controller: image, version, arguments, health, and who leads
    #[command(after_help = "Examples:\n  vela system info\n  vela system info -o json")]
    Info {
        /// How to print it
        #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
        output: Format,
    },
    /// Look for what is wrong with an installation, and say how to mend it; ends with 1 where something is
    #[command(after_help = "Examples:\n  vela system diagnose\n  vela system diagnose -o json")]
    Diagnose {
        /// How to print it
        #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
        output: Format,
    },
}
