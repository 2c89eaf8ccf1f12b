//! A hostile program in the sandbox, using system calls without a safe name: this test binary itself, started with an
//! order in its environment. It needs no compiler, interpreter or library of the machine.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::os::fd::AsRawFd;

use libc::{c_int, c_long};

/// The order: `try NUMBER`, with the number of a process outside and whether there are namespaces; `connect NAME
/// PATH`; or `be hostile SEED`.
pub(crate) const ORDER: &str = "MAXIM_IN_SANDBOX";
/// Prefix of each answer.
pub(crate) const ANSWER: &str = "answer:";

/// Not a test but the program. Without an order it does nothing.
#[test]
fn a_program_in_the_sandbox() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let words: Vec<&str> = order.split(' ').collect();
    match words[..] {
        ["try", outside, namespaces] => try_all(outside.parse().expect("a number"), namespaces == "true"),
        ["connect", name, path] => connect(name, path),
        ["be", "hostile", seed] => crate::hostile::live(seed.parse().expect("a number")),
        _ => panic!("an unknown order: {order}"),
    }
}

/// The required result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Works,
    /// Exactly this error: from the filter, not from some property of the machine.
    Errno(c_int),
    /// Any error: from other restrictions.
    Refused,
    /// Any error, unless it has namespaces, in which it does no harm.
    RefusedOutsideNamespaces,
    /// The process is ended.
    Ended,
}

/// The result of a call: its number, or the error.
pub(crate) fn call(number: c_long, args: [c_long; 5]) -> Result<c_long, c_int> {
    // SAFETY: every pointer argument points to memory that outlives the call; the callers guarantee it.
    let answer = unsafe { libc::syscall(number, args[0], args[1], args[2], args[3], args[4]) };
    if answer >= 0 { Ok(answer) } else { Err(errno()) }
}

fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(-1)
}

/// Runs `act` in a child that then ends; returns its status.
fn in_a_child(act: impl FnOnce()) -> c_int {
    // SAFETY: the child has only this thread and ends by `_exit`.
    match unsafe { libc::fork() } {
        0 => {
            act();
            // SAFETY: only ends this process.
            unsafe { libc::_exit(0) }
        }
        child => {
            let mut status = 0;
            // SAFETY: `status` outlives the call.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            status
        }
    }
}

/// `clone` with these flags; a child ends at once.
pub(crate) fn clone_with(flags: c_long) -> Result<c_long, c_int> {
    let child = call(libc::SYS_clone, [flags | libc::SIGCHLD as c_long, 0, 0, 0, 0])?;
    if child == 0 {
        // SAFETY: only ends this process.
        unsafe { libc::_exit(0) }
    }
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    unsafe { libc::waitpid(child as c_int, &raw mut status, libc::__WALL) };
    Ok(child)
}

fn clone3_with(flags: u64, set_tid: Option<i32>) -> Result<c_long, c_int> {
    let tid = set_tid.unwrap_or(0);
    let mut args = [0_u64; 11];
    args[0] = flags;
    args[4] = libc::SIGCHLD as u64;
    if set_tid.is_some() {
        args[8] = (&raw const tid) as u64;
        args[9] = 1;
    }
    let size = if set_tid.is_some() { 80 } else { 64 };
    let child = call(libc::SYS_clone3, [args.as_ptr() as c_long, size, 0, 0, 0])?;
    if child == 0 {
        // SAFETY: only ends this process.
        unsafe { libc::_exit(0) }
    }
    Ok(child)
}

type Call = Box<dyn Fn() -> Result<c_long, c_int>>;

fn plain(number: c_long, args: [c_long; 5]) -> Call {
    Box::new(move || call(number, args))
}

/// All attempts, by name. `outside` is a process of the same user that no call may affect.
fn calls(outside: c_int) -> Vec<(&'static str, Expected, Call)> {
    use Expected::{Ended, Errno, Refused, RefusedOutsideNamespaces, Works};
    const EPERM: Expected = Errno(libc::EPERM);
    const ENOSYS: Expected = Errno(libc::ENOSYS);
    let other = c_long::from(outside);
    let own = c_long::from(std::process::id() as c_int);
    let path = |name: &str| CString::new(name).expect("a path").into_raw() as c_long;
    let keep = |bytes: Vec<u64>| Box::leak(bytes.into_boxed_slice()).as_mut_ptr() as c_long;
    let (file, cwd, none) = (path("file"), c_long::from(libc::AT_FDCWD), [0; 5]);
    std::fs::write("file", "#!/bin/sh\nid\n").expect("written");
    let open = std::fs::File::options().read(true).write(true).open("file").expect("open");
    let descriptor = c_long::from(open.as_raw_fd());
    std::mem::forget(open);
    let (zeros, answers, limit) = (keep(vec![0; 64]), keep(vec![0; 64]), keep(vec![1, 1]));
    let new = |flag: c_int| plain(libc::SYS_unshare, [flag.into(), 0, 0, 0, 0]);
    let cloned = |flag: c_int| -> Call { Box::new(move || clone_with(flag.into())) };
    let mode = |number, at: usize, mode: c_long| {
        let mut args = [file, 0, 0, 0, 0];
        if at == 2 {
            args = [cwd, file, 0, 0, 0];
        }
        args[at] = mode;
        plain(number, args)
    };
    let create = c_long::from(libc::O_CREAT | libc::O_WRONLY);
    let unnamed = c_long::from(libc::O_TMPFILE | libc::O_WRONLY);
    let outside_file = |name: &str| path(&format!("/proc/{outside}/{name}"));
    let reading = |name: &str| plain(libc::SYS_openat, [cwd, outside_file(name), 0, 0, 0]);
    let mut all: Vec<(&'static str, Expected, Call)> = vec![
        // Leaving the group and entering namespaces.
        ("setsid", EPERM, plain(libc::SYS_setsid, none)),
        ("setpgid, its own", EPERM, plain(libc::SYS_setpgid, none)),
        ("setpgid by number", EPERM, plain(libc::SYS_setpgid, [own, own, 0, 0, 0])),
        ("setpgid to the group outside", EPERM, plain(libc::SYS_setpgid, [0, other, 0, 0, 0])),
        ("unshare user", EPERM, new(libc::CLONE_NEWUSER)),
        ("unshare user and processes", EPERM, new(libc::CLONE_NEWUSER | libc::CLONE_NEWPID)),
        ("unshare processes", EPERM, new(libc::CLONE_NEWPID)),
        ("unshare mounts", EPERM, new(libc::CLONE_NEWNS)),
        ("unshare network", EPERM, new(libc::CLONE_NEWNET)),
        ("unshare ipc", EPERM, new(libc::CLONE_NEWIPC)),
        ("unshare names", EPERM, new(libc::CLONE_NEWUTS)),
        ("unshare cgroup", EPERM, new(libc::CLONE_NEWCGROUP)),
        ("unshare time", EPERM, new(0x80)),
        ("unshare of what is its own anyway", Works, new(libc::CLONE_FILES | libc::CLONE_FS)),
        ("clone user", EPERM, cloned(libc::CLONE_NEWUSER)),
        ("clone user and processes", EPERM, cloned(libc::CLONE_NEWUSER | libc::CLONE_NEWPID)),
        ("clone network", EPERM, cloned(libc::CLONE_NEWNET)),
        ("clone as a sibling", EPERM, cloned(libc::CLONE_PARENT)),
        ("clone", Works, cloned(0)),
        ("clone3", ENOSYS, Box::new(|| clone3_with(0, None))),
        ("clone3 user", ENOSYS, Box::new(|| clone3_with(libc::CLONE_NEWUSER as u64, None))),
        ("clone3 with a number", ENOSYS, Box::new(move || clone3_with(0, Some(outside)))),
        ("setns", EPERM, plain(libc::SYS_setns, [descriptor, 0, 0, 0, 0])),
        // Other processes.
        ("prlimit of another", EPERM, plain(libc::SYS_prlimit64, [other, 1, limit, 0, 0])),
        (
            "prlimit of its parent",
            EPERM,
            Box::new(move || {
                // SAFETY: only returns a number.
                let parent = unsafe { libc::getppid() };
                call(libc::SYS_prlimit64, [parent.into(), 7, limit, 0, 0])
            }),
        ),
        ("prlimit of itself, read", Works, plain(libc::SYS_prlimit64, [0, 1, 0, answers, 0])),
        ("sched_setscheduler", EPERM, plain(libc::SYS_sched_setscheduler, [other, 5, zeros, 0, 0])),
        ("sched_setscheduler, its own", Works, plain(libc::SYS_sched_setscheduler, [0, 3, zeros, 0, 0])),
        ("sched_setparam", EPERM, plain(libc::SYS_sched_setparam, [other, zeros, 0, 0, 0])),
        ("sched_setattr", EPERM, plain(libc::SYS_sched_setattr, [other, zeros, 0, 0, 0])),
        ("sched_setaffinity", EPERM, plain(libc::SYS_sched_setaffinity, [other, 8, limit, 0, 0])),
        ("sched_setaffinity, its own", Works, plain(libc::SYS_sched_setaffinity, [0, 8, limit, 0, 0])),
        ("setpriority of another", EPERM, plain(libc::SYS_setpriority, [0, other, 19, 0, 0])),
        ("setpriority of the group", EPERM, plain(libc::SYS_setpriority, [1, 0, 19, 0, 0])),
        ("setpriority of a user", EPERM, plain(libc::SYS_setpriority, [2, 65_533, 19, 0, 0])),
        ("setpriority, its own", Works, plain(libc::SYS_setpriority, [0, 0, 5, 0, 0])),
        ("ioprio_set of another", EPERM, plain(libc::SYS_ioprio_set, [1, other, 3 << 13, 0, 0])),
        ("ioprio_set of the group", EPERM, plain(libc::SYS_ioprio_set, [2, 0, 3 << 13, 0, 0])),
        ("ioprio_set, its own", Works, plain(libc::SYS_ioprio_set, [1, 0, 3 << 13, 0, 0])),
        ("move_pages", EPERM, plain(libc::SYS_move_pages, [other, 0, 0, 0, 0])),
        ("migrate_pages", EPERM, plain(libc::SYS_migrate_pages, [other, 0, 0, 0, 0])),
        ("kcmp", EPERM, plain(libc::SYS_kcmp, [own, other, 0, 0, 0])),
        ("process_madvise", EPERM, plain(libc::SYS_process_madvise, [-1, 0, 0, 0, 0])),
        ("pidfd_getfd", EPERM, plain(libc::SYS_pidfd_getfd, [-1, 0, 0, 0, 0])),
        (
            "pidfd_send_signal",
            Refused,
            Box::new(move || {
                let handle = call(libc::SYS_pidfd_open, [other, 0, 0, 0, 0])?;
                call(libc::SYS_pidfd_send_signal, [handle, 0, 0, 0, 0])
            }),
        ),
        ("ptrace", Refused, plain(libc::SYS_ptrace, [0x4206 /* PTRACE_SEIZE */, other, 0, 0, 0])),
        ("process_vm_readv", Refused, plain(libc::SYS_process_vm_readv, [other, limit, 1, limit, 1])),
        ("kill", Refused, plain(libc::SYS_kill, [other, 0, 0, 0, 0])),
        ("tgkill", Refused, plain(libc::SYS_tgkill, [other, other, 0, 0, 0])),
        ("kill of its group", EPERM, plain(libc::SYS_kill, [0, 0, 0, 0, 0])),
        ("kill of everyone", EPERM, plain(libc::SYS_kill, [-1, 0, 0, 0, 0])),
        ("memory of another", Refused, reading("mem")),
        ("environment of another", Refused, reading("environ")),
        ("folder of another", Refused, reading("cwd/file")),
        // Programs that run as their owner.
        ("chmod setuid", EPERM, mode(libc::SYS_fchmodat, 2, 0o4755)),
        ("chmod setgid", EPERM, mode(libc::SYS_fchmodat, 2, 0o2755)),
        ("chmod both", EPERM, mode(libc::SYS_fchmodat, 2, 0o6711)),
        ("chmod", Works, mode(libc::SYS_fchmodat, 2, 0o755)),
        ("chmod sticky", Works, mode(libc::SYS_fchmodat, 2, 0o1755)),
        ("fchmod setuid", EPERM, plain(libc::SYS_fchmod, [descriptor, 0o4755, 0, 0, 0])),
        ("fchmodat2 setuid", EPERM, mode(452, 2, 0o4755)),
        ("openat making setuid", EPERM, plain(libc::SYS_openat, [cwd, path("suid"), create, 0o4755, 0])),
        ("openat making setgid", EPERM, plain(libc::SYS_openat, [cwd, path("sgid"), create, 0o2755, 0])),
        ("openat making one without a name", EPERM, plain(libc::SYS_openat, [cwd, path("."), unnamed, 0o4755, 0])),
        ("openat making", Works, plain(libc::SYS_openat, [cwd, path("plain"), create, 0o755, 0])),
        ("openat of what is there, with any mode", Works, plain(libc::SYS_openat, [cwd, file, 0, 0o4755, 0])),
        (
            "openat2",
            ENOSYS,
            plain(libc::SYS_openat2, [cwd, path("suid2"), keep(vec![create as u64, 0o4755, 0]), 24, 0]),
        ),
        ("mknodat setuid", EPERM, plain(libc::SYS_mknodat, [cwd, path("node"), 0o104_755, 0, 0])),
        // Sockets and rings.
        ("socket", Errno(libc::EACCES), plain(libc::SYS_socket, [libc::AF_UNIX.into(), 1, 0, 0, 0])),
        ("socket of the internet", Errno(libc::EACCES), plain(libc::SYS_socket, [libc::AF_INET.into(), 1, 0, 0, 0])),
        ("socketpair", Works, plain(libc::SYS_socketpair, [libc::AF_UNIX.into(), 1, 0, answers, 0])),
        (
            "socketpair of datagrams",
            Errno(libc::EACCES),
            plain(
                libc::SYS_socketpair,
                [libc::AF_UNIX.into(), (libc::SOCK_DGRAM | libc::SOCK_CLOEXEC).into(), 0, answers, 0],
            ),
        ),
        ("raw socketpair", Errno(libc::EACCES), plain(libc::SYS_socketpair, [libc::AF_UNIX.into(), 3, 0, answers, 0])),
        ("setxattr", ENOSYS, plain(libc::SYS_setxattr, none)),
        ("lsetxattr", ENOSYS, plain(libc::SYS_lsetxattr, none)),
        ("fsetxattr", ENOSYS, plain(libc::SYS_fsetxattr, none)),
        ("setxattrat", ENOSYS, plain(463, none)),
        ("removexattr", ENOSYS, plain(libc::SYS_removexattr, none)),
        ("lremovexattr", ENOSYS, plain(libc::SYS_lremovexattr, none)),
        ("fremovexattr", ENOSYS, plain(libc::SYS_fremovexattr, none)),
        ("removexattrat", ENOSYS, plain(466, none)),
        ("file_setattr", ENOSYS, plain(469, none)),
        ("FS_IOC_SETFLAGS", EPERM, plain(libc::SYS_ioctl, [0, 0x4008_6602, 0, 0, 0])),
        ("FS_IOC_FSSETXATTR", EPERM, plain(libc::SYS_ioctl, [0, 0x401c_5820, 0, 0, 0])),
        ("io_uring_setup", ENOSYS, plain(libc::SYS_io_uring_setup, [4, keep(vec![0; 32]), 0, 0, 0])),
        // The kernel and the machine.
        ("bpf", EPERM, plain(libc::SYS_bpf, [0, zeros, 64, 0, 0])),
        ("perf_event_open", EPERM, plain(libc::SYS_perf_event_open, [zeros, 0, -1, -1, 0])),
        ("userfaultfd", EPERM, plain(libc::SYS_userfaultfd, [1, 0, 0, 0, 0])),
        ("keyctl", EPERM, plain(libc::SYS_keyctl, [0, -3, 0, 0, 0])),
        ("mount", EPERM, plain(libc::SYS_mount, [path("tmpfs"), path("."), path("tmpfs"), 0, 0])),
        ("umount2", EPERM, plain(libc::SYS_umount2, [path("/proc"), 2, 0, 0, 0])),
        ("fsopen", EPERM, plain(libc::SYS_fsopen, [path("tmpfs"), 0, 0, 0, 0])),
        ("open_tree", EPERM, plain(libc::SYS_open_tree, [cwd, path("."), 1, 0, 0])),
        ("chroot", EPERM, plain(libc::SYS_chroot, [path("."), 0, 0, 0, 0])),
        ("shmget", RefusedOutsideNamespaces, plain(libc::SYS_shmget, [0, 4096, 0o1600, 0, 0])),
        ("msgget", RefusedOutsideNamespaces, plain(libc::SYS_msgget, [0, 0o1600, 0, 0, 0])),
        // Its initial properties.
        (
            "no new privileges",
            Works,
            Box::new(|| {
                // SAFETY: only returns a number.
                let has = unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) };
                if has == 1 { Ok(0) } else { Err(0) }
            }),
        ),
        (
            "no descriptor but three and its own",
            Works,
            Box::new(move || {
                let open = std::fs::read_dir("/proc/self/fd").map_err(|_| 0)?.flatten();
                let names = open.filter_map(|entry| entry.file_name().to_str()?.parse::<c_long>().ok());
                // Pairs and files of the earlier calls were inherited in order; the folder itself is open too.
                let inherited = names.filter(|number| *number > 2 && *number < descriptor).count();
                if inherited == 0 { Ok(0) } else { Err(inherited as c_int) }
            }),
        ),
    ];
    #[cfg(target_arch = "x86_64")]
    all.extend([
        ("chmod of old, setuid", EPERM, mode(libc::SYS_chmod, 1, 0o4755)),
        ("open of old, making setuid", EPERM, plain(libc::SYS_open, [path("suid3"), create, 0o4755, 0, 0])),
        ("creat setuid", EPERM, plain(libc::SYS_creat, [path("suid4"), 0o4755, 0, 0, 0])),
        ("mknod setuid", EPERM, plain(libc::SYS_mknod, [path("node2"), 0o104_755, 0, 0, 0])),
        ("x32 setsid", ENOSYS, plain(0x4000_0000 | libc::SYS_setsid, none)),
        ("x32 chmod", ENOSYS, plain(0x4000_0000 | libc::SYS_chmod, [file, 0o4755, 0, 0, 0])),
        ("x32 of another number", ENOSYS, plain(0x4000_0000 | 533, [other, 0, 0, 0, 0])),
        ("int 0x80", Ended, Box::new(|| Ok(c_long::from(in_a_child(getpid_of_32_bits))))),
    ]);
    all
}

/// `getpid` by the interface of 32 bits.
#[cfg(target_arch = "x86_64")]
fn getpid_of_32_bits() {
    // SAFETY: the call takes no arguments and changes only the result register.
    unsafe { std::arch::asm!("int 0x80", inout("eax") 20_i32 => _, options(nostack)) }
}

impl Expected {
    fn is(self, answer: Result<c_long, c_int>, has_namespaces: bool) -> bool {
        match self {
            Self::Works => answer.is_ok(),
            Self::Errno(errno) => answer == Err(errno),
            Self::Refused => answer.is_err(),
            Self::RefusedOutsideNamespaces => answer.is_err() || has_namespaces,
            // Status 0 would mean that it ended by itself.
            Self::Ended => answer.is_ok_and(|status| status != 0),
        }
    }
}

fn try_all(outside: c_int, has_namespaces: bool) {
    for (name, expected, call) in calls(outside) {
        let answer = call();
        let verdict = if expected.is(answer, has_namespaces) { "right" } else { "wrong" };
        println!("{ANSWER}{verdict}: {name}: {answer:?}, expected {expected:?}");
    }
    println!("{ANSWER}all");
}

/// Connects to an abstract socket and to one in the working folder.
fn connect(name: &str, path: &str) {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixStream};
    let address = SocketAddr::from_abstract_name(name).expect("a name");
    let word = |is_open| if is_open { "open" } else { "refused" };
    let (hidden, named) = (UnixStream::connect_addr(&address).is_ok(), UnixStream::connect(path).is_ok());
    println!("{ANSWER}{} {}", word(hidden), word(named));
}

/// Replaces this process by this program, with an empty environment.
pub(crate) fn exec(words: &[&str]) {
    let words: Vec<CString> = words.iter().map(|word| CString::new(*word).expect("a word")).collect();
    let mut argv: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
    argv.push(std::ptr::null());
    let nothing = [std::ptr::null()];
    // SAFETY: both lists end with a null pointer and outlive the call.
    unsafe { libc::execve(argv[0], argv.as_ptr(), nothing.as_ptr()) };
}

/// True in the child.
pub(crate) fn fork() -> bool {
    // SAFETY: parent and child continue with only this thread.
    unsafe { libc::fork() == 0 }
}

pub(crate) fn leave() -> ! {
    // SAFETY: only ends this process.
    unsafe { libc::_exit(0) }
}

pub(crate) fn ignore_signals() {
    for signal in 1..32 {
        // SAFETY: sets no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

pub(crate) fn close_all() {
    for descriptor in 0..64 {
        // SAFETY: the closed descriptor isn't used any more: the hostile program writes nothing.
        unsafe { libc::close(descriptor) };
    }
}
