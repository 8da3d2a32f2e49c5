//! Archives of small programs with the results of the reference implementation, and the promises of the doors.

// A test says what is wrong by panicking.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "cue/archive.rs"]
mod archive;
#[path = "cue/bombs.rs"]
mod bombs;
#[path = "cue/calls.rs"]
mod calls;
#[path = "cue/data_files.rs"]
mod data_files;
#[path = "cue/doors.rs"]
mod doors;
#[path = "cue/eras.rs"]
mod eras;
#[path = "cue/examples.rs"]
mod examples;
#[path = "cue/fuzz.rs"]
mod fuzz;
#[path = "cue/hostile.rs"]
mod hostile;
#[path = "cue/laws.rs"]
mod laws;
#[path = "cue/messages.rs"]
mod messages;
#[path = "cue/modernize.rs"]
mod modernize;
#[path = "cue/modules.rs"]
mod modules;
#[path = "cue/openapi.rs"]
mod openapi;
#[path = "cue/origins.rs"]
mod origins;
#[path = "cue/printing.rs"]
mod printing;
#[path = "cue/providers.rs"]
mod providers;
#[path = "cue/reading_back.rs"]
mod reading_back;
#[path = "cue/sharing.rs"]
mod sharing;
#[path = "cue/speed.rs"]
mod speed;
#[path = "cue/undeclared.rs"]
mod undeclared;
