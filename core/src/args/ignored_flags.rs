//! Takes the flags of KubeVela that set nothing here, so that its charts and manifests start this program unchanged: each is
//! said to change nothing, with the reason, or refused where a user would rely on it.

use std::ffi::OsString;

use super::ignored_flag_table::{FLAGS, Fate, Known, Takes};
use super::values::{boolean, duration};

/// The remarks on the given flags.
#[derive(Debug, Default)]
pub(crate) struct Accepted {
    /// Those that change nothing, one sentence each.
    pub(super) idle: Vec<String>,
    /// Why the start ends.
    pub(super) refused: Vec<String>,
}

/// Takes the flags that set nothing out of the arguments.
pub(super) fn take(arguments: Vec<OsString>) -> (Vec<OsString>, Accepted) {
    let (mut rest, mut accepted) = (Vec::with_capacity(arguments.len()), Accepted::default());
    let mut arguments = arguments.into_iter();
    let mut plain = false;
    while let Some(argument) = arguments.next() {
        plain |= argument == "--";
        let found = argument.to_str().filter(|_| !plain).and_then(known);
        let Some((flag, value)) = found else {
            rest.push(argument);
            continue;
        };
        let following = || arguments.next().map(|value| value.to_string_lossy().into_owned());
        let value = match flag.takes {
            Takes::Switch => value.unwrap_or_else(|| "true".to_owned()),
            _ => value.or_else(following).unwrap_or_default(),
        };
        accepted.add(flag, &value);
    }
    (rest, accepted)
}

/// The flag that an argument is, and the value behind its `=`.
fn known(argument: &str) -> Option<(&'static Known, Option<String>)> {
    let plain = argument.strip_prefix('-')?;
    let plain = plain.strip_prefix('-').unwrap_or(plain);
    let (name, value) = match plain.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (plain, None),
    };
    Some((FLAGS.iter().find(|flag| flag.name == name)?, value))
}

impl Accepted {
    fn add(&mut self, flag: &Known, value: &str) {
        let Known { name, takes, fine, fate } = flag;
        let plain = match takes.plain(value) {
            Ok(plain) => plain,
            Err(expected) => {
                return self.refused.push(format!("invalid value {value:?} for --{name}: {expected}"));
            }
        };
        if fine.contains(&plain.as_str()) {
            return;
        }
        match fate {
            Fate::Idle(reason) => self.idle.push(format!("--{name}={value} changes nothing: {reason}")),
            Fate::Refused(reason) => {
                let instead = match fine.first() {
                    Some(&"") | None => "leave it out".to_owned(),
                    Some(value) => format!("leave it out, or write --{name}={value}"),
                };
                self.refused.push(format!("--{name}={value} is refused: {reason}; {instead}"));
            }
        }
    }
}

impl Takes {
    /// The value in its plainest spelling.
    fn plain(self, value: &str) -> Result<String, String> {
        match self {
            Self::Switch => boolean(value).map(|value| value.to_string()),
            Self::Duration => duration(value).map(|_| value.to_owned()),
            Self::Number => match value.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(value.to_owned()),
                _ => Err("write a number".to_owned()),
            },
            Self::Text => Ok(value.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(arguments: &[&str]) -> (Vec<OsString>, Accepted) {
        take(arguments.iter().map(OsString::from).collect())
    }

    #[test]
    fn flags_stand_in_the_order_of_the_alphabet_and_once() {
        assert!(FLAGS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn what_sets_nothing_is_taken_in_every_spelling() {
        let (rest, accepted) = taken(&[
            "vela-core",
            "--kube-api-qps=50",
            "--kube-api-burst",
            "100",
            "-v=4",
            "--enable-cluster-gateway",
            "--leader-election-lease-duration=15s",
            "--metrics-addr=:8080",
            "--",
            "--kube-api-qps=50",
        ]);
        assert_eq!(rest, ["vela-core", "--metrics-addr=:8080", "--", "--kube-api-qps=50"]);
        assert!(accepted.refused.is_empty(), "{accepted:?}");
        let said: Vec<&str> = accepted
            .idle
            .iter()
            .filter_map(|said| said.split_once(" changes nothing: "))
            .map(|s| s.0)
            .collect();
        assert_eq!(
            said,
            ["--kube-api-qps=50", "--kube-api-burst=100", "--v=4", "--enable-cluster-gateway=true"]
        );
    }

    #[test]
    fn flags_that_users_rely_on_are_refused() {
        for (argument, says) in [
            ("--enable-sharding", "one process reconciles all"),
            ("--allow-resource-types=whitelist:Deployment.v1.apps", "--authenticate-application"),
            ("--optimize-disable-application-revision=true", "=false"),
            ("--kube-api-qps=many", "write a number"),
            ("--reconcile-timeout=5", "1h30m"),
            ("--perf-enabled=yes", "true or false"),
        ] {
            let (_, accepted) = taken(&[argument]);
            assert_eq!(accepted.refused.len(), 1, "{argument}");
            assert!(accepted.refused[0].contains(says), "{}", accepted.refused[0]);
        }
        let (_, accepted) = taken(&["--enable-sharding=F", "--shard-id="]);
        assert!(accepted.refused.is_empty() && accepted.idle.is_empty(), "{accepted:?}");
    }
}
