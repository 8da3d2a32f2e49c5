//! Answers what a simulated workflow asks elsewhere: yes, with an empty object; sends no request.

use std::sync::{Mutex, MutexGuard, PoisonError};

use vela_core::EgressOverride;

/// What an answer says that says yes.
const YES: u16 = 200;
/// Requests that are remembered between two looks; more are not counted.
const MOST_REQUESTS: usize = 1000;

/// Stands in for everything outside.
#[derive(Debug, Default)]
pub(super) struct Outside {
    asked: Mutex<Vec<String>>,
}

impl Outside {
    /// What was asked since the last look.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.asked())
    }

    fn asked(&self) -> MutexGuard<'_, Vec<String>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EgressOverride for Outside {
    fn answer(&self, method: &str, url: &str, _: &[u8]) -> Result<(u16, Vec<u8>), String> {
        let mut asked = self.asked();
        if asked.len() < MOST_REQUESTS {
            asked.push(format!(
                "{method} {} is answered with {YES} and {{}}; no request was sent",
                server(url)
            ));
        }
        Ok((YES, b"{}".to_vec()))
    }
}

/// The server of a URL: what stands behind it may be confidential.
fn server(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + "://".len());
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    &url[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_shown_and_nothing_behind_it() {
        let outside = Outside::default();
        let answer = outside.answer("POST", "https://hooks.example.com/T0/secret?a=b", b"{}");
        assert_eq!(answer, Ok((200, b"{}".to_vec())));
        assert_eq!(
            outside.take(),
            ["POST https://hooks.example.com is answered with 200 and {}; no request was sent"]
        );
        assert!(outside.take().is_empty());
        assert_eq!((server("host"), server("http://a?b")), ("host", "http://a"));
    }
}
