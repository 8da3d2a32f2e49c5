//! Writes log lines to one file that is rotated by size; older files are compressed and deleted after some days.
//!
//! Not by a crate: file-rotate compresses while the line that filled the file waits, logroller deletes by number only, and
//! both bring chrono.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;

/// How the time stands in the name of a rotated file: sortable, and a name on every file system.
const STAMP: &str = "%Y-%m-%dT%H-%M-%S%.6f";
const COMPRESSED: &str = "gz";

/// When to rotate, and what becomes of rotated files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rotation {
    /// Bytes after which a new file is begun; nothing means never.
    pub(crate) size: Option<u64>,
    /// How long a rotated file is kept; nothing means for ever.
    pub(crate) max_age: Option<Duration>,
    /// Compress rotated files.
    pub(crate) compress: bool,
}

/// The open log file. Each write is one whole line and stays in one file.
#[derive(Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    rotation: Rotation,
    file: File,
    written: u64,
}

impl LogFile {
    /// Continue the file, or begin it with its folder.
    pub(crate) fn open(path: &Path, rotation: Rotation) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let written = file.metadata()?.len();
        let log = Self { path: path.to_owned(), rotation, file, written };
        // Files of an earlier process are treated the same.
        log.clean_up();
        Ok(log)
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file.flush()?;
        let stamp = Timestamp::now().strftime(STAMP).to_string();
        let (stem, extension) = parts(&self.path);
        std::fs::rename(&self.path, self.path.with_file_name(format!("{stem}-{stamp}{extension}")))?;
        self.file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        Ok(())
    }

    /// Compress and delete beside the writing, which must not wait for it.
    fn clean_up(&self) {
        let (path, rotation) = (self.path.clone(), self.rotation);
        let work = move || {
            if let Err(error) = clean_up(&path, rotation, Timestamp::now()) {
                // The log cannot tell its own trouble.
                eprintln!("vela-core: cannot tidy up beside the log file {}: {error}", path.display());
            }
        };
        // Without a thread the files wait for the next rotation.
        let _ = std::thread::Builder::new().name("log-file".into()).spawn(work);
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let length = line.len() as u64;
        let full = self.rotation.size.is_some_and(|size| self.written > 0 && self.written + length > size);
        if full {
            // Where it cannot be rotated, lines go on into the same file, and the next try comes a full size later.
            match self.rotate() {
                Ok(()) => self.clean_up(),
                Err(error) => {
                    eprintln!("vela-core: cannot rotate the log file {}: {error}", self.path.display())
                }
            }
            self.written = 0;
        }
        self.file.write_all(line)?;
        self.written += length;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The name before its extension, and the extension with its dot.
fn parts(path: &Path) -> (String, String) {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy()));
    (stem, extension.unwrap_or_default())
}

/// One look at all rotated files of this log.
fn clean_up(path: &Path, rotation: Rotation, now: Timestamp) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    for entry in std::fs::read_dir(folder)? {
        let file = entry?.path();
        let Some((stamp, compressed)) = stamp(path, &file) else { continue };
        let age = Duration::try_from(now.duration_since(stamp)).unwrap_or_default();
        if rotation.max_age.is_some_and(|max_age| age > max_age) {
            std::fs::remove_file(&file)?;
        } else if rotation.compress && !compressed {
            compress(&file)?;
        }
    }
    Ok(())
}

/// When this file was rotated away and whether it is compressed; nothing for files that are not ours.
fn stamp(path: &Path, file: &Path) -> Option<(Timestamp, bool)> {
    let (stem, extension) = parts(path);
    let name = file.file_name()?.to_str()?;
    let (name, compressed) = match name.strip_suffix(COMPRESSED).and_then(|name| name.strip_suffix('.')) {
        Some(name) => (name, true),
        None => (name, false),
    };
    let stamp = name.strip_prefix(&stem)?.strip_prefix('-')?.strip_suffix(&extension)?;
    let time = jiff::civil::DateTime::strptime(STAMP, stamp).ok()?;
    Some((time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp(), compressed))
}

/// Compress into a file of another name first, so that a kill leaves no half file under the real one.
fn compress(file: &Path) -> io::Result<()> {
    let named = |extension: &str| {
        let mut name = file.as_os_str().to_owned();
        name.push(extension);
        PathBuf::from(name)
    };
    let (unfinished, finished) = (named(".part"), named(&format!(".{COMPRESSED}")));
    let mut encoder = GzEncoder::new(File::create(&unfinished)?, Compression::default());
    io::copy(&mut BufReader::new(File::open(file)?), &mut encoder)?;
    encoder.finish()?.sync_all()?;
    std::fs::rename(&unfinished, &finished)?;
    std::fs::remove_file(file)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_full_file_is_rotated_and_no_line_is_lost_or_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/vela.log");
        let rotation = Rotation { size: Some(100), max_age: None, compress: false };
        for _ in 0..2 {
            // The second process continues the file of the first.
            let mut log = LogFile::open(&path, rotation).unwrap();
            for number in 0..10 {
                log.write_all(format!("line {number} of some length\n").as_bytes()).unwrap();
            }
        }
        let folder = path.parent().unwrap();
        let names = names(folder);
        assert!(names.len() > 4, "{names:?}");
        let mut lines = 0;
        for name in &names {
            let text = std::fs::read_to_string(folder.join(name)).unwrap();
            assert!(text.len() <= 100 && text.ends_with('\n'), "{name}: {text:?}");
            lines += text.lines().filter(|line| line.ends_with("of some length")).count();
        }
        assert_eq!(lines, 20);
    }

    #[test]
    fn rotated_files_are_compressed_and_old_ones_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vela.log");
        let write = |name: &str| std::fs::write(folder.path().join(name), "text\n").unwrap();
        let kept = ["vela.log", "vela-notes.log", "other-2020-01-01T00-00-00.000000.log", "vela-2020.log.gz"];
        kept.into_iter().for_each(write);
        write("vela-2026-01-01T00-00-00.000000.log");
        write("vela-2026-01-01T00-00-00.000000.log.gz");
        write("vela-2026-01-09T00-00-00.000000.log");
        let rotation = Rotation { size: None, max_age: Some(7 * DAY), compress: true };
        clean_up(&path, rotation, "2026-01-10T00:00:00Z".parse().unwrap()).unwrap();
        let mut expected: Vec<_> = kept.map(str::to_owned).to_vec();
        expected.push("vela-2026-01-09T00-00-00.000000.log.gz".into());
        expected.sort();
        assert_eq!(names(folder.path()), expected);
        let packed = File::open(folder.path().join("vela-2026-01-09T00-00-00.000000.log.gz")).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap();
        assert_eq!(text, "text\n");
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let rotation = Rotation { size: None, max_age: None, compress: false };
        assert!(LogFile::open(folder.path(), rotation).is_err());
    }
}
