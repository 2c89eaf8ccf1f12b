//! The accept loop: every connection with its timeouts, and its place among the others.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
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
use maxim_bus::bounds::{HEAD, HEAD_TIME, HEADERS, SEGMENT};
use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower_service::Service;

use super::connections::{Connection, Connections, Phase, Place, Room};
use super::{Problem, completions};

const STOP: &str = "/v1/stop";
/// What a connection in reserve may ask for.
const URGENT: [&str; 4] = [STOP, "/v1/status", "/healthz", "/readyz"];
/// How long a connection in reserve has for its request.
const URGENT_HEAD: Duration = Duration::from_secs(5);
/// The pause when the system gives no further connection, e.g. because too many files are open.
const NO_HANDLE: Duration = Duration::from_millis(20);

/// Serves until `shutdown` completes and every request that was begun is answered.
pub(super) async fn run(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()>) {
    let all = Connections::new(Room::of_this_process());
    let (closing, closes) = watch::channel(false);
    // Each connection holds one end: the other sees when the last is gone.
    let (open, gone) = watch::channel(());
    let mut shutdown = pin!(shutdown);
    let mut is_told = false;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let place = all.admit(peer.ip());
                // Its task may start late, and others may want its place meanwhile.
                let mut first = [0; 32];
                if let Ok((_, seen)) = recv(&stream, &mut first[..], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
                    place.connection.has_seen(&first[..seen.min(first.len())]);
                }
                let (router, closes, gone) = (router.clone(), closes.clone(), gone.clone());
                tokio::spawn(async move {
                    keep(stream, peer, place, router, closes).await;
                    drop(gone);
                });
                // Bytes that it has sent already are read before the next connection may want its place.
                tokio::task::yield_now().await;
            }
            Err(error) if is_of_the_caller(&error) => {}
            Err(error) => {
                if !std::mem::replace(&mut is_told, true) {
                    tracing::error!(%error, "no connection can be accepted; raise the limit of open files if it says \
                    so");
                }
                all.make_place();
                tokio::time::sleep(NO_HANDLE).await;
            }
        }
    }
    drop((listener, gone));
    let _ = closing.send(true);
    open.closed().await;
}

fn is_of_the_caller(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// One connection to its end.
async fn keep(stream: TcpStream, peer: SocketAddr, place: Place, router: Router, mut closes: watch::Receiver<bool>) {
    let connection = Arc::clone(&place.connection);
    let of_requests = Arc::clone(&connection);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        // The guard asks who the peer is.
        request.extensions_mut().insert(ConnectInfo(peer));
        answer(request, router.clone(), Arc::clone(&of_requests))
    });
    let head = if connection.is_reserve { URGENT_HEAD } else { Duration::from_secs(HEAD_TIME.limit as u64) };
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head).keep_alive(!connection.is_reserve);
    // hyper's date panics from the year 9999 on, and nobody needs it here.
    builder.auto_date_header(false);
    builder.max_headers(HEADERS.limit).max_header_size(HEAD.limit).max_buf_size(HEAD.limit + (8 << 10));
    let io = TokioIo::new(Watched { stream, connection: Arc::clone(&connection) });
    let mut serving = pin!(builder.serve_connection(io, service).with_upgrades());
    let mut is_closing = *closes.borrow();
    if is_closing {
        serving.as_mut().graceful_shutdown();
    }
    loop {
        tokio::select! {
            ended = serving.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke");
                }
                return;
            }
            () = connection.end.notified() => return,
            _ = closes.changed(), if !is_closing => {
                is_closing = true;
                serving.as_mut().graceful_shutdown();
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
