//! The page of origins: the objects of an application line by line, each line with the place that its value comes from.

use std::collections::BTreeMap;

use serde_json::Value;
use vela_engine::field_path::{push_field, push_index};

use super::dry_run::finding;
use super::frame::{page, unread};
use super::html::Html;
use crate::data::explain::{ExplainedObject, Explanation, Origin};
use crate::error::Error;
use crate::query::encoded;

/// Lines of a page.
const LINES_AT_MOST: usize = 10_000;
/// Values deeper than this are not shown.
const DEPTH_AT_MOST: usize = 64;

/// The page.
pub(crate) fn explain(namespace: &str, name: &str, found: &Result<Explanation, Error>) -> String {
    let path = format!("/namespaces/{}/applications/{}", encoded(namespace), encoded(name));
    let mut html = Html::new();
    html.raw("<p class=\"crumbs\"><a href=\"/\">Applications</a> / ").text(namespace).raw(" / ");
    html.link(&path, name).raw("</p><h1>Where the values of ").text(name).raw(
        " come from</h1><p>The objects that it makes with the definitions of now. Point at a line, or go to it by \
         keyboard, to see where its value comes from.</p>",
    );
    match found {
        Err(error) => unread(&mut html, error),
        Ok(found) => {
            if !found.diagnostics.is_empty() {
                html.raw("<ul class=\"findings\">");
                found.diagnostics.iter().for_each(|one| finding(&mut html, one, ""));
                html.raw("</ul>");
            }
            for what in &found.waits {
                html.raw("<p class=\"note\">It waits: ").text(what).raw("</p>");
            }
            let mut lines = Lines { html: &mut html, left: LINES_AT_MOST, origins: BTreeMap::new() };
            found.objects.iter().for_each(|object| lines.object(object));
            let has_more = found.truncated || lines.left == 0;
            if has_more {
                html.raw("<p>There is more than is shown.</p>");
            }
        }
    }
    page(&format!("Origins of {name}"), None, &html)
}

/// The lines that are written.
struct Lines<'a> {
    html: &'a mut Html,
    left: usize,
    origins: BTreeMap<&'a str, &'a Origin>,
}

impl<'a> Lines<'a> {
    fn object(&mut self, shown: &'a ExplainedObject) {
        let text = |pointer: &str| shown.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        self.html.raw("<details open><summary>").text(text("/kind")).raw(" ").text(text("/metadata/name"));
        self.html.raw(" <span class=\"dim\">of ").text(&shown.component);
        if !shown.trait_type.is_empty() {
            self.html.raw(", trait ").text(&shown.trait_type);
        }
        if !shown.cluster.is_empty() {
            self.html.raw(", in cluster ").text(&shown.cluster);
        }
        self.html.raw("</span></summary><div class=\"lines\">");
        self.origins = shown.origins.iter().map(|origin| (&*origin.path, origin)).collect();
        self.inside(&shown.object, &mut String::new(), 0);
        self.html.raw("</div></details>");
    }

    /// The parts of a value, each on its line.
    fn inside(&mut self, value: &Value, path: &mut String, depth: usize) {
        let length = path.len();
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    push_field(path, name);
                    self.part(&format!("{name}:"), value, path, depth);
                    path.truncate(length);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    push_index(path, index);
                    self.part("-", value, path, depth);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn part(&mut self, lead: &str, value: &Value, path: &mut String, depth: usize) {
        if self.left == 0 || depth > DEPTH_AT_MOST {
            return;
        }
        self.left -= 1;
        let indent = "  ".repeat(depth);
        match value {
            Value::Object(fields) if !fields.is_empty() => self.line(&format!("{indent}{lead}"), path),
            Value::Array(items) if !items.is_empty() => self.line(&format!("{indent}{lead}"), path),
            scalar => self.line(&format!("{indent}{lead} {scalar}"), path),
        }
        self.inside(value, path, depth + 1);
    }

    fn line(&mut self, text: &str, path: &str) {
        let Some(origin) = self.origins.get(path) else {
            self.html.raw("<div class=\"line\"><code>").text(text).raw("</code></div>");
            return;
        };
        self.html.raw("<div class=\"line\" tabindex=\"0\"><code>").text(text);
        self.html.raw("</code> <span class=\"origin\">");
        if !origin.given.is_empty() {
            self.html.raw("from ").text(&origin.given).raw(" by ");
        }
        self.html.text(&origin.definition);
        if origin.line > 0 {
            self.html.raw(", line ").text(origin.line);
        }
        self.html.raw("</span></div>");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_says_where_its_value_comes_from() {
        let origin = Origin {
            path: "spec.list[0].a".into(),
            given: "spec.components[0].properties.a".into(),
            definition: "component definition \"<page>\"".into(),
            line: 3,
            column: 1,
        };
        let object = json!({"kind": "<b>", "spec": {"list": [{"a": "x\ny"}], "none": {}}});
        let shown = ExplainedObject { object, origins: vec![origin], ..ExplainedObject::default() };
        let found = Ok(Explanation { objects: vec![shown], ..Explanation::default() });
        let page = explain("default", "shop", &found);
        let line = "<div class=\"line\" tabindex=\"0\"><code>      a: &quot;x\\ny&quot;</code> \
                    <span class=\"origin\">from spec.components[0].properties.a by component definition \
                    &quot;&lt;page&gt;&quot;, line 3</span></div>";
        assert!(page.contains(line), "{page}");
        assert!(page.contains("<div class=\"line\"><code>  none: {}</code></div>"), "{page}");
        assert!(!page.contains("<b>"), "{page}");
    }

    #[test]
    fn a_page_of_origins_has_a_limit() {
        let object = json!({"data": vec![1; LINES_AT_MOST + 1]});
        let shown = ExplainedObject { object, ..ExplainedObject::default() };
        let page = explain("a", "b", &Ok(Explanation { objects: vec![shown], ..Explanation::default() }));
        assert_eq!(page.matches("class=\"line\"").count(), LINES_AT_MOST);
        assert!(page.contains("There is more than is shown."));
    }
}
