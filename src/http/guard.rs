//! Access control. A caller must show the token, or the key of a page's session, which began with the token.
//!
//! A loopback address proves no identity: other accounts of this machine and sandboxed programs have it too. A web page
//! in this machine's browser also comes from loopback. It is refused by its foreign `Origin`, or by a host name of its
//! own that points at loopback. Pages of `http.origins` may use the door like its own page, with the same token or key.
//! Only the stop needs no token, and only from this machine.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::connections::Connection;
use super::forwarded::trace_of_proxy;
use super::proof::{Digest, Proof};
use super::routes::{self, Access};
use super::socket::PATH as SOCKET;
use super::{Problem, Served};

/// The prefix of the protocol by which a web page shows its key when it opens a WebSocket; the key's bytes follow in
/// hexadecimal. Browsers send no `Authorization` for WebSockets.
const TOKEN_PROTOCOL: &str = "maxim.bearer.";

/// Why a caller is refused.
struct Refusal {
    problem: Problem,
    /// A token was shown, and it was wrong.
    is_guess: bool,
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self { problem, is_guess: false }
    }
}

/// The admitted caller, for records that a person reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller(pub &'static str);

impl Caller {
    const TOKEN: Self = Self("the owner, by the token");
    const PAGE: Self = Self("the owner, on the page");
    const ANYBODY: Self = Self("somebody over HTTP");

    /// The caller of a request. A request that came by no door is from this process itself.
    pub fn of(request: &Request) -> Self {
        request.extensions().get().copied().unwrap_or(Self("http"))
    }
}

/// Lets a request pass or answers it.
pub async fn guard(State(served): State<Arc<Served>>, mut request: Request, next: Next) -> Response {
    let access = routes::access(request.method(), request.uri().path());
    // Process monitors have no token and learn nothing of the brain. Posts of providers carry a signature.
    if matches!(access, Access::Probe | Access::Signed) {
        return next.run(request).await;
    }
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
    match admit(&served, access, peer, request.uri().path(), request.headers()) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(Refusal { problem, is_guess: false }) => problem.into_response(),
        Err(Refusal { problem, is_guess: true }) => {
            // A wrong token doesn't count as a stop: its connection may make place for others.
            if let Some(connection) = request.extensions().get::<Arc<Connection>>() {
                connection.asks_for_stop(false);
            }
            match served.guesses.slow(peer).await {
                Ok(()) => problem.into_response(),
                Err(busy) => {
                    let mut response = busy.into_response();
                    response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
                    response
                }
            }
        }
    }
}

fn admit(
    served: &Served,
    access: Access,
    peer: Option<IpAddr>,
    path: &str,
    headers: &HeaderMap,
) -> Result<Caller, Refusal> {
    let host = text(headers, header::HOST).unwrap_or_default();
    refuse_foreign_pages(&served.origins, path, host, headers)?;
    // With a configured token, the door may be called by other names, e.g. behind a proxy.
    if !matches!(served.proof, Proof::Configured(_)) && !is_loopback(host) {
        let found = format!("the host {host:?} is not this machine's own name");
        let fix = "call it as 127.0.0.1 or localhost, or, for other names, set a token of your own (http.token_file)";
        return Err(Problem::new(StatusCode::FORBIDDEN, found, fix).into());
    }
    match access {
        // A browser can't show a token when it opens a page. The page's files contain nothing of this brain.
        Access::Page | Access::Probe | Access::Signed => return Ok(Caller::ANYBODY),
        Access::Stop if is_of_this_machine(peer, host, headers) => return Ok(Caller::ANYBODY),
        Access::Stop | Access::Owner => {}
    }
    if served.proof == Proof::Open {
        return Ok(Caller::ANYBODY);
    }
    let shown = text(headers, header::AUTHORIZATION).and_then(|value| value.split_once(' '));
    let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let shown = shown.map(|(_, token)| Digest::of(token.trim().as_bytes()));
    let shown = shown.or_else(|| if path == SOCKET { offered_token(headers) } else { None });
    let (found, is_guess) = match shown {
        Some(shown) if served.proof.is_of(&shown) => return Ok(Caller::TOKEN),
        Some(shown) if served.sessions.knows(&shown) => return Ok(Caller::PAGE),
        Some(_) => ("the bearer token is wrong", true),
        None => ("a bearer token is required", false),
    };
    let fix = "send \"Authorization: Bearer …\" with what `maxim token` prints; `maxim open` opens the page";
    Err(Refusal { problem: Problem::new(StatusCode::UNAUTHORIZED, found, fix), is_guess })
}

/// True if a program of this machine sent the request to one of this machine's own names, and no proxy passed it on.
fn is_of_this_machine(peer: Option<IpAddr>, host: &str, headers: &HeaderMap) -> bool {
    trace_of_proxy(headers).is_none() && is_loopback(host) && peer.is_some_and(|peer| peer.to_canonical().is_loopback())
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// A browser names the page that sends a request: by `Origin` for WebSockets and wherever a request could change
/// something, by `Sec-Fetch-Site` for the rest. A client that sends neither is not a current browser.
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
        // Any site may link to the page.
        None if path == "/" => return Ok(()),
        None => match text(headers, HeaderName::from_static("sec-fetch-site")) {
            None | Some("same-origin" | "none") => return Ok(()),
            Some(site) => format!("a web page of another origin ({site}) may not use this door"),
        },
    };
    let fix = "open the page that this daemon serves, or name the other one's origin in http.origins";
    Err(Problem::new(StatusCode::FORBIDDEN, found, fix))
}

/// The token among the protocols that a WebSocket offers. Only the first one counts, so one request is one guess.
fn offered_token(headers: &HeaderMap) -> Option<Digest> {
    let offers = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    let mut offers = offers.flat_map(|offer| offer.split(','));
    let word = offers.find_map(|one| one.trim().strip_prefix(TOKEN_PROTOCOL))?;
    let bytes = |at: usize| u8::from_str_radix(word.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..word.len()).step_by(2).map(bytes).collect();
    Some(Digest::of(&bytes.unwrap_or_default()))
}

/// True if the host part of a `Host` header is `localhost` or a loopback address. Also true without a `Host`: browsers
/// always send one.
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let own = Digest::of("s3 ü".as_bytes());
        let offers = |offer: &str| offered_token(&headers(&[("sec-websocket-protocol", offer)])) == Some(own);
        assert!(offers("maxim, maxim.bearer.733320c3bc") && offers("maxim.bearer.733320c3bc"));
        assert!(!offers("maxim") && !offers("maxim.bearer.") && !offers("maxim.bearer.733320c3bd"));
        assert!(!offers("maxim.bearer.733320c3b") && !offers("maxim.bearer.73332zc3bc"));
        assert!(!offers("maxim.bearer.00, maxim.bearer.733320c3bc"), "one request is one guess");
        assert_eq!(offered_token(&HeaderMap::new()), None);
    }

    #[test]
    fn of_this_machine_is_who_calls_it_directly_by_its_own_name() {
        let is_here = |peer: &str, host: &str, pairs: &[(&'static str, &str)]| {
            is_of_this_machine(peer.parse().ok(), host, &headers(pairs))
        };
        for peer in ["127.0.0.1", "127.3.2.1", "::1", "::ffff:127.0.0.1"] {
            assert!(is_here(peer, "localhost:7717", &[]), "{peer}");
            assert!(!is_here(peer, "evil.example", &[]), "{peer}");
        }
        for peer in ["192.168.1.2", "::ffff:10.0.0.1", "fe80::1", "nobody"] {
            assert!(!is_here(peer, "localhost:7717", &[]), "{peer}");
        }
        for name in ["via", "x-forwarded-proto", "cf-connecting-ip", "x-amzn-trace-id"] {
            assert!(!is_here("127.0.0.1", "localhost", &[(name, "x")]), "{name}");
        }
    }
}
