//! Standard error, written by its own thread. A caller neither waits for a blocked terminal nor ends with a closed one.
//! There is one for the process, like its terminal.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Texts that may wait to be written. Later ones are dropped and counted: memory must not grow because of an unread
/// pipe.
const WAITING: usize = 4096;
/// How long to wait for an important line, because the process may end right after it.
const SOON: Duration = Duration::from_millis(50);

static STANDARD_ERROR: OnceLock<Writer> = OnceLock::new();

/// Tells a person a line.
pub fn tell(line: impl Display) {
    push(format!("maxim: {line}\n").into_bytes());
}

/// Tells a person a line, and waits a moment until it is written: the process may end right after.
pub fn tell_now(line: impl Display) {
    tell(line);
    settle(SOON);
}

/// Waits until all lines are written, at most `limit`.
pub fn settle(limit: Duration) {
    if let Some(writer) = STANDARD_ERROR.get() {
        writer.settle(limit);
    }
}

/// Reports panics here too: the hook of the standard library waits for the terminal.
pub fn take_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let mut text = format!("thread '{}' {panic}\n", thread.name().unwrap_or("<unnamed>"));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            text.push_str(&format!("{backtrace}\n"));
        }
        push(text.into_bytes());
    }));
}

/// For logs: each write is one text.
#[derive(Clone, Copy, Debug)]
pub struct Texts;

impl Write for Texts {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        push(text.to_vec());
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn push(text: Vec<u8>) {
    STANDARD_ERROR.get_or_init(|| Writer::start(io::stderr(), WAITING)).push(text);
}

enum Job {
    Text(Vec<u8>),
    Settle(SyncSender<()>),
}

struct Writer {
    jobs: SyncSender<Job>,
    left_out: Arc<AtomicU64>,
}

impl Writer {
    fn start(mut out: impl Write + Send + 'static, waiting: usize) -> Self {
        let (jobs, queue) = mpsc::sync_channel(waiting);
        let left_out = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&left_out);
        // Without a thread the queue has no receiver, and all texts are dropped.
        let _ =
            std::thread::Builder::new().name("standard-error".into()).spawn(move || write(&queue, &count, &mut out));
        Self { jobs, left_out }
    }

    fn push(&self, text: Vec<u8>) {
        if self.jobs.try_send(Job::Text(text)).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn settle(&self, limit: Duration) {
        let (done, settled) = mpsc::sync_channel(1);
        if self.jobs.try_send(Job::Settle(done)).is_ok() {
            let _ = settled.recv_timeout(limit);
        }
    }
}

/// Text that can't be written is lost: there is no other place to report it.
fn write(jobs: &Receiver<Job>, left_out: &AtomicU64, out: &mut impl Write) {
    for job in jobs {
        match job {
            Job::Text(text) => drop(out.write_all(&text)),
            Job::Settle(done) => drop(done.try_send(())),
        }
        match left_out.swap(0, Ordering::Relaxed) {
            0 => {}
            count => drop(writeln!(
                out,
                "maxim: {count} lines are left out here: standard error was blocked \
            meanwhile"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Longer than any test takes.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn who_tells_waits_for_no_reader_and_what_was_left_out_is_counted() {
        let (out, reader) = UnixStream::pair().expect("a pair");
        let writer = Writer::start(out, 8);
        // Far more than the pair and the queue hold, so a writer that waits would stay here for ever.
        let line = format!("{}\n", "x".repeat(1023));
        for _ in 0..10_000 {
            writer.push(line.clone().into_bytes());
        }
        assert!(writer.left_out.load(Ordering::Relaxed) > 0);
        let mut lines = BufReader::new(&reader).lines().map_while(Result::ok);
        let told = lines.by_ref().find(|line| line.contains("left out")).expect("it is told");
        assert!(told.starts_with("maxim: ") && told.contains("lines are left out here"), "{told}");
        drop(writer);
        assert!(lines.all(|line| line.len() == 1023 || line.contains("left out")), "lines stay whole");
    }

    #[test]
    fn who_tells_outlives_its_reader_and_settling_says_that_all_is_written() {
        let (out, mut reader) = UnixStream::pair().expect("a pair");
        let writer = Writer::start(out, 8);
        writer.push(b"hello\n".to_vec());
        writer.settle(LONG);
        let mut word = [0; 6];
        reader.read_exact(&mut word).expect("it is written");
        drop(reader);
        writer.push(b"nobody reads this\n".to_vec());
        writer.settle(LONG);
        writer.push(b"nor this\n".to_vec());
        writer.settle(LONG);
        assert_eq!(writer.left_out.load(Ordering::Relaxed), 0, "it is still taken");
    }
}
