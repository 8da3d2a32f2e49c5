//! Source files of rooms that serve any project → those that know a word of ours.

use super::{Source, is_ours, shipped};

/// Rooms that know no project: neither its kinds nor its conventions.
const GENERAL: [&str; 7] = ["apiserver/", "cue/", "dapr/", "harbor/", "kinds/", "listen/", "runtime/"];

/// Words of ours, in any case, also as part of a name such as `core.oam.dev`.
const WORDS: [&str; 2] = ["oam", "kubevela"];

/// How the texts of KubeVela's definitions are written beyond the language: `engine` tells it to `cue`.
const CONVENTIONS: [&str; 5] = ["\"#do\"", "\"#provider\"", "\"$params\"", "\"$returns\"", "\"+usage=\""];

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
}
