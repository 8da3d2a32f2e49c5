//! Logs as events and as a page: the containers and lines that they hold, and the refusals where there are none.

use vela_console::Options;

use crate::cluster::Cluster;

const LOGS: &str = "/api/v1/namespaces/default/applications/shop/logs";
const PAGE: &str = "/namespaces/default/applications/shop/logs";

/// A container that writes markup, colours and a command for terminals, and how it was asked.
fn writes(asked: &str) -> Option<String> {
    let text = "one\n\u{1b}[31m<script>alert(1)</script>\u{1b}[0m\r\n\u{1b}]0;title\u{7}\n";
    asked.contains("/pods/cart-abc/log?").then(|| format!("{text}{}\n", asked.rsplit('?').next().unwrap()))
}

#[tokio::test]
async fn lines_of_a_log_come_as_events_and_end() {
    let cluster = Cluster::with_logs(writes).await;
    let text = cluster.events(LOGS).await.until("event: end").await;
    let line = |text: &str| {
        format!("event: line\ndata: {{\"pod\":\"cart-abc\",\"container\":\"cart\",\"text\":\"{text}\"}}\n\n")
    };
    let lines =
        ["one", "<script>alert(1)</script>", "\u{fffd}]0;title\u{fffd}", "&container=cart&tailLines=100"];
    let expected: String = lines.map(line).concat();
    assert_eq!(
        text.split_once("event: ready\ndata: {}\n\n").unwrap().1,
        format!("{expected}event: end\ndata: {{}}\n\n")
    );
    let asked =
        "?component=cart&pod=cart-abc&container=cart&follow=true&tail=5&timestamps=true&previous=true";
    let text = cluster.events(&format!("{LOGS}{asked}")).await.until("event: end").await;
    let query = "&container=cart&follow=true&previous=true&tailLines=5&timestamps=true";
    assert!(text.contains(query), "{text}");
}

#[tokio::test]
async fn a_page_has_the_last_lines_and_where_they_go_on() {
    let cluster = Cluster::with_logs(writes).await;
    let (status, page) = cluster.text(&format!("{PAGE}?component=cart&tail=7")).await;
    assert_eq!(status, 200, "{page}");
    assert!(
        page.contains("&lt;script&gt;") && !page.contains("<script>") && !page.contains('\u{1b}'),
        "{page}"
    );
    for words in [
        "data-log=\"/api/v1/namespaces/default/applications/shop/logs?follow=true&amp;tail=7&amp;component=cart\"",
        "<option selected value=\"cart\">",
        "<option value=\"cart-abc\">",
        "&amp;container=cart&amp;tailLines=7</p>",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let (_, page) = cluster.text(&format!("{PAGE}?follow=false")).await;
    assert!(page.contains("one</p>") && !page.contains("data-log"), "{page}");
    let (_, page) = cluster.text("/namespaces/default/applications/shop").await;
    assert!(page.contains(&format!("href=\"{PAGE}\"")), "{page}");
}

#[tokio::test]
async fn a_log_that_is_refused_is_said_with_its_container() {
    let cluster = Cluster::with_logs(|_| None).await;
    let text = cluster.events(LOGS).await.until("event: end").await;
    assert!(text.contains("event: failed") && text.contains("\"code\":403"), "{text}");
    assert!(text.contains("the log of container cart of pod cart-abc"), "{text}");
    let (status, page) = cluster.text(PAGE).await;
    assert!(status == 200 && page.contains("is forbidden"), "{page}");
}

#[tokio::test]
async fn logs_of_what_is_not_there_are_a_clear_refusal() {
    let cluster = Cluster::with_logs(writes).await;
    let absent = "/api/v1/namespaces/default/applications/absent/logs";
    for (path, status, words) in [
        (absent.to_owned(), 404, "no application"),
        (format!("{LOGS}?component=back"), 404, "component \\\"back\\\" of shop has no pod"),
        (format!("{LOGS}?pod=other"), 404, "of 1 pods the first are cart-abc"),
        (format!("{LOGS}?container=db"), 404, "there are cart"),
        (format!("{LOGS}?container=..%2f"), 400, "cannot be the name"),
        (format!("{LOGS}?tail=0"), 400, "no number from 1 to 10000"),
        (format!("{LOGS}?follow=yes"), 400, "neither true nor false"),
    ] {
        let (found, text) = cluster.text(&path).await;
        assert!(found == status && text.contains(words), "{path}: {found} {text}");
    }
    assert_eq!(cluster.text(&PAGE.replace("shop", "absent")).await.0, 404);
}

#[tokio::test]
async fn simulated_pods_say_that_they_write_no_log() {
    let mut cluster = Cluster::with_shop().await;
    let options = Options { simulated_pods: true, ..Options::default() };
    cluster.serve(cluster.client(), options).await;
    let (status, body) = cluster.json(LOGS).await;
    assert_eq!((status, &body["reason"]), (501, &"NotImplemented".into()), "{body}");
    let (status, page) = cluster.text(PAGE).await;
    let words = "the pods of the sandbox are simulated: no container runs, and none writes a log";
    assert!(body["message"].as_str().unwrap().contains(words) && page.contains(words), "{page}");
    assert!(status == 200 && !page.contains("data-log"), "{page}");
    assert_eq!(cluster.json(&LOGS.replace("shop", "absent")).await.0, 404);
}
