//! What a child gets of the granted folders if the agent's own files are below one of them.
//!
//! Landlock can't exclude a part of a granted folder. So the folders on the way to the agent's own files aren't
//! granted. Instead the entries beside the way are granted one by one, as they exist when the child starts. In a folder
//! on the way, a child can't make new entries but can list the names. With bubblewrap the folders are granted and the
//! agent's own data is hidden. The folders on the way can't be moved, because each is a mount point.
//! there, and the folders on the way can't be moved because each is a place where something is mounted.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::mounts::Mounts;
use crate::OwnFiles;

/// Entries granted one by one, at most. Each costs some microseconds at the child's start.
const MOST: usize = 4096;
/// Links followed in one path, at most, as in the kernel (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// Name prefixes of character devices that give access to a disk or to memory by device commands.
const DISKS_BY_COMMANDS: [&str; 7] = ["sg", "bsg", "ng", "nvme", "mem", "kmem", "port"];

/// Names in a device folder through which a root program could type for a person, read a person's typing, stop the
/// daemon by its terminal, or stop the machine. `#` stands for digits.
const OF_PERSONS: [&str; 16] = [
    "tty",
    "tty#",
    "console",
    "pts",
    "ptmx",
    "vcs",
    "vcs#",
    "vcsa",
    "vcsa#",
    "vcsu",
    "vcsu#",
    "uinput",
    "uhid",
    "watchdog",
    "watchdog#",
    "snapshot",
];

/// What Landlock grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Granted {
    /// Folders and files as they are named.
    pub(super) readable: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
    /// Entries beside the way to the agent's own files. Links aren't followed.
    pub(super) beside_readable: Vec<PathBuf>,
    pub(super) beside_writable: Vec<PathBuf>,
    /// The folders on the way; their names may be listed.
    pub(super) listed: Vec<PathBuf>,
}

/// The same for bubblewrap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Mounted {
    /// Shown empty: an empty folder or a file without content.
    pub(super) hidden: Vec<PathBuf>,
    /// Read-only.
    pub(super) fixed: Vec<PathBuf>,
    /// Folders on the way, which can't be moved.
    pub(super) pinned: Vec<PathBuf>,
    /// One of the agent's own paths is a link, over which nothing can be mounted. Landlock must protect it too.
    pub(super) has_link: bool,
}

/// Why the entries of a folder can't be granted one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TooMany {
    folder: PathBuf,
}

impl std::fmt::Display for TooMany {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            to,
            "the agent's own files lie below {}, and the folders on the way to them hold more than {MOST} entries",
            self.folder.display()
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Care {
    /// Neither readable nor writable.
    Hidden,
    /// Only readable.
    Fixed,
}

/// What children must not reach, by real path: the agent's own files, and the kernel's interfaces, which are never
/// writable.
struct Kept {
    paths: Vec<(PathBuf, Care)>,
    devices: Devices,
}

impl Kept {
    fn of(own: &OwnFiles) -> Self {
        let mounts = Mounts::read();
        let care = |paths: &[PathBuf], care| -> Vec<(PathBuf, Care)> {
            paths.iter().flat_map(|path| real(path, &mounts)).map(|path| (path, care)).collect()
        };
        // A name that is in both counts as data.
        let mut all = [care(&own.data, Care::Hidden), care(&own.configuration, Care::Fixed)].concat();
        all.extend(mounts.of_the_kernel().into_iter().map(|point| (point, Care::Fixed)));
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all.dedup_by(|one, other| one.0 == other.0);
        Self { paths: all, devices: Devices::of(&mounts) }
    }

    /// For a granted folder: protected paths in it, and disks and terminals if it holds the machine's devices.
    fn within(&self, folder: &Path, is_written: bool) -> Vec<(PathBuf, Care)> {
        let is_kept = |care| care == Care::Hidden || is_written;
        let below = self.paths.iter().filter(|(path, care)| path.starts_with(folder) && is_kept(*care));
        let mut all: Vec<(PathBuf, Care)> = below.cloned().collect();
        // Everything on a disk can be read through the disk device.
        all.extend(self.devices.within(folder).into_iter().map(|device| (device, Care::Hidden)));
        all
    }
}

/// Where a path leads, by each of its names here, and the links on its way. Empty if it doesn't exist.
fn real(path: &Path, mounts: &Mounts) -> Vec<PathBuf> {
    let real = path.canonicalize().ok();
    let others = real.as_deref().map(|real| mounts.other_names(real)).unwrap_or_default();
    real.into_iter().chain(others).chain(links(path)).collect()
}

/// Where the links of a path are, its last name too. If such a link were replaced, the same path would lead elsewhere.
fn links(path: &Path) -> Vec<PathBuf> {
    let parts = |path: &Path| path.iter().rev().map(OsStr::to_owned).collect::<Vec<OsString>>();
    let mut pending = std::path::absolute(path).map(|path| parts(&path)).unwrap_or_default();
    let (mut here, mut links) = (PathBuf::from("/"), Vec::new());
    while let Some(part) = pending.pop() {
        if part == ".." {
            here.pop();
            continue;
        }
        // A root begins anew.
        let there = here.join(&part);
        match fs::read_link(&there) {
            Ok(target) if links.len() < MOST_LINKS => {
                pending.extend(parts(&target));
                links.push(there);
            }
            _ => here = there,
        }
    }
    links
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.file_type().is_symlink())
}

/// Where devices are, and this daemon's terminals under any name.
struct Devices {
    places: Vec<PathBuf>,
    terminals: Vec<PathBuf>,
}

impl Devices {
    fn of(mounts: &Mounts) -> Self {
        let streams = (0..3).filter_map(|stream| fs::read_link(format!("/proc/self/fd/{stream}")).ok());
        let is_device =
            |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_char_device());
        let terminals = streams.filter(|path| path.starts_with("/dev") && path != Path::new("/dev/null"));
        Self { places: mounts.of_devices(), terminals: terminals.filter(is_device).collect() }
    }

    /// Disks, memory, terminals and other devices of the machine's owner below this folder. A link's target is
    /// protected by its own name.
    fn within(&self, folder: &Path) -> Vec<PathBuf> {
        let is_kept = |entry: &fs::DirEntry| {
            let Ok(kind) = entry.file_type() else { return false };
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            let is_of_disk = kind.is_block_device() || DISKS_BY_COMMANDS.iter().any(|known| name.starts_with(known));
            !kind.is_symlink() && (is_of_disk || is_of_persons(name))
        };
        let places = self.places.iter().filter(|place| place.starts_with(folder));
        let entries = places.filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
        let mut found: Vec<PathBuf> = entries.filter(is_kept).map(|entry| entry.path()).collect();
        found.extend(self.terminals.iter().filter(|path| path.starts_with(folder)).cloned());
        found.sort();
        // What lies in `pts` is kept with it.
        found.dedup_by(|path, before| path.starts_with(before.as_path()));
        found
    }
}

fn is_of_persons(name: &str) -> bool {
    OF_PERSONS.iter().any(|known| match known.strip_suffix('#') {
        None => name == *known,
        Some(word) => name
            .strip_prefix(word)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|letter| letter.is_ascii_digit())),
    })
}

/// What is granted of these folders without any of the agent's own files.
///
/// # Errors
/// There are too many entries.
pub(super) fn spare(own: &OwnFiles, readable: &[PathBuf], writable: &[PathBuf]) -> Result<Granted, TooMany> {
    let kept = Kept::of(own);
    let mut granted = Granted::default();
    let mut left = MOST;
    for (folders, is_written) in [(readable, false), (writable, true)] {
        for folder in folders {
            let whole = if is_written { &mut granted.writable } else { &mut granted.readable };
            // A missing folder is granted to nobody.
            let Ok(real) = folder.canonicalize() else {
                whole.push(folder.clone());
                continue;
            };
            let is_kept = |care: Care| care == Care::Hidden || is_written;
            let around = kept.paths.iter().find(|(own, care)| real.starts_with(own) && is_kept(*care));
            match (around, kept.within(&real, is_written)) {
                (Some((_, Care::Hidden)), _) => {}
                (Some((_, Care::Fixed)), _) => granted.beside_readable.push(real),
                (None, within) if within.is_empty() => whole.push(folder.clone()),
                (None, within) => {
                    let mut way = Way { granted: &mut granted, left: &mut left, is_written };
                    way.walk(&real, &within).map_err(|()| TooMany { folder: folder.clone() })?;
                }
            }
        }
    }
    Ok(granted)
}

/// The folders on the way from a granted folder to the agent's own files. A child without namespaces can't make new
/// entries in them. Empty if it holds none of these files.
///
/// # Errors
/// There are too many entries beside the way, so programs aren't started; in words.
pub fn way_to_own(own: &OwnFiles, folder: &Path) -> Result<Vec<PathBuf>, String> {
    spare(own, &[], &[folder.to_owned()]).map(|granted| granted.listed).map_err(|why| why.to_string())
}

struct Way<'run> {
    granted: &'run mut Granted,
    left: &'run mut usize,
    is_written: bool,
}

impl Way<'_> {
    fn walk(&mut self, level: &Path, kept: &[(PathBuf, Care)]) -> Result<(), ()> {
        self.granted.listed.push(level.to_owned());
        for entry in fs::read_dir(level).into_iter().flatten().flatten() {
            *self.left = self.left.checked_sub(1).ok_or(())?;
            let path = entry.path();
            // A link's target is granted by its own path or not at all.
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            let below: Vec<(PathBuf, Care)> =
                kept.iter().filter(|(kept, _)| kept.starts_with(&path)).cloned().collect();
            match below.iter().find(|(kept, _)| *kept == path) {
                Some((_, Care::Hidden)) => {}
                Some((_, Care::Fixed)) if below.iter().all(|(_, care)| *care == Care::Fixed) => {
                    self.granted.beside_readable.push(path);
                }
                Some((_, Care::Fixed)) => {
                    let is_hidden = |(_, care): &(PathBuf, Care)| *care == Care::Hidden;
                    let hidden: Vec<(PathBuf, Care)> = below.into_iter().filter(is_hidden).collect();
                    let mut way = Way { granted: self.granted, left: self.left, is_written: false };
                    way.walk(&path, &hidden)?;
                }
                _ if below.is_empty() && self.is_written => self.granted.beside_writable.push(path),
                _ if below.is_empty() => self.granted.beside_readable.push(path),
                _ => self.walk(&path, &below)?,
            }
        }
        Ok(())
    }
}

/// The same for bubblewrap, by the names under which the folders are mounted.
pub(super) fn mounted(own: &OwnFiles, readable: &[PathBuf], writable: &[PathBuf]) -> Mounted {
    let kept = Kept::of(own);
    let mut mounted = Mounted::default();
    for (folders, is_written) in [(readable, false), (writable, true)] {
        for folder in folders {
            let Ok(real) = folder.canonicalize() else { continue };
            // The folder itself is in the data.
            if kept.paths.iter().any(|(own, care)| *care == Care::Hidden && real.starts_with(own)) {
                mounted.hidden.push(folder.clone());
                continue;
            }
            // The folder itself is in a read-only path.
            if is_written && kept.paths.iter().any(|(own, care)| *care == Care::Fixed && real.starts_with(own)) {
                mounted.fixed.push(folder.clone());
            }
            for (path, care) in kept.within(&real, is_written) {
                // bubblewrap mounts a fresh one.
                if path == Path::new("/proc") {
                    continue;
                }
                if is_link(&path) {
                    mounted.has_link = true;
                    continue;
                }
                let Ok(rest) = path.strip_prefix(&real) else { continue };
                // `join` of nothing would add a slash at the end.
                let seen = if rest.as_os_str().is_empty() { folder.clone() } else { folder.join(rest) };
                let on_the_way =
                    seen.ancestors().skip(1).take_while(|level| *level != folder && level.starts_with(folder));
                if is_written {
                    mounted.pinned.extend(on_the_way.map(Path::to_owned));
                }
                match care {
                    Care::Hidden => mounted.hidden.push(seen),
                    Care::Fixed => mounted.fixed.push(seen),
                }
            }
        }
    }
    for paths in [&mut mounted.hidden, &mut mounted.fixed, &mut mounted.pinned] {
        paths.sort();
        paths.dedup();
    }
    mounted
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Home {
        folder: tempfile::TempDir,
    }

    impl Home {
        fn new() -> Self {
            let home = Self { folder: tempfile::tempdir().expect("a folder") };
            for folder in [".local/state/maxim", ".local/share", "project/src", ".config/maxim"] {
                fs::create_dir_all(home.at(folder)).expect("made");
            }
            for file in [".local/state/maxim/latch.json", ".config/maxim/maxim.toml", "notes.txt", ".local/state/other"]
            {
                fs::write(home.at(file), "").expect("written");
            }
            symlink(home.at(".local/state"), home.at("state")).expect("linked");
            home
        }

        fn at(&self, path: &str) -> PathBuf {
            let home = self.folder.path().canonicalize().expect("real");
            if path.is_empty() { home } else { home.join(path) }
        }

        fn own(&self) -> OwnFiles {
            OwnFiles::new([self.at(".config/maxim/maxim.toml")], [self.at(".local/state/maxim")])
        }

        fn names(&self, paths: &[PathBuf]) -> Vec<String> {
            let home = self.at("");
            let mut names: Vec<String> =
                paths.iter().map(|path| path.strip_prefix(&home).unwrap_or(path).display().to_string()).collect();
            names.sort();
            names
        }
    }

    #[test]
    fn what_lies_beside_the_way_is_granted_and_a_link_to_it_is_not() {
        let home = Home::new();
        let granted = spare(&home.own(), &[], &[home.at("")]).expect("few entries");
        assert!(granted.writable.is_empty() && granted.readable.is_empty());
        assert_eq!(
            home.names(&granted.beside_writable),
            [".local/share", ".local/state/other", "notes.txt", "project"]
        );
        assert_eq!(home.names(&granted.beside_readable), [".config/maxim/maxim.toml"]);
        assert_eq!(home.names(&granted.listed), ["", ".config", ".config/maxim", ".local", ".local/state"]);
    }

    #[test]
    fn a_folder_without_the_agents_own_is_granted_whole_and_one_within_it_is_not_at_all() {
        let home = Home::new();
        let writable = [home.at("project"), home.at(".local/state/maxim"), home.at("absent")];
        let readable = [home.at("project"), home.at(".config"), home.at(".local/state/maxim/latch.json")];
        let granted = spare(&home.own(), &readable, &writable).expect("few entries");
        assert_eq!(home.names(&granted.writable), ["absent", "project"]);
        assert_eq!(home.names(&granted.readable), [".config", "project"], "the configuration may be read");
        assert!(granted.beside_readable.is_empty() && granted.beside_writable.is_empty() && granted.listed.is_empty());
    }

    #[test]
    fn a_folder_that_may_be_read_gives_only_what_lies_beside_the_data() {
        let home = Home::new();
        let granted = spare(&home.own(), &[home.at(".local")], &[]).expect("few entries");
        assert!(granted.readable.is_empty() && granted.beside_writable.is_empty());
        assert_eq!(home.names(&granted.beside_readable), [".local/share", ".local/state/other"]);
    }

    #[test]
    fn a_granted_folder_that_is_named_by_a_link_is_known() {
        let home = Home::new();
        let alias = home.at("alias");
        symlink(home.at(".local"), &alias).expect("linked");
        let granted = spare(&home.own(), &[], std::slice::from_ref(&alias)).expect("few entries");
        assert_eq!(home.names(&granted.beside_writable), [".local/share", ".local/state/other"]);
        let mounted = mounted(&home.own(), &[], &[alias]);
        assert_eq!(home.names(&mounted.hidden), ["alias/state/maxim"]);
        assert_eq!(home.names(&mounted.pinned), ["alias/state"]);
        assert!(!mounted.has_link);
    }

    #[test]
    fn a_configuration_that_is_a_link_keeps_its_name_and_its_target() {
        let home = Home::new();
        symlink(home.at("notes.txt"), home.at("project/maxim.toml")).expect("linked");
        let own = OwnFiles::new([home.at("project/maxim.toml")], []);
        let granted = spare(&own, &[], &[home.at("project")]).expect("few entries");
        assert_eq!(home.names(&granted.beside_writable), ["project/src"], "the link can't be replaced");
        assert_eq!(home.names(&granted.listed), ["project"]);
        assert!(mounted(&own, &[], &[home.at("project")]).has_link);
        let outside = spare(&own, &[], &[home.at("")]).expect("few entries");
        assert_eq!(home.names(&outside.beside_readable), ["notes.txt"]);
    }

    #[test]
    fn a_link_in_the_middle_of_the_way_to_the_data_can_not_be_replaced() {
        let home = Home::new();
        fs::create_dir_all(home.at("disk/deep/maxim")).expect("made");
        symlink("disk", home.at("one")).expect("linked");
        symlink(home.at("one/deep"), home.at("project/two")).expect("linked");
        symlink("two", home.at("project/three")).expect("linked");
        let own = OwnFiles::new([], [home.at("project/three/maxim")]);
        assert_eq!(home.names(&links(&home.at("project/three/maxim"))), ["one", "project/three", "project/two"]);
        for folder in ["", "project"] {
            let granted = spare(&own, &[], &[home.at(folder)]).expect("few entries");
            assert!(granted.writable.is_empty() && home.names(&granted.listed).contains(&"project".to_owned()));
            assert!(!granted.beside_writable.contains(&home.at("project")), "{folder}");
            assert!(mounted(&own, &[], &[home.at(folder)]).has_link, "{folder}");
        }
        let beside = spare(&own, &[], &[home.at(".local")]).expect("few entries");
        assert_eq!(home.names(&beside.writable), [".local"], "no link lies in it");
    }

    #[test]
    fn too_many_entries_are_told_with_the_folder() {
        let home = Home::new();
        (0..MOST).for_each(|n| fs::write(home.at(&format!("file-{n}")), "").expect("written"));
        let refused = spare(&home.own(), &[], &[home.at("")]).expect_err("too many");
        assert_eq!(refused, TooMany { folder: home.at("") });
        assert!(refused.to_string().contains("4096"));
    }

    #[test]
    fn the_kernels_interfaces_are_written_by_no_grant_even_where_nothing_is_the_agents_own() {
        let of_kernel = Mounts::read().of_the_kernel();
        assert!(of_kernel.contains(&"/sys".into()) && of_kernel.contains(&"/proc".into()));
        for own in [OwnFiles::default(), Home::new().own()] {
            let everything = ["/", "/sys", "/sys/fs/cgroup", "/sys/fs", "/proc/sys", "/proc"].map(PathBuf::from);
            for folder in everything {
                let granted = spare(&own, &[], std::slice::from_ref(&folder)).expect("few entries");
                let written = granted.writable.iter().chain(&granted.beside_writable);
                let is_of_kernel = |path: &&PathBuf| of_kernel.iter().any(|kernel| path.starts_with(kernel));
                let written: Vec<&PathBuf> = written.filter(is_of_kernel).filter(|path| path.exists()).collect();
                assert!(written.is_empty(), "{}: {written:?}", folder.display());
                let mounted = mounted(&own, &[], std::slice::from_ref(&folder));
                let is_kept =
                    folder.starts_with("/proc") || mounted.fixed.contains(&folder) || folder == Path::new("/");
                assert!(is_kept, "{}: {mounted:?}", folder.display());
            }
            let mounted = mounted(&own, &[], &["/".into()]);
            assert!(mounted.fixed.contains(&"/sys".into()) && !mounted.has_link, "{mounted:?}");
        }
    }

    #[test]
    fn terminals_of_persons_are_known_by_their_names() {
        for name in ["tty", "tty0", "tty63", "console", "pts", "ptmx", "vcsa12", "uinput", "watchdog", "watchdog0"] {
            assert!(is_of_persons(name), "{name}");
        }
        for name in ["ttyUSB0", "ttyACM1", "ttyS0", "video0", "null", "i2c-1", "snd", "shm", "watch"] {
            assert!(!is_of_persons(name), "{name}");
        }
    }

    #[test]
    fn the_whole_machine_is_granted_without_its_disks_and_the_kernel() {
        let home = Home::new();
        let granted = spare(&home.own(), &[], &["/".into()]).expect("few entries");
        assert!(
            granted.beside_readable.contains(&"/proc".into()) && !granted.beside_writable.contains(&"/proc".into())
        );
        assert!(granted.beside_writable.contains(&"/usr".into()));
        let kept = Devices::of(&Mounts::read()).within(Path::new("/"));
        assert!(kept.iter().all(|device| !granted.beside_writable.contains(device)));
        assert!(kept.contains(&"/dev/tty".into()) || !Path::new("/dev/tty").exists());
        assert!(granted.beside_writable.contains(&"/dev/null".into()));
        assert!(granted.beside_readable.contains(&"/sys".into()));
        let within = home.at(".local/state/maxim/latch.json");
        let mut all = granted.beside_writable.iter().chain(&granted.beside_readable);
        assert!(!all.any(|granted| within.starts_with(granted)));
        assert!(mounted(&home.own(), &[], &["/".into()]).hidden.contains(&home.at(".local/state/maxim")));
    }
}
