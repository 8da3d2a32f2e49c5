//! The capability centres of this machine ↔ a file each, in the folder of this program.
//!
//! A file holds where a centre is and the definitions it had when it was read last. It is replaced whole, so that a command that
//! reads in the same moment sees the one or the other, and nothing of a former reading is left over.

use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use vela_apiserver::store::private;
use vela_crds::labels;
use vela_engine::nearest::advice;
use vela_engine::{DefinitionKind, names};

use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::sandbox;

/// Bytes of a file.
const LARGEST: u64 = 64 * 1024 * 1024;
/// Centres of a machine: more are a fault.
const MOST_CENTERS: usize = 100;

/// A centre as it was read last.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::command) struct Center {
    pub(in crate::command) name: String,
    pub(in crate::command) address: String,
    pub(super) token: Option<String>,
    /// When it was read.
    pub(super) synced: String,
    /// In no namespace.
    pub(in crate::command) definitions: Vec<Value>,
}

/// The folder of the centres.
pub(super) fn home() -> Result<PathBuf> {
    Ok(sandbox::base()?.join("centers"))
}

/// All centres, in the order of their names.
pub(in crate::command) fn all() -> Result<Vec<Center>> {
    let home = home()?;
    let cannot = |error: std::io::Error| {
        Failure::from(Error::config(format!("{} cannot be read: {error}", home.display())))
    };
    let entries = match std::fs::read_dir(&home) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(cannot)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(cannot)?.file_name().into_string().unwrap_or_default();
        names.extend(name.strip_suffix(".json").filter(|name| names::is_label(name)).map(str::to_owned));
    }
    if names.len() > MOST_CENTERS {
        let error = Error::config(format!("{} holds more than {MOST_CENTERS} centres", home.display()));
        return Err(error.hint("remove those that are not needed").into());
    }
    names.sort();
    names.iter().map(|name| read(&file(&home, name), name)).collect()
}

/// The centre of this name, among all.
pub(super) fn find<'a>(all: &'a [Center], name: &str) -> Result<&'a Center> {
    all.iter().find(|center| center.name == name).ok_or_else(|| {
        let hint = advice(name, "centre", all.iter().map(|center| center.name.as_str()));
        let error = Error::user(format!("there is no capability centre {name:?}"));
        let configure = || format!("`vela cap center config {name} ADDRESS` remembers one");
        error.hint(hint.unwrap_or_else(configure)).into()
    })
}

/// The centre that a definition came from.
pub(super) fn center_of(definition: &Value) -> Option<&str> {
    definition.get("metadata")?.get("labels")?.get(labels::CAPABILITY_CENTER)?.as_str()
}

pub(super) fn none_configured() -> Error {
    Error::user("there is no capability centre")
        .hint("`vela cap center config NAME ADDRESS` remembers a folder of definitions")
}

impl Center {
    /// Keeps it for the commands to come.
    pub(super) fn write(&self) -> Result<()> {
        let home = home()?;
        let path = file(&home, &self.name);
        let cannot = |error: std::io::Error| {
            Failure::from(Error::config(format!("{} cannot be written: {error}", path.display())))
        };
        std::fs::create_dir_all(&home).map_err(cannot)?;
        let new = path.with_extension(format!("new-{}", std::process::id()));
        let object = json!({
            "name": self.name, "address": self.address, "token": self.token, "synced": self.synced,
            "definitions": self.definitions,
        });
        let mut file = private::open(&new).map_err(cannot)?;
        file.set_len(0).and_then(|()| file.write_all(object.to_string().as_bytes())).map_err(cannot)?;
        std::fs::rename(&new, &path).map_err(cannot)
    }

    /// Forgets it.
    pub(super) fn remove(&self) -> Result<()> {
        let path = file(&home()?, &self.name);
        std::fs::remove_file(&path)
            .map_err(|error| Error::config(format!("{} cannot be removed: {error}", path.display())).into())
    }

    /// Its definitions of this name.
    pub(super) fn named(&self, name: &str) -> Vec<&Value> {
        self.definitions.iter().filter(|one| text(one, "/metadata/name") == name).collect()
    }
}

/// What a definition is for.
pub(in crate::command) fn kind(definition: &Value) -> Option<DefinitionKind> {
    DefinitionKind::from_kind(text(definition, "/kind"))
}

fn file(home: &Path, name: &str) -> PathBuf {
    home.join(format!("{name}.json"))
}

fn read(path: &Path, name: &str) -> Result<Center> {
    let broken = |why: &str| {
        let error = Error::config(format!("{} is no capability centre: {why}", path.display()));
        Failure::from(error.hint("remove the file, and name the centre anew with `vela cap center config`"))
    };
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
    opened.map_err(|error| broken(&error.to_string()))?;
    let mut object: Value = serde_json::from_slice(&bytes).map_err(|error| broken(&error.to_string()))?;
    let definitions = match object["definitions"].take() {
        Value::Array(all) if all.iter().all(|one| kind(one).is_some()) => all,
        _ => return Err(broken("its definitions cannot be read")),
    };
    let part = |field: &str| object[field].as_str().map(str::to_owned);
    let address = part("address").ok_or_else(|| broken("it names no address"))?;
    Ok(Center {
        name: name.to_owned(),
        address,
        token: part("token"),
        synced: part("synced").unwrap_or_default(),
        definitions,
    })
}
