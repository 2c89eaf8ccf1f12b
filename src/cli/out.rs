//! Standard output, for people and for programs.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

use super::CliError;

/// Where a command's answer goes.
#[derive(Clone, Debug)]
pub struct Out {
    pub json: bool,
    pub paint: Paint,
    pub is_terminal: bool,
}

impl Out {
    pub fn of_process(json: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        Self { json, paint: Paint(is_colourful(is_terminal) && !json), is_terminal }
    }

    /// Writes `text`, with a line break unless it ends in one.
    pub fn say(&self, text: &str) -> Result<(), CliError> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            stdout.write_all(b"\n")?;
        }
        Ok(stdout.flush()?)
    }

    /// The JSON document with `--json`, else the text.
    pub fn answer(&self, value: &Value, text: impl FnOnce() -> String) -> Result<(), CliError> {
        if self.json { self.say(&value.to_string()) } else { self.say(&text()) }
    }

    /// Results of a search. With `--json` one JSON document per line, else the text, or a note that there are none.
    pub fn results(&self, results: &[Value], text: impl FnOnce() -> String) -> Result<(), CliError> {
        if self.json {
            results.iter().try_for_each(|line| self.say(&line.to_string()))
        } else if results.is_empty() {
            self.say("nothing found")
        } else {
            self.say(&text())
        }
    }
}

/// True on a terminal that supports colours, unless the environment forbids them.
pub fn is_colourful(is_terminal: bool) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    is_terminal && !is_set("NO_COLOR") && !is_dumb()
}

/// True for a terminal that says of itself that it can only print lines.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
pub struct Paint(pub bool);

impl Paint {
    pub fn good(self, text: &str) -> String {
        self.with("32", text)
    }
    pub fn poor(self, text: &str) -> String {
        self.with("33", text)
    }
    pub fn bad(self, text: &str) -> String {
        self.with("31", text)
    }
    pub fn faint(self, text: &str) -> String {
        self.with("2", text)
    }
    pub fn strong(self, text: &str) -> String {
        self.with("1", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
