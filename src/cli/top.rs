//! `maxim top`: the status, again and again.

use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::send::seconds;
use super::{CliError, Exit, Global, Out, status};

/// Watch the regions live; Ctrl-C ends it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim top\n  maxim top --interval 5 --count 12 --json")]
pub struct TopArgs {
    /// Seconds between two looks
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    interval: f64,
    /// How many looks [default: no end]
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

/// Clears the screen and goes to its corner.
const CLEAR: &str = "\x1b[2J\x1b[H";

impl TopArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let client = global.client()?;
        let interval = Duration::from_secs_f64(self.interval.max(0.1));
        let mut looks = 0;
        loop {
            let now = client.get(&["v1", "status"], &[])?.body;
            out.answer(&now, || self.screen(&now, out))?;
            looks += 1;
            if self.count.is_some_and(|count| looks >= count) {
                return Ok(Exit::Ok);
            }
            std::thread::sleep(interval);
        }
    }

    fn screen(&self, now: &Value, out: &Out) -> String {
        let screen = status::shown(now, out.paint);
        if out.is_terminal { format!("{CLEAR}{screen}") } else { screen }
    }
}
