//! Starts the deterministic simulation of the controllers, in the room `simulation`.

use vela_simulation::{Arguments, Sabotage, Subject};

/// Which schedules to run.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The first seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    first: u64,
    /// How many seeds [default: 1000, or 1 with --seed]
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// Only this seed
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Begin no schedule after so long
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Only this form: application, configuration, rollout, rollout-seed, workflow or harbor
    #[arg(long)]
    form: Option<Subject>,
    /// How many schedules run at the same time [default: one for each processor]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// Break the controllers on purpose, to see that it is found
    #[arg(long, value_name = "NAME")]
    sabotage: Option<Sabotage>,
    /// Tell every step of a single seed
    #[arg(long)]
    verbose: bool,
    /// Go on after the first broken promise
    #[arg(long)]
    keep_going: bool,
}

impl Options {
    fn arguments(&self) -> Arguments {
        let usual = Arguments::default();
        Arguments {
            first: self.seed.unwrap_or(self.first),
            seeds: self.seeds.unwrap_or(if self.seed.is_some() { 1 } else { usual.seeds }),
            threads: self.threads.unwrap_or(usual.threads).max(1),
            verbose: self.verbose,
            keep_going: self.keep_going,
            seconds: self.seconds.unwrap_or(usual.seconds),
            sabotage: self.sabotage,
            subject: self.form,
        }
    }
}

/// Runs them and tells what they found; `SIMULATE_LOG` is the filter of a log of requests, watch lines and reconciles.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if let Ok(filter) = std::env::var("SIMULATE_LOG") {
        let log = tracing_subscriber::fmt().with_env_filter(tracing_subscriber::EnvFilter::new(filter));
        log.without_time().with_writer(std::io::stderr).init();
    }
    let report = vela_simulation::run(&options.arguments())?;
    print!("{report}");
    report.outcome()
}
