//! The folder of the latch's file, held open.
//!
//! A program of the same user can remove the mode bits of files it can't open (`chmod 000`): Landlock ignores modes,
//! and a filter of system calls sees no paths. A process that holds a folder open can still set its mode. So a stop
//! stays durable, and the next start finds the folder as it was.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, chmodat, fchmod, fstat, openat, statat};
use rustix::process::geteuid;

/// The owner's rights over a folder.
const FOLDER: u32 = 0o700;
/// The owner's rights over a file.
const FILE: u32 = 0o600;
/// Rights to change what is in a folder are checked to this depth.
const DEPTH: usize = 3;
/// Entries that are checked, at most.
const ENTRIES: usize = 4096;

/// A folder and the folders around it that belong to this user. All are held open, so no path is needed to reach
/// them.
#[derive(Debug)]
pub struct HeldFolder {
    /// The outermost first.
    around: Vec<Level>,
    folder: Level,
}

#[derive(Debug)]
struct Level {
    path: PathBuf,
    handle: OwnedFd,
    /// Its mode when it was opened, with the owner's rights added.
    mode: u32,
    /// This process can set its mode.
    is_own: bool,
}

impl HeldFolder {
    /// # Errors
    /// The folder isn't there or can't be opened.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let folder = folder.canonicalize()?;
        let mut around: Vec<Level> = folder.ancestors().skip(1).filter_map(|level| Level::open(level).ok()).collect();
        around.retain(|level| level.is_own);
        around.reverse();
        Ok(Self { around, folder: Level::open(&folder)? })
    }

    /// The folder itself.
    pub fn handle(&self) -> BorrowedFd<'_> {
        self.folder.handle.as_fd()
    }

    /// Gives this user back the rights over the folder and those around it, and removes rights over the folder that
    /// others have gained. Returns what was changed, in words for a person.
    pub fn restore(&self) -> Vec<String> {
        let around = self.around.iter().filter_map(|level| level.restore(|now| now | level.mode & FOLDER));
        let folder = self.folder.restore(|now| now & self.folder.mode | self.folder.mode & FOLDER);
        around.chain(folder).collect()
    }

    /// As [`Self::restore`], and restores this user's rights over everything in the folder.
    pub fn restore_all(&self) -> Vec<String> {
        let mut told = self.restore();
        let mut left = ENTRIES;
        restore_within(self.handle(), &self.folder.path, DEPTH, &mut left, &mut told);
        told
    }
}

impl Level {
    fn open(path: &Path) -> io::Result<Self> {
        let handle = openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let found = fstat(&handle)?;
        let is_own = found.st_uid == geteuid().as_raw();
        Ok(Self { path: path.to_owned(), handle, mode: mode(&found) | FOLDER, is_own })
    }

    fn restore(&self, wanted: impl Fn(u32) -> u32) -> Option<String> {
        let now = mode(&fstat(&self.handle).ok()?);
        let wanted = wanted(now);
        if !self.is_own || now == wanted {
            return None;
        }
        Some(told(&self.path, now, wanted, fchmod(&self.handle, Mode::from_raw_mode(wanted)).err()))
    }
}

fn mode(found: &Stat) -> u32 {
    found.st_mode & 0o7777
}

fn told(path: &Path, was: u32, wanted: u32, failed: Option<rustix::io::Errno>) -> String {
    let path = path.display();
    match failed {
        None => format!("the mode of {path} was {was:03o} and is {wanted:03o} again"),
        Some(error) => format!("the mode of {path} is {was:03o} and can't be set to {wanted:03o}: {error}"),
    }
}

/// A user who is kept out of the folder can't swap a file behind a name in it.
fn restore_within(folder: BorrowedFd<'_>, path: &Path, depth: usize, left: &mut usize, all: &mut Vec<String>) {
    for entry in Dir::read_from(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let Some(fewer) = left.checked_sub(1) else { return };
        *left = fewer;
        let Ok(found) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let (kind, now) = (FileType::from_raw_mode(found.st_mode), mode(&found));
        if kind.is_symlink() || found.st_uid != geteuid().as_raw() {
            continue;
        }
        let wanted = now | if kind.is_dir() { FOLDER } else { FILE };
        let path = path.join(name.to_string_lossy().as_ref());
        if now != wanted {
            let failed = chmodat(folder, name, Mode::from_raw_mode(wanted), AtFlags::empty()).err();
            all.push(told(&path, now, wanted, failed));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if kind.is_dir()
            && depth > 1
            && let Ok(inner) = openat(folder, name, flags, Mode::empty())
        {
            restore_within(inner.as_fd(), &path, depth - 1, left, all);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    }

    fn get(path: &Path) -> u32 {
        fs::metadata(path).expect("there").permissions().mode() & 0o7777
    }

    #[test]
    fn the_owner_gets_its_rights_back_and_others_do_not_keep_what_they_got() {
        let dir = tempfile::tempdir().expect("a folder");
        let around = dir.path().canonicalize().expect("real").join("state");
        let folder = around.join("agent");
        fs::create_dir_all(folder.join("store/blobs")).expect("made");
        for file in ["token", "latch.json", "store/db", "store/blobs/1"] {
            fs::write(folder.join(file), "x").expect("written");
            set(&folder.join(file), 0o600);
        }
        set(&folder, 0o700);
        set(&around, 0o750);
        let held = HeldFolder::open(&folder).expect("held");
        assert_eq!(held.restore_all(), Vec::<String>::new(), "nothing was changed");
        for file in ["token", "latch.json", "store/db", "store/blobs/1", "store/blobs", "store"] {
            set(&folder.join(file), 0);
        }
        set(&folder, 0o077);
        set(&around, 0);
        let told = held.restore_all();
        assert_eq!(told.len(), 8, "{told:?}");
        assert_eq!(told[1], format!("the mode of {} was 077 and is 700 again", folder.display()));
        assert_eq!((get(&around), get(&folder)), (0o700, 0o700));
        for file in ["token", "latch.json", "store/db", "store/blobs/1"] {
            assert_eq!(get(&folder.join(file)), 0o600, "{file}");
        }
        assert_eq!((get(&folder.join("store")), get(&folder.join("store/blobs"))), (0o700, 0o700));
        // Its owner may close it further.
        set(&around, 0o755);
        assert_eq!(held.restore(), Vec::<String>::new());
    }

    #[test]
    fn a_folder_that_others_may_look_into_stays_so_and_may_be_closed() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().canonicalize().expect("real").join("agent");
        fs::create_dir(&folder).expect("made");
        set(&folder, 0o750);
        let held = HeldFolder::open(&folder).expect("held");
        for (changed, then) in [(0o000, 0o700), (0o777, 0o750), (0o700, 0o700), (0o750, 0o750)] {
            set(&folder, changed);
            held.restore();
            assert_eq!(get(&folder), then, "after {changed:o}");
        }
    }
}
