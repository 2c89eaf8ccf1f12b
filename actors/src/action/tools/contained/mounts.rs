//! Other names of a file: the same place of a disk may be mounted in several folders.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One line of proc_pid_mountinfo(5).
struct Mount {
    /// Of the file system.
    device: String,
    /// What of the file system is mounted.
    root: PathBuf,
    point: PathBuf,
}

/// Under which other paths the same file lies here; `path` is resolved already.
pub(super) fn other_names(path: &Path) -> Vec<PathBuf> {
    let Ok(text) = fs::read_to_string("/proc/self/mountinfo") else { return Vec::new() };
    let identity = |path: &Path| path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()));
    let own = identity(path);
    // Another mount may lie over such a name.
    names(&text, path).into_iter().filter(|name| own.is_some() && identity(name) == own).collect()
}

fn names(mountinfo: &str, path: &Path) -> Vec<PathBuf> {
    let mounts: Vec<Mount> = mountinfo.lines().filter_map(read).collect();
    // Of two mounts on one folder the later is seen.
    let around = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    let Some(mount) = around.max_by_key(|mount| mount.point.components().count()) else { return Vec::new() };
    let Some(place) = below(&mount.root, path, &mount.point) else { return Vec::new() };
    let others = mounts.iter().filter(|other| other.device == mount.device);
    let mut names: Vec<PathBuf> = others.filter_map(|other| below(&other.point, &place, &other.root)).collect();
    names.retain(|name| name != path);
    names.sort();
    names.dedup();
    names
}

/// What `path` is in `folder`, put into another one.
fn below(other: &Path, path: &Path, folder: &Path) -> Option<PathBuf> {
    let rest = path.strip_prefix(folder).ok()?;
    Some(if rest.as_os_str().is_empty() { other.to_owned() } else { other.join(rest) })
}

fn read(line: &str) -> Option<Mount> {
    let words: Vec<&str> = line.split(' ').collect();
    let path = |word: &str| {
        let unescaped = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
        PathBuf::from(unescaped.iter().fold(word.to_owned(), |word, (code, letter)| word.replace(code, letter)))
    };
    Some(Mount { device: (*words.get(2)?).to_owned(), root: path(words.get(3)?), point: path(words.get(4)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 1 254:0 / / rw - ext4 /dev/vda rw\n\
        23 22 0:5 / /dev rw - devtmpfs devtmpfs rw\n\
        24 22 254:1 / /mnt/disk rw - btrfs /dev/vdb rw\n\
        25 22 254:1 /@home /home rw - btrfs /dev/vdb rw\n\
        26 22 254:1 /@home/me/.local /srv/my\\040share rw - btrfs /dev/vdb rw\n\
        27 22 254:1 /other /other rw - btrfs /dev/vdb rw\n";

    #[test]
    fn a_file_is_known_by_each_mount_that_holds_it() {
        let names = |path: &str| names(MOUNTS, Path::new(path));
        let expected = ["/mnt/disk/@home/me/.local/state/maxim", "/srv/my share/state/maxim"];
        assert_eq!(names("/home/me/.local/state/maxim"), expected.map(PathBuf::from));
        assert_eq!(names("/mnt/disk/@home/me/notes"), [PathBuf::from("/home/me/notes")]);
        assert_eq!(names("/etc/maxim"), [PathBuf::new(); 0]);
        assert_eq!(names("/home/me/.local"), ["/mnt/disk/@home/me/.local", "/srv/my share"].map(PathBuf::from));
    }
}
