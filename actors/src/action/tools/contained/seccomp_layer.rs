//! Network and process group by seccomp: system calls that answer with an error.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::policy::Network;
use super::report::Layer;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls with the numbers of the x32 interface do the same under another number; without this they'd pass (`__X32_SYSCALL_BIT`
/// of the kernel's unistd.h).
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Filters this thread and what it starts from now on. Answers for the network and for the group.
pub(super) fn apply(network: Network, pgid: u32) -> (Layer, Layer) {
    let enforced = || Layer::Enforced { by: "seccomp".into() };
    match install(network, pgid) {
        Ok(()) => (if network == Network::Off { enforced() } else { Layer::NotAsked }, enforced()),
        Err(why) => {
            let network = if network == Network::Off { Layer::Missing { why: why.clone() } } else { Layer::NotAsked };
            (network, Layer::Missing { why })
        }
    }
}

/// Whether this kernel takes a filter. Filters the thread that asks.
pub(super) fn supported() -> Result<(), String> {
    install(Network::Off, 0)
}

fn install(network: Network, pgid: u32) -> Result<(), String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|_| format!("no filter is known for the processor {}", std::env::consts::ARCH))?;
    // Each filter has one answer; all are asked, and the strictest one counts.
    let refused = [
        (libc::EACCES, sockets(network)),
        (libc::EPERM, leaving(pgid)),
        // Rings do what sockets do, past the filter. "Not implemented" makes programs do without.
        (libc::ENOSYS, Ok(everything(&[libc::SYS_io_uring_setup]))),
    ];
    for (errno, rules) in refused {
        let program = compile(rules?, errno, arch)?;
        seccompiler::apply_filter(&program).map_err(|error| format!("the kernel refused the filter: {error}"))?;
    }
    Ok(())
}

fn compile(rules: Rules, errno: i32, arch: TargetArch) -> Result<BpfProgram, String> {
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    let rules = on_all_interfaces(rules);
    SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)
        .and_then(BpfProgram::try_from)
        .map_err(|error| format!("the filter can't be built: {error}"))
}

fn on_all_interfaces(rules: Rules) -> Rules {
    #[cfg(target_arch = "x86_64")]
    let rules = rules.iter().flat_map(|(call, when)| [(*call, when.clone()), (*call | X32, when.clone())]).collect();
    rules
}

fn everything(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

/// With the network off no socket at all, not even a local one: the docker daemon, a key agent and this daemon itself
/// listen on those. Pairs of connected sockets stay, they lead nowhere else.
fn sockets(network: Network) -> Result<Rules, String> {
    if network == Network::Off {
        return Ok(everything(&[libc::SYS_socket]));
    }
    let internet = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let other =
        internet.iter().map(|family| condition(0, Op::Ne, family.unsigned_abs().into())).collect::<Result<_, _>>()?;
    Ok(BTreeMap::from([(libc::SYS_socket, vec![rule(other)?])]))
}

/// The calls by which a process gets out of the reach of a kill of its group, and those that would make the group kill
/// itself (`timeout` does that after it has failed to make a group of its own) or send a signal to every process of the
/// user. Also the kernel's key rings: they hold secrets of the user.
fn leaving(pgid: u32) -> Result<Rules, String> {
    let mut rules =
        everything(&[libc::SYS_setsid, libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl, libc::SYS_bpf]);
    rules.insert(libc::SYS_setpgid, vec![rule(vec![condition(1, Op::Ne, pgid.into())?])?]);
    let own_group = rule(vec![condition(0, Op::Eq, 0)?])?;
    let everyone = rule(vec![condition(0, Op::Eq, u64::from(u32::MAX))?])?;
    rules.insert(libc::SYS_kill, vec![own_group, everyone]);
    Ok(rules)
}

fn condition(argument: u8, op: Op, value: u64) -> Result<SeccompCondition, String> {
    SeccompCondition::new(argument, Len::Dword, op, value).map_err(|error| error.to_string())
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, String> {
    SeccompRule::new(conditions).map_err(|error| error.to_string())
}
