//! The annotations of a pod, read by their types; what cannot be read is a warning that names the annotation, and its default.

use std::collections::BTreeSet;
use std::fmt::Display;

use serde_json::{Map, Value};

use super::words;
use crate::annotations::{APP_ID, ENABLED, SERVICE_ANNOTATIONS};

/// What all annotations of Dapr begin with.
const PREFIX: &str = "dapr.io/";
/// Characters of a value that a warning repeats: API servers cut warnings off at 256.
const SHOWN_AT_MOST: usize = 48;
/// Warnings of one pod.
const WARNINGS_AT_MOST: usize = 24;

/// Reads annotations and remembers which ones there are.
pub(super) struct Reader<'a> {
    annotations: Option<&'a Map<String, Value>>,
    known: BTreeSet<&'static str>,
    warnings: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(pod: &'a Value) -> Self {
        let annotations = pod["metadata"]["annotations"].as_object();
        Self {
            annotations,
            known: BTreeSet::from([ENABLED, APP_ID, SERVICE_ANNOTATIONS]),
            warnings: Vec::new(),
        }
    }

    /// The text as it stands there, also an empty one.
    pub(super) fn text(&mut self, name: &'static str) -> Option<&'a str> {
        self.known.insert(name);
        self.annotations?.get(name)?.as_str()
    }

    /// A text that is not empty.
    pub(super) fn given(&mut self, name: &'static str) -> Option<&'a str> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// A word for yes or no; nothing where the annotation is absent.
    pub(super) fn word(&mut self, name: &'static str) -> Option<bool> {
        let text = self.text(name)?;
        let yes = words::is_yes(text);
        if !yes && !words::is_no(text) {
            self.warn(name, format!("{} is neither yes nor no, and counts as no", shown(text)));
        }
        Some(yes)
    }

    pub(super) fn is_yes(&mut self, name: &'static str) -> bool {
        self.word(name).unwrap_or(false)
    }

    /// A number as Dapr's injector reads it: 64 bits, of which 32 stay.
    pub(super) fn number(&mut self, name: &'static str) -> Option<i32> {
        let text = self.text(name)?;
        let Ok(number) = text.parse::<i64>() else {
            if !text.is_empty() {
                self.warn(name, format!("{} is no number; it is passed over", shown(text)));
            }
            return None;
        };
        let [a, b, c, d, ..] = number.to_le_bytes();
        let kept = i32::from_le_bytes([a, b, c, d]);
        if i64::from(kept) != number {
            self.warn(name, format!("{number} has more than 32 bits; {kept} is what remains of it"));
        }
        Some(kept)
    }

    pub(super) fn port(&mut self, name: &'static str, default: i32) -> i32 {
        let Some(port) = self.number(name) else { return default };
        if !(1..=65535).contains(&port) {
            self.warn(name, format!("{port} is not a port; expected a number from 1 to 65535"));
        }
        port
    }

    /// A text that the sidecar reads, and cannot unless `is_right`.
    pub(super) fn checked(
        &mut self,
        name: &'static str,
        is_right: fn(&str) -> bool,
        expected: &str,
    ) -> Option<&'a str> {
        let text = self.given(name)?;
        if !is_right(text) {
            self.warn(name, format!("{} cannot be used; expected {expected}", shown(text)));
        }
        Some(text)
    }

    pub(super) fn warn(&mut self, name: &str, message: impl Display) {
        self.warnings.push(format!("annotation {name}: {message}"));
    }

    /// Everything to say, also of annotations that were never asked for.
    pub(super) fn warnings(mut self) -> Vec<String> {
        for name in self.annotations.into_iter().flat_map(Map::keys) {
            if name.starts_with(PREFIX) && !self.known.contains(name.as_str()) {
                let message = format!("annotation {}: is not known, and does nothing", cut(name));
                self.warnings.push(message);
            }
        }
        if self.warnings.len() > WARNINGS_AT_MOST {
            let more = self.warnings.len() - WARNINGS_AT_MOST;
            self.warnings.truncate(WARNINGS_AT_MOST);
            self.warnings.push(format!("{more} more annotations cannot be used"));
        }
        self.warnings
    }
}

/// A value in quotation marks, cut off where it is long.
pub(super) fn shown(text: &str) -> String {
    format!("{:?}", cut(text))
}

fn cut(text: &str) -> String {
    let mut cut: String = text.chars().take(SHOWN_AT_MOST).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn warnings_name_their_annotation_and_are_short() {
        let long = "x".repeat(300);
        let pod = json!({"metadata": {"annotations": {
            "dapr.io/app-port": long, "dapr.io/log-as-json": "maybe", "dapr.io/aap-port": "1", "other/a": "b",
        }}});
        let mut reader = Reader::new(&pod);
        assert_eq!(reader.port("dapr.io/app-port", 0), 0);
        assert!(!reader.is_yes("dapr.io/log-as-json"));
        let warnings = reader.warnings();
        for (warning, name) in warnings.iter().zip(["app-port", "log-as-json", "aap-port"]) {
            assert!(warning.starts_with(&format!("annotation dapr.io/{name}: ")), "{warning}");
            assert!(warning.len() < 256, "{warning}");
        }
        assert_eq!(warnings.len(), 3, "{warnings:?}");
    }

    #[test]
    fn there_are_only_so_many_warnings() {
        let annotations: Map<String, Value> =
            (0..100).map(|number| (format!("dapr.io/{number}"), json!(""))).collect();
        let pod = json!({"metadata": {"annotations": annotations}});
        let warnings = Reader::new(&pod).warnings();
        assert_eq!(warnings.len(), WARNINGS_AT_MOST + 1);
        assert_eq!(warnings.last().unwrap(), "76 more annotations cannot be used");
    }
}
