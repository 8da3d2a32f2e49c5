//! Templates in the language of `kubectl -o jsonpath=…`: texts, paths in braces, and ranges of paths.

mod parse;
mod part;
mod path;

use serde_json::{Value, json};

use self::part::Part;

/// Longest template.
const TEMPLATE_MAX_BYTES: usize = 16 * 1024;
/// Longest text that a template may make.
const TEXT_MAX_BYTES: usize = 256 * 1024 * 1024;

/// A template, read and found to be right. One run reads few of them, so they stay to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Template(&'static [Part]);

impl Template {
    /// # Errors
    /// Where the template is wrong, and how it would be right.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        if text.len() > TEMPLATE_MAX_BYTES {
            return Err(format!(
                "the template is {} bytes long, at most {TEMPLATE_MAX_BYTES} are read",
                text.len()
            ));
        }
        parse::template(text).map(|parts| Self(parts.leak()))
    }

    /// The text that it makes of a value; a list is `.items` of what the template sees, as of a list of Kubernetes.
    ///
    /// # Errors
    /// Which path asks for an element that a list does not have, or that the text would be too long.
    pub(crate) fn text(self, value: &Value) -> Result<String, String> {
        let mut out = String::new();
        match value {
            Value::Array(items) => {
                print(self.0, &json!({"apiVersion": "v1", "kind": "List", "items": items}), &mut out)?
            }
            value => print(self.0, value, &mut out)?,
        }
        Ok(out)
    }
}

fn print(parts: &[Part], value: &Value, out: &mut String) -> Result<(), String> {
    for part in parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Path(path) => {
                for (index, found) in path.find(value)?.into_iter().enumerate() {
                    if index > 0 {
                        out.push(' ');
                    }
                    match found {
                        Value::String(text) => out.push_str(text),
                        found => out.push_str(&found.to_string()),
                    }
                }
            }
            Part::Range(path, parts) => {
                path.find(value)?.into_iter().try_for_each(|found| print(parts, found, out))?;
            }
        }
        if out.len() > TEXT_MAX_BYTES {
            return Err(format!("the template makes a text of more than {TEXT_MAX_BYTES} bytes"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
