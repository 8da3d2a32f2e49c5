//! Whether what was applied once is applied again: the mode an operator or an application chooses.

use std::str::FromStr;

/// When an object that was applied before is applied again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApplyOnce {
    /// Every lap brings each object back to what is wanted.
    #[default]
    Off,
    /// An object is applied when what is wanted changed, or when it is missing.
    On,
    /// An object is applied when what is wanted changed, and not even then when somebody deleted it.
    Force,
}

/// A word that names no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no apply-once mode: write off (or false), on (or true) or force")]
pub struct UnknownMode(String);

impl FromStr for ApplyOnce {
    type Err = UnknownMode;

    /// Any case is accepted, and nothing means off.
    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        match word.to_ascii_lowercase().as_str() {
            "" | "false" | "off" => Ok(Self::Off),
            "true" | "on" => Ok(Self::On),
            "force" => Ok(Self::Force),
            _ => Err(UnknownMode(word.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_in_any_case_and_nothing_else() {
        for (words, mode) in [
            (["", "false", "OFF"], ApplyOnce::Off),
            (["true", "on", "True"], ApplyOnce::On),
            (["force", "FORCE", "Force"], ApplyOnce::Force),
        ] {
            for word in words {
                assert_eq!(word.parse(), Ok(mode), "{word}");
            }
        }
        for word in ["yes", " on", "forced", "0"] {
            assert!(word.parse::<ApplyOnce>().unwrap_err().to_string().contains("force"), "{word}");
        }
    }
}
