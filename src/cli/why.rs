//! `maxim why`: what led to an action.

use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use maxim_bus::MessageId;
use maxim_bus::rooms::RESPOND;
use maxim_bus::signals::approval::code_of;
use serde_json::{Value, json};

use super::table::printable;
use super::{CliError, Exit, Global, Out};
use crate::recorder::{RecorderError, Recording, Window, Without, recordings};

/// How often a recording is looked for, and the pause between two tries.
const TRIES: usize = 4;
const PAUSE: Duration = Duration::from_millis(700);
/// Evidence lines shown per step, at most; `--json` has all.
const SHOWN: usize = 8;

/// Explain an action: from what was perceived to what was learned.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim why\n  maxim why 0192f3c4-5d6e-7f80-9abc-def012345678 --json\n  maxim why last --without memory"
)]
pub struct WhyArgs {
    /// The action's id, or last
    #[arg(default_value = "last")]
    id: String,
    /// Live the recorded turn again without this, and show the difference; no action is done
    #[arg(long, value_name = "WHAT")]
    without: Option<Without>,
}

impl WhyArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let record = global.client()?.get(&["v1", "why", &self.id], &[])?.body;
        if let Some(without) = self.without {
            return imagine(&record, without, global, out);
        }
        out.answer(&record, || told(&record))?;
        Ok(Exit::Ok)
    }
}

/// The turn as it would have been.
fn imagine(record: &Value, without: Without, global: &Global, out: &Out) -> Result<Exit, CliError> {
    let unusable = |error: RecorderError| {
        CliError::new(Exit::NotHeld, error.to_string(), "it takes the recording of that turn, by this version of maxim")
    };
    let turn: MessageId = serde_json::from_value(record["turn"].clone())
        .map_err(|error| CliError::new(Exit::NotHeld, format!("the turn has no id: {error}"), "see `maxim why`"))?;
    let folder = global.data_folder()?.recordings();
    let recording = (0..TRIES).find_map(|tried| {
        // The newest recording is written about once a second.
        std::thread::sleep(if tried == 0 { Duration::ZERO } else { PAUSE });
        let files = recordings(&folder, &Window::default()).into_iter().rev();
        let mut found = files.filter_map(|file| Recording::read(&file).ok());
        found.find(|recording| recording.turn_of(turn).is_some())
    });
    let recording = recording.ok_or_else(|| {
        let missing = format!("no recording in {} holds the turn {turn}", folder.display());
        CliError::new(Exit::NotHeld, missing, "turns are recorded while recorder.enabled is true, and kept for a time")
    })?;
    let tools = recording.tools().map_err(unusable)?;
    // Living the unchanged turn again first shows how far the imagined turn can be trusted.
    let was = recording.what_if(turn, Without::Nothing, &tools).map_err(unusable)?;
    let would = recording.what_if(turn, without, &tools).map_err(unusable)?;
    let what = without.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    let document = json!({
        "turn": turn,
        "without": what,
        "was": { "reply": record["reply"], "actions": record["actions"] },
        "would_be": { "reply": would.ended.reply, "actions": would.ended.actions, "why": would.why },
        "same": is_same(&json!(would.ended.reply), &record["reply"]),
        "faithful": is_same(&json!(was.ended.reply), &record["reply"]),
        "unknown_prompts": would.unknown_prompts,
    });
    out.answer(&document, || imagined(&document, &what))?;
    Ok(Exit::Ok)
}

fn imagined(document: &Value, what: &str) -> String {
    let (was, would) = (&document["was"], &document["would_be"]);
    let mut said = format!("as it was:\n{}\nwithout {what}:\n{}", outcome(was), outcome(would));
    if document["faithful"] != true {
        said += "\nlived again with nothing left out, the turn came out differently too: this comparison says little\n";
    }
    if document["unknown_prompts"].as_u64().unwrap_or(0) > 0 {
        said += "\nthe model would have been asked something else; what it would have said isn't known, so habit answered\n";
    }
    format!("{said}\nhow it would have been:\n{}", told(&would["why"]))
}

/// Compares the words without ids and short codes: a turn that is lived again has new ones.
fn is_same(one: &Value, other: &Value) -> bool {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
    let plain = |value: &Value| -> Vec<String> {
        let text = value.as_str().unwrap_or_default();
        let ids: Vec<MessageId> = text.split_whitespace().filter_map(|word| bare(word).parse().ok()).collect();
        let is_id = |word: &&str| {
            let word = bare(word);
            word.parse::<MessageId>().is_ok() || ids.iter().any(|id| code_of(*id) == word)
        };
        text.split_whitespace().filter(|word| !is_id(word)).map(str::to_owned).collect()
    };
    plain(one) == plain(other)
}

fn outcome(turn: &Value) -> String {
    let mut said = format!("  said  {}\n", word(&turn["reply"]));
    for action in turn["actions"].as_array().into_iter().flatten().filter(|action| action["tool"] != RESPOND) {
        let reason = action["reason"].as_str().map_or(String::new(), |reason| format!(", {}", printable(reason)));
        let params = printable(&action["params"].to_string());
        said += &format!("  did   {} {params}: {}{reason}\n", word(&action["tool"]), word(&action["status"]));
    }
    said
}

/// The steps in order, each with its time since the percept, the room that took it, and its evidence below.
fn told(record: &Value) -> String {
    let (steps, perceived) = (record["steps"].as_array().map_or(&[][..], Vec::as_slice), &record["perceived"]);
    let began = steps.first().and_then(when);
    let mut said = format!("turn {}, {}\n", word(&record["turn"]), word(&perceived["at"]));
    // What the senses report has no sender.
    let sender = perceived["sender"].as_str().filter(|sender| !sender.is_empty());
    let from = sender.map_or(String::new(), |sender| format!(" from {}", printable(sender)));
    said += &format!("{}{from} ({})\n\n", perceived["content"], word(&perceived["source"]));
    for step in steps {
        let after = when(step).zip(began).map_or(0, |(at, began)| at.as_millisecond() - began.as_millisecond());
        let what = step["what"].as_str().unwrap_or_default();
        let (who, what) = what.split_once(": ").unwrap_or(("-", what));
        said += &format!("{:>9}  {who:<22}  {}\n", format!("+{after} ms"), printable(what));
        said += &rests_on(step);
    }
    if record["is_over"] != true {
        said += "\nthe turn goes on\n";
    }
    said
}

/// The evidence of a step, in the daemon's words.
fn rests_on(step: &Value) -> String {
    let all = step["rests_on"].as_array().map_or(&[][..], Vec::as_slice);
    let line = |words: &Value| format!("{:>35}{}\n", "", word(words));
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
    fn replies_that_differ_in_ids_alone_are_the_same() {
        let asked = |id: &str| json!(format!("Say “yes {}”. Or: maxim approvals allow {id}.", &id[32..]));
        let (one, other) = ("01a203e1-e442-728d-aff0-e8e50b222ada", "01a203e1-4097-7ad2-ab67-000000000001");
        assert!(is_same(&asked(one), &asked(other)));
        assert!(!is_same(&asked(one), &json!("Say “yes 2ada”. Or: maxim approvals deny it.")));
        assert!(is_same(&Value::Null, &json!(null)));
    }

    #[test]
    fn each_step_has_its_time_its_room_and_what_it_rests_on() {
        let basis = vec!["1.25  “the key is in the drawer”, 2026-01-05T09:00:00Z"; 10];
        let record = json!({
            "turn": "t1", "is_over": true,
            "perceived": { "at": "2026-01-05T10:00:00Z", "content": "where is it?", "sender": "owner", "source": "comms:console" },
            "steps": [
                { "at": "2026-01-05T10:00:00Z", "what": "salience: perceived \"where is it?\", salience 0.9", "detail": {} },
                { "at": "2026-01-05T10:00:00.012Z", "what": "enrichment: recalled 7 episodes", "detail": {}, "rests_on": basis },
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
