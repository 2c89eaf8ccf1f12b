//! The chat line by line.
//!
//! The answer to a line is printed with it. Other messages (the end of a goal, a late answer, the result of an act that
//! was allowed elsewhere) arrive as events. They are printed as soon as no answer is awaited. At the end of the input,
//! the chat waits for the goals that began here, as long as it waits for an answer.

use std::collections::BTreeSet;
use std::io::{BufRead, stdin};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

use crate::cli::send::{CONSOLE, say, shown};
use crate::cli::table::printable;
use crate::cli::{CliError, Client, Exit, Global, Out};

/// How long to wait for the event stream. After that the chat goes on without events.
const TOLD_WITHIN: Duration = Duration::from_secs(5);
/// States of a goal after which more news of it will come.
const UNDER_WAY: [&str; 2] = ["proposed", "active"];

/// What arrived as events.
#[derive(Default)]
struct Heard {
    /// The event stream is open.
    is_told: bool,
    /// A line was sent, and its answer is still awaited.
    is_waiting: bool,
    /// Turns whose answer was shown.
    answered: BTreeSet<String>,
    /// Turns that have ended. Later messages of these turns are news.
    over: BTreeSet<String>,
    /// Turn and words of each message that came while an answer was awaited.
    kept: Vec<(String, String)>,
    /// Number of goals wished for here that have no state yet.
    wished: usize,
    /// Goals of this channel that are under way.
    goals: BTreeSet<String>,
    /// The turn whose answer was shown last.
    last: Option<String>,
}

impl Heard {
    /// True when the last answered turn has ended and no goal is pending. Always true without the event stream.
    fn is_quiet(&self) -> bool {
        let is_heard = self.last.as_ref().is_none_or(|turn| self.over.contains(turn));
        !self.is_told || is_heard && self.wished == 0 && self.goals.is_empty()
    }
}

struct Shared {
    heard: Mutex<Heard>,
    /// Signals that a goal or a turn has ended.
    changed: Condvar,
    has_prompt: bool,
    out: Out,
}

impl Shared {
    /// Returns false when the output is closed.
    fn hear(&self, event: &Value) -> bool {
        let body = &event["body"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let turn = text(&body["turn"]);
        let mut heard = self.heard.lock();
        let words = match event["type"].as_str().unwrap_or_default() {
            // A wish is reported before its turn ends, so it is known when the answer comes.
            "GoalWished" if body["wish"]["propose"]["channel"] == CONSOLE => {
                heard.wished += 1;
                None
            }
            "GoalChanged" if body["goal"]["channel"] == CONSOLE => {
                let (id, state) = (text(&body["goal"]["id"]), text(&body["goal"]["state"]));
                if !heard.goals.remove(&id) {
                    heard.wished = heard.wished.saturating_sub(1);
                }
                if UNDER_WAY.contains(&state.as_str()) {
                    heard.goals.insert(id);
                }
                None
            }
            "TurnEnded" if body["channel"] == CONSOLE => {
                heard.over.insert(turn.clone());
                (body["reply"].is_string() && !heard.answered.contains(&turn)).then(|| shown(body))
            }
            // Before the turn ends, this is part of the turn's answer.
            "Outbound" if body["channel"] == CONSOLE && heard.over.contains(&turn) => {
                Some(body["text"].as_str().unwrap_or_default().lines().map(|line| printable(line) + "\n").collect())
            }
            _ => None,
        };
        self.changed.notify_all();
        match words {
            Some(words) if heard.is_waiting => {
                heard.kept.push((turn, words));
                true
            }
            Some(words) => self.tell(&turn, &words).is_ok(),
            None => true,
        }
    }

    fn tell(&self, turn: &str, words: &str) -> Result<(), CliError> {
        self.out.answer(&json!({"later": words.trim_end(), "turn": turn}), || {
            let lead = if self.has_prompt { "\n" } else { "" };
            format!("{lead}{}", spoken(words, self.has_prompt, &self.out))
        })?;
        prompt(self.has_prompt, &self.out);
        Ok(())
    }

    /// Shows what was kept while an answer was awaited. `answered` is the turn whose answer was just shown, if any.
    fn catch_up(&self, answered: Option<&str>) -> Result<(), CliError> {
        let kept = {
            let mut heard = self.heard.lock();
            heard.is_waiting = false;
            if let Some(turn) = answered {
                heard.answered.insert(turn.to_owned());
                heard.last = Some(turn.to_owned());
            }
            std::mem::take(&mut heard.kept)
        };
        let later = kept.iter().filter(|(turn, _)| answered != Some(turn.as_str()));
        later.map(|(_, words)| spoken(words, self.has_prompt, &self.out)).try_for_each(|words| self.out.say(&words))
    }

    /// Waits for the goals that are under way.
    fn wait_for_goals(&self, patience: Duration) {
        let watch = Stopwatch::start();
        let mut heard = self.heard.lock();
        while !heard.is_quiet() && watch.elapsed() < patience {
            let left = patience.saturating_sub(watch.elapsed());
            self.changed.wait_for(&mut heard, left);
        }
    }
}

pub(super) fn run(global: &Global, out: &Out, has_prompt: bool, patience: Duration) -> Result<Exit, CliError> {
    let client = global.client()?;
    let heard = Mutex::default();
    let shared = Arc::new(Shared { heard, changed: Condvar::new(), has_prompt, out: out.clone() });
    listen(global, &shared);
    let mut missed = false;
    prompt(has_prompt, out);
    for line in stdin().lock().lines() {
        let line = line.map_err(|error| {
            CliError::new(Exit::Usage, format!("standard input can't be read as text: {error}"), "send UTF-8")
        })?;
        match line.trim() {
            "" => {}
            "!" => stop(&client, out)?,
            text => missed |= !turn(&shared, &client, text, patience)?,
        }
        prompt(has_prompt, out);
    }
    shared.wait_for_goals(patience);
    Ok(if missed { Exit::NotHeld } else { Exit::Ok })
}

/// Starts before the first line is sent, so no event is missed.
fn listen(global: &Global, shared: &Arc<Shared>) {
    let (open, opened) = channel();
    let (global, shared) = (global.clone(), Arc::clone(shared));
    std::thread::spawn(move || {
        let query = [("type", "TurnEnded,Outbound,GoalWished,GoalChanged".to_owned())];
        let told = || {
            shared.heard.lock().is_told = true;
            let _ = open.send(());
        };
        // If the daemon is lost, the next line reports it.
        let _ = global
            .client()
            .and_then(|client| client.follow(&["v1", "events"], &query, told, |event| shared.hear(&event)));
        shared.heard.lock().is_told = false;
        shared.changed.notify_all();
    });
    let _ = opened.recv_timeout(TOLD_WITHIN);
}

/// Returns false when no answer came in time. A late answer is shown when it comes.
fn turn(shared: &Shared, client: &Client, text: &str, patience: Duration) -> Result<bool, CliError> {
    shared.heard.lock().is_waiting = true;
    let answer = say(client, text, Some(patience.as_secs_f64())).inspect_err(|_| drop(shared.catch_up(None)))?;
    let out = &shared.out;
    if answer.status == 202 {
        let waited = patience.as_secs_f64();
        out.answer(&answer.body, || format!("(no reply within {waited} s; it is still at work)"))?;
        shared.catch_up(None)?;
        return Ok(false);
    }
    out.answer(&answer.body, || spoken(&shown(&answer.body), shared.has_prompt, out))?;
    shared.catch_up(answer.body["id"].as_str())?;
    Ok(true)
}

fn spoken(words: &str, has_prompt: bool, out: &Out) -> String {
    if has_prompt { format!("{} {words}", out.paint.strong("maxim>")) } else { words.to_owned() }
}

fn stop(client: &Client, out: &Out) -> Result<(), CliError> {
    let answer = client.post(&["v1", "stop"], &json!({"reason": "! in the chat"}))?;
    out.answer(&answer.body, || "stopped; clear it with `maxim reset`".to_owned())
}

/// Printed to standard error, so that piped output stays data.
fn prompt(has_prompt: bool, out: &Out) {
    if has_prompt {
        eprint!("{} ", out.paint.faint("you>"));
    }
}
