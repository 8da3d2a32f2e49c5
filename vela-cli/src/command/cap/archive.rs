//! The layers of an artefact → the files of one folder, bounded in entries and size. Nothing is unpacked onto the disk.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Component, Path};

use flate2::read::MultiGzDecoder;
use tar::Archive;

use super::file::{File, LARGEST, is_wanted, too_large};
use crate::error::{Error, Failure, Result};

/// Bytes of all files of a layer, those that are no definitions among them.
const LARGEST_LAYER: u64 = 256 * 1024 * 1024;
/// Entries of a layer.
const MOST_ENTRIES: usize = 50_000;
/// What begins the name of a file that takes away another of the layers below.
const TAKEN: &str = ".wh.";
/// Takes away all of its folder.
const TAKEN_ALL: &str = ".wh..opq";

/// The files of the folder in the layers so far, by name: those of a later layer stand in place of the earlier ones.
pub(super) struct Layers<'a> {
    /// Empty for what lies in no folder.
    folder: &'a str,
    files: BTreeMap<String, Vec<u8>>,
}

impl<'a> Layers<'a> {
    pub(super) fn new(folder: &'a str) -> Self {
        Self { folder, files: BTreeMap::new() }
    }

    /// Adds a layer that is one file.
    pub(super) fn file(&mut self, path: &str, bytes: Vec<u8>) -> Result<()> {
        let Some(name) = self.name(Path::new(path)) else { return Ok(()) };
        match is_wanted(&name, self.files.len())? {
            true if bytes.len() > LARGEST => Err(too_large(path)),
            true => {
                self.files.insert(name, bytes);
                Ok(())
            }
            false => Ok(()),
        }
    }

    /// Adds a layer that is an archive, compressed or not.
    pub(super) fn archive(&mut self, bytes: &[u8], what: &str) -> Result<()> {
        let broken = |why: &dyn std::fmt::Display| -> Failure {
            let error = Error::user(format!("{what} is no archive that can be read: {why}"));
            error.hint("push the artefact again").into()
        };
        let is_compressed = bytes.starts_with(&[0x1f, 0x8b]);
        let plain: Box<dyn Read + '_> =
            if is_compressed { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) };
        let mut archive = Archive::new(Bounded { inner: plain, left: LARGEST_LAYER });
        for (index, entry) in archive.entries().map_err(|error| broken(&error))?.enumerate() {
            let mut entry = entry.map_err(|error| broken(&error))?;
            if index >= MOST_ENTRIES {
                return Err(broken(&format!("it has more than {MOST_ENTRIES} entries")));
            }
            let path = entry.path().map_err(|error| broken(&error))?.into_owned();
            let Some(name) = self.name(&path) else { continue };
            if name == TAKEN_ALL {
                self.files.clear();
            } else if let Some(taken) = name.strip_prefix(TAKEN) {
                self.files.remove(taken);
            } else if entry.header().entry_type().is_file() && is_wanted(&name, self.files.len())? {
                if entry.size() > LARGEST as u64 {
                    return Err(too_large(&path.display().to_string()));
                }
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).map_err(|error| broken(&error))?;
                self.files.insert(name, bytes);
            }
        }
        Ok(())
    }

    /// The files, in the order of their names.
    pub(super) fn files(self) -> Vec<File> {
        self.files.into_iter().map(|(name, bytes)| File { name, bytes }).collect()
    }

    /// The name of what lies in the folder itself, and in no folder of it.
    fn name(&self, path: &Path) -> Option<String> {
        let mut parts = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(part) => parts.push(part.to_str()?),
                Component::CurDir | Component::RootDir => {}
                Component::ParentDir | Component::Prefix(_) => return None,
            }
        }
        let name = parts.pop()?;
        (parts.join("/") == self.folder).then(|| name.to_owned())
    }
}

/// Ends with an error where more comes than allowed: a small archive can hold much.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::other(format!("its files are larger than {} MiB", LARGEST_LAYER >> 20))
        })?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use vela_testkit::tar_gz::{Files, pack};

    use super::*;

    fn packed(files: &[(&str, &str)]) -> Vec<u8> {
        let files: Files =
            files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        pack(&files).unwrap()
    }

    #[test]
    fn files_of_later_layers_stand_for_the_earlier_ones() {
        let mut layers = Layers::new("types");
        let first = [("types/a.yaml", "1"), ("types/b.yaml", "1"), ("types/in/c.yaml", "1"), ("d.yaml", "1")];
        layers.archive(&packed(&first), "layer 1").unwrap();
        layers.archive(&packed(&[("types/a.yaml", "2"), ("types/.wh.b.yaml", "")]), "layer 2").unwrap();
        layers.file("types/e.cue", b"3".to_vec()).unwrap();
        let files: Vec<_> = layers.files().into_iter().map(|file| (file.name, file.bytes)).collect();
        assert_eq!(files, [("a.yaml".to_owned(), b"2".to_vec()), ("e.cue".to_owned(), b"3".to_vec())]);
    }

    #[test]
    fn broken_and_large_archives_are_told() {
        let message =
            |bytes: &[u8]| Layers::new("").archive(bytes, "layer 1").unwrap_err().texts().join("\n");
        assert!(message(b"text").contains("layer 1 is no archive"));
        let whole = packed(&[("a.yaml", &"a: 1\n".repeat(1000))]);
        assert!(message(&whole[..whole.len() / 2]).contains("layer 1 is no archive"));
        let large = "x".repeat(LARGEST + 1);
        assert!(message(&packed(&[("a.yaml", &large)])).contains("a.yaml is larger than 1 MiB"));
        assert!(Layers::new("").file("a.yaml", large.into_bytes()).is_err());
    }

    #[test]
    fn a_small_archive_of_much_is_not_read_to_its_end() {
        let bounded = &mut Bounded { inner: io::repeat(0), left: 1000 };
        assert!(io::copy(bounded, &mut io::sink()).unwrap_err().to_string().contains("larger than"));
    }
}
