//! Who may come in: whoever shows the token, or else programs of this machine.
//!
//! Without a token the door trusts this machine, but not the web pages that its browser shows: those come with a foreign
//! `Origin`, or with a name of their own that points at loopback. The daemon's own page shows the token that its reader
//! typed; pages of `http.origins` may use the door as its own does.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::socket::PATH as SOCKET;
use super::{Problem, Served, page};
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
/// How a web page shows the token where it opens a WebSocket, for which no browser sends `Authorization`: as one of the
/// protocols that it offers, with the token's bytes in hexadecimal behind.
const TOKEN_PROTOCOL: &str = "maxim.bearer.";

/// Lets a request pass or answers it.
pub async fn guard(State(served): State<Arc<Served>>, request: Request, next: Next) -> Response {
    // Who looks after processes has no token, and is told nothing of the brain; what providers post shows a signature.
    let path = request.uri().path();
    if matches!(path, "/healthz" | "/readyz") || path.starts_with(HOOKS) {
        return next.run(request).await;
    }
    match admit(&served, request.uri().path(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn admit(served: &Served, path: &str, headers: &HeaderMap) -> Result<(), Problem> {
    let host = text(headers, header::HOST).unwrap_or_default();
    refuse_foreign_pages(&served.origins, path, host, headers)?;
    let Some(secret) = &served.bearer else {
        if is_loopback(host) {
            return Ok(());
        }
        let found = format!("the host {host:?} is not this machine's own name");
        return Err(Problem::new(StatusCode::FORBIDDEN, found, "call it as 127.0.0.1 or localhost, or set a token"));
    };
    // No browser can show a token where it opens a page, and the page's files hold nothing of this brain.
    if page::is_of_the_page(path) {
        return Ok(());
    }
    let shown = text(headers, header::AUTHORIZATION).and_then(|value| value.split_once(' '));
    let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
    let is_shown = shown.is_some_and(|token| is_same(token.as_bytes(), secret.expose().as_bytes()));
    if is_shown || (path == SOCKET && offers_token(headers, secret)) {
        return Ok(());
    }
    let found = if shown.is_some() { "the bearer token is wrong" } else { "a bearer token is required" };
    let fix = "send \"Authorization: Bearer …\" with the token of the daemon's configuration";
    Err(Problem::new(StatusCode::UNAUTHORIZED, found, fix))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// A browser says which page sends a request: by `Origin` wherever it could change something and for WebSockets, by
/// `Sec-Fetch-Site` for the rest. Who sends neither is no browser of today.
fn refuse_foreign_pages(origins: &[String], path: &str, host: &str, headers: &HeaderMap) -> Result<(), Problem> {
    let found = match headers.get(header::ORIGIN) {
        Some(origin) => {
            let origin = String::from_utf8_lossy(origin.as_bytes());
            let is_own = origin.split_once("://").is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(host));
            if is_own || origins.iter().any(|allowed| allowed.trim_end_matches('/').eq_ignore_ascii_case(&origin)) {
                return Ok(());
            }
            format!("a web page of {origin:?} may not use this door")
        }
        // A link to the page may stand anywhere.
        None if path == "/" => return Ok(()),
        None => match text(headers, HeaderName::from_static("sec-fetch-site")) {
            None | Some("same-origin" | "none") => return Ok(()),
            Some(site) => format!("a web page of another origin ({site}) may not use this door"),
        },
    };
    let fix = "open the page that this daemon serves, or name the other one's origin in http.origins";
    Err(Problem::new(StatusCode::FORBIDDEN, found, fix))
}

/// Whether the token is among the protocols that a WebSocket offers.
fn offers_token(headers: &HeaderMap, secret: &Secret) -> bool {
    let expected: String = secret.expose().bytes().map(|byte| format!("{byte:02x}")).collect();
    let offers = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    let mut tokens =
        offers.flat_map(|offer| offer.split(',')).filter_map(|one| one.trim().strip_prefix(TOKEN_PROTOCOL));
    tokens.any(|token| is_same(token.as_bytes(), expected.as_bytes()))
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

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().expect("a header's value"))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn a_foreign_page_is_told_by_what_its_browser_says() {
        let configured = ["https://robot.example/".to_owned()];
        let passes = |path: &str, pairs: &[(&'static str, &str)]| {
            refuse_foreign_pages(&configured, path, "127.0.0.1:7717", &headers(pairs)).is_ok()
        };
        assert!(passes("/v1/stop", &[]), "curl");
        for origin in ["http://127.0.0.1:7717", "https://127.0.0.1:7717", "https://robot.example"] {
            assert!(passes("/v1/stop", &[("origin", origin), ("sec-fetch-site", "cross-site")]), "{origin}");
        }
        let foreign = ["null", "", "http://127.0.0.1:7718", "http://127.0.0.1", "https://robot.example.evil.example"];
        for origin in foreign.into_iter().chain(["http://localhost:7717", "http://robot.example"]) {
            assert!(!passes("/v1/stop", &[("origin", origin)]), "{origin}");
            assert!(!passes("/", &[("origin", origin)]), "{origin}");
        }
        for (site, may) in [("same-origin", true), ("none", true), ("same-site", false), ("cross-site", false)] {
            assert_eq!(passes("/v1/memory/recall", &[("sec-fetch-site", site)]), may, "{site}");
            assert!(passes("/", &[("sec-fetch-site", site)]), "a link to the page");
        }
    }

    #[test]
    fn a_socket_offers_the_token_among_its_protocols() {
        let secret = Secret::new("s3 ü".into());
        let offers = |offer: &str| offers_token(&headers(&[("sec-websocket-protocol", offer)]), &secret);
        assert!(offers("maxim, maxim.bearer.733320c3bc") && offers("maxim.bearer.733320c3bc"));
        assert!(!offers("maxim") && !offers("maxim.bearer.") && !offers("maxim.bearer.733320c3bd"));
        assert!(!offers_token(&HeaderMap::new(), &secret));
    }

    #[test]
    fn tokens_are_the_same_only_when_they_are() {
        assert!(is_same(b"abc", b"abc"));
        assert!(!is_same(b"abc", b"abd") && !is_same(b"abc", b"ab") && !is_same(b"", b"a"));
    }
}
