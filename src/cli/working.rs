//! `maxim memory working`: what is on the mind.

use clap::Args;
use serde_json::Value;

use super::table::{Cell, Table};
use super::{CliError, Client, Exit, Global, Out};

/// See what is on the mind: what was said, done, recalled, thought and felt lately.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim memory working\n  maxim memory working --kind conversation,pain --limit 10\n  maxim memory working --salient --json"
)]
pub struct WorkingArgs {
    /// Only of these kinds, separated by commas: percept, outcome, reaction, pain, activation, thought, recall, conversation
    #[arg(long)]
    kind: Option<String>,
    /// At or after this time, such as 2026-01-05T09:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// The most salient first, instead of the newest last
    #[arg(long)]
    salient: bool,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=64))]
    limit: u32,
}

impl WorkingArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let given = [
            ("--kind", "kind", self.kind),
            ("--since", "since", self.since),
            ("--salient", "salient", Some(self.salient.to_string())),
            ("--limit", "limit", Some(self.limit.to_string())),
        ];
        let answer = Client::of_memory(global, false)?.ask(&["v1", "memory", "working"], &given)?;
        let results = answer["results"].as_array().cloned().unwrap_or_default();
        if out.json {
            results.iter().try_for_each(|line| out.say(&line.to_string()))?;
        } else if results.is_empty() {
            out.say("nothing is on its mind")?;
        } else {
            out.say(&shown(&results, out))?;
        }
        Ok(Exit::Ok)
    }
}

fn shown(results: &[Value], out: &Out) -> String {
    let mut table = Table::new(&["at", "kind", "salience", "of", "text"]);
    for line in results {
        let text = |name: &str| Cell::text(line[name].as_str().unwrap_or("-"));
        let salience = line["salience"].as_f64().map_or_else(|| "-".to_owned(), |x| format!("{x:.2}"));
        let of = if line["own"] == true { Cell::text("it") } else { text("of").cut(24) };
        table.row(vec![text("at").cut(20), text("kind"), Cell::text(salience), of, text("text").cut(80)]);
    }
    table.show(out.paint)
}
