//! `maxim powers`: what the agent may do now. A person can restore powers that the agent has lowered.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{CliError, Exit, Global, Out, tree};

/// See what the agent may do, and restore what it has lowered.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim powers show\n  maxim powers restore")]
pub struct PowersArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Mode, autonomy, the web and the working folder, tools that are off, and the names by which tools were asked for
    #[command(after_help = "Example:\n  maxim powers show --json")]
    Show,
    /// Restore what the configuration allows
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
    let names = &told["names"];
    let asked = format!(
        "tools asked for by a model: {}; by another name of a tool: {}; by an unknown name: {}\n",
        names["attempts"], names["redirected"], names["unknown"]
    );
    let off = match told["off"].as_object().is_none_or(serde_json::Map::is_empty) {
        true => String::new(),
        false => format!("off at present:\n{}", tree(&told["off"], 1)),
    };
    format!("{head}: {lowered}\n{}{off}{asked}", tree(&told["powers"], 1))
}
