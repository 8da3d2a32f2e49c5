//! Packs files into a compressed archive and unpacks it; the same files always give the same bytes.
//!
//! The format is what `tar xzf` reads (ustar, regular files only), so that anybody can look inside. Times, owners and modes
//! are the same for all, since an archive in a repository must change only when a file in it does.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Files by their paths below the root of the archive, with `/`.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Everything in a ustar file stands in blocks of this size.
const BLOCK: usize = 512;
/// The longest last part of a path, and what may stand before it.
const NAME: usize = 100;
const PREFIX: usize = 155;
/// No archive of ours unpacks to more than this many bytes.
const MAX_UNPACKED: u64 = 512 * 1024 * 1024;

/// Packs files in the order of their paths.
///
/// # Errors
/// When a path is too long for the format, or an archive would be larger than what [`unpack`] takes.
pub fn pack(files: &Files) -> Result<Vec<u8>, String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let mut length = 0;
    for (path, bytes) in files {
        let padding = bytes.len().next_multiple_of(BLOCK) - bytes.len();
        for part in [&header(path, bytes.len())?[..], bytes.as_slice(), &[0; BLOCK][..padding]] {
            length += part.len() as u64;
            encoder.write_all(part).map_err(|error| error.to_string())?;
        }
    }
    if length > MAX_UNPACKED {
        return Err(format!("the files are {length} bytes, and an archive holds at most {MAX_UNPACKED}"));
    }
    encoder.write_all(&[0; 2 * BLOCK]).map_err(|error| error.to_string())?;
    encoder.finish().map_err(|error| error.to_string())
}

/// The files of an archive that [`pack`] made.
///
/// # Errors
/// When the bytes are no such archive, or a path leads out of it.
pub fn unpack(archive: &[u8]) -> Result<Files, String> {
    let mut bytes = Vec::new();
    GzDecoder::new(archive)
        .take(MAX_UNPACKED)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("not a compressed archive: {error}"))?;
    let mut files = Files::new();
    let mut rest = bytes.as_slice();
    loop {
        let (header, after) = rest.split_at_checked(BLOCK).ok_or("the archive ends in the middle")?;
        if header.iter().all(|byte| *byte == 0) {
            return Ok(files);
        }
        let (path, length) = entry(header)?;
        let content = after.get(..length).ok_or_else(|| format!("{path} ends in the middle"))?;
        rest = after.get(length.next_multiple_of(BLOCK)..).ok_or("the archive ends in the middle")?;
        files.insert(path, content.to_vec());
    }
}

fn header(path: &str, length: usize) -> Result<[u8; BLOCK], String> {
    let (prefix, name) = split(path).ok_or_else(|| format!("{path} is too long for an archive"))?;
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{length:011o}"));
    put(136, "00000000000");
    // The checksum counts its own field as spaces.
    put(148, "        ");
    put(156, "0");
    put(257, "ustar");
    put(263, "00");
    put(345, prefix);
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    Ok(header)
}

/// A path in the two parts that the format has room for.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= NAME {
        return Some(("", path));
    }
    let mut parts = path.match_indices('/').map(|(at, _)| (&path[..at], &path[at + 1..]));
    parts.find(|(prefix, name)| prefix.len() <= PREFIX && name.len() <= NAME)
}

/// Path and length of the file whose header this is.
fn entry(header: &[u8]) -> Result<(String, usize), String> {
    let text = |at: usize, length: usize| -> Result<&str, String> {
        let field = &header[at..at + length];
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(length);
        std::str::from_utf8(&field[..end]).map_err(|error| error.to_string())
    };
    if text(257, 6)? != "ustar" || header[156] != b'0' {
        return Err("the archive holds something else than files".to_owned());
    }
    let (name, prefix) = (text(0, NAME)?, text(345, PREFIX)?);
    let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
    if path.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        return Err(format!("the path {path:?} leads out of the archive"));
    }
    let length =
        usize::from_str_radix(text(124, 12)?.trim(), 8).map_err(|error| format!("{path}: {error}"))?;
    Ok((path, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[(&str, &str)]) -> Files {
        paths.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn what_is_packed_is_unpacked_and_the_bytes_are_always_the_same() {
        let long = format!("{}/{}", "folder/".repeat(15).trim_end_matches('/'), "n".repeat(90));
        let files = files(&[("a/b.cue", "a: 1\n"), ("a/empty", ""), (&long, &"x".repeat(BLOCK + 1))]);
        let archive = pack(&files).unwrap();
        assert_eq!(unpack(&archive).unwrap(), files);
        assert_eq!(pack(&files).unwrap(), archive);
    }

    #[test]
    fn what_is_no_archive_is_told_and_no_path_leads_out() {
        assert!(unpack(b"text").unwrap_err().contains("not a compressed archive"));
        for path in ["../a", "/a", "a//b", "a/./b"] {
            let archive = pack(&files(&[(path, "")])).unwrap();
            assert!(unpack(&archive).unwrap_err().contains("leads out of the archive"), "{path}");
        }
        assert!(pack(&files(&[(&"n".repeat(NAME + 1), "")])).unwrap_err().contains("too long"));
        let half = GzEncoder::new(Vec::new(), Compression::best()).finish().unwrap();
        assert!(unpack(&half).unwrap_err().contains("ends in the middle"));
    }
}
