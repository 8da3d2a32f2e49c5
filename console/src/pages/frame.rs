//! The parts of every page: head, navigation, and marks of health.

use super::html::Html;
use crate::data::Health;

/// A page around its content. `watch` is the path of the events that make it read itself anew.
pub(super) fn page(title: &str, watch: Option<&str>, content: &Html) -> String {
    let mut html = Html::new();
    html.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>").text(title).raw(
        " · vela</title><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"/assets/icon.svg\">\
             <link rel=\"stylesheet\" href=\"/assets/console.css\">\
             <script src=\"/assets/console.js\" defer></script></head><body",
    );
    if let Some(watch) = watch {
        html.raw(" data-watch=\"").text(watch).raw("\"");
    }
    html.raw(
        "><a class=\"skip\" href=\"#content\">Skip to the content</a><header><nav aria-label=\"Console\">\
         <a class=\"home\" href=\"/\">vela</a><a href=\"/\">Applications</a><a href=\"/definitions\">Types</a>\
         <a href=\"/dry-run\">Dry run</a></nav>\
         <p id=\"live\" role=\"status\"></p></header><main id=\"content\" tabindex=\"-1\">",
    )
    .html(content)
    .raw("</main><footer><a href=\"/api/openapi.json\">REST API</a></footer></body></html>\n");
    html.finish()
}

/// A mark of health: its colour is never all that tells it.
pub(super) fn badge(html: &mut Html, health: Health) {
    html.raw(match health {
        Health::Healthy => "<span class=\"badge healthy\"><span aria-hidden=\"true\">●</span> healthy</span>",
        Health::Progressing => {
            "<span class=\"badge progressing\"><span aria-hidden=\"true\">◐</span> progressing</span>"
        }
        Health::Unhealthy => {
            "<span class=\"badge unhealthy\"><span aria-hidden=\"true\">✕</span> unhealthy</span>"
        }
        Health::Missing => "<span class=\"badge missing\"><span aria-hidden=\"true\">✕</span> missing</span>",
        Health::Unknown => "<span class=\"badge unknown\"><span aria-hidden=\"true\">○</span> unknown</span>",
    });
}

/// A place of a part that could not be read.
pub(super) fn unread(html: &mut Html, error: impl std::fmt::Display) {
    html.raw("<p class=\"error\" role=\"alert\">").message(&error.to_string()).raw("</p>");
}
