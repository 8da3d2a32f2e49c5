//! `explained.toml` in; whether a disagreement is one of those that are the real evaluator's mistake out.

use super::answer::Answer;

/// One rule. Every text it gives must occur.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explained {
    /// A text in the smallest program.
    #[serde(default)]
    program: Vec<String>,
    /// A text in the real answer.
    #[serde(default)]
    real: Vec<String>,
    /// A text in our answer.
    #[serde(default)]
    ours: Vec<String>,
    /// Why the real answer is wrong.
    reason: String,
    /// Where the documentation says so.
    link: String,
}

#[derive(serde::Deserialize)]
struct File {
    #[serde(default)]
    rule: Vec<Explained>,
}

/// The page that every rule links to.
const PAGE: &str = "docs/differences/definitions-and-cue.md";

/// The rules of the repository.
pub(crate) fn read() -> Result<Vec<Explained>, String> {
    let file: File =
        toml::from_str(include_str!("explained.toml")).map_err(|e| format!("explained.toml: {e}"))?;
    for rule in &file.rule {
        if rule.reason.is_empty() || !rule.link.starts_with(PAGE) {
            return Err(format!("explained.toml: every rule has a reason and a link to {PAGE}"));
        }
        if rule.program.is_empty() || rule.real.is_empty() {
            return Err(
                "explained.toml: a rule says what stands in the program and in the real answer".into()
            );
        }
    }
    Ok(file.rule)
}

impl Explained {
    /// Whether the rule explains this disagreement.
    pub(crate) fn covers(&self, program: &str, real: &Answer, ours: &Answer) -> bool {
        let all = |texts: &[String], whole: &str| texts.iter().all(|text| whole.contains(text.as_str()));
        all(&self.program, program) && all(&self.real, &real.line()) && all(&self.ours, &ours.line())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_covers_only_what_has_all_its_texts() {
        let rules = read().unwrap();
        let nothing = Answer::Error(String::new());
        assert!(rules.iter().all(|rule| !rule.covers("a: 1", &nothing, &nothing)));
    }
}
