//! `vela/email`: an e-mail to the server that the step names. It is sent once: the runner of the step stores that it is
//! sent before it is.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use vela_runtime::smtp::Mail;

use super::provider::{Asked, Called, Provider, Reach};
use crate::egress::NoAnswer;

/// Addresses that one e-mail goes to.
const ADDRESSES_AT_MOST: usize = 100;
/// Bytes of a body.
const BODY_BYTES_AT_MOST: usize = 1 << 20;
/// Letters of a line of the body, as it is written in a message.
const LINE_LENGTH: usize = 76;
/// Bytes of a text in a header that stand in one of its words, which may have 75 letters.
const WORD_BYTES: usize = 42;

/// Answers `email.#SendEmail`.
pub(super) struct Email;

impl Provider for Email {
    const NAMES: &'static [&'static str] = &["email", "op"];

    async fn call<R: Reach>(reach: &mut R, asked: &mut Asked<'_>) -> Result<Option<Called>, R::Error> {
        if asked.question.function != "send" {
            return Ok(None);
        }
        let mail = match mail(asked.params(), asked.step, asked.now) {
            Ok(mail) => mail,
            Err(message) => return Ok(Some(asked.broken(message))),
        };
        let failed = |why: &str| format!("failed to send email: {}:{}: {why}", mail.host, mail.port);
        Ok(Some(match reach.send_mail(&mail).await {
            Ok(()) => Called::nothing(),
            Err(NoAnswer::Refused(why)) => Called::broken(failed(&why)),
            Err(NoAnswer::NotSent(why)) => Called::failed(failed(&why)),
            Err(NoAnswer::Unknown(why) | NoAnswer::TooLarge(why)) => Called::uncertain(format!(
                "{}. It may have been taken, so it is not sent again: look, and restart the workflow from this step where it \
                 was not",
                failed(&why)
            )),
        }))
    }
}

/// The e-mail that a call asks for, or what is wrong with it.
fn mail(params: &Value, step: &str, now: Timestamp) -> Result<Mail, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (from, content) = (&params["from"], &params["content"]);
    let to: Vec<String> = params["to"].as_array().into_iter().flatten().map(text).collect();
    if to.is_empty() || to.len() > ADDRESSES_AT_MOST {
        return Err(format!("to: expected 1 to {ADDRESSES_AT_MOST} addresses, found {}", to.len()));
    }
    let host = text(&from["host"]);
    if host.is_empty() {
        return Err("from.host: expected the name of a server".to_owned());
    }
    let port = from["port"].as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
    let port = port.ok_or_else(|| format!("from.port: expected 1 to 65535, found {}", from["port"]))?;
    let body = text(&content["body"]);
    if body.len() > BODY_BYTES_AT_MOST {
        return Err(format!(
            "content.body: expected at most {BODY_BYTES_AT_MOST} bytes, found {}",
            body.len()
        ));
    }
    let address = text(&from["address"]);
    let sender = match text(&from["alias"]) {
        alias if alias.is_empty() => format!("<{address}>"),
        alias => format!("{} <{address}>", word(&alias)),
    };
    let date =
        jiff::fmt::rfc2822::to_string(&now.to_zoned(TimeZone::UTC)).map_err(|error| error.to_string())?;
    let host_of_sender = address.split_once('@').map_or("vela", |(_, host)| host);
    let head = [
        ("From", sender),
        ("To", to.iter().map(|address| format!("<{address}>")).collect::<Vec<_>>().join(",\r\n ")),
        ("Subject", word(&text(&content["subject"]))),
        ("Date", date),
        ("Message-ID", format!("<{step}.{}@{host_of_sender}>", now.as_second())),
        ("MIME-Version", "1.0".to_owned()),
        ("Content-Type", "text/html; charset=UTF-8".to_owned()),
        ("Content-Transfer-Encoding", "base64".to_owned()),
    ];
    let head: String = head.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let message = format!("{head}\r\n{}", lines(&body));
    Ok(Mail { host, port, from: address, password: text(&from["password"]), to, message })
}

fn base64(bytes: &[u8]) -> String {
    json!(ByteString(bytes.to_vec())).as_str().unwrap_or_default().to_owned()
}

/// A text as it stands in a header (RFC 2047): whatever it holds, it ends no line.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_.,!?".contains(c);
    if text.len() <= LINE_LENGTH && text.chars().all(is_plain) && !text.contains(',') {
        return text.to_owned();
    }
    let mut words: Vec<String> = Vec::new();
    let mut part = String::new();
    for c in text.chars() {
        if part.len() + c.len_utf8() > WORD_BYTES {
            words.push(std::mem::take(&mut part));
        }
        part.push(c);
    }
    words.push(part);
    let words = words.iter().map(|part| format!("=?UTF-8?B?{}?=", base64(part.as_bytes())));
    words.collect::<Vec<_>>().join("\r\n ")
}

/// A body in lines that every server takes.
fn lines(body: &str) -> String {
    let encoded = base64(body.as_bytes());
    let letters: Vec<char> = encoded.chars().collect();
    letters.chunks(LINE_LENGTH).map(|line| line.iter().chain(&['\r', '\n']).collect::<String>()).collect()
}

#[cfg(test)]
mod tests {
    use vela_engine::workflow::StepOutcome;

    use super::super::test_double::{Double, asked, question};
    use super::*;

    fn params() -> Value {
        json!({
            "from": {"address": "a@example.com", "alias": "Änne", "password": "hidden", "host": "mail", "port": 587},
            "to": ["b@example.com", "c@example.com"],
            "content": {"subject": "built: web\r\nBcc: d@example.com", "body": "<b>hello</b>"},
        })
    }

    #[tokio::test]
    async fn an_email_is_sent_with_its_headers() {
        for provider in ["email", "op"] {
            let mut double = Double::default();
            let called = asked(&mut double, question(provider, "send", params())).await;
            assert_eq!(called, Called::nothing());
            let mail = &double.mails[0];
            assert_eq!((mail.host.as_str(), mail.port, mail.to.len()), ("mail", 587, 2));
            let head =
                "From: =?UTF-8?B?w4RubmU=?= <a@example.com>\r\nTo: <b@example.com>,\r\n <c@example.com>\r\n";
            assert!(mail.message.starts_with(head), "{}", mail.message);
            assert!(mail.message.contains("\r\nSubject: =?UTF-8?B?"), "{}", mail.message);
            assert!(!mail.message.contains("Bcc") && !mail.message.contains("hidden"), "{}", mail.message);
            assert!(mail.message.ends_with("\r\n\r\nPGI+aGVsbG88L2I+\r\n"), "{}", mail.message);
        }
    }

    #[tokio::test]
    async fn what_may_have_been_taken_is_not_sent_again() {
        let outcome = async |why: NoAnswer| {
            let mut double = Double { answers: vec![Err(why)], ..Double::default() };
            match asked(&mut double, question("email", "send", params())).await {
                Called::Ended(outcome) => outcome,
                answer @ Called::Answer(_) => panic!("{answer:?}"),
            }
        };
        let unknown = outcome(NoAnswer::Unknown("the connection broke".to_owned())).await;
        assert!(
            matches!(unknown, StepOutcome::Fail { message } if message.contains("mail:587: the connection"))
        );
        let not_sent = outcome(NoAnswer::NotSent("the server said 550".to_owned())).await;
        assert!(
            matches!(not_sent, StepOutcome::Error { message } if message.starts_with("failed to send email"))
        );
        let refused = outcome(NoAnswer::Refused("it has no recipient".to_owned())).await;
        assert!(matches!(refused, StepOutcome::Broken { .. }));
    }

    #[tokio::test]
    async fn what_cannot_be_sent_is_told_with_its_field() {
        for (path, wrong, expected) in [
            ("/to", json!([]), "to: expected 1 to 100"),
            ("/from/host", json!(""), "from.host"),
            ("/from/port", json!(70000), "from.port: expected 1 to 65535, found 70000"),
            ("/content/body", json!("x".repeat(BODY_BYTES_AT_MOST + 1)), "content.body"),
        ] {
            let mut params = params();
            *params.pointer_mut(path).unwrap() = wrong;
            let mut double = Double::default();
            let called = asked(&mut double, question("email", "send", params)).await;
            let Called::Ended(StepOutcome::Broken { message }) = called else { panic!("{called:?}") };
            assert!(message.contains(expected) && double.mails.is_empty(), "{message}");
        }
    }

    #[test]
    fn long_texts_are_several_words_and_lines() {
        assert_eq!(word("It is done."), "It is done.");
        let long = word(&"ä".repeat(60));
        assert!(
            long.split("\r\n ").count() == 3 && long.split("\r\n ").all(|word| word.len() <= 75),
            "{long}"
        );
        assert!(lines(&"x".repeat(200)).lines().all(|line| line.len() <= LINE_LENGTH));
        assert_eq!(lines(""), "");
    }
}
