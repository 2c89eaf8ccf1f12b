//! What a caller shows, and whether it is the owner's.
//!
//! A loopback address proves no identity: other accounts and the programs of tools have it too. So the owner shows the
//! token, or the key of a page's session (`sessions.rs`). The `Access` of a route says who may use it (`routes.rs`). A
//! path that isn't listed is for the owner only. The answer to a wrong token is delayed (`guesses.rs`); a right token
//! never waits.

use std::net::SocketAddr;

use ring::digest::{SHA256, digest};

use crate::config::Secret;
use crate::data_folder::TokenKind;

/// SHA-256 of a token or key. Only the digest is kept and compared. So neither the time of a comparison nor the
/// process's memory reveals the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    pub fn of(text: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, text).as_ref());
        Self(bytes)
    }
}

/// How the door knows its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It asks for no token: `http.open`.
    Open,
    /// By the token that the daemon has made for itself.
    Own(Digest),
    /// By the token of the configuration.
    Configured(Digest),
}

impl Proof {
    pub fn own(secret: &Secret) -> Self {
        Self::Own(Digest::of(secret.expose().as_bytes()))
    }

    pub fn configured(secret: &Secret) -> Self {
        Self::Configured(Digest::of(secret.expose().as_bytes()))
    }

    pub fn is_of(&self, shown: &Digest) -> bool {
        match self {
            Self::Open => true,
            Self::Own(digest) | Self::Configured(digest) => digest == shown,
        }
    }

    pub fn kind(&self) -> TokenKind {
        match self {
            Self::Open => TokenKind::Nothing,
            Self::Own(_) => TokenKind::Own,
            Self::Configured(_) => TokenKind::Configured,
        }
    }
}

/// A door that must not be served.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadDoor {
    #[error(
        "http.listen = \"{0}\" is reached from other machines, and no token is set; set MAXIM__HTTP__TOKEN or http.token_file, or listen on 127.0.0.1"
    )]
    NoToken(SocketAddr),
    #[error(
        "http.open = true, and http.listen = \"{0}\" is reached from other machines; remove http.open and set a token, \
        or listen on 127.0.0.1"
    )]
    OpenToAll(SocketAddr),
    #[error("http.open = true, but a token is set, which nobody would be asked for; remove one of the two")]
    OpenWithToken,
}

/// Beyond loopback a token must be set: other machines need it, and the daemon's own is for this one.
///
/// # Errors
/// The address isn't loopback and no token would be asked for; or the configuration contradicts itself.
pub fn check_listen(listen: SocketAddr, token: Option<&Secret>, open: bool) -> Result<(), BadDoor> {
    match (listen.ip().to_canonical().is_loopback(), token, open) {
        (_, Some(_), true) => Err(BadDoor::OpenWithToken),
        (false, _, true) => Err(BadDoor::OpenToAll(listen)),
        (false, None, false) => Err(BadDoor::NoToken(listen)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_loopback_a_token_is_set_and_nothing_is_open() {
        let check = |text: &str, token: Option<&str>, open| {
            let token = token.map(|token| Secret::new(token.into()));
            check_listen(text.parse().expect("an address"), token.as_ref(), open).err()
        };
        for here in ["127.0.0.1:7717", "[::1]:7717", "127.8.8.8:1"] {
            assert_eq!(
                (check(here, None, false), check(here, Some("s"), false), check(here, None, true)),
                (None, None, None)
            );
            assert_eq!(check(here, Some("s"), true), Some(BadDoor::OpenWithToken));
        }
        for beyond in ["0.0.0.0:7717", "192.168.1.2:1", "[::]:1"] {
            assert!(matches!(check(beyond, None, false), Some(BadDoor::NoToken(_))), "{beyond}");
            assert!(matches!(check(beyond, None, true), Some(BadDoor::OpenToAll(_))), "{beyond}");
            assert_eq!(check(beyond, Some("s"), false), None, "{beyond}");
        }
    }

    #[test]
    fn a_proof_is_of_its_token_alone() {
        let secret = Secret::new("0123456789abcdef".into());
        for proof in [Proof::own(&secret), Proof::configured(&secret)] {
            assert!(proof.is_of(&Digest::of(b"0123456789abcdef")));
            for other in [&b"0123456789abcdeF"[..], b"", b"0123456789abcdef "] {
                assert!(!proof.is_of(&Digest::of(other)), "{other:?}");
            }
        }
        assert!(Proof::Open.is_of(&Digest::of(b"")));
    }
}
