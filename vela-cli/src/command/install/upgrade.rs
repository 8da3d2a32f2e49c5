//! The objects of this release and a cluster → what changes there: told only (`--dry-run`), or done and told.
//!
//! Kinds come before what is of these kinds, and definitions before controllers. A definition that a user edited stays, and so do
//! the fields that are for the operator of a cluster to choose; every other field of vela's objects that another program holds is
//! replaced and told. What a former release brought and this one no longer has goes last, once nothing needs it.

use std::collections::BTreeSet;

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::leftovers::{self, Fate};
use crate::cluster::{Applied, Cluster};
use crate::differences::{self, between};
use crate::error::Result;
use crate::installation::choices::{Conflict, conflicts, is_choice, without};
use crate::installation::edits::{content, has_other_writers, reason_to_retain};
use crate::installation::record::{Entry, Id, Record};
use crate::installation::{self, webhooks};
use crate::screen::Screen;

/// Differences and conflicts of one object that are told one by one.
const SHOWN_AT_MOST: usize = 10;

/// What is wanted of an installation.
pub(super) struct Wanted<'a> {
    pub(super) objects: &'a [Value],
    /// What former flags brought and nothing needs now.
    pub(super) superseded: Vec<Value>,
    pub(super) flags: Vec<String>,
    /// Definitions that users edited become those of this release again.
    pub(super) reset_definitions: bool,
    /// Nothing is written.
    pub(super) dry_run: bool,
}

#[derive(Debug, Default)]
struct Counts {
    created: usize,
    changed: usize,
    unchanged: usize,
    retained: usize,
    removed: usize,
}

struct Upgrade<'a> {
    cluster: &'a Cluster,
    home: &'a str,
    wanted: &'a Wanted<'a>,
    record: Option<Record>,
    /// Everything that this release can bring.
    known: Vec<Id>,
    served: BTreeSet<(String, String)>,
    entries: Vec<Entry>,
    counts: Counts,
    screen: &'a mut Screen,
}

/// Carries the installation out, or tells what it would do.
pub(super) async fn run(cluster: &Cluster, wanted: &Wanted<'_>, screen: &mut Screen) -> Result<()> {
    let home = cluster.system_namespace().await?;
    let record = Record::read(cluster).await?;
    let known: Vec<Id> = installation::everything(home)?.iter().map(Id::of).collect();
    let leftovers = leftovers::of(record.as_ref(), &known);
    let (served, entries, counts) = (BTreeSet::new(), Vec::new(), Counts::default());
    let mut upgrade = Upgrade { cluster, home, wanted, record, known, served, entries, counts, screen };
    upgrade.greet();
    let (registrations, others): (Vec<Entry>, Vec<Entry>) =
        leftovers.into_iter().partition(leftovers::is_registration);
    for entry in registrations {
        upgrade.take_leftover(entry).await?;
    }
    upgrade.begin().await?;
    for object in webhooks::standing_first(cluster, wanted.objects).await? {
        upgrade.bring(object).await?;
    }
    for object in &wanted.superseded {
        upgrade.take(&Id::of(object), "no flag of this installation needs it").await?;
    }
    for entry in others.into_iter().rev() {
        upgrade.take_leftover(entry).await?;
    }
    upgrade.end().await
}

impl Upgrade<'_> {
    /// Says from where to where, and which flags are missing this time.
    fn greet(&mut self) {
        let Some(record) = &self.record else { return };
        let here = env!("CARGO_PKG_VERSION");
        if record.version != here {
            self.screen.say(&format!("vela {} is installed; this is {here}.", record.version));
        }
        let missing: Vec<&str> = record
            .flags
            .iter()
            .filter(|flag| !self.wanted.flags.contains(flag))
            .map(String::as_str)
            .collect();
        if !missing.is_empty() {
            self.screen.say(&format!(
                "The former installation had {}, which this one has not: what runs by it stays as it was. Give the same flags \
                 to bring it up to date, or take it away with `vela uninstall --keep-crds`.",
                missing.join(" ")
            ));
        }
    }

    /// Writes the names of all objects before the first of them.
    async fn begin(&mut self) -> Result<()> {
        if self.wanted.dry_run {
            return Ok(());
        }
        let space = installation::namespace(self.home);
        let (applied, _) = installation::put(self.cluster, &space).await?;
        if applied != Applied::Unchanged {
            self.screen.say(&installation::said(&space, applied.word()));
        }
        // Without a record it is the field managers that tell what users edited, until this installation has ended.
        let Some(mut record) = self.record.clone() else { return Ok(()) };
        let new = self.wanted.objects.iter().map(Id::of).filter(|id| record.entry(id).is_none());
        let free = self.free_names(new.collect()).await?;
        record.entries.extend(free.into_iter().map(Entry::named));
        installation::put(self.cluster, &record.object(self.home)).await.map(drop)
    }

    /// Those of the names that no object has yet: an object of a user that has one never gets into the record.
    async fn free_names(&mut self, ids: Vec<Id>) -> Result<Vec<Id>> {
        let mut free = Vec::new();
        for id in ids {
            if self.live(&id).await?.is_none() {
                free.push(id);
            }
        }
        Ok(free)
    }

    async fn bring(&mut self, object: &Value) -> Result<()> {
        let id = Id::of(object);
        let Some(live) = self.live(&id).await? else {
            self.counts.created += 1;
            return self.write(object, &id, None).await;
        };
        if let Some(why) = self.reason_to_retain(&id, object, &live).await? {
            return self.keep(&id, &why, &live);
        }
        let object = self.with_choices(object, &id, &live).await?;
        self.write(&object, &id, Some(&live)).await
    }

    /// The object as it is, where the cluster serves its kind already.
    async fn live(&mut self, id: &Id) -> Result<Option<DynamicObject>> {
        let key = (id.api_version.clone(), id.kind.clone());
        if !self.served.contains(&key) {
            if !self.cluster.knows(&id.api_version, &id.kind).await? {
                return Ok(None);
            }
            self.served.insert(key);
        }
        self.cluster.get(&id.api_version, &id.kind, id.namespace(), &id.name).await
    }

    /// Why a definition stays as a user made it; nothing where it is the same as that of this release.
    async fn reason_to_retain(
        &self,
        id: &Id,
        object: &Value,
        live: &DynamicObject,
    ) -> Result<Option<String>> {
        if self.wanted.reset_definitions {
            return Ok(None);
        }
        reason_to_retain(self.cluster, self.record.as_ref(), id, object, live).await
    }

    fn keep(&mut self, id: &Id, why: &str, live: &DynamicObject) -> Result<()> {
        self.counts.retained += 1;
        let is_named = self.record.as_ref().is_none_or(|record| record.entry(id).is_some());
        if is_named {
            self.entries.push(Entry::edited(id, live));
        }
        self.tell(&format!("{} kept: {why}. --reset-definitions brings that of this release.", id.title()))
    }

    /// The object without the fields that are for the operator of the cluster to choose, where another program holds them.
    async fn with_choices(&mut self, object: &Value, id: &Id, live: &DynamicObject) -> Result<Value> {
        let mut rest = object.clone();
        if !has_other_writers(live) {
            return Ok(rest);
        }
        let mut lines = Vec::new();
        for Conflict { manager, field } in
            conflicts(self.cluster, &webhooks::beside_conversion(object, live)).await?
        {
            let chosen = is_choice(&id.kind, &field).then(|| without(&rest, &field)).flatten();
            lines.push(match chosen {
                Some(without) => {
                    rest = without;
                    format!("{}: {field} stays as {manager} set it", id.title())
                }
                None => format!("{}: {field} is replaced, which {manager} set", id.title()),
            });
        }
        let more = lines.len().saturating_sub(SHOWN_AT_MOST);
        for line in lines.iter().take(SHOWN_AT_MOST) {
            self.tell(line)?;
        }
        if more > 0 {
            self.tell(&format!("{}: {more} more fields of other programs", id.title()))?;
        }
        Ok(rest)
    }

    async fn write(&mut self, object: &Value, id: &Id, live: Option<&DynamicObject>) -> Result<()> {
        if self.wanted.dry_run {
            return self.foretell(object, live).await;
        }
        let (applied, after) = installation::put(self.cluster, object).await?;
        match applied {
            Applied::Created => {}
            Applied::Changed => self.counts.changed += 1,
            Applied::Unchanged => self.counts.unchanged += 1,
        }
        if applied != Applied::Unchanged {
            self.screen.say(&installation::said(object, applied.word()));
        }
        self.entries.push(Entry::written(id, &after));
        Ok(())
    }

    async fn foretell(&mut self, object: &Value, live: Option<&DynamicObject>) -> Result<()> {
        let Some(live) = live else { return self.tell(&installation::said(object, "would be created")) };
        let judged = webhooks::beside_conversion(object, live);
        let (_, mut after) = self.cluster.apply(&judged, true, true).await?;
        if judged.as_ref() != object {
            after.data["spec"]["conversion"] = json!({"strategy": "None"});
        }
        let found = between(&content(live), &content(&after));
        if found.is_empty() {
            self.counts.unchanged += 1;
            return Ok(());
        }
        self.counts.changed += 1;
        let mut text = installation::said(object, "would be changed");
        text.push('\n');
        text.push_str(&differences::render(&found[..found.len().min(SHOWN_AT_MOST)]));
        if found.len() > SHOWN_AT_MOST {
            text.push_str(&format!("  and {} more fields\n", found.len() - SHOWN_AT_MOST));
        }
        self.tell(&text)
    }

    async fn take_leftover(&mut self, entry: Entry) -> Result<()> {
        let Some(record) = &self.record else { return Ok(()) };
        match leftovers::fate(self.cluster, record, &entry).await? {
            Fate::Gone => Ok(()),
            Fate::Goes => self.take(&entry.id, "this release has it no more").await,
            Fate::Stays(why) => {
                self.tell(&format!("{} stays, which this release has no more: {why}", entry.id.title()))?;
                self.entries.push(entry);
                Ok(())
            }
        }
    }

    async fn take(&mut self, id: &Id, why: &str) -> Result<()> {
        self.counts.removed += 1;
        if self.wanted.dry_run {
            return self.tell(&format!("{} would be taken away: {why}", id.title()));
        }
        self.cluster.delete(&id.api_version, &id.kind, id.namespace(), &id.name).await?;
        self.tell(&format!("{} taken away: {why}", id.title()))
    }

    /// Remembers what there is now, and sums up.
    async fn end(mut self) -> Result<()> {
        let Counts { created, changed, unchanged, retained, removed } = self.counts;
        if self.wanted.dry_run {
            return self.tell(&format!(
                "Nothing was written. {created} objects would be created, {changed} changed, {removed} taken away; {retained} \
                 kept as edited, {unchanged} are as they should be."
            ));
        }
        let others = self.entries_of_other_flags();
        self.entries.extend(others);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let record = Record { version, flags: self.wanted.flags.clone(), entries: self.entries };
        installation::put(self.cluster, &record.object(self.home)).await?;
        let right = self.wanted.objects.len().saturating_sub(retained);
        self.screen.say(&match retained {
            0 => format!("{right} objects are as they should be."),
            _ => format!("{right} objects are as they should be; {retained} stay as they were edited."),
        });
        Ok(())
    }

    /// What former flags brought and no flag brings now stays in the record, so that a later release finds it.
    fn entries_of_other_flags(&self) -> Vec<Entry> {
        let is_there = |id: &Id| self.entries.iter().any(|entry| entry.id == *id);
        let is_taken = |id: &Id| self.wanted.superseded.iter().any(|object| Id::of(object) == *id);
        let entries = self.record.iter().flat_map(|record| &record.entries);
        entries
            .filter(|Entry { id, .. }| !is_there(id) && !is_taken(id) && self.known.contains(id))
            .cloned()
            .collect()
    }

    /// A plan is the result of a dry run; what is done is said while it is done.
    fn tell(&mut self, text: &str) -> Result<()> {
        match self.wanted.dry_run {
            true => self.screen.print(text),
            false => {
                self.screen.say(text);
                Ok(())
            }
        }
    }
}
