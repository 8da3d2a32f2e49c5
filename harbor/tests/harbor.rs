//! What the Harbor operator does, compared with what was recorded of another one.

// A failed unwrap in a test is the failure we want to see, in helpers too.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scenarios {
    mod admission;
    mod bad_input;
    mod cluster;
    mod conversion;
    mod figures;
    mod harbor_api;
    mod images;
    mod mistakes;
    mod normalize;
    mod operator;
    mod projects;
    mod recorded;
    mod recorded_mistakes;
    mod rolls;
    mod served;
    mod settings;
    mod stage;
}
