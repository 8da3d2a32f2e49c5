//! The part of a page that shows a plan: the application and its objects, each with what becomes of it, field by field.

use super::compare;
use super::html::Html;
use crate::data::plan::{Change, Changes, Planned};
use crate::text::plain;

/// The part, below a heading of its own.
pub(super) fn changes(html: &mut Html, changes: &Changes) {
    html.raw("<h3>What deploying it would do</h3><ul class=\"plan\">");
    object(html, &changes.application);
    let is_same = |planned: &&Planned| planned.change == Change::Unchanged;
    changes.objects.iter().filter(|planned| !is_same(planned)).for_each(|planned| object(html, planned));
    html.raw("</ul>");
    let same: Vec<String> = changes.objects.iter().filter(is_same).map(title).collect();
    if !same.is_empty() {
        html.raw("<p class=\"dim\">Unchanged: ").text(same.join(", ")).raw("</p>");
    }
    for component in &changes.open {
        html.raw("<p class=\"note\">Component ").text(component);
        html.raw(" waits for values of others: what it makes then is not compared.</p>");
    }
    if changes.truncated {
        html.raw("<p>There are more objects than are compared.</p>");
    }
}

/// The button that deploys what was planned, and nothing that was written into the text area since.
pub(super) fn button(html: &mut Html, changes: &Changes, token: &str, manifest: &str) {
    let application = &changes.application;
    if ![Change::Created, Change::Changed].contains(&application.change) {
        return;
    }
    if manifest.chars().any(|c| plain(c) != c) {
        html.raw(
            "<p class=\"note\" role=\"note\">The manifest has characters that a page does not carry unchanged; \
             <code>vela up</code> deploys it.</p>",
        );
        return;
    }
    html.raw("<form class=\"orders\" method=\"post\" action=\"/deploy\"><input type=\"hidden\" name=\"token\" value=\"");
    html.text(token)
        .raw("\"><input type=\"hidden\" name=\"namespace\" value=\"")
        .text(&application.namespace);
    html.raw("\"><input type=\"hidden\" name=\"resourceVersion\" value=\"").text(&changes.resource_version);
    html.raw("\"><input type=\"hidden\" name=\"contentHash\" value=\"").text(&changes.content_hash);
    html.raw("\"><input type=\"hidden\" name=\"manifest\" value=\"").text(manifest);
    html.raw("\"><button>Deploy ").text(&application.name).raw("</button></form>");
}

fn title(planned: &Planned) -> String {
    let Planned { kind, namespace, name, .. } = planned;
    match namespace.as_str() {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}

fn object(html: &mut Html, planned: &Planned) {
    html.raw("<li><strong>").text(title(planned)).raw("</strong> ").raw(match planned.change {
        Change::Created => "<span class=\"created\">is created</span>",
        Change::Changed => "<span class=\"changed\">is changed</span>",
        Change::Unchanged => "<span class=\"dim\">stays as it is</span>",
        Change::LeftOut => {
            "<span class=\"gone\">is no longer wanted</span>: it goes, unless a policy of the application lets it stay"
        }
        Change::Refused => "<span class=\"gone\">would be refused</span>",
        Change::Unknown => "<span class=\"dim\">is not known: the cluster does not tell</span>",
    });
    if !planned.why.is_empty() {
        html.raw(": ").text(&planned.why);
    }
    if !planned.fields.is_empty() {
        compare::fields(html, &planned.fields, "as it is", "as it would be");
    }
    if planned.truncated {
        html.raw("<p>More fields differ than are shown.</p>");
    }
    html.raw("</li>");
}
