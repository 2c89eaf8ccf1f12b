//! Calls that a child doesn't get: calls that leave its group or its namespaces, touch other processes, change the
//! machine, or leave a program behind that runs as its owner.
//!
//! A filter sees numbers, never what a pointer leads to. So a call that takes a structure is always refused. Its error
//! makes programs use the older call with numbers (`clone` for `clone3`, `openat` for `openat2`).

use seccompiler::{
    BpfProgram, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompRule, sock_filter,
};

use super::seccomp_layer::{Rules, condition, everything, rule};

/// Always refused. Without privileges most are refused anyway. A child of root that couldn't drop its privileges has
/// them.
const NEVER: &[i64] = &[
    // Leaving: sessions and the namespaces of others. `pidfd_getfd` and `kcmp` look into others.
    libc::SYS_setsid,
    libc::SYS_setns,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    // The kernel's key rings hold the user's secrets.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Reading and acting past all other walls.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Mounts.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // The machine.
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

/// "Not implemented": programs do without it or use the older call.
const NOT_IMPLEMENTED: &[i64] = &[
    // io_uring can do what sockets do, past the filter.
    libc::SYS_io_uring_setup,
    // Their flags and modes are behind a pointer.
    libc::SYS_clone3,
    libc::SYS_openat2,
    // An access list can open a file to another account, and Landlock doesn't restrict who sets one. Programs fall back
    // to modes.
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    // Nor does it restrict who takes one away, or who sets attributes such as "append only".
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
];

/// Linux 6.13; the same number on every supported processor.
const SETXATTRAT: i64 = 463;
/// Linux 6.13.
const REMOVEXATTRAT: i64 = 466;
/// Linux 6.17.
const FILE_SETATTR: i64 = 469;

/// Requests of `ioctl` that set a file's attributes (fs.h): `FS_IOC_SETFLAGS` with 64 and with 32 bits, and
/// `FS_IOC_FSSETXATTR`. A file that is only open for reading takes them.
const SET_ATTRIBUTES: [u64; 3] = [0x4008_6602, 0x4004_6602, 0x401c_5820];

/// Shared memory and queues of System V and POSIX, which outlive their maker. In namespaces they end with these.
const LEFT_BEHIND: &[i64] = &[libc::SYS_shmget, libc::SYS_semget, libc::SYS_msgget, libc::SYS_mq_open];

/// Flags of `clone` and `unshare` (sched.h): new namespaces, and a child that isn't the caller's own.
const LEAVING_FLAGS: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// In the low byte, which in `clone` is the exit signal.
const NEW_TIME: u64 = 0x80;

/// Calls that change a process by its number, and the argument with the number. Only 0 passes, the caller itself: a
/// filter can't tell the caller's own number from another's.
const BY_NUMBER: &[(i64, u8)] = &[
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_migrate_pages, 0),
    (libc::SYS_move_pages, 0),
];

/// Calls that take a kind (process, group, user) before the number, and the kind that means one process.
const BY_KIND_AND_NUMBER: &[(i64, u64)] =
    &[(libc::SYS_setpriority, 0 /* PRIO_PROCESS */), (libc::SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */)];

/// The same on each processor. Not every C library has it (unistd.h of Linux 6.6).
const FCHMODAT2: i64 = 452;

/// Calls that set a file's mode, and the argument with the mode.
#[cfg(target_arch = "x86_64")]
const MODES: &[(i64, u8)] = &[
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
    (libc::SYS_creat, 1),
];
#[cfg(not(target_arch = "x86_64"))]
const MODES: &[(i64, u8)] = &[(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2), (libc::SYS_mknodat, 2)];

/// Calls that set a mode if their flags create a file: flags, mode.
#[cfg(target_arch = "x86_64")]
const OPENING: &[(i64, u8, u8)] = &[(libc::SYS_open, 1, 2), (libc::SYS_openat, 2, 3)];
#[cfg(not(target_arch = "x86_64"))]
const OPENING: &[(i64, u8, u8)] = &[(libc::SYS_openat, 2, 3)];

/// A program with one of these bits runs as its owner or its group, for every caller.
const RUNS_AS_OWNER: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];
/// `__O_TMPFILE` without the folder bit, which `O_TMPFILE` holds too (fcntl.h).
const TEMPORARY: u64 = (libc::O_TMPFILE & !libc::O_DIRECTORY) as u64;

/// Calls that answer "not permitted". `pgid` is the only group that may be joined.
pub(super) fn refused(pgid: u32) -> Result<Rules, String> {
    let mut rules = everything(NEVER);
    rules.insert(libc::SYS_setpgid, vec![rule(vec![condition(1, Op::Ne, pgid.into())?])?]);
    // The own group (0) holds the process that ends it when the daemon dies; -1 is every process of the user.
    let everyone = [0, u64::from(u32::MAX)];
    rules.insert(libc::SYS_kill, everyone.into_iter().map(|pid| is(0, pid)).collect::<Result<_, _>>()?);
    let flags: Vec<u64> = LEAVING_FLAGS.iter().map(|flag| u64::from(flag.unsigned_abs())).collect();
    let of_clone = flags.iter().copied().chain([libc::CLONE_PARENT.unsigned_abs().into()]);
    rules.insert(libc::SYS_clone, of_clone.map(|flag| has(0, flag)).collect::<Result<_, _>>()?);
    let of_unshare = flags.iter().copied().chain([NEW_TIME]);
    rules.insert(libc::SYS_unshare, of_unshare.map(|flag| has(0, flag)).collect::<Result<_, _>>()?);
    for (call, pid) in BY_NUMBER {
        rules.insert(*call, vec![is_not(*pid, 0)?]);
    }
    for (call, kind) in BY_KIND_AND_NUMBER {
        rules.insert(*call, vec![is_not(0, *kind)?, is_not(1, 0)?]);
    }
    // Limits of others may be read: a null pointer sets none.
    let new_limit = SeccompCondition::new(2, Len::Qword, Op::Ne, 0).map_err(|error| error.to_string())?;
    rules.insert(libc::SYS_prlimit64, vec![rule(vec![condition(0, Op::Ne, 0)?, new_limit])?]);
    let requests = SET_ATTRIBUTES.into_iter().map(|request| is(1, request));
    rules.insert(libc::SYS_ioctl, requests.collect::<Result<_, _>>()?);
    for (call, mode) in MODES {
        rules.insert(*call, RUNS_AS_OWNER.into_iter().map(|bit| has(*mode, bit)).collect::<Result<_, _>>()?);
    }
    for (call, flags, mode) in OPENING {
        let makes = [libc::O_CREAT.unsigned_abs().into(), TEMPORARY];
        let ways = makes.into_iter().flat_map(|makes| RUNS_AS_OWNER.map(|bit| (makes, bit)));
        let both = |(makes, bit)| rule(vec![masked(*flags, makes)?, masked(*mode, bit)?]);
        rules.insert(*call, ways.map(both).collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

/// Calls that answer "not implemented".
pub(super) fn not_implemented(has_namespaces: bool) -> Rules {
    let mut rules = everything(NOT_IMPLEMENTED);
    if !has_namespaces {
        rules.extend(everything(LEFT_BEHIND));
    }
    rules
}

/// The x32 interface has the same calls under other numbers. Nothing in use needs it (`__X32_SYSCALL_BIT` of the
/// kernel's unistd.h). The other filters end a program that uses the 32-bit interface.
#[cfg(target_arch = "x86_64")]
pub(super) fn no_other_interface() -> Option<BpfProgram> {
    const X32: u32 = 0x4000_0000;
    const LOAD_NUMBER: u16 = 0x20;
    const IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const ERRNO: u32 = 0x0005_0000;
    const ALLOW: u32 = 0x7fff_0000;
    let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    let not_implemented = ERRNO | libc::ENOSYS.unsigned_abs();
    Some(vec![
        step(LOAD_NUMBER, 0, 0),
        step(IF_AT_LEAST, 1, X32),
        step(RETURN, 0, not_implemented),
        step(RETURN, 0, ALLOW),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn no_other_interface() -> Option<BpfProgram> {
    None
}

fn masked(argument: u8, bits: u64) -> Result<SeccompCondition, String> {
    condition(argument, Op::MaskedEq(bits), bits)
}

fn has(argument: u8, bits: u64) -> Result<SeccompRule, String> {
    rule(vec![masked(argument, bits)?])
}

fn is(argument: u8, value: u64) -> Result<SeccompRule, String> {
    rule(vec![condition(argument, Op::Eq, value)?])
}

fn is_not(argument: u8, value: u64) -> Result<SeccompRule, String> {
    rule(vec![condition(argument, Op::Ne, value)?])
}
