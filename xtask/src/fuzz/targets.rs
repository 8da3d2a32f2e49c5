//! The targets of all rooms: a name in; the room whose inputs are kept beside it, and the code that takes them.

#[path = "../../../cue/fuzz/targets.rs"]
mod cue;
#[path = "../../../webhooks/fuzz/targets.rs"]
mod webhooks;

/// Names of all targets.
pub(crate) fn all() -> Vec<&'static str> {
    cue::TARGETS.into_iter().chain(webhooks::TARGETS).collect()
}

/// The room of a target; its folder `fuzz` holds the inputs.
pub(crate) fn room(target: &str) -> &'static str {
    if webhooks::TARGETS.contains(&target) { "webhooks" } else { "cue" }
}

/// Hands the bytes to a target.
pub(crate) fn run(target: &str, input: &[u8]) {
    match room(target) {
        "webhooks" => webhooks::run(target, input),
        _ => cue::run(target, input),
    }
}
