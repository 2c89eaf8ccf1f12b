//! Which account holds an end of a TCP connection of this machine, as the kernel reports it (proc_net(5),
//! `/proc/net/tcp`). A loopback address names a machine, not a person; the kernel knows the account of the program.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// TCP_LISTEN, as the kernel numbers states.
const LISTENS: &str = "0A";
/// TCP_ESTABLISHED.
const CONNECTED: &str = "01";

/// One socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row<'a> {
    here: SocketAddr,
    there: SocketAddr,
    state: &'a str,
    account: u32,
}

/// The account of the program that is connected from `peer` to `own`. `None` if this machine sees no such account: the
/// program runs on another machine, or in another network namespace.
pub fn account_of(peer: SocketAddr, own: SocketAddr) -> Option<u32> {
    let (peer, own) = (plain(peer), plain(own));
    found(|row| row.state == CONNECTED && row.here == peer && row.there == own)
}

/// The account that listens at an address, or at the same port of all addresses of this machine.
pub fn listener(address: SocketAddr) -> Option<u32> {
    let address = plain(address);
    let at = |row: &Row<'_>| row.state == LISTENS && row.here.port() == address.port();
    found(|row| at(row) && row.here.ip() == address.ip())
        .or_else(|| found(|row| at(row) && row.here.ip().is_unspecified()))
}

fn found(fits: impl Fn(&Row<'_>) -> bool) -> Option<u32> {
    TABLES.iter().find_map(|table| {
        let text = fs::read_to_string(table).ok()?;
        text.lines().filter_map(read).find(&fits).map(|row| row.account)
    })
}

/// An IPv4 address inside IPv6 becomes a plain IPv4 address.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn read(line: &str) -> Option<Row<'_>> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (here, there, state) = (socket(words.next()?)?, socket(words.next()?)?, words.next()?);
    // Queues, timer and retransmissions stand before it.
    let account = words.nth(3)?.parse().ok()?;
    Some(Row { here, there, state, account })
}

/// `0100007F:1E25`: words of 32 bits as the machine has them in memory, and the port.
fn socket(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let words = (0..address.len() / 8).map(|at| u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok());
    let bytes: Vec<u8> = words.collect::<Option<Vec<u32>>>()?.into_iter().flat_map(u32::to_ne_bytes).collect();
    let ip = match bytes.len() {
        4 => IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        16 => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        _ => return None,
    };
    Some(plain(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?)))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use rustix::process::geteuid;

    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn a_line_of_the_kernel_is_read() {
        let line = "  12: 0100007F:1E25 0200007F:C350 01 00000000:00000000 00:00000000 00000000  1234        0 4711 1";
        let row = read(line).expect("a row");
        assert_eq!((row.here, row.account), ("127.0.0.1:7717".parse().expect("an address"), 1234));
        assert_eq!(row.there, "127.0.0.2:50000".parse().expect("an address"));
        let mapped = socket("0000000000000000FFFF00000100007F:0050").expect("an address");
        assert_eq!(mapped, "127.0.0.1:80".parse().expect("an address"));
        assert_eq!(socket("00000000000000000000000001000000:0050"), "[::1]:80".parse().ok());
        for nonsense in ["", "  sl  local_address rem_address   st", "0: zz:1 0:0 01", "0: 0100007F:1E25"] {
            assert_eq!(read(nonsense), None, "{nonsense:?}");
        }
    }

    #[test]
    fn both_ends_of_a_connection_are_of_this_account() {
        let own = geteuid().as_raw();
        let door = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = door.local_addr().expect("an address");
        assert_eq!(listener(address), Some(own));
        let caller = TcpStream::connect(address).expect("connected");
        let peer = caller.local_addr().expect("an address");
        assert_eq!(account_of(peer, address), Some(own));
        assert_eq!(account_of(address, address), None, "nobody");
        drop(door);
        drop(caller);
        assert_eq!(listener(address), None);
        let everywhere = TcpListener::bind("0.0.0.0:0").expect("a port");
        let port = everywhere.local_addr().expect("an address").port();
        assert_eq!(listener(SocketAddr::from((Ipv4Addr::LOCALHOST, port))), Some(own));
    }
}
