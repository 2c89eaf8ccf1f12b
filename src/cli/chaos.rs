//! `maxim chaos`: breaks a part on purpose, on a daemon that was started with `--chaos`.

use clap::{Args, Subcommand};
use serde_json::json;

use super::{CliError, Exit, Global, Out, tree};

/// Break a part of the brain on purpose. The daemon must have been started with --chaos.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim chaos panic hippocampus")]
pub struct ChaosArgs {
    #[command(subcommand)]
    what: Chaos,
}

#[derive(Subcommand, Debug)]
enum Chaos {
    /// The region panics in its next handler, which is called at once
    #[command(after_help = "Example:\n  maxim chaos panic hippocampus")]
    Panic { region: String },
    /// The region blocks its thread for 5 s
    #[command(after_help = "Example:\n  maxim chaos hang nucleus_accumbens")]
    Hang { region: String },
    /// The region's actor is stopped
    #[command(after_help = "Example:\n  maxim chaos kill executor")]
    Kill { region: String },
    /// Writing to the disk fails from now on
    #[command(after_help = "Example:\n  maxim chaos fail-disk")]
    FailDisk,
    /// Writing to the disk works again
    #[command(after_help = "Example:\n  maxim chaos restore-disk")]
    RestoreDisk,
    /// The regions and effectors that can be broken
    #[command(after_help = "Example:\n  maxim chaos list")]
    List,
}

impl ChaosArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let client = global.client()?;
        let on = |what: &str, region: &str| client.post(&["v1", "chaos", what], &json!({"region": region}));
        let answer = match &self.what {
            Chaos::Panic { region } => on("panic", region),
            Chaos::Hang { region } => on("hang", region),
            Chaos::Kill { region } => on("kill", region),
            Chaos::FailDisk => client.post(&["v1", "chaos", "fail-disk"], &json!({})),
            Chaos::RestoreDisk => client.post(&["v1", "chaos", "restore-disk"], &json!({})),
            Chaos::List => client.get(&["v1", "chaos"], &[]),
        }?;
        out.answer(&answer.body, || tree(&answer.body, 0))?;
        Ok(Exit::Ok)
    }
}
