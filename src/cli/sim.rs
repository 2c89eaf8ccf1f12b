//! `maxim sim`: measure whole agents, what they learn, and what they do in scenarios. Orchestration is not built.

use std::fs::{self, DirBuilder};
use std::num::NonZeroUsize;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::learning::LearnArgs;
use super::scenario::RunArgs;
use super::{CliError, Exit, Out, tree};
use crate::sim::bench::{self, Workload};
use crate::sim::population::{self, Crowd};

/// Measure the whole agent, what it learns, and what it does in scenarios.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim sim bench --json\n  maxim sim learn\n  maxim sim run lamp.yaml")]
pub struct SimArgs {
    #[command(subcommand)]
    what: Sim,
}

#[derive(Subcommand, Debug)]
enum Sim {
    Bench(BenchArgs),
    Learn(LearnArgs),
    Run(RunArgs),
}

/// Latency, throughput, start, memory and disk of an agent with everything on
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim sim bench --episodes 100000 --json\n  maxim sim bench --agents 1000")]
struct BenchArgs {
    /// Episodes that it remembers at the start
    #[arg(long, default_value_t = 0)]
    episodes: usize,
    /// Percepts handed in at once
    #[arg(long, default_value_t = 10_000)]
    burst: usize,
    /// Stops while idle, and as many again behind the percepts; each is on disk before the next
    #[arg(long, default_value_t = 200)]
    stops: usize,
    /// Where the agent's folder is made [default: the current folder]
    #[arg(long, value_name = "DIR")]
    at: Option<PathBuf>,
    /// Measure this many agents in one process instead, in virtual time, with a store in memory
    #[arg(long, value_name = "N", conflicts_with_all = ["episodes", "burst", "stops"])]
    agents: Option<NonZeroUsize>,
    /// How many of them are awake at once; the others are unloaded from memory
    #[arg(long, value_name = "N", default_value = "1000", requires = "agents")]
    awake: NonZeroUsize,
    /// Number of threads [default: the number of processors]
    #[arg(long, value_name = "N", requires = "agents")]
    threads: Option<NonZeroUsize>,
    /// Keep their store on disk
    #[arg(long, requires = "agents")]
    on_disk: bool,
    #[arg(long, default_value_t = 7)]
    seed: u64,
}

impl SimArgs {
    pub(super) fn run(self, out: &Out) -> Result<Exit, CliError> {
        match self.what {
            Sim::Bench(args) => args.run(out),
            Sim::Learn(args) => args.run(out),
            Sim::Run(args) => args.run(out),
        }
    }
}

/// As many threads as there are processors, unless a number is given.
pub(super) fn threads(given: Option<NonZeroUsize>) -> NonZeroUsize {
    given.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

/// A folder of this process alone. Dropping the value removes it.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> Result<Self, CliError> {
        let path = std::env::temp_dir().join(format!("maxim-sim-{}", uuid::Uuid::now_v7()));
        // A folder that exists already isn't ours.
        DirBuilder::new().mode(0o700).create(&path).map_err(|error| {
            let found = format!("the folder {} can't be made: {error}", path.display());
            CliError::new(Exit::TryAgain, found, "set TMPDIR to a folder in which you may write")
        })?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl BenchArgs {
    fn run(self, out: &Out) -> Result<Exit, CliError> {
        let Self { episodes, burst, stops, at, agents, awake, threads: given, on_disk, seed } = self;
        let folder = at.unwrap_or_default().join(format!(".maxim-bench-{}", std::process::id()));
        let figures = match agents {
            Some(agents) => {
                let threads = threads(given);
                population::run(&folder, Crowd { agents, awake, words: 10, threads, on_disk, seed })
            }
            None => {
                let load = Workload { episodes, alone: 300, sustained: 4_000, burst, stops, seed };
                actix::System::new().block_on(bench::run(&folder, load))
            }
        };
        let _ = fs::remove_dir_all(&folder);
        let figures = figures.map_err(|error| {
            CliError::new(Exit::TryAgain, format!("the bench failed: {error}"), "give --at DIR on a disk with room")
        })?;
        out.answer(&figures, || tree(&figures, 0))?;
        Ok(Exit::Ok)
    }
}
