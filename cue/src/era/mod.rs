//! The release of CUE a text was written for in; what is read and evaluated as that release did, out.
//!
//! Texts live longer than releases, so a [`crate::Source`] may say which one it was written for; one that says nothing is read
//! as the newest release does. An older era adds only texts that the newest release *refuses*; a text that the newest release
//! accepts means the same in every era:
//!
//! * `+` joins lists and `*` repeats them (refused since 0.11; now `list.Concat` and `list.Repeat`);
//! * `div`, `mod`, `quo` and `rem` between their operands (now functions of two arguments);
//! * bounds that leave a single number, `>=1 & <=1`, are that number;
//! * a multi-line string may be closed behind text, `}"""`: then the last line and all indentation belong to it;
//! * a guard `{if x < 1 {_|_}}` beside the type of a scalar field `x` is the bound `>=1`.
//!
//! Two faults of 0.2 are not brought back: a guard that still sees the default of a field which another guard sets, and
//! definitions that are open where a pattern once was.

pub(crate) mod guard;

use std::{fmt, str::FromStr};

/// A release of CUE that texts are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Era {
    /// Up to 0.2.
    V0_2,
    /// 0.3 to 0.10.
    V0_9,
    /// 0.11 to 0.17, the newest release.
    #[default]
    V0_17,
}

impl Era {
    /// Every era, oldest first.
    pub const ALL: [Self; 3] = [Self::V0_2, Self::V0_9, Self::V0_17];

    /// Its name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::V0_2 => "0.2",
            Self::V0_9 => "0.9",
            Self::V0_17 => "0.17",
        }
    }

    /// Whether `+` and `*` work on lists, `div` stands between its operands, and bounds become the one number they leave.
    pub(crate) fn is_old(self) -> bool {
        self < Self::V0_17
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no era.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownEra(pub String);

impl fmt::Display for UnknownEra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown CUE release {:?}: expected 0.2, 0.9 or 0.17", self.0)
    }
}

impl std::error::Error for UnknownEra {}

impl FromStr for Era {
    type Err = UnknownEra;

    /// Reads `0.2`, `0.9` or `0.17`; a release between them, `v0.14.1`, belongs to the era it behaves like.
    fn from_str(text: &str) -> Result<Self, UnknownEra> {
        let unknown = || UnknownEra(text.to_owned());
        let mut parts = text.trim_start_matches('v').split('.');
        let (Some("0"), Some(minor)) = (parts.next(), parts.next()) else { return Err(unknown()) };
        match minor.parse::<u32>().map_err(|_| unknown())? {
            0..=2 => Ok(Self::V0_2),
            3..=10 => Ok(Self::V0_9),
            11..=17 => Ok(Self::V0_17),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_belongs_to_the_era_it_behaves_like() {
        for era in Era::ALL {
            assert_eq!(era.name().parse(), Ok(era));
        }
        for (text, era) in [("v0.2.2", Era::V0_2), ("0.5.0", Era::V0_9), ("0.14.1", Era::V0_17)] {
            assert_eq!(text.parse(), Ok(era));
        }
        for text in ["", "1.0", "0.x", "0.99"] {
            assert_eq!(text.parse::<Era>(), Err(UnknownEra(text.into())));
        }
    }
}
