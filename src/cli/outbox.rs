//! `maxim outbox`: what goes outside, and a person's word on it.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::beginning::Known;
use super::table::{Cell, Table, Tone, printable};
use super::{CliError, Exit, Global, Out, Paint};

/// See what waits to be sent outside; send it after all, or drop it.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim outbox\n  maxim outbox list --all\n  maxim outbox retry 0192f3c4-5d6e-7f80-9abc-def012345678"
)]
pub struct OutboxArgs {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand, Debug)]
enum What {
    /// List messages that wait, are held, or may or may not have arrived
    #[command(after_help = "Example:\n  maxim outbox list --all --json")]
    List {
        /// Also list those that are over
        #[arg(long)]
        all: bool,
    },
    /// Send it after all; a message whose outcome is unknown may then arrive twice
    #[command(after_help = "Example:\n  maxim outbox retry 0192f3c4-5d6e-7f80-9abc-def012345678")]
    Retry {
        /// The message's id, or its first 8 characters or more
        id: String,
    },
    /// Never send it
    #[command(after_help = "Example:\n  maxim outbox drop 0192f3c4-5d6e-7f80-9abc-def012345678")]
    Drop {
        /// The message's id, or its first 8 characters or more
        id: String,
    },
}

impl OutboxArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let client = global.client()?;
        let (id, wish) = match &self.what {
            None | Some(What::List { .. }) => {
                let all = matches!(self.what, Some(What::List { all: true }));
                let found = client.get(&["v1", "outbox"], &[("all", all.to_string())])?.body;
                out.answer(&found, || shown(&found, out))?;
                return Ok(Exit::Ok);
            }
            Some(What::Retry { id }) => (id, "retry"),
            Some(What::Drop { id }) => (id, "drop"),
        };
        let found = client.get(&["v1", "outbox"], &[("all", true.to_string())])?.body;
        let missing = |given: &str| format!("there is no message {given} in the outbox");
        let known = Known { answer: &found, list: "entries", missing, fix: "see `maxim outbox list --all`" };
        let id = known.whole(id)?;
        let answer = client.post(&["v1", "outbox", &id], &json!({ "do": wish }))?.body;
        out.answer(&answer, || format!("{id} is {}", answer["state"].as_str().unwrap_or("?")))?;
        Ok(Exit::Ok)
    }
}

fn shown(found: &Value, out: &Out) -> String {
    let all = found["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        return "nothing waits to be sent".into();
    }
    let mut table = Table::new(&["id", "state", "attempts", "to", "text", "because"]);
    for entry in all {
        let text = |name: &str| printable(entry[name].as_str().unwrap_or("-"));
        let tone = match text("state").as_str() {
            "delivered" => Tone::Good,
            "failed" => Tone::Bad,
            "unknown" | "held" => Tone::Poor,
            _ => Tone::Faint,
        };
        table.row(vec![
            Cell::text(text("id")),
            Cell::text(text("state")).toned(tone),
            Cell::number(entry["attempts"].as_u64().unwrap_or(0)),
            Cell::text(format!("{} {}", text("channel"), text("recipient"))).cut(40),
            Cell::text(text("text")).cut(50),
            Cell::text(text("why")).cut(100),
        ]);
    }
    table.show(out.paint)
}

/// The configured channels, with a note for each.
pub(super) fn channels(channels: &Value, paint: Paint) -> String {
    let mut table = Table::new(&["channel", "state", "received", "sent", "note"]);
    let all = channels.as_array().map(Vec::as_slice).unwrap_or_default();
    let configured: Vec<&Value> = all.iter().filter(|channel| channel["available"] == true).collect();
    if configured.is_empty() {
        return String::new();
    }
    for channel in configured {
        let state = channel["state"].as_str().unwrap_or("?");
        let tone = if state == "up" { Tone::Good } else { Tone::Poor };
        let number = |name: &str| Cell::number(channel["counts"][name].as_u64().unwrap_or(0));
        let name = Cell::text(channel["name"].as_str().unwrap_or("?"));
        let note = Cell::text(printable(channel["why"].as_str().unwrap_or("-"))).cut(100);
        table.row(vec![name, Cell::text(state).toned(tone), number("received"), number("sent"), note]);
    }
    format!("\n{}", table.show(paint))
}
