//! What the controllers ask for and count, and whether they rest.

use std::time::Duration;

use serde_json::json;
use vela_runtime::fault::Entry;

use super::TestCluster;
use super::wait::{DEADLINE, until};

impl TestCluster {
    /// Wait until the controllers have written nothing for a while: workloads may still be settling.
    pub(crate) async fn quiet(&self) {
        let end = tokio::time::Instant::now() + DEADLINE;
        self.writes();
        let mut quiet_before = false;
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let writes = self.writes();
            if writes.is_empty() && std::mem::replace(&mut quiet_before, true) {
                return;
            }
            quiet_before = writes.is_empty();
            assert!(tokio::time::Instant::now() < end, "never quiet: {writes:#?}");
        }
    }

    /// Wake every application that uses a component type, without changing what it means.
    pub(crate) async fn resync(&self, component_type: &str) {
        let before = self.running.as_ref().unwrap().counts.reconciles("application");
        let patch = json!({"metadata": {"annotations": {"touched": before.to_string()}}});
        self.patch("core.oam.dev/v1beta1", "ComponentDefinition", component_type, patch).await;
        self.rested(before + 1).await;
    }

    /// Wait until the application controller has reconciled at least that often since its start, and rests.
    pub(crate) async fn rested(&self, reconciles: u64) {
        self.rested_of("application", reconciles).await;
    }

    /// The same for any controller.
    pub(crate) async fn rested_of(&self, controller: &str, reconciles: u64) {
        let counts = self.running.as_ref().unwrap().counts.clone();
        until(&format!("the {controller} controller rests"), || async {
            let before = counts.reconciles(controller);
            tokio::time::sleep(Duration::from_millis(100)).await;
            before >= reconciles && before == counts.reconciles(controller) && counts.active(controller) == 0
        })
        .await;
    }

    /// What the controllers have counted since their start, as `/metrics` shows it.
    pub(crate) fn metrics(&self) -> String {
        self.running.as_ref().unwrap().counts.text()
    }

    /// How often a controller has reconciled since its start.
    pub(crate) fn reconciles(&self, controller: &str) -> u64 {
        self.running.as_ref().unwrap().counts.reconciles(controller)
    }

    /// The controllers' requests since the last call, without the watches and without what the definitions cost that
    /// every cluster begins with: their controllers work while others are looked at.
    pub(crate) fn requests(&self) -> Vec<Entry> {
        let definition = |path: &str| {
            ["definitions", "definitionrevisions"].iter().any(|kind| path.contains(kind))
                || path.contains("/schema-")
        };
        let entries = self.faults.take().into_iter();
        entries.filter(|entry| !entry.is_watch() && !definition(&entry.path)).collect()
    }

    /// What the controllers ask for until nothing of it `counts` for so long.
    pub(crate) async fn requests_until_quiet(
        &self,
        lasts: Duration,
        counts: impl Fn(&Entry) -> bool,
    ) -> Vec<Entry> {
        let (end, mut all) = (tokio::time::Instant::now() + DEADLINE, Vec::new());
        loop {
            tokio::time::sleep(lasts).await;
            let new = self.requests();
            let is_quiet = !new.iter().any(&counts);
            all.extend(new);
            if is_quiet {
                return all;
            }
            assert!(tokio::time::Instant::now() < end, "never quiet: {all:#?}");
        }
    }

    /// Every write since the last call, those for definitions too, without events.
    pub(crate) fn all_writes(&self) -> Vec<Entry> {
        self.faults.take().into_iter().filter(|entry| entry.writes() && !entry.is_event()).collect()
    }

    /// The controllers' writes since the last call, without events.
    pub(crate) fn writes(&self) -> Vec<Entry> {
        self.requests().into_iter().filter(|entry| entry.writes() && !entry.is_event()).collect()
    }

    /// Wait until the controllers of definitions have nothing to do.
    pub(crate) async fn settled(&self) {
        let counts = self.running.as_ref().unwrap().counts.clone();
        let kinds = ["componentdefinition", "traitdefinition"];
        let done = || kinds.map(|kind| counts.reconciles(kind));
        until("the definitions' controllers rest", || async {
            let before = done();
            tokio::time::sleep(Duration::from_millis(300)).await;
            before == done() && before[0] > 0 && kinds.iter().all(|kind| counts.active(kind) == 0)
        })
        .await;
    }
}
