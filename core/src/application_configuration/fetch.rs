//! ApplicationConfiguration → Snapshot: what it names, and what that names in turn; may not change anything.

use vela_engine::application_configuration::references;
use vela_engine::parse::References;
use vela_engine::{Document, Snapshot};
use vela_runtime::Key;

use crate::application::fetch::{Error, World};

/// Components name kinds, kinds name definitions: three rounds see all of it, the rest is a margin.
const ROUNDS_AT_MOST: usize = 6;

/// The snapshot that has everything the configuration asks for and the cluster has.
pub(super) async fn fetch(world: &World, key: &Key, document: &Document) -> Result<Snapshot, Error> {
    let mut asked = References::default();
    let mut snapshot = world.snapshot(&key.namespace, &asked).await?;
    for _ in 0..ROUNDS_AT_MOST {
        let mut wanted = references(document, &snapshot);
        wanted.definitions.extend(asked.definitions.iter().cloned());
        wanted.objects.extend(asked.objects.iter().cloned());
        wanted.kinds.extend(asked.kinds.iter().cloned());
        if wanted == asked {
            break;
        }
        snapshot = world.snapshot(&key.namespace, &wanted).await?;
        asked = wanted;
    }
    Ok(snapshot)
}
