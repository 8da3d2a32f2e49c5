//! Random CUE programs in; every program on which the real `cue` and ours disagree out, made as small as it gets.

mod answer;
mod explained;
mod real;
mod shrink;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use vela_testkit::program::Program;

use crate::command;
use answer::{Answer, Peers, differ};
use explained::Explained;

/// So many disagreements are made small; a broken build would disagree on everything.
const MOST_SHRUNK: usize = 40;

/// Which programs to compare, and how.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where chance begins
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// How many programs
    #[arg(long, value_name = "N", default_value_t = 300)]
    programs: u64,
    /// The real cue [default: the release that is compared with, kept in target]
    #[arg(long, value_name = "PATH")]
    cue: Option<PathBuf>,
    /// Where programs that differ are kept
    #[arg(long, value_name = "DIR", default_value_os_t = command::root().join("target/differential-cue"))]
    keep: PathBuf,
    /// Fields must stand in the same order, too
    #[arg(long)]
    order: bool,
    /// Values may depend on themselves
    #[arg(long)]
    cycles: bool,
    /// Read a program from this file instead of making some
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Compares `--programs` programs of `--seed`.
pub(crate) fn run(options: Options) -> Result<(), String> {
    let keep = std::path::absolute(&options.keep).map_err(|e| e.to_string())?;
    let options = Options { keep, ..options };
    let real = match real::find(options.cue.as_deref())? {
        Ok(path) => path,
        Err(why) => {
            println!("skipped: no program was compared with the real cue: {why}");
            return Ok(());
        }
    };
    let ours = answer::build()?;
    let explained = explained::read()?;
    std::fs::create_dir_all(&options.keep).map_err(|e| format!("{}: {e}", options.keep.display()))?;
    if let Some(file) = &options.file {
        return one(file, Peers::new(&real, &ours, &options.keep.join("one"))?, options.order);
    }
    let run = Run {
        options,
        explained,
        tally: Tally::default(),
        found: Mutex::new(BTreeSet::new()),
        next: AtomicU64::new(0),
    };
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let started = Instant::now();
    let outcomes: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let (run, real, ours) = (&run, &real, &ours);
        let start = |worker| scope.spawn(move || run.work(real, ours, worker));
        let workers: Vec<_> = (0..workers).map(start).collect();
        workers.into_iter().map(|w| w.join().unwrap_or_else(|_| Err("a worker panicked".into()))).collect()
    });
    outcomes.into_iter().collect::<Result<Vec<()>, String>>()?;
    run.report(started.elapsed())
}

/// The state that the workers share.
struct Run {
    options: Options,
    explained: Vec<Explained>,
    tally: Tally,
    /// Shapes of disagreements already told.
    found: Mutex<BTreeSet<String>>,
    next: AtomicU64,
}

#[derive(Default)]
struct Tally {
    values: AtomicUsize,
    errors: AtomicUsize,
    silent: AtomicUsize,
    explained: AtomicUsize,
    different: AtomicUsize,
    real: AtomicU64,
    ours: AtomicU64,
}

impl Run {
    fn work(&self, real: &Path, ours: &Path, worker: usize) -> Result<(), String> {
        let mut peers = Peers::new(real, ours, &self.options.keep.join(format!("worker-{worker}")))?;
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.options.programs {
                break;
            }
            // Seeds of neighbouring runs must not share programs.
            let seed = self.options.seed.wrapping_mul(1_000_003).wrapping_add(number);
            let program =
                if self.options.cycles { Program::with_cycles(seed) } else { Program::random(seed) };
            self.compare(&program, &mut peers)?;
        }
        self.tally.real.fetch_add(micros(peers.real_time), Ordering::Relaxed);
        self.tally.ours.fetch_add(micros(peers.our_time), Ordering::Relaxed);
        peers.close();
        Ok(())
    }

    fn compare(&self, program: &Program, peers: &mut Peers) -> Result<(), String> {
        let (real, ours) = peers.ask(&program.to_string())?;
        match &real {
            Answer::Value { .. } => self.tally.values.fetch_add(1, Ordering::Relaxed),
            Answer::Error(_) => self.tally.errors.fetch_add(1, Ordering::Relaxed),
            Answer::None(_) => self.tally.silent.fetch_add(1, Ordering::Relaxed),
        };
        if !differ(&real, &ours, self.options.order) {
            return Ok(());
        }
        let known = |text: &str, real: &Answer, ours: &Answer| {
            self.explained.iter().any(|e| e.covers(text, real, ours))
        };
        if self.tally.different.load(Ordering::Relaxed) >= MOST_SHRUNK {
            self.tally.different.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let times = (peers.real_time, peers.our_time);
        let small = shrink::smallest(program, peers, self.options.order)?;
        (peers.real_time, peers.our_time) = times;
        let text = small.program.to_string();
        if known(&text, &small.real, &small.ours) {
            self.tally.explained.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let number = self.tally.different.fetch_add(1, Ordering::Relaxed);
        let new = self
            .found
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .insert(shrink::pattern(&text));
        if new {
            let report = format!("{text}\n// real: {}\n// ours: {}\n", small.real.line(), small.ours.line());
            println!("--- difference {number}\n{report}");
            let file = self.options.keep.join(format!("{number:03}.cue"));
            std::fs::write(&file, report).map_err(|e| format!("{}: {e}", file.display()))?;
        }
        Ok(())
    }

    fn report(&self, elapsed: Duration) -> Result<(), String> {
        let read = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let programs = self.options.programs.max(1);
        let each = |total: &AtomicU64| total.load(Ordering::Relaxed) / programs;
        println!(
            "{} programs of seed {} in {} s: {} values, {} errors, {} without an answer of the real cue",
            self.options.programs,
            self.options.seed,
            elapsed.as_secs(),
            read(&self.tally.values),
            read(&self.tally.errors),
            read(&self.tally.silent),
        );
        println!(
            "per program: {} µs real (a process each), {} µs ours (debug build, one process)",
            each(&self.tally.real),
            each(&self.tally.ours)
        );
        let (different, explained) = (read(&self.tally.different), read(&self.tally.explained));
        println!("{different} unexplained differences, {explained} explained");
        if different == 0 {
            Ok(())
        } else {
            Err(format!("{different} programs differ; see {}", self.options.keep.display()))
        }
    }
}

/// Both answers for a file.
fn one(file: &Path, mut peers: Peers, order: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let (real, ours) = peers.ask(&text)?;
    println!("real: {}\nours: {}", real.line(), ours.line());
    if differ(&real, &ours, order) { Err("the answers differ".into()) } else { Ok(()) }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
