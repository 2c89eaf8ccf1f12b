//! How a command ends, and the one place that says why.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use serde_json::json;

use crate::config::{ConfigError, Fault};

/// The exit codes that scripts rely on; the large ones are those of sysexits.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Ok = 0,
    /// The thing asked for did not hold.
    NotHeld = 1,
    /// A command line or an input file that can't be read.
    Usage = 2,
    Bug = 70,
    TryAgain = 75,
    BadConfig = 78,
}

impl Exit {
    fn title(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NotHeld => "did not hold",
            Self::Usage => "usage or bad input",
            Self::Bug => "a bug",
            Self::TryAgain => "try again",
            Self::BadConfig => "bad configuration",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed: what was found, and how to fix it. Several entries when a configuration has several faults.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error("{}", lines(faults))]
    Failed { exit: Exit, faults: Vec<Fault> },
    /// The reader of the output has closed it.
    #[error("the reader of the output is gone")]
    Unread,
}

fn lines(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n")
}

impl CliError {
    pub fn new(exit: Exit, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Failed { exit, faults: vec![Fault::new("", found, fix)] }
    }

    /// An error whose own text is `<what> <value>; <fix>`.
    pub fn told(exit: Exit, error: &impl fmt::Display) -> Self {
        let text = error.to_string();
        let (found, fix) = text.split_once("; ").unwrap_or((&text, "see `maxim doctor`"));
        Self::new(exit, found, fix)
    }

    /// The same error, with its texts changed by `words`.
    pub fn reworded(self, words: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Failed { exit, faults } => {
                let reworded = |fault: Fault| Fault { found: words(&fault.found), fix: words(&fault.fix), ..fault };
                Self::Failed { exit, faults: faults.into_iter().map(reworded).collect() }
            }
            Self::Unread => self,
        }
    }

    /// What was found, without the fix.
    pub fn found(&self) -> String {
        match self {
            Self::Failed { faults, .. } => {
                faults.iter().map(|fault| fault.found.as_str()).collect::<Vec<_>>().join("; ")
            }
            Self::Unread => self.to_string(),
        }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Self::Failed { exit, .. } => *exit,
            Self::Unread => Exit::Ok,
        }
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        let exit = if error.by_flags { Exit::Usage } else { Exit::BadConfig };
        Self::Failed { exit, faults: error.faults }
    }
}

impl From<Fault> for CliError {
    fn from(fault: Fault) -> Self {
        Self::Failed { exit: Exit::BadConfig, faults: vec![fault] }
    }
}

impl From<io::Error> for CliError {
    /// Only for writes to standard output. Errors about other files name the file where they occur.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Unread,
            _ => {
                Self::new(Exit::NotHeld, format!("standard output can't be written: {error}"), "free its disk or pipe")
            }
        }
    }
}

/// Says on standard error why the command failed, and gives its exit code.
pub fn report(error: &CliError, json: bool) -> Exit {
    let CliError::Failed { exit, faults } = error else { return error.exit() };
    let mut text = String::new();
    if json {
        let key = |fault: &Fault| (!fault.key.is_empty()).then(|| fault.key.clone());
        let told: Vec<_> = faults.iter().map(|f| json!({"key": key(f), "detail": f.found, "fix": f.fix})).collect();
        let first = &faults[0];
        text = json!({
            "title": exit.title(),
            "detail": first.found,
            "fix": first.fix,
            "exit_code": *exit as u8,
            "faults": told,
        })
        .to_string();
        text.push('\n');
    } else {
        for fault in faults {
            text.push_str(&format!("maxim: {fault}\n"));
        }
    }
    // If standard error is closed as well, only the exit code remains.
    let _ = io::stderr().write_all(text.as_bytes());
    *exit
}

/// Help and version go to standard output; the rest is a usage error in our own form.
pub fn of_clap(error: &clap::Error) -> Result<Exit, CliError> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            error.print()?;
            Ok(Exit::Ok)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            error.print()?;
            Ok(Exit::Usage)
        }
        _ => {
            let text = error.to_string();
            let paragraph = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let found = paragraph(text.split("\n\n").next().unwrap_or(&text).trim_start_matches("error: "));
            let tips: Vec<String> =
                text.lines().filter_map(|l| l.trim().strip_prefix("tip: ").map(paragraph)).collect();
            let fix = if tips.is_empty() { "see `maxim COMMAND --help`".to_owned() } else { tips.join(", ") };
            Err(CliError::new(Exit::Usage, found, fix))
        }
    }
}
