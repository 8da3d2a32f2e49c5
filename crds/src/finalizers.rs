//! Finalizers, field managers and well-known names.

/// On an Application that owns objects its record must outlive.
pub const RESOURCE_TRACKER: &str = "app.oam.dev/resource-tracker-finalizer";
/// The same, as release 1.0 spells it: taken off when found.
pub const RESOURCE_TRACKER_V1_0: &str = "resourceTracker.finalizer.core.oam.dev";
/// On an Application whose objects stay when it is deleted, and only stop being its own (`vela delete --orphan`).
pub const ORPHAN_RESOURCE: &str = "app.oam.dev/orphan-resource";
/// On a ResourceTracker: it stays until what it names is gone.
pub const TRACKER: &str = "resourcetracker.core.oam.dev/finalizer";
/// On an ApplicationConfiguration with a component in a scope.
pub const SCOPE: &str = "scope.finalizer.core.oam.dev";
/// On an ApplicationConfiguration with objects that no owner reference reaches: of kinds without namespaces, or in
/// another namespace.
pub const ELSEWHERE: &str = "elsewhere.finalizer.core.oam.dev";

/// Namespace of the controller and the shared definitions.
pub const SYSTEM_NAMESPACE: &str = "vela-system";
