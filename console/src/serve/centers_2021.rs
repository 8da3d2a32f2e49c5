//! Answers what the REST API of early 2021 says of capability centers, and what it writes of them. Centers lie on the machine of
//! the console, so that only the program which starts it knows them.

use serde_json::{Value, json};
use vela_engine::DefinitionKind;

use super::console::Console;
use crate::commands::{Center, NewCenter};
use crate::data::centers_2021;
use crate::error::Error;
use crate::find::Names;

impl Console {
    /// The centers of this machine.
    pub(super) async fn centers(&self) -> Result<Value, Error> {
        let Some(commands) = &self.inner.options.commands else { return Ok(json!([])) };
        let all = commands.centers().await?;
        let center = |Center { name, address }: Center| json!({"name": name, "url": address});
        Ok(all.into_iter().map(center).collect())
    }

    /// What is installed of these types, and what the centers have beside it.
    pub(super) async fn capabilities(&self, mut installed: Vec<Value>) -> Result<Value, Error> {
        if let Some(commands) = &self.inner.options.commands {
            let offers = commands.capabilities().await?;
            let more = centers_2021::offered(
                &installed,
                offers,
                &[DefinitionKind::Component, DefinitionKind::Trait],
            );
            installed.extend(more);
        }
        Ok(Value::Array(installed))
    }

    pub(super) async fn configure_center(&self, wanted: NewCenter) -> Result<String, Error> {
        let object = of_center(&wanted.name);
        let work = async {
            self.writer()?;
            let said = self.commands()?.configure_center(wanted).await?;
            Ok(format!("Successfully configured capability center and synchronized from remote\n{said}"))
        };
        self.audited("cap center config", object, work).await
    }

    pub(super) async fn sync_center(&self, names: &Names) -> Result<String, Error> {
        let name = names.get("center");
        let work = async {
            self.writer()?;
            self.has_center(name).await?;
            let said = self.commands()?.sync_center(name.to_owned()).await?;
            Ok(format!("sync finished\n{said}"))
        };
        self.audited("cap center sync", of_center(name), work).await
    }

    pub(super) async fn remove_center(&self, names: &Names) -> Result<String, Error> {
        let name = names.get("center");
        let work = async {
            self.writer()?;
            self.has_center(name).await?;
            Ok(self.commands()?.remove_center(name.to_owned()).await?)
        };
        self.audited("cap center remove", of_center(name), work).await
    }

    pub(super) async fn install_capability(&self, names: &Names) -> Result<String, Error> {
        let (center, name) = (names.get("center"), names.get("capability"));
        let work = async {
            let (client, _) = self.writer()?;
            self.has_center(center).await?;
            Ok(self.commands()?.install(client, center.to_owned(), name.to_owned()).await?)
        };
        self.audited("cap install", format!("Capability {center}/{name}"), work).await
    }

    pub(super) async fn uninstall_capability(&self, names: &Names) -> Result<String, Error> {
        let name = names.get("capability");
        let work = async {
            let (client, _) = self.writer()?;
            self.commands()?.uninstall(client, name.to_owned()).await?;
            Ok(format!("{name} removed successfully"))
        };
        self.audited("cap uninstall", format!("Capability {name}"), work).await
    }

    async fn has_center(&self, name: &str) -> Result<(), Error> {
        let commands = self.commands()?;
        // What is asked for then says that it is refused.
        match commands.is_shared() || commands.centers().await?.iter().any(|center| center.name == name) {
            true => Ok(()),
            false => Err(Error::NotFound(format!("there is no capability center {name:?}"))),
        }
    }
}

fn of_center(name: &str) -> String {
    format!("CapabilityCenter {name}")
}
