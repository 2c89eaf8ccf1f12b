//! Reads output as it comes and keeps it within bounds.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::no_thread;
use crate::ToolFailure;

/// A process's output; if it is too long, its beginning and its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// The text. A line says how much was cut. Bytes that aren't UTF-8 are shown as U+FFFD.
    pub text: String,
    /// Bytes of output in all.
    pub total: u64,
    /// Bytes left out.
    pub cut: u64,
}

#[derive(Default)]
struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Kept {
    fn take(&mut self, bytes: &[u8], cap: usize) {
        self.total += bytes.len() as u64;
        let for_head = cap.div_ceil(2).saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..for_head]);
        let rest = &bytes[for_head..];
        self.tail.extend(&rest[rest.len().saturating_sub(cap / 2)..]);
        let too_many = self.tail.len().saturating_sub(cap / 2);
        self.tail.drain(..too_many);
    }

    fn captured(&self) -> Captured {
        let cut = self.total - (self.head.len() + self.tail.len()) as u64;
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let text = if cut == 0 {
            String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned()
        } else {
            format!(
                "{}\n[… {cut} bytes are left out here …]\n{}",
                String::from_utf8_lossy(&self.head),
                String::from_utf8_lossy(&tail)
            )
        };
        Captured { text, total: self.total, cut }
    }
}

/// How long a reader pauses after this data. A full pipe then slows down a process that floods.
pub type Pace = Arc<dyn Fn(&[u8]) -> Duration + Send + Sync>;

/// A stream that a separate thread reads to its end, so the process never waits for a reader.
pub(super) struct Reading {
    kept: Arc<Mutex<Kept>>,
    closed: Receiver<()>,
}

impl Reading {
    pub(super) fn start(stream: Option<impl Read + Send + 'static>, cap: usize) -> Result<Self, ToolFailure> {
        Self::paced(stream, cap, Arc::new(|_| Duration::ZERO))
    }

    pub(super) fn paced(
        stream: Option<impl Read + Send + 'static>,
        cap: usize,
        pace: Pace,
    ) -> Result<Self, ToolFailure> {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let (say_closed, closed) = mpsc::channel();
        if let Some(mut stream) = stream {
            let keep = Arc::clone(&kept);
            let thread = std::thread::Builder::new().name("contained-output".into());
            let read = move || {
                let mut buffer = vec![0; 16 * 1024];
                // A read error is the end; a pipe has no other errors.
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    keep.lock().take(&buffer[..count], cap);
                    let pause = pace(&buffer[..count]);
                    if !pause.is_zero() {
                        std::thread::sleep(pause);
                    }
                }
                let _ = say_closed.send(());
            };
            thread.spawn(read).map_err(|error| no_thread(&error))?;
        }
        Ok(Self { kept, closed })
    }

    /// The output so far, and whether the stream has ended.
    pub(super) fn finish(self, patience: Duration) -> (Captured, bool) {
        let closed = !matches!(self.closed.recv_timeout(patience), Err(mpsc::RecvTimeoutError::Timeout));
        (self.kept.lock().captured(), closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_is_whole_and_long_output_keeps_both_ends_and_says_what_is_cut() {
        let mut kept = Kept::default();
        kept.take(b"hello ", 10);
        kept.take(b"you", 10);
        assert_eq!(kept.captured(), Captured { text: "hello you".into(), total: 9, cut: 0 });
        kept.take(&[b'x'; 1000], 10);
        kept.take(b"end", 10);
        let captured = kept.captured();
        assert_eq!(captured.text, "hello\n[… 1002 bytes are left out here …]\nxxend");
        assert_eq!((captured.total, captured.cut), (1012, 1002));
    }
}
