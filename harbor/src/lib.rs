//! Harbor operator on the shared runtime.
