//! `maxim chat`: a conversation, on a screen with what goes on in the brain beside it, or by lines.

mod drawing;
mod live;
mod own_daemon;
mod screen;

use std::io::{BufRead, IsTerminal, stdin};

use clap::Args;
use serde_json::json;

use super::out::is_dumb;
use super::send::{say, seconds, shown};
use super::{CliError, Client, Exit, Global, Out};
use own_daemon::OwnDaemon;

/// Talk with the running agent, or with one that is started for it where none runs. On a terminal beside its thinking, its log and its regions (? shows the keys); else, and
/// with --plain, line by line. A line with ! alone stops it.
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
        let client = global.client()?;
        if out.is_terminal && stdin().is_terminal() && !self.plain && !out.json && !is_dumb() {
            return live::run(global, out.paint.0, own.is_some());
        }
        let has_prompt = out.is_terminal && !self.plain && !out.json;
        let mut missed = false;
        prompt(has_prompt, out);
        for line in stdin().lock().lines() {
            let line = line.map_err(|error| {
                CliError::new(Exit::Usage, format!("standard input can't be read as text: {error}"), "send UTF-8")
            })?;
            match line.trim() {
                "" => {}
                "!" => self.stop(&client, out)?,
                text => missed |= !self.turn(&client, text, has_prompt, out)?,
            }
            prompt(has_prompt, out);
        }
        Ok(if missed { Exit::NotHeld } else { Exit::Ok })
    }

    /// False when no reply came in time.
    fn turn(&self, client: &Client, text: &str, has_prompt: bool, out: &Out) -> Result<bool, CliError> {
        let answer = say(client, text, Some(self.timeout))?;
        if answer.status == 202 {
            out.answer(&answer.body, || format!("(no reply within {} s; it is still at work)", self.timeout))?;
            return Ok(false);
        }
        out.answer(&answer.body, || {
            let reply = shown(&answer.body);
            if has_prompt { format!("{} {reply}", out.paint.strong("maxim>")) } else { reply }
        })?;
        Ok(true)
    }

    fn stop(&self, client: &Client, out: &Out) -> Result<(), CliError> {
        let answer = client.post(&["v1", "stop"], &json!({"reason": "! in the chat"}))?;
        out.answer(&answer.body, || "stopped; clear it with `maxim reset`".to_owned())
    }
}

/// On standard error, so that what is piped stays data.
fn prompt(has_prompt: bool, out: &Out) {
    if has_prompt {
        eprint!("{} ", out.paint.faint("you>"));
    }
}
