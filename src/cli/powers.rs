//! `maxim powers`: what the agent may at present; a person gives back what it has taken from itself.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{CliError, Exit, Global, Out, tree};

/// See what the agent may, and give back what it has lowered.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim powers show\n  maxim powers restore")]
pub struct PowersArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Mode, autonomy, the web and the working folder, and by which names tools were asked for
    #[command(after_help = "Example:\n  maxim powers show --json")]
    Show,
    /// Back to what the configuration allows
    #[command(after_help = "Example:\n  maxim powers restore")]
    Restore,
}

impl PowersArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let client = global.client()?;
        let (told, head) = match self.what {
            What::Show => (client.get(&["v1", "powers"], &[])?.body, "otherwise than configured"),
            What::Restore => (client.post(&["v1", "powers", "restore"], &json!({}))?.body, "given back"),
        };
        out.answer(&told, || shown(&told, head))?;
        Ok(Exit::Ok)
    }
}

fn shown(told: &Value, head: &str) -> String {
    let lowered: Vec<&str> = told["lowered"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let lowered = if lowered.is_empty() { "nothing".to_owned() } else { lowered.join("; ") };
    format!("{head}: {lowered}\n{}", tree(&told["powers"], 1))
}
