//! Agents out of memory. Only the places of their data on disk are kept, so that compaction, backup, verification and
//! repair still see the data. Roots, events and unsealed records are read again from the journal when the agents come
//! back. Nobody writes for them meanwhile: a writer would hold their store, and then they stay in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use maxim_bus::ids::AgentId;

use super::agent::{Agent, AgentState};
use super::error::{EngineError, NotDurable};
use super::load::load_one;
use super::records::Tail;
use super::shared::Shared;

impl Shared {
    /// See [`super::StateStore::let_go`].
    pub fn let_go(&self, id: &AgentId) -> bool {
        if self.in_memory {
            return true;
        }
        let mut agents = self.agents.lock();
        let Some(held) = agents.get_mut(id) else { return true };
        // Rooms, the committer and the upkeep hold it while they work on it.
        let Some(agent) = Arc::get_mut(held) else { return false };
        let durable = agent.mark.durable();
        let state = agent.state.get_mut();
        let is_written = state.waiting.is_empty() && durable + 1 >= state.next;
        let is_sealing = state.regions.values().any(|region| region.seal_wanted || region.records.sealing.is_some());
        if !is_written || is_sealing || state.closed {
            return false;
        }
        for region in state.regions.values_mut() {
            region.root = None;
            region.events = Default::default();
            (region.event_count, region.event_bytes) = (0, 0);
            region.records.tail = Tail::default();
        }
        if let Some(agent) = agents.remove(id) {
            self.away.lock().insert(id.clone(), agent);
        }
        true
    }

    /// Brings an agent back into memory; `None` if it isn't out of memory. If the disk can't restore it, it stays out.
    /// The returned store then shows and accepts nothing, and gives the reason.
    pub fn come_back(&self, id: &AgentId, agents: &mut BTreeMap<AgentId, Arc<Agent>>) -> Option<Arc<Agent>> {
        let mut away = self.away.lock();
        let agent = away.get(id)?.clone();
        let read = match self.backing() {
            Some(engine) => load_one(&*engine, id, self.boot_epoch()),
            None => Err(EngineError::Io("the store is closed".into())),
        };
        let filled = read.and_then(|read| fill(&mut agent.state.lock(), read.state.into_inner()));
        let mut state = agent.state.lock();
        state.closed = filled.is_err() || self.trouble.get() == Some(NotDurable::Closed);
        if let Err(error) = filled {
            if matches!(error, EngineError::Damaged(_)) {
                self.note_damage();
            }
            tracing::error!(agent = %id, %error, "an agent can't be loaded into memory again");
            state.unread = Some(error);
        } else {
            state.unread = None;
            agents.extend(away.remove_entry(id));
        }
        drop(state);
        Some(agent)
    }
}

/// Restores the dropped data, if the disk has the same.
fn fill(state: &mut AgentState, mut read: AgentState) -> Result<(), EngineError> {
    let is_same = read.next == state.next
        && state.regions.iter().all(|(name, region)| match read.regions.get(name) {
            Some(read) => (read.cursors, read.state_hash) == (region.cursors, region.state_hash),
            // It was only looked up, and never written.
            None => region.state_hash == 0,
        });
    if !is_same {
        return Err(EngineError::Damaged("the data on the disk isn't what was written there".into()));
    }
    for (name, region) in &mut state.regions {
        let Some(read) = read.regions.get_mut(name) else { continue };
        region.root = read.root.take();
        region.events = std::mem::take(&mut read.events);
        (region.event_count, region.event_bytes) = (read.event_count, read.event_bytes);
        region.records.tail = std::mem::take(&mut read.records.tail);
    }
    Ok(())
}
