//! Whether a host is public, in any spelling of its address. Addresses are read as by WHATWG (crate url): octal, hex,
//! short and integer IPv4, full-width digits and mapped IPv6 all become an address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Where a URL leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    Public,
    /// Loopback, private, or a name of the local network.
    Internal(String),
    /// Link-local or a cloud's metadata service, which gives out credentials.
    Metadata(String),
    /// Not a web scheme, or not a URL.
    Odd(String),
}

/// Names that resolve to the address that is written in them.
const ECHO_DOMAINS: &[&str] = &[
    "nip.io",
    "sslip.io",
    "xip.io",
    "localtest.me",
    "lvh.me",
    "vcap.me",
    "lacolhost.com",
    "1u.ms",
    "rbndr.us",
    "localh.st",
    "yoogle.com",
    "readme.localtest.me",
    "traefik.me",
    "backname.io",
    "fbi.com.127.0.0.1",
    "spoofed.burpcollaborator.net",
    "fuf.me",
    "lcl.host",
    "local.gd",
    "ip6.name",
];

const LOCAL_ENDINGS: &[&str] = &[
    "localhost",
    "local",
    "internal",
    "localdomain",
    "lan",
    "corp",
    "home",
    "intranet",
    "private",
    "home.arpa",
    "test-net",
    "svc",
    "cluster.local",
    "ip6-localhost",
    "ip6-loopback",
    "consul",
];

const METADATA_HOSTS: &[&str] = &[
    "metadata.google.internal",
    "metadata",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "metadata.azure.com",
    "metadata.tencentyun.com",
    "metadata.oraclecloud.com",
    "instance-data",
    "instance-data.ec2.internal",
    "rancher-metadata",
    "management.azure.internal",
    "metadata.goog",
    "metadata.digitalocean.com",
    "metadata.hetzner.cloud",
    "metadata.nic",
];

/// Reads `raw` as the agent's own HTTP tool would.
pub fn reach(raw: &str) -> Reach {
    let raw = raw.trim();
    let odd = |why: &str| Reach::Odd(why.to_owned());
    if raw.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return odd("white space or control characters inside of the address");
    }
    let with_scheme = if raw.contains("://") || raw.split_once(':').is_some_and(|(head, _)| is_other_scheme(head)) {
        raw.to_owned()
    } else {
        format!("http://{}", raw.trim_start_matches('/'))
    };
    // Two parsers must not disagree about where the host ends.
    let after = with_scheme.split_once("://").map_or("", |(_, rest)| rest);
    let authority = after.split(['/', '?', '#']).next().unwrap_or("");
    if authority.contains('\\') || authority.matches('@').count() > 1 {
        return odd("the host is written so that readers disagree about it");
    }
    let Ok(url) = Url::parse(&with_scheme) else { return odd("not a well-formed URL") };
    if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
        return Reach::Odd(format!("the scheme {}: is not one of the web", url.scheme()));
    }
    match url.host() {
        Some(host) => host_reach(&host),
        None => odd("no host"),
    }
}

/// An internal address hidden in the path or query of a public URL (a redirector).
pub fn hides_internal(raw: &str) -> Option<String> {
    let decoded = super::percent::percent_decoded(raw);
    let rest = decoded.split_once("://")?.1;
    rest.match_indices("http").find_map(|(at, _)| {
        let inner = rest[at..].split(['&', '"', '\'', ' ', ')']).next()?;
        inner.contains("://").then(|| reach(inner)).and_then(|found| match found {
            Reach::Internal(host) | Reach::Metadata(host) => Some(host),
            Reach::Public | Reach::Odd(_) => None,
        })
    })
}

fn is_other_scheme(head: &str) -> bool {
    [
        "file",
        "gopher",
        "dict",
        "ldap",
        "ldaps",
        "ftp",
        "jar",
        "netdoc",
        "data",
        "javascript",
        "tftp",
        "sftp",
        "smb",
        "expect",
        "php",
        "phar",
        "mailto",
    ]
    .contains(&head.to_lowercase().as_str())
}

fn host_reach(host: &Host<&str>) -> Reach {
    match host {
        Host::Ipv4(address) => address_reach(IpAddr::V4(*address)),
        Host::Ipv6(address) => address_reach(IpAddr::V6(*address)),
        Host::Domain(name) => name_reach(name),
    }
}

fn name_reach(name: &str) -> Reach {
    let name = name.trim_end_matches('.').to_lowercase();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_')) {
        return Reach::Odd(format!("{name} is not a host name"));
    }
    if METADATA_HOSTS.contains(&name.as_str()) {
        return Reach::Metadata(name);
    }
    let ends_with = |end: &&str| name == **end || name.strip_suffix(*end).is_some_and(|rest| rest.ends_with('.'));
    if !name.contains('.') || LOCAL_ENDINGS.iter().any(ends_with) || ECHO_DOMAINS.iter().any(ends_with) {
        return Reach::Internal(name);
    }
    match written_address(&name) {
        Some(found) => found,
        None => Reach::Public,
    }
}

/// An internal IPv4 address that is written into a name: `127-0-0-1.example.com`, `7f000001.example.com`.
fn written_address(name: &str) -> Option<Reach> {
    let labels: Vec<&str> = name.split(['.', '-']).collect();
    let dotted = labels.windows(4).filter_map(|four| four.join(".").parse::<Ipv4Addr>().ok());
    let packed = labels
        .iter()
        .filter(|label| label.len() == 8)
        .filter_map(|label| u32::from_str_radix(label, 16).ok())
        .map(Ipv4Addr::from);
    dotted.chain(packed).map(|address| address_reach(IpAddr::V4(address))).find(|found| *found != Reach::Public)
}

/// By IANA's special-purpose registries.
pub fn address_reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(v4) => v4_reach(v4),
        IpAddr::V6(v6) => match embedded_v4(v6) {
            Some(v4) => v4_reach(v4),
            None => v6_reach(v6),
        },
    }
}

fn v4_reach(v4: Ipv4Addr) -> Reach {
    let [a, b, c, _] = v4.octets();
    if v4.is_link_local() || matches!(v4.octets(), [100, 100, 100, 200] | [192, 0, 0, 192] | [168, 63, 129, 16]) {
        return Reach::Metadata(v4.to_string());
    }
    let internal = v4.is_loopback()
        || v4.is_private()
        || v4.is_broadcast()
        || v4.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (18..20).contains(&b))
        || (a == 192 && b == 0 && c == 0);
    if internal { Reach::Internal(v4.to_string()) } else { Reach::Public }
}

fn v6_reach(v6: Ipv6Addr) -> Reach {
    let first = v6.segments()[0];
    if first & 0xffc0 == 0xfe80 || v6.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] {
        return Reach::Metadata(v6.to_string());
    }
    let internal = v6.is_loopback()
        || v6.is_unspecified()
        || v6.is_multicast()
        || first & 0xfe00 == 0xfc00
        || first & 0xffc0 == 0xfec0;
    if internal { Reach::Internal(v6.to_string()) } else { Reach::Public }
}

/// IPv4 inside of mapped, compatible, NAT64 and 6to4 addresses.
fn embedded_v4(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = v6.segments();
    let low = Ipv4Addr::from((u32::from(s[6]) << 16) | u32::from(s[7]));
    match s {
        [0, 0, 0, 0, 0, 0xffff, _, _] | [0, 0, 0, 0, 0xffff, 0, _, _] | [0x64, 0xff9b, ..] => Some(low),
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0, _, _] => Some(low),
        [0x2002, a, b, ..] => Some(Ipv4Addr::from((u32::from(a) << 16) | u32::from(b))),
        _ => None,
    }
}
