//! The small languages of annotations: yes and no, durations, quantities, patterns, lists of variables and of mounts.

/// The words that mean yes, in any case, with blanks around them or not.
pub(super) use crate::annotations::is_truthy as is_yes;

pub(super) fn is_no(text: &str) -> bool {
    ["", "n", "no", "false", "f", "off", "0"].iter().any(|no| text.trim().eq_ignore_ascii_case(no))
}

/// A duration as Go writes it: `1h30m`, `500ms`, `0`.
pub(super) fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let Some(after) = after_number(rest) else { return false };
        let units = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
        let Some(unit) = units.iter().find(|unit| {
            // `m` is the beginning of `ms`.
            after.starts_with(**unit) && !(**unit == "m" && after.starts_with("ms"))
        }) else {
            return false;
        };
        rest = &after[unit.len()..];
    }
    true
}

/// A quantity of Kubernetes: `500m`, `64Mi`, `1e3`.
pub(super) fn is_quantity(text: &str) -> bool {
    let Some(suffix) = after_number(text.strip_prefix(['+', '-']).unwrap_or(text)) else { return false };
    let suffixes = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let is_exponent = |rest: &str| {
        let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        !digits.is_empty() && digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    suffixes.contains(&suffix) || suffix.strip_prefix(['e', 'E']).is_some_and(is_exponent)
}

/// What follows a number with or without a fraction, if one stands at the beginning.
fn after_number(text: &str) -> Option<&str> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    let rest = &text[whole..];
    let Some(fraction) = rest.strip_prefix('.') else { return (whole > 0).then_some(rest) };
    let parts = digits(fraction);
    (whole + parts > 0).then(|| &fraction[parts..])
}

/// Whether the text fits a pattern with `*`, `?` and `[a-z]`.
pub(super) fn fits(pattern: &[char], text: &[char]) -> bool {
    // Where the last `*` stands, and how much of the text it takes: each `*` is tried anew only for itself.
    let (mut at, mut from, mut star) = (0, 0, None);
    while from < text.len() {
        let step = match pattern.get(at) {
            Some('*') => {
                star = Some((at + 1, from));
                at += 1;
                continue;
            }
            Some('?') => Some(at + 1),
            Some('[') => class(pattern, at, text[from]),
            Some(one) => (*one == text[from]).then_some(at + 1),
            None => None,
        };
        match (step, star) {
            (Some(next), _) => (at, from) = (next, from + 1),
            (None, Some((after, taken))) => {
                star = Some((after, taken + 1));
                (at, from) = (after, taken + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|one| *one == '*')
}

/// Where the pattern goes on after the class that begins at `at`, if the character is in it.
fn class(pattern: &[char], at: usize, found: char) -> Option<usize> {
    let end = at + 1 + pattern[at + 1..].iter().position(|one| *one == ']')?;
    let inside = &pattern[at + 1..end];
    let (negated, inside) = match inside {
        ['^' | '!', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (mut rest, mut within) = (inside, false);
    while let [first, others @ ..] = rest {
        if let ['-', last, others @ ..] = others {
            within |= (*first..=*last).contains(&found);
            rest = others;
        } else {
            within |= *first == found;
            rest = others;
        }
    }
    (within != negated).then_some(end + 1)
}

/// `A=1,B=2`, where values may hold commas: a comma ends a value only before `NAME=`. What is no variable comes back as it stands.
pub(super) fn variables(text: &str) -> Vec<Result<(&str, &str), &str>> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut commas = rest.match_indices(',').map(|(at, _)| at);
        let end = commas.find(|at| variable(&rest[at + 1..]).is_some()).unwrap_or(rest.len());
        let part = &rest[..end];
        if !part.trim().is_empty() {
            found.push(variable(part).ok_or(part.trim()));
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    found
}

fn variable(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    // Nothing beyond the name is looked at: this is asked at every comma.
    let name = &text[..text.bytes().take_while(is_inner).count()];
    let value = text[name.len()..].strip_prefix('=')?;
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_').then_some((name, value))
}

/// `volume:path,volume:path`. What is no mount comes back as it stands.
pub(super) fn mounts(text: &str) -> impl Iterator<Item = Result<(&str, &str), &str>> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| match part.split_once(':') {
        Some((volume, path))
            if !volume.trim().is_empty() && !path.trim().is_empty() && !path.contains(':') =>
        {
            Ok((volume.trim(), path.trim()))
        }
        _ => Err(part),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_quantities_are_those_of_kubernetes() {
        for good in ["5s", "1h30m", "500ms", "-1.5h", "0", ".5s", "2m3ms"] {
            assert!(is_duration(good), "{good}");
        }
        for bad in ["", "soon", "5", "s", "5 s", "5s5", "-"] {
            assert!(!is_duration(bad), "{bad}");
        }
        for good in ["1", "500m", "64Mi", "1e3", "0.5", "-1", "1E", "2E-3"] {
            assert!(is_quantity(good), "{good}");
        }
        for bad in ["", "half", "1 Mi", "5mi", "1e", "Mi", "."] {
            assert!(!is_quantity(bad), "{bad}");
        }
    }

    #[test]
    fn patterns_have_stars_marks_and_classes() {
        let fits = |pattern: &str, text: &str| {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            super::fits(&chars(pattern), &chars(text))
        };
        for (pattern, text) in [
            ("*", ""),
            ("ops-*", "ops-eu"),
            ("a?c", "abc"),
            ("[a-c]x", "bx"),
            ("[^a]x", "bx"),
            ("*a*b", "xaxbab"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("", "a"), ("ops-*", "op"), ("a?c", "ac"), ("[a-c]x", "dx"), ("[a", "a"), ("*b", "ba")]
        {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
        // Many stars take no longer than their product.
        assert!(!fits(&"*a".repeat(60), &"a".repeat(59)));
    }

    #[test]
    fn values_of_variables_may_hold_commas() {
        let found = variables("A=1, B=two words,LIST=a,b,c, _X9=y=z,EMPTY=");
        let expected = [("A", "1"), ("B", "two words"), ("LIST", "a,b,c"), ("_X9", "y=z"), ("EMPTY", "")];
        assert_eq!(found, expected.map(Ok));
        assert_eq!(variables("novalue,ALSO=1,9BAD=x"), [Err("novalue"), Ok(("ALSO", "1,9BAD=x"))]);
    }

    #[test]
    fn a_mount_has_a_volume_and_a_path() {
        let found: Vec<_> = mounts("cfg,data:/a:/b, cfg:/ok,:/x,y:").collect();
        assert_eq!(found, [Err("cfg"), Err("data:/a:/b"), Ok(("cfg", "/ok")), Err(":/x"), Err("y:")]);
    }
}
