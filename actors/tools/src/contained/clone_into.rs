//! Starts a program inside a control group from its first moment (`CLONE_INTO_CGROUP`, clone(2); Linux 5.7).
//!
//! Moving a process that runs already waits for a grace period of the kernel's RCU: 5 to 14 ms. The standard library
//! can't start one elsewhere. So this does what its `posix_spawn` does: the child shares the memory of the thread that
//! starts it, which waits until the child has become its program.

#![allow(unsafe_code)]

use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use seccompiler::BpfProgram;

/// What the child becomes.
pub(super) struct Program<'run> {
    pub(super) words: Vec<OsString>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) cwd: &'run Path,
    /// The process group that it joins.
    pub(super) group: u32,
    /// Its three streams.
    pub(super) streams: [&'run OwnedFd; 3],
    /// The child installs it itself, because it refuses the call that makes the child.
    pub(super) filter: Option<&'run BpfProgram>,
}

/// Starts it in this control group and returns its process id.
///
/// # Errors
/// The kernel refuses. Nothing has been started then.
#[cfg(target_arch = "x86_64")]
pub(super) fn start(program: &Program<'_>, cgroup: BorrowedFd<'_>) -> io::Result<u32> {
    by_kernel::start(program, cgroup)
}

/// For processors without an implementation of the call.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn start(_: &Program<'_>, _: BorrowedFd<'_>) -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_arch = "x86_64")]
mod by_kernel {
    use std::arch::asm;
    use std::ffi::{CString, OsStr};
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::ptr;

    use super::*;

    /// From the kernel's sched.h: the child gets no signal handlers.
    const CLEAR_HANDLERS: u64 = 0x1_0000_0000;
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    /// Bytes of the child's stack.
    const STACK: usize = 128 * 1024;

    /// `struct clone_args` (clone(2)).
    #[repr(C)]
    #[derive(Default)]
    struct CloneArgs {
        flags: u64,
        pidfd: u64,
        child_tid: u64,
        parent_tid: u64,
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        tls: u64,
        set_tid: u64,
        set_tid_size: u64,
        cgroup: u64,
    }

    /// What the child reads, all made before the child starts, and where it writes why it failed.
    struct Order {
        path: *const libc::c_char,
        words: *const *const libc::c_char,
        environment: *const *const libc::c_char,
        cwd: *const libc::c_char,
        group: libc::pid_t,
        streams: [libc::c_int; 3],
        filter: *const libc::sock_fprog,
        failed: libc::c_int,
    }

    pub(super) fn start(program: &Program<'_>, cgroup: BorrowedFd<'_>) -> io::Result<u32> {
        let words = program.words.iter().map(|word| text(word)).collect::<io::Result<Vec<_>>>()?;
        let variables = program.environment.iter().map(|(name, value)| text(OsStr::new(&format!("{name}={value}"))));
        let variables = variables.collect::<io::Result<Vec<_>>>()?;
        let pointers = |of: &[CString]| -> Vec<*const libc::c_char> {
            of.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
        };
        let (word_pointers, variable_pointers) = (pointers(&words), pointers(&variables));
        let cwd = text(program.cwd.as_os_str())?;
        let filter = program.filter.map(|program| libc::sock_fprog {
            len: u16::try_from(program.len()).unwrap_or(u16::MAX),
            // The same four fields as the kernel's (filter.h).
            filter: program.as_ptr().cast::<libc::sock_filter>().cast_mut(),
        });
        let path = words.first().ok_or(io::ErrorKind::InvalidInput)?;
        let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let mut order = Order {
            path: path.as_ptr(),
            words: word_pointers.as_ptr(),
            environment: variable_pointers.as_ptr(),
            cwd: cwd.as_ptr(),
            group: libc::pid_t::try_from(program.group).map_err(invalid)?,
            streams: program.streams.map(AsRawFd::as_raw_fd),
            filter: filter.as_ref().map_or(ptr::null(), ptr::from_ref),
            failed: 0,
        };
        // Of 16 bytes each, as the processor wants a stack to be aligned.
        let mut stack = vec![0_u128; STACK / 16];
        let args = CloneArgs {
            flags: (libc::CLONE_VM | libc::CLONE_VFORK) as u64 | CLEAR_HANDLERS | INTO_CGROUP,
            exit_signal: libc::SIGCHLD as u64,
            stack: stack.as_mut_ptr() as u64,
            stack_size: STACK as u64,
            cgroup: u64::try_from(cgroup.as_raw_fd()).map_err(invalid)?,
            ..CloneArgs::default()
        };
        let order = &raw mut order;
        // SAFETY: all that `order` points to lives in this frame, and this thread waits in `call` until the child has let
        // go of it. No signal is handled meanwhile: all are blocked here, and the child has no handlers.
        let (answer, failed) = unsafe {
            let mut all = std::mem::zeroed();
            let mut before = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            let answer = call(&args, order);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
            (answer, (&raw const (*order).failed).read_volatile())
        };
        drop(stack);
        let pid = u32::try_from(answer).map_err(|_| io::Error::from_raw_os_error((-answer) as i32))?;
        if failed == 0 {
            return Ok(pid);
        }
        // SAFETY: takes note of the child's death; no pointer that is written to.
        unsafe { libc::waitpid(pid as libc::pid_t, ptr::null_mut(), 0) };
        Err(io::Error::from_raw_os_error(failed))
    }

    fn text(word: &OsStr) -> io::Result<CString> {
        CString::new(word.as_bytes()).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a NUL character in it"))
    }

    /// The answer of clone3. The child begins on its own stack and never comes back.
    ///
    /// # Safety
    /// `args` names a stack of this process, and `order` lives until this returns.
    unsafe fn call(args: &CloneArgs, order: *mut Order) -> i64 {
        let answer: i64;
        // SAFETY: only the child takes the way through `become_program`. Its stack is empty, so the call there is aligned.
        unsafe {
            asm!(
                "syscall",
                "test rax, rax",
                "jnz 2f",
                "xor ebp, ebp",
                "mov rdi, {order}",
                "call {child}",
                "ud2",
                "2:",
                order = in(reg) order,
                child = in(reg) become_program as *const (),
                inlateout("rax") libc::SYS_clone3 => answer,
                in("rdi") ptr::from_ref(args),
                in("rsi") size_of::<CloneArgs>(),
                out("rcx") _,
                out("r11") _,
            );
        }
        answer
    }

    /// The child: nothing here allocates, locks or panics, since it shares the memory of a process whose other threads run.
    extern "C" fn become_program(order: *mut Order) -> ! {
        // SAFETY: see `start`. Each call is one that may follow a vfork (signal-safety(7)).
        unsafe {
            let failed = prepared(&*order);
            if !failed {
                libc::execve((*order).path, (*order).words, (*order).environment);
            }
            (&raw mut (*order).failed).write_volatile(*libc::__errno_location());
            libc::_exit(127)
        }
    }

    /// # Safety
    /// As for [`become_program`].
    unsafe fn prepared(order: &Order) -> bool {
        // SAFETY: each pointer was made by `start` and still lives.
        unsafe {
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::setpgid(0, order.group) < 0
                || libc::dup2(order.streams[0], 0) < 0
                || libc::dup2(order.streams[1], 1) < 0
                || libc::dup2(order.streams[2], 2) < 0
                || libc::chdir(order.cwd) < 0
                // This program ignores it, and ignoring is inherited.
                || libc::signal(libc::SIGPIPE, libc::SIG_DFL) == libc::SIG_ERR
                || libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut()) < 0
                || (!order.filter.is_null()
                    && libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, order.filter) < 0)
        }
    }
}
