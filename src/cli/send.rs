//! `maxim send`: one percept from the console.

use std::io::Read;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::table::printable;
use super::{Answer, CliError, Client, Exit, Global, Out, tree};

/// Say something to the agent.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim send \"fetch the cup\" --wait\n  echo \"what did you see?\" | maxim send - --wait"
)]
pub struct SendArgs {
    /// What to say; - reads standard input
    #[arg(value_name = "TEXT")]
    text: String,
    /// Wait for the reply and print it
    #[arg(long)]
    wait: bool,
    /// Wait at most this many seconds [default: 30]
    #[arg(long, value_name = "S", value_parser = seconds)]
    timeout: Option<f64>,
}

/// The channel of what is typed in a terminal.
pub(super) const CONSOLE: &str = "console";
/// How long to wait when nobody says.
const WAIT_S: f64 = 30.0;

/// Seconds from 0 to a day, with a fraction if need be.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("give seconds from 0 to 86400".into()),
    }
}

impl SendArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let text = if self.text == "-" { standard_input()? } else { self.text };
        if text.trim().is_empty() {
            return Err(CliError::new(Exit::Usage, "the text is empty", "say something"));
        }
        let wait_s = self.timeout.or(self.wait.then_some(WAIT_S));
        let Answer { status, body } = say(&global.client()?, &text, wait_s)?;
        let Some(wait_s) = wait_s else {
            out.answer(&body, || format!("accepted {}", id(&body)))?;
            return Ok(Exit::Ok);
        };
        if let Some(lost) = body["lost"].as_str() {
            let found = format!("the reply was lost: {lost}");
            return Err(CliError::new(Exit::NotHeld, found, "it was done all the same: see `maxim why`"));
        }
        if status == 202 {
            let found = format!("no reply within {wait_s} s; it was accepted as {}", id(&body));
            return Err(CliError::new(Exit::NotHeld, found, "wait longer with --timeout, or see `maxim why`"));
        }
        out.answer(&body, || shown(&body))?;
        Ok(Exit::Ok)
    }
}

/// Sends one percept; with `wait_s` the answer is the reply, or a 202 when none came in time.
pub(super) fn say(client: &Client, text: &str, wait_s: Option<f64>) -> Result<Answer, CliError> {
    let mut percept = json!({"text": text, "channel": CONSOLE});
    if let Some(wait_s) = wait_s {
        percept["wait_s"] = json!(wait_s);
    }
    let patience = Duration::from_secs_f64(wait_s.unwrap_or(0.0)) + Duration::from_secs(10);
    client.post_within(&["v1", "percepts"], &percept, patience)
}

/// The reply, and below it one line for each action.
pub(super) fn shown(body: &Value) -> String {
    let reply = body["reply"].as_str().unwrap_or("(no reply)");
    // Line breaks belong to a reply; other control characters would steer the terminal.
    let mut text: String = reply.lines().map(|line| printable(line) + "\n").collect();
    // The spoken words are already shown above.
    let is_said = |action: &&Value| action["tool"] == "respond" && action["status"] == "done";
    for action in body["actions"].as_array().into_iter().flatten().filter(|action| !is_said(action)) {
        let name = action["tool"].as_str().or_else(|| action["tool_name"].as_str());
        match name {
            Some(name) => {
                let params = action.get("params").map_or_else(String::new, Value::to_string);
                // done, failed, unavailable, asked, blocked, denied, stopped, unknown
                let state = action["status"].as_str().unwrap_or("unknown");
                text.push_str(&format!("* {} {} ({})\n", printable(name), printable(&params), printable(state)));
            }
            None => text.push_str(&format!("* {}", tree(action, 1).trim_start())),
        }
    }
    text
}

fn id(body: &Value) -> &str {
    body["id"].as_str().unwrap_or("(no id)")
}

fn standard_input() -> Result<String, CliError> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| {
        CliError::new(Exit::Usage, format!("standard input can't be read as text: {error}"), "send UTF-8")
    })?;
    Ok(text)
}
