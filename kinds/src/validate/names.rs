//! Names in the forms Kubernetes asks for: a text in, what is wrong with it out.

use crate::names::{NAME_MAX, problems};
pub(super) use crate::names::{dns_label_problems as label, subdomain_problems as subdomain};

const PORT_NAME_MAX: usize = 15;
const KEY_FORM: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  \
                        or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// A key of a ConfigMap or Secret.
pub(super) fn data_key(text: &str) -> Vec<String> {
    let fits = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    let mut out = problems(text, NAME_MAX, fits, KEY_FORM);
    if !fits {
        return out;
    }
    if text == "." || text == ".." {
        out.push(format!("must not be '{text}'"));
    } else if text.starts_with("..") {
        out.push("must not start with '..'".to_owned());
    }
    out
}

/// The name of an environment variable.
pub(super) fn variable(text: &str) -> Vec<String> {
    if text.chars().all(|c| (' '..='~').contains(&c) && c != '=') {
        return Vec::new();
    }
    vec![
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
            .to_owned(),
    ]
}

/// The name of a port.
pub(super) fn port(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.len() > PORT_NAME_MAX {
        out.push(format!("must be no more than {PORT_NAME_MAX} characters"));
    }
    if !text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        out.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !text.chars().any(|c| c.is_ascii_lowercase()) {
        out.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        out.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        out.push("must not begin or end with a hyphen".to_owned());
    }
    out
}
