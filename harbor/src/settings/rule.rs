//! The rules of a HarborServerConfiguration or of a ConfigMap → which registries' images come from which project of which Harbor. Pure.

use regex::{Regex, RegexBuilder};

use crate::error::Error;
use crate::field::Field;

/// Rules of one object at most.
const RULES_AT_MOST: usize = 256;
/// Bytes of one rule at most.
const BYTES_AT_MOST: usize = 1024;
/// Bytes that the compiled expression of one rule may take.
const COMPILED_AT_MOST: usize = 256 * 1024;
/// The registries of a rule that holds where no other one does.
const ALL: &str = "*";
/// Between the registries and the project. An expression may have a comma, a project has neither.
const SEPARATORS: [&str; 2] = ["=>", ","];
/// Before a rule in the text of a ConfigMap that is written as a list.
const BULLET: &str = "- ";

/// Which images come from which project.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// None: all of them.
    registries: Option<Regex>,
    project: String,
}

impl Rule {
    /// Does it hold only where no other rule does?
    pub(super) fn is_for_all(&self) -> bool {
        self.registries.is_none()
    }

    /// Does it hold for the images of this registry?
    pub(super) fn is_for(&self, registry: &str) -> bool {
        self.registries.as_ref().is_none_or(|registries| registries.is_match(registry))
    }

    /// The project that they come from.
    pub(super) fn project(&self) -> &str {
        &self.project
    }

    /// Reads `docker.io,proxy`; the error says what was expected.
    fn read(text: &str) -> Result<Self, String> {
        let expected = || {
            "must be a registry, a comma and a project of the Harbor, such as \"docker.io,proxy\"".to_owned()
        };
        if text.len() > BYTES_AT_MOST {
            return Err(format!("is longer than {BYTES_AT_MOST} bytes: write a shorter rule"));
        }
        let parts = SEPARATORS.iter().find_map(|separator| text.rsplit_once(separator));
        let (registries, project) = parts.ok_or_else(expected)?;
        let (registries, project) = (registries.trim(), project.trim());
        if registries.is_empty() || !is_project(project) {
            return Err(expected());
        }
        let registries = (registries != ALL).then(|| expression(registries)).transpose()?;
        Ok(Self { registries, project: project.to_owned() })
    }
}

fn expression(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text).size_limit(COMPILED_AT_MOST).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => format!("has the expression {text:?}, which is too large"),
        _ => format!("has {text:?} before the project, which is no regular expression: mend or escape it"),
    })
}

/// May a project of a Harbor have this name?
pub(super) fn is_project(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || matches!(byte, b'.' | b'_' | b'-'))
}

/// The rules of a list.
///
/// # Errors
/// One of them is wrong, or there are too many.
pub(super) fn of_list(field: &Field<'_>) -> Result<Vec<Rule>, Error> {
    let rules = field.list()?;
    if rules.len() > RULES_AT_MOST {
        return Err(too_many(field));
    }
    rules.iter().map(|rule| Rule::read(rule.text()?).map_err(|expected| rule.wrong(expected))).collect()
}

/// The rules of a text, one on each line.
///
/// # Errors
/// One of them is wrong, or there are too many.
pub(super) fn of_lines(field: &Field<'_>) -> Result<Vec<Rule>, Error> {
    let lines = field.text_or("")?.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
    let mut rules = Vec::new();
    for (at, line) in lines {
        if rules.len() == RULES_AT_MOST {
            return Err(too_many(field));
        }
        let rule = Rule::read(line.strip_prefix(BULLET).unwrap_or(line));
        rules.push(rule.map_err(|expected| field.wrong(format!("{expected}; line {} is not", at + 1)))?);
    }
    Ok(rules)
}

fn too_many(field: &Field<'_>) -> Error {
    field.wrong(format!("has more than {RULES_AT_MOST} rules: leave some out"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: &Value, read: fn(&Field<'_>) -> Result<Vec<Rule>, Error>) -> Result<Vec<Rule>, String> {
        read(&Field::new("HarborServerConfiguration main", "spec.rules", value))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_rule_names_registries_and_a_project() {
        for (rule, registry, is_for, project) in [
            ("docker.io,proxy", "docker.io", true, "proxy"),
            ("docker.io=>proxy", "docker.io", true, "proxy"),
            ("docker.io,proxy", "quay.io", false, "proxy"),
            ("^(ghcr|quay)\\.io$ , team.a_b", "quay.io", true, "team.a_b"),
            ("^[a-z]{1,3}\\.example$,lib", "abc.example", true, "lib"),
            ("^[a-z]{1,3}\\.example$=>lib", "abcd.example", false, "lib"),
            ("*,all-others", "localhost:5000", true, "all-others"),
        ] {
            let rules = read(&json!([rule]), of_list).unwrap();
            assert_eq!((rules[0].is_for(registry), rules[0].project()), (is_for, project), "{rule}");
            assert_eq!(rules[0].is_for_all(), rule.starts_with('*'), "{rule}");
        }
    }

    #[test]
    fn a_wrong_rule_is_said_with_its_place() {
        for rule in ["docker.io", ",proxy", "docker.io,", "docker.io:proxy", "docker.io,Proxy", "a,-b"] {
            let error = read(&json!([rule]), of_list).unwrap_err();
            assert!(error.contains("spec.rules[0] must be a registry, a comma"), "{rule}: {error}");
        }
        let many = vec!["docker.io,proxy"; RULES_AT_MOST + 1];
        for (rules, said) in [
            (json!(many), "spec.rules has more than 256 rules"),
            (
                json!(["docker.io,a", "(,b"]),
                "spec.rules[1] has \"(\" before the project, which is no regular",
            ),
            (json!(["\\w{500},b"]), "which is too large"),
            (json!([format!("{},b", "x".repeat(BYTES_AT_MOST))]), "spec.rules[0] is longer than 1024 bytes"),
            (json!("docker.io,a"), "spec.rules must be a list"),
            (json!([7]), "spec.rules[0] must be a text"),
        ] {
            let error = read(&rules, of_list).unwrap_err();
            assert!(error.contains(said), "{said}: {error}");
        }
        let error = read(&json!("a,b\n\nnone\n"), of_lines).unwrap_err();
        assert!(error.ends_with("; line 3 is not"), "{error}");
        assert!(read(&json!(many.join("\n")), of_lines).unwrap_err().contains("more than 256 rules"));
    }

    #[test]
    fn a_text_has_a_rule_on_each_line() {
        let rules = read(&json!("\n  docker.io,a\n- quay.io=>b\n"), of_lines).unwrap();
        assert_eq!(rules.iter().map(Rule::project).collect::<Vec<_>>(), ["a", "b"]);
        assert!(read(&Value::Null, of_lines).unwrap().is_empty());
    }
}
