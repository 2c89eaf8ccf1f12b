//! Refuses ways to a peer other than `connect`, by what the kernel sees in a call's arguments.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// The lower bits of a socket's type. The others are flags (`SOCK_TYPE_MASK` of the kernel's net.h).
const TYPE: u64 = 0xf;
const SCTP: u64 = 132;
const DCCP: u64 = 33;
const MPTCP: u64 = 262;

/// The x32 interface has the same calls under other numbers.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// One rule of a filter: a call, and conditions on its arguments (number, bits compared, value). A call is refused if
/// all conditions of one of its rows hold.
type Row = (i64, &'static [(u8, u64, u64)]);

#[allow(clippy::cast_sign_loss)]
const FAST_OPEN: u64 = libc::MSG_FASTOPEN as u64;
#[allow(clippy::cast_sign_loss)]
const INET: u64 = libc::AF_INET as u64;
#[allow(clippy::cast_sign_loss)]
const INET6: u64 = libc::AF_INET6 as u64;
#[allow(clippy::cast_sign_loss)]
const RAW: u64 = libc::SOCK_RAW as u64;
#[allow(clippy::cast_sign_loss)]
const DATAGRAM: u64 = libc::SOCK_DGRAM as u64;

const WHOLE: u64 = u32::MAX as u64;

/// A connection and its first bytes in one call, whose address is in memory. Refused; programs then connect the usual
/// way.
const NOT_FAST: [Row; 3] = [
    (libc::SYS_sendto, &[(3, FAST_OPEN, FAST_OPEN)]),
    (libc::SYS_sendmsg, &[(2, FAST_OPEN, FAST_OPEN)]),
    (libc::SYS_sendmmsg, &[(3, FAST_OPEN, FAST_OPEN)]),
];

/// Protocols that connect by a socket option or a message, or that make connections themselves.
const NO_SUCH_PROTOCOL: [Row; 3] = [
    (libc::SYS_socket, &[(2, WHOLE, SCTP)]),
    (libc::SYS_socket, &[(2, WHOLE, DCCP)]),
    (libc::SYS_socket, &[(2, WHOLE, MPTCP)]),
];

/// Raw packets, and pairs of local datagram sockets, which could send to any other local socket.
const NOT_PERMITTED: [Row; 4] = [
    (libc::SYS_socket, &[(0, WHOLE, INET), (1, TYPE, RAW)]),
    (libc::SYS_socket, &[(0, WHOLE, INET6), (1, TYPE, RAW)]),
    (libc::SYS_socketpair, &[(1, TYPE, DATAGRAM)]),
    (libc::SYS_socketpair, &[(1, TYPE, RAW)]),
];

/// For this thread and all that it starts from now on. Also sets `no_new_privs`.
///
/// # Errors
/// The kernel doesn't accept the filter; in words.
pub(super) fn apply() -> Result<(), String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|_| format!("no filter is known for the processor {}", std::env::consts::ARCH))?;
    for (errno, rows) in [
        (libc::EOPNOTSUPP, &NOT_FAST[..]),
        (libc::EPROTONOSUPPORT, &NO_SUCH_PROTOCOL[..]),
        (libc::EACCES, &NOT_PERMITTED[..]),
    ] {
        let program = compile(rows, errno, arch).map_err(|error| format!("the filter can't be built: {error}"))?;
        seccompiler::apply_filter(&program).map_err(|error| format!("the kernel refused the filter: {error}"))?;
    }
    Ok(())
}

fn compile(rows: &[Row], errno: i32, arch: TargetArch) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for (call, conditions) in rows {
        let condition = |(argument, bits, value): &(u8, u64, u64)| {
            SeccompCondition::new(*argument, Len::Dword, Op::MaskedEq(*bits), *value)
        };
        let rule = SeccompRule::new(conditions.iter().map(condition).collect::<Result<_, _>>()?)?;
        #[cfg(target_arch = "x86_64")]
        rules.entry(*call | X32).or_default().push(rule.clone());
        rules.entry(*call).or_default().push(rule);
    }
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).and_then(BpfProgram::try_from)
}
