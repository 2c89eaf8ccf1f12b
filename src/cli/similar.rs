//! `maxim memory similar`: which memories are similar to something.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::table::{Cell, Table};
use super::{CliError, Client, Exit, Global, Out, queries};

/// Find what is most similar to a memory, to circumstances in words, or to uses of a tool.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim memory similar \"the arm lost its grip\"\n  maxim memory similar --id 0198c7a2-... --limit 3\n  maxim memory similar --tool move --after 2026-01-05 --json\n  maxim memory similar --queries cues.jsonl"
)]
pub struct SimilarArgs {
    /// The circumstances, in words
    context: Option<String>,
    /// Answer many questions, one JSON object a line; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["context", "id", "tool", "goal", "object", "person", "layer", "after", "before"])]
    queries: Option<PathBuf>,
    /// Similar to this memory, by its id
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Similar to uses of this tool
    #[arg(long)]
    tool: Option<String>,
    /// With a similar goal
    #[arg(long)]
    goal: Option<String>,
    /// With this object
    #[arg(long)]
    object: Option<String>,
    /// With this person
    #[arg(long)]
    person: Option<String>,
    /// Only of this layer of memory, such as hippocampus
    #[arg(long)]
    layer: Option<String>,
    /// Only from this time on, such as 2026-01-05T09:00:00Z; a date such as 2026-01-05 is the start of that day
    #[arg(long, value_name = "TIME")]
    after: Option<String>,
    /// Only up to this time; a date is the start of that day
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

impl SimilarArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        if let Some(file) = &self.queries {
            return queries::answer(&queries::LIKENESSES, &Client::of_memory(global, false)?, file, Some(self.limit));
        }
        let given = [
            ("CONTEXT", "context", self.context),
            ("--id", "memory_id", self.id),
            ("--tool", "tool_name", self.tool),
            ("--goal", "goal", self.goal),
            ("--object", "object", self.object),
            ("--person", "person", self.person),
            ("--layer", "layer", self.layer),
            ("--after", "time_after", self.after),
            ("--before", "time_before", self.before),
            ("--limit", "limit", Some(self.limit.to_string())),
        ];
        let answer = Client::of_memory(global, false)?.ask(&["v1", "memory", "similar"], &given)?;
        let results = answer["results"].as_array().cloned().unwrap_or_default();
        if out.json {
            results.iter().try_for_each(|line| out.say(&line.to_string()))?;
        } else if results.is_empty() {
            out.say("nothing similar found")?;
        } else {
            out.say(&shown(&results, out))?;
        }
        Ok(Exit::Ok)
    }
}

fn shown(results: &[Value], out: &Out) -> String {
    let mut table = Table::new(&["score", "meaning", "structure", "time", "layer", "tool", "text"]);
    for line in results {
        let text = |name: &str| Cell::text(line[name].as_str().unwrap_or("-"));
        let number = |value: &Value| Cell::text(value.as_f64().map_or_else(|| "-".to_owned(), |x| format!("{x:.3}")));
        let parts = &line["parts"];
        table.row(vec![
            number(&line["score"]),
            number(&parts["semantic"]),
            number(&parts["structural"]),
            text("timestamp").cut(20),
            text("layer"),
            text("tool").cut(24),
            text("text").cut(80),
        ]);
    }
    table.show(out.paint)
}
