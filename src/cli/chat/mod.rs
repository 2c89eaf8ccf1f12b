//! `maxim chat`: a conversation, on a screen that also shows the brain's activity, or line by line.

mod drawing;
mod lines;
mod live;
mod own_daemon;
mod screen;

use std::io::{IsTerminal, stdin};
use std::time::Duration;

use clap::Args;

use super::out::is_dumb;
use super::send::seconds;
use super::{CliError, Exit, Global, Out};
use own_daemon::OwnDaemon;

/// Talk with the running agent; if none runs, one is started for the chat. On a terminal, the screen also shows its
/// thinking, its log and its regions (? shows the keys). Elsewhere, and with --plain, the chat goes line by line. A
/// line with only ! stops the agent.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim chat\n  cat questions.txt | maxim chat --plain")]
pub struct ChatArgs {
    /// Line by line, without a screen, prompt or colours
    #[arg(long)]
    plain: bool,
    /// How long to wait for each reply, in seconds
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = seconds)]
    timeout: f64,
}

impl ChatArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let own = OwnDaemon::where_none_runs(global)?;
        if own.is_some() {
            eprintln!("maxim: no brain was running; this one was started for the chat and ends with it");
        }
        if out.is_terminal && stdin().is_terminal() && !self.plain && !out.json && !is_dumb() {
            return live::run(global, out.paint.0, own.is_some());
        }
        let has_prompt = out.is_terminal && !self.plain && !out.json;
        lines::run(global, out, has_prompt, Duration::from_secs_f64(self.timeout))
    }
}
