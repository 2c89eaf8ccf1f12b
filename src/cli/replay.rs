//! `maxim replay`: runs a recording again, offline, and compares.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{CliError, Exit, Out, Paint};
use crate::recorder::{Divergence, Recording, ReplayReport};

/// Run a recording again and compare every decision
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  maxim replay /var/lib/maxim/recordings/20260105T090000Z-0001.mcap\n\nExit codes: 0 all equal, 1 something diverged, 2 the file can't be read or not replayed whole."
)]
pub struct ReplayArgs {
    /// The recording, an .mcap file of the data folder's recordings
    file: PathBuf,
}

impl ReplayArgs {
    pub(super) fn run(self, out: &Out) -> Result<Exit, CliError> {
        let report = Recording::replay_file(&self.file).map_err(|error| {
            CliError::new(Exit::Usage, error.to_string(), "name a recording of this version of maxim")
        })?;
        let mut document = json!(report);
        document["equal"] = report.is_equal().into();
        out.answer(&document, || text(&report, out.paint))?;
        Ok(match (&report.first_divergence, report.set_aside.is_empty()) {
            (Some(_), _) => Exit::NotHeld,
            (None, false) => Exit::Usage,
            (None, true) => Exit::Ok,
        })
    }
}

fn text(report: &ReplayReport, paint: Paint) -> String {
    let ReplayReport { inputs, matched, contained, regions, elapsed, recorded_span, .. } = report;
    let heard = regions.values().filter(|tally| tally.inputs > 0).count();
    let mut lines = vec![format!(
        "{inputs} inputs of {heard} regions, {matched} equal; {:.1} s of recorded time in {:.2} s",
        recorded_span.as_secs_f64(),
        elapsed.as_secs_f64(),
    )];
    if *contained > 0 {
        lines.push(format!("{contained} more inputs are in the states that the file begins with"));
    }
    if let Some(cut) = &report.cut {
        lines.push(paint.poor(&format!("the file ends early: {cut}; what stands before was replayed")));
    }
    if report.lost > 0 {
        lines.push(paint.poor(&format!("the recorder lost {} inputs and signals after these", report.lost)));
    }
    if report.recorded_by != report.replayed_by {
        let (theirs, ours) = (&report.recorded_by, &report.replayed_by);
        lines.push(paint.poor(&format!("it was recorded by maxim {theirs}; this is maxim {ours}")));
    }
    for aside in &report.set_aside {
        let line = format!("{} was not replayed ({} inputs): {}", aside.region, aside.inputs, aside.why);
        lines.push(paint.poor(&line));
    }
    lines.push(match (&report.first_divergence, report.set_aside.is_empty()) {
        (Some(divergence), _) => paint.bad(&named(divergence)),
        (None, true) => paint.good("equal"),
        (None, false) => paint.poor("equal as far as it was replayed"),
    });
    lines.join("\n")
}

fn named(divergence: &Divergence) -> String {
    let Divergence { region, input, region_input, message, signal, lsn, expected, got, failed } = divergence;
    let what = match (signal, message) {
        (Some(signal), Some(message)) => format!("{signal} {message}"),
        _ => "a tick".into(),
    };
    let mut text = format!("diverged first at {region}, its input {region_input} ({input} of the file, {lsn}): {what}");
    if expected.decision_hash != got.decision_hash {
        text += &format!("\n  decisions {}, recorded {}", got.decision_hash, expected.decision_hash);
    }
    if expected.state_hash != got.state_hash {
        text += &format!("\n  state {}, recorded {}", got.state_hash, expected.state_hash);
    }
    if let Some(why) = failed {
        text += &format!("\n  {why}");
    }
    text
}
