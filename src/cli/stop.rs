//! `maxim stop`: the protective stop, which works while the daemon is wedged.

use std::time::Duration;

use clap::Args;
use maxim_bus::clock::Stopwatch;
use serde_json::{Value, json};

use super::preempt::micros;
use super::send::seconds;
use super::stop_ways::{Race, Verdict};
use super::{CliError, Client, Exit, Global, Out};
use crate::data_folder::DataFolder;
use crate::stopping::millis;

/// Stop at once: cancel the goal, freeze the body, kill what runs, refuse every later effect.
///
/// Uses socket, signal and file at the same time; the first confirmation counts. The stop stays latched, also across
/// restarts, until a person runs `maxim reset`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim stop \"the arm hit the table\"")]
pub struct StopArgs {
    /// Why; kept with the latch
    #[arg(default_value = "maxim stop")]
    reason: String,
    /// How long to wait for the confirmation, in seconds
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = seconds)]
    timeout: f64,
}

impl StopArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        // A socket and a file carry one line, so the reason must be one line.
        let reason = super::table::printable(&self.reason);
        let patience = Duration::from_secs_f64(self.timeout);
        let answer = if global.url.is_some() {
            let client = Client::find(global)?;
            let watch = Stopwatch::start();
            let mut body = client.post_within(&["v1", "stop"], &json!({"reason": reason}), patience)?.body;
            body["via"] = "http".into();
            body["round_trip_us"] = micros(watch).into();
            body
        } else {
            stop_here(global, &folder(global)?, &reason, patience)?
        };
        let is_latched = answer["latched"].as_bool().unwrap_or(false);
        out.answer(&answer, || shown(&answer))?;
        Ok(if is_latched { Exit::Ok } else { Exit::NotHeld })
    }
}

/// Where a daemon listens by default.
const DEFAULT_PORT: u16 = 7717;

/// A stop must not fail because of an error in a configuration file. Then the default folder is used.
fn folder(global: &Global) -> Result<DataFolder, CliError> {
    match global.data_folder() {
        Ok(folder) => Ok(folder),
        Err(error) => {
            super::exit::report(&error, global.json);
            Ok(DataFolder::new(global.places().data(None)?))
        }
    }
}

fn stop_here(global: &Global, folder: &DataFolder, reason: &str, patience: Duration) -> Result<Value, CliError> {
    let race = Race::start(folder, reason, patience);
    let tried = race.tried();
    match race.finish(patience) {
        Verdict::Answered(answer) => Ok(answer),
        Verdict::Nobody { request_left } => {
            let fix = match request_left {
                true => format!(
                    "nothing runs; the next start will be stopped, because {} stays",
                    folder.stop_request().display()
                ),
                false => "nothing runs there; name the daemon with --data or --url".to_owned(),
            };
            Err(CliError::new(Exit::TryAgain, format!("no daemon took the stop; tried {tried}"), fix))
        }
        Verdict::Denied => {
            let shown = folder.path().display();
            let found = format!("NOT stopped: this user can't look into {shown}, and a daemon may run there");
            let listen = global.load(Vec::new()).ok().map(|loaded| loaded.settings.http.listen);
            let port = listen.map_or(DEFAULT_PORT, |listen| listen.port());
            let fix = format!(
                "on this machine `maxim stop --url http://127.0.0.1:{port}` needs no token (name its address, if that is another); or run as the user who owns the folder"
            );
            Err(CliError::new(Exit::NotHeld, found, fix))
        }
        Verdict::Silent { pid } => {
            let found = format!("no confirmation within {} s; tried {tried}", patience.as_secs_f64());
            let fix = match pid {
                Some(pid) => {
                    format!("use the emergency stop, or end it with `kill -9 {pid}`: the body then holds by its lease")
                }
                None => "use the emergency stop".to_owned(),
            };
            Err(CliError::new(Exit::NotHeld, found, fix))
        }
    }
}

fn shown(answer: &Value) -> String {
    let round_trip_us = answer["round_trip_us"].as_u64().unwrap_or_default();
    let latency_us = answer["latency_us"].as_u64().unwrap_or(round_trip_us);
    let state = if answer["latched"].as_bool() == Some(true) { "stopped" } else { "NOT stopped" };
    let durable = match answer["durable"].as_bool() {
        Some(true) => ", durable",
        Some(false) => ", not durable yet: the disk, or the server between several machines, doesn't answer",
        None => "",
    };
    let via = answer["via"].as_str().unwrap_or("?");
    format!(
        "{state} in {} (by {via}{durable}; round trip {})\nclear it with `maxim reset`",
        millis(latency_us),
        millis(round_trip_us)
    )
}
