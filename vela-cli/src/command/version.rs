//! `vela version`: which vela this is, and which Kubernetes its sandbox speaks.

use serde_json::json;

use crate::args::{Format, Version};
use crate::error::Result;
use crate::screen::Screen;

pub(crate) fn run(args: &Version, screen: &mut Screen) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    match args.output {
        Format::Table => screen.print(&format!("vela {version}")),
        format => screen.data(format, &json!({ "version": version })),
    }
}
