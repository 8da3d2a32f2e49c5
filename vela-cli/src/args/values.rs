//! Parses values that a user typed, and says what each should look like.

use std::time::Duration;

use vela_engine::{LOCAL, names};

/// The longest wait a user can ask for: beyond a day it is a typing error.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The name of an object: it becomes part of a request, so nothing else passes.
pub(super) fn object(text: &str) -> Result<String, String> {
    let wrong =
        || "a name has lower-case letters, digits, '-' and '.' only, and at most 253 of them".to_owned();
    names::is_subdomain(text).then(|| text.to_owned()).ok_or_else(wrong)
}

/// The name of a template of configs, behind its namespace where one is named.
pub(super) fn template(text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} is no template: write it like mysql or team-a/mysql");
    let (namespace, name) = text.split_once('/').map_or((None, text), |(space, name)| (Some(space), name));
    let is_one = names::is_subdomain(name) && namespace.is_none_or(names::is_label);
    is_one.then(|| text.to_owned()).ok_or_else(wrong)
}

/// Where a config is copied to: a namespace, of the cluster `local` or of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) cluster: String,
    pub(crate) namespace: String,
}

/// Reads `NAMESPACE` or `CLUSTER/NAMESPACE`, as KubeVela does.
pub(super) fn target(text: &str) -> Result<Target, String> {
    let (cluster, namespace) = text.split_once('/').unwrap_or((LOCAL, text));
    let is_one = names::is_label(cluster) && names::is_label(namespace);
    let target = || Target { cluster: cluster.to_owned(), namespace: namespace.to_owned() };
    is_one.then(target).ok_or_else(|| format!("{text:?} is no target: write it like team-a or local/team-a"))
}

pub(super) fn namespace(text: &str) -> Result<String, String> {
    let wrong =
        || "a namespace has lower-case letters, digits and '-' only, and at most 63 of them".to_owned();
    names::is_label(text).then(|| text.to_owned()).ok_or_else(wrong)
}

/// The name of an environment: it becomes the value of a label.
pub(super) fn environment(text: &str) -> Result<String, String> {
    let wrong =
        || "an environment has lower-case letters, digits and '-' only, and at most 63 of them".to_owned();
    names::is_label(text).then(|| text.to_owned()).ok_or_else(wrong)
}

/// The name of a capability centre: it becomes the name of a file and the value of a label.
pub(super) fn center(text: &str) -> Result<String, String> {
    let wrong = || "a centre has lower-case letters, digits and '-' only, and at most 63 of them".to_owned();
    names::is_label(text).then(|| text.to_owned()).ok_or_else(wrong)
}

/// The name of a capability, behind its centre where one is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Capability {
    pub(crate) center: Option<String>,
    pub(crate) name: String,
}

/// Reads `NAME` or `CENTRE/NAME`.
pub(super) fn capability(text: &str) -> Result<Capability, String> {
    let wrong = || format!("{text:?} is no capability: write it like NAME or CENTRE/NAME");
    let (center, name) = text.split_once('/').map_or((None, text), |(center, name)| (Some(center), name));
    let is_one = center.is_none_or(names::is_label) && names::is_subdomain(name);
    is_one.then(|| Capability { center: center.map(str::to_owned), name: name.to_owned() }).ok_or_else(wrong)
}

/// Reads `CENTRE/NAME`.
pub(super) fn capability_of_center(text: &str) -> Result<Capability, String> {
    let wrong = || format!("{text:?} names no centre: write it like CENTRE/NAME");
    capability(text)?.with_center().ok_or_else(wrong)
}

impl Capability {
    fn with_center(self) -> Option<Self> {
        self.center.is_some().then_some(self)
    }
}

/// The name of a definition, with a version where one is wanted.
pub(super) fn type_(text: &str) -> Result<String, String> {
    let wrong =
        || "a type has lower-case letters, digits, '-' and '.' only, and a version behind '@'".to_owned();
    names::is_type(text).then(|| text.to_owned()).ok_or_else(wrong)
}

/// Reads `NAME=VALUE`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| format!("{text:?} is no pair: write it like NAME=VALUE"))
}

/// Reads `90s`, `5m`, `1h30m`; a bare number means seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time: write it like 90s, 5m or 1h30m");
    if let Ok(seconds) = text.parse::<u64>() {
        return limited(seconds).ok_or_else(wrong);
    }
    let mut seconds: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let number: u64 = rest[..end].parse().map_err(|_| wrong())?;
        let unit = match rest[end..].chars().next() {
            Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            _ => return Err(wrong()),
        };
        seconds = number.checked_mul(unit).and_then(|more| seconds.checked_add(more)).ok_or_else(wrong)?;
        rest = &rest[end + 1..];
    }
    if text.is_empty() { Err(wrong()) } else { limited(seconds).ok_or_else(wrong) }
}

fn limited(seconds: u64) -> Option<Duration> {
    Some(Duration::from_secs(seconds)).filter(|time| *time <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("7"), Ok(Duration::from_secs(7)));
        for wrong in
            ["", "s", "5x", "5", "99999999999999999999s", "25h", "-1s", "5m3"].iter().filter(|t| **t != "5")
        {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
