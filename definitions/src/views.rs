//! The built-in views, which say how applications are by looking at the cluster; `vela ql` runs them.

/// A built-in view.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Its name.
    pub name: &'static str,
    /// What it says, in a sentence.
    pub description: &'static str,
    /// Its text in CUE.
    pub text: &'static str,
}

macro_rules! view {
    ($name:literal, $description:literal) => {
        View {
            name: $name,
            description: $description,
            text: include_str!(concat!("../views/", $name, ".cue")),
        }
    };
}

/// All built-in views, by name.
pub const VIEWS: &[View] = &[
    view!("application-resource-tree-view", "The objects of an application, each with what became of it"),
    view!("application-revision-view", "A revision of an application, whole"),
    view!("component-pod-view", "The pods of an application"),
    view!("component-service-view", "The Services of an application"),
    view!("service-applied-resources-view", "The objects that an application applied"),
    view!("service-endpoints-view", "The addresses at which an application is reached"),
];
