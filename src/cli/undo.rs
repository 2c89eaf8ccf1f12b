//! `maxim undo`: takes back what an action did to a file.

use clap::Args;

use super::send::{say, shown};
use super::{CliError, Exit, Global, Out};

/// Take back what the agent's last action did to a file, or a named one.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim undo\n  maxim undo 0192f3c4-5d6e-7f80-9abc-def012345678\n\nTaking back can itself be taken back: `maxim undo` again."
)]
pub struct UndoArgs {
    /// The action's id, or a beginning of it, as `maxim why` shows it [default: the newest that can be taken back]
    action: Option<String>,
}

/// How long it may take.
const WAIT_S: f64 = 60.0;

impl UndoArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let id = self.action.as_deref().unwrap_or_default();
        if !id.chars().all(|c| c.is_ascii_hexdigit() || c == '-') || (!id.is_empty() && id.len() < 8) {
            let found = format!("{id:?} is no id of an action");
            return Err(CliError::new(Exit::Usage, found, "give at least 8 characters of it, as `maxim why` shows it"));
        }
        let text = if id.is_empty() { "undo".to_owned() } else { format!("undo the action {id}") };
        // It goes the way of every action: through the gate, into the journal, and into memory.
        let answer = say(&global.client()?, &text, Some(WAIT_S))?.body;
        out.answer(&answer, || shown(&answer))?;
        let actions = answer["actions"].as_array().into_iter().flatten();
        let done = actions.filter(|action| action["tool"] == "undo").any(|action| action["status"] == "done");
        Ok(if done { Exit::Ok } else { Exit::NotHeld })
    }
}
