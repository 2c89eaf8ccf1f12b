//! Space reserved for a start on a full disk, because sled writes when it is opened.

use std::fs::{self, File};
use std::path::Path;

use rustix::fs::FallocateFlags;

use super::private;

/// Bytes: a segment of sled, its snapshot, and the settings of a new process. Opening writes no more than that.
pub const RESERVE: u64 = 4 << 20;
/// Bytes left free on a disk that has less space than that, because the latch's file needs a little.
const LEFT: u64 = 64 << 10;
const NAME: &str = "reserve";

/// Reserves the space, or as much as there is; only if it isn't reserved yet.
pub fn take(folder: &Path) {
    let path = folder.join(NAME);
    let Ok(file) = private::options().open(&path) else { return };
    let mut held = file.metadata().map_or(0, |data| data.len());
    let before = held;
    for step in [RESERVE, 512 << 10, LEFT] {
        while held < RESERVE && grow(&file, held, step.min(RESERVE - held)) {
            held += step.min(RESERVE - held);
        }
    }
    if held < RESERVE && held > before.max(LEFT) {
        held -= LEFT;
        let _ = file.set_len(held);
    }
    if held == 0 {
        // Some file systems can't do this.
        let _ = fs::remove_file(path);
    }
}

fn grow(file: &File, from: u64, by: u64) -> bool {
    rustix::fs::fallocate(file, FallocateFlags::empty(), from, by).is_ok()
}

/// Releases it; false when there is none.
pub fn give_up(folder: &Path) -> bool {
    fs::remove_file(folder.join(NAME)).is_ok()
}

/// Bytes that are free for this user on the disk of a folder.
pub fn free(folder: &Path) -> u64 {
    rustix::fs::statvfs(folder).map_or(0, |disk| disk.f_bavail * disk.f_frsize)
}
