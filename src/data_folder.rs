//! The names of the files in a data folder, and the note by which a running daemon is found.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use maxim_bus::latch::HeldFolder;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

/// One agent's folder on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFolder(PathBuf);

impl DataFolder {
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the folder for this user only, because the memory in it is private. An existing folder stays as its owner
    /// made it.
    ///
    /// # Errors
    /// The folder can't be made.
    pub fn make(&self) -> io::Result<()> {
        private_folder().create(&self.0)
    }

    /// Restores this user's rights over the folder, over the folders that it lies in, and over what it holds, if a
    /// program had taken them away. Returns what was changed, for a person.
    pub fn restore(&self) -> Vec<String> {
        let Ok(path) = std::path::absolute(&self.0) else { return Vec::new() };
        let mut told = Vec::new();
        let around: Vec<&Path> = path.ancestors().collect();
        // The outermost first: the content of a closed folder can't be looked at.
        for level in around.into_iter().rev() {
            let wanted = if level == path { 0o700 } else { 0o100 };
            let Ok(found) = fs::metadata(level) else { break };
            let mode = found.mode() & 0o7777;
            if found.uid() == geteuid().as_raw() && found.is_dir() && mode & wanted != wanted {
                let open = mode | 0o700;
                told.push(match fs::set_permissions(level, fs::Permissions::from_mode(open)) {
                    Ok(()) => format!("the mode of {} was {mode:03o} and is {open:03o} again", level.display()),
                    Err(error) => format!("the mode of {} is {mode:03o} and can't be set: {error}", level.display()),
                });
            }
        }
        told.extend(HeldFolder::open(&path).map(|held| held.restore_all()).unwrap_or_default());
        told
    }

    /// The file in which the running daemon writes its address.
    pub fn daemon_note(&self) -> PathBuf {
        self.0.join("daemon.json")
    }

    /// The token that the daemon has made for itself.
    pub fn token(&self) -> PathBuf {
        self.0.join("token")
    }

    /// Takes `stop <reason>\n` and answers with one line of JSON.
    pub fn stop_socket(&self) -> PathBuf {
        self.0.join("stop.sock")
    }

    /// A file that asks for a stop by its existence; its content is the reason. The daemon removes it once it has
    /// stopped.
    pub fn stop_request(&self) -> PathBuf {
        self.0.join("stop.request")
    }

    /// Which machine this is, of several that share an agent.
    pub fn machine(&self) -> PathBuf {
        self.0.join("machine")
    }

    /// True if a process uses this folder as its machine: it runs the agent, or waits for it.
    pub fn is_waited_in(&self) -> bool {
        let held = fs::File::open(self.machine()).map(|file| file.try_lock());
        matches!(held, Ok(Err(fs::TryLockError::WouldBlock)))
    }

    /// The store's own folder.
    pub fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    /// Copies of files that tools overwrote.
    pub fn saved(&self) -> PathBuf {
        self.0.join("saved")
    }

    /// What the tool servers offered when they were asked last.
    pub fn tool_lists(&self) -> PathBuf {
        self.0.join("tool_servers")
    }

    /// The flight recorder's files.
    pub fn recordings(&self) -> PathBuf {
        self.0.join("recordings")
    }

    /// True if a run was recorded here.
    pub fn holds_recordings(&self) -> bool {
        let is_one = |entry: std::io::Result<fs::DirEntry>| {
            entry.is_ok_and(|entry| entry.path().extension().is_some_and(|ending| ending == "mcap"))
        };
        fs::read_dir(self.recordings()).is_ok_and(|mut entries| entries.any(is_one))
    }

    /// The stop latch's file.
    pub fn latch(&self) -> PathBuf {
        self.0.join("latch.json")
    }
}

/// Options to make a folder, and those above it, that only this user may look into.
pub fn private_folder() -> fs::DirBuilder {
    let mut folder = fs::DirBuilder::new();
    folder.recursive(true).mode(0o700);
    folder
}

/// Writes a file that only this user may read. An existing file keeps its mode.
///
/// # Errors
/// It can't be written.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    private_file().truncate(true).open(path)?.write_all(bytes)
}

/// Options to make a file that only this user may read.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

/// How a running daemon is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonNote {
    /// Where its HTTP door is, e.g. `http://127.0.0.1:7717`.
    pub url: String,
    pub pid: u32,
    pub started: Timestamp,
    /// When the process began, as the kernel counts (starttime in proc_pid_stat(5)). A later process with the same
    /// number has another time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub birth: Option<u64>,
    /// What callers must show; `None` in a note of an older daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks_for: Option<TokenKind>,
}

/// What a daemon's door asks callers for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// Nothing: `http.open`.
    Nothing,
    /// The token in the data folder.
    Own,
    /// The token of `http.token` or `http.token_file`.
    Configured,
}

/// When a process began, in ticks since the machine started; `None` if there is no such process.
pub fn birth_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything; starttime is the 20th word after it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

impl DaemonNote {
    /// The note of this process.
    pub fn own(url: String, started: Timestamp, asks_for: TokenKind) -> Self {
        let pid = std::process::id();
        Self { url, pid, started, birth: birth_of(pid), asks_for: Some(asks_for) }
    }

    /// Reads the note; `None` if no daemon has left one.
    ///
    /// # Errors
    /// The file is there but can't be read, or isn't a note.
    pub fn read(folder: &DataFolder) -> io::Result<Option<Self>> {
        match fs::read(folder.daemon_note()) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces the note as a whole, so that a reader never sees half of it.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn write(&self, folder: &DataFolder) -> io::Result<()> {
        let beside = folder.daemon_note().with_extension("new");
        let mut file = private_file().truncate(true).open(&beside)?;
        file.write_all(format!("{}\n", serde_json::to_string(self)?).as_bytes())?;
        fs::rename(beside, folder.daemon_note())
    }

    /// Removes the note at the end of the daemon.
    ///
    /// # Errors
    /// The file is there and can't be removed.
    pub fn remove(folder: &DataFolder) -> io::Result<()> {
        match fs::remove_file(folder.daemon_note()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_written_read_and_removed() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = DataFolder::new(dir.path().to_owned());
        assert_eq!(DaemonNote::read(&folder).expect("no note is no error"), None);
        let note = DaemonNote {
            url: "http://127.0.0.1:1".into(),
            pid: 7,
            started: Timestamp::UNIX_EPOCH,
            birth: None,
            asks_for: Some(TokenKind::Own),
        };
        note.write(&folder).expect("written");
        assert_eq!(DaemonNote::read(&folder).expect("read"), Some(note));
        DaemonNote::remove(&folder).expect("removed");
        DaemonNote::remove(&folder).expect("removing twice is no error");
        fs::write(folder.daemon_note(), "{").expect("written");
        assert!(DaemonNote::read(&folder).is_err());
    }

    #[test]
    fn what_was_closed_to_its_owner_is_opened_and_told() {
        let dir = tempfile::tempdir().expect("a folder");
        let around = dir.path().canonicalize().expect("real").join("state");
        let folder = DataFolder::new(around.join("agent"));
        folder.make().expect("made");
        fs::write(folder.token(), "x").expect("written");
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
        set(&folder.token(), 0o644);
        assert_eq!(folder.restore(), Vec::<String>::new(), "others' rights are another matter");
        for path in [folder.token(), folder.path().to_owned(), around.clone()] {
            set(&path, 0);
        }
        let told = folder.restore();
        let named = |path: &Path, mode| format!("the mode of {} was 000 and is {mode} again", path.display());
        let expected = [named(&around, "700"), named(folder.path(), "700"), named(&folder.token(), "600")];
        assert_eq!(told, expected);
        assert_eq!(DataFolder::new(dir.path().join("absent")).restore(), Vec::<String>::new());
    }
}
