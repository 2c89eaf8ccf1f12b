//! The folder of recordings: names, ages and the size limit of all of them.

use maxim_bus::clock::Reckoned;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{RecorderError, Window};
use crate::data_folder::{private_file, private_folder};

/// A file's beginning in its name, UTC.
const NAME: &str = "%Y%m%dT%H%M%S";

pub struct Folder(PathBuf);

/// A recording on disk.
pub struct Found {
    pub path: PathBuf,
    pub began: Timestamp,
    pub bytes: u64,
}

impl Folder {
    pub fn open(path: PathBuf) -> Result<Self, RecorderError> {
        private_folder().create(&path).map_err(|error| told(&path, "made", &error))?;
        Ok(Self(path))
    }

    /// A new file. Its name is its beginning and a number that tells files of one second apart.
    pub fn create(&self, at: Timestamp) -> Result<(PathBuf, File), RecorderError> {
        let began = at.to_zoned(TimeZone::UTC).strftime(NAME).to_string();
        let mut number = 1;
        loop {
            let path = self.0.join(format!("{began}Z-{number:04}.mcap"));
            match private_file().create_new(true).open(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(told(&path, "made", &error)),
            }
        }
    }

    /// The recordings, oldest first. Other files are ignored.
    pub fn files(&self) -> Vec<Found> {
        files(&self.0)
    }

    /// Removes recordings that are too old, then the oldest ones until all are within `max_bytes`. Files in `open`
    /// stay.
    pub fn prune(&self, max_bytes: u64, max_age: Duration, now: Timestamp, open: &[&Path]) {
        let files = self.files();
        let mut total: u64 = files.iter().map(|file| file.bytes).sum();
        for file in files.iter().filter(|file| !open.contains(&file.path.as_path())) {
            let age = Duration::try_from(now.duration_since(file.began)).unwrap_or_default();
            if total <= max_bytes && age <= max_age {
                continue;
            }
            match fs::remove_file(&file.path) {
                Ok(()) => total -= file.bytes,
                Err(error) => tracing::warn!(path = %file.path.display(), %error, "a recording can't be removed"),
            }
        }
    }
}

fn files(folder: &Path) -> Vec<Found> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<Found> = entries.filter_map(|entry| found(&entry.path())).collect();
    files.sort_by(|a, b| (a.began, &a.path).cmp(&(b.began, &b.path)));
    files
}

/// The recordings in a folder that may overlap a window, oldest first. A file lasts until the next one begins. An empty
/// file is left out: a start makes it and begins it a little later.
pub fn recordings(folder: &Path, window: &Window) -> Vec<PathBuf> {
    let files = files(folder);
    // Names have whole seconds.
    let ends = files.iter().skip(1).map(|next| Some(next.began.later(SignedDuration::from_secs(1)))).chain([None]);
    let overlaps = |began: Timestamp, end: Option<Timestamp>| {
        window.to.is_none_or(|to| began <= to) && window.from.zip(end).is_none_or(|(from, end)| end >= from)
    };
    let kept = files.iter().zip(ends).filter(|(file, end)| file.bytes > 0 && overlaps(file.began, *end));
    kept.map(|(file, _)| file.path.clone()).collect()
}

fn found(path: &Path) -> Option<Found> {
    let name = path.file_name()?.to_str()?.strip_suffix(".mcap")?;
    let (began, number) = name.split_once("Z-")?;
    number.parse::<u32>().ok()?;
    let began = DateTime::strptime(NAME, began).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some(Found { path: path.to_owned(), began, bytes: fs::metadata(path).ok()?.len() })
}

pub fn told(path: &Path, what: &'static str, error: &dyn std::fmt::Display) -> RecorderError {
    RecorderError::File { path: path.to_owned(), what, why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recordings_of_a_window_are_those_that_overlap_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(dir.path().to_owned()).expect("made");
        let at = |second: i64| Timestamp::from_second(1_767_603_600 + second).expect("a time");
        for second in [0, 100, 200] {
            let (path, _) = folder.create(at(second)).expect("a file");
            fs::write(path, [0]).expect("written");
        }
        folder.create(at(950)).expect("a file of a start that was just made");
        let count = |from: Option<i64>, to: Option<i64>| {
            recordings(dir.path(), &Window { from: from.map(at), to: to.map(at) }).len()
        };
        assert_eq!(count(None, None), 3);
        assert_eq!(count(Some(150), None), 2);
        assert_eq!(count(Some(150), Some(160)), 1);
        assert_eq!(count(None, Some(150)), 2);
        assert_eq!(count(None, Some(-1)), 0);
        assert_eq!(count(Some(900), None), 1, "the last goes on");
    }

    #[test]
    fn the_oldest_and_the_too_old_go_and_foreign_files_stay() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(dir.path().join("recordings")).expect("made");
        let at = |second: i64| Timestamp::from_second(1_767_603_600 + second).expect("a time");
        for second in [0, 0, 10, 20] {
            let (path, _) = folder.create(at(second)).expect("a file");
            fs::write(path, [0; 100]).expect("written");
        }
        fs::write(dir.path().join("recordings/notes.mcap"), [0; 1000]).expect("written");
        let names = || folder.files().into_iter().map(|file| file.path).collect::<Vec<_>>();
        assert_eq!(names().len(), 4);
        let oldest = names()[0].clone();
        folder.prune(250, Duration::from_secs(3600), at(20), &[&oldest]);
        assert!(names().contains(&oldest), "it is open");
        assert_eq!(names().len(), 2);
        folder.prune(1_000, Duration::from_secs(5), at(21), &[]);
        assert_eq!(names().len(), 1);
        assert!(dir.path().join("recordings/notes.mcap").exists());
    }
}
