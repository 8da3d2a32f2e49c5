//! The page of an application: its objects as a tree, its workflow, events, revisions, and the object itself.

use super::frame::{badge, page, unread};
use super::html::Html;
use crate::data::events::EventList;
use crate::data::revisions::RevisionList;
use crate::data::tree::{Node, Tree};
use crate::data::view::ApplicationView;
use crate::data::workflow::Workflow;
use crate::error::Error;
use crate::query::encoded;

/// The path of the page.
pub(crate) fn application_path(namespace: &str, name: &str) -> String {
    format!("/namespaces/{}/applications/{}", encoded(namespace), encoded(name))
}

/// The page; a part that could not be read says why.
pub(crate) fn application(
    view: &ApplicationView,
    tree: &Result<Tree, Error>,
    events: &Result<EventList, Error>,
    revisions: &Result<RevisionList, Error>,
    deletes: bool,
) -> String {
    let metadata = &view.summary.metadata;
    let path = application_path(&metadata.namespace, &metadata.name);
    let mut html = Html::new();
    html.raw("<p class=\"crumbs\"><a href=\"/\">Applications</a> / ")
        .text(&metadata.namespace)
        .raw("</p><h1>");
    html.text(&metadata.name).raw("</h1><div data-live id=\"head\">");
    badge(&mut html, view.summary.health);
    html.raw(" <span class=\"phase\">").text(&view.summary.phase).raw("</span>");
    if view.summary.deleting {
        html.raw(" <em>is being deleted</em>");
    }
    html.raw("</div><nav class=\"sections\" aria-label=\"Sections\"><a href=\"#objects\">Objects</a>\
              <a href=\"#workflow\">Workflow</a><a href=\"#events\">Events</a><a href=\"#revisions\">Revisions</a>\
              <a href=\"#manifest\">Manifest</a>")
        .link(&format!("{path}/workflow"), "Steps and outputs")
        .link(&format!("{path}/rollouts"), "Rollouts")
        .link(&format!("{path}/explain"), "Origins")
        .link(&format!("{path}/logs"), "Logs")
        .link(&format!("{path}/edit"), "Edit");
    if deletes {
        html.link(&format!("{path}/delete"), "Delete");
    }
    html.raw(
        "</nav><section aria-labelledby=\"objects\"><h2 id=\"objects\">Objects</h2>\
              <div data-live id=\"tree\">",
    );
    components(&mut html, view);
    match tree {
        Ok(tree) => objects(&mut html, tree),
        Err(error) => unread(&mut html, error),
    }
    html.raw(
        "</div></section><section aria-labelledby=\"workflow\"><h2 id=\"workflow\">Workflow</h2>\
              <div data-live id=\"steps\">",
    );
    match &view.workflow {
        Some(found) => workflow(&mut html, found),
        None => {
            html.raw("<p class=\"empty\">It has not begun.</p>");
        }
    }
    html.raw(
        "</div></section><section aria-labelledby=\"events\"><h2 id=\"events\">Events</h2>\
              <div data-live id=\"event-list\">",
    );
    match events {
        Ok(events) => event_table(&mut html, events),
        Err(error) => unread(&mut html, error),
    }
    html.raw(
        "</div></section><section aria-labelledby=\"revisions\"><h2 id=\"revisions\">Revisions</h2>\
              <div data-live id=\"revision-list\">",
    );
    match revisions {
        Ok(revisions) => revision_table(&mut html, revisions, &path),
        Err(error) => unread(&mut html, error),
    }
    html.raw("</div></section><section aria-labelledby=\"manifest\"><h2 id=\"manifest\">Manifest</h2>\
              <details><summary>The object as it is stored</summary><pre tabindex=\"0\" data-live id=\"yaml\">")
        .text(serde_saphyr::to_string(&view.object).unwrap_or_default())
        .raw("</pre></details></section>");
    let watch = format!("/api/v1/watch{path}");
    page(&metadata.name, Some(&watch), &html)
}

fn components(html: &mut Html, view: &ApplicationView) {
    html.raw("<ul class=\"cards\">");
    for component in &view.summary.components {
        html.raw("<li><strong>").text(&component.name).raw("</strong> <span class=\"dim\">");
        html.text(&component.component_type).raw("</span> ");
        badge(html, component.health);
        if !component.traits.is_empty() {
            html.raw("<p class=\"dim\">with ").text(component.traits.join(", ")).raw("</p>");
        }
        if !component.message.is_empty() {
            html.raw("<p>").text(&component.message).raw("</p>");
        }
        html.raw("</li>");
    }
    html.raw("</ul>");
}

fn objects(html: &mut Html, tree: &Tree) {
    if tree.objects.is_empty() {
        html.raw("<p class=\"empty\">No object is recorded.</p>");
    }
    html.raw("<ul class=\"tree\">");
    tree.objects.iter().for_each(|object| node(html, object));
    html.raw("</ul>");
    if tree.truncated {
        html.raw("<p>More objects are recorded than are shown.</p>");
    }
    if !tree.note.is_empty() {
        html.raw("<p>").text(&tree.note).raw("</p>");
    }
}

/// The tree is at most as deep as its reader allows.
fn node(html: &mut Html, node: &Node) {
    html.raw("<li><div class=\"node\"><span class=\"kind\">").text(&node.kind).raw("</span> <strong>");
    html.text(&node.name).raw("</strong> ");
    badge(html, node.health);
    let origin = match (node.component.as_str(), node.trait_type.as_str()) {
        ("", "") => String::new(),
        (component, "") => format!("of {component}"),
        ("", origin) => format!("of trait {origin}"),
        (component, origin) => format!("of {component}, trait {origin}"),
    };
    if !origin.is_empty() {
        html.raw(" <span class=\"dim\">").text(origin).raw("</span>");
    }
    if !node.message.is_empty() {
        html.raw(" <span class=\"message\">").text(&node.message).raw("</span>");
    }
    if !node.created.is_empty() {
        html.raw(" <span class=\"dim age\">").time(&node.created).raw("</span>");
    }
    html.raw("</div>");
    if !node.children.is_empty() {
        html.raw("<ul>");
        node.children.iter().for_each(|child| self::node(html, child));
        html.raw("</ul>");
    }
    html.raw("</li>");
}

fn workflow(html: &mut Html, workflow: &Workflow) {
    html.raw("<p><strong>").text(&workflow.phase).raw("</strong> for ").text(&workflow.revision);
    html.raw(", began ").time(&workflow.began);
    if !workflow.ended.is_empty() {
        html.raw(", ended ").time(&workflow.ended);
    }
    html.raw("</p>");
    if !workflow.message.is_empty() {
        html.raw("<p>").text(&workflow.message).raw("</p>");
    }
    if !workflow.go_on.is_empty() {
        html.raw("<p class=\"note\" role=\"note\">").message(&workflow.go_on).raw("</p>");
    }
    html.raw(
        "<table class=\"wide\"><caption class=\"hidden\">Steps</caption><thead><tr><th scope=\"col\">Step</th><th scope=\"col\">Type</th>\
         <th scope=\"col\">Phase</th><th scope=\"col\">Began</th><th scope=\"col\">Took</th><th scope=\"col\">Why</th></tr>\
         </thead><tbody>",
    );
    for step in &workflow.steps {
        html.raw("<tr><th scope=\"row\" data-label=\"Step\">");
        if !step.group.is_empty() {
            html.raw("<span class=\"dim\">").text(&step.group).raw(" / </span>");
        }
        html.text(&step.name).raw("</th><td data-label=\"Type\">").text(&step.step_type);
        html.raw("</td><td data-label=\"Phase\">");
        html.text(if step.phase.is_empty() { "to come" } else { &step.phase });
        html.raw("</td><td data-label=\"Began\">").time(&step.began).raw("</td><td data-label=\"Took\">");
        if !step.began.is_empty() {
            html.text(step.seconds).raw(" s");
        }
        html.raw("</td><td data-label=\"Why\">").text(&step.message).raw("</td></tr>");
    }
    html.raw("</tbody></table>");
}

fn event_table(html: &mut Html, events: &EventList) {
    if events.items.is_empty() {
        html.raw("<p class=\"empty\">There is none.</p>");
        return;
    }
    html.raw(
        "<table class=\"wide\"><caption class=\"hidden\">Events</caption><thead><tr><th scope=\"col\">Last seen</th><th scope=\"col\">Type</th>\
         <th scope=\"col\">Reason</th><th scope=\"col\">Object</th><th scope=\"col\">Message</th></tr></thead><tbody>",
    );
    for event in &events.items {
        html.raw("<tr><td data-label=\"Last seen\">").time(&event.last_seen);
        if event.count > 1 {
            html.raw(" <span class=\"dim\">×").text(event.count).raw("</span>");
        }
        html.raw("</td><td data-label=\"Type\">")
            .text(&event.event_type)
            .raw("</td><td data-label=\"Reason\">");
        html.text(&event.reason).raw("</td><td data-label=\"Object\">").text(&event.kind).raw(" ");
        html.text(&event.name).raw("</td><td data-label=\"Message\">").text(&event.message).raw("</td></tr>");
    }
    html.raw("</tbody></table>");
    if events.truncated {
        html.raw("<p>There are more events than are shown.</p>");
    }
}

fn revision_table(html: &mut Html, revisions: &RevisionList, path: &str) {
    if revisions.items.is_empty() {
        html.raw("<p class=\"empty\">None is stored.</p>");
        return;
    }
    html.raw(
        "<table class=\"wide\"><caption class=\"hidden\">Revisions</caption><thead><tr><th scope=\"col\">Revision</th>\
         <th scope=\"col\">Created</th><th scope=\"col\">Published as</th><th scope=\"col\">Succeeded</th>\
         <th scope=\"col\">Difference</th></tr></thead><tbody>",
    );
    for (index, revision) in revisions.items.iter().enumerate() {
        html.raw("<tr><th scope=\"row\" data-label=\"Revision\">").text(&revision.name);
        html.raw("</th><td data-label=\"Created\">").time(&revision.created);
        html.raw("</td><td data-label=\"Published as\">").text(match revision.publish_version.as_str() {
            "" => "–",
            version => version,
        });
        html.raw("</td><td data-label=\"Succeeded\">").raw(match revision.succeeded {
            Some(true) => "yes",
            Some(false) => "no",
            None => "–",
        });
        html.raw("</td><td data-label=\"Difference\">");
        match revisions.items.get(index + 1) {
            Some(before) => {
                let (from, to) = (encoded(&before.name), encoded(&revision.name));
                html.link(&format!("{path}/compare?from={from}&to={to}"), &format!("from {}", before.name));
            }
            None => {
                html.raw("–");
            }
        }
        html.raw("</td></tr>");
    }
    html.raw("</tbody></table>");
    if revisions.truncated {
        html.raw("<p>There are more revisions than are shown.</p>");
    }
}
