//! The token that a command sends to a daemon: the configured one, or the daemon's own from its data folder.

use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::MetadataExt;

use reqwest::Url;
use rustix::process::geteuid;

use super::{CliError, Exit, Global};
use crate::config::Secret;
use crate::data_folder::{DaemonNote, DataFolder, TokenKind};
use crate::{loopback, token};

/// The token to send, or the fix if there is none. Commands that need no token work without one.
pub enum Shown {
    Token {
        secret: Secret,
        fix: String,
    },
    /// The door is open, or none is known.
    Nothing {
        fix: String,
    },
}

const CONFIGURED: &str = "set the daemon's token with MAXIM__HTTP__TOKEN or http.token_file";

/// The fix when the token file is not the daemon's any more.
pub(super) const ANEW: &str = "end the daemon and start it again: it makes a new one";

impl Shown {
    fn configured(secret: Secret) -> Self {
        Self::Token { secret, fix: CONFIGURED.into() }
    }

    fn nothing(fix: impl Into<String>) -> Self {
        Self::Nothing { fix: fix.into() }
    }

    pub fn token(&self) -> Option<&Secret> {
        match self {
            Self::Token { secret, .. } => Some(secret),
            Self::Nothing { .. } => None,
        }
    }

    /// The fix to suggest when the daemon refused the token.
    pub fn fix(&self) -> &str {
        match self {
            Self::Token { fix, .. } | Self::Nothing { fix } => fix,
        }
    }
}

/// Finds the token for the daemon at `base`. `named` is true when a person gave the address.
///
/// # Errors
/// The configured token is unusable, or another account listens at the address that would get the daemon's own token.
pub fn find(global: &Global, base: &Url, named: bool) -> Result<Shown, CliError> {
    let configured = || Ok::<_, CliError>(global.load(Vec::new())?.settings.http.bearer()?);
    let folder = global.data_folder();
    let note = folder.as_ref().ok().and_then(|folder| DaemonNote::read(folder).ok().flatten());
    let Some(((folder, note), address)) =
        folder.ok().zip(note).filter(|(_, note)| !named || is_same_door(base, &note.url)).zip(of_loopback(base))
    else {
        // The daemon's own token is only sent to the daemon of this data folder on this machine.
        return Ok(configured()?.map_or_else(|| Shown::nothing(CONFIGURED), Shown::configured));
    };
    match note.asks_for {
        Some(TokenKind::Nothing) => Ok(Shown::nothing("see `maxim doctor`")),
        Some(TokenKind::Configured) => Ok(configured()?.map_or_else(|| Shown::nothing(CONFIGURED), Shown::configured)),
        Some(TokenKind::Own) => own(&folder, address),
        None => match configured()? {
            Some(secret) => Ok(Shown::configured(secret)),
            None => own(&folder, address),
        },
    }
}

/// The token of the data folder, if the daemon's account listens at the address.
fn own(folder: &DataFolder, address: SocketAddr) -> Result<Shown, CliError> {
    let path = folder.token();
    let shown = path.display();
    let (secret, owner) = match token::of_command(folder) {
        Ok(Some(found)) => found,
        Ok(None) => {
            return Ok(Shown::nothing(format!("{shown} isn't there; {ANEW}")));
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return Ok(Shown::nothing(format!(
                "the token in {shown} is readable by the daemon's user alone; run as that user or as root, or set \
                 MAXIM__HTTP__TOKEN"
            )));
        }
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            return Ok(Shown::nothing(format!("{shown} is unusable: {error}; {ANEW}")));
        }
        Err(error) => return Ok(Shown::nothing(format!("{shown} can't be read ({error}); set MAXIM__HTTP__TOKEN"))),
    };
    // The port in the note of a killed daemon may now belong to another account that waits for the token.
    let trusted = [0, geteuid().as_raw(), owner, fs::metadata(folder.path()).map_or(0, |about| about.uid())];
    match loopback::listener(address) {
        Some(account) if !trusted.contains(&account) => {
            let found = format!("a program of the account {account} listens at {address}, not the daemon");
            Err(CliError::new(Exit::TryAgain, found, "nothing was sent to it; start the daemon with `maxim run`"))
        }
        _ => {
            let fix = format!("{shown} isn't the running daemon's token; {ANEW}");
            Ok(Shown::Token { secret, fix })
        }
    }
}

/// The address, if it leads to this machine: loopback or unspecified.
fn of_loopback(base: &Url) -> Option<SocketAddr> {
    let host = base.host_str()?.trim_matches(['[', ']']);
    let port = base.port_or_known_default()?;
    let ip = match host.parse() {
        Ok(ip) => ip,
        Err(_) if host.eq_ignore_ascii_case("localhost") => (host, port).to_socket_addrs().ok()?.next()?.ip(),
        Err(_) => return None,
    };
    let ip: std::net::IpAddr = ip;
    // A daemon that listens on all addresses writes the unspecified one into its note.
    let is_here = ip.to_canonical().is_loopback() || ip.is_unspecified();
    is_here.then(|| SocketAddr::new(ip, port))
}

/// True when a given address leads to the daemon of the note: the same port of this machine.
fn is_same_door(base: &Url, noted: &str) -> bool {
    let noted = Url::parse(noted).ok();
    let noted = noted.as_ref().and_then(of_loopback);
    noted.zip(of_loopback(base)).is_some_and(|(noted, base)| noted.port() == base.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_token_is_for_the_noted_door_alone() {
        let same = |base: &str, noted: &str| is_same_door(&Url::parse(base).expect("an address"), noted);
        for base in ["http://127.0.0.1:7717", "http://localhost:7717/", "http://[::1]:7717"] {
            assert!(same(base, "http://127.0.0.1:7717"), "{base}");
        }
        for base in ["http://127.0.0.1:7718", "http://robot.example:7717", "http://10.0.0.1:7717", "http://127.0.0.1"] {
            assert!(!same(base, "http://127.0.0.1:7717"), "{base}");
        }
        assert!(!same("http://127.0.0.1:7717", "nonsense"));
    }
}
