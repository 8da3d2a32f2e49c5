//! The objects of a store in one file (redb): every change is on disk before it is acknowledged, and nothing is read
//! that is not what was written.
//!
//! A file is checked as a whole when it is opened, and every record carries a checksum of its key and text, so that
//! an object is either what was acknowledged or an error that names it.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, TableDefinition};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::entry::{Entry, Key};
use super::private;

const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const REVISION: &str = "revision";
const FORMAT: &str = "format";
/// The layout of the file; a file with another number is refused instead of misread. Files of the layout before, whose
/// records have no checksums, are rewritten when they are opened.
const FORMAT_VERSION: u64 = 2;
const FORMAT_WITHOUT_CHECKSUMS: u64 = 1;
/// Separates resource, namespace and name, none of which can contain it.
const SEPARATOR: char = '\0';
/// How many bytes of its SHA-256 stand before each record: enough to notice damage, which is no attack.
const CHECKSUM_BYTES: usize = 8;
/// The thread that checks files. Our error repeats the database's message about a damaged one.
pub const CHECK_THREAD: &str = "store-check";

/// Why the file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk or its permissions refused; the change was not made.
    #[error("storage file: {0}")]
    Io(#[source] std::io::Error),
    /// Another process, or another store of this one, has it open.
    #[error("storage file: it is open in another process")]
    Held,
    /// The database refused; the change was not made.
    #[error("storage file: {0}")]
    Database(String),
    /// The content of the file is foreign or damaged.
    #[error("storage file is damaged: {0}")]
    Damaged(String),
}

impl From<DatabaseError> for Error {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::DatabaseAlreadyOpen => Self::Held,
            DatabaseError::Storage(error) => error.into(),
            other => Self::Database(other.to_string()),
        }
    }
}

impl From<StorageError> for Error {
    fn from(error: StorageError) -> Self {
        match error {
            // The file is shorter than what it says of itself, or does not begin like one of ours.
            StorageError::Io(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::InvalidData
                ) =>
            {
                Self::Damaged(error.to_string())
            }
            StorageError::Io(error) => Self::Io(error),
            StorageError::Corrupted(what) => Self::Damaged(what),
            other => Self::Database(other.to_string()),
        }
    }
}

impl From<redb::Error> for Error {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(error) => StorageError::Io(error).into(),
            redb::Error::Corrupted(what) => Self::Damaged(what),
            // A table of ours that is of another type is not a table of ours.
            redb::Error::TableTypeMismatch { .. } | redb::Error::TypeDefinitionChanged { .. } => {
                Self::Damaged(error.to_string())
            }
            other => Self::Database(other.to_string()),
        }
    }
}

type Open = dyn Fn() -> Result<Database, DatabaseError> + Send + Sync;

/// An open storage file.
pub(crate) struct File {
    open: Box<Open>,
    /// Empty after a failed write: the next one opens the file anew, because the database refuses all work after an
    /// I/O error until it has checked itself again.
    database: Mutex<Option<Arc<Database>>>,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("File")
    }
}

/// All that a file holds.
pub(crate) struct Loaded {
    pub(crate) revision: u64,
    pub(crate) objects: Vec<(Key, Entry)>,
}

impl File {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let path = path.to_owned();
        Self::with(Box::new(move || {
            let file = private::open(&path).map_err(StorageError::Io)?;
            Database::builder().create_file(file)
        }))
    }

    pub(crate) fn with(open: Box<Open>) -> Result<Self, Error> {
        let database = Self::checked(&open)?;
        let file = Self { open, database: Mutex::new(Some(Arc::new(database))) };
        file.prepare()?;
        Ok(file)
    }

    /// Opens the database and reads all of it once. The database panics on some kinds of damage, which is no reason
    /// for us to end: the check runs apart, and a panic of it is damage.
    fn checked(open: &Open) -> Result<Database, Error> {
        let check = || -> Result<Database, Error> {
            let mut database = open()?;
            if database.check_integrity()? {
                return Ok(database);
            }
            // A repaired file may have lost its last changes: only a second look that finds nothing is trusted, and a
            // caller that knows the revision to reach compares it.
            match database.check_integrity()? {
                true => Ok(database),
                false => Err(Error::Damaged("its pages do not have the checksums written with them".into())),
            }
        };
        guarded(check)
    }

    fn database(&self) -> Result<Arc<Database>, Error> {
        let mut place = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(database) = &*place {
            return Ok(database.clone());
        }
        let database = Arc::new((self.open)()?);
        *place = Some(database.clone());
        Ok(database)
    }

    /// Creates the tables, checks the format and brings a file of the format before to this one.
    fn prepare(&self) -> Result<(), Error> {
        let found = self.transact(|objects, meta| {
            let found = meta.get(FORMAT)?.map(|v| v.value());
            if found == Some(FORMAT_WITHOUT_CHECKSUMS) {
                let rows: Vec<(String, Vec<u8>)> = objects
                    .iter()?
                    .map(|row| row.map(|(path, json)| (path.value().to_owned(), json.value().to_owned())))
                    .collect::<Result<_, _>>()?;
                for (path, json) in rows {
                    objects.insert(path.as_str(), record(&path, &json).as_slice())?;
                }
            }
            if matches!(found, None | Some(FORMAT_WITHOUT_CHECKSUMS)) {
                meta.insert(FORMAT, FORMAT_VERSION)?;
            }
            Ok(found)
        })?;
        match found {
            None | Some(FORMAT_VERSION | FORMAT_WITHOUT_CHECKSUMS) => Ok(()),
            Some(other) => {
                Err(Error::Damaged(format!("format {other}, this program reads format {FORMAT_VERSION}")))
            }
        }
    }

    fn transact<T>(
        &self,
        work: impl FnOnce(
            &mut redb::Table<'_, &'static str, &'static [u8]>,
            &mut redb::Table<'_, &'static str, u64>,
        ) -> Result<T, StorageError>,
    ) -> Result<T, Error> {
        let database = self.database()?;
        let run = || -> Result<T, redb::Error> {
            let transaction = database.begin_write()?;
            let out = {
                let mut objects = transaction.open_table(OBJECTS)?;
                let mut meta = transaction.open_table(META)?;
                work(&mut objects, &mut meta)?
            };
            transaction.commit()?;
            Ok(out)
        };
        run().map_err(|error| {
            *self.database.lock().unwrap_or_else(PoisonError::into_inner) = None;
            Error::from(error)
        })
    }

    pub(crate) fn put(&self, key: &Key, json: &[u8], revision: u64) -> Result<(), Error> {
        let path = path(key);
        self.transact(|objects, meta| {
            objects.insert(path.as_str(), record(&path, json).as_slice())?;
            meta.insert(REVISION, revision)?;
            Ok(())
        })
    }

    pub(crate) fn remove(&self, key: &Key, revision: u64) -> Result<(), Error> {
        self.transact(|objects, meta| {
            objects.remove(path(key).as_str())?;
            meta.insert(REVISION, revision)?;
            Ok(())
        })
    }

    /// Everything in the file, each record judged by its checksum.
    pub(crate) fn load(&self) -> Result<Loaded, Error> {
        let database = self.database()?;
        guarded(|| read(&database))
    }
}

fn read(database: &Database) -> Result<Loaded, Error> {
    let transaction = database.begin_read().map_err(redb::Error::from)?;
    let meta = transaction.open_table(META).map_err(redb::Error::from)?;
    let revision = meta.get(REVISION)?.map_or(0, |v| v.value());
    let table = transaction.open_table(OBJECTS).map_err(redb::Error::from)?;
    let mut objects = Vec::new();
    let mut resources: std::collections::HashMap<String, Arc<str>> = std::collections::HashMap::new();
    for row in table.iter()? {
        let (path, record) = row?;
        let path = path.value();
        let mut parts = path.splitn(3, SEPARATOR);
        let (Some(resource), Some(namespace), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(Error::Damaged(format!("key {path:?}")));
        };
        let what = || format!("{resource} {namespace}/{name}");
        let json = text(path, record.value())
            .ok_or_else(|| Error::Damaged(format!("{} does not have its checksum", what())))?;
        let value: Value =
            serde_json::from_slice(json).map_err(|error| Error::Damaged(format!("{}: {error}", what())))?;
        let at = value
            .pointer("/metadata/resourceVersion")
            .and_then(Value::as_str)
            .and_then(|v| v.parse().ok())
            .ok_or_else(|| Error::Damaged(format!("{} has no resourceVersion", what())))?;
        let shared = resources.entry(resource.to_owned()).or_insert_with(|| Arc::from(resource)).clone();
        let key = Key { resource: shared, namespace: namespace.to_owned(), name: name.to_owned() };
        objects.push((key, Entry::new(value, at)));
    }
    Ok(Loaded { revision, objects })
}

/// Does `work` on a thread of its own and takes a panic of it for damage.
fn guarded<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(CHECK_THREAD.to_owned());
        let work = || std::panic::catch_unwind(AssertUnwindSafe(work));
        let ended = thread.spawn_scoped(scope, work).map_err(Error::Io)?.join();
        match ended {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Err(Error::Damaged("the database cannot make sense of its pages".into())),
        }
    })
}

/// The first bytes of the hash of a record's key and text.
fn checksum(path: &str, json: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let hash = Sha256::new().chain_update(path).chain_update([0]).chain_update(json).finalize();
    let mut sum = [0; CHECKSUM_BYTES];
    sum.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    sum
}

/// The stored form of an object: the checksum, then its text.
fn record(path: &str, json: &[u8]) -> Vec<u8> {
    [checksum(path, json).as_slice(), json].concat()
}

/// The text of a record that has its checksum.
fn text<'a>(path: &str, record: &'a [u8]) -> Option<&'a [u8]> {
    let (sum, json) = record.split_at_checked(CHECKSUM_BYTES)?;
    (sum == checksum(path, json)).then_some(json)
}

fn path(key: &Key) -> String {
    format!("{}{SEPARATOR}{}{SEPARATOR}{}", key.resource, key.namespace, key.name)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use redb::StorageBackend;
    use redb::backends::FileBackend;
    use serde_json::json;

    use super::*;
    use crate::store::{Change, Precondition, Store};

    /// A disk that can be full.
    #[derive(Debug)]
    struct Disk {
        file: FileBackend,
        full: Arc<AtomicBool>,
    }

    impl Disk {
        fn space(&self) -> std::io::Result<()> {
            if self.full.load(Ordering::SeqCst) {
                Err(std::io::Error::from(std::io::ErrorKind::StorageFull))
            } else {
                Ok(())
            }
        }
    }

    impl StorageBackend for Disk {
        fn len(&self) -> std::io::Result<u64> {
            self.file.len()
        }
        fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
            self.file.read(offset, out)
        }
        fn set_len(&self, length: u64) -> std::io::Result<()> {
            self.space()?;
            self.file.set_len(length)
        }
        fn sync_data(&self) -> std::io::Result<()> {
            self.space()?;
            self.file.sync_data()
        }
        fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
            self.space()?;
            self.file.write(offset, data)
        }
    }

    fn key(name: &str) -> Key {
        Key { resource: Arc::from("configmaps"), namespace: "default".into(), name: name.into() }
    }

    fn object(name: &str) -> Value {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "default" } })
    }

    #[test]
    fn a_full_disk_refuses_and_loses_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("objects.redb");
        let full = Arc::new(AtomicBool::new(false));
        let open = || -> File {
            let (path, full) = (path.clone(), full.clone());
            File::with(Box::new(move || {
                let file = std::fs::OpenOptions::new()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(&path)
                    .map_err(|error| redb::DatabaseError::Storage(redb::StorageError::Io(error)))?;
                Database::builder()
                    .create_with_backend(Disk { file: FileBackend::new(file)?, full: full.clone() })
            }))
            .expect("a file")
        };
        let store = Store::from_file(open()).expect("a store");
        store.write(&key("a"), Precondition::Absent, Change::Put(object("a"))).expect("written");
        let revision = store.revision();

        full.store(true, Ordering::SeqCst);
        for _ in 0..3 {
            let error =
                store.write(&key("b"), Precondition::Absent, Change::Put(object("b"))).expect_err("full");
            assert!(matches!(error, crate::store::Error::File(_)), "{error}");
        }
        assert!(store.get(&key("b")).is_none(), "a refused write is not shown");
        assert_eq!(store.revision(), revision);
        assert!(store.get(&key("a")).is_some(), "reading goes on");

        // Space again: the same store goes on without a restart.
        full.store(false, Ordering::SeqCst);
        store.write(&key("c"), Precondition::Absent, Change::Put(object("c"))).expect("written again");
        drop(store);
        let store = Store::from_file(open()).expect("a store");
        assert!(store.get(&key("a")).is_some() && store.get(&key("c")).is_some());
        assert!(store.get(&key("b")).is_none());
    }
}
