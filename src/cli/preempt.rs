//! `maxim reset`, `resume`, `hold` and `redirect`: what a person may do to the loop.

use std::time::Duration;

use clap::Args;
use maxim_bus::clock::Stopwatch;
use serde_json::{Value, json};

use super::{CliError, Exit, Global, Out, tree};
use crate::config::{AmountError, Span};
use crate::stopping::millis;

/// Clear the stop latch; motion stays held until `resume`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim reset")]
pub struct ResetArgs {}

/// Resume motion or a held loop.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim resume")]
pub struct ResumeArgs {}

/// Let the loop cycle without proposing anything.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim hold 5min\n  maxim hold")]
pub struct HoldArgs {
    /// For how long: seconds, or such as 1h or 5min [default: until `maxim resume`]
    #[arg(value_parser = duration)]
    duration: Option<Span>,
}

fn duration(text: &str) -> Result<Span, AmountError> {
    match text.parse::<u32>() {
        Ok(seconds) => Ok(Span::new(Duration::from_secs(seconds.into()))),
        Err(_) => text.parse(),
    }
}

/// Put another goal first; the present one is resumed afterwards.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim redirect \"go to the charger\"")]
pub struct RedirectArgs {
    goal: String,
}

impl ResetArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        preempt(global, out, "reset", &json!({}))
    }
}

impl ResumeArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        preempt(global, out, "resume", &json!({}))
    }
}

impl HoldArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let body = match self.duration.map(Span::get) {
            Some(time) if time.subsec_nanos() == 0 => json!({"duration_s": time.as_secs()}),
            Some(time) => json!({"duration_s": time.as_secs_f64()}),
            None => json!({}),
        };
        preempt(global, out, "hold", &body)
    }
}

impl RedirectArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        preempt(global, out, "redirect", &json!({"goal": self.goal}))
    }
}

fn preempt(global: &Global, out: &Out, what: &str, body: &Value) -> Result<Exit, CliError> {
    let client = global.client()?;
    let watch = Stopwatch::start();
    let mut answer = client.post(&["v1", what], body)?.body;
    let round_trip_us = micros(watch);
    if let Value::Object(members) = &mut answer {
        members.insert("round_trip_us".into(), round_trip_us.into());
    }
    out.answer(&answer, || {
        let measured = answer["latency_us"].as_u64().unwrap_or(round_trip_us);
        if let Some(words) = released(what, &answer) {
            return words;
        }
        let mut rest = answer.clone();
        if let Value::Object(members) = &mut rest {
            members.retain(|name, _| !matches!(name.as_str(), "latency_us" | "round_trip_us"));
        }
        format!("{what} in {}\n{}", millis(measured), tree(&rest, 1))
    })?;
    Ok(Exit::Ok)
}

/// What a reset or resume led to, as a sentence.
fn released(what: &str, answer: &Value) -> Option<String> {
    let (is_stopped, is_free) = (answer["latched"] == true, answer["motion"] == "free");
    let mut words = match what {
        "reset" if is_stopped => "It was stopped again at once; see `maxim status`.",
        "reset" if is_free => "No stop is set, and motion is free.",
        "reset" => "The stop is cleared. Motion waits for `maxim resume`.",
        "resume" if is_stopped => "It is stopped; `maxim reset` clears that first.",
        "resume" => "Motion is free, and what was held goes on.",
        _ => return None,
    }
    .to_owned();
    if answer["rooms_told"] == false {
        words.push_str(" The rooms were not told in time; see `maxim status`.");
    }
    Some(words)
}

pub(super) fn micros(watch: Stopwatch) -> u64 {
    u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_and_a_resume_are_told_as_sentences() {
        let told = |what: &str, latched: bool, motion: &str| {
            released(what, &json!({"latched": latched, "motion": motion, "rooms_told": true})).expect("a sentence")
        };
        assert_eq!(told("reset", false, "held"), "The stop is cleared. Motion waits for `maxim resume`.");
        assert_eq!(told("reset", false, "free"), "No stop is set, and motion is free.");
        assert_eq!(told("resume", false, "free"), "Motion is free, and what was held goes on.");
        assert!(told("reset", true, "held").contains("maxim status") && told("resume", true, "held").contains("reset"));
        let late = released("resume", &json!({"latched": false, "motion": "free", "rooms_told": false}));
        assert!(late.is_some_and(|words| words.contains("not told in time")));
        assert_eq!(released("hold", &json!({})), None);
    }
}
