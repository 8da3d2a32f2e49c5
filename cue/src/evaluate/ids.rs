//! Numbers of vertices, environments, scopes and cycles within one evaluation.

macro_rules! id {
    ($($name:ident)*) => {$(
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub(crate) struct $name(pub(crate) u32);

        impl $name {
            pub(crate) const NONE: Self = Self(u32::MAX);

            #[allow(dead_code)]
            pub(crate) fn is_none(self) -> bool {
                self.0 == u32::MAX
            }
        }
    )*};
}

id!(VertexId EnvId ScopeId CycleId);

/// The outermost scope: closes nothing.
pub(crate) const ROOT_SCOPE: ScopeId = ScopeId(0);
