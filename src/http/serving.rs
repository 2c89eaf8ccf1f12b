//! The accept loop: every connection with its timeouts, and its place among the others.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use maxim_actors::effectors::door::Door;
use maxim_bus::bounds::{HEAD, HEAD_TIME, HEADERS, SEGMENT};
use rustix::net::{RecvFlags, recv};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower_service::Service;

use super::connections::{Connection, Connections, Phase, Place, Room};
use super::plain::PlainDoor;
use super::{Problem, completions};
use crate::machine_clock;
use crate::stopping::stop_by;

const STOP: &str = "/v1/stop";
/// What a connection in reserve may ask for.
pub(super) const URGENT: [&str; 4] = [STOP, "/v1/status", "/healthz", "/readyz"];
/// How long a connection in reserve has for its request.
pub(super) const URGENT_HEAD: Duration = Duration::from_secs(5);
/// The pause where the system gives no further connection: too many files are open, say.
const NO_HANDLE: Duration = Duration::from_millis(20);
/// What the owner can do where no connection can be watched.
const NO_WATCH: &str =
    "raise fs.epoll.max_user_watches (or the limit of open files if it says so), or end the program that uses them up";

/// What the door needs beside its listener and its routes.
pub(super) struct Serving {
    pub router: Router,
    pub door: Arc<Door>,
    /// What is wrong with the machine's clock, if anything.
    pub clock_fault: fn() -> Option<String>,
}

impl Serving {
    /// Why hyper can't serve at present: its date ends with the calendar.
    fn fault(&self) -> Option<Problem> {
        (self.clock_fault)().map(|found| only_urgent(&found, machine_clock::FIX))
    }

    /// Polls a connection of hyper's. Its date panics at the end of the calendar, and what it had read then may have been a
    /// stop: so that is one.
    fn poll<F: Future>(&self, connection: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        match catch_unwind(AssertUnwindSafe(|| connection.poll(cx))) {
            Ok(polled) => polled.map(Some),
            Err(_) => {
                if let Some(found) = (self.clock_fault)() {
                    let reason = format!("{found}; a request over HTTP was lost by it, which may have been a stop");
                    drop(self.door.stop(reason, stop_by::HTTP.into()));
                }
                Poll::Ready(None)
            }
        }
    }
}

fn only_urgent(found: &str, fix: &str) -> Problem {
    Problem::later(format!("{found}; only stop, status and health are answered"), fix)
}

/// Serves until `shutdown` completes and every request that was begun is answered.
///
/// # Errors
/// The listener can't be watched.
pub(super) async fn run(listener: TcpListener, serving: Serving, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    // A connection for which the runtime has no watch left is not lost: the system has given it to us.
    #[expect(deprecated, reason = "sound here: a listener keeps its one file as long as it lives")]
    let listener = AsyncFd::with_interest(listener.into_std()?, Interest::READABLE)?;
    let (plain, serving) = (PlainDoor::new(serving.router.clone()), Arc::new(serving));
    let all = Connections::new(Room::of_this_process());
    let (closing, closes) = watch::channel(false);
    // Each connection holds one end: the other sees when the last is gone.
    let (open, gone) = watch::channel(());
    let mut shutdown = pin!(shutdown);
    let (mut is_told, mut is_out_of_watches) = (false, false);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = &mut shutdown => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_of_the_caller(&error) => continue,
            Err(error) => {
                if !std::mem::replace(&mut is_told, true) {
                    tracing::error!(%error, "no connection can be accepted; raise the limit of open files if it says \
                    so");
                }
                all.make_place();
                tokio::time::sleep(NO_HANDLE).await;
                continue;
            }
        };
        if let Some(fault) = serving.fault() {
            plain.serve(stream, peer, fault);
            continue;
        }
        let watched = stream.try_clone().and_then(TcpStream::from_std);
        match watched {
            Ok(watched) => {
                drop(stream);
                let place = all.admit(peer.ip());
                // Its task may have to wait for its turn, and others want its place meanwhile.
                let mut first = [0; 32];
                if let Ok((_, seen)) = recv(&watched, &mut first[..], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
                    place.connection.has_seen(&first[..seen.min(first.len())]);
                }
                let (serving, closes, gone) = (Arc::clone(&serving), closes.clone(), gone.clone());
                tokio::spawn(async move {
                    keep(watched, peer, place, serving, closes).await;
                    drop(gone);
                });
                // What it has sent already is read before the next one may want its place.
                tokio::task::yield_now().await;
            }
            Err(error) => {
                if !std::mem::replace(&mut is_out_of_watches, true) {
                    tracing::error!(%error, "a connection can't be watched; only stop, status and health are answered");
                }
                plain.serve(stream, peer, only_urgent(&format!("a connection can't be watched: {error}"), NO_WATCH));
            }
        }
    }
    drop((listener, gone));
    let _ = closing.send(true);
    open.closed().await;
    Ok(())
}

/// The next connection, which the runtime doesn't watch yet.
async fn accept(listener: &AsyncFd<std::net::TcpListener>) -> io::Result<(std::net::TcpStream, SocketAddr)> {
    loop {
        let mut ready = listener.readable().await?;
        if let Ok(accepted) = ready.try_io(|listener| listener.get_ref().accept()) {
            let (stream, peer) = accepted?;
            stream.set_nonblocking(true)?;
            return Ok((stream, peer));
        }
    }
}

fn is_of_the_caller(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// One connection to its end.
async fn keep(
    stream: TcpStream,
    peer: SocketAddr,
    place: Place,
    serving: Arc<Serving>,
    mut closes: watch::Receiver<bool>,
) {
    let connection = Arc::clone(&place.connection);
    let (router, of_requests) = (serving.router.clone(), Arc::clone(&connection));
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        // The guard asks who the peer is.
        request.extensions_mut().insert(ConnectInfo(peer));
        answer(request, router.clone(), Arc::clone(&of_requests))
    });
    let head = if connection.is_reserve { URGENT_HEAD } else { Duration::from_secs(HEAD_TIME.limit as u64) };
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head).keep_alive(!connection.is_reserve);
    // Nobody needs a date here.
    builder.auto_date_header(false);
    builder.max_headers(HEADERS.limit).max_header_size(HEAD.limit).max_buf_size(HEAD.limit + (8 << 10));
    let io = TokioIo::new(Watched { stream, connection: Arc::clone(&connection) });
    let mut served = pin!(builder.serve_connection(io, service).with_upgrades());
    let mut is_closing = *closes.borrow();
    if is_closing {
        served.as_mut().graceful_shutdown();
    }
    loop {
        tokio::select! {
            ended = std::future::poll_fn(|cx| serving.poll(served.as_mut(), cx)) => {
                if let Some(Err(error)) = ended {
                    tracing::debug!(%error, "a connection broke");
                }
                return;
            }
            () = connection.end.notified() => return,
            _ = closes.changed(), if !is_closing => {
                is_closing = true;
                served.as_mut().graceful_shutdown();
            }
        }
    }
}

async fn answer(
    request: hyper::Request<hyper::body::Incoming>,
    mut router: Router,
    connection: Arc<Connection>,
) -> Result<Response, Infallible> {
    let (mut parts, body) = request.into_parts();
    connection.asks_for_stop(parts.method == Method::POST && parts.uri.path() == STOP);
    connection.enter(if body.is_end_stream() { Phase::Busy } else { Phase::Reading });
    let path = parts.uri.path();
    let is_of_clients = completions::is_of_chat_clients(path);
    let response = if connection.is_shed() && path != STOP || connection.is_reserve && !URGENT.contains(&path) {
        let found = "all connections are busy; what is left is for a stop, status and health";
        Problem::later(found, "try again, or close connections that nobody needs").into_response()
    } else if let Some(found) = path.split('/').map(str::len).find(|length| *length > SEGMENT.limit) {
        let found = format!("a part of the path has {found} bytes; at most {} are taken", SEGMENT.limit);
        Problem { status: StatusCode::URI_TOO_LONG, ..Problem::too_much(found, "path", SEGMENT.limit) }.into_response()
    } else {
        parts.extensions.insert(Arc::clone(&connection));
        let body = Body::new(Arriving { body, connection: Arc::clone(&connection) });
        router.call(Request::from_parts(parts, body)).await?
    };
    let mut response = if is_of_clients { completions::as_clients_read_it(response) } else { response };
    if connection.is_shed() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| Body::new(Leaving { body, connection })))
}

/// A request's body, whose end is noted.
struct Arriving {
    body: hyper::body::Incoming,
    connection: Arc<Connection>,
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.connection.enter(Phase::Busy);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body. When it is dropped, the connection waits for its next request.
struct Leaving {
    body: Body,
    connection: Arc<Connection>,
}

impl HttpBody for Leaving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.connection.enter(Phase::Waiting);
    }
}

/// A stream whose reader is watched.
struct Watched {
    stream: TcpStream,
    connection: Arc<Connection>,
}

impl Watched {
    fn noted<T>(&self, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.connection.takes(written.is_ready());
        written
    }
}

impl AsyncRead for Watched {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, into);
        self.connection.has_read(&into.filled()[before..]);
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.noted(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
