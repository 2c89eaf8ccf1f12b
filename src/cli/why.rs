//! `maxim why`: what led to an action.

use clap::Args;
use jiff::Timestamp;
use serde_json::Value;

use super::table::printable;
use super::{CliError, Exit, Global, Out};

/// Memories that a step rests on which are shown; `--json` has all.
const SHOWN: usize = 5;

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
        out.answer(&record, || told(&record))?;
        Ok(Exit::Ok)
    }
}

/// The steps in order, each with its time since the percept, who took it, and what it rests on below it.
fn told(record: &Value) -> String {
    let (steps, perceived) = (record["steps"].as_array().map_or(&[][..], Vec::as_slice), &record["perceived"]);
    let began = steps.first().and_then(when);
    let mut said = format!("turn {}, {}\n", word(&record["turn"]), word(&perceived["at"]));
    said +=
        &format!("{} from {} ({})\n\n", perceived["content"], word(&perceived["sender"]), word(&perceived["source"]));
    for step in steps {
        let after = when(step).zip(began).map_or(0, |(at, began)| at.as_millisecond() - began.as_millisecond());
        let what = step["what"].as_str().unwrap_or_default();
        let (who, what) = what.split_once(": ").unwrap_or(("-", what));
        said += &format!("{:>9}  {who:<22}  {}\n", format!("+{after} ms"), printable(what));
        said += &rests_on(&step["detail"]);
    }
    if record["is_over"] != true {
        said += "\nthe turn goes on\n";
    }
    said
}

/// What was recalled for a step, best first, with its score.
fn rests_on(detail: &Value) -> String {
    let recalled = detail["recalled"].as_array().or_else(|| detail["output"]["results"].as_array());
    let all = recalled.map_or(&[][..], Vec::as_slice);
    let line = |memory: &Value| {
        let score = memory["score"].as_f64().unwrap_or_default();
        let text = memory["text"].as_str().or_else(|| memory["tool"].as_str()).unwrap_or_default();
        format!("{:>35}{score:.2}  “{}”, {}\n", "", printable(text), word(&memory["timestamp"]))
    };
    let mut said: String = all.iter().take(SHOWN).map(line).collect();
    if all.len() > SHOWN {
        said += &format!("{:>35}and {} more; see --json\n", "", all.len() - SHOWN);
    }
    said
}

fn when(step: &Value) -> Option<Timestamp> {
    step["at"].as_str()?.parse().ok()
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| "-".into(), printable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_step_has_its_time_its_room_and_what_it_rests_on() {
        let memory = json!({ "score": 1.25, "text": "the key is in the drawer", "timestamp": "2026-01-05T09:00:00Z" });
        let recalled: Vec<Value> = vec![memory; 7];
        let record = json!({
            "turn": "t1", "is_over": true,
            "perceived": { "at": "2026-01-05T10:00:00Z", "content": "where is it?", "sender": "owner", "source": "comms:console" },
            "steps": [
                { "at": "2026-01-05T10:00:00Z", "what": "salience: perceived \"where is it?\", salience 0.9", "detail": {} },
                { "at": "2026-01-05T10:00:00.012Z", "what": "enrichment: recalled 7 episodes", "detail": { "recalled": recalled } },
            ],
        });
        let said = told(&record);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[1], "\"where is it?\" from owner (comms:console)");
        assert_eq!(lines[4], "   +12 ms  enrichment              recalled 7 episodes");
        assert_eq!(lines[5].trim(), "1.25  “the key is in the drawer”, 2026-01-05T09:00:00Z");
        assert_eq!(lines.last().map(|line| line.trim()), Some("and 2 more; see --json"));
    }
}
