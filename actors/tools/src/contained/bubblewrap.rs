//! Namespaces by bubblewrap, a wall around the others: what isn't named doesn't exist inside. A child sees neither the
//! names of other files nor other processes. A process that leaves the group still dies with the first process of its
//! namespace.
//!
//! Landlock forbids mounts, so bubblewrap comes first. Inside, this program raises the other walls itself and then
//! becomes the command.

use std::ffi::OsString;
use std::io::ErrorKind as Io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use maxim_bus::latch::{EffectKind, StopLatch};
use serde::{Deserialize, Serialize};

use super::grants::Mounted;
use super::walls::{Held, Walls};
use super::{ChildSpec, Ending, Network, SandboxPolicy, run};

/// The first argument that makes this program a contained child. `main` must check it before anything else, because the
/// walls hold only one thread.
pub const ENTRY: &str = "contained-child";

/// Fixed paths. `PATH` isn't searched, because anyone may put another bwrap there.
const PROGRAMS: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
/// The name of its processes.
pub(super) const NAME: &str = "bwrap";
/// Links that programs expect beside the devices.
const LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
];
/// Exit code if the walls inside aren't the expected ones. Shells don't use this code.
const NOT_CONTAINED: u8 = 125;
/// A shell's exit codes for a program that can't be run and for a missing program.
const NOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;
/// It reports a death by a signal as shells do: 128 plus the signal number (1 to 64).
const BY_SIGNAL: std::ops::RangeInclusive<i32> = 129..=192;
/// Printed in a trial. It proves that the program became the command.
const SIGN_OF_LIFE: &str = "contained";
const PATIENCE: Duration = Duration::from_secs(20);

/// A bubblewrap that works on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bubblewrap {
    program: PathBuf,
    /// This program, whose `main` knows [`ENTRY`].
    entry: PathBuf,
}

/// The walls to raise inside, and what must then hold.
#[derive(Serialize, Deserialize)]
struct Inside {
    walls: Walls,
    held: Held,
}

impl Bubblewrap {
    /// The machine's bubblewrap, tested with a trivial program, because namespaces may be forbidden although it is
    /// installed. `entry` is a program whose `main` calls [`enter`].
    ///
    /// # Errors
    /// It isn't installed or can't be used here; in words.
    pub fn find(entry: &Path) -> Result<Self, String> {
        let program = PROGRAMS.into_iter().find(|path| Path::new(path).is_file());
        let program = program.ok_or("bubblewrap isn't installed")?;
        let found = Self { program: program.into(), entry: entry.to_owned() };
        found.try_out().map(|()| found)
    }

    fn try_out(&self) -> Result<(), String> {
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Other).map_err(|stopped| stopped.to_string())?;
        let policy = SandboxPolicy { namespaces: Some(self.clone()), ..SandboxPolicy::default() };
        let spec = ChildSpec {
            program: "echo".into(),
            args: vec![SIGN_OF_LIFE.into()],
            cwd: "/".into(),
            writable: Vec::new(),
            stdin: Vec::new(),
            deadline: PATIENCE,
            output_cap: 400,
        };
        let outcome = run(&spec, &policy, &permit).map_err(|failure| failure.message)?;
        let said = outcome.stderr.text.trim();
        match outcome.ending {
            Ending::Exited(0) if outcome.stdout.text.trim_end() == SIGN_OF_LIFE => Ok(()),
            _ if said.is_empty() => Err(format!("{} doesn't work here", self.program.display())),
            _ => Err(format!("{} doesn't work here: {said}", self.program.display())),
        }
    }

    /// The words that precede a command to run it in bubblewrap.
    pub(super) fn wrapper(&self, walls: &Walls, held: &Held, cwd: &Path) -> std::io::Result<Vec<OsString>> {
        let inside = serde_json::to_string(&Inside { walls: walls.clone(), held: held.clone() })?;
        let mut words: Vec<OsString> = vec![self.program.clone().into()];
        // No session of its own: it would leave the process group, by which a stop ends it.
        words.extend(["--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts"].map(OsString::from));
        if walls.network == Network::Off {
            words.push("--unshare-net".into());
        }
        for Sight { how, path } in sights(walls, &self.entry) {
            words.extend([how.into(), path.clone().into(), path.into()]);
        }
        words.extend(kept(walls));
        // A separate process-id space, with the kernel's settings read-only.
        words.extend(["--proc", "/proc", "--remount-ro", "/proc", "--dir"].map(OsString::from));
        words.push(cwd.into());
        if !walls.writes_everywhere() {
            for (target, link) in LINKS {
                words.extend(["--symlink", target, link].map(OsString::from));
            }
            words.extend(["--remount-ro", "/"].map(OsString::from));
        }
        words.extend(["--chdir".into(), cwd.into(), "--".into(), self.entry.clone().into(), ENTRY.into()]);
        words.push(inside.into());
        Ok(words)
    }
}

/// Mounts for the agent's own files, after the folders that hold them. A mount point can be neither moved nor removed.
fn kept(walls: &Walls) -> Vec<OsString> {
    let Mounted { hidden, fixed, pinned, .. } = &walls.mounted;
    let bind = if walls.writes_everywhere() { "--dev-bind" } else { "--bind" };
    let mut words: Vec<OsString> = Vec::new();
    for path in pinned {
        words.extend([bind.into(), path.into(), path.into()]);
    }
    for path in fixed {
        words.extend(["--ro-bind".into(), path.into(), path.into()]);
    }
    for path in hidden {
        if path.is_dir() {
            words.extend(["--tmpfs".into(), path.into(), "--remount-ro".into(), path.into()]);
        } else {
            words.extend(["--ro-bind".into(), "/dev/null".into(), path.into()]);
        }
    }
    words
}

struct Sight {
    how: &'static str,
    path: PathBuf,
}

/// What is seen, the outer before what lies in it: mounting the outer would hide that. A file that may only be read and
/// lies in a folder that may be written is written too, as with Landlock.
fn sights(walls: &Walls, entry: &Path) -> Vec<Sight> {
    let lies_in = |path: &Path, others: &[PathBuf]| others.iter().any(|other| path != other && path.starts_with(other));
    // Of devices none can be used in a folder that was mounted the plain way.
    let writing = |path: &PathBuf| if path == Path::new("/") { "--dev-bind" } else { "--bind-try" };
    let is_in_writable = |path: &Path| walls.writable.iter().any(|folder| path.starts_with(folder));
    let mut sights: Vec<Sight> =
        walls.writable.iter().map(|path| Sight { how: writing(path), path: path.clone() }).collect();
    let read = walls.readable.iter().map(PathBuf::as_path).chain([entry]);
    let read = read.filter(|path| !is_in_writable(path) && !lies_in(path, &walls.readable));
    let read = read.filter(|path| !path.starts_with("/proc"));
    sights.extend(read.map(|path| Sight { how: "--ro-bind-try", path: path.to_owned() }));
    let devices = walls.devices.iter().filter(|path| !path.starts_with("/proc"));
    let devices = devices.filter(|_| !walls.writes_everywhere());
    sights.extend(devices.map(|path| Sight { how: "--dev-bind-try", path: path.clone() }));
    sights.sort_by_key(|sight| sight.path.components().count());
    sights
}

/// How the command inside bubblewrap ended.
pub(super) fn ending(code: i32) -> Ending {
    if BY_SIGNAL.contains(&code) { Ending::Killed(code - 128) } else { Ending::Exited(code) }
}

/// Becomes the contained child that the arguments after [`ENTRY`] describe. Returns only on failure.
pub fn enter(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let inside = args.next().and_then(|text| serde_json::from_slice::<Inside>(text.as_encoded_bytes()).ok());
    let (Some(Inside { walls, held }), Some(program)) = (inside, args.next()) else {
        eprintln!(
            "maxim: {ENTRY} is for a running maxim that starts the programs of its tools; don't call it yourself"
        );
        return NOT_CONTAINED.into();
    };
    let holds = walls.raise();
    if holds != held {
        eprintln!("maxim: the walls in the namespaces aren't those outside ({holds:?} for {held:?})");
        return NOT_CONTAINED.into();
    }
    let error = Command::new(&program).args(args).exec();
    eprintln!("maxim: {}: {error}", program.display());
    if error.kind() == Io::NotFound { NOT_FOUND.into() } else { NOT_RUN.into() }
}

#[cfg(test)]
mod tests {
    use super::super::grants::Granted;
    use super::*;

    fn walls(readable: &[&str], writable: &[&str]) -> Walls {
        let paths = |of: &[&str]| of.iter().map(PathBuf::from).collect();
        let devices = vec!["/dev/null".into()];
        let (readable, writable) = (paths(readable), paths(writable));
        let (mounted, granted, closed_ports) = (Mounted::default(), Granted::default(), Vec::new());
        Walls { readable, devices, writable, mounted, granted, closed_ports, network: Network::Off, group: 1 }
    }

    fn seen(walls: &Walls) -> Vec<String> {
        let sights = sights(walls, Path::new("/opt/maxim/bin/maxim"));
        sights.into_iter().map(|Sight { how, path }| format!("{how} {}", path.display())).collect()
    }

    #[test]
    fn the_outer_is_mounted_before_what_lies_in_it() {
        let seen = seen(&walls(&["/opt", "/home/me/.cargo/bin", "/proc"], &["/opt/work"]));
        let expected = ["--ro-bind-try /opt", "--bind-try /opt/work", "--dev-bind-try /dev/null"];
        assert_eq!(seen[..3], expected);
        assert_eq!(seen[3], "--ro-bind-try /home/me/.cargo/bin");
        assert!(seen.iter().all(|line| !line.contains("/proc")), "it gets a fresh one");
    }

    #[test]
    fn what_lies_in_a_writable_folder_is_not_made_readable_only() {
        let seen = seen(&walls(&["/home/me/.cargo/bin"], &["/home/me"]));
        assert!(!seen.iter().any(|line| line.contains(".cargo")), "{seen:?}");
        assert_eq!(self::seen(&walls(&["/usr"], &["/"])), ["--dev-bind /"]);
    }

    #[test]
    fn a_death_by_a_signal_is_told_from_an_exit() {
        assert_eq!(
            [ending(0), ending(127), ending(137), ending(255)],
            [Ending::Exited(0), Ending::Exited(127), Ending::Killed(9), Ending::Exited(255)]
        );
    }
}
