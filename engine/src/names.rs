//! A text that somebody wrote as a name → whether it can be one; every name that becomes part of a request is judged here.

/// The longest name of an object.
pub const NAME_AT_MOST: usize = 253;
/// The longest label of DNS, and so the longest name of a namespace.
const LABEL_AT_MOST: usize = 63;

/// A DNS-1123 label: lower-case letters, digits and inner hyphens.
pub fn is_label(name: &str) -> bool {
    name.len() <= LABEL_AT_MOST && is_part(name)
}

/// A DNS-1123 subdomain: such parts between dots.
pub fn is_subdomain(name: &str) -> bool {
    name.len() <= NAME_AT_MOST && name.split('.').all(is_part)
}

/// A definition as applications name it: its name, and behind an `@` a version where one is wanted.
pub fn is_type(name: &str) -> bool {
    let (name, version) = name.split_once('@').unwrap_or((name, "v1"));
    is_subdomain(name) && is_subdomain(version)
}

fn is_part(part: &str) -> bool {
    !part.is_empty()
        && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && !part.starts_with('-')
        && !part.ends_with('-')
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
