//! The page of logs: the last lines of the containers that are chosen; the script of the pages goes on with what follows.

use std::collections::BTreeSet;

use super::frame::{page, unread};
use super::html::Html;
use crate::data::logs::{Line, Wanted, pods};
use crate::data::tree::Tree;
use crate::error::Error;
use crate::query::encoded;

/// Pods to choose from; one can be written in the address all the same.
const PODS_SHOWN: usize = 100;

/// The page; `found` has the first lines and whether there are more.
pub(crate) fn logs(
    namespace: &str,
    name: &str,
    tree: &Tree,
    wanted: &Wanted,
    found: &Result<(Vec<Line>, bool), Error>,
) -> String {
    let path = format!("/namespaces/{}/applications/{}", encoded(namespace), encoded(name));
    let mut html = Html::new();
    html.raw("<p class=\"crumbs\"><a href=\"/\">Applications</a> / ").text(namespace).raw(" / ");
    html.link(&path, name).raw("</p><h1>Logs of ").text(name).raw("</h1>");
    form(&mut html, &path, tree, wanted);
    match found {
        Err(error @ Error::NotSupported(_)) => {
            html.raw("<p class=\"note\" role=\"note\">").text(error).raw("</p>");
        }
        Err(error) => unread(&mut html, error),
        Ok((lines, has_more)) => {
            if *has_more {
                html.raw("<p>There are more lines than are shown; choose fewer with the form.</p>");
            }
            html.raw("<div class=\"log\" id=\"log\" role=\"log\" aria-label=\"Lines\" tabindex=\"0\"");
            if wanted.follow != Some(false) {
                html.raw(" data-log=\"").text(stream_path(&path, wanted)).raw("\"");
            }
            html.raw(">");
            lines.iter().for_each(|line| row(&mut html, line));
            html.raw("</div>");
            if lines.is_empty() {
                html.raw("<p class=\"empty\">No line was written yet.</p>");
            }
        }
    }
    page(&format!("Logs of {name}"), None, &html)
}

/// A line as the script writes it, too.
fn row(html: &mut Html, line: &Line) {
    match line {
        Ok(line) => html
            .raw("<p><span class=\"dim\">")
            .text(&line.pod)
            .raw(" ")
            .text(&line.container)
            .raw("</span> ")
            .text(&line.text)
            .raw("</p>"),
        Err(error) => html.raw("<p class=\"bad\">").text(error).raw("</p>"),
    };
}

fn form(html: &mut Html, path: &str, tree: &Tree, wanted: &Wanted) {
    let pods = pods(tree);
    let components: BTreeSet<&str> =
        pods.iter().map(|pod| pod.component).filter(|name| !name.is_empty()).collect();
    let names: BTreeSet<&str> = pods.iter().map(|pod| pod.name).take(PODS_SHOWN).collect();
    html.raw("<form class=\"filter\" method=\"get\" action=\"").text(path).raw("/logs\">");
    choice(html, "Component", "component", &components, wanted.component.as_deref());
    choice(html, "Pod", "pod", &names, wanted.pod.as_deref());
    html.raw("<label>Container <input id=\"container\" name=\"container\" value=\"")
        .text(wanted.container.as_deref().unwrap_or_default())
        .raw("\"></label><label>Lines from the end <input id=\"tail\" name=\"tail\" inputmode=\"numeric\" value=\"")
        .text(wanted.tail)
        .raw("\"></label><label>Follow <select id=\"follow\" name=\"follow\"><option value=\"true\">yes</option>")
        .raw(if wanted.follow == Some(false) { "<option selected" } else { "<option" })
        .raw(" value=\"false\">no</option></select></label><button>Show</button></form>");
}

fn choice(
    html: &mut Html,
    label: &'static str,
    name: &'static str,
    all: &BTreeSet<&str>,
    chosen: Option<&str>,
) {
    html.raw("<label>").raw(label).raw(" <select id=\"").raw(name).raw("\" name=\"").raw(name);
    html.raw("\"><option value=\"\">any</option>");
    // What is chosen stays chosen, also where it has gone.
    let gone = chosen.filter(|chosen| !all.contains(chosen));
    for one in all.iter().copied().chain(gone) {
        html.raw(if chosen == Some(one) { "<option selected value=\"" } else { "<option value=\"" });
        html.text(one).raw("\">").text(one).raw("</option>");
    }
    html.raw("</select></label>");
}

/// Where the script reads the lines from.
fn stream_path(path: &str, wanted: &Wanted) -> String {
    let Wanted { component, pod, container, tail, follow: _, previous, timestamps } = wanted;
    let mut url = format!("/api/v1{path}/logs?follow=true&tail={tail}");
    for (name, value) in [("component", component), ("pod", pod), ("container", container)] {
        if let Some(value) = value {
            url.push_str(&format!("&{name}={}", encoded(value)));
        }
    }
    for (name, value) in [("previous", previous), ("timestamps", timestamps)] {
        if *value {
            url.push_str(&format!("&{name}=true"));
        }
    }
    url
}
