//! Bytes that libFuzzer chose in → the target `router`, the same code that `cargo xtask fuzz` runs.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../console/fuzz/targets.rs"]
#[allow(dead_code, reason = "the runner asks for the names, libFuzzer does not")]
mod targets;

fuzz_target!(|input: &[u8]| targets::run("router", input));
