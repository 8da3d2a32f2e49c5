//! Where a recorded run and vela differ by choice. Each reason stands in `docs/differences.md` in the same words.

use vela_e2e::rules::Rule;

pub(crate) static TABLE: [Rule; 0] = [];
