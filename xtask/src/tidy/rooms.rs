//! The rooms of the house, in flow order.

/// A room, and whether it must not touch the outside world.
pub(super) struct Room {
    pub(super) directory: &'static str,
    pub(super) pure: bool,
}

/// Flow order. Floors and arrows stand in the figure of ARCHITECTURE.md, which says the same as the manifests.
pub(super) const ROOMS: [Room; 20] = [
    Room { directory: "cue", pure: true },
    Room { directory: "crds", pure: true },
    Room { directory: "definitions", pure: true },
    Room { directory: "kinds", pure: true },
    Room { directory: "listen", pure: false },
    Room { directory: "runtime", pure: false },
    Room { directory: "apiserver", pure: false },
    Room { directory: "testkit", pure: false },
    Room { directory: "engine", pure: true },
    Room { directory: "snapshot", pure: false },
    Room { directory: "embedded", pure: false },
    Room { directory: "webhooks", pure: false },
    Room { directory: "console", pure: false },
    Room { directory: "dapr", pure: false },
    Room { directory: "harbor", pure: false },
    Room { directory: "core", pure: false },
    Room { directory: "vela-cli", pure: false },
    Room { directory: "simulation", pure: false },
    Room { directory: "e2e", pure: false },
    Room { directory: "xtask", pure: false },
];
