//! Resolves a type with a version, `name@vX`, to the revision of the definition that is meant.

use std::cmp::Ordering;
use std::cmp::Ordering::{Greater, Less};

use serde_json::Value as Json;

use super::DefinitionKind;
use crate::nearest;

/// More versions of one definition are only counted where they are told.
const SHOWN_AT_MOST: usize = 10;

/// A type as written, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeReference<'a> {
    /// Name of the definition.
    pub name: &'a str,
    /// The part behind `@v`: `3`, `1.2`, `1.2.0`.
    pub version: &'a str,
}

/// The content of a DefinitionRevision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordedVersion<'a> {
    /// Kind of the definition.
    pub kind: DefinitionKind,
    /// Its name.
    pub name: &'a str,
    /// Its version: what stands behind `<name>-v` in the name of the revision.
    pub version: &'a str,
    /// The definition as it was.
    pub definition: &'a Json,
}

/// The name and the version of `name@vX`; nothing for a type that asks for no version.
pub fn parse_reference(type_: &str) -> Option<TypeReference<'_>> {
    let (name, version) = type_.split_once("@v")?;
    // It becomes part of the name of an object, and of a request.
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-');
    (!name.is_empty() && !version.is_empty() && version.chars().all(is_plain))
        .then_some(TypeReference { name, version })
}

/// A type without the version that is asked for.
pub(crate) fn base_name(type_: &str) -> &str {
    parse_reference(type_).map_or(type_, |asked| asked.name)
}

/// Everything that may be written for one version of a definition: `name@v1.2.0`, `name@v1.2` and `name@v1`.
pub fn spellings(name: &str, version: &str) -> Vec<String> {
    let ends = version.match_indices('.').map(|(end, _)| end).chain([version.len()]);
    ends.map(|end| format!("{name}@v{}", &version[..end])).collect()
}

/// The version that is meant by `asked`: the very same, or the newest one that begins so (`1` means `1.2.0`).
pub fn choose<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut newest: Option<(Semantic<'a>, &'a str)> = None;
    for version in known {
        if version == asked {
            return Some(version);
        }
        let Some(semantic) = version
            .strip_prefix(asked)
            .filter(|rest| rest.starts_with('.'))
            .and_then(|_| Semantic::of(version))
        else {
            continue;
        };
        if newest.as_ref().is_none_or(|(best, _)| semantic.compare(best) == Greater) {
            newest = Some((semantic, version));
        }
    }
    newest.map(|(_, version)| version)
}

/// The message for an absent version: the nearest one, and the existing ones.
pub fn advice<'a>(asked: TypeReference<'_>, known: impl IntoIterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = known.into_iter().collect();
    if known.is_empty() {
        return format!("no version of it is known here; {:?} means the newest content", asked.name);
    }
    known.sort_by(|a, b| newest_first(a, b));
    let written = |version: &str| format!("{}@v{version}", asked.name);
    let near = near(asked.version, &known).map(|version| format!("did you mean {:?}? ", written(version)));
    let shown: Vec<String> = known.iter().take(SHOWN_AT_MOST).map(|version| written(version)).collect();
    let more = known.len().saturating_sub(SHOWN_AT_MOST);
    let more = if more > 0 { format!(", … ({} in all)", known.len()) } else { String::new() };
    format!("{}known versions: {}{more}", near.unwrap_or_default(), shown.join(", "))
}

/// The version most likely meant: one spelt alike, else the newest of the same series.
fn near<'a>(asked: &str, known: &[&'a str]) -> Option<&'a str> {
    let longer = known.iter().copied().filter(|version| version.len() > 1);
    let first = |version: &str| version.split('.').next().unwrap_or_default().to_owned();
    let series = || known.iter().copied().find(|version| first(version) == first(asked));
    series().or_else(|| nearest::nearest(asked, longer))
}

/// Is it a version that a definition may have: three numbers, `1.2.0`?
pub fn is_complete(version: &str) -> bool {
    let parts: Vec<&str> = version.split('.').collect();
    let is_number = |part: &&str| part.chars().all(|c| c.is_ascii_digit()) && part.parse::<u64>().is_ok();
    parts.len() == 3 && parts.iter().all(is_number)
}

/// The content of the DefinitionRevision of that name and spec; nothing for one that cannot be read.
pub fn of_revision<'a>(revision: &'a str, spec: &'a Json) -> Option<RecordedVersion<'a>> {
    use DefinitionKind::{Component, Policy, Trait, WorkflowStep};
    // The author of the object may have left empty objects in the places of the other kinds.
    let (kind, field) = match spec.get("definitionType").and_then(Json::as_str)? {
        "Component" => (Component, "componentDefinition"),
        "Trait" => (Trait, "traitDefinition"),
        "Policy" => (Policy, "policyDefinition"),
        "WorkflowStep" => (WorkflowStep, "workflowStepDefinition"),
        _ => return None,
    };
    let definition = spec.get(field)?;
    let name = definition.pointer("/metadata/name")?.as_str()?;
    let version = revision.strip_prefix(name)?.strip_prefix("-v")?;
    Some(RecordedVersion { kind, name, version, definition })
}

/// A semantic version, as far as it is written.
struct Semantic<'a> {
    numbers: [u64; 3],
    pre_release: Option<&'a str>,
}

impl<'a> Semantic<'a> {
    fn of(version: &'a str) -> Option<Self> {
        let (numbers, pre_release) = match version.split_once('-') {
            Some((numbers, pre_release)) => (numbers, Some(pre_release)),
            None => (version, None),
        };
        let mut parsed = [0; 3];
        for (index, number) in numbers.split('.').enumerate() {
            *parsed.get_mut(index)? = number.parse().ok()?;
        }
        Some(Self { numbers: parsed, pre_release })
    }

    /// A pre-release comes before its release.
    fn compare(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.pre_release, other.pre_release) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Greater,
            (Some(_), None) => Less,
            (Some(one), Some(other)) => pre_releases(one, other),
        })
    }
}

/// Part by part: numbers by value and before words.
fn pre_releases(one: &str, other: &str) -> Ordering {
    let key = |part: &str| match part.parse::<u64>() {
        Ok(number) => (false, number, String::new()),
        Err(_) => (true, 0, part.to_owned()),
    };
    one.split('.').map(key).cmp(other.split('.').map(key))
}

/// Semantic versions in their order, numbers among them; what is neither comes last.
fn newest_first(one: &str, other: &str) -> Ordering {
    match (Semantic::of(one), Semantic::of(other)) {
        (Some(one), Some(other)) => other.compare(&one),
        (Some(_), None) => Less,
        (None, Some(_)) => Greater,
        (None, None) => one.cmp(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_is_exact_or_the_newest_of_its_series() {
        let known =
            ["1", "2", "1.2.0", "1.10.0", "1.9.4", "2.0.0-rc.1", "3.0.0-beta", "3.0.0-rc.10", "3.0.0-rc.9"];
        let cases = [
            ("1", Some("1")),
            ("1.2", Some("1.2.0")),
            ("1.2.0", Some("1.2.0")),
            ("1.1", None),
            ("1.2.1", None),
            ("2", Some("2")),
            ("2.0", Some("2.0.0-rc.1")),
            ("3", Some("3.0.0-rc.10")),
            ("9.9", None),
            ("", None),
        ];
        for (asked, chosen) in cases {
            assert_eq!(choose(asked, known), chosen, "{asked}");
        }
        assert_eq!(choose("1", ["1.2.0", "1.10.0", "10.0.0"]), Some("1.10.0"));
        assert_eq!(
            choose("1", ["1.99999999999999999999.0", "1.x"]),
            None,
            "what is no version is passed over"
        );
    }

    #[test]
    fn only_a_plain_version_is_one() {
        assert_eq!(parse_reference("web@v1.2"), Some(TypeReference { name: "web", version: "1.2" }));
        for type_ in
            ["web", "web@1.2", "@v1", "web@v", "web@v1/status", "web@v1?x=1", "web@v1@v2", "web@v1%2e"]
        {
            assert_eq!(parse_reference(type_), None, "{type_}");
        }
        assert_eq!(spellings("web", "1.2.0"), ["web@v1", "web@v1.2", "web@v1.2.0"]);
        assert_eq!(spellings("web", "3"), ["web@v3"]);
        for (version, complete) in
            [("1.2.0", true), ("1.2", false), ("v1.2.0", false), ("1.2.0-rc", false), ("1..2", false)]
        {
            assert_eq!(is_complete(version), complete, "{version}");
        }
    }

    #[test]
    fn advice_names_the_nearest_and_what_there_is() {
        let message =
            |type_: &str, known: &[&str]| advice(parse_reference(type_).unwrap(), known.iter().copied());
        assert_eq!(
            message("web@v1.3", &["1", "1.2.0", "1.10.0"]),
            "did you mean \"web@v1.10.0\"? known versions: web@v1.10.0, web@v1.2.0, web@v1"
        );
        assert_eq!(message("web@v9.9", &["1", "2"]), "known versions: web@v2, web@v1");
        assert_eq!(
            message("web@v9", &[]),
            "no version of it is known here; \"web\" means the newest content"
        );
        let many: Vec<String> = (1..=20).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(
            message("web@v21", &many).ends_with("web@v11, … (20 in all)"),
            "{}",
            message("web@v21", &many)
        );
    }

    #[test]
    fn a_revision_says_what_it_keeps() {
        let spec = json!({
            "definitionType": "Trait",
            "componentDefinition": {"metadata": {}, "spec": {}},
            "traitDefinition": {"metadata": {"name": "a-v1"}},
        });
        let kept_by = |name| {
            of_revision(name, &spec).map(|kept| (kept.kind, kept.name.to_owned(), kept.version.to_owned()))
        };
        assert_eq!(
            kept_by("a-v1-v1.0.0"),
            Some((DefinitionKind::Trait, "a-v1".to_owned(), "1.0.0".to_owned()))
        );
        assert_eq!(kept_by("a-v1"), None);
    }
}
