//! One request without the runtime's watches and without hyper, on a thread of its own.
//!
//! Two things break the ordinary way. The user has no watch of epoll left: `fs.epoll.max_user_watches` bounds all programs of
//! a user together, also those in a sandbox. Or the clock is at the end of the calendar, and hyper panics where it makes its
//! date. A stop must come in all the same; status and health do too, and everything else is told what is wrong.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderName, HeaderValue, Method, Uri};
use axum::response::IntoResponse;
use maxim_bus::bounds::{HEAD, HEADERS, RESERVE};
use maxim_bus::clock::Stopwatch;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tower_service::Service;

use super::Problem;
use super::serving::{URGENT, URGENT_HEAD};

/// Bytes of a body that are read; the reason of a stop is a line.
const BODY: usize = 64 << 10;
/// How long a body may take: a stop is carried out without it.
const BODY_TIME: Duration = Duration::from_millis(250);
/// How long the reader of an answer may take nothing.
const WRITE_TIME: Duration = Duration::from_secs(1);
/// Bytes of the longest answer.
const ANSWER: usize = 16 << 20;

/// The connections that are served in this way.
pub(super) struct PlainDoor {
    router: Router,
    runtime: Handle,
    /// Those whose head has not come yet, the oldest first.
    reading: Arc<Mutex<VecDeque<Weak<TcpStream>>>>,
    /// Each connection holds one.
    all: Arc<()>,
}

impl PlainDoor {
    pub fn new(router: Router) -> Self {
        Self { router, runtime: Handle::current(), reading: Arc::default(), all: Arc::default() }
    }

    /// Serves one request. `why`: what is wrong with the ordinary way, and how to mend it.
    pub fn serve(&self, stream: TcpStream, peer: SocketAddr, why: Problem) {
        let stream = Arc::new(stream);
        {
            let mut reading = self.reading.lock();
            reading.retain(|one| one.strong_count() > 0);
            // The oldest without a head goes.
            if reading.len() >= RESERVE.limit
                && let Some(oldest) = reading.pop_front().and_then(|oldest| oldest.upgrade())
            {
                let _ = oldest.shutdown(Shutdown::Both);
            }
            // The others are answered in a moment.
            if Arc::strong_count(&self.all) > 4 * RESERVE.limit {
                return;
            }
            reading.push_back(Arc::downgrade(&stream));
        }
        let (router, runtime, reading) = (self.router.clone(), self.runtime.clone(), Arc::clone(&self.reading));
        let held = Arc::clone(&self.all);
        let begun = std::thread::Builder::new().name("http-plain".into()).spawn(move || {
            let has_come = || reading.lock().retain(|one| !std::ptr::eq(one.as_ptr(), Arc::as_ptr(&stream)));
            if let Err(error) = answer(&stream, peer, router, &runtime, why, has_come) {
                tracing::debug!(%error, "a plain connection broke");
            }
            drop(held);
        });
        if let Err(error) = begun {
            tracing::error!(%error, "no thread for a plain connection");
        }
    }
}

fn answer(
    stream: &TcpStream,
    peer: SocketAddr,
    mut router: Router,
    runtime: &Handle,
    why: Problem,
    has_come: impl FnOnce(),
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(WRITE_TIME))?;
    let watch = Stopwatch::start();
    let mut bytes = Vec::new();
    let (mut request, length, head) = loop {
        if let Some(read) = head_of(&bytes)? {
            break read;
        }
        if bytes.len() > HEAD.limit || !more(stream, &mut bytes, URGENT_HEAD.saturating_sub(watch.elapsed()))? {
            return Err(ErrorKind::InvalidData.into());
        }
    };
    has_come();
    let response = if URGENT.contains(&request.uri().path()) {
        let (watch, whole) = (Stopwatch::start(), head + length.min(BODY));
        while bytes.len() < whole && more(stream, &mut bytes, BODY_TIME.saturating_sub(watch.elapsed()))? {}
        bytes.truncate(whole);
        *request.body_mut() = Body::from(bytes.split_off(head));
        request.extensions_mut().insert(ConnectInfo(peer));
        let Ok(response) = runtime.block_on(router.call(request));
        response
    } else {
        why.into_response()
    };
    let (parts, body) = response.into_parts();
    let body = runtime.block_on(axum::body::to_bytes(body, ANSWER)).map_err(io::Error::other)?;
    let mut out = format!("HTTP/1.1 {}\r\n", parts.status).into_bytes();
    for (name, value) in
        parts.headers.iter().filter(|(name, _)| !matches!(name.as_str(), "content-length" | "connection"))
    {
        out.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    out.extend(format!("content-length: {}\r\nconnection: close\r\n\r\n", body.len()).into_bytes());
    out.extend(&body);
    let mut writer = stream;
    writer.write_all(&out)?;
    stream.shutdown(Shutdown::Write)
}

/// Reads what comes next. False: nothing more comes, or not within this time.
fn more(mut stream: &TcpStream, bytes: &mut Vec<u8>, within: Duration) -> io::Result<bool> {
    if within.is_zero() {
        return Ok(false);
    }
    stream.set_read_timeout(Some(within))?;
    let mut some = [0; 4096];
    loop {
        match stream.read(&mut some) {
            Ok(count) => {
                bytes.extend_from_slice(&some[..count]);
                return Ok(count > 0);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// The request with an empty body, the length of its body, and the length of its head; none while its head isn't whole.
fn head_of(bytes: &[u8]) -> io::Result<Option<(Request, usize, usize)>> {
    let mut fields = vec![httparse::EMPTY_HEADER; HEADERS.limit];
    let mut read = httparse::Request::new(&mut fields);
    let httparse::Status::Complete(head) = read.parse(bytes).map_err(io::Error::other)? else { return Ok(None) };
    let mut request = Request::new(Body::empty());
    *request.method_mut() = read.method.unwrap_or_default().parse::<Method>().map_err(io::Error::other)?;
    *request.uri_mut() = read.path.unwrap_or_default().parse::<Uri>().map_err(io::Error::other)?;
    for field in &*read.headers {
        let name = field.name.parse::<HeaderName>().map_err(io::Error::other)?;
        let value = HeaderValue::from_bytes(field.value).map_err(io::Error::other)?;
        request.headers_mut().append(name, value);
    }
    let length = request.headers().get("content-length").and_then(|length| length.to_str().ok()?.parse().ok());
    Ok(Some((request, length.unwrap_or(0), head)))
}
