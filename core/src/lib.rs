//! The hands: fetch, apply, observe, report, finalize.
