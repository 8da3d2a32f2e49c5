//! An object with a field that cannot change → made again by the rule of [`crate::remake`], as the application wants it.

use std::sync::Arc;
use std::time::Duration;

use kube::api::DynamicObject;
use vela_engine::Definition;
use vela_runtime::apply as runtime_apply;
use vela_runtime::confirm::Seen;

use super::apply::{Error, Piece};
use super::owned::may_delete;
use super::record::Owned;
use super::write::Pen;
use crate::remake::{Because, Remake, Room, make_room};

/// Because of what an object may be made again.
#[derive(Clone, Copy)]
pub(super) struct Replacing<'a> {
    /// Content hash of the application.
    pub(super) identity: &'a str,
    /// What it was rendered from, beside the Application.
    pub(super) definitions: &'a [Arc<Definition>],
}

/// What became of one object.
pub(super) enum Written {
    /// It is as it is wanted.
    Done(runtime_apply::Applied),
    /// It is to be made again: now is not the time, but then. Where no time is said, its end wakes the application.
    Later(Option<Duration>),
    /// It cannot be as it is wanted, for this reason; the same need not be tried again.
    Refused(String),
}

/// Make an object again whose change the API server refused with this error.
pub(super) async fn replace(
    pen: &Pen<'_>,
    piece: &Piece,
    owned: &Owned,
    fields: &[String],
    refusal: runtime_apply::Error,
) -> Result<Written, Error> {
    let (hands, owner) = (pen.hands, pen.application);
    let uid = pen.before.entries.get(owned).and_then(|entry| entry.uid.clone());
    let application = Seen { resource: &hands.applications.watch().resource, object: owner.object };
    let because = pen.replacing.map(|Replacing { identity, definitions }| Because {
        wait: hands.quiet.left(&owner.key, identity),
        world: &hands.world,
        definitions,
        seen: vec![application],
    });
    let remake = Remake {
        context: &hands.context,
        acting: &pen.acting,
        owner: owner.object,
        kinds: &hands.owned,
        refusals: &hands.refusals,
        may_delete: &|now: &DynamicObject| may_delete(owner, uid.as_deref(), now),
        because: because.ok_or("it is not made again while the application cannot be rendered"),
    };
    match make_room(remake, &piece.object, fields, &refusal).await? {
        Room::Made => pen.apply_piece(piece, owned).await,
        Room::Later(again) => Ok(Written::Later(again)),
        Room::Refused(told) => Ok(Written::Refused(told)),
    }
}
