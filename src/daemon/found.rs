//! What a start found: how the previous run ended, damage and its repair, and actions that were under way.

use maxim_actors::region::end_of;
use maxim_actors::store::{AgentStore, Loss, OpenReport};
use maxim_bus::latch::{LatchState, StopLatch};
use maxim_bus::signals::outcome::ExecutionStarted;
use serde_json::json;
use std::ops::Bound;
use std::time::Duration;

use crate::agent::AgentHandle;
use crate::stopping::hold_in_words;

/// How long the rooms may take to count what they hold.
const COUNTING: Duration = Duration::from_secs(1);

/// What the rooms report, in words. `None` when they don't answer in time: a start doesn't wait for them.
#[derive(Default)]
pub struct Said {
    remembered: Option<String>,
    hold: Option<String>,
}

pub async fn said(agent: &AgentHandle) -> Said {
    let asked = agent.outside.door.inquire("system_stats", json!({}));
    let Ok(Ok(stats)) = tokio::time::timeout(COUNTING, asked).await else { return Said::default() };
    let count = |room: &str, what: &str| stats["regions"][room][what].as_u64();
    let counted = count("hippocampus", "episodes").zip(count("nucleus_accumbens", "links"));
    let some = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let remembered = counted.map(|(episodes, links)| {
        format!("it remembers {} and {}", some(episodes, "episode"), some(links, "causal link"))
    });
    Said { remembered, hold: hold_in_words(&stats["regions"]["preemption_circuit"]["hold"]) }
}

/// Lines for a person.
pub fn tell(
    report: &OpenReport,
    retaken: &[String],
    agent: &AgentHandle,
    latch: &StopLatch,
    said: Said,
    under_way: &[ExecutionStarted],
) -> Vec<String> {
    let mut lines = Vec::new();
    if report.fresh {
        lines.push("a new brain: nothing is remembered yet".into());
    } else {
        let end = match (report.clean, &report.restored_from) {
            (_, Some(_)) => "restored from a backup, so how it ended isn't known",
            (true, None) => "it was ended in order",
            (false, None) => "it went down without warning",
        };
        let remembered = said.remembered.unwrap_or_else(|| "what is remembered could not be counted yet".into());
        lines.push(format!("start {}: {end}; {remembered}", report.boot));
    }
    if report.full {
        lines.push(
            "the disk of the data folder is FULL: the agent can be stopped and asked, but acknowledges nothing new \
            until there is room; then it goes on by itself"
                .into(),
        );
    }
    lines.extend(
        report.quarantined.iter().map(|path| format!("damaged parts were put aside, untouched, in {}", path.display())),
    );
    lines.extend(report.restored_from.iter().map(|path| format!("restored from the backup {}", path.display())));
    lines.extend(report.repaired.iter().map(|what| format!("repaired: {what}")));
    lines.extend(report.lost.iter().map(lost));
    lines.extend(retaken.iter().cloned());
    if report.was_gone {
        lines.push("the store's folder was gone; to start again empty on purpose, remove the whole data folder".into());
    }
    if agent.resumed.redelivered > 0 {
        lines.push(format!("{} messages were on their way and are delivered again", agent.resumed.redelivered));
    }
    lines.extend(agent.resumed.unreadable.iter().map(|what| format!("LOST: a message that can't be read: {what}")));
    for started in under_way {
        let params = started.intent.params.to_string();
        let shown: String = params.chars().take(120).collect();
        lines.push(format!(
            "it was doing {} {shown} when it went down; see `maxim why {}`",
            started.intent.tool, started.action
        ));
    }
    match (latch.state(), latch.detail()) {
        (LatchState::Stopped, Some(detail)) => {
            let since = detail.at.map_or_else(|| "an unknown time".to_owned(), |at| at.to_string());
            lines.push(format!(
                "STOPPED since {since} by {}: {}. Clear it with `maxim reset`, then `maxim resume`",
                detail.by, detail.reason
            ));
        }
        (LatchState::Stopped, None) => lines.push("STOPPED; clear it with `maxim reset`, then `maxim resume`".into()),
        (LatchState::MotionHeld, _) => lines.push("motion is held; release it with `maxim resume`".into()),
        (LatchState::Clear, _) => {}
    }
    lines.extend(said.hold);
    lines
}

fn lost(loss: &Loss) -> String {
    let of = loss.agent.as_ref().map(|agent| format!(" of agent {agent}")).unwrap_or_default();
    let range = loss.lsns.map(|(first, last)| format!(", {first} to {last}")).unwrap_or_default();
    format!("LOST: {}{of}{range}", loss.what)
}

/// Actions that have begun and not ended. Once the rooms run, those of the previous run are soon settled.
pub fn under_way(store: &AgentStore) -> Vec<ExecutionStarted> {
    let prefix = b"open/".to_vec();
    let range = (Bound::Included(prefix.clone()), end_of(&prefix));
    let records = store.records("execution_tracker", range, 100).unwrap_or_default();
    records.iter().filter_map(|(_, bytes)| serde_json::from_slice(bytes).ok()).collect()
}
