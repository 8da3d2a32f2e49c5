//! `vela ls --watch`: prints each application that changes, one line for each component that does.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::rows::{component_rows, name_of};
use crate::applications::APPLICATIONS;
use crate::args::{ListFormat, Ls};
use crate::changes::{Change, Changes, Key};
use crate::cluster::Cluster;
use crate::command::delete::is_part_of_application;
use crate::command::watch::{LEAST_PAUSE, document};
use crate::error::Result;
use crate::pointer::text;
use crate::screen::{Screen, cut};
use crate::table::Columns;

/// Where the phase stands in a row.
const PHASE: usize = 4;
/// The phase of an application that is gone.
const DELETED: &str = "deleted";

/// Something printed, and by what it is told whether it changed.
struct Entry {
    identity: String,
    text: String,
}

/// How changes are printed.
pub(super) struct View<'a> {
    pub(super) args: &'a Ls,
    /// The table that stands above.
    pub(super) columns: Option<Columns>,
    /// How wide the terminal is, where lines are cut to it.
    pub(super) width: Option<usize>,
}

impl View<'_> {
    fn entries(&self, application: &Value) -> Result<Vec<Entry>> {
        let version = text(application, "/metadata/resourceVersion").to_owned();
        let whole = |text: String| vec![Entry { identity: version.clone(), text }];
        Ok(match (self.args.output.data(), self.args.output) {
            (Some(format), _) => whole(document(format, application)?),
            (None, ListFormat::Name) => whole(name_of(application)),
            (None, _) => {
                let namespace = text(application, "/metadata/namespace");
                let name = text(application, "/metadata/name");
                let named = |mut row: Vec<String>| {
                    // Each line stands alone here.
                    row[0] = name.to_owned();
                    self.line(namespace, row)
                };
                let rows = component_rows(application).into_iter().map(named);
                rows.map(|text| Entry { identity: text.clone(), text }).collect()
            }
        })
    }

    fn line(&self, namespace: &str, mut row: Vec<String>) -> String {
        if self.args.all_namespaces {
            row.insert(0, namespace.to_owned());
        }
        let line = self.columns.as_ref().map_or_else(|| row.join("   "), |columns| columns.row(&row));
        self.width.map_or(line.clone(), |width| cut(&line, width))
    }

    /// An application that is gone, in the form of those that are there.
    fn gone(&self, key: &Key) -> Result<String> {
        let object = json!({
            "apiVersion": key.api_version,
            "kind": key.kind,
            "metadata": {"name": key.name, "namespace": key.namespace},
            "status": {"status": DELETED},
        });
        Ok(match (self.args.output.data(), self.args.output) {
            (Some(format), _) => document(format, &object)?,
            (None, ListFormat::Name) => name_of(&object),
            (None, _) => {
                let mut row = vec![String::new(); PHASE + 1];
                row[0].clone_from(&key.name);
                DELETED.clone_into(&mut row[PHASE]);
                self.line(&key.namespace, row)
            }
        })
    }

    fn is_asked_for(&self, application: &Value) -> bool {
        let name = text(application, "/metadata/name");
        let names = &self.args.names;
        (names.is_empty() || names.iter().any(|wanted| wanted == name))
            && !is_part_of_application(application)
    }
}

/// Prints what changes of `applications`, which were printed, and which others come.
pub(super) async fn follow(
    cluster: &Cluster,
    view: &View<'_>,
    applications: &[Value],
    screen: &mut Screen,
) -> Result<()> {
    let namespace = (!view.args.all_namespaces).then(|| cluster.namespace());
    let known: Vec<Key> = applications.iter().map(Key::of).collect();
    let mut changes = Changes::of(cluster, &APPLICATIONS, namespace, None, &known).await?;
    let mut shown: BTreeMap<Key, Vec<String>> = BTreeMap::new();
    for application in applications {
        let identities = view.entries(application)?.into_iter().map(|entry| entry.identity);
        shown.insert(Key::of(application), identities.collect());
    }
    // The newest of each application since something was printed.
    let mut pending: BTreeMap<Key, Option<Value>> = BTreeMap::new();
    let mut next = Instant::now();
    loop {
        tokio::select! {
            change = changes.next() => match change? {
                Change::There(key, value) if view.is_asked_for(&value) => {
                    pending.insert(key, Some(value));
                }
                Change::There(..) | Change::Listed => {}
                Change::Gone(key) => {
                    pending.insert(key, None);
                }
                Change::Lost(why) => screen.say(&format!("The watch is lost and begins again: {why}")),
            },
            () = sleep_until(next), if !pending.is_empty() => {
                for (key, application) in std::mem::take(&mut pending) {
                    if !print(view, &mut shown, key, application, screen)? {
                        return Ok(());
                    }
                }
                next = Instant::now() + LEAST_PAUSE;
            }
        }
    }
}

/// Prints what is new of one application; says whether there is a reader yet.
fn print(
    view: &View<'_>,
    shown: &mut BTreeMap<Key, Vec<String>>,
    key: Key,
    application: Option<Value>,
    screen: &mut Screen,
) -> Result<bool> {
    let Some(application) = application else {
        // What was never shown does not go.
        return match shown.remove(&key) {
            Some(_) => screen.line(&view.gone(&key)?),
            None => Ok(true),
        };
    };
    let entries = view.entries(&application)?;
    let before = shown.remove(&key).unwrap_or_default();
    for entry in entries.iter().filter(|entry| !before.contains(&entry.identity)) {
        if !screen.line(&entry.text)? {
            return Ok(false);
        }
    }
    shown.insert(key, entries.into_iter().map(|entry| entry.identity).collect());
    Ok(true)
}
