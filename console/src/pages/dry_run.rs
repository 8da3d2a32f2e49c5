//! The page of dry runs: a manifest in a text area, what is wrong with it at its places, what deploying it would change, and
//! the objects it would make.

use super::frame::{page, unread};
use super::html::Html;
use super::plan;
use crate::data::dry_run::{DryRun, Finding};
use crate::data::plan::Plan;
use crate::error::Error;

/// Characters of a line that a finding shows.
const EXCERPT: usize = 160;

/// What a person wrote into the form.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    /// The namespace of what names none.
    pub(crate) namespace: String,
    /// The manifest.
    pub(crate) manifest: String,
}

/// The page; `token` shows that the form comes from this console, and `deploys` that what was planned can be deployed.
pub(crate) fn dry_run(
    token: &str,
    written: &Written,
    found: Option<&Result<Plan, Error>>,
    deploys: Option<&str>,
) -> String {
    let mut html = Html::new();
    html.raw("<h1>Dry run</h1><p>It shows what an application would make and what deploying it would change, and writes nothing.</p>");
    match found {
        None => {}
        Some(Err(error)) => unread(&mut html, error),
        Some(Ok(found)) => {
            html.raw("<section role=\"status\"><h2>Result</h2>");
            result(&mut html, &found.dry_run, &written.manifest);
            if let Some(changes) = &found.changes {
                plan::changes(&mut html, changes);
                if let Some(token) = deploys {
                    plan::button(&mut html, changes, token, &written.manifest);
                }
            }
            objects(&mut html, &found.dry_run);
            html.raw("</section>");
        }
    }
    html.raw("<form class=\"manifest\" method=\"post\" action=\"/dry-run\"><input type=\"hidden\" name=\"token\" value=\"")
        .text(token)
        .raw("\"><label>Namespace <input id=\"namespace\" name=\"namespace\" value=\"")
        .text(&written.namespace)
        .raw("\"></label><label>Manifest <textarea id=\"manifest\" name=\"manifest\" rows=\"24\" spellcheck=\"false\">\n")
        .text(&written.manifest)
        .raw("</textarea></label><button>Show what it would make</button></form>");
    page("Dry run", None, &html)
}

fn result(html: &mut Html, found: &DryRun, manifest: &str) {
    html.raw(match found.valid {
        true => "<p>It would run.</p>",
        false => "<p class=\"error\">It would not run as it is.</p>",
    });
    if !found.diagnostics.is_empty() {
        html.raw("<ul class=\"findings\">");
        found.diagnostics.iter().for_each(|one| finding(html, one, manifest));
        html.raw("</ul>");
    }
    for what in &found.waits {
        html.raw("<p class=\"note\">It waits: ").text(what).raw("</p>");
    }
    for title in &found.passed_over {
        html.raw("<p class=\"dim\">").text(title).raw(" is passed over: a dry run shows Applications.</p>");
    }
    if found.truncated {
        html.raw("<p>There is more than is shown.</p>");
    }
}

fn objects(html: &mut Html, found: &DryRun) {
    for object in &found.objects {
        let text = |pointer: &str| object.pointer(pointer).and_then(|text| text.as_str()).unwrap_or_default();
        html.raw("<details open><summary>").text(text("/kind")).raw(" ").text(text("/metadata/name"));
        html.raw("</summary><pre tabindex=\"0\">").text(serde_saphyr::to_string(object).unwrap_or_default());
        html.raw("</pre></details>");
    }
}

pub(super) fn finding(html: &mut Html, finding: &Finding, manifest: &str) {
    html.raw(match finding.severity {
        "error" => "<li class=\"error\"><strong>error</strong> ",
        _ => "<li class=\"note\"><strong>warning</strong> ",
    });
    if finding.line > 0 {
        html.text(finding.line).raw(":").text(finding.column).raw(" ");
    }
    html.text(&finding.message).raw(" <span class=\"dim\">").text(finding.code);
    for more in [&finding.path, &finding.definition] {
        if !more.is_empty() {
            html.raw(", ").text(more);
        }
    }
    html.raw("</span>");
    if !finding.hint.is_empty() {
        html.raw("<p>").text(&finding.hint).raw("</p>");
    }
    if let Some((line, caret)) = excerpt(manifest, finding) {
        html.raw("<pre>").text(line).raw("\n").text(caret).raw("</pre>");
    }
    html.raw("</li>");
}

/// The line of a finding and a caret below its column; nothing where it has no line.
fn excerpt(manifest: &str, finding: &Finding) -> Option<(String, String)> {
    let number = usize::try_from(finding.line).ok()?.checked_sub(1)?;
    let line: String = manifest.lines().nth(number)?.chars().take(EXCERPT).collect();
    let column = usize::try_from(finding.column).ok()?.saturating_sub(1);
    let caret = if column <= EXCERPT { format!("{}^", " ".repeat(column)) } else { String::new() };
    Some((line, caret))
}
