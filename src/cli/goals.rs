//! `maxim goals`: the goal that is pursued, the goals that wait, and those that have ended.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::beginning::Known;
use super::table::{Cell, Table, Tone};
use super::{CliError, Exit, Global, Out};

/// See what the agent pursues, give it a goal, or give one up.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim goals\n  maxim goals add \"create a file report.txt with the text done\"\n  maxim goals drop 0192f3c4\n\nOne goal is pursued at a time; `maxim redirect GOAL` puts one before the others."
)]
pub struct GoalsArgs {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand, Debug)]
enum What {
    /// All of them, the pursued one first; also what `maxim goals` shows
    #[command(after_help = "Example:\n  maxim goals list --json")]
    List,
    /// Add a goal behind those that wait
    #[command(after_help = "Example:\n  maxim goals add \"list the files in notes\"")]
    Add { goal: String },
    /// Resume a suspended goal
    #[command(after_help = "Example:\n  maxim goals go-on 0192f3c4")]
    GoOn {
        /// The goal's id, or its first 8 characters or more
        id: String,
    },
    /// Give a goal up
    #[command(after_help = "Example:\n  maxim goals drop 0192f3c4")]
    Drop {
        /// The goal's id, or its first 8 characters or more
        id: String,
    },
}

impl GoalsArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let client = global.client()?;
        let told = match self.what.unwrap_or(What::List) {
            What::List => client.get(&["v1", "goals"], &[])?.body,
            What::Add { goal } => client.post(&["v1", "goals"], &json!({"goal": goal}))?.body,
            What::GoOn { id } => decide(&client, &id, true)?,
            What::Drop { id } => decide(&client, &id, false)?,
        };
        out.answer(&told, || shown(&told, out))?;
        Ok(Exit::Ok)
    }
}

fn decide(client: &super::client::Client, given: &str, go_on: bool) -> Result<Value, CliError> {
    let known = client.get(&["v1", "goals"], &[])?.body;
    let missing = |given: &str| format!("there is no goal {given}");
    let id = Known { answer: &known, list: "goals", missing, fix: "see `maxim goals`" }.whole(given)?;
    Ok(client.post(&["v1", "goals", &id], &json!({"go_on": go_on}))?.body)
}

fn shown(told: &Value, out: &Out) -> String {
    let all = told["goals"].as_array().map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        return "there is no goal; give one: maxim goals add \"…\"".into();
    }
    let mut table = Table::new(&["id", "state", "since", "goal", "because"]);
    for goal in all {
        let text = |name: &str| goal[name].as_str().unwrap_or("-");
        let tone = match text("state") {
            "active" | "done" => Tone::Good,
            "suspended" => Tone::Poor,
            "failed" => Tone::Bad,
            _ => Tone::Faint,
        };
        table.row(vec![
            Cell::text(text("id")),
            Cell::text(text("state")).toned(tone),
            Cell::text(text("since")).cut(20),
            Cell::text(text("title")).cut(60),
            Cell::text(text("reason")).cut(80),
        ]);
    }
    table.show(out.paint)
}
