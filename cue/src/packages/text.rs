//! Packages `encoding/base64`, `encoding/hex` and `html`: bytes and text in, encoded text out, and back.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hex::FromHexError;

use super::arguments::{any, bytes, integer, text};
use super::{ANY, BYTES, Data, Failure, INTEGER, Kinds, Package, TEXT, function};

type Outcome = Result<Data, Failure>;

const S: Kinds = Kinds::STRING;
const I: Kinds = Kinds::INT;
const BYTES_OR_TEXT: Kinds = Kinds::BYTES.or(Kinds::STRING);

pub(super) static BASE64: Package = Package {
    path: "encoding/base64",
    constants: &[],
    declarations: "",
    functions: &[
        function("EncodedLen", &[ANY, INTEGER], I, |a| standard_only(a).and_then(|()| scaled(a, 1, 3, 4, 2))),
        function("DecodedLen", &[ANY, INTEGER], I, |a| standard_only(a).and_then(|()| scaled(a, 1, 4, 3, 0))),
        function("Encode", &[ANY, BYTES], S, |a| {
            standard_only(a)?;
            Ok(Data::String(base64::engine::general_purpose::STANDARD.encode(bytes(a, 1)?)))
        }),
        function("Decode", &[ANY, TEXT], BYTES_OR_TEXT, |a| {
            standard_only(a)?;
            // Line breaks are ignored and unused bits of the last digit are not checked.
            let clean: Vec<u8> =
                bytes(a, 1)?.iter().copied().filter(|b| !matches!(b, b'\r' | b'\n')).collect();
            let config = GeneralPurposeConfig::new()
                .with_decode_allow_trailing_bits(true)
                .with_decode_padding_mode(DecodePaddingMode::RequireCanonical);
            GeneralPurpose::new(&alphabet::STANDARD, config)
                .decode(clean)
                .map(Data::Bytes)
                .map_err(|e| Failure::error(format!("illegal base64 data: {e}")))
        }),
    ],
};

pub(super) static HEX: Package = Package {
    path: "encoding/hex",
    constants: &[],
    declarations: "",
    functions: &[
        function("EncodedLen", &[INTEGER], I, |a| scaled(a, 0, 1, 2, 0)),
        function("DecodedLen", &[INTEGER], I, |a| scaled(a, 0, 2, 1, 0)),
        function("Decode", &[TEXT], BYTES_OR_TEXT, |a| {
            hex::decode(bytes(a, 0)?).map(Data::Bytes).map_err(|mistake| match mistake {
                FromHexError::InvalidHexCharacter { c, .. } => {
                    Failure::error(format!("encoding/hex: invalid byte: {c:?}"))
                }
                _ => Failure::error("encoding/hex: odd length hex string"),
            })
        }),
        function("Dump", &[BYTES], S, |a| Ok(Data::String(hex_dump(bytes(a, 0)?)))),
        function("Encode", &[BYTES], S, |a| Ok(Data::String(hex::encode(bytes(a, 0)?)))),
    ],
};

pub(super) static HTML: Package = Package {
    path: "html",
    constants: &[],
    declarations: "",
    functions: &[
        function("Escape", &[TEXT], S, |a| Ok(Data::String(html_escape(text(a, 0)?)))),
        function("Unescape", &[TEXT], S, |a| Ok(Data::String(super::entities::unescape(text(a, 0)?)))),
    ],
};

fn standard_only(a: &[Data]) -> Result<(), Failure> {
    match any(a, 0)? {
        Data::Null => Ok(()),
        _ => Err(Failure::error("unsupported encoding: cannot use value")),
    }
}

/// ⌈n·to/from⌉ in whole groups; `round` is added before dividing by `from`.
fn scaled(a: &[Data], index: usize, from: i64, to: i64, round: i64) -> Outcome {
    let n = integer(a, index)?;
    Ok(Data::int((n.saturating_add(round) / from).wrapping_mul(to)))
}

/// The layout of `hexdump -C`.
fn hex_dump(bytes: &[u8]) -> String {
    let mut out = String::new();
    for (row, chunk) in bytes.chunks(16).enumerate() {
        out.push_str(&format!("{:08x}", row * 16));
        for column in 0..16 {
            if column % 8 == 0 {
                out.push(' ');
            }
            match chunk.get(column) {
                Some(byte) => out.push_str(&format!(" {byte:02x}")),
                None => out.push_str("   "),
            }
        }
        out.push_str("  |");
        out.extend(chunk.iter().map(|b| if (32..=126).contains(b) { *b as char } else { '.' }));
        out.push_str("|\n");
    }
    out
}

pub(super) fn html_escape(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for c in source.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            _ => out.push(c),
        }
    }
    out
}
