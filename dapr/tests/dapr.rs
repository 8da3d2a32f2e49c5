//! The operator against the embedded API server: recorded cases of Dapr's own operator, and what is better here.
#![allow(clippy::unwrap_used, clippy::panic)]

mod suites {
    mod api_access;
    pub(crate) mod api_bench;
    mod api_calls;
    mod api_crowd;
    mod api_figures;
    mod api_large;
    mod api_lists;
    mod api_slow;
    mod api_streams;
    mod bad_input;
    pub(crate) mod cluster;
    mod conversion;
    pub(crate) mod injector;
    mod injector_live;
    pub(crate) mod lists;
    pub(crate) mod process;
    mod real_daprd;
    mod rights;
    pub(crate) mod rights_bench;
    pub(crate) mod rollouts;
    mod schemas;
    mod sentry;
    pub(crate) mod sentry_bench;
    pub(crate) mod sentry_bundle;
    mod sentry_tokens;
    pub(crate) mod services;
    mod session;
    mod sharing;
    mod watchdog;
    pub(crate) mod webhooks;
}
