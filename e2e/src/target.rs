//! Where scenarios run: a sandbox of their own, or one real cluster for all, each in its own namespace.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

use crate::Result;
use crate::control_plane::ControlPlane;
use crate::objects::{self, Cluster};
pub use crate::output::ProgramOutput;
use crate::programs::programs;

/// How long a program may take until it answers.
const START_DEADLINE: Duration = Duration::from_secs(120);
/// How often it is asked.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// A running target with a namespace of this scenario.
pub struct Target {
    kubeconfig: PathBuf,
    namespace: String,
    home: tempfile::TempDir,
    cluster: Cluster,
    backing: Backing,
    /// Last of all: the next test in the queue must not find our controller.
    _turn: Option<Turn>,
}

/// One real cluster has room for many scenarios with one controller, or for one that brings its own.
static TURNS: RwLock<()> = RwLock::new(());

/// The lock is held as long as a scenario uses the cluster.
enum Turn {
    WithOthers { _held: RwLockReadGuard<'static, ()> },
    Alone { _held: RwLockWriteGuard<'static, ()> },
}

enum Backing {
    /// A real cluster with what vela installs and nothing that reconciles.
    Alone,
    /// The same, which this scenario has started for itself.
    OfItsOwn(ControlPlane),
    /// `vela sandbox run`, ours alone.
    Sandbox(Mutex<Option<Child>>),
    /// `vela-core` beside the real cluster, shared by the scenarios of this test binary.
    Real(Arc<Controller>),
}

/// Is the target a real cluster?
pub fn is_real() -> bool {
    real_kubeconfig().is_some()
}

fn real_kubeconfig() -> Option<PathBuf> {
    std::env::var_os("E2E_KUBECONFIG").filter(|path| !path.is_empty()).map(PathBuf::from)
}

impl Target {
    /// Opens the target and makes the namespace of the scenario `name`.
    pub async fn open(name: &str) -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let namespace =
            format!("e2e-{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let home = tempfile::tempdir()?;
        let mut turn = None;
        let (kubeconfig, backing) = match real_kubeconfig() {
            Some(kubeconfig) => {
                let held = TURNS.read().unwrap_or_else(PoisonError::into_inner);
                turn = Some(Turn::WithOthers { _held: held });
                let controller = Controller::shared(&kubeconfig)?;
                (kubeconfig, Backing::Real(controller))
            }
            None => {
                let child = start_sandbox(home.path())?;
                (home.path().join("vela/sandbox/kubeconfig"), Backing::Sandbox(Mutex::new(Some(child))))
            }
        };
        Self::in_namespace(kubeconfig, namespace, home, backing, turn).await
    }

    /// Opens the real cluster for the scenario `name`, which brings its own controllers: no other scenario runs until
    /// this is dropped.
    pub async fn alone(name: &str) -> Result<Self> {
        let kubeconfig = real_kubeconfig().ok_or("only a real cluster can be had without controllers")?;
        let held = TURNS.write().unwrap_or_else(PoisonError::into_inner);
        let home = tempfile::tempdir()?;
        install(&kubeconfig, home.path())?;
        let namespace = format!("e2e-{name}-{}", std::process::id());
        let turn = Some(Turn::Alone { _held: held });
        Self::in_namespace(kubeconfig, namespace, home, Backing::Alone, turn).await
    }

    /// A real control plane of the scenario `name` alone, without controllers, which may be set back.
    pub async fn of_its_own(name: &str) -> Result<Self> {
        if !is_real() {
            return Err("scenarios start a control plane of their own only where they run on one".into());
        }
        // Started while no other scenario needs the processors: it has deadlines.
        let turn = Turn::Alone { _held: TURNS.write().unwrap_or_else(PoisonError::into_inner) };
        let plane = ControlPlane::start()?;
        let kubeconfig = plane.kubeconfig();
        let home = tempfile::tempdir()?;
        install(&kubeconfig, home.path())?;
        let namespace = format!("e2e-{name}");
        Self::in_namespace(kubeconfig, namespace, home, Backing::OfItsOwn(plane), Some(turn)).await
    }

    /// Copies what is stored, where [`Target::of_its_own`] was opened.
    pub async fn back_up(&self) -> Result<()> {
        self.plane()?.back_up().await
    }

    /// Sets the cluster back to the copy while its clients go on.
    pub async fn restore(&self) -> Result<()> {
        self.plane()?.restore().await
    }

    fn plane(&self) -> Result<&ControlPlane> {
        match &self.backing {
            Backing::OfItsOwn(plane) => Ok(plane),
            _ => Err("others use this cluster".into()),
        }
    }

    async fn in_namespace(
        kubeconfig: PathBuf,
        namespace: String,
        home: tempfile::TempDir,
        backing: Backing,
        turn: Option<Turn>,
    ) -> Result<Self> {
        let cluster = Cluster::new(connect(&kubeconfig).await?, &namespace);
        let target = Self { kubeconfig, namespace, home, cluster, backing, _turn: turn };
        target
            .cluster
            .create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": target.namespace}}))
            .await?;
        Ok(target)
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The namespace of this scenario.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The objects.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Runs `vela` on this target and in this namespace. `input` goes to its standard input.
    pub fn vela(&self, words: &[&str], input: &str) -> Result<ProgramOutput> {
        use std::io::Write;
        let mut child = self
            .command(words)?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that refuses its flags ends before it reads.
            let _ = stdin.write_all(input.as_bytes());
        }
        Ok(ProgramOutput::of(&child.wait_with_output()?))
    }

    /// `vela` with the environment of this target, not started yet.
    pub fn command(&self, words: &[&str]) -> Result<Command> {
        let mut command = clean(&programs()?.vela, self.home.path());
        if !matches!(self.backing, Backing::Sandbox(_)) {
            command.env("KUBECONFIG", &self.kubeconfig);
        }
        command.args(words).args(["--namespace", &self.namespace]);
        Ok(command)
    }

    /// `vela-core` with these flags beside the one that reconciles, not started yet; only a real cluster has one.
    pub fn core(&self, flags: &[&str]) -> Result<Command> {
        let mut command = clean(&programs()?.core, self.home.path());
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--metrics-addr=0", "--health-addr=0"])
            .args(flags);
        Ok(command)
    }

    /// A folder of this scenario that is gone after it.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The process of a sandbox, in which everything runs; nothing on a real cluster.
    pub fn process(&self) -> Option<u32> {
        match &self.backing {
            Backing::Sandbox(slot) => slot.lock().ok()?.as_ref().map(Child::id),
            Backing::Real(_) | Backing::Alone | Backing::OfItsOwn(_) => None,
        }
    }

    /// The last lines of the log of what reconciles, for the message of a failure.
    pub fn log_tail(&self) -> String {
        let path = match &self.backing {
            Backing::Sandbox(_) => self.home.path().join("sandbox.log"),
            Backing::Real(controller) => controller.home.path().join("vela-core.log"),
            Backing::Alone | Backing::OfItsOwn(_) => return String::new(),
        };
        last_lines(&std::fs::read_to_string(path).unwrap_or_default())
    }

    /// Kills what reconciles, at once and without a chance to tidy up.
    pub fn kill(&self) -> Result<()> {
        match &self.backing {
            Backing::Sandbox(slot) => kill(slot),
            Backing::Real(controller) => kill(&controller.child),
            Backing::Alone | Backing::OfItsOwn(_) => Ok(()),
        }
    }

    /// Starts it again.
    pub async fn restart(&mut self) -> Result<()> {
        match &self.backing {
            Backing::Sandbox(slot) => {
                *slot.lock().map_err(|error| error.to_string())? = Some(start_sandbox(self.home.path())?);
                // The port, the token and the certificate are new.
                self.cluster = Cluster::new(connect(&self.kubeconfig).await?, &self.namespace);
                Ok(())
            }
            Backing::Real(controller) => controller.start(),
            Backing::Alone | Backing::OfItsOwn(_) => Ok(()),
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Backing::Sandbox(slot) = &self.backing {
            let _ = kill(slot);
        }
    }
}

fn kill(slot: &Mutex<Option<Child>>) -> Result<()> {
    if let Some(mut child) = slot.lock().map_err(|error| error.to_string())?.take() {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

/// `vela-core` against a real cluster; lives as long as a scenario uses it.
struct Controller {
    kubeconfig: PathBuf,
    home: tempfile::TempDir,
    child: Mutex<Option<Child>>,
}

impl Controller {
    fn shared(kubeconfig: &Path) -> Result<Arc<Self>> {
        static SHARED: Mutex<Weak<Controller>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().map_err(|error| error.to_string())?;
        if let Some(running) = shared.upgrade() {
            return Ok(running);
        }
        let home = tempfile::tempdir()?;
        install(kubeconfig, home.path())?;
        let kubeconfig = with_the_rights_of_the_controller(kubeconfig, home.path())?;
        let controller = Arc::new(Self { kubeconfig, home, child: Mutex::new(None) });
        controller.start()?;
        *shared = Arc::downgrade(&controller);
        Ok(controller)
    }

    fn start(&self) -> Result<()> {
        let mut slot = self.child.lock().map_err(|error| error.to_string())?;
        // Another scenario that killed it may have been faster: two of them would write the same objects.
        if let Some(child) = slot.as_mut()
            && child.try_wait()?.is_none()
        {
            return Ok(());
        }
        let log = log_file(&self.home.path().join("vela-core.log"))?;
        let child = clean(&programs()?.core, self.home.path())
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            // Several runs may share this machine, and no client asks the endpoints. Hooks of scenarios are on this
            // machine.
            .args(["--metrics-addr=0", "--health-addr=0", "--allow-loopback-requests"])
            // As the sandbox, and as releases of KubeVela, whose stories are told here.
            .args(["--allow-cross-namespace", "--allow-granting-rights"])
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        *slot = Some(child);
        Ok(())
    }
}

/// The account that `vela install` makes: with more rights than it has, a missing one would not be noticed.
pub(crate) const ACCOUNT: &str = "system:serviceaccount:vela-system:vela-core";

/// Lets applications make the kinds of other projects too, Secrets, Pods and namespaces, as a platform team does after it installed them.
fn granted() -> serde_json::Value {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    let groups = ["example.com", "extend.oam.dev", "flagger.app", "apps.kruise.io"];
    serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "e2e-kinds-of-others", "labels": {"core.oam.dev/aggregate-to-vela-core": "true"}},
        "rules": [
            {"apiGroups": groups, "resources": ["*"], "verbs": verbs},
            {"apiGroups": [""], "resources": ["namespaces", "secrets", "pods"], "verbs": verbs},
            // Some scenarios serve webhooks, and installations without them go on beside. The keeper of the certificate
            // replaces it.
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "create", "update"]},
            {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["get", "list", "patch"]},
            {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["get", "list", "patch"]},
            {"apiGroups": ["core.oam.dev"], "resources": ["servicebindings"], "verbs": ["list"]},
        ],
    })
}

/// A copy of the file in which every user acts as the controller's account.
fn with_the_rights_of_the_controller(kubeconfig: &Path, home: &Path) -> Result<PathBuf> {
    let mut read = serde_json::to_value(Kubeconfig::read_from(kubeconfig)?)?;
    for user in read["users"].as_array_mut().into_iter().flatten() {
        user["user"]["as"] = ACCOUNT.into();
    }
    let path = home.join("vela-core.kubeconfig");
    std::fs::write(&path, read.to_string())?;
    Ok(path)
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = kill(&self.child);
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.home.path().join("vela-core.log")).unwrap_or_default();
            eprintln!("--- end of the log of vela-core\n{}", last_lines(&log));
        }
    }
}

/// CRDs, definitions and rights.
fn install(kubeconfig: &Path, home: &Path) -> Result<()> {
    let install = clean(&programs()?.vela, home).arg("install").env("KUBECONFIG", kubeconfig).output()?;
    ProgramOutput::of(&install).ok().map_err(|error| format!("vela install: {error}"))?;
    let kinds = home.join("kinds-of-others.yaml");
    std::fs::write(&kinds, granted().to_string())?;
    let mut grant = clean(&programs()?.vela, home);
    let grant = grant.args(["up", "-f"]).arg(&kinds).env("KUBECONFIG", kubeconfig).output()?;
    ProgramOutput::of(&grant).ok().map_err(|error| format!("the rights of the tests: {error}"))?;
    Ok(())
}

fn start_sandbox(home: &Path) -> Result<Child> {
    let kubeconfig = home.join("vela/sandbox/kubeconfig");
    // The remains of a killed sandbox say nothing about the new one.
    let _ = std::fs::remove_file(&kubeconfig);
    let log_path = home.join("sandbox.log");
    let mut child = clean(&programs()?.vela, home)
        .args(["sandbox", "run"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log_file(&log_path)?)
        .spawn()?;
    let deadline = Instant::now() + START_DEADLINE;
    loop {
        let log = std::fs::read_to_string(&log_path).unwrap_or_default();
        // The address is told after the port is open and the kubeconfig is written.
        if kubeconfig.exists() && log.contains("serves at") {
            return Ok(child);
        }
        if let Some(status) = child.try_wait()? {
            return Err(format!("the sandbox ended ({status}):\n{}", last_lines(&log)).into());
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            return Err(format!("the sandbox does not serve:\n{}", last_lines(&log)).into());
        }
        std::thread::sleep(ASK_EVERY);
    }
}

/// A program that sees nothing of this machine's configuration.
fn clean(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", home)
        .env("VELA_HOME", home.join("vela"))
        .env("NO_COLOR", "1");
    command
}

fn log_file(path: &Path) -> Result<std::fs::File> {
    Ok(std::fs::File::options().create(true).append(true).open(path)?)
}

fn last_lines(log: &str) -> String {
    /// Enough to see a cause.
    const LINES: usize = 40;
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

async fn connect(kubeconfig: &Path) -> Result<Client> {
    let read = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    objects::until("the API server answers", START_DEADLINE, async || {
        client.apiserver_version().await.map(|_| ()).map_err(|error| error.to_string())
    })
    .await?;
    Ok(client)
}
