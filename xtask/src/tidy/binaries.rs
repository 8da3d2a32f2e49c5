//! Rooms that no shipped binary reaches: what no program of a user needs is dead code, or belongs to the rooms that never ship.

use std::collections::BTreeSet;

use super::code::Code;
use super::rooms::{ROOMS, Room};

/// From room to room.
type Arrows = BTreeSet<(String, String)>;

/// The rule for all rooms; `known` are those that broke it before.
pub(super) fn check(code: &[Code], arrows: &Arrows, known: &[String], wrong: &mut Vec<String>) {
    judge(&ROOMS, code, arrows, known, wrong);
}

fn judge(rooms: &[Room], code: &[Code], arrows: &Arrows, known: &[String], wrong: &mut Vec<String>) {
    let reached = reached(rooms, code, arrows);
    for Room { directory, ships, .. } in rooms {
        let is_reached = reached.contains(directory);
        let is_known = known.iter().any(|listed| listed == directory);
        if *ships && !is_reached && !is_known {
            wrong.push(format!(
                "{directory}/Cargo.toml: no shipped binary reaches this room; let one use it, or write `ships: false` in xtask/src/tidy/rooms.rs"
            ));
        } else if !ships && is_reached {
            wrong.push(format!(
                "{directory}/Cargo.toml: a shipped binary reaches this room, which is for tests and chores; move what it needs into a room that ships"
            ));
        }
    }
    let is_needed = |name: &str| {
        rooms.iter().any(|room| room.ships && room.directory == name && !reached.contains(room.directory))
    };
    for name in known.iter().filter(|name| !is_needed(name)) {
        wrong
            .push(format!("xtask/tidy.toml: `{name}` need not be listed as unshipped; take it off the list"));
    }
}

/// The rooms with a shipped binary, and what they depend on.
fn reached<'a>(rooms: &'a [Room], code: &[Code], arrows: &'a Arrows) -> BTreeSet<&'a str> {
    let has_a_binary = |room: &Room| {
        code.iter().any(|c| {
            let file = c.name.strip_prefix(room.directory).and_then(|rest| rest.strip_prefix("/src/"));
            file.is_some_and(|file| file == "main.rs" || file.starts_with("bin/"))
        })
    };
    let with_one = rooms.iter().filter(|room| room.ships && has_a_binary(room));
    let mut open: Vec<&str> = with_one.map(|room| room.directory).collect();
    let mut reached = BTreeSet::new();
    while let Some(room) = open.pop() {
        if reached.insert(room) {
            open.extend(arrows.iter().filter(|(from, _)| from == room).map(|(_, to)| to.as_str()));
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORE: Room = Room { directory: "core", pure: false, ships: true };
    const ENGINE: Room = Room { directory: "engine", pure: true, ships: true };
    const CUE: Room = Room { directory: "cue", pure: true, ships: true };
    const CHORES: Room = Room { directory: "chores", pure: false, ships: false };

    fn found(binaries: &[&str], arrows: &[(&str, &str)], known: &[&str]) -> Vec<String> {
        let code: Vec<Code> =
            binaries.iter().map(|name| Code::read(name, "fn main() {}\n").unwrap()).collect();
        let arrows = arrows.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        let known: Vec<String> = known.iter().map(|&name| name.to_owned()).collect();
        let mut wrong = Vec::new();
        judge(&[CORE, ENGINE, CUE, CHORES], &code, &arrows, &known, &mut wrong);
        wrong
    }

    #[test]
    fn a_room_that_no_binary_reaches_is_told() {
        let arrows = [("core", "engine"), ("chores", "cue")];
        let binaries = ["core/src/main.rs", "chores/src/main.rs"];
        let expected = "cue/Cargo.toml: no shipped binary reaches this room; let one use it, or write `ships: false` in xtask/src/tidy/rooms.rs";
        assert_eq!(found(&binaries, &arrows, &[]), [expected]);
        assert_eq!(found(&binaries, &arrows, &["cue"]).len(), 0);
        assert_eq!(found(&[], &arrows, &[]).len(), 3);
    }

    #[test]
    fn rooms_are_reached_through_others_and_by_their_own_binary() {
        let arrows = [("core", "engine"), ("engine", "cue")];
        assert_eq!(found(&["core/src/main.rs"], &arrows, &[]).len(), 0);
        assert_eq!(found(&["core/src/main.rs", "cue/src/bin/eval.rs"], &arrows[..1], &[]).len(), 0);
        let wrong = found(&["core/src/main.rs"], &arrows, &["cue", "gone"]);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].contains("`cue` need not be listed") && wrong[1].contains("`gone`"), "{wrong:?}");
    }

    #[test]
    fn a_room_that_never_ships_is_not_reached() {
        let arrows = [("core", "engine"), ("engine", "cue"), ("cue", "chores")];
        let wrong = found(&["core/src/main.rs"], &arrows, &[]);
        assert!(wrong[0].starts_with("chores/Cargo.toml: a shipped binary reaches"), "{wrong:?}");
    }
}
