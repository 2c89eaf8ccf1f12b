//! Who may come in: whoever shows the token, or else programs of this machine.
//!
//! Without a token the door trusts this machine, but not the web pages that its browser shows: those come with a foreign
//! `Origin`, or with a name of their own that points at loopback.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::{Problem, Served};
use crate::config::Secret;

/// An address that must not be served like this.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "http.listen = \"{0}\" is reached from other machines, and no token is set; set MAXIM__HTTP__TOKEN or http.token_file, or listen on 127.0.0.1"
)]
pub struct OpenToAll(pub SocketAddr);

/// Beyond loopback a token is required.
///
/// # Errors
/// The address isn't loopback and there is no token, or an empty one.
pub fn check_listen(listen: SocketAddr, bearer: Option<&Secret>) -> Result<(), OpenToAll> {
    let is_guarded = bearer.is_some_and(|secret| !secret.expose().is_empty());
    if listen.ip().is_loopback() || is_guarded { Ok(()) } else { Err(OpenToAll(listen)) }
}

/// Where providers post.
const HOOKS: &str = "/hooks/";

/// Lets a request pass or answers it.
pub async fn guard(State(served): State<Arc<Served>>, request: Request, next: Next) -> Response {
    // What providers post shows a signature in the place of a token.
    if request.uri().path() == "/healthz" || request.uri().path().starts_with(HOOKS) {
        return next.run(request).await;
    }
    match admit(&served, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn admit(served: &Served, headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    if let Some(origin) = text(header::ORIGIN)
        && origin.split_once("://").is_none_or(|(_, rest)| !rest.eq_ignore_ascii_case(host))
    {
        let found = format!("a web page of {origin:?} may not use this door");
        return Err(Problem::new(StatusCode::FORBIDDEN, found, "open the page that this daemon serves"));
    }
    let Some(secret) = &served.bearer else {
        if is_loopback(host) {
            return Ok(());
        }
        let found = format!("the host {host:?} is not this machine's own name");
        return Err(Problem::new(StatusCode::FORBIDDEN, found, "call it as 127.0.0.1 or localhost, or set a token"));
    };
    let shown = text(header::AUTHORIZATION).and_then(|value| value.split_once(' '));
    let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
    match shown {
        Some(token) if is_same(token.as_bytes(), secret.expose().as_bytes()) => Ok(()),
        _ => {
            let found = if shown.is_some() { "the bearer token is wrong" } else { "a bearer token is required" };
            let fix = "send \"Authorization: Bearer …\" with the token of the daemon's configuration";
            Err(Problem::new(StatusCode::UNAUTHORIZED, found, fix))
        }
    }
}

/// The host part of a `Host` header is `localhost` or a loopback address. None at all comes from no browser.
fn is_loopback(host: &str) -> bool {
    if host.is_empty() {
        return true;
    }
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Takes the same time for all tokens of one length.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0u8, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differing) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_served_without_a_token() {
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        assert_eq!(check_listen(address("127.0.0.1:7717"), None), Ok(()));
        assert_eq!(check_listen(address("[::1]:7717"), None), Ok(()));
        assert!(check_listen(address("0.0.0.0:7717"), None).is_err());
        assert!(check_listen(address("192.168.1.2:1"), Some(&Secret::new(String::new()))).is_err());
        assert_eq!(check_listen(address("0.0.0.0:7717"), Some(&Secret::new("s".into()))), Ok(()));
    }

    #[test]
    fn a_name_that_points_at_loopback_is_not_loopback() {
        for host in ["localhost", "LOCALHOST:7717", "127.0.0.1", "127.0.0.1:7717", "[::1]:7717", "[::1]", ""] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:7717", "127.0.0.1.evil.example", "10.0.0.1:7717"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn tokens_are_the_same_only_when_they_are() {
        assert!(is_same(b"abc", b"abc"));
        assert!(!is_same(b"abc", b"abd") && !is_same(b"abc", b"ab") && !is_same(b"", b"a"));
    }
}
