//! `maxim status`: how each region, the latch, body, disk and model are, and how many questions wait for a person.

use clap::Args;
use serde_json::Value;

use super::table::{Cell, Table, Tone};
use super::{CliError, Exit, Global, Out, Paint, outbox, tool_list, tree};
use crate::stopping::hold_in_words;

/// Show the health of the regions, the stop latch, what waits for a yes or no, the body, the disk and the model.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim status\n  maxim status --json | jq .stop.latched")]
pub struct StatusArgs {}

impl StatusArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let status = global.client()?.get(&["v1", "status"], &[])?.body;
        out.answer(&status, || shown(&status, out.paint))?;
        Ok(Exit::Ok)
    }
}

/// The whole status for people.
pub(super) fn shown(status: &Value, paint: Paint) -> String {
    let mut text = head(status, paint);
    text.push_str(&questions(status, paint));
    text.push('\n');
    text.push_str(&regions(status, paint));
    text.push_str(&tool_list::servers(&status["tool_servers"], paint));
    text.push_str(&outbox::channels(&status["channels"], paint));
    for name in ["machines", "body", "sandbox", "disk", "llm", "tokens", "energy", "memory", "encoder"] {
        match &status[name] {
            Value::Null => {}
            Value::Object(_) => text.push_str(&format!("\n{}\n{}", paint.strong(name), tree(&status[name], 1))),
            other => text.push_str(&format!("\n{} {}", paint.strong(name), tree(other, 0))),
        }
    }
    text
}

fn head(status: &Value, paint: Paint) -> String {
    let state = status["state"].as_str().unwrap_or("unknown");
    let toned = match state {
        "awake" | "asleep" => paint.good(state),
        "stopped" => paint.bad(state),
        _ => paint.poor(state),
    };
    let version = status["version"].as_str().unwrap_or("?");
    let stop = &status["stop"];
    let latch = if stop["latched"].as_bool() == Some(true) {
        let part = |name: &str| super::table::printable(stop[name].as_str().unwrap_or("?"));
        let who = if stop["who"].is_string() { part("who") } else { part("by") };
        format!("\nlatched at {} by {who}: {}\nclear it with `maxim reset`", part("at"), part("reason"))
    } else {
        String::new()
    };
    let dead: Vec<&str> = stop["dead_ways"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let dead = if dead.is_empty() {
        String::new()
    } else {
        let text = format!("stops by {} no longer arrive; restart the daemon", dead.join(" and "));
        format!("\n{}", paint.bad(&text))
    };
    let hold = hold_in_words(&status["hold"]).map(|hold| format!("\n{}", paint.poor(&hold))).unwrap_or_default();
    let ending = if status["draining"] == true {
        "\nshutting down: running work may go on for a while, nothing new is accepted"
    } else {
        ""
    };
    format!("{toned} maxim {version}{latch}{hold}{ending}{dead}\n")
}

/// How many questions of the gate wait for a person; no line where none does.
fn questions(status: &Value, paint: Paint) -> String {
    let line = match status["approvals"]["waiting"].as_u64() {
        None | Some(0) => return String::new(),
        Some(1) => "1 question waits for a yes or no; see `maxim approvals list`".to_owned(),
        Some(waiting) => format!("{waiting} questions wait for a yes or no; see `maxim approvals list`"),
    };
    format!("{}\n", paint.poor(&line))
}

/// One line a region.
pub(super) fn regions(status: &Value, paint: Paint) -> String {
    let mut table = Table::new(&["region", "state", "restarts", "inbox", "p99 us"]);
    for region in status["regions"].as_array().into_iter().flatten() {
        let state = region["state"].as_str().unwrap_or("?");
        let tone = match state {
            "running" => Tone::Good,
            "off" => Tone::Faint,
            "restarting" => Tone::Poor,
            _ => Tone::Bad,
        };
        let number = |name: &str| Cell::number(region[name].as_u64().map_or_else(|| "-".into(), |n| n.to_string()));
        table.row(vec![
            Cell::text(region["name"].as_str().unwrap_or("?")),
            Cell::text(state).toned(tone),
            number("restarts"),
            number("inbox_depth"),
            number("p99_us"),
        ]);
    }
    let mut text = table.show(paint);
    for region in status["regions"].as_array().into_iter().flatten() {
        if let (Some(name), Some(room)) = (region["name"].as_str(), region["waits_for"].as_str()) {
            let line = format!("{name} waits for {room}, which has a backlog; new messages are kept meanwhile");
            text.push_str(&format!("{}\n", paint.poor(&line)));
        }
    }
    text
}
