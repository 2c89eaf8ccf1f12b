//! `maxim machines`: which machine runs the agent, and how this machine leaves the others.

use clap::{Args, Subcommand};
use maxim_actors::store::Follower;
use serde_json::{Value, json};

use super::{CliError, Exit, Global, Out, tree};
use crate::daemon::opening;

/// See which of several machines runs the agent, or make this one leave the others.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim machines show\n  maxim machines leave")]
pub struct MachinesArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// The machine that runs the agent, its lease, and the newest copy of the store
    #[command(after_help = "Example:\n  maxim machines show --json")]
    Show,
    /// Make the store of this machine independent: the agent then runs without nats.url, and the machine isn't one of
    /// them any more
    #[command(after_help = "Example:\n  maxim machines leave --data /srv/maxim")]
    Leave,
}

impl MachinesArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        match self.what {
            What::Show => {
                let status = global.client()?.get(&["v1", "status"], &[])?.body;
                let machines = &status["machines"];
                out.answer(machines, || match machines {
                    Value::Null => "this machine runs its agent alone; set nats.url for several machines".to_owned(),
                    several => tree(several, 0),
                })?;
            }
            What::Leave => {
                let folder = global.data_folder()?;
                let settings = global.load(Vec::new())?.settings;
                let place = folder.store();
                let left = match Follower::open(&place, settings.store.cache.get()) {
                    Ok(Some(follower)) => match follower.position() {
                        Some(at) => follower.leave().map(|()| Some(at.sequence)),
                        None => Ok(None),
                    },
                    Ok(None) => Ok(None),
                    Err(error) => Err(error),
                };
                let left = left.map_err(|error| opening::failed(&error))?;
                let shown = place.display().to_string();
                out.answer(&json!({"left": left.is_some(), "entry": left, "store": shown}), || match left {
                    Some(at) => format!(
                        "the store in {shown} is independent from entry {at} of the journal on: the other machines \
                        don't get what it learns"
                    ),
                    None => format!("the store in {shown} follows no other machine"),
                })?;
            }
        }
        Ok(Exit::Ok)
    }
}
