//! `maxim memory recall`, `temporal` and `predict`: questions to the memories.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::table::{Cell, Table};
use super::{CliError, Client, Exit, Global, Out, queries, told};

/// Find episodes, best first.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim memory recall \"red cup\" --person Anna\n  maxim memory recall --tool move --success false --json\n  maxim memory recall --queries questions.jsonl --limit 10"
)]
pub struct RecallArgs {
    /// Words to look for
    query: Option<String>,
    /// Answer many questions, one JSON object a line; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "goal", "tool", "success", "object", "person", "mode", "after", "before", "expand"])]
    queries: Option<PathBuf>,
    /// Only with this goal
    #[arg(long)]
    goal: Option<String>,
    /// Only where this tool was used
    #[arg(long)]
    tool: Option<String>,
    /// Only what succeeded, or failed
    #[arg(long, value_name = "true|false")]
    success: Option<bool>,
    /// Only with this object
    #[arg(long)]
    object: Option<String>,
    /// Only with this person
    #[arg(long)]
    person: Option<String>,
    /// Only in this mode
    #[arg(long)]
    mode: Option<String>,
    /// Only from this time on, such as 2026-01-05T09:00:00Z; a date such as 2026-01-05 is the start of that day
    #[arg(long, value_name = "TIME")]
    after: Option<String>,
    /// Only up to this time; a date is the start of that day
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// Follow associations as well
    #[arg(long)]
    expand: bool,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

/// What usually happens at a time.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim memory temporal --day 0 --hour 9\n  maxim memory temporal --day 0,1,2,3,4 --hour 6,7,8,9\n  maxim memory temporal --discover-rhythms"
)]
pub struct TemporalArgs {
    /// Hours of the day, 0 to 23
    #[arg(long, value_name = "HOUR,…", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=23))]
    hour: Vec<u8>,
    /// Days of the week, 0 is Monday
    #[arg(long, value_name = "DAY,…", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=6))]
    day: Vec<u8>,
    /// Weeks of the month, 0 to 3: days 1–7, 8–14, 15–21, and the rest
    #[arg(long, value_name = "WEEK,…", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=3))]
    week: Vec<u8>,
    /// Months, 1 to 12
    #[arg(long, value_name = "MONTH,…", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=12))]
    month: Vec<u8>,
    /// The episodes at times most similar to now
    #[arg(long, conflicts_with_all = ["hour", "day", "week", "month", "sole"])]
    like_now: bool,
    /// Only from this time on, such as 2026-01-05T09:00:00Z; a date such as 2026-01-05 is the start of that day
    #[arg(long, value_name = "TIME")]
    after: Option<String>,
    /// Only up to this time; a date is the start of that day
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// Only episodes that are the only one in a bin of hour, day, week or month
    #[arg(long)]
    sole: bool,
    /// Look for what recurs
    #[arg(long)]
    discover_rhythms: bool,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

impl RecallArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        if let Some(file) = &self.queries {
            return queries::answer(&queries::RECALLS, &Client::of_memory(global, false)?, file, Some(self.limit));
        }
        let given = [
            ("QUERY", "query", self.query),
            ("--goal", "goal", self.goal),
            ("--tool", "tool_name", self.tool),
            ("--success", "success", self.success.map(|yes| yes.to_string())),
            ("--object", "object", self.object),
            ("--person", "person", self.person),
            ("--mode", "mode", self.mode),
            ("--after", "time_after", self.after),
            ("--before", "time_before", self.before),
            ("--expand", "expand", self.expand.then(|| "true".into())),
            ("--limit", "limit", Some(self.limit.to_string())),
        ];
        let answer = Client::of_memory(global, false)?.ask(&["v1", "memory", "recall"], &given)?;
        let results = answer["results"].as_array().cloned().unwrap_or_default();
        out.results(&results, || shown(&results, out))?;
        Ok(Exit::Ok)
    }
}

fn shown(results: &[Value], out: &Out) -> String {
    let mut table = Table::new(&["score", "via", "time", "goal", "tool", "text"]);
    for line in results {
        let text = |name: &str| Cell::text(line[name].as_str().unwrap_or("-"));
        let score = line["score"].as_f64().map_or_else(|| "-".to_owned(), |score| format!("{score:.3}"));
        let tool = match (line["tool"].as_str(), line["success"].as_bool()) {
            (Some(tool), Some(false)) => Cell::text(format!("{tool} (failed)")),
            (Some(tool), _) => Cell::text(tool),
            (None, _) => Cell::text("-"),
        };
        table.row(vec![
            Cell::text(score),
            text("via"),
            text("timestamp").cut(20),
            text("goal").cut(24),
            tool.cut(24),
            text("text").cut(80),
        ]);
    }
    table.show(out.paint)
}

/// Bins with commas between them; nothing without any.
fn listed(bins: &[u8]) -> Option<String> {
    let words: Vec<String> = bins.iter().map(u8::to_string).collect();
    (!words.is_empty()).then(|| words.join(","))
}

impl TemporalArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let given = [
            ("--hour", "hour", listed(&self.hour)),
            ("--day", "day", listed(&self.day)),
            ("--week", "week", listed(&self.week)),
            ("--month", "month", listed(&self.month)),
            ("--like-now", "like_now", self.like_now.then(|| "true".into())),
            ("--after", "time_after", self.after),
            ("--before", "time_before", self.before),
            ("--sole", "sole", self.sole.then(|| "true".into())),
            ("--discover-rhythms", "discover_rhythms", self.discover_rhythms.then(|| "true".into())),
            ("--limit", "limit", Some(self.limit.to_string())),
        ];
        let answer = Client::of_memory(global, false)?.ask(&["v1", "memory", "temporal"], &given)?;
        out.answer(&answer, || {
            let none = self.discover_rhythms && answer["rhythms"].as_array().is_none_or(Vec::is_empty);
            let none = if none { "rhythms: none beyond chance\n" } else { "" };
            told::described(&answer) + none
        })?;
        Ok(Exit::Ok)
    }
}

/// What a tool would lead to, by experience.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim memory predict write_file --context \"in the kitchen\"\n  maxim memory predict --queries calls.jsonl"
)]
pub struct PredictArgs {
    /// The tool
    #[arg(required_unless_present = "queries")]
    tool: Option<String>,
    /// Answer many questions, one JSON object a line; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tool", "params", "context", "all"])]
    queries: Option<PathBuf>,
    /// Its parameters, as JSON
    #[arg(long, value_name = "JSON", value_parser = json_text)]
    params: Option<String>,
    /// The circumstances, in words
    #[arg(long, value_name = "WORDS")]
    context: Option<String>,
    /// All outcomes that are known, not only the likeliest
    #[arg(long)]
    all: bool,
}

fn json_text(text: &str) -> Result<String, String> {
    serde_json::from_str::<Value>(text).map(|_| text.to_owned()).map_err(|error| format!("it is not JSON: {error}"))
}

impl PredictArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        if let Some(file) = &self.queries {
            return queries::answer(&queries::PREDICTIONS, &Client::of_memory(global, false)?, file, None);
        }
        let given = [
            ("TOOL", "tool_name", self.tool),
            ("--params", "params", self.params),
            ("--context", "context", self.context),
            ("--all", "include_all_outcomes", self.all.then(|| "true".into())),
        ];
        let answer = Client::of_memory(global, false)?.ask(&["v1", "memory", "predict"], &given)?;
        out.answer(&answer, || told::predicted(&answer))?;
        Ok(Exit::Ok)
    }
}
