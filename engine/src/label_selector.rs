//! Parses the text of a label selector (`a=b,c notin (d,e),!f`) and matches labels with it.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

/// More requirements in one selector are refused: they are a mistake.
const REQUIREMENTS_AT_MOST: usize = 100;

/// Which labels are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Exists(String),
    Absent(String),
}

impl LabelSelector {
    /// Reads a selector; the error says which part is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut requirements = Vec::new();
        for part in parts(text)? {
            if requirements.len() == REQUIREMENTS_AT_MOST {
                return Err(format!("more than {REQUIREMENTS_AT_MOST} requirements"));
            }
            requirements.push(requirement(part.trim())?);
        }
        Ok(Self(requirements))
    }

    /// Do these labels meet every requirement?
    pub(crate) fn matches(&self, labels: Option<&Map<String, Json>>) -> bool {
        let value = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Json::as_str);
        self.0.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => value(key).is_some_and(|value| values.contains(value)),
            Requirement::NotIn(key, values) => value(key).is_none_or(|value| !values.contains(value)),
            Requirement::Exists(key) => value(key).is_some(),
            Requirement::Absent(key) => value(key).is_none(),
        })
    }
}

/// The parts between commas that stand outside parentheses.
fn parts(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut open) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' if open => return Err("a parenthesis within parentheses".to_owned()),
            '(' => open = true,
            ')' if !open => return Err("a parenthesis is closed that was not opened".to_owned()),
            ')' => open = false,
            ',' if !open => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if open {
        return Err("a parenthesis is not closed".to_owned());
    }
    parts.push(&text[start..]);
    Ok(parts)
}

fn requirement(part: &str) -> Result<Requirement, String> {
    if let Some((head, values)) = part.strip_suffix(')').and_then(|part| part.split_once('(')) {
        let values: BTreeSet<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        let words: Vec<&str> = head.split_whitespace().collect();
        return match words[..] {
            [name, "in"] => Ok(Requirement::In(key(name)?, values)),
            [name, "notin"] => Ok(Requirement::NotIn(key(name)?, values)),
            _ => Err(format!("{part:?}: expected `in` or `notin` before the parentheses")),
        };
    }
    if let Some((name, value)) = part.split_once("!=") {
        return Ok(Requirement::NotIn(key(name)?, BTreeSet::from([word(value)?])));
    }
    if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Ok(Requirement::In(key(name)?, BTreeSet::from([word(value)?])));
    }
    match part.strip_prefix('!') {
        Some(name) => Ok(Requirement::Absent(key(name)?)),
        None => Ok(Requirement::Exists(key(part)?)),
    }
}

fn key(text: &str) -> Result<String, String> {
    match word(text)? {
        empty if empty.is_empty() => Err("a requirement has no label".to_owned()),
        name => Ok(name),
    }
}

fn word(text: &str) -> Result<String, String> {
    let text = text.trim();
    let legal = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    match text.chars().find(|letter| !legal(*letter)) {
        None => Ok(text.to_owned()),
        Some(letter) => Err(format!("{text:?} has {letter:?}, which no label has")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::LabelSelector;

    fn matches(selector: &str) -> bool {
        let labels = json!({"app": "web", "tier": "front", "a.b/c": "d"});
        LabelSelector::parse(selector).is_ok_and(|selector| selector.matches(labels.as_object()))
    }

    #[test]
    fn every_form_selects() {
        for selector in [
            "app=web",
            "app==web,tier",
            "app in (db, web),tier!=back",
            "a.b/c=d",
            "!gone",
            "gone!=x",
            "app notin (db)",
        ] {
            assert!(matches(selector), "{selector}");
        }
        for selector in ["app=db", "gone", "!app", "app notin (web,db)", "app in (db)", "app=web,tier=back"] {
            assert!(!matches(selector), "{selector}");
        }
    }

    #[test]
    fn what_is_no_selector_is_told() {
        for bad in ["", "a,,b", "a in (b", "a)b(", "a like (b)", "=x", "a b", "((a))", "!", "a=b c", "ü"] {
            assert!(LabelSelector::parse(bad).is_err(), "{bad:?}");
        }
        assert!(LabelSelector::parse(&"a,".repeat(1000)).is_err());
    }
}
