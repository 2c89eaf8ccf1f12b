//! Whether an address belongs to this machine, so that the daemon's own port there is the daemon.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// `RTF_LOCAL` of the kernel's ipv6_route.h.
const LOCAL_ROUTE: u32 = 0x8000_0000;

/// The address families that an internet socket accepts in connect(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Address(SocketAddr),
    /// `AF_UNSPEC`: the connection is dissolved.
    Nothing,
}

impl Target {
    /// Reads the address that a program gave. Exactly this value is connected to; the program's bytes aren't read
    /// again.
    ///
    /// # Errors
    /// The error number that the kernel would give.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, i32> {
        let two = |at: usize| bytes.get(at..at + 2).and_then(|bytes| bytes.try_into().ok());
        let four = |at: usize| bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        let family = i32::from(u16::from_ne_bytes(two(0).ok_or(libc::EINVAL)?));
        let port = || two(2).map(u16::from_be_bytes).ok_or(libc::EINVAL);
        match family {
            libc::AF_UNSPEC => Ok(Self::Nothing),
            libc::AF_INET if bytes.len() >= 16 => {
                let address: [u8; 4] = four(4).ok_or(libc::EINVAL)?;
                Ok(Self::Address(SocketAddr::new(Ipv4Addr::from(address).into(), port()?)))
            }
            // Without the scope it is 24 bytes (RFC 2133), with it 28.
            libc::AF_INET6 if bytes.len() >= 24 => {
                let flow = four(4).map(u32::from_ne_bytes).ok_or(libc::EINVAL)?;
                let address: [u8; 16] = bytes.get(8..24).and_then(|bytes| bytes.try_into().ok()).ok_or(libc::EINVAL)?;
                let scope = four(24).map(u32::from_ne_bytes).unwrap_or_default();
                let address = std::net::SocketAddrV6::new(address.into(), port()?, flow, scope);
                Ok(Self::Address(address.into()))
            }
            libc::AF_INET | libc::AF_INET6 => Err(libc::EINVAL),
            // A local socket by a path or a name. No local socket can be reached from a sandbox.
            libc::AF_UNIX => Err(libc::EACCES),
            _ => Err(libc::EAFNOSUPPORT),
        }
    }

    /// Whether it is one of these ports of this machine. If the kernel can't list its own addresses, every address
    /// counts as its own.
    pub(super) fn is_own(&self, ports: &[u16]) -> bool {
        match self {
            Self::Address(address) if ports.contains(&address.port()) => {
                meanings(address.ip()).any(|ip| is_of_this_machine(ip, &table()))
            }
            Self::Address(_) | Self::Nothing => false,
        }
    }
}

/// The address, and the IPv4 address that it may stand for: mapped and compatible (RFC 4291), translated (RFC 6052,
/// 8215, 2765), 6to4 (RFC 3056), ISATAP (RFC 5214).
fn meanings(ip: IpAddr) -> impl Iterator<Item = IpAddr> {
    let inner = match ip {
        IpAddr::V4(_) => None,
        IpAddr::V6(ip) => match ip.segments() {
            [0, 0, 0, 0, 0, 0 | 0xffff, ..]
            | [0, 0, 0, 0, 0xffff, 0, ..]
            | [0x64, 0xff9b, ..]
            | [_, _, _, _, 0 | 0x200, 0x5efe, ..] => Some(last_four(ip)),
            [0x2002, high, low, ..] => Some(of_halves(high, low)),
            _ => None,
        },
    };
    std::iter::once(ip).chain(inner.map(IpAddr::V4))
}

fn last_four(ip: Ipv6Addr) -> Ipv4Addr {
    let [.., high, low] = ip.segments();
    of_halves(high, low)
}

fn of_halves(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

/// Networks that the kernel delivers to this machine itself. `None` for a family: not known.
struct Table {
    v4: Option<Vec<(u32, u32)>>,
    v6: Option<Vec<(u128, u32)>>,
}

/// The kernel's present routes. Addresses come and go.
fn table() -> Table {
    let read = |file: &str| fs::read_to_string(file).ok();
    Table {
        v4: read("/proc/net/fib_trie").map(|text| of_fib_trie(&text)).filter(|all| !all.is_empty()),
        v6: read("/proc/net/ipv6_route").map(|text| of_ipv6_route(&text)).filter(|all| !all.is_empty()),
    }
}

fn is_of_this_machine(ip: IpAddr, table: &Table) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let within = |(network, length): &(u32, u32)| (ip.to_bits() ^ network).leading_zeros() >= *length;
            ip.is_loopback() || ip.octets()[0] == 0 || table.v4.as_ref().is_none_or(|all| all.iter().any(within))
        }
        IpAddr::V6(ip) => {
            let within = |(network, length): &(u128, u32)| (ip.to_bits() ^ network).leading_zeros() >= *length;
            ip.is_loopback() || ip.is_unspecified() || table.v6.as_ref().is_none_or(|all| all.iter().any(within))
        }
    }
}

/// A line `|-- ADDRESS`, then lines `/LENGTH SCOPE TYPE` of the routes to it.
fn of_fib_trie(text: &str) -> Vec<(u32, u32)> {
    let mut all = Vec::new();
    let mut address = None;
    for line in text.lines().map(str::trim) {
        if let Some(leaf) = line.strip_prefix("|-- ") {
            address = leaf.parse::<Ipv4Addr>().ok();
        } else if let (Some(address), Some(route)) = (address, line.strip_prefix('/'))
            && route.split_ascii_whitespace().any(|word| word == "LOCAL")
        {
            let length = route.split_ascii_whitespace().next().and_then(|length| length.parse().ok());
            all.extend(length.map(|length: u32| (address.to_bits(), length)));
        }
    }
    all
}

/// Destination, its length, …, flags, device; all in hexadecimal but the last.
fn of_ipv6_route(text: &str) -> Vec<(u128, u32)> {
    let route = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let flags = u32::from_str_radix(words.get(8)?, 16).ok()?;
        let network = u128::from_str_radix(words.first()?, 16).ok()?;
        let length = u32::from_str_radix(words.get(1)?, 16).ok()?;
        (flags & LOCAL_ROUTE != 0).then_some((network, length))
    };
    text.lines().filter_map(route).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIE: &str = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     +-- 127.0.0.0/8 2 0 2\n           |-- 127.0.0.0\n              /8 host LOCAL\n           |-- 192.0.2.2\n              /32 host LOCAL\n           |-- 192.0.2.255\n              /32 link BROADCAST\n";
    const ROUTES: &str = "fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0\nfd000000000000000000000000000002 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000003 00000000 80200001     eth0\n";

    fn own(ip: &str) -> bool {
        let table = Table { v4: Some(of_fib_trie(TRIE)), v6: Some(of_ipv6_route(ROUTES)) };
        meanings(ip.parse().expect("an address")).any(|ip| is_of_this_machine(ip, &table))
    }

    #[test]
    fn each_spelling_of_this_machine_is_its_own_and_no_other_is() {
        let here = [
            "127.0.0.1",
            "127.255.3.4",
            "0.0.0.0",
            "192.0.2.2",
            "::1",
            "::",
            "fd00::2",
            "::ffff:127.0.0.1",
            "::ffff:192.0.2.2",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b:1::192.0.2.2",
            "2002:7f00:1::",
            "2002:c000:202::5",
            "fe80::5efe:192.0.2.2",
            "::ffff:0.0.0.0",
        ];
        here.iter().for_each(|ip| assert!(own(ip), "{ip}"));
        let elsewhere = [
            "192.0.2.3",
            "192.0.2.255",
            "8.8.8.8",
            "126.0.0.1",
            "128.0.0.1",
            "fd00::3",
            "2001:db8::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ];
        elsewhere.iter().for_each(|ip| assert!(!own(ip), "{ip}"));
    }

    #[test]
    fn where_the_kernel_does_not_tell_its_addresses_each_is_taken_for_its_own() {
        let unknown = Table { v4: None, v6: None };
        assert!(["8.8.8.8", "2001:db8::1"].iter().all(|ip| is_of_this_machine(ip.parse().expect("one"), &unknown)));
    }

    #[test]
    fn an_address_is_read_as_the_kernel_reads_it() {
        let mut bytes = vec![0; 28];
        assert_eq!(Target::read(&bytes[..1]), Err(libc::EINVAL));
        assert_eq!(Target::read(&bytes[..2]), Ok(Target::Nothing));
        bytes[..8].copy_from_slice(&[2, 0, 0x1f, 0x90, 127, 0, 0, 1]);
        if cfg!(target_endian = "big") {
            bytes[..2].copy_from_slice(&[0, 2]);
        }
        assert_eq!(Target::read(&bytes[..15]), Err(libc::EINVAL));
        let read = Target::read(&bytes[..16]).expect("an address");
        assert_eq!(read, Target::Address("127.0.0.1:8080".parse().expect("one")));
        assert!(read.is_own(&[8080]) && !read.is_own(&[8081]) && !read.is_own(&[]));
        for (family, errno) in [(libc::AF_UNIX, libc::EACCES), (libc::AF_NETLINK, libc::EAFNOSUPPORT)] {
            bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
            assert_eq!(Target::read(&bytes), Err(errno));
        }
        bytes[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
        assert_eq!(Target::read(&bytes[..23]), Err(libc::EINVAL));
        assert!(matches!(Target::read(&bytes[..24]), Ok(Target::Address(SocketAddr::V6(_)))));
    }
}
