//! Reads what a call of `vela/builtin` (or `vela/op`) means for the step and its workflow.

use serde_json::Value as Json;
use vela_cue::calls::Call;

use super::stop::Stop;

/// The meaning of a call that needs no answer.
pub(super) enum Control {
    /// The step goes on.
    Continue,
    /// The step goes on, and this is shown.
    Message(String),
    /// The step goes on, and this is for its logs.
    Log(Json),
    /// The step does not go on.
    Stop(Stop),
}

/// The meaning of a call; `None` when it is a question.
pub(super) fn control(call: &Call) -> Option<Control> {
    let params = call.params().unwrap_or_default();
    let text = |name: &str| params.get(name).and_then(Json::as_str).map(str::to_owned);
    let message = || text("message").unwrap_or_default();
    let of_step = matches!(call.provider.as_str(), "builtin" | "op");
    Some(match call.function.as_str() {
        "wait" if of_step => match params.get("continue").and_then(Json::as_bool) {
            Some(true) => Control::Continue,
            _ => Control::Stop(Stop::Wait { message: message() }),
        },
        "suspend" if of_step => {
            let path = call.path.clone();
            let said = text("message").unwrap_or_else(|| format!("Suspended by field {}", last(&path)));
            Control::Stop(Stop::Suspend { path, duration: text("duration"), message: said })
        }
        "fail" if of_step => Control::Stop(Stop::Fail { message: message() }),
        "break" if of_step => Control::Stop(Stop::Break { message: message() }),
        "message" if of_step => Control::Message(message()),
        // Early packages wrote `#do: "steps"` on every group of calls.
        "steps" => Control::Continue,
        "log" if matches!(call.provider.as_str(), "util" | "op") => Control::Log(params),
        _ => return None,
    })
}

/// The last name of a path.
fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}
