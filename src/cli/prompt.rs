//! `maxim prompt`: what a model was shown, and what is made of its replies.

use clap::{Args, Subcommand};
use maxim_actors::deliberation::reply::read_json;
use serde::Deserialize;
use serde_json::{Value, json};

use super::batch::BatchInput;
use super::table::printable;
use super::{Cell, CliError, Exit, Global, Out, Table};

/// See what a model is shown, and what is made of its replies.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim prompt show\n  maxim prompt parse --in replies.jsonl")]
pub struct PromptArgs {
    #[command(subcommand)]
    what: Prompt,
}

#[derive(Subcommand, Debug)]
enum Prompt {
    /// The last prompt, with each section's tokens and whether it fitted in
    #[command(after_help = "Example:\n  maxim prompt show")]
    Show,
    /// Read model replies, one JSON object a line: {"id", "input"}
    #[command(after_help = "Example:\n  maxim prompt parse --in replies.jsonl")]
    Parse {
        #[command(flatten)]
        input: BatchInput,
    },
}

#[derive(Deserialize)]
struct Reply {
    input: String,
}

impl PromptArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        match self.what {
            Prompt::Show => show(global, out),
            Prompt::Parse { input } => input.answer(|line| {
                let reply: Reply = serde_json::from_value(line).map_err(|error| error.to_string())?;
                Ok(match read_json(&reply.input) {
                    Ok(read) => json!({ "ok": true, "value": read.value, "repaired": read.repaired, "error": null }),
                    Err(error) => {
                        json!({ "ok": false, "value": null, "repaired": false, "error": error.to_string() })
                    }
                })
            }),
        }
    }
}

fn show(global: &Global, out: &Out) -> Result<Exit, CliError> {
    let prompt = global.client()?.get(&["v1", "prompt"], &[])?.body;
    out.answer(&prompt, || shown(&prompt, out))?;
    Ok(Exit::Ok)
}

fn shown(prompt: &Value, out: &Out) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // It contains words of other people, which must not steer the terminal.
    let plain = |value: &Value| word(value).lines().map(printable).collect::<Vec<_>>().join("\n");
    let mut table = Table::new(&["section", "tier", "fate", "tokens"]);
    for section in prompt["sections"].as_array().into_iter().flatten() {
        let fate = if section["kept"] == true { "kept" } else { "left out" };
        table.row(vec![
            Cell::text(word(&section["name"])),
            Cell::text(word(&section["tier"])),
            Cell::text(fate),
            Cell::number(&section["tokens"]),
        ]);
    }
    format!(
        "{}\n\n{}\n\n{}{} tokens ({}) of {}, turn {}, {}\nreplies so far: {} read, {} of them repaired; {} asked for again; {} calls lost in a crash and made again; {} with reasoning that speaks to others; {} turns left to habit, {} of them by the ThoughtGate\n",
        plain(&prompt["system"]),
        plain(&prompt["user"]),
        table.show(out.paint),
        prompt["tokens"],
        word(&prompt["counted"]),
        prompt["budget"],
        word(&prompt["turn"]),
        word(&prompt["at"]),
        prompt["replies"]["read"],
        prompt["replies"]["repaired"],
        prompt["replies"]["retried"],
        prompt["replies"]["lost"],
        prompt["replies"]["outward"],
        prompt["replies"]["handed_back"],
        prompt["replies"]["gated"],
    )
}
