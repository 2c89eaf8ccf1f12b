//! `maxim memory restore` and `convert`: operations on a store that no process holds.

use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;
use maxim_actors::store::{BackupFound, StateStore};
use maxim_bus::AgentId;
use serde_json::{Value, json};

use super::table::{Cell, Table};
use super::{CliError, Exit, Global, Out};
use crate::config::Settings;
use crate::daemon::opening;
use crate::data_folder::DataFolder;
use crate::recorder::{Retaken, Window, recordings, retake};

#[derive(Args, Debug)]
pub(super) struct RestoreArgs {
    /// The number of a backup in the data folder, or a folder [default: list them]
    from: Option<String>,
    /// Also import what the recordings in the data folder hold since the backup
    #[arg(long, requires = "from")]
    recordings: bool,
    /// The same, but only up to a time such as 2026-01-05T09:00:00Z
    #[arg(long, value_name = "TIME", requires = "from")]
    until: Option<Timestamp>,
}

impl RestoreArgs {
    /// Restores a backup, or lists them.
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let folder = global.data_folder()?;
        let found = StateStore::backups_in(&folder.store());
        let Some(from) = &self.from else {
            out.answer(&listed(&found), || shown(&found, &folder, out))?;
            return Ok(Exit::Ok);
        };
        let place = place_of(from, &found, &folder)?;
        let settings = global.load(Vec::new())?.settings;
        let made = StateStore::backup_made(&place);
        if let (Some(made), Some(until)) = (made, self.until)
            && made > until
        {
            let found = format!("the backup {} was made {made:.0}, after {until}", place.display());
            return Err(CliError::new(
                Exit::Usage,
                found,
                "name an older backup, see `maxim memory restore`; nothing was changed",
            ));
        }
        let report = StateStore::replace(&place, &folder.store(), &opening::options(&settings.store))
            .map_err(|error| opening::failed(&error))?;
        // The latch is not part of a backup. Beside a used store, a missing latch file means stopped.
        let is_stopped = !folder.latch().exists();
        let mut answer = json!({
            "restored_from": place, "made": made, "bytes": report.bytes, "set_aside": report.set_aside,
            "starts_stopped": is_stopped,
        });
        let made = made.map_or_else(String::new, |made| format!(", made {made:.0}"));
        let mut lines = vec![format!("restored from {}{made}", place.display())];
        let aside = report.set_aside.as_ref();
        lines.extend(aside.map(|aside| format!("the previous store is kept, unchanged, in {}", aside.display())));
        let mut exit = Exit::Ok;
        if self.recordings || self.until.is_some() {
            let taken = self.retake(&folder, &place, &settings)?;
            lines.extend(taken.lines());
            exit = if taken.left_out > 0 { Exit::NotHeld } else { exit };
            answer["recordings"] = json!(taken);
        } else if let Some(missing) = missing(&folder, &place) {
            lines.push(missing);
        }
        if is_stopped {
            let text = "there is no latch file, so the daemon will start stopped; clear it with `maxim reset`";
            lines.push(text.into());
        }
        out.answer(&answer, || lines.join("\n"))?;
        Ok(exit)
    }

    fn retake(&self, folder: &DataFolder, place: &Path, settings: &Settings) -> Result<Retaken, CliError> {
        let (store, _) = opening::open(folder, opening::visiting(&settings.store))?;
        let agent = AgentId::new(opening::AGENT).map_err(|error| CliError::told(Exit::Bug, &error))?;
        let since = StateStore::backup_made(place);
        let taken = retake(&store.agent(&agent), &folder.recordings(), since, self.until);
        let taken = taken.map_err(|error| {
            CliError::new(Exit::TryAgain, error.to_string(), "restore the backup again, with or without --recordings")
        })?;
        let closed = store.count_boots(taken.boot).and_then(|()| store.close());
        closed.map_err(|error| opening::failed(&error))?;
        Ok(taken)
    }
}

/// A hint about recordings that are newer than the backup and were not imported.
fn missing(folder: &DataFolder, place: &Path) -> Option<String> {
    let window = Window { from: StateStore::backup_made(place), to: None };
    let files = recordings(&folder.recordings(), &window).len();
    (files > 0).then(|| {
        format!(
            "the backup holds nothing newer than itself, but {files} later recordings are in {}: to import them, \
            restore again with --recordings, or with --until TIME up to that time",
            folder.recordings().display()
        )
    })
}

/// A number of the list, or a folder.
fn place_of(from: &str, found: &[BackupFound], folder: &DataFolder) -> Result<PathBuf, CliError> {
    if let Ok(number) = from.parse::<u64>() {
        return match found.iter().find(|backup| backup.number == number) {
            Some(backup) => Ok(backup.place.clone()),
            None => {
                let there: Vec<String> = found.iter().map(|backup| backup.number.to_string()).collect();
                let there =
                    if there.is_empty() { "there is none".into() } else { format!("there are {}", there.join(", ")) };
                let found = format!("no backup {number} in {}: {there}", folder.store().join("backups").display());
                Err(CliError::new(Exit::Usage, found, "see `maxim memory restore`, or name a folder"))
            }
        };
    }
    let place = PathBuf::from(from);
    if place.is_dir() {
        return Ok(place);
    }
    let found = format!("{} is neither the number of a backup nor a folder", place.display());
    Err(CliError::new(Exit::Usage, found, "see `maxim memory restore` for the numbers"))
}

fn listed(found: &[BackupFound]) -> Value {
    let line = |backup: &BackupFound| json!({"number": backup.number, "made": backup.made, "bytes": backup.bytes, "place": backup.place});
    json!({ "backups": found.iter().map(line).collect::<Vec<_>>() })
}

fn shown(found: &[BackupFound], folder: &DataFolder, out: &Out) -> String {
    if found.is_empty() {
        return format!("there is no backup in {}; make one with `maxim memory backup`", folder.store().display());
    }
    let mut table = Table::new(&["number", "made", "bytes", "place"]);
    for backup in found {
        let made = backup.made.map_or_else(|| "never finished".into(), |made| format!("{made:.0}"));
        table.row(vec![
            Cell::number(backup.number),
            Cell::text(made),
            Cell::number(backup.bytes),
            Cell::text(backup.place.display().to_string()),
        ]);
    }
    table.show(out.paint) + "restore one with `maxim memory restore NUMBER`"
}

/// Copies the store over to the configured engine.
pub fn convert(global: &Global, out: &Out) -> Result<Exit, CliError> {
    let folder = global.data_folder()?;
    if !folder.store().is_dir() {
        let found = format!("there is no store in {}", folder.store().display());
        return Err(CliError::new(Exit::Usage, found, "name the data folder with --data"));
    }
    let options = opening::visiting(&global.load(Vec::new())?.settings.store);
    let (store, report) = opening::open(&folder, maxim_actors::store::StoreOptions { converts: true, ..options })?;
    let engine = store.health().engine;
    let closed = store.close();
    closed.map_err(|error| opening::failed(&error))?;
    let lost: Vec<String> = report.lost.iter().map(ToString::to_string).collect();
    let answer = json!({"engine": engine, "lost": lost});
    out.answer(&answer, || {
        format!("the store in {} is kept by {engine}\n{}", folder.store().display(), lost.join("\n"))
    })?;
    Ok(if lost.is_empty() { Exit::Ok } else { Exit::NotHeld })
}
