//! Why a step does not go on by itself: what it asks, what it waits for, or how it ended.

use serde_json::Value as Json;
use vela_cue::Value;

/// Methods of HTTP that change nothing where they are asked.
const SAFE_METHODS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];

/// The question of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Where in the template it stands.
    pub path: String,
    /// The provider.
    pub provider: String,
    /// The function.
    pub function: String,
    /// With what.
    pub params: Json,
    /// Whether the answer goes to `$returns` or, in the first package `vela/op`, beside what is asked.
    pub has_returns: bool,
    /// Of a call that patches an object: the patch with what its comments ask for, for [`patched`](super::patched).
    pub patch: Option<Json>,
}

impl Question {
    /// Does the call change something outside that no look at the cluster shows? Then it may be made only once.
    pub fn has_effect_outside(&self) -> bool {
        match (self.provider.as_str(), self.function.as_str()) {
            ("http" | "op", "do") => {
                let method = self.params["method"].as_str().unwrap_or("GET");
                !SAFE_METHODS.contains(&method)
            }
            ("email" | "op", "send") => true,
            _ => false,
        }
    }
}

/// Why a step does not go on by itself.
pub enum Stop {
    /// It needs an answer.
    Ask(Question),
    /// It is not done yet and wants to be run again later.
    Wait {
        /// Why.
        message: String,
    },
    /// It stops until a user resumes it: then [`Answer::Nothing`] is the answer.
    Suspend {
        /// Where in the template it says so.
        path: String,
        /// Resume by itself after that time, as it is written (`30s`).
        duration: Option<String>,
        /// The message to show.
        message: String,
    },
    /// It has failed.
    Fail {
        /// Why.
        message: String,
    },
    /// The whole workflow ends here.
    Break {
        /// Why.
        message: String,
    },
    /// It has succeeded with this value.
    Done(Value),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_happen_once_is_told_apart() {
        let has = |provider: &str, function: &str, params: Json| {
            let (provider, function) = (provider.to_owned(), function.to_owned());
            let question =
                Question { path: String::new(), provider, function, params, has_returns: true, patch: None };
            question.has_effect_outside()
        };
        assert!(has("http", "do", json!({"method": "POST"})));
        assert!(has("op", "do", json!({"method": "DELETE"})));
        assert!(!has("http", "do", json!({"method": "GET"})));
        assert!(!has("op", "do", json!({})));
        assert!(has("email", "send", json!({})) && has("op", "send", json!({})));
        assert!(!has("kube", "apply", json!({})));
    }
}
