//! The objects of a store in one file (redb): every change is on disk before it is acknowledged.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde_json::Value;

use super::{Entry, Key};

const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const REVISION: &str = "revision";
const FORMAT: &str = "format";
/// The layout of the file; a file with another number is refused instead of misread.
const FORMAT_VERSION: u64 = 1;
/// Separates resource, namespace and name, none of which can contain it.
const SEPARATOR: char = '\0';

/// Why the file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database refused; the change was not made.
    #[error("storage file: {0}")]
    Database(String),
    /// What is in the file is not ours or is damaged.
    #[error("storage file is damaged: {0}")]
    Damaged(String),
}

impl Error {
    fn database(error: impl std::fmt::Display) -> Self {
        Self::Database(error.to_string())
    }
}

type Open = dyn Fn() -> Result<Database, redb::DatabaseError> + Send + Sync;

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
        Self::with(Box::new(move || Database::create(&path)))
    }

    pub(crate) fn with(open: Box<Open>) -> Result<Self, Error> {
        let file = Self { open, database: Mutex::new(None) };
        file.prepare()?;
        Ok(file)
    }

    fn database(&self) -> Result<Arc<Database>, Error> {
        let mut place = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(database) = &*place {
            return Ok(database.clone());
        }
        let database = Arc::new((self.open)().map_err(Error::database)?);
        *place = Some(database.clone());
        Ok(database)
    }

    /// Creates the tables and checks the format.
    fn prepare(&self) -> Result<(), Error> {
        let found = self.transact(|objects, meta| {
            let _ = objects;
            let found = meta.get(FORMAT)?.map(|v| v.value());
            if found.is_none() {
                meta.insert(FORMAT, FORMAT_VERSION)?;
            }
            Ok(found)
        })?;
        match found {
            None | Some(FORMAT_VERSION) => Ok(()),
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
        ) -> Result<T, redb::StorageError>,
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
            Error::database(error)
        })
    }

    pub(crate) fn put(&self, key: &Key, json: &[u8], revision: u64) -> Result<(), Error> {
        self.transact(|objects, meta| {
            objects.insert(path(key).as_str(), json)?;
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

    pub(crate) fn load(&self) -> Result<Loaded, Error> {
        let database = self.database()?;
        let transaction = database.begin_read().map_err(Error::database)?;
        let meta = transaction.open_table(META).map_err(Error::database)?;
        let revision = meta.get(REVISION).map_err(Error::database)?.map_or(0, |v| v.value());
        let table = transaction.open_table(OBJECTS).map_err(Error::database)?;
        let mut objects = Vec::new();
        let mut resources: std::collections::HashMap<String, Arc<str>> = std::collections::HashMap::new();
        for row in table.iter().map_err(Error::database)? {
            let (path, json) = row.map_err(Error::database)?;
            let mut parts = path.value().splitn(3, SEPARATOR);
            let (Some(resource), Some(namespace), Some(name)) = (parts.next(), parts.next(), parts.next())
            else {
                return Err(Error::Damaged(format!("key {:?}", path.value())));
            };
            let value: Value = serde_json::from_slice(json.value())
                .map_err(|error| Error::Damaged(format!("{resource} {namespace}/{name}: {error}")))?;
            let at = value
                .pointer("/metadata/resourceVersion")
                .and_then(Value::as_str)
                .and_then(|v| v.parse().ok())
                .ok_or_else(|| {
                    Error::Damaged(format!("{resource} {namespace}/{name} has no resourceVersion"))
                })?;
            let shared = resources.entry(resource.to_owned()).or_insert_with(|| Arc::from(resource)).clone();
            let key = Key { resource: shared, namespace: namespace.to_owned(), name: name.to_owned() };
            objects.push((key, Entry::new(value, at)));
        }
        Ok(Loaded { revision, objects })
    }
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
