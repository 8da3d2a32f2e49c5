//! Names of tests are short sentences: a list of them has to be readable on one screen.

use super::code::Code;
use super::tokens::{self, Token};

/// How many characters the name of a test may have.
const CHARACTERS_AT_MOST: usize = 60;

/// The rule for all files.
pub(super) fn check(code: &[Code], wrong: &mut Vec<String>) {
    for c in code {
        for name in tests(&c.all).filter(|name| name.chars().count() > CHARACTERS_AT_MOST) {
            wrong.push(format!(
                "{}: the name of the test `{name}` has {} characters, more than {CHARACTERS_AT_MOST}; begin with its subject and leave out the rest",
                c.name,
                name.chars().count()
            ));
        }
    }
}

/// Functions under `#[test]`, `#[tokio::test]` or another attribute whose last word is `test`.
fn tests(tokens: &[Token]) -> impl Iterator<Item = &str> {
    let attributes = (0..tokens.len()).filter(|&at| is_of_a_test(&tokens[at..]));
    attributes.filter_map(|at| name_of_function(tokens, at))
}

fn is_of_a_test(tokens: &[Token]) -> bool {
    let [Token::Mark('#'), Token::Open('['), path @ ..] = tokens else { return false };
    let end = path.iter().position(|token| !matches!(token, Token::Word(_) | Token::Colons));
    let last = end.and_then(|end| path[..end].last());
    last.is_some_and(|last| last.is("test"))
}

/// The name of the function whose attributes begin at `at`.
fn name_of_function(tokens: &[Token], at: usize) -> Option<&str> {
    let mut at = at;
    while tokens.get(at) == Some(&Token::Mark('#')) {
        at = tokens::after_group(tokens, at + 1);
    }
    let mut words = tokens[at..].iter().map_while(|token| match token {
        Token::Word(word) => Some(word.as_str()),
        _ => None,
    });
    words.by_ref().find(|word| *word == "fn")?;
    words.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        check(&[Code::read("cue/tests/a.rs", text).unwrap()], &mut wrong);
        wrong
    }

    #[test]
    fn a_test_with_a_long_name_is_told() {
        let long = "a".repeat(61);
        for attributes in ["#[test]", "#[tokio::test(flavor = \"multi_thread\")]\n#[ignore = \"x\"]\nasync"] {
            let wrong = found(&format!("mod tests {{\n{attributes} fn {long}() {{}}\n}}\n"));
            assert!(wrong[0].contains("has 61 characters, more than 60"), "{attributes}: {wrong:?}");
            assert_eq!(wrong.len(), 1);
        }
    }

    #[test]
    fn short_names_and_other_functions_pass() {
        let (short, long) = ("a".repeat(60), "a".repeat(61));
        assert_eq!(found(&format!("#[test]\nfn {short}() {{}}\nfn {long}() {{}}\n")).len(), 0);
        assert_eq!(found(&format!("#[cfg(test)]\nmod tests {{ fn {long}() {{}} }}\n")).len(), 0);
    }
}
