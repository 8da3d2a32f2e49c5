//! Decides whether a text can be a name; every name that becomes part of a request is checked here.

use vela_kinds::names;

/// The longest name of an object.
pub use vela_kinds::names::NAME_MAX as NAME_AT_MOST;

/// A DNS-1123 label: lower-case letters, digits and inner hyphens.
pub fn is_label(name: &str) -> bool {
    names::dns_label(name).is_ok()
}

/// A DNS-1123 subdomain: such parts between dots.
pub fn is_subdomain(name: &str) -> bool {
    names::subdomain(name).is_ok()
}

/// A definition as applications name it: its name, and behind an `@` a version where one is wanted.
pub fn is_type(name: &str) -> bool {
    let (name, version) = name.split_once('@').unwrap_or((name, "v1"));
    is_subdomain(name) && is_subdomain(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_themselves_and_nothing_else_is_one() {
        for type_ in ["web", "app.kubernetes.io", "a-b.c", "web@v1", "web@v1.0.0", "web@v9.9", "9"] {
            assert!(is_type(type_), "{type_}");
        }
        let other = ["", "A", "a_b", "-a", "a-", "a..b", "a@", "@v1", "a@v1@v2"];
        for hostile in vela_testkit::hostile::NAMES.into_iter().chain(other) {
            assert!(!is_type(hostile) && !is_subdomain(hostile) && !is_label(hostile), "{hostile:?}");
        }
        assert!(is_label(&"a".repeat(63)) && !is_label(&"a".repeat(64)) && !is_label("a.b"));
    }
}
