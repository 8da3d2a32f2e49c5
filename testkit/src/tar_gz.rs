//! Packs files into a compressed archive and unpacks it; the same files always give the same bytes.
//!
//! Times, owners and modes are the same for all, since an archive in a repository must change only when a file in it does.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Component;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, Header};

/// Files by their paths below the root of the archive, with `/`.
pub type Files = BTreeMap<String, Vec<u8>>;

/// No archive of ours unpacks to more than this many bytes.
const MAX_UNPACKED: u64 = 512 * 1024 * 1024;

/// Packs files in the order of their paths.
///
/// # Errors
/// When a path leads out of the archive, or it would be larger than what [`unpack`] takes.
pub fn pack(files: &Files) -> Result<Vec<u8>, String> {
    let length: u64 = files.values().map(|bytes| bytes.len() as u64).sum();
    if length > MAX_UNPACKED {
        return Err(format!("the files are {length} bytes, and an archive holds at most {MAX_UNPACKED}"));
    }
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    for (path, bytes) in files {
        let mut header = Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, path, bytes.as_slice())
            .map_err(|error| format!("{path} cannot be packed: {error}"))?;
    }
    archive.into_inner().and_then(GzEncoder::finish).map_err(|error| error.to_string())
}

/// The files of an archive that [`pack`] made.
///
/// # Errors
/// When the bytes are no such archive, or a path leads out of it.
pub fn unpack(archive: &[u8]) -> Result<Files, String> {
    let broken = |error: std::io::Error| format!("not a compressed archive: {error}");
    let mut files = Files::new();
    for entry in Archive::new(GzDecoder::new(archive).take(MAX_UNPACKED)).entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let path = entry.path().map_err(broken)?.into_owned();
        if !entry.header().entry_type().is_file() {
            return Err(format!("{}: the archive holds something else than files", path.display()));
        }
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        let path = path.to_str().filter(|_| is_inside);
        let path = path.ok_or("a path leads out of the archive, or is no text")?.to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(broken)?;
        files.insert(path, bytes);
    }
    Ok(files)
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
        let files = files(&[("a/b.cue", "a: 1\n"), ("a/empty", ""), (&long, &"x".repeat(513))]);
        let archive = pack(&files).unwrap();
        assert_eq!(unpack(&archive).unwrap(), files);
        assert_eq!(pack(&files).unwrap(), archive);
    }

    #[test]
    fn what_is_no_archive_is_told_and_no_path_leads_out() {
        assert!(unpack(b"text").unwrap_err().contains("not a compressed archive"));
        for path in ["../a", "/a"] {
            assert!(pack(&files(&[(path, "")])).unwrap_err().contains("cannot be packed"), "{path}");
        }
        let whole = pack(&files(&[("a", &"x".repeat(5000))])).unwrap();
        assert!(unpack(&whole[..whole.len() / 2]).unwrap_err().contains("not a compressed archive"));
    }
}
