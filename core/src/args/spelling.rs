//! Normalizes arguments as Go programs spell them to the form that our parser reads.

use std::ffi::OsString;

/// Its text in the help.
pub(super) const HELP: &str = "Flags may also be written with one dash, as Go programs have them: -metrics-addr=:8080. \
                               Durations are Go's: 90s, 5m, 1h30m. A switch is set by its name, or by =true and =false.";

/// Write `-name` as `--name`; single letters and everything behind `--` stay as they are.
pub(super) fn normal(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut plain = false;
    let one = |argument: OsString| {
        plain |= argument == "--";
        match argument.to_str() {
            Some(text) if !plain && is_long(text) => OsString::from(format!("-{text}")),
            _ => argument,
        }
    };
    arguments.into_iter().map(one).collect()
}

/// True for one dash and a name of several characters; `-1s` is a value.
fn is_long(text: &str) -> bool {
    let Some(name) = text.strip_prefix('-') else { return false };
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && characters.next().is_some_and(|second| second.is_ascii_alphanumeric() || second == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_dash_becomes_two_before_names_only() {
        let given = ["x", "-log-debug", "-h", "--health-addr", ":1", "-d=1", "-1s", "-", "--", "-after"];
        let read = normal(given.map(OsString::from));
        assert_eq!(
            read,
            ["x", "--log-debug", "-h", "--health-addr", ":1", "-d=1", "-1s", "-", "--", "-after"]
        );
    }
}
