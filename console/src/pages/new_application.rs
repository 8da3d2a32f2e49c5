//! The page of a new application: a form made of the parameters of a component type.

use vela_engine::parameters::Parameter;

use super::frame::page;
use super::html::Html;
use crate::data::definitions::{Definition, Described};
use crate::data::form::{Filled, Kind, choice, field};
use crate::query::encoded;

/// The path of the page.
pub(crate) fn new_application_path(definition: &Definition) -> String {
    let Definition { kind, namespace, name, .. } = definition;
    format!("/namespaces/{}/definitions/{}/{}/new", encoded(namespace), encoded(kind), encoded(name))
}

/// The page; `token` shows that the form comes from this console.
pub(crate) fn new_application(token: &str, described: &Described, filled: &Filled) -> String {
    let Described { definition, parameters } = described;
    let mut html = Html::new();
    html.raw("<p class=\"crumbs\"><a href=\"/definitions\">Types</a> / ").text(&definition.name);
    html.raw("</p><h1>New application of ")
        .text(&definition.name)
        .raw("</h1><p>")
        .text(&definition.description);
    html.raw("</p><p>It makes a manifest and says what deploying it would do. It writes nothing.</p>");
    if let Some(note) = &parameters.note {
        html.raw("<p class=\"note\" role=\"note\">").text(note).raw("</p>");
    }
    if !filled.mistakes.is_empty() {
        html.raw("<p class=\"error\" role=\"alert\">Some fields need another value.</p>");
    }
    html.raw("<form class=\"manifest\" method=\"post\" action=\"").text(new_application_path(definition));
    html.raw("\"><input type=\"hidden\" name=\"token\" value=\"").text(token).raw("\">");
    for (name, label) in
        [("name", "Name"), ("namespace", "Namespace"), ("component", "Name of the component")]
    {
        html.raw("<label>").text(label).raw(" (required)<input");
        head(&mut html, name, filled);
        html.raw(" required value=\"").text(filled.text(name)).raw("\"></label>");
        mistake(&mut html, name, filled);
    }
    parameters.root.children.iter().for_each(|parameter| one(&mut html, parameter, filled));
    html.raw("<button>Make the manifest</button></form>");
    page(&format!("New application of {}", definition.name), None, &html)
}

/// Name, id and mistake of a field.
fn head(html: &mut Html, name: &str, filled: &Filled) {
    html.raw(" id=\"").text(name).raw("\" name=\"").text(name).raw("\"");
    if filled.mistakes.contains_key(name) {
        html.raw(" aria-invalid=\"true\" aria-describedby=\"wrong-").text(name).raw("\"");
    }
}

fn mistake(html: &mut Html, name: &str, filled: &Filled) {
    if let Some(why) = filled.mistakes.get(name) {
        html.raw("<p class=\"error\" id=\"wrong-").text(name).raw("\">").text(why).raw("</p>");
    }
}

fn one(html: &mut Html, parameter: &Parameter, filled: &Filled) {
    let (name, kind) = (field(parameter), Kind::of(parameter));
    let given = filled.text(&name);
    html.raw("<label><span><code>").text(&parameter.name).raw("</code> ").text(&parameter.type_);
    if parameter.required {
        html.raw(" (required)");
    }
    if let Some(default) = &parameter.default {
        html.raw(", default ").text(default);
    }
    if let Some(condition) = &parameter.condition {
        html.raw(", only if ").text(condition);
    }
    for rule in &parameter.rules {
        html.raw(", ").text(rule);
    }
    html.raw(match kind {
        Kind::Lines => ", one in each line",
        Kind::Yaml => ", as YAML",
        _ => "",
    });
    html.raw("</span> <span>").text(&parameter.description).raw("</span>");
    match kind {
        Kind::Text | Kind::Whole | Kind::Number => {
            html.raw("<input");
            head(html, &name, filled);
            html.raw(" value=\"").text(given).raw("\">");
        }
        Kind::Switch | Kind::Choice => {
            let values: Vec<String> = match kind {
                Kind::Switch => vec!["true".to_owned(), "false".to_owned()],
                _ => parameter.allowed.iter().map(choice).collect(),
            };
            html.raw("<select");
            head(html, &name, filled);
            html.raw("><option value=\"\">not given</option>");
            for value in values {
                html.raw("<option value=\"").text(&value).raw("\"");
                if value == given {
                    html.raw(" selected");
                }
                html.raw(">").text(&value).raw("</option>");
            }
            html.raw("</select>");
        }
        Kind::Lines | Kind::Yaml => {
            html.raw("<textarea");
            head(html, &name, filled);
            html.raw(" rows=\"4\" spellcheck=\"false\">\n").text(given).raw("</textarea>");
        }
    }
    html.raw("</label>");
    mistake(html, &name, filled);
}
