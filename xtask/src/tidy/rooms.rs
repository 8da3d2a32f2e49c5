//! The rooms of the house, in flow order.

/// A room.
pub(super) struct Room {
    pub(super) directory: &'static str,
    /// Whether it must not touch the outside world.
    pub(super) pure: bool,
    /// Whether it is for users; the others are for tests and chores.
    pub(super) ships: bool,
}

/// Flow order. Floors and arrows stand in the figure of ARCHITECTURE.md, which says the same as the manifests.
pub(super) const ROOMS: [Room; 20] = [
    Room { directory: "cue", pure: true, ships: true },
    Room { directory: "crds", pure: true, ships: true },
    Room { directory: "definitions", pure: true, ships: true },
    Room { directory: "kinds", pure: true, ships: true },
    Room { directory: "listen", pure: false, ships: true },
    Room { directory: "runtime", pure: false, ships: true },
    Room { directory: "apiserver", pure: false, ships: true },
    Room { directory: "testkit", pure: false, ships: false },
    Room { directory: "engine", pure: true, ships: true },
    Room { directory: "snapshot", pure: false, ships: true },
    Room { directory: "embedded", pure: false, ships: true },
    Room { directory: "webhooks", pure: false, ships: true },
    Room { directory: "console", pure: false, ships: true },
    Room { directory: "dapr", pure: false, ships: true },
    Room { directory: "harbor", pure: false, ships: true },
    Room { directory: "core", pure: false, ships: true },
    Room { directory: "vela-cli", pure: false, ships: true },
    Room { directory: "simulation", pure: false, ships: false },
    Room { directory: "e2e", pure: false, ships: false },
    Room { directory: "xtask", pure: false, ships: false },
];
