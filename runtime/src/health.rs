//! The text of a health endpoint from named checks and a query, as the probes and people of a cluster know it.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use http::StatusCode;

/// The check of a controller's author; it answers at once, since a probe waits for it.
pub(crate) type HealthCheck =
    Box<dyn Fn() -> Result<(), Box<dyn std::error::Error + Send + Sync>> + Send + Sync>;

/// One check and whether it passes now.
pub(crate) type Check<'a> = (&'a str, bool);

/// Checks that were added to those which every process has, in the order they are told.
#[derive(Default)]
pub(crate) struct Added(Vec<(String, HealthCheck)>);

impl std::fmt::Debug for Added {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Added {
    pub(crate) fn add(&mut self, name: String, check: HealthCheck) {
        self.0.push((name, check));
    }

    /// The name of a check that cannot be asked for, and why; `own` are the names of those which are there anyway.
    pub(crate) fn unusable(&self, own: &[&'static str]) -> Option<(&str, &'static str)> {
        let mut names: HashSet<&str> = own.iter().copied().collect();
        self.0.iter().map(|(name, _)| name.as_str()).find_map(|name| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if name.is_empty() || !name.chars().all(plain) {
                Some((name, "it is part of a path, so use letters, digits and -_. only"))
            } else {
                (!names.insert(name)).then_some((name, "another check has this name, so choose another one"))
            }
        })
    }

    /// Looks at each. The reason of a failure is logged; the caller of the endpoint does not see it, for it needs no
    /// rights.
    pub(crate) fn look(&self, endpoint: &str) -> Vec<Check<'_>> {
        let look = |(name, check): &'_ (String, HealthCheck)| match catch_unwind(AssertUnwindSafe(check)) {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(endpoint, check = name.as_str(), %error, "a check does not pass");
                false
            }
            Err(_) => {
                tracing::error!(endpoint, check = name.as_str(), "a check panicked and counts as failed");
                false
            }
        };
        self.0.iter().map(|added| (added.0.as_str(), look(added))).collect()
    }
}

/// The answer of `/healthz` or `/readyz` (`endpoint` without the slash) and of everything below: `rest` is a check's name,
/// or nothing for all of them. Every check is looked at; one that is excluded counts as passed.
pub(crate) fn answer(
    endpoint: &str,
    rest: &str,
    query: &str,
    checks: &[Check<'_>],
) -> Option<(StatusCode, String)> {
    if !rest.is_empty() {
        let (name, passed) = checks.iter().find(|(name, _)| *name == rest)?;
        return Some(match passed {
            true => (StatusCode::OK, "ok".to_owned()),
            false => {
                (StatusCode::INTERNAL_SERVER_ERROR, format!("internal server error: {name} does not pass\n"))
            }
        });
    }
    let parts = || query.split('&').filter(|part| !part.is_empty());
    let verbose = parts().any(|part| part == "verbose" || part.starts_with("verbose="));
    let mut excluded: Vec<&str> = parts()
        .filter_map(|part| part.strip_prefix("exclude="))
        .map(|name| name.trim_matches('"').trim_start_matches("%22").trim_end_matches("%22"))
        .collect();
    let mut text = String::new();
    let mut failed = false;
    for (name, passed) in checks {
        let before = excluded.len();
        excluded.retain(|excluded| excluded != name);
        // Writing into a string cannot fail.
        let _ = if excluded.len() < before {
            writeln!(text, "[+]{name} excluded: ok")
        } else if *passed {
            writeln!(text, "[+]{name} ok")
        } else {
            failed = true;
            writeln!(text, "[-]{name} failed: reason withheld")
        };
    }
    if !failed && !verbose {
        return Some((StatusCode::OK, "ok".to_owned()));
    }
    if !excluded.is_empty() {
        let names: Vec<_> = excluded.iter().map(|name| format!("{name:?}")).collect();
        let _ =
            writeln!(text, "warn: some health checks cannot be excluded: no matches for {}", names.join(","));
    }
    let _ = writeln!(text, "{endpoint} check {}", if failed { "failed" } else { "passed" });
    let status = if failed { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK };
    Some((status, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readyz(rest: &str, query: &str, checks: &[Check<'_>]) -> Option<(u16, String)> {
        answer("readyz", rest, query, checks).map(|(status, text)| (status.as_u16(), text))
    }

    #[test]
    fn a_passing_endpoint_is_brief_unless_asked() {
        let checks = [("caches", true), ("webhooks", true)];
        assert_eq!(readyz("", "", &checks), Some((200, "ok".into())));
        let body = "[+]caches ok\n[+]webhooks ok\nreadyz check passed\n";
        assert_eq!(readyz("", "verbose", &checks), Some((200, body.into())));
        assert_eq!(readyz("", "a=b&verbose=1", &checks), Some((200, body.into())));
        assert_eq!(readyz("webhooks", "", &checks), Some((200, "ok".into())));
    }

    #[test]
    fn a_failing_check_is_named_and_its_reason_withheld() {
        let checks = [("good", true), ("bad", false)];
        let body = "[+]good ok\n[-]bad failed: reason withheld\nreadyz check failed\n";
        assert_eq!(readyz("", "", &checks), Some((500, body.into())));
        assert_eq!(readyz("good", "", &checks), Some((200, "ok".into())));
        assert_eq!(readyz("bad", "", &checks).map(|(status, _)| status), Some(500));
        assert_eq!(readyz("worse", "", &checks), None);
    }

    #[test]
    fn what_is_excluded_does_not_count_and_what_cannot_be_is_told() {
        let checks = [("good", true), ("bad", false)];
        assert_eq!(readyz("", "exclude=bad", &checks), Some((200, "ok".into())));
        let body = "[+]good excluded: ok\n[+]bad excluded: ok\nreadyz check passed\n";
        assert_eq!(readyz("", "exclude=bad&exclude=%22good%22&verbose", &checks), Some((200, body.into())));
        let (status, text) = readyz("", "exclude=worse", &checks).unwrap_or_default();
        assert_eq!(status, 500);
        assert!(
            text.contains("warn: some health checks cannot be excluded: no matches for \"worse\"\n"),
            "{text}"
        );
    }

    #[test]
    fn a_check_that_fails_or_panics_does_not_pass() {
        let mut added = Added::default();
        added.add("fine".into(), Box::new(|| Ok(())));
        added.add("ill".into(), Box::new(|| Err("no connection".into())));
        added.add("broken".into(), Box::new(|| panic!("a mistake in the check")));
        assert_eq!(added.look("readyz"), [("fine", true), ("ill", false), ("broken", false)]);
        assert_eq!(added.unusable(&["caches"]), None);
    }

    #[test]
    fn a_check_has_a_name_of_its_own_that_fits_a_path() {
        for (name, why) in
            [("", "letters"), ("a/b", "letters"), ("caches", "another check"), ("twice", "another check")]
        {
            let mut added = Added::default();
            added.add("twice".into(), Box::new(|| Ok(())));
            added.add(name.into(), Box::new(|| Ok(())));
            let (unusable, reason) = added.unusable(&["caches", "webhooks"]).unwrap();
            assert!(unusable == name && reason.contains(why), "{name:?}: {reason}");
        }
    }
}
