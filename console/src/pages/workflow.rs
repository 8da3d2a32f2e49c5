//! The page of a workflow: its steps as a tree with phase, reason, times and outputs, and what can be ordered now.

use super::frame::{page, unread};
use super::html::Html;
use crate::data::workflow::{Output, Step, Workflow};
use crate::error::Error;
use crate::query::encoded;

/// The path of the page.
pub(crate) fn workflow_path(namespace: &str, name: &str) -> String {
    format!("/namespaces/{}/applications/{}/workflow", encoded(namespace), encoded(name))
}

/// The page. `token` shows that a form comes from this console; there is none where the console only reads.
pub(crate) fn workflow(
    namespace: &str,
    name: &str,
    found: &Result<Workflow, Error>,
    token: Option<&str>,
) -> String {
    let application = format!("/namespaces/{}/applications/{}", encoded(namespace), encoded(name));
    let form = token.map(|token| Form { path: workflow_path(namespace, name), token });
    let mut html = Html::new();
    html.raw("<p class=\"crumbs\"><a href=\"/\">Applications</a> / ").text(namespace).raw(" / ");
    html.link(&application, name).raw("</p><h1>Workflow of ").text(name).raw("</h1>");
    if form.is_none() {
        html.raw(
            "<p class=\"note\" role=\"note\">This console only reads. <code>vela dashboard --allow-changes</code> \
             starts one that also suspends, resumes, terminates and restarts workflows.</p>",
        );
    }
    html.raw("<div data-live id=\"run\">");
    match found {
        Ok(found) => run(&mut html, found, form.as_ref()),
        Err(error) => unread(&mut html, error),
    }
    html.raw("</div>");
    page(&format!("Workflow of {name}"), Some(&format!("/api/v1/watch{application}")), &html)
}

/// What the forms of the page have in common.
struct Form<'a> {
    path: String,
    token: &'a str,
}

impl Form<'_> {
    /// The buttons of the orders that can be carried out now.
    fn write(&self, html: &mut Html, orders: &[String], step: &str) {
        if orders.is_empty() {
            return;
        }
        html.raw("<form class=\"orders\" method=\"post\" action=\"").text(&self.path);
        html.raw("\"><input type=\"hidden\" name=\"token\" value=\"").text(self.token);
        html.raw("\"><input type=\"hidden\" name=\"step\" value=\"").text(step).raw("\">");
        for order in orders {
            html.raw("<button name=\"order\" id=\"").text(order).raw("-").text(step).raw("\" value=\"");
            html.text(order).raw("\">").raw(label(order));
            match (step, order.as_str()) {
                ("", _) => html.raw(" the workflow"),
                (step, "restart") => html.raw(" from step ").text(step),
                (step, _) => html.raw(" step ").text(step),
            };
            html.raw("</button>");
        }
        html.raw("</form>");
    }
}

fn label(order: &str) -> &'static str {
    match order {
        "suspend" => "Suspend",
        "resume" => "Resume",
        "terminate" => "Terminate",
        _ => "Restart",
    }
}

fn run(html: &mut Html, run: &Workflow, form: Option<&Form<'_>>) {
    html.raw("<p><strong>").text(&run.phase).raw("</strong> for ").text(&run.revision);
    html.raw(", began ").time(&run.began);
    if !run.ended.is_empty() {
        html.raw(", ended ").time(&run.ended);
    }
    html.raw("</p>");
    for text in [&run.message, &run.go_on, &run.no_values].into_iter().filter(|text| !text.is_empty()) {
        html.raw("<p class=\"note\" role=\"note\">").message(text).raw("</p>");
    }
    if let Some(form) = form {
        form.write(html, &run.orders, "");
    }
    html.raw("<h2>Steps</h2><ol class=\"tree\">");
    for step in run.steps.iter().filter(|step| step.group.is_empty()) {
        html.raw("<li>");
        self::step(html, step, form);
        let mut below = run.steps.iter().filter(|below| below.group == step.name).peekable();
        if below.peek().is_some() {
            html.raw("<ol class=\"tree\">");
            for below in below {
                html.raw("<li>");
                self::step(html, below, form);
                html.raw("</li>");
            }
            html.raw("</ol>");
        }
        html.raw("</li>");
    }
    html.raw("</ol>");
}

fn step(html: &mut Html, step: &Step, form: Option<&Form<'_>>) {
    html.raw("<div class=\"node\"><span class=\"kind\">").text(&step.step_type).raw("</span> <strong>");
    html.text(&step.name).raw("</strong> <span class=\"phase\">");
    html.text(if step.phase.is_empty() { "to come" } else { &step.phase }).raw("</span>");
    if !step.reason.is_empty() {
        html.raw(" <span class=\"dim\">").text(&step.reason).raw("</span>");
    }
    if !step.message.is_empty() && step.message != step.reason {
        html.raw(" <span class=\"message\">").text(&step.message).raw("</span>");
    }
    if !step.began.is_empty() {
        html.raw(" <span class=\"dim age\">began ").time(&step.began).raw(", ").text(step.seconds);
        html.raw(" s</span>");
    }
    if !step.depends_on.is_empty() {
        html.raw(" <span class=\"dim\">after ").text(step.depends_on.join(", ")).raw("</span>");
    }
    html.raw("</div>");
    if !step.outputs.is_empty() {
        html.raw("<dl class=\"facts\">");
        step.outputs.iter().for_each(|one| output(html, one));
        html.raw("</dl>");
    }
    if let Some(form) = form {
        form.write(html, &step.orders, &step.name);
    }
}

fn output(html: &mut Html, output: &Output) {
    html.raw("<div><dt>").text(&output.name).raw("</dt><dd>");
    match &output.value {
        Some(value) => html.raw("<code>").text(value).raw("</code>"),
        None => html.raw("not given"),
    };
    html.raw("</dd></div>");
}
