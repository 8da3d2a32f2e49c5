//! The page of rollouts: each with its batches as a picture, pods before and after, its phase and the reason.

use super::frame::{page, unread};
use super::html::Html;
use crate::data::rollouts::{Batch, BatchPhase, Rollout, RolloutList};
use crate::error::Error;
use crate::query::encoded;

/// Width of a picture, in units of its own; wider where its batches are many.
const WIDTH: i64 = 800;
/// Width of the smallest batch, so that its number can be read.
const BATCH_WIDTH_MIN: i64 = 28;
/// Between two batches.
const GAP: i64 = 4;

/// The path of the page.
pub(crate) fn rollouts_path(namespace: &str, name: &str) -> String {
    format!("/namespaces/{}/applications/{}/rollouts", encoded(namespace), encoded(name))
}

/// The page. `token` shows that a form comes from this console; there is none where the console only reads.
pub(crate) fn rollouts(
    namespace: &str,
    name: &str,
    found: &Result<RolloutList, Error>,
    token: Option<&str>,
) -> String {
    let form = token.map(|token| Form { path: rollouts_path(namespace, name), token });
    let path = format!("/namespaces/{}/applications/{}", encoded(namespace), encoded(name));
    let mut html = Html::new();
    html.raw("<p class=\"crumbs\"><a href=\"/\">Applications</a> / ").text(namespace).raw(" / ");
    html.link(&path, name).raw("</p><h1>Rollouts of ").text(name);
    html.raw("</h1>");
    if form.is_none() {
        html.raw(
            "<p class=\"note\" role=\"note\">This console only reads. <code>vela dashboard --allow-changes</code> \
             starts one that also pauses, resumes, promotes and undoes rollouts.</p>",
        );
    }
    html.raw("<div data-live id=\"rollouts\">");
    match found {
        Ok(list) => items(&mut html, list, form.as_ref()),
        Err(error) => unread(&mut html, error),
    }
    html.raw("</div>");
    page(&format!("Rollouts of {name}"), Some(&format!("/api/v1/watch{path}/rollouts")), &html)
}

/// What the forms of the page have in common.
struct Form<'a> {
    path: String,
    token: &'a str,
}

impl Form<'_> {
    /// The buttons of the orders that change something now.
    fn write(&self, html: &mut Html, rollout: &Rollout) {
        if rollout.orders.is_empty() {
            return;
        }
        html.raw("<form class=\"orders\" method=\"post\" action=\"").text(&self.path);
        html.raw("\"><input type=\"hidden\" name=\"token\" value=\"").text(self.token);
        html.raw("\"><input type=\"hidden\" name=\"rollout\" value=\"").text(&rollout.name).raw("\">");
        for order in &rollout.orders {
            html.raw("<button name=\"order\" id=\"").text(order).raw("-").text(&rollout.name);
            html.raw("\" value=\"").text(order).raw("\">").raw(label(order)).raw(" ").text(&rollout.name);
            html.raw("</button>");
            if order == "promote" {
                html.raw("<label class=\"choice\"><input type=\"checkbox\" name=\"full\" value=\"true\"> to the end</label>");
            }
        }
        html.raw("</form>");
    }
}

fn label(order: &str) -> &'static str {
    match order {
        "pause" => "Pause",
        "resume" => "Resume",
        "promote" => "Promote",
        _ => "Undo",
    }
}

fn items(html: &mut Html, list: &RolloutList, form: Option<&Form<'_>>) {
    if list.items.is_empty() {
        html.raw(match list.planned {
            true => "<p class=\"empty\">The application has a rollout plan, and no rollout has begun.</p>",
            false => {
                "<p class=\"empty\">The application has no rollout plan, and no AppRollout names its revisions.</p>"
            }
        });
    }
    list.items.iter().for_each(|one| rollout(html, one, form));
    if list.truncated {
        html.raw("<p>There are more rollouts than are shown.</p>");
    }
}

fn rollout(html: &mut Html, rollout: &Rollout, form: Option<&Form<'_>>) {
    html.raw("<section><h2>").text(&rollout.name).raw("</h2><p><strong>");
    html.text(if rollout.phase.is_empty() { "not begun" } else { &rollout.phase }).raw("</strong> ");
    html.text(&rollout.doing).raw("</p>");
    if !rollout.reason.is_empty() {
        html.raw("<p class=\"note\" role=\"note\">")
            .raw(if rollout.waiting { "It waits: " } else { "" })
            .message(&rollout.reason)
            .raw("</p>");
    }
    if rollout.paused {
        html.raw("<p class=\"note\" role=\"note\">It is paused. <code>vela rollout resume ")
            .text(&rollout.name);
        html.raw("</code> lets it go on.</p>");
    }
    if let Some(form) = form {
        form.write(html, rollout);
    }
    html.raw("<dl class=\"facts\">");
    let size = |size: Option<i32>| size.map_or_else(|| "not known yet".to_owned(), |size| size.to_string());
    let from = if rollout.from.is_empty() { "–" } else { &rollout.from };
    fact(html, "From", from);
    fact(html, "To", &rollout.to);
    fact(html, "Plan", if rollout.of_application { "of the application" } else { "its own" });
    fact(html, "Pods before", &size(rollout.pods_before));
    fact(html, "Pods after", &size(rollout.pods_after));
    fact(html, "Replaced", &format!("{}, of these {} ready", rollout.replaced, rollout.ready));
    if !rollout.unchanged.is_empty() {
        fact(html, "Unchanged", &rollout.unchanged.join(", "));
    }
    html.raw("</dl>");
    match rollout.batches.is_empty() {
        true => {
            html.raw("<p class=\"empty\">Its batches are not known yet.</p>");
        }
        false => {
            picture(html, rollout);
            table(html, rollout);
        }
    }
    html.raw("</section>");
}

fn fact(html: &mut Html, name: &'static str, value: &str) {
    html.raw("<div><dt>").raw(name).raw("</dt><dd>").text(value).raw("</dd></div>");
}

/// The batches side by side, each as wide as it has pods, filled as far as these are ready. The table below says the same.
fn picture(html: &mut Html, rollout: &Rollout) {
    let all = rollout.batches.iter().fold(0_i64, |all, batch| all.saturating_add(batch.pods.max(0))).max(1);
    let width = |batch: &Batch| {
        let share = i128::from(batch.pods.max(0)) * i128::from(WIDTH) / i128::from(all);
        i64::try_from(share).unwrap_or(WIDTH).max(BATCH_WIDTH_MIN)
    };
    let total: i64 = rollout.batches.iter().map(|batch| width(batch) + GAP).sum();
    html.raw("<svg class=\"batches\" role=\"img\" aria-label=\"Batches of ").text(&rollout.name).raw(", ");
    html.text(rollout.batches.iter().filter(|batch| batch.phase == BatchPhase::Done).count());
    html.raw(" of ").text(rollout.batches.len()).raw(" done\" viewBox=\"0 0 ").text(total).raw(" 52\">");
    let mut x = 0;
    for (index, batch) in rollout.batches.iter().enumerate() {
        let width = width(batch);
        rectangle(html, "batch", x, width);
        rectangle(html, class(batch.phase), x, filled(batch, width));
        html.raw("<text x=\"").text(x + width / 2).raw("\" y=\"46\" text-anchor=\"middle\">").text(index + 1);
        html.raw("</text>");
        x += width + GAP;
    }
    html.raw("</svg>");
}

fn rectangle(html: &mut Html, class: &'static str, x: i64, width: i64) {
    html.raw("<rect class=\"").raw(class).raw("\" x=\"").text(x).raw("\" y=\"2\" height=\"28\" width=\"");
    html.text(width).raw("\"/>");
}

/// How much of its width is filled: a batch without pods is full when it is done.
fn filled(batch: &Batch, width: i64) -> i64 {
    match (batch.pods, batch.phase) {
        (_, BatchPhase::Done) => width,
        (pods, _) if pods <= 0 => 0,
        (pods, _) => width.saturating_mul(batch.ready.clamp(0, pods)) / pods,
    }
}

fn class(phase: BatchPhase) -> &'static str {
    match phase {
        BatchPhase::Done => "done",
        BatchPhase::Running => "running",
        BatchPhase::Stopped => "stopped",
        BatchPhase::ToCome => "to-come",
    }
}

fn table(html: &mut Html, rollout: &Rollout) {
    html.raw(
        "<table class=\"wide\"><caption class=\"hidden\">Batches</caption><thead><tr><th scope=\"col\">Batch</th>\
         <th scope=\"col\">Pods</th><th scope=\"col\">Ready</th><th scope=\"col\">State</th></tr></thead><tbody>",
    );
    for (index, batch) in rollout.batches.iter().enumerate() {
        html.raw("<tr><th scope=\"row\" data-label=\"Batch\">").text(index + 1);
        html.raw("</th><td data-label=\"Pods\">").text(batch.pods).raw("</td><td data-label=\"Ready\">");
        html.text(batch.ready).raw("</td><td data-label=\"State\">");
        html.text(match batch.phase {
            BatchPhase::Done => "done",
            BatchPhase::Running => &batch.state,
            BatchPhase::Stopped => "the rollout ended here",
            BatchPhase::ToCome => "to come",
        });
        html.raw("</td></tr>");
    }
    html.raw("</tbody></table>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(pods: i64, ready: i64, phase: BatchPhase) -> Batch {
        Batch { pods, ready, phase, state: String::new() }
    }

    #[test]
    fn a_batch_is_filled_as_far_as_its_pods_are_ready() {
        assert_eq!(filled(&batch(4, 1, BatchPhase::Running), 100), 25);
        assert_eq!(filled(&batch(0, 0, BatchPhase::Done), 30), 30);
        assert_eq!(filled(&batch(0, 0, BatchPhase::ToCome), 30), 0);
        assert_eq!(filled(&batch(2, 9, BatchPhase::Stopped), 30), 30);
    }

    #[test]
    fn a_picture_holds_batches_of_any_size() {
        let batches = vec![
            batch(i64::MAX, 0, BatchPhase::Running),
            batch(i64::MAX, 1, BatchPhase::ToCome),
            batch(0, 0, BatchPhase::Done),
        ];
        let mut html = Html::new();
        picture(&mut html, &Rollout { name: "<x>".into(), batches, ..Rollout::default() });
        let svg = html.finish();
        assert!(svg.contains("aria-label=\"Batches of &lt;x&gt;, 1 of 3 done\""), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 6, "{svg}");
    }
}
