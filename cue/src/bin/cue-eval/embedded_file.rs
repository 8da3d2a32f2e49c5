//! The name of a file in; its content as one expression of CUE out.

use std::io::Read as _;
use std::path::Path;

use vela_cue::packages::{self, Data, Failure};
use vela_cue::{Format, Source, data_file, literal};

/// Most bytes of one file.
const MAX_BYTES: u64 = 16 << 20;

/// How the content of a file is read.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// A value of JSON, YAML or TOML.
    Value(Format),
    /// A string.
    Text,
    /// Bytes.
    Binary,
}

impl Kind {
    /// The value of `type=`.
    ///
    /// # Errors
    /// A word for which there is no reader.
    pub(crate) fn of_word(word: &str) -> Result<Self, String> {
        match (word, Format::of_word(word)) {
            ("text", _) => Ok(Self::Text),
            ("binary", _) => Ok(Self::Binary),
            (_, Some(format @ (Format::Json | Format::Yaml | Format::Toml))) => Ok(Self::Value(format)),
            _ => Err(format!(
                "files of type {word:?} cannot be embedded: there are json, yaml, toml, text and binary"
            )),
        }
    }

    /// The encoding by the ending of a name.
    ///
    /// # Errors
    /// An ending for which there is no reader.
    pub(crate) fn of_name(name: &str) -> Result<Self, String> {
        match Format::of_name(name) {
            Some(format @ (Format::Json | Format::Yaml | Format::Toml)) => Ok(Self::Value(format)),
            _ if name.ends_with(".txt") => Ok(Self::Text),
            _ => {
                Err(format!("the name {name:?} does not tell how the file is written: write type=text, say"))
            }
        }
    }
}

/// The content of a file below `folder`; its name tells the encoding where the attribute does not.
///
/// # Errors
/// It is not there, too large, of another module, or not written as it should be.
pub(crate) fn content(folder: &Path, name: &str, kind: Option<Kind>) -> Result<String, String> {
    let kind = kind.map_or_else(|| Kind::of_name(name), Ok)?;
    let parents = Path::new(name).ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    if parents.map(|parent| folder.join(parent)).any(|parent| parent.join("cue.mod").exists()) {
        return Err(format!("cannot embed {name:?}: it belongs to another module"));
    }
    let bytes = bytes(&folder.join(name)).map_err(|e| format!("cannot embed {name:?}: {e}"))?;
    expression(bytes, name, kind)
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    if path.is_dir() {
        return Err("it is a folder".into());
    }
    let file = std::fs::File::open(path).map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    Ok(bytes)
}

fn expression(bytes: Vec<u8>, name: &str, kind: Kind) -> Result<String, String> {
    let format = match kind {
        Kind::Binary => return Ok(written(&Data::Bytes(bytes))),
        Kind::Text => None,
        Kind::Value(format) => Some(format),
    };
    let text = String::from_utf8(bytes).map_err(|_| format!("{name} is not valid UTF-8"))?;
    let Some(format) = format else { return Ok(literal::quote_string(&text)) };
    let source = Source::new(name, text).with_format(format);
    let documents =
        data_file::documents(&source).map_err(|mistake| format!("{name}: {}", mistake.title()))?;
    if documents > 1 {
        return Err(format!("{name} holds {documents} values; one can be embedded"));
    }
    let read = match format {
        Format::Json => packages::json_read(source.text.as_bytes()),
        Format::Toml => packages::toml_read(&source.text),
        _ => packages::yaml_read(&source.text),
    };
    match read {
        Ok(data) => Ok(written(&data)),
        Err(Failure::Error(message) | Failure::Budget(message)) => Err(format!("{name}: {message}")),
        Err(Failure::Incomplete(_)) => Err(format!("{name} has no value")),
    }
}

/// The data in one line.
fn written(data: &Data) -> String {
    match data {
        Data::List(items) => {
            format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", "))
        }
        Data::Struct(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{}: {}", literal::quote_string(name), written(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Data::Bytes(bytes) => literal::quote_bytes(bytes),
        Data::String(text) => literal::quote_string(text),
        // A scalar always has a text.
        scalar => packages::json_marshal(scalar).unwrap_or_else(|_| "_|_".into()),
    }
}
