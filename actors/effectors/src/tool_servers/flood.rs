//! How much a server may say: a flooding server is slowed first, and then disconnected.
//!
//! Lines and bytes are counted when read, whatever they are: notifications, log lines, garbage; of a program's standard
//! output and standard error together. A server may use up to ten seconds' worth at once, so that lists and large
//! results come without delay.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use maxim_bus::bounds::{MCP_BYTES, MCP_LINES};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

use maxim_tools::contained::Pace;

/// Burst allowance, in seconds.
const BURST: f64 = 10.0;
/// A server that was slowed for this long in total, without a minute of calm, is disconnected.
const SLOWED: Duration = Duration::from_secs(10);
/// Slowing is forgotten after this long without any.
const FORGIVEN: Duration = Duration::from_secs(60);

/// A server's remaining allowance, refilled as time passes.
#[derive(Debug)]
struct Allowance {
    lines: f64,
    bytes: f64,
    at: Instant,
    slowed: Duration,
    slowed_at: Instant,
}

impl Allowance {
    fn new(now: Instant) -> Self {
        let (lines, bytes) = (MCP_LINES.limit as f64 * BURST, MCP_BYTES.limit as f64 * BURST);
        Self { lines, bytes, at: now, slowed: Duration::ZERO, slowed_at: now }
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.duration_since(self.at).as_secs_f64();
        let more = |left: f64, rate: usize| (left + passed * rate as f64).min(rate as f64 * BURST);
        (self.lines, self.bytes, self.at) = (more(self.lines, MCP_LINES.limit), more(self.bytes, MCP_BYTES.limit), now);
    }

    /// How long it must wait after this much.
    fn said(&mut self, now: Instant, lines: usize, bytes: usize) -> Duration {
        self.refill(now);
        self.lines -= lines as f64;
        self.bytes -= bytes as f64;
        let owed = (-self.lines / MCP_LINES.limit as f64).max(-self.bytes / MCP_BYTES.limit as f64);
        if owed <= 0.0 {
            return Duration::ZERO;
        }
        if now.duration_since(self.slowed_at) > FORGIVEN {
            self.slowed = Duration::ZERO;
        }
        let pause = Duration::from_secs_f64(owed.min(BURST));
        self.slowed += pause;
        self.slowed_at = now + pause;
        pause
    }

    fn is_spent(&self) -> bool {
        self.slowed > SLOWED
    }
}

/// Watches one connection. Clones share the watch.
#[derive(Clone)]
pub(super) struct Flood(Arc<Watch>);

struct Watch {
    allowance: Mutex<Allowance>,
    /// Notified when the server must be disconnected.
    over: Notify,
}

impl Flood {
    pub fn new() -> Self {
        Self(Arc::new(Watch { allowance: Mutex::new(Allowance::new(Instant::now())), over: Notify::new() }))
    }

    /// Counts a message that didn't come by a pipe of this process.
    pub async fn message(&self) {
        let pause = self.said(1, 0);
        tokio::time::sleep(pause).await;
    }

    fn said(&self, lines: usize, bytes: usize) -> Duration {
        let mut allowance = self.0.allowance.lock();
        let pause = allowance.said(Instant::now(), lines, bytes);
        if allowance.is_spent() {
            self.0.over.notify_one();
        }
        pause
    }

    fn is_spent(&self) -> bool {
        self.0.allowance.lock().is_spent()
    }

    /// Ends when the server must be disconnected, with the reason.
    pub async fn over(&self) -> String {
        if !self.is_spent() {
            self.0.over.notified().await;
        }
        Self::why()
    }

    /// Why the server must be disconnected, if so.
    pub fn reason(&self) -> Option<String> {
        self.is_spent().then(Self::why)
    }

    fn why() -> String {
        format!(
            "it floods: for more than {} s it sent more than {} lines or {} bytes a second; it is disconnected",
            BURST, MCP_LINES.limit, MCP_BYTES.limit
        )
    }

    pub fn reading<R>(&self, inner: R) -> Metered<R> {
        Metered { inner, flood: self.clone(), pause: None }
    }

    /// For output that is read on its own thread.
    pub fn pace(&self) -> Pace {
        let flood = self.clone();
        Arc::new(move |piece| flood.piece(piece))
    }

    fn piece(&self, piece: &[u8]) -> Duration {
        self.said(piece.iter().filter(|byte| **byte == b'\n').count(), piece.len())
    }
}

/// A server's output, read no faster than allowed.
pub(super) struct Metered<R> {
    inner: R,
    flood: Flood,
    pause: Option<Pin<Box<Sleep>>>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Metered<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.flood.is_spent() {
            return Poll::Ready(Err(io::Error::other(Flood::why())));
        }
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        let before = into.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(cx, into))?;
        let pause = self.flood.piece(&into.filled()[before..]);
        if !pause.is_zero() {
            self.pause = Some(Box::pin(tokio::time::sleep(pause)));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, repeat};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn endless_lines_and_an_endless_line_are_slowed_and_then_left() {
        for byte in [b'\n', b'x'] {
            let flood = Flood::new();
            let mut reading = flood.reading(repeat(byte));
            let (begun, mut read, mut piece) = (Instant::now(), 0_usize, vec![0; 8192]);
            let error = loop {
                match reading.read(&mut piece).await {
                    Ok(count) => read += count,
                    Err(error) => break error,
                }
            };
            assert!(error.to_string().contains("floods"), "{error}");
            assert!(flood.over().await.contains("floods"));
            let most = if byte == b'\n' { MCP_LINES.limit } else { MCP_BYTES.limit };
            assert!(read <= most * 60 + 8192 * 3, "{read}");
            assert!(begun.elapsed() < Duration::from_secs(60));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn both_pipes_of_a_program_are_one_allowance() {
        let flood = Flood::new();
        let (pace, piece) = (flood.pace(), [b'\n'; 1000]);
        assert_eq!((pace(&piece), pace(&piece)), (Duration::ZERO, Duration::ZERO), "for a while it may be loud");
        assert_eq!(pace(&piece), Duration::from_secs(5));
        let mut reading = flood.reading(repeat(b'\n'));
        assert!(!flood.is_spent() && reading.read(&mut [0; 1000]).await.is_ok());
        assert!(flood.is_spent() && flood.over().await.contains("floods"));
        assert!(reading.read(&mut [0; 1000]).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn large_results_and_many_lines_now_and_then_are_no_flood() {
        let flood = Flood::new();
        for _ in 0..100 {
            let mut reading = flood.reading(tokio::io::AsyncReadExt::take(repeat(b'x'), 8 << 20));
            let mut whole = Vec::new();
            reading.read_to_end(&mut whole).await.expect("read");
            let mut reading = flood.reading(tokio::io::AsyncReadExt::take(repeat(b'\n'), 150));
            reading.read_to_end(&mut whole).await.expect("read");
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        assert!(!flood.is_spent());
    }
}
