//! The first page: every application with its health, in pages, with a search.

use super::frame::{badge, page};
use super::html::Html;
use crate::data::Health;
use crate::data::applications::{ApplicationSummaryList, Filter, PAGE, Summary};
use crate::query::encoded;

/// The page.
pub(crate) fn overview(
    list: &ApplicationSummaryList,
    filter: &Filter,
    after: Option<&str>,
    limit: usize,
) -> String {
    let mut html = Html::new();
    html.raw("<h1>Applications</h1>");
    form(&mut html, list, filter);
    html.raw("<div data-live id=\"list\">");
    match (list.items.is_empty(), list.counts.is_empty()) {
        (true, true) if filter.search.is_none() && filter.namespace.is_none() => {
            html.raw(
                "<p class=\"empty\">There is no application yet. <code>vela up -f app.yaml</code> deploys one.</p>",
            );
        }
        (true, _) => {
            html.raw("<p class=\"empty\">No application matches.</p>");
        }
        (false, _) => table(&mut html, list),
    }
    html.raw("<nav class=\"pages\" aria-label=\"Pages\">");
    if after.is_some() {
        html.link(&address(filter, None, limit), "First page");
    }
    if let Some(next) = &list.metadata.continue_ {
        html.link(&address(filter, Some(next), limit), "Next page");
        html.raw("<span>").text(list.metadata.remaining_item_count).raw(" more</span>");
    }
    html.raw("</nav></div>");
    let watch = match &filter.namespace {
        Some(namespace) => format!("/api/v1/watch/applications?namespace={}", encoded(namespace)),
        None => "/api/v1/watch/applications".to_owned(),
    };
    page("Applications", Some(&watch), &html)
}

fn form(html: &mut Html, list: &ApplicationSummaryList, filter: &Filter) {
    html.raw(
        "<form class=\"filter\" role=\"search\" action=\"/\" method=\"get\"><label>Search <input type=\"search\" \
         id=\"search\" name=\"search\" placeholder=\"name, namespace, component, type\" value=\"",
    )
    .text(filter.search.as_deref().unwrap_or_default())
    .raw("\"></label><label>Namespace <input id=\"namespace\" name=\"namespace\" value=\"")
    .text(filter.namespace.as_deref().unwrap_or_default())
    .raw("\"></label><label>Health <select id=\"health\" name=\"health\"><option value=\"\">any</option>");
    for health in Health::ALL {
        html.raw("<option");
        if filter.health == Some(health) {
            html.raw(" selected");
        }
        html.raw(" value=\"").text(health.as_str()).raw("\">").text(health.as_str()).raw("</option>");
    }
    html.raw("</select></label><button>Show</button></form><ul class=\"counts\" data-live id=\"counts\">");
    for health in Health::ALL {
        let count = list.counts.get(health.as_str()).copied().unwrap_or_default();
        if count > 0 {
            html.raw("<li>");
            badge(html, health);
            html.raw(" ").text(count).raw("</li>");
        }
    }
    html.raw("</ul>");
}

fn table(html: &mut Html, list: &ApplicationSummaryList) {
    html.raw(
        "<table class=\"wide\"><caption class=\"hidden\">Applications</caption><thead><tr><th scope=\"col\">Application</th>\
         <th scope=\"col\">Health</th><th scope=\"col\">Phase</th><th scope=\"col\">Components</th>\
         <th scope=\"col\">Created</th></tr></thead><tbody>",
    );
    list.items.iter().for_each(|summary| row(html, summary));
    html.raw("</tbody></table>");
}

fn row(html: &mut Html, summary: &Summary) {
    let metadata = &summary.metadata;
    let path =
        format!("/namespaces/{}/applications/{}", encoded(&metadata.namespace), encoded(&metadata.name));
    html.raw("<tr><th scope=\"row\" data-label=\"Application\"><span class=\"dim\">")
        .text(&metadata.namespace)
        .raw("/</span>")
        .link(&path, &metadata.name)
        .raw("</th><td data-label=\"Health\">");
    badge(html, summary.health);
    html.raw("</td><td data-label=\"Phase\">").text(&summary.phase);
    if summary.deleting {
        html.raw(" <em>is being deleted</em>");
    }
    html.raw("</td><td data-label=\"Components\"><ul class=\"inline\">");
    /// More are counted.
    const SHOWN: usize = 5;
    for component in summary.components.iter().take(SHOWN) {
        html.raw("<li>").text(&component.name).raw(" <span class=\"dim\">").text(&component.component_type);
        html.raw("</span></li>");
    }
    if summary.components.len() > SHOWN {
        html.raw("<li class=\"dim\">and ").text(summary.components.len() - SHOWN).raw(" more</li>");
    }
    html.raw("</ul></td><td data-label=\"Created\">").time(&metadata.creation_timestamp).raw("</td></tr>");
}

/// The address of this page with what was asked for.
fn address(filter: &Filter, after: Option<&str>, limit: usize) -> String {
    let limit = (limit != PAGE).then(|| limit.to_string());
    let parameters = [
        ("search", filter.search.as_deref()),
        ("namespace", filter.namespace.as_deref()),
        ("health", filter.health.map(Health::as_str)),
        ("limit", limit.as_deref()),
        ("continue", after),
    ];
    let given =
        parameters.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", encoded(value?))));
    format!("/?{}", given.collect::<Vec<_>>().join("&"))
}
