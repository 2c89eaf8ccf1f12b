//! The stop socket: one thread hears all callers at once.
//!
//! Law: a stop takes effect as soon as its line is there, whatever other callers do. A caller has one second for its whole
//! line. If all places are taken, the oldest caller gives its place. A line without an end counts as it stands: a caller
//! that has sent `stop` stops the agent, though its time is over, it hung up or it gave its place.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use maxim_bus::clock::monotonic_micros;
use maxim_bus::latch::{DurableAnswer, Raised};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;

use crate::stopping::{BEAT, stop_document};

/// Bytes of the longest line that is read.
const LINE: usize = 4096;
/// How long a caller may take for its line, in microseconds.
const PATIENCE: u64 = 1_000_000;
/// Callers that are heard at once.
const CALLERS: usize = 64;
/// Answers that are on their way at once. A stop beyond them is carried out, and its answer doesn't wait for the disk.
const ANSWERS: usize = 64;

/// All callers of the socket. `stop` carries a stop with this reason out.
pub struct Calls<F> {
    listener: UnixListener,
    /// The oldest first.
    callers: VecDeque<Caller>,
    stop: F,
    /// Each answer on its way holds one.
    answers: Arc<()>,
}

struct Caller {
    stream: UnixStream,
    line: Vec<u8>,
    /// Monotonic microseconds by which its line must have come.
    deadline: u64,
    /// Nothing further comes.
    is_whole: bool,
}

impl<F: Fn(&str) -> (Raised, DurableAnswer)> Calls<F> {
    /// # Errors
    /// The listener can't be set up.
    pub fn new(listener: UnixListener, stop: F) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { listener, callers: VecDeque::new(), stop, answers: Arc::new(()) })
    }

    /// Waits until something comes or a time is over, at most a beat long, and serves what there is.
    pub fn serve(&mut self) {
        self.wait();
        self.take_in();
        let now = monotonic_micros();
        for mut caller in std::mem::take(&mut self.callers) {
            caller.hear();
            if caller.is_whole || caller.deadline <= now {
                self.finish(caller);
            } else {
                self.callers.push_back(caller);
            }
        }
    }

    fn wait(&self) {
        let now = monotonic_micros();
        let left = self.callers.iter().map(|caller| Duration::from_micros(caller.deadline.saturating_sub(now))).min();
        let limit = Timespec::try_from(left.map_or(BEAT, |left| left.min(BEAT))).ok();
        let listener = PollFd::new(&self.listener, PollFlags::IN);
        let callers = self.callers.iter().map(|caller| PollFd::new(&caller.stream, PollFlags::IN));
        let mut all: Vec<PollFd<'_>> = std::iter::once(listener).chain(callers).collect();
        // A signal, or no memory, which comes back.
        if poll(&mut all, limit.as_ref()).is_err() {
            std::thread::sleep(BEAT / 100);
        }
    }

    /// Takes in who waits, as many as have a place at most: those who are here are heard in between.
    fn take_in(&mut self) {
        for _ in 0..CALLERS {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if stream.set_nonblocking(true).is_err() {
                        continue;
                    }
                    let deadline = monotonic_micros().saturating_add(PATIENCE);
                    let mut caller = Caller { stream, line: Vec::new(), deadline, is_whole: false };
                    // A stop that is there already needs no place.
                    caller.hear();
                    match caller.is_whole {
                        true => self.finish(caller),
                        false => self.callers.push_back(caller),
                    }
                    if self.callers.len() > CALLERS {
                        self.give_up_the_oldest();
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Too many open files, say. The oldest caller gives its file; without one they must come back.
                Err(_) => {
                    if !self.give_up_the_oldest() {
                        std::thread::sleep(BEAT / 10);
                    }
                    return;
                }
            }
        }
    }

    fn give_up_the_oldest(&mut self) -> bool {
        self.callers.pop_front().map(|oldest| self.finish(oldest)).is_some()
    }

    /// In a fence: whatever becomes of one caller, the next is heard.
    fn finish(&self, caller: Caller) {
        if let Ok(Err(error)) = catch_unwind(AssertUnwindSafe(|| self.answer(caller))) {
            tracing::debug!(%error, "a caller of the stop socket was not answered");
        }
    }

    /// Anything that begins with `stop` stops; the rest of the line is the reason.
    fn answer(&self, caller: Caller) -> io::Result<()> {
        let mut stream = caller.stream;
        let line = String::from_utf8_lossy(&caller.line);
        let line = line.lines().next().unwrap_or_default().trim();
        let Some(reason) = line.strip_prefix("stop") else {
            return writeln!(stream, "{}", json!({ "error": "send `stop <reason>`" }));
        };
        let reason = if reason.trim().is_empty() { "the stop socket" } else { reason.trim() };
        let (raised, durable) = (self.stop)(reason);
        // The rooms are not asked here: they may be wedged.
        let mut tell = move |durable| writeln!(stream, "{}", stop_document(&raised, durable, None));
        if Arc::strong_count(&self.answers) > ANSWERS {
            return tell(durable.wait(Duration::ZERO));
        }
        // The disk may stall, and the others are heard meanwhile.
        let answering = Arc::clone(&self.answers);
        let told = std::thread::Builder::new().name("stop-answer".into()).spawn(move || {
            let _ = tell(durable.confirm());
            drop(answering);
        });
        told.map(drop)
    }
}

impl Caller {
    /// Reads what has come.
    fn hear(&mut self) {
        let mut bytes = [0; 512];
        while !self.is_whole {
            match self.stream.read(&mut bytes) {
                Ok(0) => self.is_whole = true,
                Ok(count) => {
                    let room = LINE - self.line.len();
                    self.line.extend_from_slice(&bytes[..count.min(room)]);
                    self.is_whole = bytes[..count].contains(&b'\n') || self.line.len() == LINE;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.is_whole = true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::sync::atomic::{AtomicBool, Ordering};

    use maxim_bus::latch::{StopDetail, StopLatch};
    use parking_lot::Mutex;

    use super::*;

    struct Socket {
        folder: tempfile::TempDir,
        reasons: Arc<Mutex<Vec<String>>>,
        ended: Arc<AtomicBool>,
        thread: Option<std::thread::JoinHandle<()>>,
    }

    impl Socket {
        fn open() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let listener = UnixListener::bind(folder.path().join("stop.sock")).expect("bound");
            let (reasons, ended) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
            let (said, over, latch) = (Arc::clone(&reasons), Arc::clone(&ended), StopLatch::in_memory());
            let stop = move |reason: &str| {
                said.lock().push(reason.to_owned());
                latch.raise(StopDetail { reason: reason.into(), by: "test".into(), at: None })
            };
            let mut calls = Calls::new(listener, stop).expect("set up");
            let thread = std::thread::spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    calls.serve();
                }
            });
            Self { folder, reasons, ended, thread: Some(thread) }
        }

        fn call(&self) -> UnixStream {
            let stream = UnixStream::connect(self.folder.path().join("stop.sock")).expect("connects");
            // An answer that doesn't come fails the test.
            stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
            stream
        }

        fn say(&self, line: &str) -> String {
            let mut caller = self.call();
            caller.write_all(line.as_bytes()).expect("written");
            answer(&caller)
        }

        fn reasons(&self) -> Vec<String> {
            self.reasons.lock().clone()
        }
    }

    impl Drop for Socket {
        fn drop(&mut self) {
            self.ended.store(true, Ordering::SeqCst);
            let ended = self.thread.take().map(std::thread::JoinHandle::join);
            assert!(matches!(ended, Some(Ok(()))));
        }
    }

    fn answer(caller: &UnixStream) -> String {
        let mut line = String::new();
        BufReader::new(caller).read_line(&mut line).expect("an answer");
        line
    }

    #[test]
    fn silent_and_dripping_callers_keep_no_stop_waiting() {
        let socket = Socket::open();
        // More than there are places for; a stop after each of them.
        let mut silent = Vec::new();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let mut dripping = socket.call();
            let again = &socket;
            scope.spawn(move || {
                while ended.recv_timeout(Duration::from_millis(20)).is_err() {
                    // Given up it calls anew.
                    if dripping.write_all(b".").is_err() {
                        dripping = again.call();
                    }
                }
            });
            for count in 1..=3 * CALLERS {
                silent.push(socket.call());
                assert!(socket.say("stop smoke\n").contains("latched"));
                assert_eq!(socket.reasons().len(), count);
            }
            end.send(()).expect("it drips still");
        });
        assert!(socket.reasons().iter().all(|reason| reason == "smoke"), "nobody else has stopped");
        // Those that had no place any more were told.
        assert!(answer(&silent[0]).contains("send `stop <reason>`"));
    }

    #[test]
    fn a_dripping_caller_is_given_up_when_its_second_is_over() {
        let socket = Socket::open();
        let caller = socket.call();
        let mut dripping = caller.try_clone().expect("cloned");
        let drips = std::thread::spawn(move || {
            while dripping.write_all(b".").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        assert!(answer(&caller).contains("error"));
        drips.join().expect("its line is closed");
        assert!(socket.reasons().is_empty());
    }

    #[test]
    fn a_stop_without_an_end_stops_by_its_time_by_a_hang_up_and_by_giving_its_place() {
        let socket = Socket::open();
        assert!(socket.say("stop slow").contains("latched"), "its second is over");
        let mut gone = socket.call();
        gone.write_all(b"stop gone").expect("written");
        drop(gone);
        let mut pushed = socket.call();
        pushed.write_all(b"stop pushed").expect("written");
        let silent: Vec<UnixStream> = (0..=CALLERS).map(|_| socket.call()).collect();
        assert!(answer(&pushed).contains("latched"));
        assert_eq!(socket.reasons(), ["slow", "gone", "pushed"]);
        drop(silent);
    }

    #[test]
    fn a_line_that_is_no_stop_or_too_long_is_answered() {
        let socket = Socket::open();
        for line in ["test\n", "please stop\n", "\n", "\u{fffd}\u{fffd}\n"] {
            assert!(socket.say(line).contains("send `stop <reason>`"), "{line:?}");
        }
        assert!(socket.reasons().is_empty());
        assert!(socket.say(&format!("stop {}", "x".repeat(LINE))).contains("latched"));
        assert_eq!(socket.reasons()[0].len(), LINE - "stop ".len());
        assert!(socket.say("stop\n").contains("latched"));
        assert_eq!(socket.reasons()[1], "the stop socket");
    }
}
