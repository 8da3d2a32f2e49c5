//! Finds the parameters that name a Secret whose content the template sees (`+insertSecretTo=NAME` above them).

use vela_cue::ast::{Decl, DeclKind, ExprKind, LabelKind};
use vela_cue::source::Sources;
use vela_cue::{Era, Source, parser};

/// The mark before such a parameter.
pub(crate) const MARKER: &str = "+insertSecretTo=";

/// The struct whose fields are the parameters.
pub(super) const PARAMETERS: &str = "parameter";

/// Names that mean something else in a template or in its context.
pub(crate) const TAKEN: [&str; 26] = [
    "name",
    "namespace",
    "appName",
    "appRevision",
    "appRevisionNum",
    "appLabels",
    "appAnnotations",
    "publishVersion",
    "workflowName",
    "replicaKey",
    "revision",
    "cluster",
    "clusterVersion",
    "components",
    "componentType",
    "config",
    "custom",
    "output",
    "outputs",
    "parameter",
    "status",
    "context",
    "patch",
    "patchOutputs",
    "processing",
    "errs",
];

/// A parameter whose text is the name of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretParameter {
    /// The parameter.
    pub parameter: String,
    /// The template's name for the content of that Secret.
    pub name: String,
}

/// The parameters of a template that name Secrets.
///
/// # Errors
/// A marker that cannot be followed: what is wrong with it, in words.
pub(crate) fn secret_parameters(template: &str, era: Era) -> Result<Vec<SecretParameter>, String> {
    if !template.contains(MARKER) {
        return Ok(Vec::new());
    }
    let source = Source::new("template", template).with_era(era);
    let mut sources = Sources::default();
    let (file, mistakes) = parser::parse(&source, sources.add(source.clone()));
    if !mistakes.is_empty() {
        // The compilation of the template reports it.
        return Ok(Vec::new());
    }
    let mut found: Vec<SecretParameter> = Vec::new();
    for decl in file.decls.iter().filter(|decl| label(decl) == Some(PARAMETERS)).flat_map(fields) {
        let Some(parameter) = label(decl) else { continue };
        for name in decl.comments.iter().flat_map(|group| &group.lines).filter_map(|line| marked(&line.text))
        {
            usable(name)?;
            if found.iter().any(|known| known.name == name) {
                return Err(format!(
                    "`{MARKER}{name}` stands above two parameters: give each a name of its own"
                ));
            }
            found.push(SecretParameter { parameter: parameter.to_owned(), name: name.to_owned() });
        }
    }
    let written = template.lines().filter(|line| marked(line).is_some()).count();
    if found.len() < written {
        return Err(format!(
            "`{MARKER}` is followed only above a field that stands directly in `{PARAMETERS}: {{…}}`"
        ));
    }
    Ok(found)
}

/// The comment's name for the content.
fn marked(line: &str) -> Option<&str> {
    line.trim().strip_prefix("//")?.trim_start().strip_prefix(MARKER).map(str::trim)
}

fn usable(name: &str) -> Result<(), String> {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !begins || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("`{MARKER}{name}` must be followed by a name of letters, digits and `_`"));
    }
    if TAKEN.contains(&name) {
        return Err(format!(
            "`{MARKER}{name}`: {name} means something else in a template; take another name"
        ));
    }
    Ok(())
}

/// The name of a field, where it is written plainly.
pub(super) fn label(decl: &Decl) -> Option<&str> {
    let DeclKind::Field(field) = &decl.kind else { return None };
    match &field.label.kind {
        LabelKind::Ident(name) => Some(name),
        LabelKind::String(name) => Some(name.trim_matches('"')),
        _ => None,
    }
}

/// The struct of a field.
pub(super) fn fields(decl: &Decl) -> &[Decl] {
    match &decl.kind {
        DeclKind::Field(field) => match &field.value.kind {
            ExprKind::Struct(body) => &body.decls,
            _ => &[],
        },
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(template: &str) -> Result<Vec<(String, String)>, String> {
        let pairs = |found: Vec<SecretParameter>| found.into_iter().map(|one| (one.parameter, one.name));
        secret_parameters(template, Era::default()).map(|found| pairs(found).collect())
    }

    #[test]
    fn a_parameter_is_found_beside_its_other_comments() {
        let template = "output: {}\nparameter: {\n\t// +usage=Which image\n\timage: string\n\n\t// +usage=Referred db secret\n\
                        \t// +insertSecretTo=dbConn\n\tdbSecret?: string\n}\n";
        assert_eq!(found(template), Ok(vec![("dbSecret".to_owned(), "dbConn".to_owned())]));
        assert_eq!(found("parameter: {a: string}"), Ok(Vec::new()));
        // Another check reports a text that does not parse.
        assert_eq!(found("// +insertSecretTo=a\nparameter: {"), Ok(Vec::new()));
    }

    #[test]
    fn a_marker_that_cannot_be_followed_is_told() {
        for (template, says) in [
            ("parameter: {db: {\n// +insertSecretTo=conn\nsecret: string\n}}", "directly in `parameter"),
            ("// +insertSecretTo=conn\noutput: {}\nparameter: {}", "directly in `parameter"),
            ("parameter: {\n// +insertSecretTo=\nsecret: string\n}", "letters"),
            ("parameter: {\n// +insertSecretTo=a.b\nsecret: string\n}", "letters"),
            (
                "parameter: {\n// +insertSecretTo=a\nb: string\n// +insertSecretTo=a\nc: string\n}",
                "two parameters",
            ),
            ("parameter: {\n// +insertSecretTo=output\nsecret: string\n}", "something else"),
        ] {
            let error = found(template).unwrap_err();
            assert!(error.contains(says), "{template}: {error}");
        }
    }
}
