//! Finds words where they do not belong: those of our project in rooms that serve any, and private words in names anywhere.

use std::collections::BTreeSet;

use super::tokens::Token;
use super::{Code, Source, is_ours, shipped};

/// Rooms that know no project: neither its kinds nor its conventions.
const GENERAL: [&str; 7] = ["apiserver/", "cue/", "dapr/", "harbor/", "kinds/", "listen/", "runtime/"];

/// Words of ours, in any case, also as part of a name such as `core.oam.dev`.
const WORDS: [&str; 2] = ["oam", "kubevela"];

/// How the texts of KubeVela's definitions are written beyond the language: `engine` tells it to `cue`.
const CONVENTIONS: [&str; 5] = ["\"#do\"", "\"#provider\"", "\"$params\"", "\"$returns\"", "\"+usage=\""];

/// Private words that were names once, and the terms that others of this field would look for.
const PRIVATE: [(&str, &str); 12] = [
    ("bell", "a notification or a waker"),
    ("bells", "notifications or wakers"),
    ("books", "a store or an inventory"),
    ("hands", "a reconciler or a client"),
    ("heard", "what was received, or events"),
    ("kept", "what is retained, recorded or cached"),
    ("pen", "a writer or an applier"),
    ("told", "a message, a report, a condition or an event"),
    ("trouble", "an error or its message"),
    ("untold", "what is pending or missing"),
    ("world", "a cluster, a snapshot or a store"),
    ("worlds", "clusters, snapshots or stores"),
];

/// A variable in a few lines may be called by it: what is left of a list is `kept`.
const FINE_AS_VARIABLE: &str = "kept";

/// The words before the name of an item.
const ITEMS: [&str; 8] = ["const", "enum", "fn", "mod", "static", "struct", "trait", "type"];

/// Names of files, items, fields and variables; what is said in comments and messages is plain English.
pub(super) fn private(code: &Code, wrong: &mut Vec<String>) {
    let path =
        code.name.trim_end_matches(".rs").split(['/', '_']).filter_map(|part| found(&[part.to_owned()]));
    let mut all: BTreeSet<(&str, &str, &str)> = path.map(|(word, term)| (word, word, term)).collect();
    let mut before = "";
    for token in &code.all {
        let Token::Word(name) = token else {
            before = "";
            continue;
        };
        if let Some((word, term)) = found(&words_of(name))
            && (word != FINE_AS_VARIABLE || ITEMS.contains(&before))
        {
            all.insert((name.as_str(), word, term));
        }
        before = name;
    }
    for (name, word, term) in all {
        wrong.push(format!("{}: `{name}` is named by a private word; for `{word}` say {term}", code.name));
    }
}

fn found(words: &[String]) -> Option<(&'static str, &'static str)> {
    PRIVATE.iter().copied().find(|(private, _)| words.iter().any(|word| word == private))
}

/// Each word of a type or a constant. A name that begins with a small letter counts as a whole: names of tests are
/// sentences.
fn words_of(name: &str) -> Vec<String> {
    if !name.starts_with(|c: char| c.is_ascii_uppercase()) {
        return vec![name.to_owned()];
    }
    if !name.contains(|c: char| c.is_ascii_lowercase()) {
        return name.split('_').map(str::to_ascii_lowercase).collect();
    }
    let mut words: Vec<String> = Vec::new();
    for c in name.chars() {
        match words.last_mut() {
            Some(word) if !c.is_ascii_uppercase() => word.push(c),
            _ => words.push(c.to_ascii_lowercase().to_string()),
        }
    }
    words
}

/// Comments count for words, since a reader of the crate reads them; conventions are fine as examples.
pub(super) fn words(source: &Source, wrong: &mut Vec<String>) {
    if !is_ours(source) || !GENERAL.iter().any(|room| source.name.starts_with(room)) {
        return;
    }
    for (number, line) in source.text.lines().enumerate().map(|(number, line)| (number + 1, line)) {
        let mut parts = line.split(|c: char| !c.is_alphanumeric());
        if let Some(word) = parts.find(|part| WORDS.iter().any(|word| part.eq_ignore_ascii_case(word))) {
            wrong.push(format!(
                "{}:{number}: names {word:?}; this room serves any project, so say it where it is used",
                source.name
            ));
        }
    }
    if !source.name.starts_with("cue/src/") || source.name.starts_with("cue/src/bin/") {
        return;
    }
    for (number, line) in shipped(source) {
        if let Some(text) = CONVENTIONS.iter().find(|text| line.contains(**text)) {
            wrong.push(format!(
                "{}:{number}: {text} is a convention of definitions; take it from the caller",
                source.name
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(name: &str, text: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        words(&Source { name: name.to_owned(), text: text.to_owned() }, &mut wrong);
        wrong
    }

    #[test]
    fn a_general_room_names_no_project() {
        let text = "//! What KubeVela does.\nconst GROUP: &str = \"core.oam.dev\";\nlet foam = roam();\n";
        assert_eq!(violations("runtime/src/a.rs", text).len(), 2);
        assert!(
            violations("core/src/a.rs", text).is_empty() && violations("runtime/tests/a.rs", text).is_empty()
        );
    }

    #[test]
    fn conventions_of_definitions_come_from_outside() {
        let text = "/// Such as \"#do\".\nconst FUNCTION: &str = \"#do\";\n";
        assert_eq!(
            violations("cue/src/a.rs", text),
            ["cue/src/a.rs:2: \"#do\" is a convention of definitions; take it from the caller"]
        );
        assert!(
            violations("cue/src/bin/a.rs", text).is_empty() && violations("engine/src/a.rs", text).is_empty()
        );
    }

    fn private_names(name: &str, text: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        private(&Code::read(name, text).unwrap(), &mut wrong);
        wrong
    }

    #[test]
    fn private_words_are_no_names() {
        let text = "//! The world.\nfn a_world_is_told() { let kept = \"told\"; }\n";
        assert!(private_names("core/tests/a.rs", text).is_empty());
        let expected = "core/src/a.rs: `told` is named by a private word; for `told` say a message, a report, a condition or an event";
        assert_eq!(private_names("core/src/a.rs", "fn a() { let told = b.told; }"), [expected]);
        for text in
            ["struct KeptWorld;", "const EVENTS_KEPT: u8 = 0;", "fn kept() {}", "struct A { heard: u8 }"]
        {
            assert_eq!(private_names("core/src/a.rs", text).len(), 1, "{text}");
        }
        assert_eq!(private_names("core/tests/world/kept_again.rs", "").len(), 2);
        assert!(private_names("core/src/a.rs", "struct Pending; const OPEN: u8 = 0;").is_empty());
    }
}
