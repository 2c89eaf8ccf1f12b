//! A child with network can't reach this daemon's own port. A program in a sandbox is never the owner, whatever key it
//! has found.
//!
//! Each `connect` of such a child waits for the answer of a supervisor, a thread of this process, one for each run. The
//! supervisor reads the address from the child's memory and refuses the daemon's port at any address of this machine.
//! Otherwise it connects the child's socket itself, to the address that it has judged. What the child writes there
//! meanwhile changes nothing. If the kernel has no such notifications, Landlock closes the port's number at all
//! addresses.

mod address;
mod connecting;
mod filter;
mod listener;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use serde::{Deserialize, Serialize};

use self::connecting::{Connecting, Done, InHand, begin};
use self::listener::{Listener, poll};
use super::policy::{Network, SandboxPolicy};
use super::report::Layer;
use super::{AFTER_THE_KILL, LandlockSupport, kernel, landlock_layer, no_thread};
use crate::{ErrorKind, ToolFailure};

/// Connections of one run that may wait at the same time. Each uses a descriptor of this process. Further ones queue.
const WAITING: usize = 64;
/// How often waiting calls are checked: whether the caller lives, is signalled, or has waited long enough.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Pause before the end shuts down again the socket that delays the supervisor.
const NUDGE_EVERY: Duration = Duration::from_millis(5);
/// The first version of Landlock that restricts TCP connections.
const LANDLOCK_TCP: i32 = 4;

/// The ports on which this daemon listens, and what to do if children can't be kept from them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnPorts {
    /// TCP, at any address of this machine. Empty if nothing listens.
    pub ports: Vec<u16>,
    /// Programs with network run even if nothing keeps them from these ports.
    pub exposed: bool,
    /// Why notifications can't be used here although the kernel accepts the filter.
    pub unusable: Option<String>,
}

/// Through this the thread that raises the walls gives the supervisor its listener.
pub(super) struct HandOver(Sender<Listener>);

/// A supervisor that waits for its run.
pub(super) struct Supervisor {
    hand_over: HandOver,
    keeper: Keeper,
}

/// Keeps the supervisor during the run. Afterwards every remaining `connect` fails.
pub(super) struct Keeper {
    /// Closed at the end, which wakes the supervisor.
    alive: Option<OwnedFd>,
    ended: Receiver<()>,
    hand: InHand,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.alive.take());
        let watch = Stopwatch::start();
        while matches!(self.ended.recv_timeout(NUDGE_EVERY), Err(RecvTimeoutError::Timeout)) {
            self.hand.let_go();
            if watch.elapsed() >= AFTER_THE_KILL {
                tracing::warn!("the supervisor of a child's connections hasn't ended");
                return;
            }
        }
    }
}

impl Supervisor {
    /// For a run with network. Must be started from a thread without walls, because the supervisor would inherit them.
    pub(super) fn start(policy: &SandboxPolicy) -> Result<Option<Self>, ToolFailure> {
        if policy.network == Network::Off {
            return Ok(None);
        }
        let ports = policy.own_ports.ports.clone();
        let no_pipe = |error| ToolFailure::new(ErrorKind::Io, format!("no pipe for a child's supervisor: {error}"));
        let (end, alive) = pipe_with(PipeFlags::CLOEXEC).map_err(no_pipe)?;
        let (hand_over, handed_over) = mpsc::channel::<Listener>();
        let (say_ended, ended) = mpsc::channel();
        let hand = InHand::default();
        let in_hand = hand.clone();
        let work = move || {
            if let Ok(listener) = handed_over.recv()
                && let Err(error) = supervise(&listener, &end, &ports, &in_hand)
            {
                tracing::error!(%error, "the supervisor of a child's connections has failed; they are refused from now on");
            }
            drop(say_ended);
        };
        let thread = std::thread::Builder::new().name("contained-network".into());
        thread.spawn(work).map_err(|error| no_thread(&error))?;
        Ok(Some(Self { hand_over: HandOver(hand_over), keeper: Keeper { alive: Some(alive), ended, hand } }))
    }

    /// Splits it into the part for the thread that raises the walls and the part that the run keeps.
    pub(super) fn split(this: Option<Self>) -> (Option<HandOver>, Option<Keeper>) {
        this.map(|Self { hand_over, keeper }| (hand_over, keeper)).unzip()
    }
}

/// How a run is kept from the daemon's ports.
pub(super) struct Raised {
    pub(super) layer: Layer,
    /// TCP ports that Landlock must close instead.
    pub(super) closed: Vec<u16>,
}

/// For this thread and all that it starts from now on.
///
/// # Errors
/// Nothing here keeps a program with network from the daemon's port, and no person has allowed that.
pub(super) fn raise(policy: &SandboxPolicy, to: Option<HandOver>) -> Result<Raised, ToolFailure> {
    let open = |layer| Ok(Raised { layer, closed: Vec::new() });
    let Some(HandOver(to)) = to else { return open(Layer::NotAsked) };
    let OwnPorts { ports, exposed, unusable } = &policy.own_ports;
    let filtered = filter::apply();
    let watched = match unusable {
        Some(why) => Err(why.clone()),
        None => filtered.clone().and_then(|()| Listener::install()),
    };
    let why = match watched {
        Ok(listener) => {
            let lost = |_| ToolFailure::new(ErrorKind::Io, "the supervisor of a child's connections has died");
            to.send(listener).map_err(lost)?;
            return open(Layer::Enforced { by: "seccomp's notifications".into() });
        }
        Err(_) if ports.is_empty() => return open(Layer::NotAsked),
        Err(why) => why,
    };
    let landlock = kernel::on_own_thread(landlock_layer::version);
    // Landlock doesn't check a fast open; the filter refuses it.
    if filtered.is_ok() && landlock.is_ok_and(|abi| abi >= LANDLOCK_TCP) {
        let by = format!("Landlock, which closes the port at every address, because of notifications: {why}");
        return Ok(Raised { layer: Layer::Enforced { by }, closed: ports.clone() });
    }
    if *exposed {
        return open(Layer::Missing { why: format!("it can reach this daemon's own port: {why}") });
    }
    let message = format!(
        "programs with network don't run here, because nothing keeps them from this daemon's own port ({why}); use Linux 6.7 or newer with Landlock, or set tools.expose_own_port = true"
    );
    Err(ToolFailure::new(ErrorKind::Refused, message))
}

/// Serves one run until it ends.
fn supervise(listener: &Listener, end: &OwnedFd, ports: &[u16], hand: &InHand) -> std::io::Result<()> {
    let mut waiting: Vec<Connecting> = Vec::new();
    let mut looked = Stopwatch::start();
    loop {
        let calls = if waiting.len() < WAITING { libc::POLLIN } else { 0 };
        let mut watched: Vec<(BorrowedFd<'_>, i16)> = vec![(end.as_fd(), libc::POLLIN), (listener.as_fd(), calls)];
        watched.extend(waiting.iter().map(|one| (one.socket(), libc::POLLOUT)));
        let patience = (!waiting.is_empty()).then_some(i32::try_from(LOOK_EVERY.as_millis()).unwrap_or(i32::MAX));
        let told = poll(&watched, patience)?;
        drop(watched);
        let (of_end, of_listener) = (told[0], told[1]);
        if of_end != 0 || of_listener & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0 {
            return Ok(());
        }
        let is_time = looked.elapsed() >= LOOK_EVERY;
        if is_time {
            looked = Stopwatch::start();
        }
        let mut still = Vec::new();
        for (one, told) in waiting.into_iter().zip(&told[2..]) {
            let id = one.id();
            let done = match (*told, is_time) {
                (0, false) => Done::Waiting(one),
                (0, true) => one.look(listener),
                _ => one.go_on(hand),
            };
            settle(listener, id, done, &mut still);
        }
        waiting = still;
        if of_listener & libc::POLLIN != 0
            && let Some(call) = listener.receive()?
        {
            settle(listener, call.id, begin(call, listener, ports, hand), &mut waiting);
        }
    }
}

fn settle(listener: &Listener, id: u64, done: Done, waiting: &mut Vec<Connecting>) {
    match done {
        Done::Answered(errno) => listener.answer(id, errno),
        Done::Waiting(one) => waiting.push(one),
        Done::Gone => {}
    }
}

/// Whether children can be supervised here: the kernel gives a listener, and this process may duplicate a child's
/// socket. Filters the calling thread.
pub(super) fn supported() -> Result<(), String> {
    let refused = |error| format!("a child's sockets can't be looked at (kernel.yama.ptrace_scope?): {error}");
    let mut child = Command::new("/bin/sh")
        .args(["-c", "read -r _"])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("/bin/sh can't be started: {error}"))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let taken = pid.ok_or(rustix::io::Errno::SRCH).and_then(|pid| {
        pidfd_open(pid, PidfdFlags::empty()).and_then(|child| pidfd_getfd(child, 0, PidfdGetfdFlags::empty()))
    });
    let _ = child.kill();
    let _ = child.wait();
    taken.map_err(refused)?;
    filter::apply().and_then(|()| Listener::install()).map(drop)
}

/// What the kernel offers, for the start and `maxim doctor`, and whether it is well.
pub(super) fn line(missing: Option<&String>, landlock: &LandlockSupport) -> (bool, String) {
    match (missing, landlock) {
        (None, _) => (true, "own port: child processes with network don't reach this daemon's port".into()),
        (Some(why), LandlockSupport::Available { abi }) if *abi >= LANDLOCK_TCP => (
            true,
            format!(
                "own port: {why}; Landlock closes this daemon's port to child processes with network, at every address; each starts some 20 ms later"
            ),
        ),
        (Some(why), _) => (
            false,
            format!(
                "own port: {why}. CHILD PROCESSES WITH NETWORK ARE REFUSED unless tools.expose_own_port = true lets them reach this daemon's port. Use Linux 6.7 or newer with Landlock"
            ),
        ),
    }
}
