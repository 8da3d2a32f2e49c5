//! File arguments in, sources with their formats out.

use std::io::Read as _;

use vela_cue::{Format, Source};

use super::failure::Failure;

/// All files; a word such as `yaml:` says how those behind it are written.
pub(crate) fn all(arguments: &[String]) -> Result<Vec<Source>, Failure> {
    let mut format = None;
    let mut sources = Vec::new();
    for argument in arguments {
        match argument.strip_suffix(':') {
            Some(word) => {
                let found = Format::of_word(word).ok_or_else(|| {
                    Failure::Message(format!("unknown filetype {word:?}: there are cue, json, yaml and toml"))
                })?;
                format = Some(found);
            }
            None => sources.push(one(argument, format)?),
        }
    }
    Ok(sources)
}

fn one(name: &str, format: Option<Format>) -> Result<Source, Failure> {
    let mut bytes = Vec::new();
    let result = if name == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(name).map(|content| bytes = content)
    };
    result.map_err(|e| Failure::Message(format!("cannot read {name}: {e}")))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Failure::Message(format!("{name} is not valid UTF-8 (first wrong byte at offset {at})"))
    })?;
    Ok(Source::new(name, text).with_format(format.or_else(|| Format::of_name(name)).unwrap_or_default()))
}

/// Files for commands and tests are no part of the package's value.
pub(crate) fn is_side_file(name: &str) -> bool {
    name.ends_with("_tool.cue") || name.ends_with("_test.cue")
}
