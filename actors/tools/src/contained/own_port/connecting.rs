//! One `connect` of a child, carried out for it with the address that was judged.

use std::fs::File;
use std::io::ErrorKind as Io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use parking_lot::Mutex;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, socket_domain, socket_timeout, socket_type};
use rustix::net::{AddressFamily, Shutdown, SocketType, connect, connect_unspec, shutdown};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::address::Target;
use super::listener::{Call, Listener};

/// The kernel's `sockaddr_storage`: the longest address, in bytes.
const LONGEST: usize = 128;
/// `PIDFD_THREAD` of the kernel's pidfd.h (Linux 6.9): the number may belong to any thread.
const OF_A_THREAD: u32 = libc::O_EXCL as u32;

/// The socket that is being connected now. It is shut down if that takes too long. A child could cause this by making
/// the socket blocking at the wrong moment.
#[derive(Clone, Default)]
pub(super) struct InHand(Arc<Mutex<Option<Arc<OwnedFd>>>>);

impl InHand {
    fn connect(&self, socket: &Arc<OwnedFd>, target: Target) -> Result<(), Errno> {
        *self.0.lock() = Some(Arc::clone(socket));
        let done = match target {
            Target::Address(address) => connect(socket, &address),
            Target::Nothing => connect_unspec(socket),
        };
        *self.0.lock() = None;
        done
    }

    pub(super) fn let_go(&self) {
        if let Some(socket) = self.0.lock().as_ref() {
            // A socket that isn't connecting yet refuses this; it is tried again.
            let _ = shutdown(socket, Shutdown::Both);
        }
    }
}

/// The state of a call.
pub(super) enum Done {
    /// It returns 0, or fails with this number.
    Answered(Option<i32>),
    /// The socket is a blocking one and isn't connected yet.
    Waiting(Connecting),
    /// The caller has died.
    Gone,
}

/// A call that waits for its connection.
pub(super) struct Connecting {
    call: Call,
    socket: Arc<OwnedFd>,
    target: Target,
    since: Stopwatch,
    /// The socket's send timeout. After it the kernel answers EINPROGRESS.
    patience: Option<Duration>,
}

/// Judges the call and carries it out or refuses it. Nothing that the child can still change is read twice.
pub(super) fn begin(call: Call, listener: &Listener, ports: &[u16], hand: &InHand) -> Done {
    let found = socket_of(&call).and_then(|socket| Ok((socket, target_of(&call)?)));
    // Only now is it certain that the number was the caller's all the time.
    if !listener.is_waiting(call.id) {
        return Done::Gone;
    }
    let (socket, target) = match found {
        Ok(found) => found,
        Err(errno) => return Done::Answered(Some(errno)),
    };
    if target.is_own(ports) {
        return Done::Answered(Some(libc::EACCES));
    }
    let connecting = Connecting {
        call,
        patience: socket_timeout(&socket, Timeout::Send).ok().flatten(),
        socket: Arc::new(socket),
        target,
        since: Stopwatch::start(),
    };
    connecting.begin(hand)
}

impl Connecting {
    fn begin(self, hand: &InHand) -> Done {
        let is_stream = match socket_type(&self.socket) {
            // The other types have no handshake to wait for.
            Ok(kind) => kind == SocketType::STREAM,
            Err(error) => return Done::Answered(Some(error.raw_os_error())),
        };
        let waits = is_stream && fcntl_getfl(&self.socket).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK));
        match self.attempt(hand, is_stream) {
            Err(Errno::INPROGRESS | Errno::ALREADY) if waits => Done::Waiting(self),
            done => Done::Answered(done.err().map(Errno::raw_os_error)),
        }
    }

    /// Without waiting, because the supervisor serves other calls. The flag belongs to the socket and so to the child
    /// too. The child can't notice it while its call is in the kernel.
    fn attempt(&self, hand: &InHand, is_stream: bool) -> Result<(), Errno> {
        let flags = fcntl_getfl(&self.socket)?;
        let is_changed = is_stream && !flags.contains(OFlags::NONBLOCK);
        if is_changed {
            fcntl_setfl(&self.socket, flags | OFlags::NONBLOCK)?;
        }
        let done = hand.connect(&self.socket, self.target);
        if is_changed {
            fcntl_setfl(&self.socket, flags)?;
        }
        done
    }

    /// Called when the socket is ready. A second `connect` returns the outcome of the first and leaves the socket in
    /// the state in which a blocking connect leaves it.
    pub(super) fn go_on(self, hand: &InHand) -> Done {
        match self.attempt(hand, true) {
            Ok(()) | Err(Errno::ISCONN) => Done::Answered(None),
            Err(Errno::INPROGRESS | Errno::ALREADY) => Done::Waiting(self),
            Err(error) => Done::Answered(Some(error.raw_os_error())),
        }
    }

    /// Checks from time to time whether the wait goes on.
    pub(super) fn look(self, listener: &Listener) -> Done {
        if !listener.is_waiting(self.call.id) {
            return Done::Gone;
        }
        if self.patience.is_some_and(|patience| self.since.elapsed() >= patience) {
            return Done::Answered(Some(libc::EINPROGRESS));
        }
        if is_signalled(self.call.thread) {
            return Done::Answered(Some(libc::EINTR));
        }
        Done::Waiting(self)
    }

    pub(super) fn id(&self) -> u64 {
        self.call.id
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A duplicate of the child's socket. For the kernel both are the same socket.
fn socket_of(call: &Call) -> Result<OwnedFd, i32> {
    let of_thread = |thread: u32, flags| {
        let pid = i32::try_from(thread).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        pidfd_open(pid, PidfdFlags::from_bits_retain(flags))
    };
    let process = of_thread(call.thread, OF_A_THREAD).or_else(|_| {
        of_thread(field(call.thread, "Tgid:", 10).and_then(|id| id.try_into().ok()).unwrap_or(call.thread), 0)
    });
    let socket = process.and_then(|process| pidfd_getfd(process, call.descriptor, PidfdGetfdFlags::empty()));
    let socket = socket.map_err(|error| match error {
        Errno::BADF => libc::EBADF,
        // The limit on open files is this process's, which the child must not see.
        Errno::MFILE | Errno::NFILE => libc::EAGAIN,
        _ => libc::EACCES,
    })?;
    match socket_domain(&socket) {
        Ok(AddressFamily::INET | AddressFamily::INET6) => Ok(socket),
        Ok(_) => Err(libc::EACCES),
        Err(error) => Err(error.raw_os_error()),
    }
}

fn target_of(call: &Call) -> Result<Target, i32> {
    let length = usize::try_from(call.length).ok().filter(|length| *length <= LONGEST).ok_or(libc::EINVAL)?;
    let memory = File::open(format!("/proc/{}/mem", call.thread)).map_err(|_| libc::EACCES)?;
    let mut bytes = vec![0; length];
    memory.read_exact_at(&mut bytes, call.address).map_err(|error| match error.kind() {
        Io::PermissionDenied => libc::EACCES,
        _ => libc::EFAULT,
    })?;
    Target::read(&bytes)
}

/// Whether a signal with a handler is pending for this thread while its call isn't answered.
fn is_signalled(thread: u32) -> bool {
    let bits = |name| field(thread, name, 16).unwrap_or_default();
    let waiting = bits("SigPnd:") | bits("ShdPnd:");
    waiting != 0 && waiting & bits("SigCgt:") & !bits("SigBlk:") != 0
}

/// A line of proc_pid_status(5).
fn field(thread: u32, name: &str, base: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(name))?;
    u64::from_str_radix(value.trim(), base).ok()
}
