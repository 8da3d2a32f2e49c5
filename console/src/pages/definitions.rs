//! The pages of types: all of them, and the parameters of one.

use vela_engine::parameters::Parameter;

use super::frame::page;
use super::html::Html;
use super::new_application::new_application_path;
use crate::data::definitions::{COMPONENTS, Definition, DefinitionList, Described};
use crate::query::encoded;

/// The page of all types.
pub(crate) fn definitions(list: &DefinitionList) -> String {
    let mut html = Html::new();
    html.raw("<h1>Types</h1>");
    if list.items.is_empty() {
        html.raw("<p class=\"empty\">There is none. <code>vela install</code> brings the built-in ones.</p>");
    } else {
        html.raw(
            "<table class=\"wide\"><caption class=\"hidden\">Types</caption><thead><tr><th scope=\"col\">Type</th><th scope=\"col\">Kind</th>\
             <th scope=\"col\">Namespace</th><th scope=\"col\">What it is for</th></tr></thead><tbody>",
        );
        list.items.iter().for_each(|definition| row(&mut html, definition));
        html.raw("</tbody></table>");
    }
    if list.truncated {
        html.raw("<p>There are more types than are shown.</p>");
    }
    page("Types", None, &html)
}

fn row(html: &mut Html, definition: &Definition) {
    let Definition { kind, namespace, name, description } = definition;
    let path = format!("/namespaces/{}/definitions/{}/{}", encoded(namespace), encoded(kind), encoded(name));
    html.raw("<tr><th scope=\"row\" data-label=\"Type\">")
        .link(&path, name)
        .raw("</th><td data-label=\"Kind\">");
    html.text(noun(kind)).raw("</td><td data-label=\"Namespace\">").text(namespace);
    html.raw("</td><td data-label=\"What it is for\">").text(description).raw("</td></tr>");
}

/// The word of users for a kind of definitions.
fn noun(kind: &str) -> &str {
    match kind {
        "workflowstepdefinitions" => "workflow step",
        kind => kind.strip_suffix("definitions").unwrap_or(kind),
    }
}

/// The page of one.
pub(crate) fn definition(described: &Described) -> String {
    let Described { definition, parameters } = described;
    let mut html = Html::new();
    html.raw("<p class=\"crumbs\"><a href=\"/definitions\">Types</a> / ").text(noun(&definition.kind));
    html.raw("</p><h1>").text(&definition.name).raw("</h1><p>").text(&definition.description);
    html.raw("</p>");
    if definition.kind == COMPONENTS {
        html.raw("<p>").link(&new_application_path(definition), "New application").raw("</p>");
    }
    html.raw("<h2>Parameters</h2>");
    if let Some(note) = &parameters.note {
        html.raw("<p>").text(note).raw("</p>");
    }
    if parameters.root.type_ != "object" {
        html.raw("<p>Its properties are <code>").text(&parameters.root.type_).raw("</code>.</p>");
    }
    match parameters.root.children.is_empty() {
        true if parameters.note.is_none() => {
            html.raw("<p class=\"empty\">It takes none.</p>");
        }
        _ => children(&mut html, &parameters.root),
    }
    page(&definition.name, None, &html)
}

/// The tree is at most as deep as its reader allows.
fn children(html: &mut Html, parameter: &Parameter) {
    html.raw("<dl class=\"parameters\">");
    for child in &parameter.children {
        html.raw("<div><dt><code>").text(&child.name).raw("</code> <span class=\"dim\">").text(&child.type_);
        if child.required {
            html.raw(", required");
        }
        if let Some(default) = &child.default {
            html.raw(", default ").text(default);
        }
        if !child.allowed.is_empty() {
            let values: Vec<String> = child.allowed.iter().map(ToString::to_string).collect();
            html.raw(", one of ").text(values.join(" "));
        }
        for rule in &child.rules {
            html.raw(", ").text(rule);
        }
        if let Some(condition) = &child.condition {
            html.raw(", only if ").text(condition);
        }
        html.raw("</span></dt><dd>").text(&child.description);
        if !child.children.is_empty() {
            children(html, child);
        }
        html.raw("</dd></div>");
    }
    html.raw("</dl>");
}
