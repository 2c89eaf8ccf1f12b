//! Watches how much a call writes while it runs.
//!
//! No kernel bounds the bytes of all files of a process tree. The free space of the file system shrinks at once for
//! every write, and is cheap to check. If it has shrunk by more than the bound, new files there are added up. The
//! growth of older files is added from the first such check on, because others write too. So appending to old files is
//! bounded by twice the bound. The bytes that living processes have handed to disks are added up from their own
//! accounts. This shows a process that writes the same file over and over.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use maxim_bus::clock::Stopwatch;

use super::processes;

/// How often the free space is checked.
pub(super) const OFTEN: Duration = Duration::from_millis(100);
/// Checks of the free space for each check of the processes' accounts.
const SELDOM: u32 = 10;
/// `st_blocks` counts these (stat(2)).
const BLOCK: u64 = 512;
/// Longest search for new files. A call with so many files that it takes longer is over the bound.
const LOOKING: Duration = Duration::from_secs(2);
/// New files and folders of one call, at most.
const FILES_MAX: u64 = 1_000_000;

/// Watches what one call writes.
#[derive(Debug)]
pub(super) struct DiskWatch {
    most: u64,
    places: Vec<Place>,
    /// When it began, as files tell their changes: seconds.
    since: i64,
    looks: u32,
    /// Bytes handed to disks, by process.
    handed: BTreeMap<u32, u64>,
}

#[derive(Debug)]
struct Place {
    folders: Vec<PathBuf>,
    device: u64,
    free: Free,
    /// Size of files older than the call when first seen, by inode.
    grown_from: HashMap<u64, u64>,
}

#[derive(Clone, Copy, Debug)]
struct Free {
    bytes: u64,
    files: u64,
}

impl DiskWatch {
    /// At most `most` bytes in all.
    pub(super) fn begin(folders: &[&Path], most: u64) -> Self {
        let mut places: Vec<Place> = Vec::new();
        for folder in folders {
            // A missing folder can't be filled.
            let (Ok(meta), Some(free)) = (fs::metadata(folder), free(folder)) else { continue };
            match places.iter_mut().find(|place| place.device == meta.dev()) {
                Some(place) => place.folders.push((*folder).to_owned()),
                None => places.push(Place {
                    folders: vec![(*folder).to_owned()],
                    device: meta.dev(),
                    free,
                    grown_from: HashMap::new(),
                }),
            }
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let since = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        Self { most, places, since, looks: 0, handed: BTreeMap::new() }
    }

    /// Says how the bound is passed, once it is.
    pub(super) fn look(&mut self, leader: u32, mark: &str) -> Option<String> {
        self.looks += 1;
        let full: Vec<usize> = (0..self.places.len()).filter(|at| self.has_shrunk(&self.places[*at])).collect();
        let by_accounts = self.looks.is_multiple_of(SELDOM) || !full.is_empty();
        if !by_accounts {
            return None;
        }
        let pids: Vec<u32> = processes::of_call(leader, mark, &[]).iter().map(|process| process.pid).collect();
        for at in full {
            let new = New::of(&mut self.places[at], self.since, &pids, self.most);
            if let Some(why) = new.told(self.most, &self.places[at].folders[0]) {
                return Some(why);
            }
            // Others have filled the disk. Counting starts again from here.
            if let Some(free) = free(&self.places[at].folders[0]) {
                self.places[at].free = Free { bytes: free.bytes + new.bytes, files: free.files + new.files };
            }
        }
        if by_accounts {
            self.handed.extend(pids.into_iter().filter_map(|pid| Some((pid, handed_to_disk(pid)?))));
        }
        let handed: u64 = self.handed.values().sum();
        (handed > self.most).then(|| format!("it has written {handed} bytes, which is more than {}", self.bound()))
    }

    fn bound(&self) -> String {
        format!("tools.disk_max = {} bytes", self.most)
    }

    fn has_shrunk(&self, place: &Place) -> bool {
        free(&place.folders[0]).is_some_and(|now| {
            place.free.bytes.saturating_sub(now.bytes) > self.most
                || place.free.files.saturating_sub(now.files) > FILES_MAX
        })
    }

    /// Starts counting from here.
    pub(super) fn again(&mut self) {
        for place in &mut self.places {
            if let Some(free) = free(&place.folders[0]) {
                place.free = free;
            }
        }
        self.handed.clear();
    }
}

/// New data in a place.
struct New {
    bytes: u64,
    files: u64,
    /// The search ran out of time.
    is_more: bool,
}

impl New {
    fn of(place: &mut Place, since: i64, pids: &[u32], most: u64) -> Self {
        let mut new = Self { bytes: 0, files: 0, is_more: false };
        let mut seen = HashSet::new();
        let watch = Stopwatch::start();
        let device = place.device;
        let is_new = |meta: &Metadata| meta.dev() == device && meta.ctime() >= since;
        let mut grown_from = std::mem::take(&mut place.grown_from);
        let mut written = |meta: &Metadata| {
            let bytes = meta.blocks() * BLOCK;
            let was = if is_older(meta, since) { *grown_from.entry(meta.ino()).or_insert(bytes) } else { 0 };
            bytes.saturating_sub(was)
        };
        // Open files without a name.
        for pid in pids {
            for open in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
                if let Ok(meta) = fs::metadata(open.path())
                    && meta.is_file()
                    && meta.nlink() == 0
                    && is_new(&meta)
                    && seen.insert(meta.ino())
                {
                    new.bytes += written(&meta);
                }
            }
        }
        let mut folders: Vec<PathBuf> = place.folders.clone();
        'all: while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(meta) = entry.metadata() else { continue };
                if meta.is_dir() && meta.dev() == device {
                    folders.push(entry.path());
                }
                if is_new(&meta) && seen.insert(meta.ino()) {
                    new.bytes += written(&meta);
                    new.files += u64::from(!is_older(&meta, since));
                }
                new.is_more = watch.elapsed() > LOOKING;
                if new.is_more || new.bytes > most || new.files > FILES_MAX {
                    break 'all;
                }
            }
        }
        place.grown_from = grown_from;
        new
    }

    fn told(&self, most: u64, folder: &Path) -> Option<String> {
        let folder = folder.display();
        let bound = format!("tools.disk_max = {most} bytes");
        if self.bytes > most {
            return Some(format!("it has written {} bytes in {folder}, which is more than {bound}", self.bytes));
        }
        if self.files > FILES_MAX {
            return Some(format!("it has made {} files in {folder}, which is more than {FILES_MAX}", self.files));
        }
        self.is_more.then(|| format!("while it ran the free space of {folder} has shrunk by more than {bound}"))
    }
}

/// It existed before the call. If the file system stores no creation time, a changed file
/// counts as new.
fn is_older(meta: &Metadata, since: i64) -> bool {
    let made = meta.created().ok().and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
    made.is_some_and(|made| i64::try_from(made.as_secs()).unwrap_or(i64::MAX) < since)
}

fn free(folder: &Path) -> Option<Free> {
    let told = rustix::fs::statvfs(folder).ok()?;
    Some(Free { bytes: told.f_bfree * told.f_frsize, files: told.f_ffree })
}

/// proc_pid_io(5). Processes of other users tell nothing.
fn handed_to_disk(pid: u32) -> Option<u64> {
    let told = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    told.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_counts_and_what_was_there_does_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let device = fs::metadata(dir.path()).expect("there").dev();
        let free = Free { bytes: 0, files: 0 };
        let mut place = Place { folders: vec![dir.path().into()], device, free, grown_from: HashMap::new() };
        fs::create_dir(dir.path().join("sub")).expect("made");
        fs::write(dir.path().join("sub/file"), vec![1; 1 << 20]).expect("written");
        let since = fs::metadata(dir.path().join("sub/file")).expect("there").ctime();
        let new = New::of(&mut place, since, &[], u64::MAX);
        assert!(new.bytes >= 1 << 20 && new.files == 2, "{} {}", new.bytes, new.files);
        assert!(new.told(1 << 30, dir.path()).is_none());
        assert!(new.told(1 << 19, dir.path()).is_some_and(|why| why.contains("tools.disk_max = 524288 bytes")));
        assert_eq!(New::of(&mut place, since + 1, &[], u64::MAX).bytes, 0);
        let unlinked = tempfile::tempfile_in(dir.path()).expect("a file without a name");
        unlinked.set_len(0).expect("set");
        std::io::Write::write_all(&mut &unlinked, &vec![1; 1 << 20]).expect("written");
        fs::remove_dir_all(dir.path().join("sub")).expect("removed");
        assert!(New::of(&mut place, since, &[std::process::id()], u64::MAX).bytes >= 1 << 20, "it is open");
    }

    #[test]
    fn of_a_file_that_was_there_its_growth_counts() {
        let dir = tempfile::tempdir().expect("a folder");
        let about = fs::metadata(dir.path()).expect("there");
        if about.created().is_err() {
            return println!("SKIPPED: this file system keeps no times of birth");
        }
        let free = Free { bytes: 0, files: 0 };
        let folders = vec![dir.path().into()];
        let mut place = Place { folders, device: about.dev(), free, grown_from: HashMap::new() };
        let old = dir.path().join("old");
        fs::write(&old, vec![1; 8 << 20]).expect("written");
        // The call begins in the next second.
        let since = fs::metadata(&old).expect("there").ctime() + 1;
        let append = |bytes: usize| {
            let mut file = fs::OpenOptions::new().append(true).open(&old).expect("opened");
            loop {
                std::io::Write::write_all(&mut file, &vec![1; bytes]).expect("written");
                file.sync_all().expect("synced");
                if fs::metadata(&old).expect("there").ctime() >= since {
                    return;
                }
                file.set_len((8 << 20) as u64).expect("cut");
            }
        };
        append(1);
        let first = New::of(&mut place, since, &[], 1 << 20);
        assert_eq!((first.bytes, first.files), (0, 0), "two bytes of eight million");
        append(4 << 20);
        let then = New::of(&mut place, since, &[], u64::MAX);
        assert!(then.bytes >= 4 << 20 && then.bytes < 8 << 20, "{}", then.bytes);
    }
}
