//! `maxim completions` and `maxim man`.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use serde_json::json;

use super::{CliError, Exit, Out};

/// Print a completion script for a shell.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim completions bash > ~/.local/share/bash-completion/completions/maxim")]
pub struct CompletionsArgs {
    shell: Shell,
}

/// Print the manual page, or write the pages of all commands.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim man | man -l -\n  maxim man --dir /usr/local/share/man/man1")]
pub struct ManArgs {
    /// Write one page for each command into this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl CompletionsArgs {
    pub(super) fn run(self, out: &Out, mut command: Command) -> Result<Exit, CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "maxim", &mut script);
        let script = String::from_utf8_lossy(&script);
        out.answer(&json!({"shell": self.shell.to_string(), "script": script}), || script.to_string())?;
        Ok(Exit::Ok)
    }
}

impl ManArgs {
    pub(super) fn run(self, out: &Out, command: Command) -> Result<Exit, CliError> {
        let Some(dir) = self.dir else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            let page = String::from_utf8_lossy(&page);
            out.answer(&json!({"page": page}), || page.to_string())?;
            return Ok(Exit::Ok);
        };
        let shown = dir.display().to_string();
        clap_mangen::generate_to(command, &dir).map_err(|error| {
            let found = format!("the pages can't be written to {shown}: {error}");
            CliError::new(Exit::NotHeld, found, "name a folder that exists and that this user may write")
        })?;
        out.answer(&json!({"dir": shown}), || format!("wrote the pages to {shown}"))?;
        Ok(Exit::Ok)
    }
}
