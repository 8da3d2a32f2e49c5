//! No file of more than 500 lines, but data.
//!
//! Files that were too long before the rule are listed in `xtask/tidy.toml` with a limit in steps of 50 lines. A file that
//! passes its limit fails, and so does a limit that is higher than the file needs.

use super::code::Source;
use super::exceptions::Exceptions;

/// How many lines a file may have, tests and comments included.
const LINES_AT_MOST: usize = 500;

/// Limits of listed files are multiples of this, so that not every small change touches the list.
const STEP: usize = 50;

/// The rule for all files.
pub(super) fn check(sources: &[Source], known: &Exceptions, wrong: &mut Vec<String>) {
    for source in sources {
        let (name, lines) = (&source.name, source.text.lines().count());
        match known.lines.get(name) {
            _ if known.data.contains_key(name) && lines <= LINES_AT_MOST => {
                wrong.push(format!("xtask/tidy.toml: {name} has {lines} lines and need not be listed as data"));
            }
            _ if known.data.contains_key(name) => {}
            None if lines > LINES_AT_MOST => wrong.push(format!(
                "{name}: {lines} lines, more than {LINES_AT_MOST}; divide it by subject, or list it in xtask/tidy.toml if it is data"
            )),
            Some(_) if lines <= LINES_AT_MOST => {
                wrong.push(format!("xtask/tidy.toml: {name} has {lines} lines; take it off the list"));
            }
            Some(limit) if lines > *limit => {
                wrong.push(format!("{name}: {lines} lines, more than its limit of {limit}; divide it by subject"));
            }
            Some(limit) if lines.next_multiple_of(STEP) != *limit => {
                let needed = lines.next_multiple_of(STEP);
                wrong.push(format!("xtask/tidy.toml: write {needed} for the lines of {name}, not {limit}"));
            }
            _ => {}
        }
    }
    for name in known.lines.keys().chain(known.data.keys()) {
        if !sources.iter().any(|source| source.name == *name) {
            wrong.push(format!("xtask/tidy.toml: {name} is not there; take it off the list"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: usize, listed: &[(&str, usize)], data: &[&str]) -> Vec<String> {
        let known = Exceptions {
            lines: listed.iter().map(|(name, limit)| ((*name).to_owned(), *limit)).collect(),
            data: data.iter().map(|name| ((*name).to_owned(), "a table".to_owned())).collect(),
            ..Exceptions::default()
        };
        let mut wrong = Vec::new();
        check(&[Source { name: "cue/src/a.rs".to_owned(), text: "//\n".repeat(lines) }], &known, &mut wrong);
        wrong
    }

    #[test]
    fn a_long_file_is_divided_or_data() {
        assert!(found(500, &[], &[]).is_empty());
        assert!(found(501, &[], &[])[0].starts_with("cue/src/a.rs: 501 lines, more than 500; divide it"));
        assert!(found(501, &[], &["cue/src/a.rs"]).is_empty());
        assert!(found(500, &[], &["cue/src/a.rs"])[0].contains("need not be listed as data"));
    }

    #[test]
    fn known_long_files_only_shrink() {
        assert!(found(530, &[("cue/src/a.rs", 550)], &[]).is_empty());
        assert_eq!(
            found(551, &[("cue/src/a.rs", 550)], &[]),
            ["cue/src/a.rs: 551 lines, more than its limit of 550; divide it by subject"]
        );
        assert_eq!(
            found(530, &[("cue/src/a.rs", 600)], &[]),
            ["xtask/tidy.toml: write 550 for the lines of cue/src/a.rs, not 600"]
        );
        assert!(found(500, &[("cue/src/a.rs", 550)], &[])[0].contains("take it off the list"));
        assert!(found(10, &[("cue/src/b.rs", 550)], &[])[0].contains("cue/src/b.rs is not there"));
    }
}
