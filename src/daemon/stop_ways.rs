//! The stop threads: a socket and a file, each on a thread of its own, so that a stop works while all else is wedged.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

use maxim_actors::effectors::door::Door;
use serde_json::json;

use crate::data_folder::DataFolder;
use crate::stopping::{stop_by, stop_document};

/// How long an answer waits for the latch file; the stop itself has happened already.
const DURABLE: Duration = Duration::from_millis(50);
/// The longest line that is read.
const LINE: u64 = 4096;
/// How long a caller may take for its line.
const PATIENCE: Duration = Duration::from_secs(1);

/// Serves both ways until the process ends.
pub fn serve(folder: &DataFolder, door: &Arc<Door>, poll: Duration) -> io::Result<()> {
    let path = folder.stop_socket();
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&path)?;
    let at_socket = Arc::clone(door);
    std::thread::Builder::new().name("stop-socket".into()).spawn(move || {
        for caller in listener.incoming().flatten() {
            if let Err(error) = answer(&caller, &at_socket) {
                tracing::debug!(%error, "a caller of the stop socket went away");
            }
        }
    })?;
    let (request, at_file) = (folder.stop_request(), Arc::clone(door));
    std::thread::Builder::new().name("stop-file".into()).spawn(move || {
        loop {
            std::thread::sleep(poll);
            if let Ok(reason) = fs::read_to_string(&request) {
                let reason = if reason.trim().is_empty() { "a stop request file" } else { reason.trim() };
                let _ = at_file.stop(reason.into(), stop_by::FILE.into());
                let _ = fs::remove_file(&request);
            }
        }
    })?;
    Ok(())
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

/// Anything that begins with `stop` stops; the rest of the line is the reason.
fn answer(caller: &UnixStream, door: &Door) -> io::Result<()> {
    caller.set_read_timeout(Some(PATIENCE))?;
    caller.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(caller.take(LINE)).read_line(&mut line)?;
    let mut writer = caller;
    let Some(reason) = line.trim().strip_prefix("stop") else {
        return writeln!(writer, "{}", json!({ "error": "send `stop <reason>`" }));
    };
    let reason = if reason.trim().is_empty() { "the stop socket" } else { reason.trim() };
    let (raised, durable) = door.stop(reason.into(), stop_by::SOCKET.into());
    // The rooms are not asked here: they may be wedged.
    let answer = stop_document(&raised, durable.wait(DURABLE), None);
    writeln!(writer, "{answer}")
}
