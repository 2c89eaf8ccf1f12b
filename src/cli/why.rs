//! `maxim why`: what led to an action.

use clap::Args;

use super::{CliError, Exit, Global, Out, tree};

/// Explain an action: from what was perceived to what was learned.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim why\n  maxim why 0192f3c4-5d6e-7f80-9abc-def012345678 --json")]
pub struct WhyArgs {
    /// The action's id, or last
    #[arg(default_value = "last")]
    id: String,
}

impl WhyArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let record = global.client()?.get(&["v1", "why", &self.id], &[])?.body;
        out.answer(&record, || tree(&record, 0))?;
        Ok(Exit::Ok)
    }
}
