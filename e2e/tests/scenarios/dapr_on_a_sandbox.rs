//! The Dapr operator beside the sandbox: the session of its guide, run as it is written, and what `vela install --dapr` grants.

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::programs::{beside, programs};
use vela_e2e::target::{ProgramOutput, Target};

use crate::{CONVERGE_DEADLINE, repository, scenario};

const GUIDE: &str = "docs/dapr.md";
const SESSION: &str = "## Try it";
const WITH_KUBECTL: &str = "## The same with kubectl";
const BACKGROUND: &str = "<!-- background -->";
/// The port of the guide; each run has another one.
const PORT: &str = "6500";

/// Programs that run until the session is through.
struct Running(Vec<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A user with a folder of their own, the programs, and the sandbox of a target.
struct User<'a> {
    target: &'a Target,
    port: String,
    path: String,
    running: Running,
}

impl<'a> User<'a> {
    fn of(target: &'a Target) -> Result<Self> {
        let operator = beside("vela-dapr", "vela-dapr")?;
        beside("vela-dapr", "examples/sidecar")?;
        let folder = operator.parent().ok_or("vela-dapr lies in no folder")?;
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{}:{path}", folder.display(), folder.join("examples").display());
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
        Ok(Self { target, port, path, running: Running(Vec::new()) })
    }

    fn shell(&self, command: &str) -> Command {
        let home = self.target.home();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &command.replace(PORT, &self.port)])
            .current_dir(home)
            .env_remove("KUBECONFIG")
            .env("PATH", &self.path)
            .env("HOME", home)
            .env("VELA_HOME", home.join("vela"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        shell
    }

    /// The output of a command; one that reads what others write is asked until it says what is expected.
    fn says(&self, command: &str, expected: &[String]) -> Result<()> {
        let began = Instant::now();
        loop {
            let said = ProgramOutput::of(&self.shell(command).output()?).ok()?;
            let output = format!("{}\n{}", said.err, said.out);
            let Some(missing) = missing(&output, expected) else { return Ok(()) };
            let waits = ["cat ", "kubectl ", "vela status "].iter().any(|reads| command.starts_with(reads));
            if !waits || began.elapsed() > CONVERGE_DEADLINE {
                return Err(format!("{command}\ndoes not say: {missing}\n{output}").into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Starts a command, and waits until it has said what is expected.
    fn leaves_running(&mut self, command: &str, expected: &[String]) -> Result<()> {
        let log = self.target.home().join(format!("background-{}.log", self.running.0.len()));
        let (out, err) = (File::create(&log)?, File::options().append(true).open(&log)?);
        let mut shell = self.shell(&format!("exec {command}"));
        self.running.0.push(shell.stdout(out).stderr(err).spawn()?);
        let began = Instant::now();
        loop {
            let output = std::fs::read_to_string(&log)?;
            let Some(missing) = missing(&output, expected) else { return Ok(()) };
            if began.elapsed() > CONVERGE_DEADLINE {
                return Err(format!("{command}\ndoes not say: {missing}\n{output}").into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Follows the blocks of a section: files are written, commands run.
    fn follows(&mut self, section: &str) -> Result<usize> {
        let (mut commands, mut background) = (0, false);
        let mut lines = section.lines();
        while let Some(line) = lines.next() {
            let Some(info) = line.strip_prefix("```") else {
                background = line == BACKGROUND || background && line.is_empty();
                continue;
            };
            let text: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            match info.split_once(' ') {
                Some(("yaml", file)) => {
                    let file = file.strip_prefix("file=").ok_or("a block of YAML names its file")?;
                    std::fs::write(self.target.home().join(file), text.join("\n") + "\n")?;
                }
                None if info == "console" => {
                    for (command, expected) in commands_of(&text) {
                        commands += 1;
                        match background {
                            true => self.leaves_running(&command, &expected)?,
                            false => self.says(&command, &expected)?,
                        }
                    }
                }
                _ => return Err(format!("nothing runs a block of {info:?}").into()),
            }
            background = false;
        }
        Ok(commands)
    }
}

/// Commands, and the lines below each.
fn commands_of(text: &[&str]) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for line in text {
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => all.push((command.to_owned(), Vec::new())),
            (None, Some((_, expected))) => expected.push(squeezed(line)),
            (None, None) => {}
        }
    }
    all
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first expected line that does not follow; `…` stands for anything.
fn missing(output: &str, expected: &[String]) -> Option<String> {
    let mut lines = output.lines().map(squeezed);
    let says = |line: &str, wanted: &str| {
        let mut rest = line;
        wanted.split('…').all(|part| match rest.split_once(part.trim()) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    };
    expected.iter().find(|wanted| !lines.any(|line| says(&line, wanted))).cloned()
}

/// The text below a heading, to the next one.
fn section(heading: &str) -> Result<String> {
    let page = std::fs::read_to_string(repository(GUIDE))?;
    let (_, text) =
        page.split_once(&format!("\n{heading}\n")).ok_or(format!("{GUIDE} has no {heading:?}"))?;
    Ok(text.split("\n## ").next().unwrap_or_default().to_owned())
}

fn documents(text: &str) -> Result<Vec<Value>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

/// The objects that the tests of the operator begin with are those that the guide's application renders to.
fn renders_as_tested(user: &User<'_>, section: &str) -> Result<()> {
    let (_, rest) = section.split_once("```yaml file=orders.yaml\n").ok_or("the guide has no orders.yaml")?;
    let application = rest.split("```").next().unwrap_or_default();
    std::fs::write(user.target.home().join("fresh.yaml"), application)?;
    let said = ProgramOutput::of(&user.shell("vela dry-run --offline -f fresh.yaml").output()?).ok()?;
    let tested = std::fs::read_to_string(repository("dapr/tests/data/orders.yaml"))?;
    assert_eq!(documents(&said.out)?, documents(&tested)?);
    Ok(())
}

#[test]
fn the_session_of_the_dapr_guide_goes_as_written() {
    scenario(async {
        let target = Target::open("dapr").await?;
        let mut user = User::of(&target)?;
        let session = section(SESSION)?;
        renders_as_tested(&user, &session)?;
        let commands = user.follows(&session)?;
        assert!(commands >= 6, "only {commands} commands");
        let cluster = target.cluster().within("default");
        for app_id in ["shop", "packing"] {
            until("each service has one of Dapr", CONVERGE_DEADLINE, async || {
                let found = cluster.get("v1", "Service", &format!("{app_id}-dapr")).await;
                let service = found.map_err(|error| error.to_string())?.ok_or("it is not there")?;
                let owner = &service["metadata"]["ownerReferences"][0]["name"];
                if owner == app_id { Ok(()) } else { Err(format!("it belongs to {owner}")) }
            })
            .await?;
        }
        Ok(())
    });
}

#[test]
#[ignore = "needs kubectl: cargo test -p vela-e2e -- --ignored with_kubectl"]
fn the_dapr_guide_goes_as_written_with_kubectl() {
    scenario(async {
        let target = Target::open("dapr-kubectl").await?;
        let mut user = User::of(&target)?;
        user.follows(&section(SESSION)?)?;
        let commands = user.follows(&section(WITH_KUBECTL)?)?;
        assert!(commands >= 4, "only {commands} commands");
        Ok(())
    });
}

#[test]
fn install_prints_the_dapr_rights_that_are_tested() {
    let home = tempfile::tempdir();
    scenario(async {
        let home = home?;
        let mut install = Command::new(&programs()?.vela);
        install.args(["install", "--dapr", "--print"]).env("HOME", home.path()).env_remove("KUBECONFIG");
        let printed = documents(&ProgramOutput::of(&install.output()?).ok()?.out)?;
        let is_role = |one: &&Value| one["kind"] == "ClusterRole" || one["kind"] == "Role";
        let roles = printed.iter().filter(is_role).filter(|one| one["metadata"]["name"] == "vela-dapr");
        let file = repository("dapr/tests/data/rights.yaml");
        let text = std::fs::read_to_string(&file)?;
        let roles: Vec<Value> = roles.cloned().collect();
        if std::env::var_os("UPDATE").is_some() {
            let head = text.lines().next().unwrap_or_default();
            let texts =
                roles.iter().map(serde_saphyr::to_string).collect::<std::result::Result<Vec<_>, _>>()?;
            std::fs::write(&file, format!("{head}\n{}", texts.join("---\n")))?;
            return Ok(());
        }
        assert_eq!(json!(roles), json!(documents(&text)?), "UPDATE=1 writes {}", file.display());
        Ok(())
    });
}
