//! Unpacks content that upstream packs in records and revisions (`spec.compression`) into its JSON; packs nothing.

mod bits;
mod block;
mod fse;
mod huffman;
mod sequences;
mod zstd;

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use vela_crds::Compression;

/// Packed content that becomes larger than this is refused: an API server stores objects of a few MiB at most.
const BYTES_AT_MOST: usize = 64 << 20;

/// The packed content; nothing where nothing is packed.
///
/// # Errors
/// Why it cannot be unpacked, and what to do.
pub(crate) fn content(compression: &Compression) -> Result<Option<Value>, String> {
    let Some(data) = compression.data.as_deref().filter(|data| !data.is_empty()) else { return Ok(None) };
    let packed = STANDARD.decode(data.trim()).map_err(|error| format!("the data is not base64: {error}"))?;
    let text = match compression.compression_type.as_deref().unwrap_or_default() {
        "gzip" => gunzip(&packed)?,
        "zstd" => zstd::decompress(&packed, BYTES_AT_MOST).map_err(|error| format!("zstd: {error}"))?,
        other => {
            return Err(format!("type {other:?} is not known: expected gzip or zstd; store it uncompressed"));
        }
    };
    let value = serde_json::from_slice(&text);
    value.map(Some).map_err(|error| format!("the unpacked content is not JSON: {error}"))
}

fn gunzip(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let limit = u64::try_from(BYTES_AT_MOST).unwrap_or(u64::MAX);
    let mut reader = flate2::read::GzDecoder::new(packed).take(limit.saturating_add(1));
    reader.read_to_end(&mut text).map_err(|error| format!("gzip: {error}"))?;
    if text.len() > BYTES_AT_MOST {
        return Err(format!("gzip: more than {BYTES_AT_MOST} bytes when unpacked"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The objects of a tracker, packed by the tools of each format.
    const ZSTD: &str = "KLUv/WQSAL0DANIGFhlwS9vwaNBJRdZh8JnUoNMu/xweFxYAVUUIiMRfiWoExSFMwTe18TO1XH4OUS+UBFNTnlTIxo\
        s2/jHdJ0MXL3xyJEM/sHECb+HiAAJYVbMx5q264dT8OAQKAG+Epw0pbKxFXJz2BQfI0PEmhaeiDHULUzahqzjX0A==";
    const GZIP: &str = "H4sIAAAAAAACA52NsQrCUAxF/yXzA3HtWlcnwUU6hJpK0JeEl0dRiv9uKhXEoYNb7rnh3NMEaHyk4qwCTQTzzbiFBF\
        eWc4Ad2U0fmaQGE8zkhj1FIb6AuIei777XbCrz74c908/At/tAZeSQ/SNOUAvynOlu6rS+1KoMfNmjrWyJ1rB0L9xH\
        bTwSAQAA";
    /// Sixty lines that are like each other, as small as it goes.
    const LINES: &str = "KLUv/WSuA60LAMJNIhWQKW346z/wj1JVLSs3SZQky4w5zk6A4zgm62x4syu3upFC0xmV0osQIddkNbVUnUoM7bMX38\
        svl6B9t4IvI2VnpeoL7fBKW1reF5fY1a6px9odDodJvEJ+rJvbMgxjkqiOY7IOEZP+DboYJm8vTJISwuTLg8FgEk0g\
        mHQDk1WASZrCYmgICkQigKuosJZJknYDsEoCDLoNIMyyjgGydwpjtF5RVjbVYpuFi4Nt6SalWk6GpiYgm6dCHHP6jH\
        WuJqRWsCW2lsJiYJf8ZTGWEHToqV3x1CA7vuZUv+HV9nJYmLAIq042MfymtBtTng0hYk1rSig1ehTjtrox2wM2Dnby\
        aBYqNhkGnZHSV6hosvNU7V2c4vWJFOAmJ4po/OR/VbdpUEq+UlGrU0XmLHeZZWQfMmMnxWXG/rAr9RYzRLoZKBg5xW\
        ShIznNyUsJ2Rdp63LddKXyYXCf97KvcrFwmHcgR0kGIQd9Q9L1yTkj0K7ILAUclqeE";

    fn packed(type_: &str, data: &str) -> Compression {
        Compression { compression_type: Some(type_.to_owned()), data: Some(data.to_owned()) }
    }

    #[test]
    fn what_is_packed_is_read() {
        let wanted = json!([
            {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "ns", "name": "front", "component": "front"},
            {"apiVersion": "v1", "kind": "Service", "namespace": "ns", "name": "front", "component": "front",
                "trait": "expose"},
            {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "ns", "name": "note"},
        ]);
        for (type_, data) in [("zstd", ZSTD), ("gzip", GZIP)] {
            assert_eq!(content(&packed(type_, data)), Ok(Some(wanted.clone())), "{type_}");
        }
        assert_eq!(content(&Compression::default()), Ok(None));
    }

    #[test]
    fn a_text_that_repeats_itself_comes_back_as_it_was() {
        let line = |number: usize| {
            let letter = char::from(b'a' + u8::try_from(number % 10).unwrap());
            format!("line {number} of {}: {}", number * number, letter.to_string().repeat(number % 7))
        };
        let mut lines = (0..60).map(line).collect::<Vec<_>>().join("\n");
        lines.push('\n');
        let unpacked = zstd::decompress(&STANDARD.decode(LINES).unwrap(), BYTES_AT_MOST).unwrap();
        assert_eq!(String::from_utf8(unpacked).unwrap(), lines);
    }

    #[test]
    fn what_is_broken_or_too_large_is_an_error() {
        let error = |compression| content(&compression).unwrap_err();
        assert!(error(packed("lzma", "AAAA")).contains("expected gzip or zstd"));
        assert!(error(packed("zstd", "no base64")).contains("not base64"));
        assert!(error(packed("zstd", "AAAA")).contains("zstd"));
        assert!(error(packed("gzip", "AAAA")).contains("gzip"));
        let whole = STANDARD.decode(ZSTD).unwrap();
        assert!(zstd::decompress(&whole, 10).unwrap_err().contains("more than 10 bytes"));
        for end in 1..whole.len() {
            assert!(
                zstd::decompress(&whole[..end], BYTES_AT_MOST).is_err(),
                "{end} bytes of it are no frame"
            );
        }
        // No change of any byte may end in a panic.
        for at in 0..whole.len() {
            for byte in [0, 0x55, 0xff] {
                let mut broken = whole.clone();
                broken[at] = byte;
                let _ = zstd::decompress(&broken, BYTES_AT_MOST);
            }
        }
    }
}
