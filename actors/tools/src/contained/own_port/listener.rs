//! The kernel's notifications of a filter (seccomp_unotify(2)). This file holds all calls without a suitable crate:
//! crates that have them bind the C library libseccomp, which users' machines don't have.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `AUDIT_ARCH_*` of the kernel's audit.h: the interface of a call.
#[cfg(target_arch = "x86_64")]
const ARCH: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const ARCH: Option<u32> = Some(0xC000_00B7);
#[cfg(target_arch = "riscv64")]
const ARCH: Option<u32> = Some(0xC000_00F3);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const ARCH: Option<u32> = None;

/// `__X32_SYSCALL_BIT`: the same call under another number. No other processor has this bit.
const X32: u32 = 0x4000_0000;

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const INTERFACE: u32 = 4;

/// Receives the notifications of one filter. After it is closed, each notified call fails with ENOSYS.
#[derive(Debug)]
pub(super) struct Listener(OwnedFd);

/// One call that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) id: u64,
    /// The calling thread, by its number in this namespace.
    pub(super) thread: u32,
    /// The first three arguments of connect(2), as the kernel copied them.
    pub(super) descriptor: i32,
    pub(super) address: u64,
    pub(super) length: i32,
}

impl Listener {
    /// Filters this thread and all that it starts from now on, so that `connect` waits for the listener's answer.
    /// `no_new_privs` must be set already.
    ///
    /// # Errors
    /// The kernel has no notifications, or another listener (of a surrounding container) is already there.
    pub(super) fn install() -> Result<Self, String> {
        let arch = ARCH.ok_or_else(|| format!("no filter is known for the processor {}", std::env::consts::ARCH))?;
        let program = program(arch);
        let length = u16::try_from(program.len()).map_err(|error| error.to_string())?;
        let of_kernel = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
        // Since Linux 5.19 only a fatal signal interrupts a call that has been read. Otherwise a runtime that signals
        // its own threads would repeat the call while the first one is being answered.
        let wanted = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        let mut refusal = io::Error::from_raw_os_error(libc::ENOSYS);
        for flags in [wanted, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER] {
            // SAFETY: `of_kernel` points to `program`, which outlives the call; the kernel copies it and writes nothing.
            let descriptor =
                unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const of_kernel) };
            match i32::try_from(descriptor) {
                // SAFETY: with this flag the call gives a new descriptor, closed on exec, that nobody else owns.
                Ok(descriptor) if descriptor >= 0 => return Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) })),
                _ => refusal = io::Error::last_os_error(),
            }
            if refusal.raw_os_error() != Some(libc::EINVAL) {
                break;
            }
        }
        Err(match refusal.raw_os_error() {
            Some(libc::EBUSY) => "a program around this one (a container) listens to such notifications already".into(),
            _ => format!("the kernel refused a listener: {refusal}"),
        })
    }

    /// The next waiting call; `None` if the caller has died meanwhile.
    pub(super) fn receive(&self) -> io::Result<Option<Call>> {
        // SAFETY: all bits zero are a value of this plain structure, and the kernel wants it so.
        let mut notification: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        match self.control(libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut notification) {
            Ok(()) => {}
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => return Ok(None),
            Err(error) => return Err(error),
        }
        let [descriptor, address, length, ..] = notification.data.args;
        Ok(Some(Call {
            id: notification.id,
            thread: notification.pid,
            descriptor: int(descriptor),
            address,
            length: int(length),
        }))
    }

    /// Whether the caller still waits. If so, facts that were read by its number before belong to it.
    pub(super) fn is_waiting(&self, id: u64) -> bool {
        let mut id = id;
        self.control(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw mut id).is_ok()
    }

    /// The call returns 0, or fails with this number. A caller that has died gets nothing.
    pub(super) fn answer(&self, id: u64, errno: Option<i32>) {
        let error = -errno.unwrap_or_default();
        let mut response = libc::seccomp_notif_resp { id, val: 0, error, flags: 0 };
        let _ = self.control(libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response);
    }

    fn control<T>(&self, request: libc::Ioctl, argument: *mut T) -> io::Result<()> {
        // SAFETY: `argument` points to the structure that the request is defined for (its size is a part of the number),
        // valid for reading and writing, of which the kernel keeps nothing.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request, argument) } {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The kernel uses the lower half of the register as an `int`.
#[allow(clippy::cast_possible_truncation)]
fn int(register: u64) -> i32 {
    register as u32 as i32
}

fn program(arch: u32) -> Vec<libc::sock_filter> {
    let connect = u32::try_from(libc::SYS_connect).unwrap_or(u32::MAX);
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = |offset| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
    let is = |value, then, otherwise| step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, then, otherwise, value);
    let end = |action| step(libc::BPF_RET | libc::BPF_K, 0, 0, action);
    vec![
        load(INTERFACE),
        is(arch, 1, 0),
        end(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
        is(connect, 2, 0),
        is(connect | X32, 1, 0),
        end(libc::SECCOMP_RET_ALLOW),
        end(libc::SECCOMP_RET_USER_NOTIF),
    ]
}

/// Which of these descriptors are ready, and for what. Waits at most so many milliseconds, or without limit. After an
/// interruption none is reported.
pub(super) fn poll(descriptors: &[(BorrowedFd<'_>, i16)], milliseconds: Option<i32>) -> io::Result<Vec<i16>> {
    let watched =
        |(fd, events): &(BorrowedFd<'_>, i16)| libc::pollfd { fd: fd.as_raw_fd(), events: *events, revents: 0 };
    let mut all: Vec<libc::pollfd> = descriptors.iter().map(watched).collect();
    let count = libc::nfds_t::try_from(all.len()).unwrap_or_default();
    // SAFETY: the pointer and the count are of one vector, whose elements the kernel may write; the descriptors are
    // borrowed for longer than the call.
    let told = unsafe { libc::poll(all.as_mut_ptr(), count, milliseconds.unwrap_or(-1)) };
    match told {
        0.. => Ok(all.iter().map(|one| one.revents).collect()),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(vec![0; all.len()]),
            error => Err(error),
        },
    }
}
