//! Removes confidential values of an application's documents from messages; everything that people read goes through
//! it.
//!
//! Status, events and logs are read by more people than Secrets are, and messages quote: a template that does not fit, an
//! API server that refuses a value. Confidential is the content of a Secret, wherever one stands in a document, and a text
//! under a name that says so (`password`, `dbToken`, an environment variable `API_KEY`).

use std::borrow::Cow;
use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// The replacement in a message.
const HIDDEN: &str = "[hidden]";

/// A shorter text is hidden only where a message quotes it alone: it would be found in the middle of words.
const BYTES_AT_LEAST: usize = 5;
/// Lines of a longer text are quoted one by one; a shorter line says nothing.
const LINE_BYTES_AT_LEAST: usize = 8;
/// So much of the beginning of a text is hidden where a message cuts it off.
const BEGINNING_BYTES: usize = 8;
/// So many letters and digits of a long text are hidden wherever they follow each other, whatever stands between them: a
/// template may cut a value to pieces and join them by something else.
const PIECE_CHARS: usize = 16;
/// Pieces remembered of one application; a longer text than these cover is hidden as a whole, in lines and where it is cut.
const PIECES_AT_MOST: usize = 1 << 17;
/// Texts remembered of one application: more come from a mistake, and each is looked for in every message.
const TEXTS_AT_MOST: usize = 4096;
/// Documents are nested deeper only to do harm, and are refused elsewhere.
const DEPTH_AT_MOST: usize = 128;

/// Ends of names, without case and separators, whose texts are confidential.
const CONFIDENTIAL: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "token",
    "secret",
    "secretkey",
    "secretaccesskey",
    "accesskey",
    "apikey",
    "privatekey",
    "credential",
    "credentials",
];

/// Texts that no message may repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    texts: BTreeSet<String>,
    /// Hashes of every [`PIECE_CHARS`] letters and digits that follow each other in a text.
    pieces: BTreeSet<u64>,
}

impl Secrets {
    /// Remember what is confidential in a document: of a manifest, of a rendered object, of one that was read.
    pub fn add(&mut self, document: &Value) {
        self.walk(document, 0);
    }

    /// Remember everything that another one knows.
    pub fn extend(&mut self, other: &Self) {
        self.texts.extend(other.texts.iter().cloned());
        self.pieces.extend(other.pieces.iter().copied());
    }

    /// The message without them.
    pub fn hide<'a>(&self, message: &'a str) -> Cow<'a, str> {
        let mut hidden = Cow::Borrowed(message);
        // A longer text may hold a shorter one.
        let mut texts: Vec<&String> = self.texts.iter().collect();
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        for text in texts {
            if text.len() >= BYTES_AT_LEAST {
                replace(&mut hidden, text, HIDDEN);
                for ellipsis in ["...", "…"] {
                    cut_off(&mut hidden, text, ellipsis);
                }
            } else {
                for quote in ['"', '\'', '`'] {
                    replace(
                        &mut hidden,
                        &format!("{quote}{text}{quote}"),
                        &format!("{quote}{HIDDEN}{quote}"),
                    );
                }
            }
        }
        self.hide_pieces(&mut hidden);
        hidden
    }

    /// Hides what stands in pieces, or with something between its characters.
    fn hide_pieces(&self, message: &mut Cow<'_, str>) {
        if self.pieces.is_empty() {
            return;
        }
        let plain: Vec<(usize, char)> = message.char_indices().filter(|(_, c)| c.is_alphanumeric()).collect();
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for window in plain.windows(PIECE_CHARS) {
            if !self.pieces.contains(&hash(window.iter().map(|(_, c)| *c))) {
                continue;
            }
            let [(from, _), .., (last, c)] = window else { continue };
            let to = last + c.len_utf8();
            match ranges.last_mut() {
                Some((_, end)) if *from <= *end => *end = to,
                _ => ranges.push((*from, to)),
            }
        }
        for (from, to) in ranges.into_iter().rev() {
            message.to_mut().replace_range(from..to, HIDDEN);
        }
    }

    /// The same for every text of a value.
    pub fn hide_in(&self, value: &mut Value) {
        if self.texts.is_empty() && self.pieces.is_empty() {
            return;
        }
        match value {
            Value::String(text) => {
                if let Cow::Owned(hidden) = self.hide(text) {
                    *text = hidden;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.hide_in(field)),
            _ => {}
        }
    }

    fn walk(&mut self, value: &Value, depth: usize) {
        if depth > DEPTH_AT_MOST {
            return;
        }
        match value {
            Value::Object(fields) => {
                self.content_of_secret(fields);
                let variable = fields.get("name").and_then(Value::as_str).is_some_and(is_confidential);
                for (name, field) in fields {
                    if is_confidential(name) || variable && name == "value" {
                        self.text_or_texts(field);
                    }
                    self.walk(field, depth + 1);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.walk(item, depth + 1)),
            _ => {}
        }
    }

    fn content_of_secret(&mut self, fields: &Map<String, Value>) {
        if fields.get("kind").and_then(Value::as_str) != Some("Secret") {
            return;
        }
        for field in ["data", "stringData"] {
            for (_, value) in fields.get(field).and_then(Value::as_object).into_iter().flatten() {
                self.leaves(value, 0);
            }
        }
    }

    fn leaves(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Array(items) if depth <= DEPTH_AT_MOST => {
                items.iter().for_each(|item| self.leaves(item, depth + 1));
            }
            Value::Object(fields) if depth <= DEPTH_AT_MOST => {
                fields.values().for_each(|field| self.leaves(field, depth + 1));
            }
            value => self.text_or_texts(value),
        }
    }

    fn text_or_texts(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.text(text);
                self.text(&STANDARD.encode(text));
                if let Some(decoded) =
                    STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok())
                {
                    self.text(&decoded);
                }
            }
            Value::Number(number) => self.text(&number.to_string()),
            Value::Array(items) => {
                for text in items.iter().filter(|item| item.is_string() || item.is_number()) {
                    self.text_or_texts(text);
                }
            }
            _ => {}
        }
    }

    /// Remember a text, its lines, and both as messages quote them.
    fn text(&mut self, text: &str) {
        let plain: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
        for piece in plain.windows(PIECE_CHARS) {
            if self.pieces.len() >= PIECES_AT_MOST {
                break;
            }
            self.pieces.insert(hash(piece.iter().copied()));
        }
        let trimmed = text.trim();
        let lines = trimmed.lines().map(str::trim).filter(|line| line.len() >= LINE_BYTES_AT_LEAST);
        for part in [text, trimmed].into_iter().chain(lines) {
            let quoted = Value::String(part.to_owned()).to_string();
            let escaped = quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default();
            for part in [part, escaped] {
                if !part.is_empty() && self.texts.len() < TEXTS_AT_MOST {
                    self.texts.insert(part.to_owned());
                }
            }
        }
    }
}

/// A hash that is the same in every process: what is hidden must not depend on the run.
fn hash(chars: impl Iterator<Item = char>) -> u64 {
    // FNV-1a.
    chars.fold(0xcbf2_9ce4_8422_2325, |hash, c| {
        (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The object as templates of a status see it: of a Secret they know which keys it has, and no value. A status is read by
/// people who may not read Secrets, and a template can turn a value into anything.
pub(crate) fn shown_to_templates(object: &Value) -> Value {
    let mut object = object.clone();
    if object.get("kind").and_then(Value::as_str) != Some("Secret") {
        return object;
    }
    for (field, shown) in [("data", STANDARD.encode(HIDDEN)), ("stringData", HIDDEN.to_owned())] {
        for (_, value) in object.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten() {
            *value = Value::String(shown.clone());
        }
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        // Copies of the object stand there.
        metadata.remove("annotations");
        metadata.remove("managedFields");
    }
    object
}

/// Does the name say that its text is confidential? `secretName` and `tokenRef` name something else.
fn is_confidential(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|char| char.to_ascii_lowercase()).collect();
    CONFIDENTIAL.iter().any(|end| plain.ends_with(end))
}

fn replace(message: &mut Cow<'_, str>, text: &str, by: &str) {
    if message.contains(text) {
        *message = Cow::Owned(message.replace(text, by));
    }
}

/// The beginning of the text, where the message breaks off in it.
fn cut_off(message: &mut Cow<'_, str>, text: &str, ellipsis: &str) {
    let Some(beginning) = text.get(..BEGINNING_BYTES) else { return };
    let mut from = 0;
    while let Some(at) = message.get(from..).and_then(|rest| rest.find(beginning)).map(|at| from + at) {
        let rest = &message[at..];
        let same =
            rest.char_indices().zip(text.chars()).find(|((_, a), b)| a != b).map_or(0, |((at, _), _)| at);
        if same >= BEGINNING_BYTES && rest[same..].starts_with(ellipsis) {
            *message = Cow::Owned(format!("{}{HIDDEN}{}", &message[..at], &message[at + same..]));
            from = at + HIDDEN.len();
        } else {
            from = at + beginning.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn secrets(document: Value) -> Secrets {
        let mut secrets = Secrets::default();
        secrets.add(&document);
        secrets
    }

    #[test]
    fn the_content_of_a_secret_is_hidden_in_every_spelling() {
        let all = secrets(json!({"spec": {"objects": [{"kind": "Secret", "metadata": {"name": "keys"},
            "data": {"a": "aHVudGVyMg=="}, "stringData": {"b": "swordfish", "c": 123456, "d": "line one\nline two is"}}]}}));
        for said in [
            "hunter2",
            "aHVudGVyMg==",
            "swordfish",
            "c3dvcmRmaXNo",
            "123456",
            "line two is",
            r"line one\nline two is",
        ] {
            let hidden = all.hide(said);
            assert_eq!(hidden, HIDDEN, "{said}");
        }
        assert_eq!(
            all.hide("Secret keys: \"swordfish\" is no object"),
            "Secret keys: \"[hidden]\" is no object"
        );
        assert_eq!(all.hide("Secret keys is there"), "Secret keys is there");
        assert_eq!(all.hide("found swordfis... here"), "found [hidden]... here");
    }

    #[test]
    fn names_that_say_so_are_believed() {
        let all = secrets(
            json!({"properties": {"dbPassword": "hunter2", "API_KEY": ["first-key"], "tokenRef": "shown-token",
            "secretName": "shown-name", "env": [{"name": "DB_PASSWORD", "value": "from-env"}, {"name": "MODE", "value": "shown-env"}],
            "secret": {"secretName": "shown-too"}}}),
        );
        for hidden in ["hunter2", "first-key", "from-env"] {
            assert_eq!(all.hide(hidden), HIDDEN, "{hidden}");
        }
        for shown in ["shown-token", "shown-name", "shown-env", "shown-too"] {
            assert_eq!(all.hide(shown), shown);
        }
    }

    #[test]
    fn pieces_and_what_is_joined_anew_are_hidden() {
        let token = "eyJhbGciOiJSUzI1NiIsImtpZCI6Ik5vdE9uZSJ9.eyJzdWIiOiJ2ZWxhLWNvcmUifQ";
        let all = secrets(json!({"kind": "Secret", "stringData": {"token": token}}));
        let apart: Vec<String> = token.chars().map(String::from).collect();
        let (first, last) = token.split_at(30);
        for said in [apart.join("_"), apart.join(" - "), format!("{first} and {last}"), first.to_owned()] {
            let hidden = all.hide(&said);
            assert!(hidden.contains(HIDDEN), "{said}: {hidden}");
            assert!(!hidden.contains(&said[4..20]) && !hidden.contains("dWIiOiJ2ZWxh"), "{hidden}");
        }
        assert_eq!(
            all.hide("Deployment shop/front is not there yet"),
            "Deployment shop/front is not there yet"
        );
    }

    #[test]
    fn templates_of_a_status_see_no_value_of_a_secret() {
        let secret = json!({"kind": "Secret", "metadata": {"name": "keys", "annotations": {"copy": "swordfish"}},
            "data": {"a": "c3dvcmRmaXNo"}, "stringData": {"b": "swordfish"}, "type": "Opaque"});
        let shown = shown_to_templates(&secret);
        assert_eq!(shown["type"], "Opaque");
        assert!(shown["data"]["a"].is_string() && shown["stringData"]["b"].is_string());
        assert!(!shown.to_string().contains("swordfish") && !shown.to_string().contains("c3dv"), "{shown}");
        let map = json!({"kind": "ConfigMap", "data": {"a": "b"}});
        assert_eq!(shown_to_templates(&map), map);
    }

    #[test]
    fn a_short_text_is_hidden_where_it_is_quoted() {
        let all = secrets(json!({"password": "a1"}));
        assert_eq!(all.hide("a1 of a10: \"a1\" and int"), "a1 of a10: \"[hidden]\" and int");
        assert_eq!(secrets(json!({"password": ""})).hide("\"\""), "\"\"");
    }

    #[test]
    fn a_value_is_searched_everywhere() {
        let mut status = json!({"conditions": [{"message": "got swordfish"}], "n": 1});
        secrets(json!({"kind": "Secret", "stringData": {"a": "swordfish"}})).hide_in(&mut status);
        assert_eq!(status, json!({"conditions": [{"message": "got [hidden]"}], "n": 1}));
    }
}
