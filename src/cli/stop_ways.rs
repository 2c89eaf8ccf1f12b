//! The ways by which a stop reaches a daemon on this machine, all at once: socket, signal, file.
//!
//! A wedged daemon still has its stop thread, which serves all three. The socket answers by itself; signal and file are
//! answered by the latch file.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use maxim_actors::store::StateStore;
use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::{LatchFile, LatchState, LoadedLatch};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::data_folder::{DaemonNote, DataFolder, birth_of};

/// How the race ended.
#[derive(Debug)]
pub(super) enum Verdict {
    Answered(Value),
    /// There is no daemon. With `request_left` the next one finds the request.
    Nobody {
        request_left: bool,
    },
    /// This user may neither look into the folder nor leave anything in it, so one may run there.
    Denied,
    /// There is one, but nothing confirms the stop.
    Silent {
        pid: Option<u32>,
    },
}

/// A stop on its way.
pub(super) struct Race {
    folder: DataFolder,
    watch: Stopwatch,
    socket: Receiver<io::Result<Value>>,
    /// Whether the request lies on the disk. On a thread of its own: a stalled disk must not delay the other ways.
    request: Receiver<io::Result<()>>,
    /// The process that was signalled.
    signalled: Option<u32>,
    /// The note names a process that lives, so the stop thread may yet see the file.
    may_live: bool,
    /// It was stopped before we came, so the latch file is no answer to us for a while.
    was_stopped: bool,
    /// Other machines may live the agent next, and only the daemon knows whether they were told.
    has_others: bool,
    tried: Vec<String>,
}

/// How often the latch file is looked at.
const LOOK: Duration = Duration::from_millis(2);
/// How long the socket may take before a latch that was set already is answer enough.
const EARLIER_STOP: Duration = Duration::from_millis(250);
/// How long it may take where other machines are told too.
const OTHERS_TOLD: Duration = Duration::from_millis(1500);
/// How long the disk may take for the request file.
const DISK: Duration = Duration::from_secs(1);
/// How long a stop that is answered, and isn't on the disk yet, waits for its request to be there.
const REQUEST: Duration = Duration::from_millis(250);
/// The longest line that the socket may answer.
const LINE_MAX: u64 = 64 * 1024;

impl Race {
    pub(super) fn start(folder: &DataFolder, reason: &str, patience: Duration) -> Self {
        let watch = Stopwatch::start();
        let was_stopped = is_stopped(&folder.latch());
        let (send, socket) = mpsc::channel();
        let (path, line) = (folder.stop_socket(), format!("stop {reason}\n"));
        let mut tried = vec![format!("the socket {}", path.display())];
        // A thread that isn't started drops its sender, which reads as a socket that failed.
        let _ = std::thread::Builder::new().name("stop-socket".into()).spawn(move || {
            let _ = send.send(ask(&path, &line, patience));
        });
        let note = DaemonNote::read(folder).ok().flatten();
        // One whose note was removed still holds its store, and looks for the file.
        let may_live = note.as_ref().is_some_and(|note| Path::new(&format!("/proc/{}", note.pid)).exists())
            || StateStore::held_by(&folder.store()).is_some();
        let signalled = note.and_then(|note| signal(&note));
        tried.push(match signalled {
            Some(pid) => format!("SIGUSR1 to process {pid}"),
            None => format!("the process of {} (none)", folder.daemon_note().display()),
        });
        let (send, request) = mpsc::channel();
        let (path, text) = (folder.stop_request(), format!("{reason}\n"));
        let _ = std::thread::Builder::new().name("stop-file".into()).spawn(move || {
            let _ = send.send(leave_request(&path, &text));
        });
        tried.push(format!("the file {}", folder.stop_request().display()));
        let has_others = folder.machine().exists();
        Self { folder: folder.clone(), watch, socket, request, signalled, may_live, was_stopped, has_others, tried }
    }

    pub(super) fn tried(&self) -> String {
        self.tried.join(", ")
    }

    /// Waits for whichever way is answered first. A stop that is on the disk takes the request back, lest it stops again
    /// after a reset; until then the request is what a crash leaves of it, and the daemon takes it back.
    pub(super) fn finish(self, patience: Duration) -> Verdict {
        let verdict = self.wait(patience);
        match &verdict {
            Verdict::Answered(answer) if answer["durable"] == true => {
                // Once it is written, lest it appears after its removal. A disk that stalls keeps it: too stopped, not too free.
                let _ = self.request.recv_timeout(DISK);
                // The daemon may have taken and removed it.
                let _ = fs::remove_file(self.folder.stop_request());
            }
            // The end of this process would cut off who writes it.
            Verdict::Answered(_) => drop(self.request.recv_timeout(REQUEST)),
            Verdict::Nobody { .. } | Verdict::Denied | Verdict::Silent { .. } => {}
        }
        verdict
    }

    fn wait(&self, patience: Duration) -> Verdict {
        let (mut socket_failed, mut is_denied) = (false, false);
        while self.watch.elapsed() < patience {
            if socket_failed {
                std::thread::sleep(LOOK);
            } else {
                match self.socket.recv_timeout(LOOK) {
                    Ok(Ok(mut answer)) => {
                        answer["via"] = "socket".into();
                        answer["round_trip_us"] = self.elapsed_us().into();
                        return Verdict::Answered(answer);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(Err(error)) => {
                        socket_failed = true;
                        is_denied = error.kind() == io::ErrorKind::PermissionDenied;
                    }
                    Err(RecvTimeoutError::Disconnected) => socket_failed = true,
                }
            }
            if let Some(answer) = self.latched(socket_failed, patience) {
                return Verdict::Answered(answer);
            }
            if socket_failed && !self.may_live {
                let request_left = match self.request.recv_timeout(DISK) {
                    Ok(Ok(())) => true,
                    Ok(Err(error)) if is_denied && error.kind() == io::ErrorKind::PermissionDenied => {
                        return Verdict::Denied;
                    }
                    Ok(Err(_)) | Err(_) => false,
                };
                return Verdict::Nobody { request_left };
            }
        }
        Verdict::Silent { pid: self.signalled }
    }

    /// What the latch file answers, once it can be meant for us.
    fn latched(&self, socket_failed: bool, patience: Duration) -> Option<Value> {
        let only_after = match (self.has_others, self.was_stopped) {
            (true, _) => OTHERS_TOLD,
            (false, true) => EARLIER_STOP,
            (false, false) => Duration::ZERO,
        };
        // Whoever waits for less is answered before that is over.
        let is_answer = self.may_live && (socket_failed || self.watch.elapsed() >= only_after.min(patience / 2));
        (is_answer && is_stopped(&self.folder.latch())).then(|| {
            let micros = self.elapsed_us();
            // The file tells that it is stopped here and nothing else.
            let durable = if self.has_others { Value::Null } else { true.into() };
            let via = if self.has_others { "signal or file, on the disk of this machine" } else { "signal or file" };
            json!({
                "latched": true, "latency_us": micros, "durable": durable, "first": null, "cancelled": null,
                "processes_killed": null, "via": via, "round_trip_us": micros,
            })
        })
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.watch.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

fn ask(path: &Path, line: &str, patience: Duration) -> io::Result<Value> {
    let mut stream = UnixStream::connect(path)?;
    let patience = patience.max(LOOK);
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(line.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream.take(LINE_MAX)).read_line(&mut answer)?;
    let answer: Value = serde_json::from_str(&answer)?;
    if answer.is_object() { Ok(answer) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Signals the daemon, if it is one: a number in an old note may belong to another process by now, which SIGUSR1 would
/// end. A note that doesn't say when its process began is told by the name.
fn signal(note: &DaemonNote) -> Option<u32> {
    let pid = note.pid;
    let is_daemon = match note.birth {
        Some(birth) => birth_of(pid) == Some(birth),
        None => fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end() == "maxim",
    };
    let target = Pid::from_raw(i32::try_from(pid).ok()?)?;
    (is_daemon && kill_process(target, Signal::USR1).is_ok()).then_some(pid)
}

/// The folder isn't made: where none is, no daemon ever was.
fn leave_request(path: &Path, text: &str) -> io::Result<()> {
    // Its reader may be another user: a stop that a person as root leaves is the daemon's to read.
    let mut file = fs::File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn is_stopped(latch: &Path) -> bool {
    matches!(LatchFile::new(latch).load(true), LoadedLatch::Read(record) if record.state == LatchState::Stopped)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use jiff::Timestamp;

    use super::*;

    #[test]
    fn the_process_of_the_note_is_signalled_whatever_its_name_and_no_other_that_has_its_number() {
        let mut child = Command::new("sleep").arg("600").spawn().expect("starts");
        let pid = child.id();
        let birth = birth_of(pid).expect("it lives");
        let note =
            |birth| DaemonNote { url: String::new(), pid, started: Timestamp::UNIX_EPOCH, birth, asks_for: None };
        assert_eq!(signal(&note(Some(birth + 1))), None, "another process has its number by now");
        assert_eq!(signal(&note(None)), None, "an older note goes by the name");
        assert_eq!(signal(&note(Some(birth))), Some(pid));
        assert_eq!(child.wait().expect("ends").signal(), Some(Signal::USR1.as_raw()));
    }
}
