//! The page of two revisions: the fields in which they differ, side by side.

use serde_json::Value;

use super::frame::page;
use super::html::Html;
use crate::data::revisions::{Comparison, Field};
use crate::query::encoded;

/// The page.
pub(crate) fn compare(namespace: &str, name: &str, comparison: &Comparison) -> String {
    let mut html = Html::new();
    let path = format!("/namespaces/{}/applications/{}", encoded(namespace), encoded(name));
    html.raw("<p class=\"crumbs\"><a href=\"/\">Applications</a> / ")
        .text(namespace)
        .raw(" / ")
        .link(&path, name);
    html.raw("</p><h1>From ").text(&comparison.from).raw(" to ").text(&comparison.to).raw("</h1>");
    if comparison.fields.is_empty() {
        html.raw("<p class=\"empty\">The application is the same in both.</p>");
    } else {
        fields(&mut html, &comparison.fields, &comparison.from, &comparison.to);
    }
    if comparison.truncated {
        html.raw("<p>More fields differ than are shown.</p>");
    }
    if !comparison.definitions.is_empty() {
        html.raw("<h2>Definitions that differ</h2><ul>");
        for definition in &comparison.definitions {
            html.raw("<li><code>").text(definition).raw("</code></li>");
        }
        html.raw("</ul>");
    }
    page("Difference", None, &html)
}

/// The fields that differ, side by side.
pub(super) fn fields(html: &mut Html, fields: &[Field], from: &str, to: &str) {
    html.raw("<table class=\"wide difference\"><caption class=\"hidden\">Fields that differ</caption><thead><tr><th scope=\"col\">Field</th>\
              <th scope=\"col\">")
        .text(from)
        .raw("</th><th scope=\"col\">")
        .text(to)
        .raw("</th></tr></thead><tbody>");
    for field in fields {
        html.raw("<tr><th scope=\"row\" data-label=\"Field\"><code>").text(&field.path).raw("</code></th>");
        html.raw("<td data-label=\"Before\">");
        value(html, field.from.as_ref());
        html.raw("</td><td data-label=\"After\">");
        value(html, field.to.as_ref());
        html.raw("</td></tr>");
    }
    html.raw("</tbody></table>");
}

fn value(html: &mut Html, value: Option<&Value>) {
    match value {
        None => html.raw("<span class=\"dim\">absent</span>"),
        Some(Value::String(text)) => html.raw("<pre>").text(text).raw("</pre>"),
        Some(value) => {
            html.raw("<pre>").text(serde_json::to_string_pretty(value).unwrap_or_default()).raw("</pre>")
        }
    };
}
