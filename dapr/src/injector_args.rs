//! The flags of the sidecar injector, also by the variables of Dapr's own, and what they mean.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use http::Uri;
use serde_json::Value;
use tokio::sync::watch;
use vela_dapr::{AllowedAccounts, Confinement, PeerService, SidecarInjector, SidecarSettings};

use crate::listen_address::Listen;
use crate::reload::{EVERY, content};

type Failure = Box<dyn std::error::Error>;

#[derive(Debug, Args)]
#[command(next_help_heading = "Sidecar injector")]
pub(crate) struct InjectorArgs {
    /// Add sidecars to annotated pods, as /mutate at this address, for the Service dapr-sidecar-injector; 0, and nothing, adds none.
    #[arg(long, default_value = "0", value_name = "ADDRESS")]
    injector_addr: Listen,
    /// Where API servers outside of the cluster's network reach it: https://HOST:PORT, in place of the Service.
    #[arg(long, value_parser = https, value_name = "URL")]
    injector_url: Option<Uri>,
    /// Image of sidecars; needed where they are added.
    #[arg(long, env = "SIDECAR_IMAGE", default_value = "", value_name = "IMAGE")]
    sidecar_image: String,
    /// When the image is pulled: Always, IfNotPresent or Never.
    #[arg(long, env = "SIDECAR_IMAGE_PULL_POLICY", default_value = "IfNotPresent", value_parser = ["Always", "IfNotPresent", "Never"], value_name = "POLICY")]
    sidecar_image_pull_policy: String,
    /// Certificates of those who sign the certificates of the control plane, read again when they change; by default those of
    /// --trust-anchors.
    #[arg(long, env = "DAPR_TRUST_ANCHORS_FILE", value_name = "FILE")]
    sidecar_trust_anchors: Option<PathBuf>,
    /// Trust domain of the control plane.
    #[arg(
        long,
        env = "DAPR_CONTROL_PLANE_TRUST_DOMAIN",
        default_value = "cluster.local",
        value_name = "DOMAIN"
    )]
    control_plane_trust_domain: String,
    /// Domain of the cluster's Services.
    #[arg(long, env = "KUBE_CLUSTER_DOMAIN", default_value = "cluster.local", value_name = "DOMAIN")]
    cluster_domain: String,
    /// Who may ask for sidecars beside the cluster's own controllers: NAMESPACE:NAME with commas between; both may have *, ? and [a-z].
    #[arg(long, env = "ALLOWED_SERVICE_ACCOUNTS", default_value = "", value_name = "LIST")]
    allowed_service_accounts: String,
    /// The same, by its older name.
    #[arg(long, env = "ALLOWED_SERVICE_ACCOUNTS_PREFIX_NAMES", default_value = "", hide = true)]
    allowed_service_accounts_prefix_names: String,
    /// Tolerations of pods on nodes that ignore the entrypoint of an image, as a list in JSON.
    #[arg(long, env = "IGNORE_ENTRYPOINT_TOLERATIONS", default_value = "", value_name = "JSON")]
    ignore_entrypoint_tolerations: String,
    /// Lead sidecars to the scheduler.
    #[arg(long, default_value = "true", value_name = "BOOL")]
    scheduler_enabled: Maybe<Word>,
    /// Lead sidecars to who places actors.
    #[arg(long, env = "ACTORS_ENABLED", default_value = "true", value_name = "BOOL")]
    actors_enabled: Maybe<Word>,
    /// What places actors, where that is not Dapr's placement.
    #[arg(long, env = "ACTORS_SERVICE_NAME", default_value = "", value_name = "NAME")]
    actors_service_name: String,
    /// Its Service: NAME:PORT.
    #[arg(long, env = "ACTORS_SERVICE_ADDRESS", default_value = "", value_name = "ADDRESS")]
    actors_service_address: String,
    /// What keeps reminders, where Dapr does not.
    #[arg(long, env = "REMINDERS_SERVICE_NAME", default_value = "", value_name = "NAME")]
    reminders_service_name: String,
    /// Its Service: NAME:PORT.
    #[arg(long, env = "REMINDERS_SERVICE_ADDRESS", default_value = "", value_name = "ADDRESS")]
    reminders_service_address: String,
    /// Sidecars do not run as root.
    #[arg(long, env = "SIDECAR_RUN_AS_NON_ROOT", default_value = "true", value_name = "BOOL")]
    sidecar_run_as_non_root: Maybe<Word>,
    /// User of sidecars.
    #[arg(long, env = "SIDECAR_RUN_AS_USER", default_value = "", value_name = "ID")]
    sidecar_run_as_user: Maybe<i64>,
    /// Group of sidecars.
    #[arg(long, env = "SIDECAR_RUN_AS_GROUP", default_value = "", value_name = "ID")]
    sidecar_run_as_group: Maybe<i64>,
    /// Sidecars cannot write to the files of their image.
    #[arg(long, env = "SIDECAR_READ_ONLY_ROOT_FILESYSTEM", default_value = "true", value_name = "BOOL")]
    sidecar_read_only_root_filesystem: Maybe<Word>,
    /// Sidecars have no capability.
    #[arg(long, env = "SIDECAR_DROP_ALL_CAPABILITIES", default_value = "false", value_name = "BOOL")]
    sidecar_drop_all_capabilities: Maybe<Word>,
    /// Tell sidecars the address of their pod.
    #[arg(long, env = "ENABLE_K8S_DOWNWARD_APIS", default_value = "false", value_name = "BOOL")]
    enable_k8s_downward_apis: Maybe<Word>,
    /// Sidecars are init containers that go on running.
    #[arg(long, env = "NATIVE_SIDECAR_ENABLED", default_value = "false", value_name = "BOOL")]
    native_sidecar_enabled: Maybe<Word>,
}

impl InjectorArgs {
    /// Trust domain of the control plane.
    pub(crate) fn trust_domain(&self) -> String {
        let given = &self.control_plane_trust_domain;
        if given.is_empty() { "cluster.local".to_owned() } else { given.clone() }
    }

    /// The injector that the flags mean, if they mean one; its trust anchors are read now, and again while the process runs.
    pub(crate) fn injector(
        &self,
        namespace: &str,
        trust_anchors: Option<&Path>,
        issues: bool,
    ) -> Result<Option<SidecarInjector>, Failure> {
        let Some(address) = self.injector_addr.0 else { return Ok(None) };
        if self.sidecar_image.is_empty() {
            return Err("--injector-addr needs --sidecar-image, such as ghcr.io/dapr/daprd:1.18.3".into());
        }
        let file = self.sidecar_trust_anchors.as_deref().or(trust_anchors);
        let anchors = match file {
            Some(file) => anchors(file)?,
            // Those of the sentry take their place when it has some.
            None if issues => watch::channel(String::new()).1,
            None => {
                return Err("--injector-addr needs --sidecar-trust-anchors or --trust-anchors, the ca.crt of dapr-trust-bundle, or --sentry-addr".into());
            }
        };
        let settings = self.settings(namespace, anchors)?;
        Ok(Some(SidecarInjector { address, url: self.injector_url.clone(), settings }))
    }

    fn settings(
        &self,
        namespace: &str,
        trust_anchors: watch::Receiver<String>,
    ) -> Result<SidecarSettings, Failure> {
        let list = [&self.allowed_service_accounts, &self.allowed_service_accounts_prefix_names];
        let accounts = AllowedAccounts::read(&list.map(String::as_str).join(","));
        let or =
            |text: &String, default: &str| if text.is_empty() { default.to_owned() } else { text.clone() };
        let placement = PeerService::placement();
        let actors = PeerService {
            name: or(&self.actors_service_name, &placement.name),
            address: or(&self.actors_service_address, &placement.address),
        };
        let reminders = PeerService {
            name: self.reminders_service_name.clone(),
            address: self.reminders_service_address.clone(),
        };
        Ok(SidecarSettings {
            cluster_domain: or(&self.cluster_domain, "cluster.local"),
            trust_domain: self.trust_domain(),
            image_pull_policy: self.sidecar_image_pull_policy.clone(),
            confinement: Confinement {
                non_root: self.sidecar_run_as_non_root.or(true),
                user: self.sidecar_run_as_user.0,
                group: self.sidecar_run_as_group.0,
                read_only_root: self.sidecar_read_only_root_filesystem.or(true),
                drop_capabilities: self.sidecar_drop_all_capabilities.or(false),
            },
            pod_ip: self.enable_k8s_downward_apis.or(false),
            native: self.native_sidecar_enabled.or(false),
            scheduler: self.scheduler_enabled.or(true),
            actors: self.actors_enabled.or(true).then_some(actors),
            reminders: Some(reminders).filter(|reminders| !reminders.name.is_empty()),
            ignore_entrypoint_tolerations: tolerations(&self.ignore_entrypoint_tolerations)?,
            accounts: accounts.map_err(|error| format!("--allowed-service-accounts: {error}"))?,
            ..SidecarSettings::new(namespace, &self.sidecar_image, trust_anchors)
        })
    }
}

fn tolerations(text: &str) -> Result<Vec<Value>, Failure> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let wrong = |error| {
        format!(
            "--ignore-entrypoint-tolerations: {error}; expected a list such as [{{\"key\":\"aws\",\"effect\":\"NoSchedule\"}}]"
        )
    };
    Ok(serde_json::from_str(text).map_err(wrong)?)
}

/// Follows a file as long as its content has a reader. A failed read is logged, and the former content stays in use.
fn anchors(file: &Path) -> Result<watch::Receiver<String>, Failure> {
    let read = |file: &Path| -> Result<String, String> {
        let text =
            String::from_utf8(content(file)?).map_err(|error| format!("{}: {error}", file.display()))?;
        let holds = text.contains("-----BEGIN CERTIFICATE-----");
        if holds { Ok(text) } else { Err(format!("{} has no CERTIFICATE block", file.display())) }
    };
    let (sender, receiver) = watch::channel(read(file)?);
    let file = file.to_owned();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = sender.closed() => return,
                () = tokio::time::sleep(EVERY) => {}
            }
            let from = file.clone();
            match tokio::task::spawn_blocking(move || read(&from)).await {
                Ok(Ok(text)) => {
                    sender.send_if_modified(|held| {
                        let changed = *held != text;
                        *held = text;
                        changed
                    });
                }
                Ok(Err(error)) => tracing::warn!(error, "the trust anchors of sidecars cannot be read again"),
                Err(error) => tracing::warn!(%error, "the trust anchors of sidecars cannot be read again"),
            }
        }
    });
    Ok(receiver)
}

fn https(text: &str) -> Result<Uri, String> {
    let wrong = || "write https://HOST:PORT".to_owned();
    let url: Uri = text.parse().map_err(|_| wrong())?;
    let plain = url.scheme_str() == Some("https") && url.path() == "/" && url.query().is_none();
    if plain { Ok(url) } else { Err(wrong()) }
}

/// A value that may be left empty, as variables of charts are.
#[derive(Clone, Copy, Debug)]
struct Maybe<T>(Option<T>);

impl<T: FromStr<Err: ToString>> FromStr for Maybe<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        text.parse().map(|value| Self(Some(value))).map_err(|error: T::Err| error.to_string())
    }
}

impl Maybe<Word> {
    fn or(self, default: bool) -> bool {
        self.0.map_or(default, |word| word.0)
    }
}

/// A word for yes or no.
#[derive(Clone, Copy, Debug)]
struct Word(bool);

impl FromStr for Word {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().to_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "on" | "1" => Ok(Self(true)),
            "false" | "f" | "no" | "n" | "off" | "0" => Ok(Self(false)),
            _ => Err("write true or false"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        injector: InjectorArgs,
    }

    fn injector(flags: &[&str]) -> Result<Option<SidecarInjector>, Failure> {
        let program = Program::try_parse_from(std::iter::once("p").chain(flags.iter().copied()))?;
        program.injector.injector("dapr-system", None, false)
    }

    #[tokio::test]
    async fn the_flags_of_the_chart_are_understood() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.crt");
        std::fs::write(&file, "-----BEGIN CERTIFICATE-----\n").unwrap();
        let file = format!("--sidecar-trust-anchors={}", file.display());
        assert!(injector(&[]).unwrap().is_none());
        let flags = [
            "--injector-addr=:4000",
            "--sidecar-image=i",
            &file,
            "--sidecar-run-as-user=1005",
            "--actors-enabled=false",
            "--native-sidecar-enabled=1",
            "--reminders-service-name=r",
            "--reminders-service-address=a:1",
            "--ignore-entrypoint-tolerations=[{\"key\":\"aws\"}]",
        ];
        let injector = injector(&flags).unwrap().unwrap();
        assert_eq!(injector.address.port(), 4000);
        let settings = injector.settings;
        assert_eq!((settings.confinement.user, settings.confinement.group), (Some(1005), None));
        assert!(settings.actors.is_none() && settings.native && settings.scheduler);
        assert_eq!(settings.reminders.unwrap().address, "a:1");
        assert_eq!(settings.ignore_entrypoint_tolerations.len(), 1);
        assert_eq!(*settings.trust_anchors.borrow(), "-----BEGIN CERTIFICATE-----\n");
    }

    #[tokio::test]
    async fn what_is_missing_or_wrong_is_named_by_its_flag() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty");
        std::fs::write(&empty, "").unwrap();
        let empty = format!("--sidecar-trust-anchors={}", empty.display());
        let (on, image) = ("--injector-addr=:4000", "--sidecar-image=i");
        for (flags, expected) in [
            (&[on][..], "--sidecar-image"),
            (&[on, image], "--sidecar-trust-anchors"),
            (&[on, image, "--sidecar-trust-anchors=/none"], "/none"),
            (&[on, image, &empty], "no CERTIFICATE block"),
            (&["--injector-url=http://a"], "https://HOST:PORT"),
            (&["--sidecar-run-as-non-root=maybe"], "true or false"),
            (&["--sidecar-image-pull-policy=Sometimes"], "IfNotPresent"),
        ] {
            let error = injector(flags).unwrap_err().to_string();
            assert!(error.contains(expected), "{flags:?}: {error}");
        }
    }
}
