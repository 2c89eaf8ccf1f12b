//! A separate home for each test, with the real binary.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use jiff::Timestamp;
use maxim::data_folder::{DaemonNote, DataFolder};
use serde_json::Value;
use tempfile::TempDir;

/// A person's home, empty.
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a folder"));
        fs::create_dir_all(home.path("work")).expect("made");
        home
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    pub fn data(&self) -> DataFolder {
        let folder = DataFolder::new(self.path(".local/state/maxim"));
        fs::create_dir_all(folder.path()).expect("made");
        folder
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_maxim"));
        command.args(args).env_clear().env("HOME", self.0.path()).current_dir(self.path("work")).stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Done {
        self.done(self.command(args).output().expect("runs"))
    }

    pub fn run_with(&self, args: &[&str], variable: &str, value: &str) -> Done {
        self.done(self.command(args).env(variable, value).output().expect("runs"))
    }

    /// The output with the home's path replaced by `~`.
    pub fn done(&self, output: Output) -> Done {
        let text =
            |bytes: Vec<u8>| String::from_utf8(bytes).expect("text").replace(&*self.0.path().to_string_lossy(), "~");
        Done { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Done {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Writes the note by which a daemon is found.
pub fn note(home: &Home, url: &str, pid: u32) {
    DaemonNote { url: url.into(), pid, started: Timestamp::UNIX_EPOCH, birth: None, asks_for: None }
        .write(&home.data())
        .expect("written");
}
