//! Which release of Harbor may be asked for, and which may follow which.

use super::invalid::Invalid;

/// The minor releases of 2 that are known; the last one is that which is made.
const KNOWN: std::ops::RangeInclusive<u64> = 2..=5;
const MAJOR: u64 = 2;
const CURRENT: &str = "2.5.x";

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    major: u64,
    minor: u64,
    patch: u64,
    /// False sorts before true: what is before a release is older.
    released: bool,
}

impl Version {
    /// Reads `2.5.1`, with or without a `v` before it, and with or without what comes before and after a release.
    fn of(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let text = text.split_once('+').map_or(text, |(text, _)| text);
        let (numbers, before) =
            text.split_once('-').map_or((text, None), |(text, before)| (text, Some(before)));
        let mut parts = numbers.split('.').map(|part| part.parse::<u64>().ok());
        let major = parts.next()??;
        let minor = parts.next().unwrap_or(Some(0))?;
        let patch = parts.next().unwrap_or(Some(0))?;
        (parts.next().is_none() && before != Some("")).then_some(Self {
            major,
            minor,
            patch,
            released: before.is_none(),
        })
    }

    fn is_known(self) -> bool {
        self.major == MAJOR && KNOWN.contains(&self.minor)
    }
}

/// What is wrong with a version that replaces another one, or stands for the first time.
pub(super) fn check(field: &str, old: Option<&str>, new: &str) -> Option<Invalid> {
    let detail = match old {
        Some(old) => follows(old, new),
        None => is_current(new),
    };
    detail.err().map(|detail| Invalid::value(field, new, detail))
}

fn is_current(text: &str) -> Result<(), String> {
    let version = Version::of(text).ok_or("Invalid Semantic Version")?;
    if version.major != MAJOR || version.minor != *KNOWN.end() {
        return Err(format!("{text} does not have same major and minor version as {CURRENT}"));
    }
    if !version.released {
        return Err(format!(
            "{text} is a prerelease version and the constraint is only looking for release versions"
        ));
    }
    Ok(())
}

fn follows(old: &str, new: &str) -> Result<(), String> {
    for text in [old, new] {
        if !Version::of(text).is_some_and(Version::is_known) {
            return Err(format!("unknown version {text}"));
        }
    }
    if old == new {
        return Ok(());
    }
    is_current(new).map_err(|error| format!("upgrade from {old} to {new} is not allowed, error: {error}"))?;
    if Version::of(new) < Version::of(old) {
        return Err(format!("downgrade from {old} to {new} is not allowed"));
    }
    Ok(())
}
