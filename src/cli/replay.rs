//! `maxim replay`: runs a recording again, offline, and compares.

use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;
use maxim_bus::MessageId;
use serde_json::json;

use super::{CliError, Exit, Global, Out, Paint};
use crate::recorder::{Divergence, RecorderError, Recording, ReplayReport, Window, recordings};

/// Run a recording again and compare every decision
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim replay /var/lib/maxim/recordings/20260105T090000Z-0001.mcap\n  maxim replay --from 2026-01-05T09:00:00Z --to 2026-01-05T09:05:00Z\n  maxim replay --from 0192f3c4-5d6e-7f80-9abc-def012345678\n\nExit codes: 0 all equal, 1 something diverged or is damaged, 2 a file can't be read or not replayed whole."
)]
pub struct ReplayArgs {
    /// The recording, an .mcap file [default: the recordings in the data folder that overlap the window]
    #[arg(required_unless_present_any = ["from", "to"])]
    file: Option<PathBuf>,
    /// Compare from here on: a time such as 2026-01-05T09:00:00Z, or the id of a percept or of another message; an id
    /// without --to means its whole turn
    #[arg(long, value_name = "TIME|ID", value_parser = bound)]
    from: Option<Bound>,
    /// Compare up to here: a time, or an id, which means the end of its turn
    #[arg(long, value_name = "TIME|ID", value_parser = bound)]
    to: Option<Bound>,
}

/// The fix for a damaged recording.
const WHOLE_COPY: &str =
    "restore an intact copy of it, or continue with the next recording: each begins with its own states";

/// An end of the window.
#[derive(Clone, Copy, Debug)]
enum Bound {
    At(Timestamp),
    Message(MessageId),
}

fn bound(text: &str) -> Result<Bound, String> {
    let time = text.parse().map(Bound::At);
    time.or_else(|_| text.parse().map(Bound::Message))
        .map_err(|_| "give a time such as 2026-01-05T09:00:00Z, or an id as `maxim why` shows it".into())
}

impl ReplayArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let files = match &self.file {
            Some(file) => vec![file.clone()],
            None => self.files(global)?,
        };
        let (mut worst, mut found) = (Exit::Ok, false);
        for file in &files {
            let unusable = |error: RecorderError| {
                let fix = match &error {
                    RecorderError::Unreadable { is_damaged: true, .. } => WHOLE_COPY,
                    _ => "name a recording of this version of maxim",
                };
                CliError::new(Exit::Usage, error.to_string(), fix)
            };
            let recording = Recording::read(file).map_err(unusable)?;
            // A file that doesn't hold the turn is outside the window.
            let Some(window) = self.window(&recording) else { continue };
            found = true;
            let report = recording.replay_core(&window).map_err(unusable)?;
            let mut document = json!(report);
            document["equal"] = report.is_equal().into();
            document["file"] = json!(file);
            out.answer(&document, || {
                let head = if files.len() > 1 { format!("{}\n", file.display()) } else { String::new() };
                head + &text(&report, file, out.paint)
            })?;
            worst = match (&report.first_divergence, report.set_aside.is_empty()) {
                (Some(_), _) => Exit::NotHeld,
                _ if report.damage.is_some() && report.cut.is_some() => Exit::NotHeld,
                (None, false) if worst == Exit::Ok => Exit::Usage,
                (None, _) => worst,
            };
        }
        if !found {
            return Err(CliError::new(
                Exit::Usage,
                "no recording holds anything of this window",
                "see the folder of recordings",
            ));
        }
        Ok(worst)
    }

    /// The data folder's recordings that may hold something of the window.
    fn files(&self, global: &Global) -> Result<Vec<PathBuf>, CliError> {
        let folder = global.data_folder()?.recordings();
        let time = |bound: Option<Bound>| match bound? {
            Bound::At(time) => Some(time),
            Bound::Message(_) => None,
        };
        let files = recordings(&folder, &Window { from: time(self.from), to: time(self.to) });
        if files.is_empty() {
            let found = format!("no recording in {} overlaps that time", folder.display());
            return Err(CliError::new(Exit::Usage, found, "give another time, another --data, or a FILE"));
        }
        Ok(files)
    }

    /// The window in the times of a recording; `None` if it lacks a message that was named.
    fn window(&self, recording: &Recording) -> Option<Window> {
        let turn = |bound: Option<Bound>| match bound {
            Some(Bound::Message(id)) => recording.turn_of(id).map(Some),
            Some(Bound::At(time)) => Some(Some(Window { from: Some(time), to: Some(time) })),
            None => Some(None),
        };
        let (from, to) = (turn(self.from)?, turn(self.to)?);
        let is_one_turn = self.to.is_none() && matches!(self.from, Some(Bound::Message(_)));
        let end = if is_one_turn { from } else { to };
        Some(Window { from: from.and_then(|window| window.from), to: end.and_then(|window| window.to) })
    }
}

fn text(report: &ReplayReport, file: &Path, paint: Paint) -> String {
    let ReplayReport { inputs, matched, contained, regions, elapsed, recorded_span, .. } = report;
    let heard = regions.values().filter(|tally| tally.inputs > 0).count();
    let mut lines = vec![format!(
        "{inputs} inputs of {heard} regions, {matched} equal; {:.1} s of recorded time in {:.2} s",
        recorded_span.as_secs_f64(),
        elapsed.as_secs_f64(),
    )];
    if *contained > 0 {
        lines.push(format!("{contained} more inputs are already part of the states at the start of the file"));
    }
    if report.outside > 0 {
        lines.push(format!("{} inputs lie outside the window", report.outside));
    }
    let name = file.display();
    match (&report.damage, &report.cut) {
        (Some(damage), Some(_)) => lines
            .push(paint.poor(&format!("{name} is damaged {damage}; the part before it was replayed; {WHOLE_COPY}"))),
        (Some(damage), None) => {
            lines.push(paint.poor(&format!("{name} is damaged {damage}; all its inputs are whole, and were replayed")))
        }
        (None, Some(cut)) => {
            lines.push(paint.poor(&format!("the file ends early: {cut}; the part before it was replayed")));
        }
        (None, None) => {}
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
        (None, true) if report.damage.is_some() && report.cut.is_some() => paint.poor("equal up to the damage"),
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
