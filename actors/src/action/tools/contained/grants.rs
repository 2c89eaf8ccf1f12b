//! What of the granted folders is given to a child, when the agent's own files lie below one of them.
//!
//! Landlock takes nothing back of a folder that it has granted. So the folders on the way to the own files aren't granted;
//! what lies beside that way is, entry by entry, as it is there at the start of the child. In a folder on the way nothing
//! new can be made, and its names can be listed. With bubblewrap the folders are granted, what is the agent's own isn't
//! there, and the folders on the way can't be moved because each is a place where something is mounted.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::mounts;
use crate::action::tools::OwnFiles;

/// Entries that are granted one by one, at most; each costs the start of a child some microseconds.
const MOST: usize = 4096;

/// The kernel's own files, which are read only where the whole machine is granted: through some of them it starts programs
/// outside of any sandbox.
const OF_THE_KERNEL: [&str; 2] = ["/proc", "/sys/kernel"];

/// Beginnings of the names of character devices that read a disk or the memory: they take its own commands.
const DISKS_BY_COMMANDS: [&str; 7] = ["sg", "bsg", "ng", "nvme", "mem", "kmem", "port"];

/// What Landlock grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Granted {
    /// Folders and files as they are named.
    pub(super) readable: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
    /// Entries beside the way to the agent's own files; a link isn't followed.
    pub(super) beside_readable: Vec<PathBuf>,
    pub(super) beside_writable: Vec<PathBuf>,
    /// The folders on the way, whose names may be listed.
    pub(super) listed: Vec<PathBuf>,
}

/// The way that bubblewrap does the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Mounted {
    /// Seen as nothing: an empty folder, or a file without content.
    pub(super) hidden: Vec<PathBuf>,
    /// Read and not written.
    pub(super) fixed: Vec<PathBuf>,
    /// Folders on the way, which can't be moved.
    pub(super) pinned: Vec<PathBuf>,
    /// One of the agent's own is named by a link, over which nothing can be mounted: Landlock must keep it too.
    pub(super) has_link: bool,
}

/// Why siblings can't be granted instead of a folder.
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
    /// Neither read nor written.
    Hidden,
    /// Read alone.
    Fixed,
}

/// What is kept from children, by its real path.
struct Kept(Vec<(PathBuf, Care)>);

impl Kept {
    fn of(own: &OwnFiles) -> Self {
        let care = |paths: &[PathBuf], care| -> Vec<(PathBuf, Care)> {
            paths.iter().flat_map(|path| real(path)).map(|path| (path, care)).collect()
        };
        // A name that is in both counts as data.
        let mut all = [care(&own.data, Care::Hidden), care(&own.configuration, Care::Fixed)].concat();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all.dedup_by(|one, other| one.0 == other.0);
        Self(all)
    }

    /// For a granted folder: what lies in it, with the disks and the kernel's files where it holds the machine's devices.
    fn within(&self, folder: &Path, is_written: bool) -> Vec<(PathBuf, Care)> {
        let is_kept = |care| care == Care::Hidden || is_written;
        let below = self.0.iter().filter(|(path, care)| path.starts_with(folder) && is_kept(*care));
        let mut all: Vec<(PathBuf, Care)> = below.cloned().collect();
        if !all.is_empty() && folder == Path::new("/") {
            // Everything on a disk can be read from the disk itself.
            all.extend(disks().into_iter().map(|disk| (disk, Care::Hidden)));
            if is_written {
                all.extend(OF_THE_KERNEL.map(|path| (path.into(), Care::Fixed)));
            }
        }
        all
    }
}

/// Where a path leads, by each name that it has here, and where its own name stands if that is a link. Nothing when it
/// isn't there.
fn real(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().zip(path.parent().and_then(|parent| parent.canonicalize().ok()));
    let named = name.map(|(name, parent)| parent.join(name)).filter(|path| is_link(path));
    let real = path.canonicalize().ok();
    let others = real.as_deref().map(mounts::other_names).unwrap_or_default();
    real.into_iter().chain(others).chain(named).collect()
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.file_type().is_symlink())
}

fn disks() -> Vec<PathBuf> {
    let is_disk = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_block_device())
            || entry
                .file_name()
                .to_str()
                .is_some_and(|name| DISKS_BY_COMMANDS.iter().any(|known| name.starts_with(known)))
    };
    fs::read_dir("/dev").into_iter().flatten().flatten().filter(is_disk).map(|entry| entry.path()).collect()
}

/// What is granted of these folders, so that nothing of the agent's own is.
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
            // What isn't there is granted to nobody.
            let Ok(real) = folder.canonicalize() else {
                whole.push(folder.clone());
                continue;
            };
            let is_kept = |care: Care| care == Care::Hidden || is_written;
            let around = kept.0.iter().find(|(own, care)| real.starts_with(own) && is_kept(*care));
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

/// The folders on the way from a granted folder to the agent's own files, in which a child without namespaces makes nothing
/// new; none when it holds nothing of them.
///
/// # Errors
/// There is too much beside the way, so that programs aren't started; in words.
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
            // A link's target is granted by its own path, or isn't.
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            let below: Vec<(PathBuf, Care)> =
                kept.iter().filter(|(kept, _)| kept.starts_with(&path)).cloned().collect();
            match below.iter().find(|(kept, _)| *kept == path) {
                Some((_, Care::Hidden)) => {}
                Some((_, Care::Fixed)) if below.len() == 1 => self.granted.beside_readable.push(path),
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
            // The folder itself lies in the data.
            if kept.0.iter().any(|(own, care)| *care == Care::Hidden && real.starts_with(own)) {
                mounted.hidden.push(folder.clone());
                continue;
            }
            for (path, care) in kept.within(&real, is_written) {
                // There is a fresh one.
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
        let granted = spare(&home.own(), &[], &[alias.clone()]).expect("few entries");
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
    fn too_many_entries_are_told_with_the_folder() {
        let home = Home::new();
        (0..MOST).for_each(|n| fs::write(home.at(&format!("file-{n}")), "").expect("written"));
        let refused = spare(&home.own(), &[], &[home.at("")]).expect_err("too many");
        assert_eq!(refused, TooMany { folder: home.at("") });
        assert!(refused.to_string().contains("4096"));
    }

    #[test]
    fn the_whole_machine_is_granted_without_its_disks_and_the_kernel() {
        let home = Home::new();
        let granted = spare(&home.own(), &[], &["/".into()]).expect("few entries");
        assert!(
            granted.beside_readable.contains(&"/proc".into()) && !granted.beside_writable.contains(&"/proc".into())
        );
        assert!(granted.beside_writable.contains(&"/usr".into()));
        assert!(disks().iter().all(|disk| !granted.beside_writable.contains(disk)));
        let within = home.at(".local/state/maxim/latch.json");
        let mut all = granted.beside_writable.iter().chain(&granted.beside_readable);
        assert!(!all.any(|granted| within.starts_with(granted)));
        assert!(mounted(&home.own(), &[], &["/".into()]).hidden.contains(&home.at(".local/state/maxim")));
    }
}
