//! The stop threads: a socket and a file, each on a thread of its own, so that a stop works while all else is wedged.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use maxim_actors::effectors::door::Door;
use maxim_bus::latch::{LatchFile, LatchState, StopLatch};

use super::stop_socket::Calls;
use crate::data_folder::DataFolder;
use crate::stopping::{SignsOfLife, StopThread, stop_by};

/// Bytes of a request that are read.
const LINE: u64 = 4096;
/// How long the test of the socket waits for its answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Serves both ways until the process ends.
pub fn serve(
    folder: &DataFolder,
    door: &Arc<Door>,
    latch: &StopLatch,
    poll: Duration,
    signs: &Arc<SignsOfLife>,
) -> io::Result<()> {
    let path = folder.stop_socket();
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let at_socket = Arc::clone(door);
    let stop = move |reason: &str| at_socket.stop(reason.into(), stop_by::SOCKET.into());
    let mut calls = Calls::new(UnixListener::bind(&path)?, stop)?;
    let alive = Arc::clone(signs);
    std::thread::Builder::new().name("stop-socket".into()).spawn(move || {
        loop {
            alive.give(StopThread::Socket);
            calls.serve();
        }
    })?;
    let (at_file, latch, alive) = (Arc::clone(door), latch.clone(), Arc::clone(signs));
    let mut requests = Requests::new(folder);
    std::thread::Builder::new().name("stop-file".into()).spawn(move || {
        loop {
            std::thread::sleep(poll);
            alive.give(StopThread::File);
            let stop = |reason: &str| drop(at_file.stop(reason.into(), stop_by::FILE.into()));
            let _ = catch_unwind(AssertUnwindSafe(|| requests.look(&latch, stop)));
        }
    })?;
    Ok(())
}

/// Stop requests that come as a file.
struct Requests {
    request: PathBuf,
    latch: LatchFile,
    /// The one that was heeded already: its inode and when it was written.
    heeded: Option<(u64, i64, i64)>,
}

impl Requests {
    fn new(folder: &DataFolder) -> Self {
        Self { request: folder.stop_request(), latch: LatchFile::new(&folder.latch()), heeded: None }
    }

    /// Stops for a request that is there, and keeps it until the stop is on the disk: else a crash would forget both.
    fn look(&mut self, latch: &StopLatch, stop: impl FnOnce(&str)) {
        let Ok((reason, which)) = read(&self.request) else { return };
        if self.heeded != Some(which) {
            stop(if reason.trim().is_empty() { "a stop request file" } else { reason.trim() });
            self.heeded = Some(which);
        }
        // A person who has reset it since has done that on the disk.
        let would_start_stopped = || self.latch.load(true).into_record().state == LatchState::Stopped;
        if !latch.is_stopped() || would_start_stopped() {
            let _ = fs::remove_file(&self.request);
            self.heeded = None;
        }
    }
}

/// The start of what somebody wrote. A stop is heeded whatever its words are: cut within a character, or no text at all.
fn words(file: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(LINE).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The reason in a file that asks for a stop.
pub(super) fn requested(path: &Path) -> io::Result<String> {
    words(&mut fs::File::open(path)?)
}

fn read(path: &Path) -> io::Result<(String, (u64, i64, i64))> {
    let mut file = fs::File::open(path)?;
    let meta = file.metadata()?;
    Ok((words(&mut file)?, (meta.ino(), meta.mtime(), meta.mtime_nsec())))
}

/// Asks the stop thread for a sign of life, without stopping anything.
pub fn test(folder: &DataFolder) -> io::Result<()> {
    let mut socket = UnixStream::connect(folder.stop_socket())?;
    socket.set_read_timeout(Some(PATIENCE))?;
    writeln!(socket, "test")?;
    let mut line = String::new();
    BufReader::new(&socket).read_line(&mut line)?;
    if line.contains("send `stop") { Ok(()) } else { Err(io::Error::other("the stop thread gave no sign of life")) }
}

#[cfg(test)]
mod tests {
    use maxim_bus::latch::StopDetail;
    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    fn raised(latch: &StopLatch, reason: &str) -> bool {
        let (_, durable) = latch.raise(StopDetail { reason: reason.into(), by: "test".into(), at: None });
        durable.confirm()
    }

    #[test]
    fn a_request_stays_until_the_stop_is_on_the_disk_and_stops_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = DataFolder::new(dir.path().to_owned());
        let latch = StopLatch::open(&folder.latch(), false).expect("a fresh latch");
        // What the latch writes first is a pipe that nobody reads: the disk stalls.
        let stalled = folder.latch().with_extension("new");
        mknodat(CWD, &stalled, FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        fs::write(folder.stop_request(), "smoke\n").expect("written");
        let mut requests = Requests::new(&folder);
        let mut stops = Vec::new();
        for _ in 0..3 {
            requests.look(&latch, |reason| {
                stops.push(reason.to_owned());
                assert!(!raised(&latch, reason), "a stalled disk holds nothing");
            });
            assert!(latch.is_stopped() && folder.stop_request().exists());
        }
        assert_eq!(stops, ["smoke"]);
        // Whoever reads the pipe frees the disk; what can't be synced is tried again.
        drop(fs::File::open(&stalled).expect("opened"));
        fs::remove_file(&stalled).expect("removed");
        while folder.stop_request().exists() {
            requests.look(&latch, |_| panic!("it stops once"));
            std::thread::yield_now();
        }
        assert!(StopLatch::open(&folder.latch(), true).expect("opens").is_stopped(), "as after a crash");
    }

    #[test]
    fn a_request_stops_whatever_its_words_are_and_however_many() {
        for words in ["é".repeat(500_000).into_bytes(), [b'a', 0xc3].repeat(3000), vec![0xff; 1 << 20], Vec::new()] {
            let dir = tempfile::tempdir().expect("a folder");
            let folder = DataFolder::new(dir.path().to_owned());
            fs::write(folder.stop_request(), words).expect("written");
            let mut stops = Vec::new();
            Requests::new(&folder).look(&StopLatch::in_memory(), |reason| stops.push(reason.to_owned()));
            assert_eq!(stops.len(), 1);
            assert!(
                stops[0].len() <= 3 * LINE as usize && requested(&folder.stop_request()).is_err(),
                "heeded and gone"
            );
        }
    }

    #[test]
    fn a_request_is_no_longer_kept_once_a_person_has_reset_the_stop_and_a_new_one_stops_anew() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = DataFolder::new(dir.path().to_owned());
        let latch = StopLatch::in_memory();
        latch.raise(StopDetail { reason: "smoke".into(), by: "test".into(), at: None });
        LatchFile::new(&folder.latch()).write(&maxim_bus::latch::LatchRecord::clear(), 0).expect("written");
        fs::write(folder.stop_request(), "smoke").expect("written");
        let mut requests = Requests::new(&folder);
        let mut stops = 0;
        requests.look(&latch, |_| stops += 1);
        assert!(folder.stop_request().exists(), "the file says that it would start clear");
        latch.reset().expect("reset");
        requests.look(&latch, |_| stops += 1);
        assert_eq!((stops, folder.stop_request().exists()), (1, false));
        fs::write(folder.stop_request(), "fire").expect("written");
        requests.look(&latch, |_| stops += 1);
        assert_eq!(stops, 2);
    }
}
