//! Network and process group by seccomp: the refused system calls return an error.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::policy::Network;
use super::process_rules;
use super::report::Layer;
use super::walls::NO_GROUP;

pub(super) type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Filters this thread and all that it starts from now on, except for the last filter. The caller installs that one or
/// has its child install it. Returns the layers for network and group.
pub(super) fn apply_but_last(network: Network, pgid: u32) -> (Layer, Layer, Option<BpfProgram>) {
    let enforced = || Layer::Enforced { by: "seccomp".into() };
    match install_but_last(network, pgid) {
        Ok(last) => (if network == Network::Off { enforced() } else { Layer::NotAsked }, enforced(), Some(last)),
        Err(why) => {
            let network = if network == Network::Off { Layer::Missing { why: why.clone() } } else { Layer::NotAsked };
            (network, Layer::Missing { why }, None)
        }
    }
}

/// Whether this kernel accepts a filter. Filters the calling thread.
pub(super) fn supported() -> Result<(), String> {
    install(&install_but_last(Network::Off, 0)?)
}

/// For this thread and all that it starts from now on.
pub(super) fn install(filter: &BpfProgram) -> Result<(), String> {
    seccompiler::apply_filter(filter).map_err(|error| format!("the kernel refused the filter: {error}"))
}

/// Each filter has one answer. All are asked, and the strictest answer counts. The last one refuses the call that
/// starts a child in a control group.
fn install_but_last(network: Network, pgid: u32) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|_| format!("no filter is known for the processor {}", std::env::consts::ARCH))?;
    let refused = [(libc::EACCES, sockets(network)?), (libc::EPERM, process_rules::refused(pgid)?)];
    let last = compile(process_rules::not_implemented(pgid == NO_GROUP), libc::ENOSYS, arch)?;
    for (errno, rules) in refused {
        install(&compile(rules, errno, arch)?)?;
    }
    process_rules::no_other_interface().map_or(Ok(()), |filter| install(&filter))?;
    Ok(last)
}

fn compile(rules: Rules, errno: i32, arch: TargetArch) -> Result<BpfProgram, String> {
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)
        .and_then(BpfProgram::try_from)
        .map_err(|error| format!("the filter can't be built: {error}"))
}

pub(super) fn everything(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

/// A socket's type without its flags (`SOCK_TYPE_MASK` of the kernel's net.h).
const TYPE: u64 = 0xf;

/// With the network off no socket can be made, not even a local one: the docker daemon, a key agent and this daemon
/// listen on local sockets. Pairs of connected streams are allowed, because they lead nowhere else. Pairs of local
/// datagram sockets are refused, because one end could be connected to any local socket by its path.
fn sockets(network: Network) -> Result<Rules, String> {
    if network == Network::Off {
        let of_type = |kind: i32| rule(vec![condition(1, Op::MaskedEq(TYPE), kind.unsigned_abs().into())?]);
        let mut refused = everything(&[libc::SYS_socket]);
        refused.insert(libc::SYS_socketpair, vec![of_type(libc::SOCK_DGRAM)?, of_type(libc::SOCK_RAW)?]);
        return Ok(refused);
    }
    let internet = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let other =
        internet.iter().map(|family| condition(0, Op::Ne, family.unsigned_abs().into())).collect::<Result<_, _>>()?;
    Ok(BTreeMap::from([(libc::SYS_socket, vec![rule(other)?])]))
}

pub(super) fn condition(argument: u8, op: Op, value: u64) -> Result<SeccompCondition, String> {
    SeccompCondition::new(argument, Len::Dword, op, value).map_err(|error| error.to_string())
}

pub(super) fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, String> {
    SeccompRule::new(conditions).map_err(|error| error.to_string())
}
