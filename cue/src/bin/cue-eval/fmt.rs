//! `fmt`: files in; their formatted text, a list or a diff out.

use super::arguments::Arguments;
use super::failure::Failure;
use super::{diff, inputs};
use vela_cue::format;

pub(crate) fn run(arguments: &Arguments) -> Result<String, Failure> {
    let sources = inputs::sources(&arguments.inputs)?;
    let files = inputs::parsed(&sources)?;
    let (mut out, mut differs) = (String::new(), false);
    for (file, source) in files.iter().zip(&sources) {
        let text = if arguments.simplify {
            format::format_simplified(file, &source.text)
        } else {
            format::format_file(file, &source.text)
        };
        let changed = text != source.text;
        differs |= changed;
        if arguments.diff {
            out.push_str(&diff::unified(&source.name, &source.text, &text));
        } else if arguments.check {
            if changed {
                out.push_str(&format!("{}\n", source.name));
            }
        } else if arguments.write && source.name != "-" {
            if changed {
                std::fs::write(&source.name, text)
                    .map_err(|e| Failure::Message(format!("cannot write {}: {e}", source.name)))?;
            }
        } else {
            out.push_str(&text);
        }
    }
    if differs && (arguments.check || arguments.diff) { Err(Failure::Printed(out)) } else { Ok(out) }
}
