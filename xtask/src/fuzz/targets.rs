//! The targets of all rooms: a name in; the room whose inputs are kept beside it, and the code that takes them.

#[path = "../../../console/fuzz/targets.rs"]
mod console;
#[path = "../../../cue/fuzz/targets.rs"]
mod cue;
#[path = "../../../webhooks/fuzz/targets.rs"]
mod webhooks;

/// Names of all targets.
pub(crate) fn all() -> Vec<&'static str> {
    cue::TARGETS.into_iter().chain(webhooks::TARGETS).chain(console::TARGETS).collect()
}

/// The room of a target; its folder `fuzz` holds the inputs.
pub(crate) fn room(target: &str) -> &'static str {
    match target {
        _ if webhooks::TARGETS.contains(&target) => "webhooks",
        _ if console::TARGETS.contains(&target) => "console",
        _ => "cue",
    }
}

/// Hands the bytes to a target.
pub(crate) fn run(target: &str, input: &[u8]) {
    match room(target) {
        "webhooks" => webhooks::run(target, input),
        "console" => console::run(target, input),
        _ => cue::run(target, input),
    }
}
