//! What is mounted where: other names of a file, because one place of a disk may be mounted in several folders; and the
//! kernel's interfaces.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One line of proc_pid_mountinfo(5).
struct Mount {
    /// Of the file system.
    device: String,
    /// The part of the file system that is mounted.
    root: PathBuf,
    point: PathBuf,
    /// The type of the file system.
    kind: String,
}

/// File systems that are interfaces of the kernel. Through some of them a program could freeze or kill any process,
/// this daemon too (control groups), start programs outside any sandbox, or change the running kernel.
const OF_THE_KERNEL: [&str; 18] = [
    "proc",
    "sysfs",
    "cgroup",
    "cgroup2",
    "cpuset",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "bpf",
    "efivarfs",
    "selinuxfs",
    "smackfs",
    "pstore",
    "binfmt_misc",
    "resctrl",
    "fusectl",
    "nfsd",
];

/// All that is mounted, read once for a run.
pub(super) struct Mounts(Vec<Mount>);

impl Mounts {
    pub(super) fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(mountinfo: &str) -> Self {
        Self(mountinfo.lines().filter_map(read).collect())
    }

    /// Mount points of the kernel's interfaces, always with /proc and /sys. None is below another.
    pub(super) fn of_the_kernel(&self) -> Vec<PathBuf> {
        let mounts = self.0.iter().filter(|mount| OF_THE_KERNEL.contains(&mount.kind.as_str()));
        let always = ["/proc", "/sys"].map(PathBuf::from);
        let mut points: Vec<PathBuf> = mounts.map(|mount| mount.point.clone()).chain(always).collect();
        // A folder sorts before its content.
        points.sort();
        points.dedup_by(|point, before| point.starts_with(before.as_path()));
        points
    }

    /// Folders of devices: /dev, and all other mounts of devtmpfs.
    pub(super) fn of_devices(&self) -> Vec<PathBuf> {
        let mounts = self.0.iter().filter(|mount| mount.kind == "devtmpfs");
        let mut points: Vec<PathBuf> = mounts.map(|mount| mount.point.clone()).chain(["/dev".into()]).collect();
        points.sort();
        points.dedup();
        points
    }

    /// Other paths of the same file. `path` is resolved already.
    pub(super) fn other_names(&self, path: &Path) -> Vec<PathBuf> {
        let identity = |path: &Path| path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()));
        let own = identity(path);
        // Another mount may cover such a name.
        self.names(path).into_iter().filter(|name| own.is_some() && identity(name) == own).collect()
    }

    fn names(&self, path: &Path) -> Vec<PathBuf> {
        // Of two mounts on one folder the later is visible.
        let around = self.0.iter().filter(|mount| path.starts_with(&mount.point));
        let Some(mount) = around.max_by_key(|mount| mount.point.components().count()) else { return Vec::new() };
        let Some(place) = below(&mount.root, path, &mount.point) else { return Vec::new() };
        let others = self.0.iter().filter(|other| other.device == mount.device);
        let mut names: Vec<PathBuf> = others.filter_map(|other| below(&other.point, &place, &other.root)).collect();
        names.retain(|name| name != path);
        names.sort();
        names.dedup();
        names
    }
}

/// Moves `path` from `folder` to the other folder.
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
    let kind = line.split_once(" - ")?.1.split(' ').next()?.to_owned();
    Some(Mount { device: (*words.get(2)?).to_owned(), root: path(words.get(3)?), point: path(words.get(4)?), kind })
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
        let mounts = Mounts::parse(MOUNTS);
        let names = |path: &str| mounts.names(Path::new(path));
        let expected = ["/mnt/disk/@home/me/.local/state/maxim", "/srv/my share/state/maxim"];
        assert_eq!(names("/home/me/.local/state/maxim"), expected.map(PathBuf::from));
        assert_eq!(names("/mnt/disk/@home/me/notes"), [PathBuf::from("/home/me/notes")]);
        assert_eq!(names("/etc/maxim"), Vec::<PathBuf>::new());
        assert_eq!(names("/home/me/.local"), ["/mnt/disk/@home/me/.local", "/srv/my share"].map(PathBuf::from));
    }

    #[test]
    fn the_kernels_interfaces_are_known_by_their_type_wherever_they_are_mounted() {
        let mounts = "22 1 0:21 / /proc rw - proc proc rw\n\
            23 1 0:22 / /sys rw - sysfs sysfs rw\n\
            24 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            25 24 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n\
            26 1 0:34 /a /srv/my\\040groups rw shared:1 - cgroup cgroup rw,freezer\n\
            27 1 0:38 / /cgroup2 rw - cgroup2 none rw\n\
            28 1 0:21 / /srv/chroot/proc rw - proc proc rw\n\
            29 1 0:40 / /sysroot rw - ext4 /dev/vdb rw\n";
        let found = Mounts::parse(mounts).of_the_kernel();
        let expected = ["/cgroup2", "/proc", "/srv/chroot/proc", "/srv/my groups", "/sys"];
        assert_eq!(found, expected.map(PathBuf::from));
        assert_eq!(Mounts::parse("").of_the_kernel(), ["/proc", "/sys"].map(PathBuf::from), "where nothing is told");
    }
}
