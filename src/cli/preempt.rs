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

/// Let motion, or a held loop, go on.
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

/// Put another goal in front; the present one is taken up again afterwards.
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
        let mut rest = answer.clone();
        if let Value::Object(members) = &mut rest {
            members.retain(|name, _| !matches!(name.as_str(), "latency_us" | "round_trip_us"));
        }
        format!("{what} in {}\n{}", millis(measured), tree(&rest, 1))
    })?;
    Ok(Exit::Ok)
}

pub(super) fn micros(watch: Stopwatch) -> u64 {
    u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX)
}
