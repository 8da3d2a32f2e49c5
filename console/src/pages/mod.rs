//! Pages for people: HTML that needs no script, no network and no build; the script only makes it live.

mod application;
mod compare;
mod definitions;
mod delete;
mod dry_run;
mod explain;
mod frame;
mod html;
mod logs;
mod new_application;
mod overview;
mod plan;
mod rollouts;
mod workflow;

pub(crate) use application::{application, application_path};
pub(crate) use compare::compare;
pub(crate) use definitions::{definition, definitions};
pub(crate) use delete::delete;
pub(crate) use dry_run::{Written, dry_run};
pub(crate) use explain::explain;
pub(crate) use logs::logs;
pub(crate) use new_application::new_application;
pub(crate) use overview::overview;
pub(crate) use rollouts::{rollouts, rollouts_path};
pub(crate) use workflow::{workflow, workflow_path};

use crate::error::Error;

/// The style of all pages.
pub(crate) const STYLE: &str = include_str!("console.css");
/// The script of all pages.
pub(crate) const SCRIPT: &str = include_str!("console.js");
/// Their icon.
pub(crate) const ICON: &str = include_str!("icon.svg");

/// A page that says why there is no other.
pub(crate) fn failure(error: &Error) -> String {
    let mut content = html::Html::new();
    content.raw("<h1>").text(error.status()).raw("</h1>");
    frame::unread(&mut content, error);
    frame::page("Error", None, &content)
}
