//! The port of the HTTP door, and the program that has it already.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use rustix::net::listen;
use rustix::process::geteuid;

use crate::cli::{CliError, Exit};
use crate::loopback;

/// Connections that may wait for their acceptance; the kernel's own bound may be lower.
const BACKLOG: i32 = 2048;

/// Listens at the address.
///
/// # Errors
/// The address is in use, or is none of this machine.
pub(super) fn bind(address: SocketAddr) -> Result<TcpListener, CliError> {
    // The standard library queues 128 connections, and a later client tries again after a second. A stop must get in.
    let listener = TcpListener::bind(address).and_then(|listener| {
        listen(&listener, BACKLOG)?;
        Ok(listener)
    });
    listener.map_err(|error| {
        let is_taken = error.kind() == ErrorKind::AddrInUse;
        let own = geteuid().as_raw();
        let (found, fix) = match (is_taken, loopback::listener(address)) {
            (true, holder) => taken(address, holder, own),
            (false, _) => (
                format!("the address {address} can't be listened on: {error}"),
                "give another with --listen, or set http.listen".to_owned(),
            ),
        };
        CliError::new(Exit::TryAgain, found, fix)
    })
}

/// Who has the port, and how two daemons live on one machine.
fn taken(address: SocketAddr, holder: Option<u32>, own: u32) -> (String, String) {
    let port = address.port();
    let who = match holder {
        Some(account) if account == own => {
            "a program of your own account listens there, maybe another daemon of yours".to_owned()
        }
        Some(account) => {
            format!("a program of another account (user id {account}) listens there, maybe that person's own daemon")
        }
        None => "another program has it".to_owned(),
    };
    let other = port.checked_add(1).unwrap_or(7718);
    (
        format!("the port {port} of {} is in use: {who}", address.ip()),
        format!(
            "leave that one alone, and give this daemon a port of its own: http.listen = \"{}:{other}\" in the configuration, or \
             --listen {}:0 for any that is free; commands find it by the data folder",
            address.ip(),
            address.ip()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_the_port_is_told_from_oneself() {
        let address = "127.0.0.1:7717".parse().expect("an address");
        for (holder, words) in [
            (Some(1000), "your own account"),
            (Some(1234), "another account (user id 1234)"),
            (None, "another program has it"),
        ] {
            let (found, fix) = taken(address, holder, 1000);
            assert!(found.contains("the port 7717") && found.contains(words), "{found}");
            assert!(fix.contains("http.listen = \"127.0.0.1:7718\"") && fix.contains("--listen 127.0.0.1:0"), "{fix}");
        }
    }

    #[test]
    fn a_port_that_is_in_use_is_found_to_be_ones_own() {
        let held = TcpListener::bind("127.0.0.1:0").expect("a port");
        let error = bind(held.local_addr().expect("its address")).expect_err("in use").to_string();
        assert!(error.contains("your own account") && error.contains("http.listen"), "{error}");
    }
}
