//! `maxim sim`: measure whole agents. Scenarios and orchestration are not built.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{CliError, Exit, Out, tree};
use crate::sim::bench::{Workload, run};

/// Measure the whole agent.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim sim bench --json")]
pub struct SimArgs {
    #[command(subcommand)]
    what: Sim,
}

#[derive(Subcommand, Debug)]
enum Sim {
    /// Latency, throughput, start, memory and disk of an agent with everything on
    #[command(after_help = "Example:\n  maxim sim bench --episodes 100000 --json")]
    Bench {
        /// Episodes that it remembers beforehand
        #[arg(long, default_value_t = 0)]
        episodes: usize,
        /// Percepts handed in at once
        #[arg(long, default_value_t = 10_000)]
        burst: usize,
        /// Stops, idle and as many behind the percepts; each is on disk before the next
        #[arg(long, default_value_t = 200)]
        stops: usize,
        /// Where the agent's folder is made [default: the current folder]
        #[arg(long, value_name = "DIR")]
        at: Option<PathBuf>,
        #[arg(long, default_value_t = 7)]
        seed: u64,
    },
}

impl SimArgs {
    pub(super) fn run(self, out: &Out) -> Result<Exit, CliError> {
        let Sim::Bench { episodes, burst, stops, at, seed } = self.what;
        let folder = at.unwrap_or_default().join(format!(".maxim-bench-{}", std::process::id()));
        let load = Workload { episodes, alone: 300, sustained: 4_000, burst, stops, seed };
        let system = actix::System::new();
        let figures = system.block_on(run(&folder, load));
        let _ = std::fs::remove_dir_all(&folder);
        let figures = figures.map_err(|error| {
            CliError::new(Exit::TryAgain, format!("the bench broke: {error}"), "give --at DIR on a disk with room")
        })?;
        out.answer(&figures, || tree(&figures, 0))?;
        Ok(Exit::Ok)
    }
}
