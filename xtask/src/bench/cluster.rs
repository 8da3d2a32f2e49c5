//! Measures `vela-core` on a real control plane: time to running, and memory idle and with many applications.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use vela_testkit::Process;

use crate::command;

/// Applications of the large figure.
const MANY: usize = 1000;
/// All of them run before this, or the figure is given up.
const DEADLINE: Duration = Duration::from_secs(900);

/// One webservice with a scaler: what the peer was measured with.
fn application(name: &str) -> String {
    format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: {name}}}\nspec:\n  components:\n    - name: \
         {name}\n      type: webservice\n      properties: {{image: \"nginx:1.27\"}}\n      traits:\n        - type: \
         scaler\n          properties: {{replicas: 1}}\n"
    )
}

struct Vela<'a> {
    program: &'a Path,
    kubeconfig: &'a Path,
}

impl Vela<'_> {
    fn run(&self, arguments: &[&str]) -> Result<Output, String> {
        let output = Command::new(self.program)
            .args(arguments)
            .env("KUBECONFIG", self.kubeconfig)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("cannot start {}: {e}", self.program.display()))?;
        if output.status.success() {
            return Ok(output);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("`vela {}` failed: {said}", arguments.join(" ")))
    }
}

/// Prints the figures of the control plane that the kubeconfig names.
pub(super) fn run(program: &Path, kubeconfig: &Path) -> Result<(), String> {
    let vela = Vela { program, kubeconfig };
    vela.run(&["install"])?;
    let core = program.with_file_name(format!("vela-core{}", std::env::consts::EXE_SUFFIX));
    let child = Command::new(&core)
        .args(["--metrics-addr=0", "--health-addr=0"])
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("cannot start {}: {e}", core.display()))?;
    // The controller is stopped however the measurement ends.
    let core = Process::from(child);
    let file = program.with_file_name("bench-applications.yaml");
    let file_name = file.to_string_lossy().into_owned();
    let write = |text: String| std::fs::write(&file, text).map_err(|e| format!("{file_name}: {e}"));

    write(application("bench-one"))?;
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let started = Instant::now();
        vela.run(&["up", "-f", &file_name])?;
        best = best.min(started.elapsed());
        vela.run(&["delete", "-f", &file_name])?;
    }
    println!(
        "\nreal control plane, `vela up` of one application to running, best of 5: {} ms",
        best.as_millis()
    );
    println!("vela-core without an application: {} resident", memory(&core)?);

    let mut text = String::new();
    for number in 0..MANY {
        // Writing to a String cannot fail.
        let _ = write!(text, "---\n{}", application(&format!("bench-{number:04}")));
    }
    write(text)?;
    let started = Instant::now();
    vela.run(&["up", "-f", &file_name, "--no-wait"])?;
    let applied = started.elapsed();
    loop {
        let listed = vela.run(&["ls", "-o", "json"])?;
        let listed: Vec<serde_json::Value> =
            serde_json::from_slice(&listed.stdout).map_err(|e| e.to_string())?;
        let running = listed.iter().filter(|one| one["status"]["status"] == "running").count();
        if running >= MANY {
            break;
        }
        if started.elapsed() > DEADLINE {
            return Err(format!("{running} of {MANY} applications run after {DEADLINE:?}"));
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    println!("{MANY} applications: stored after {applied:.1?}, running after {:.1?}", started.elapsed());
    println!(
        "vela-core with {MANY} applications: {} resident, {} processor time",
        memory(&core)?,
        processor(&core)?
    );
    vela.run(&["delete", "-f", &file_name])?;
    drop(core);
    beside_a_plain_client(kubeconfig)
}

/// As many applications and, in the same run, a plain client that writes the same objects; the controllers of this figure run
/// in the process of the test.
fn beside_a_plain_client(kubeconfig: &Path) -> Result<(), String> {
    let (kubeconfig, many) = (kubeconfig.to_string_lossy(), MANY.to_string());
    let words = ["test", "--quiet", "--profile", "dist", "--package", "vela-core", "--test", "core", "--"];
    let figure = ["the_price_in_time", "--ignored", "--nocapture"];
    let environment = [("CORE_TEST_KUBECONFIG", &*kubeconfig), ("SCALE", many.as_str())];
    command::cargo_with(&[&words[..], &figure].concat(), &environment)
}

/// Resident memory, as Linux counts it.
fn memory(child: &Child) -> Result<String, String> {
    let path = format!("/proc/{}/status", child.id());
    let text =
        std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e} (this figure needs Linux)"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    Ok(line.unwrap_or("unknown").trim().to_owned())
}

/// User and system time so far; Linux counts in hundredths of a second.
fn processor(child: &Child) -> Result<String, String> {
    let path = format!("/proc/{}/stat", child.id());
    let text =
        std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e} (this figure needs Linux)"))?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields.iter().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(format!("{}.{:02} s", ticks / 100, ticks % 100))
}
