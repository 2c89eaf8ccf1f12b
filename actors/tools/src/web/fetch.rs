//! Gets one page. Each address is judged when it is connected to. So a name that changes its answer, or a redirect,
//! can't lead to another address unjudged.

use std::fmt;
use std::io::Read;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use url::Url;

use crate::places::{unfit_address, unfit_url};
use crate::{ErrorKind, ToolFailure};

/// Redirects followed, at most.
const HOPS: usize = 5;
/// Addresses of one name that are tried, at most.
const ADDRESSES: usize = 8;

type Lookup = dyn Fn(&str, u16) -> std::io::Result<Vec<SocketAddr>> + Send + Sync;
type Judge = dyn Fn(IpAddr) -> Option<String> + Send + Sync;

/// How names become addresses, and which addresses may be reached.
#[derive(Clone)]
pub(super) struct Reach {
    lookup: Arc<Lookup>,
    judge: Arc<Judge>,
}

impl Reach {
    /// The machine's name resolution, public addresses only.
    pub(super) fn public() -> Self {
        Self::new(|host, port| Ok((host, port).to_socket_addrs()?.collect()), unfit_address)
    }

    pub(super) fn new(
        lookup: impl Fn(&str, u16) -> std::io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
        judge: impl Fn(IpAddr) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self { lookup: Arc::new(lookup), judge: Arc::new(judge) }
    }

    /// Every address of the name must be public; one that isn't makes the whole name refused.
    fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Refused> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found = (self.lookup)(bare, port).map_err(|error| Refused::NoSuchHost(format!("{host}: {error}")))?;
        if let Some(why) = found.iter().find_map(|address| (self.judge)(address.ip())) {
            return Err(Refused::NotPublic(format!("{host} leads to {why}, which is not a public address")));
        }
        if found.is_empty() {
            return Err(Refused::NoSuchHost(format!("{host} has no address")));
        }
        Ok(found)
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reach")
    }
}

#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("{0}")]
    NotPublic(String),
    #[error("{0}")]
    NoSuchHost(String),
}

impl Resolver for Reach {
    fn resolve(&self, uri: &Uri, _config: &Config, _timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().unwrap_or_default();
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
        let found = self.addresses(host, port).map_err(|refused| ureq::Error::Other(Box::new(refused)))?;
        let mut fit = self.empty();
        found.into_iter().take(ADDRESSES).for_each(|address| fit.push(address));
        Ok(fit)
    }
}

/// What came back.
#[derive(Debug)]
pub(super) struct Page {
    /// Where it came from in the end.
    pub url: Url,
    /// Addresses on the way that led on.
    pub redirects: Vec<String>,
    pub status: u16,
    /// With its parameters, such as the charset; empty when the server didn't say.
    pub content_type: String,
    pub body: Vec<u8>,
    /// There was more than the bound.
    pub is_cut: bool,
}

/// Gets a page and at most `most` bytes of it.
pub(super) fn get(reach: &Reach, url: &str, most: u64, deadline: Duration) -> Result<Page, ToolFailure> {
    let config = Config::builder()
        .max_redirects(0)
        .http_status_as_error(false)
        // A proxy would resolve names itself, past this judgement.
        .proxy(None)
        .timeout_global(Some(deadline))
        .user_agent(concat!("maxim/", env!("CARGO_PKG_VERSION")))
        .accept("text/html, text/plain, application/json, application/xml;q=0.9, */*;q=0.5")
        .build();
    let agent = Agent::with_parts(config, DefaultConnector::default(), reach.clone());
    let mut at = checked(url)?;
    let mut redirects = Vec::new();
    loop {
        let mut response = agent.get(at.as_str()).call().map_err(|error| failure(&at, deadline, error))?;
        let status = response.status().as_u16();
        let header =
            |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if matches!(status, 301 | 302 | 303 | 307 | 308) && !header("location").is_empty() {
            let to = header("location");
            let next = at.join(to).map_err(|error| {
                ToolFailure::new(ErrorKind::Failed, format!("{at} leads on to {to:?}, which is no address: {error}"))
            })?;
            if redirects.len() >= HOPS {
                let message = format!("{url} leads on more than {HOPS} times");
                return Err(ToolFailure::new(ErrorKind::Failed, message));
            }
            redirects.push(at.to_string());
            at = checked(next.as_str())?;
            continue;
        }
        let content_type = header("content-type").to_owned();
        let mut body = Vec::new();
        let read = response.body_mut().as_reader().take(most + 1).read_to_end(&mut body);
        read.map_err(|error| failure(&at, deadline, ureq::Error::from(error)))?;
        let is_cut = body.len() as u64 > most;
        body.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        return Ok(Page { url: at, redirects, status, content_type, body, is_cut });
    }
}

/// The gate's judgement again, because a redirect comes after the gate.
fn checked(url: &str) -> Result<Url, ToolFailure> {
    if let Some(why) = unfit_url(url) {
        return Err(ToolFailure::new(ErrorKind::Refused, format!("{url} is not fetched: {why}")));
    }
    let parsed = Url::parse(url).or_else(|_| Url::parse(&format!("https://{url}")));
    let parsed = parsed.map_err(|error| {
        ToolFailure::new(ErrorKind::InvalidParameters, format!("url {url:?} is no address: {error}"))
    })?;
    if !matches!(parsed.scheme(), "http" | "https") {
        let message = format!("{url} is not fetched: only http and https are");
        return Err(ToolFailure::new(ErrorKind::Refused, message));
    }
    Ok(parsed)
}

fn failure(url: &Url, deadline: Duration, error: ureq::Error) -> ToolFailure {
    use ureq::Error::{HostNotFound, Other, Timeout};
    match error {
        Other(inner) => match inner.downcast::<Refused>() {
            Ok(refused) => {
                let kind = match *refused {
                    Refused::NotPublic(_) => ErrorKind::Refused,
                    Refused::NoSuchHost(_) => ErrorKind::NotFound,
                };
                ToolFailure::new(kind, format!("{url} is not fetched: {refused}"))
            }
            Err(other) => ToolFailure::new(ErrorKind::Failed, format!("{url}: {other}")),
        },
        HostNotFound => ToolFailure::new(ErrorKind::NotFound, format!("{url}: there is no such host")),
        Timeout(_) => {
            let message = format!("{url} did not answer within {} s", deadline.as_secs_f64());
            ToolFailure::new(ErrorKind::Timeout, message)
        }
        other => ToolFailure::new(ErrorKind::Failed, format!("{url} can't be fetched: {other}")),
    }
}
