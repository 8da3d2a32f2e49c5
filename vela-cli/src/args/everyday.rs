//! The words of the commands of every day: `vela rollback`.

use clap::Args;

use super::values::object;
use super::workflow::Followed;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  vela rollback shop\n  vela rollback shop --to-revision 3 -y")]
pub(crate) struct RollbackApplication {
    /// Name of the application
    #[arg(value_parser = object)]
    pub(crate) application: String,
    /// Revision whose content it gets, by number or name, such as 3 or shop-v3 [default: the one before that succeeded]
    #[arg(long, short = 'r', visible_alias = "revision", value_name = "REVISION", value_parser = object)]
    pub(crate) to_revision: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) followed: Followed,
}
