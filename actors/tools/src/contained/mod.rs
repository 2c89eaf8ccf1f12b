//! A child process that the kernel restricts.
//!
//! Three processes make one run. The *anchor* (`group`) leads a process group that is registered with the latch before
//! anything else starts. It holds the group's number until the run is over, so no kill can hit a foreign process. It
//! kills the group when this process dies. The *gate* is a shell that starts restricted in that group and waits while
//! it gets its limits. Then it becomes the command.
//!
//! Landlock and seccomp are applied to the thread that starts the gate, and its children inherit them. A filter that
//! refuses `setsid`, other groups and new namespaces makes the group impossible to leave. With bubblewrap, the gate
//! becomes bubblewrap, and the walls are raised inside its namespaces before the command. If control groups can be
//! made, the gate is in one, which is ended with one write. At the end each of these is used to find processes of the
//! run; those that were left are ended and named.

mod barriers;
mod bubblewrap;
mod capture;
mod cgroup;
mod clone_into;
mod descriptors;
mod disk;
mod gate;
mod grants;
mod group;
mod kernel;
mod landlock_layer;
mod limits;
mod mounts;
mod outcome;
mod own_port;
mod policy;
mod privileges;
mod process_rules;
mod processes;
mod report;
mod seccomp_layer;
mod served;
mod walls;

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::{HeldFolder, Permit};

use self::capture::Reading;
use self::disk::DiskWatch;
use self::gate::{Gate, Start};
use self::group::{Group, Remains};
use self::own_port::{Keeper, Raised, Supervisor};
use self::privileges::Privileges;
use self::walls::{Held, NO_GROUP, Walls};
use super::{ErrorKind, ToolFailure};

pub use barriers::Barriers;
pub use bubblewrap::{Bubblewrap, ENTRY, enter};
pub use capture::{Captured, Pace};
pub use grants::way_to_own;
pub use kernel::{KernelSupport, LandlockSupport};
pub use outcome::{ChildOutcome, Ending, Times};
pub use own_port::OwnPorts;
pub use policy::{Limits, Network, OnMissing, SandboxPolicy};
pub use processes::LeftProcess;
pub use report::{Layer, SandboxReport};
pub use served::{Running, ServedEnd, serve};

/// How long dying may take after the kill, and how long the output may stay open. Only a process that has left the
/// group can hold it open; with seccomp that is impossible.
const AFTER_THE_KILL: Duration = Duration::from_secs(2);

/// What is to run.
#[derive(Clone, Debug)]
pub struct ChildSpec {
    /// A program, by name in `PATH` or by path.
    pub program: String,
    pub args: Vec<String>,
    pub cwd: PathBuf,
    /// Folders that it may read and write.
    pub writable: Vec<PathBuf>,
    /// Bytes for its standard input, which ends after them.
    pub stdin: Vec<u8>,
    /// It and everything that it started are killed after this.
    pub deadline: Duration,
    /// Bytes kept of each of standard output and standard error.
    pub output_cap: usize,
}

struct Started {
    child: Gate,
    report: SandboxReport,
}

/// Runs a program until it ends, its deadline passes or the latch stops it. When this returns, none of its processes
/// runs, except those named in the report that couldn't be ended. Refused if the kernel lacks something and the policy
/// says [`OnMissing::Refuse`].
pub fn run(spec: &ChildSpec, policy: &SandboxPolicy, permit: &Permit<'_>) -> Result<ChildOutcome, ToolFailure> {
    let mut group = Group::lead(permit, &policy.limits)?;
    let scratch = Scratch::make()?;
    let mark = scratch.mark();
    let (say_ended, status) = mpsc::channel();
    let ended = move |status| drop(say_ended.send(status));
    let Waiting { mut child, mut report, hand_over, keeper: _keeper } =
        wait_at_gate(spec, policy, &mut group, &scratch, ended)?;
    let stdout = Reading::start(child.stdout.take(), spec.output_cap)?;
    let stderr = Reading::start(child.stderr.take(), spec.output_cap)?;
    // A stop that came before the gate joined the group has missed it. A later stop kills it.
    if group.was_stopped() {
        group.kill();
        let _ = child.wait();
        return Err(not_started(spec));
    }
    let mut disk = DiskWatch::begin(&scratch.and(&spec.writable), policy.limits.disk_bytes);
    open_gate(&mut child, &spec.stdin)?;
    let watch = Stopwatch::start();
    let gate = child.id();
    let _ = hand_over.send(child);
    let mut filled = None;
    let own = permit.folder();
    let mut restored = Vec::new();
    let (ending, killed) = wait(&status, watch, spec.deadline, &group, || {
        group.tidy(gate);
        restored.extend(own.map(HeldFolder::restore).unwrap_or_default());
        filled = disk.look(group.id(), &mark);
        filled.is_some()
    })?;
    let ended = watch.elapsed();
    let ending = match ending {
        Ending::Exited(code) if policy.namespaces.is_some() => bubblewrap::ending(code),
        ending => ending,
    };
    let members = group.members(&mark);
    let strays = group.strays(&members);
    group.kill();
    let (stdout, stdout_closed) = stdout.finish(AFTER_THE_KILL);
    let (stderr, stderr_closed) = stderr.finish(AFTER_THE_KILL);
    let Remains { strays, living } = group.end(&mark, strays, AFTER_THE_KILL);
    let times = Times { killed, ended, gone: watch.elapsed() };
    restored.extend(own.map(HeldFolder::restore_all).unwrap_or_default());
    if !restored.is_empty() {
        tracing::warn!(
            program = spec.program,
            restored = restored.join("; "),
            "the agent's own folder had been changed"
        );
    }
    if !living.is_empty() {
        let they = processes::in_words(&living);
        report.group = Layer::Missing { why: format!("after the kill there still are {they}") };
    } else if !strays.is_empty() {
        let they = processes::in_words(&strays);
        report.group = Layer::Missing { why: format!("{they} had left it, and was found and ended") };
    } else if !(stdout_closed && stderr_closed) {
        report.group = Layer::Missing { why: "a process has left the group and still holds the output".into() };
    }
    // A call that was ended from outside still had all its processes; they aren't reported.
    let has_ended_by_itself = matches!(ending, Ending::Exited(_) | Ending::Killed(_));
    let left = if has_ended_by_itself { told(&members, policy) } else { strays };
    Ok(ChildOutcome { ending, stdout, stderr, report, left, filled, restored, times })
}

/// The command's processes. bubblewrap's own process ends with them and isn't reported.
fn told(members: &[processes::Process], policy: &SandboxPolicy) -> Vec<LeftProcess> {
    let is_of_command = |left: &LeftProcess| policy.namespaces.is_none() || left.name != bubblewrap::NAME;
    members.iter().map(processes::Process::told).filter(is_of_command).collect()
}

/// A restricted child that waits at its gate. The thread that started it waits for its end once it has it back.
struct Waiting {
    child: Gate,
    report: SandboxReport,
    hand_over: mpsc::Sender<Gate>,
    /// Held as long as the child may connect.
    keeper: Option<Keeper>,
}

/// Starts the gate in the group and sets its limits. `ended` receives how the child ended.
fn wait_at_gate(
    spec: &ChildSpec,
    policy: &SandboxPolicy,
    group: &mut Group<'_>,
    scratch: &Scratch,
    ended: impl FnOnce(std::io::Result<ExitStatus>) + Send + 'static,
) -> Result<Waiting, ToolFailure> {
    if group.was_stopped() {
        return Err(not_started(spec));
    }
    let (to_supervisor, keeper) = Supervisor::split(Supervisor::start(policy)?);
    let (Started { mut child, mut report }, hand_over) = start(spec, policy, group, scratch, to_supervisor, ended)?;
    if !child.is_in_cgroup {
        group.adopt(child.id());
    }
    report.limits = limits::apply(child.id(), &policy.limits, spec.deadline, group.cgroup());
    if group.cgroup().is_ok() {
        report.group = report.group.also_by("a control group");
    }
    group.close(&report);
    if policy.on_missing == OnMissing::Refuse && !report.is_complete() {
        group.kill();
        let _ = child.wait();
        let message =
            format!("{} was not started, because its sandbox isn't whole: {}", spec.program, report.gaps().join("; "));
        return Err(ToolFailure::new(ErrorKind::Refused, message));
    }
    Ok(Waiting { child, report, hand_over, keeper })
}

fn not_started(spec: &ChildSpec) -> ToolFailure {
    ToolFailure::new(ErrorKind::Stopped, format!("{} was not started: stopped", spec.program))
}

/// On a separate thread, which keeps the restrictions. It waits for the child that it is handed back.
fn start(
    spec: &ChildSpec,
    policy: &SandboxPolicy,
    group: &Group<'_>,
    scratch: &Scratch,
    to_supervisor: Option<own_port::HandOver>,
    ended: impl FnOnce(std::io::Result<ExitStatus>) + Send + 'static,
) -> Result<(Started, mpsc::Sender<Gate>), ToolFailure> {
    let (hand_over, handed_over) = mpsc::channel::<Gate>();
    let (say_started, started) = mpsc::channel();
    let (spec, policy, scratch, pgid) = (spec.clone(), policy.clone(), scratch.0.clone(), group.id());
    // Without a handle it is moved in.
    let cgroup = group.cgroup().ok().and_then(|cgroup| cgroup.handle().try_clone().ok());
    let thread = std::thread::Builder::new().name("contained-child".into());
    let spawned = thread.spawn(move || {
        let result = start_here(&spec, &policy, &scratch, pgid, cgroup, to_supervisor);
        if say_started.send(result).is_ok()
            && let Ok(mut child) = handed_over.recv()
        {
            ended(child.wait());
        }
    });
    spawned.map_err(|error| no_thread(&error))?;
    let lost = || ToolFailure::new(ErrorKind::Io, "the thread that starts children has died");
    let started = started.recv().map_err(|_| lost())??;
    Ok((started, hand_over))
}

fn no_thread(error: &std::io::Error) -> ToolFailure {
    ToolFailure::new(ErrorKind::Unavailable, format!("no thread can be started for a child process: {error}"))
}

/// Starts the gate from this thread; the gate inherits its restrictions.
fn start_here(
    spec: &ChildSpec,
    policy: &SandboxPolicy,
    scratch: &Path,
    pgid: u32,
    cgroup: Option<OwnedFd>,
    to_supervisor: Option<own_port::HandOver>,
) -> Result<Started, ToolFailure> {
    let failed = |error: std::io::Error| {
        let place = spec.cwd.display();
        ToolFailure::new(ErrorKind::Unavailable, format!("{} can't be started in {place}: {error}", spec.program))
    };
    let privileges = Privileges::plan();
    let walls = Walls::of(spec, policy, scratch, pgid, &privileges).map_err(|why| exposing(spec, &why.to_string()))?;
    let Raised { layer: own_port, closed: closed_ports } = own_port::raise(policy, to_supervisor)?;
    let walls = Walls { closed_ports, ..walls };
    let (held, last, namespaces, mut wrapper) = match &policy.namespaces {
        None => {
            let (mut held, last) = walls.raise_but_last();
            if let (Layer::Missing { why }, false) = (&held.files, policy.expose_own_data || policy.own.data.is_empty())
            {
                return Err(exposing(spec, &format!("nothing keeps it from the agent's own files: {why}")));
            }
            if let Some(missing) = Walls::left_open(spec, policy) {
                held.files = held.files.lacking(missing);
            }
            (held, last, Layer::NotAsked, Vec::new())
        }
        Some(bubblewrap) => {
            let walls = Walls { group: NO_GROUP, ..walls.clone() };
            let held = walls.tried().map_err(failed)?;
            let wrapper = bubblewrap.wrapper(&walls, &held, &spec.cwd).map_err(failed)?;
            (held, None, Layer::Enforced { by: "bubblewrap".into() }, wrapper)
        }
    };
    let is_bounded_by_mounts = policy.namespaces.is_some() && !walls.mounted.has_link && !walls.writes_everywhere();
    wrapper.extend(privileges.wrapper(is_bounded_by_mounts).map(OsString::from));
    let Held { mut files, signals, network, group } = held;
    if let Err(error) = descriptors::keep() {
        files = files.lacking(format!("files that this program was started with stay open in it ({error})"));
    }
    let limits = Layer::Missing { why: "not set yet".into() };
    let (privileges, notes) = (privileges.layer, walls.note().into_iter().collect());
    let report = SandboxReport { files, signals, network, group, privileges, limits, namespaces, own_port, notes };
    let start = Start { spec, policy, scratch, group: pgid, wrapper: &wrapper, last: last.as_ref() };
    let child = Gate::start(&start, cgroup.as_ref().map(AsFd::as_fd)).map_err(failed)?;
    Ok(Started { child, report })
}

/// The program could reach the agent's own files, and no person has allowed that.
fn exposing(spec: &ChildSpec, why: &str) -> ToolFailure {
    let message = format!(
        "{} was not started: {why}; install bubblewrap, work in another folder, or set tools.expose_own_data = true",
        spec.program
    );
    ToolFailure::new(ErrorKind::Refused, message)
}

fn open_gate(child: &mut Gate, input: &[u8]) -> Result<(), ToolFailure> {
    let Some(mut stdin) = child.stdin.take() else { return Ok(()) };
    let mut bytes = b"\n".to_vec();
    bytes.extend_from_slice(input);
    // On a thread: a program that never reads its input would hold the deadline up. A broken pipe is the program's
    // choice not to read.
    let thread = std::thread::Builder::new().name("contained-input".into());
    thread.spawn(move || drop(stdin.write_all(&bytes))).map_err(|error| no_thread(&error))?;
    Ok(())
}

/// Waits for the end and returns when the kill was sent, if it was. `is_full` is asked repeatedly and ends the run.
fn wait(
    status: &Receiver<std::io::Result<ExitStatus>>,
    watch: Stopwatch,
    deadline: Duration,
    group: &Group<'_>,
    mut is_full: impl FnMut() -> bool,
) -> Result<(Ending, Option<Duration>), ToolFailure> {
    let lost = |error: String| ToolFailure::new(ErrorKind::Io, format!("lost sight of the child process: {error}"));
    let (mut ended_for, mut killed) = (None, None);
    let status = loop {
        let left = deadline.saturating_sub(watch.elapsed());
        let patience = if ended_for.is_some() { AFTER_THE_KILL } else { left.min(disk::OFTEN) };
        match (status.recv_timeout(patience), ended_for) {
            (Ok(status), _) => break status,
            (Err(RecvTimeoutError::Disconnected), _) => return Err(lost("its thread has died".into())),
            // It hangs in the kernel. The report names it.
            (Err(RecvTimeoutError::Timeout), Some(ending)) => return Ok((ending, killed)),
            (Err(RecvTimeoutError::Timeout), None) => {
                let is_late = watch.elapsed() >= deadline;
                if is_late || is_full() {
                    ended_for = Some(if is_late { Ending::DeadlinePassed } else { Ending::DiskFilled });
                    group.kill();
                    killed = Some(watch.elapsed());
                }
            }
        }
    };
    let status = status.map_err(|error| lost(error.to_string()))?;
    let ending = match (group.was_stopped(), ended_for, status.code(), status.signal()) {
        // A run that ended by itself keeps that ending, even if a stop or the deadline came later.
        (true, _, None, _) => Ending::Stopped,
        (_, Some(ending), None, _) => ending,
        (_, _, Some(code), _) => Ending::Exited(code),
        (_, _, None, signal) => Ending::Killed(signal.unwrap_or_default()),
    };
    Ok((ending, killed))
}

/// A private folder for temporary files, removed with the run.
struct Scratch(PathBuf);

impl Scratch {
    fn make() -> Result<Self, ToolFailure> {
        use std::os::unix::fs::DirBuilderExt;
        let folder = std::env::temp_dir().join(format!("maxim-{}", uuid::Uuid::now_v7().simple()));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(|error| ToolFailure::io("can't make a folder for temporary files:", &folder, &error))?;
        Ok(Self(folder))
    }

    /// A variable with which the environment of each process of the run starts, and of no other process.
    fn mark(&self) -> String {
        format!("TMPDIR={}", self.0.display())
    }

    /// All folders that may be written.
    fn and<'a>(&'a self, others: &'a [PathBuf]) -> Vec<&'a Path> {
        others.iter().map(PathBuf::as_path).chain([self.0.as_path()]).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that can't be removed is only a leftover temporary file, so the run doesn't fail.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
