//! Built-in component and trait definitions, embedded.
