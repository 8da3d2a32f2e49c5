//! Compares the calls of a step with those that the peer recorded.
//!
//! A recorded call has `path`, `provider`, `do` and either `params` or `paramsError`, the peer's words for what was not
//! known yet. The peer answered no call, so what is compared is the first look at the step: all calls in order.

use super::json::Json;

/// Compares call by call; the peer writes `null` for no calls.
pub(crate) fn compare(actual: &Json, expected: &Json) -> Result<(), String> {
    let (actual, expected) = (actual.items(), expected.items());
    for (at, (ours, theirs)) in actual.iter().zip(expected).enumerate() {
        let same = |name: &str| ours.get(name) == theirs.get(name);
        let known = theirs.get("paramsError").is_none();
        if !["path", "provider", "do"].into_iter().all(same) {
            return Err(format!("call {at} is {}, expected {}", title(ours), title(theirs)));
        }
        if known != ours.get("paramsError").is_none() || (known && !same("params")) {
            return Err(format!(
                "call {at} at {} asks otherwise: {ours:?}, expected {theirs:?}",
                title(theirs)
            ));
        }
    }
    match actual.len() == expected.len() {
        true => Ok(()),
        false => Err(format!("{} calls, expected {}", actual.len(), expected.len())),
    }
}

fn title(call: &Json) -> String {
    let text = |name: &str| call.get(name).and_then(Json::as_str).unwrap_or("?");
    format!("{} {} at {}", text("provider"), text("do"), text("path"))
}

#[cfg(test)]
mod tests {
    use super::{Json, compare};

    #[test]
    fn order_place_and_question_count_and_error_words_do_not() {
        let recorded = r#"[{"path":"a","do":"read","provider":"kube","params":{"n":1.0}},
            {"path":"b","do":"wait","provider":"builtin","paramsError":"theirs"}]"#;
        let expected = Json::parse(recorded).expect("JSON");
        let compared = |text: &str| compare(&Json::parse(text).expect("JSON"), &expected);
        let (read, wait) = (
            r#"{"path":"a","do":"read","provider":"kube","params":{"n":1}}"#,
            r#"{"path":"b","do":"wait","provider":"builtin","paramsError":"ours"}"#,
        );
        assert_eq!(compared(&format!("[{read},{wait}]")), Ok(()));
        assert!(compared(&format!("[{wait},{read}]")).is_err());
        assert!(compared(&format!("[{read}]")).is_err());
        assert!(compared(&format!("[{read},{}]", wait.replace("paramsError", "params"))).is_err());
        assert!(compared(&format!("[{},{wait}]", read.replace(":1}", ":2}"))).is_err());
        let none = Json::parse("null").expect("JSON");
        assert_eq!(compare(&Json::parse("[]").expect("JSON"), &none), Ok(()));
    }
}
