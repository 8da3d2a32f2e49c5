//! What is written at paths that are also read: by which method, and what it answers.

use crate::route::{Endpoint, Of2021};

/// What is written at a path that is also read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// Deploys an application.
    Deploy,
    /// Deletes it.
    Delete,
    /// By the REST API of early 2021.
    Of2021(Write2021),
}

/// What is written by the REST API of early 2021.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write2021 {
    /// Makes an environment.
    MakeEnvironment,
    /// Gives it another namespace.
    ChangeEnvironment,
    /// Makes it current.
    ChooseEnvironment,
    /// Deletes it.
    DeleteEnvironment,
    /// Deploys an Appfile.
    DeployAppfile,
    /// Deploys an Appfile over an application that is there.
    ChangeApplication,
    /// Deletes an application.
    DeleteApplication,
    /// Gives an application a component, by its parameters.
    RunWorkload,
    /// Writes a component over one that is there.
    ChangeComponent,
    /// Takes a component out of an application.
    DeleteComponent,
    /// Gives a component a trait.
    AttachTrait,
    /// Takes one away.
    DetachTrait,
    /// Remembers a capability center.
    ConfigureCenter,
    /// Reads it anew.
    SyncCenter,
    /// Forgets it.
    RemoveCenter,
    /// Installs a capability of it.
    InstallCapability,
    /// Takes a capability away.
    UninstallCapability,
}

impl Write {
    /// Those of a path.
    pub(crate) fn all(endpoint: Endpoint) -> &'static [Self] {
        use Write2021::*;
        match endpoint {
            Endpoint::Application => &[Self::Deploy, Self::Delete],
            Endpoint::Of2021(Of2021::Environments) => &[Self::Of2021(MakeEnvironment)],
            Endpoint::Of2021(Of2021::Environment) => &[
                Self::Of2021(ChangeEnvironment),
                Self::Of2021(ChooseEnvironment),
                Self::Of2021(DeleteEnvironment),
            ],
            Endpoint::Of2021(Of2021::Applications) => &[Self::Of2021(DeployAppfile)],
            Endpoint::Of2021(Of2021::Application) => {
                &[Self::Of2021(ChangeApplication), Self::Of2021(DeleteApplication)]
            }
            Endpoint::Of2021(Of2021::Component) => {
                &[Self::Of2021(ChangeComponent), Self::Of2021(DeleteComponent)]
            }
            Endpoint::Of2021(Of2021::WorkloadTypes) => &[Self::Of2021(RunWorkload)],
            Endpoint::Of2021(Of2021::AttachedTraits) => &[Self::Of2021(AttachTrait)],
            Endpoint::Of2021(Of2021::AttachedTrait) => &[Self::Of2021(DetachTrait)],
            Endpoint::Of2021(Of2021::CapabilityCenters) => &[Self::Of2021(ConfigureCenter)],
            Endpoint::Of2021(Of2021::CapabilityCenter) => &[Self::Of2021(RemoveCenter)],
            Endpoint::Of2021(Of2021::CenterCapabilities) => &[Self::Of2021(SyncCenter)],
            Endpoint::Of2021(Of2021::CenterCapability) => &[Self::Of2021(InstallCapability)],
            Endpoint::Of2021(Of2021::Capability) => &[Self::Of2021(UninstallCapability)],
            _ => &[],
        }
    }

    /// The one of a method.
    pub(crate) fn of(endpoint: Endpoint, method: &str) -> Option<Self> {
        Self::all(endpoint).iter().copied().find(|write| write.method() == method)
    }

    /// Its method.
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Deploy => "PUT",
            Self::Delete => "DELETE",
            Self::Of2021(write) => write.method(),
        }
    }

    /// Its parameters behind `?`.
    pub(crate) fn query(self) -> &'static [&'static str] {
        match self {
            Self::Deploy => &["resourceVersion", "contentHash"],
            Self::Delete | Self::Of2021(_) => &[],
        }
    }

    /// Its answer, in a sentence.
    pub(crate) fn summary(self) -> &'static str {
        match self {
            Self::Deploy => {
                "Writes an application over the version that a plan saw, or creates it; the application as it was written"
            }
            Self::Delete => "Deletes an application and the objects that it made",
            Self::Of2021(write) => write.summary(),
        }
    }
}

impl Write2021 {
    fn method(self) -> &'static str {
        match self {
            Self::MakeEnvironment | Self::DeployAppfile | Self::RunWorkload | Self::AttachTrait => "POST",
            Self::ChooseEnvironment => "PATCH",
            Self::ChangeEnvironment
            | Self::ChangeApplication
            | Self::ChangeComponent
            | Self::ConfigureCenter
            | Self::SyncCenter
            | Self::InstallCapability => "PUT",
            Self::DeleteEnvironment
            | Self::DeleteApplication
            | Self::DeleteComponent
            | Self::DetachTrait
            | Self::RemoveCenter
            | Self::UninstallCapability => "DELETE",
        }
    }

    fn summary(self) -> &'static str {
        match self {
            Self::MakeEnvironment => "Makes an environment, with its namespace where there is none",
            Self::ChangeEnvironment => "Gives an environment another namespace",
            Self::ChooseEnvironment => {
                "Makes an environment the one in which commands on the machine of the console work"
            }
            Self::DeleteEnvironment => {
                "Deletes an environment without applications, and the namespace that was made for it"
            }
            Self::DeployAppfile => "Deploys the application that an Appfile describes",
            Self::ChangeApplication => "Deploys an Appfile over the application of its name",
            Self::DeleteApplication => "Deletes an application and the objects that it made",
            Self::RunWorkload => {
                "Gives an application a component of a type with these parameters, and makes it where there is none"
            }
            Self::ChangeComponent => "Writes a component with these parameters over the one of its name",
            Self::DeleteComponent => "Takes a component out of an application that has others",
            Self::AttachTrait => "Gives a component a trait, in place of one of its type",
            Self::DetachTrait => "Takes a trait away from a component",
            Self::ConfigureCenter => "Reads the definitions of a capability center, and remembers it",
            Self::SyncCenter => "Reads the definitions of a capability center anew",
            Self::RemoveCenter => "Forgets a capability center; what is installed of it stays",
            Self::InstallCapability => "Applies the definitions of a capability",
            Self::UninstallCapability => {
                "Deletes the definitions of a capability that a center brought and no application uses"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::{READS, ROUTES};
    use crate::routes_2021::ROUTES_2021;

    #[test]
    fn each_write_is_among_the_methods_of_its_path() {
        for route in ROUTES.iter().chain(&ROUTES_2021) {
            let allow = route.endpoint.allow();
            let reads = allow.starts_with(READS).then_some(READS);
            let written: Vec<&str> = Write::all(route.endpoint).iter().map(|write| write.method()).collect();
            if !written.is_empty() {
                let all: Vec<&str> = reads.into_iter().chain(written).collect();
                assert_eq!(allow, all.join(", "), "{}", route.path);
            }
        }
    }
}
