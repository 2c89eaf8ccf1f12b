//! `maxim memory causal`: learned links from events to outcomes.

use clap::{Args, ValueEnum};

use super::table::{Cell, Table};
use super::{CliError, Client, Exit, Global, Out};

/// List learned links from events to outcomes.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim memory causal --event bash\n  maxim memory causal --valence negative --limit 20\n  maxim memory causal --after 2026-01-05"
)]
pub struct CausalArgs {
    /// Only events whose name contains this, such as a tool
    #[arg(long)]
    event: Option<String>,
    /// Only outcomes whose name contains this
    #[arg(long)]
    outcome: Option<String>,
    /// Only what was learned from this episode
    #[arg(long, value_name = "ID")]
    memory_id: Option<String>,
    /// Only events of this valence
    #[arg(long)]
    valence: Option<Worth>,
    /// Only links last seen at or after this time, such as 2026-01-05T09:00:00Z; a date such as 2026-01-05 is the start
    /// of that day
    #[arg(long, value_name = "TIME")]
    after: Option<String>,
    /// Only links last seen up to this time; a date is the start of that day
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Worth {
    Positive,
    Neutral,
    Negative,
}

impl Worth {
    fn word(self) -> &'static str {
        match self {
            Self::Positive => "positive",
            Self::Neutral => "neutral",
            Self::Negative => "negative",
        }
    }
}

impl CausalArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let given = [
            ("--event", "event", self.event),
            ("--outcome", "outcome", self.outcome),
            ("--memory-id", "memory_id", self.memory_id),
            ("--valence", "valence", self.valence.map(|worth| worth.word().to_owned())),
            ("--after", "time_after", self.after),
            ("--before", "time_before", self.before),
            ("--limit", "limit", Some(self.limit.to_string())),
        ];
        let answer = Client::of_memory(global, false)?.ask(&["v1", "memory", "causal"], &given)?;
        if !out.json && answer["results"].as_array().is_none_or(Vec::is_empty) {
            out.say("nothing found")?;
            return Ok(Exit::Ok);
        }
        out.answer(&answer, || {
            let mut table = Table::new(&["event", "outcome", "times", "worth", "sure"]);
            for link in answer["results"].as_array().into_iter().flatten() {
                let text = |name: &str| link[name].as_str().unwrap_or("-");
                let share = |name: &str| link[name].as_f64().map_or_else(|| "-".into(), |share| format!("{share:.2}"));
                table.row(vec![
                    Cell::text(text("event")).cut(60),
                    Cell::text(text("outcome")),
                    Cell::text(link["observations"].to_string()),
                    Cell::text(share("value")),
                    Cell::text(share("confidence")),
                ]);
            }
            table.show(out.paint)
        })?;
        Ok(Exit::Ok)
    }
}
