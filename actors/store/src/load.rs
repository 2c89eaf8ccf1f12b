//! Reads every agent from an engine: checks the data, keeps what it can, and reports the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use maxim_bus::ids::{AgentId, Epoch, Lsn};

use super::agent::{Agent, AgentState, OnDisk, Slot};
use super::codec::{Reader, seal, unseal};
use super::engine::{Batch, Engine, after_prefix};
use super::error::EngineError;
use super::journal::{Entry, FrameSpan, Meta, unpack};
use super::keys;
use super::mail::Bundle;
use super::open::Loss;
use super::records::Sealed;
use super::root_slot::RootSlot;

/// The content of an engine.
#[derive(Default)]
pub struct Loaded {
    pub agents: BTreeMap<AgentId, Arc<Agent>>,
    pub repaired: Vec<String>,
    pub lost: Vec<Loss>,
    /// Removes damaged data from the engine.
    pub fix: Batch,
}

/// `floor` is the lowest epoch with which every region begins.
pub fn load(engine: &dyn Engine, floor: Epoch) -> Result<Loaded, EngineError> {
    let mut loaded = Loaded::default();
    for name in agent_names(engine)? {
        match AgentId::new(name.as_str()) {
            Ok(id) => {
                let agent = AgentLoad::new(engine, &mut loaded, &name).load(&id, floor)?;
                loaded.agents.insert(id, Arc::new(agent));
            }
            Err(_) => loaded.lost.push(Loss::of(None, format!("keys of an agent with the unusable name {name:?}"))),
        }
    }
    Ok(loaded)
}

/// One agent from the disk.
///
/// # Errors
/// The disk fails, or part of the agent is lost.
pub fn load_one(engine: &dyn Engine, id: &AgentId, floor: Epoch) -> Result<Agent, EngineError> {
    let mut loaded = Loaded::default();
    let agent = AgentLoad::new(engine, &mut loaded, id.as_str()).load(id, floor)?;
    match loaded.lost.first() {
        Some(loss) => Err(EngineError::Damaged(format!("{loss}"))),
        None => Ok(agent),
    }
}

/// Jumps from agent to agent in each kind of key, so that the cost depends on the number of agents, not of keys.
fn agent_names(engine: &dyn Engine) -> Result<BTreeSet<String>, EngineError> {
    let mut names = BTreeSet::new();
    for kind in [keys::HEAD, keys::FRAME, keys::META, keys::RUNS, keys::ROOT] {
        let mut from = vec![kind];
        loop {
            let mut found = None;
            engine.scan(&from, Some(&[kind + 1]), &mut |key, _| {
                found = Some(key.to_vec());
                false
            })?;
            let Some(key) = found else { break };
            let Some(name) = keys::agent_name(&key).map(str::to_owned) else { break };
            let Some(next) = after_prefix(&keys::agent(kind, &name)) else { break };
            names.insert(name);
            from = next;
        }
    }
    Ok(names)
}

struct AgentLoad<'a> {
    engine: &'a dyn Engine,
    to: &'a mut Loaded,
    name: &'a str,
    on_disk: OnDisk,
    /// Valid roots by region, oldest first.
    roots: BTreeMap<Arc<str>, Vec<RootSlot>>,
    /// Regions with an unreadable root, and how many slots of each were written.
    bad_roots: BTreeMap<Arc<str>, usize>,
    sealed: BTreeMap<Arc<str>, Sealed>,
    entries: Vec<Entry>,
    /// Set when the journal had to be cut: the last remaining LSN.
    cut: Option<u64>,
}

impl<'a> AgentLoad<'a> {
    fn new(engine: &'a dyn Engine, to: &'a mut Loaded, name: &'a str) -> Self {
        Self {
            engine,
            to,
            name,
            on_disk: OnDisk::default(),
            roots: BTreeMap::new(),
            bad_roots: BTreeMap::new(),
            sealed: BTreeMap::new(),
            entries: Vec::new(),
            cut: None,
        }
    }

    fn load(mut self, id: &AgentId, floor: Epoch) -> Result<Agent, EngineError> {
        self.read_roots()?;
        self.read_runs()?;
        self.read_frames()?;
        self.read_mail()?;
        self.read_metas()?;
        let agent = Agent::new(id.clone());
        *agent.state.lock() = self.build(floor);
        agent.mark.publish(self.on_disk.end);
        *agent.on_disk.lock() = self.on_disk;
        Ok(agent)
    }

    fn lose(&mut self, what: String) {
        self.to.lost.push(Loss::of(Some(self.name), what));
    }

    fn read_roots(&mut self) -> Result<(), EngineError> {
        for (key, found) in keys::spanning(self.engine, &keys::agent(keys::ROOT, self.name))? {
            let Some((_, region)) = keys::names(&key) else { continue };
            let (region, slot): (Arc<str>, _) = (region.into(), usize::from(key.last() == Some(&1)));
            let parsed = found.content.as_deref().and_then(RootSlot::read);
            let on_disk = self.on_disk.regions.entry(region.clone()).or_default();
            on_disk.slots[slot].chunks = found.chunks;
            match parsed {
                Some(root) => {
                    let bytes = found.content.as_ref().map_or(0, Vec::len);
                    on_disk.slots[slot] = Slot { lsn: root.meta.lsn, chunks: found.chunks, bytes };
                    self.roots.entry(region).or_default().push(root);
                }
                None => *self.bad_roots.entry(region).or_default() += 1,
            }
        }
        for roots in self.roots.values_mut() {
            roots.sort_by_key(|root| root.meta.lsn);
        }
        Ok(())
    }

    fn read_runs(&mut self) -> Result<(), EngineError> {
        for (key, found) in keys::spanning(self.engine, &keys::agent(keys::RUNS, self.name))? {
            let Some((_, region)) = keys::names(&key) else { continue };
            let region: Arc<str> = region.into();
            self.on_disk.regions.entry(region.clone()).or_default().manifest_chunks = found.chunks;
            match found.content.as_deref().and_then(Sealed::read) {
                Some(sealed) => {
                    self.sealed.insert(region, sealed);
                }
                None => {
                    keys::delete_spanning(&mut self.to.fix, &key, found.chunks);
                    self.lose(format!("the sealed records of region {region}: their list can't be read"));
                }
            }
        }
        Ok(())
    }

    /// Keeps the longest intact prefix of the journal.
    fn read_frames(&mut self) -> Result<(), EngineError> {
        let key = keys::agent(keys::HEAD, self.name);
        let sealed = self.engine.get(&key)?;
        let head = sealed.as_deref().and_then(|sealed| {
            let mut reader = Reader(unseal(&key, sealed)?);
            let (end, dropped) = (reader.u64()?, reader.u64()?);
            Some((end, dropped, reader.u64()?))
        });
        let mut frames: Vec<(FrameSpan, Vec<Entry>)> = Vec::new();
        let mut bad = Vec::new();
        for (key, frame) in keys::spanning(self.engine, &keys::agent(keys::FRAME, self.name))? {
            let place = keys::place_of(&key);
            self.on_disk.know_place(place);
            match frame.content.and_then(|content| unpack(&content, place, frame.chunks)) {
                Some(unpacked) => frames.push(unpacked),
                None if frame.is_empty => drop(self.on_disk.free_places.insert(place)),
                None => bad.push((key, frame.chunks)),
            }
        }
        // Their places don't show their order.
        frames.sort_by_key(|(span, _)| span.first);
        let newest = frames.last().map_or(0, |(span, _)| span.last);
        let first = frames.first().map_or(0, |(span, _)| span.first - 1);
        let dropped = head.map_or(first, |(_, dropped, _)| dropped);
        let mut end = dropped;
        for (span, entries) in frames {
            if span.first == end + 1 {
                end = span.last;
                self.on_disk.keep(span);
                self.entries.extend(entries);
            } else {
                bad.push((keys::frame(self.name, span.place), span.chunks));
            }
        }
        let known_end = head.map_or(end, |(end, ..)| end).max(newest);
        (self.on_disk.end, self.on_disk.dropped) = (end, dropped);
        if head.is_none() && (end > 0 || !self.on_disk.regions.is_empty()) {
            self.to.repaired.push(format!("agent {}: the head of the journal, from its frames", self.name));
        }
        if end < known_end || (head.is_none() && !bad.is_empty()) {
            self.close_gap(end, known_end, bad);
        } else {
            // The journal is complete without them.
            for (key, chunks) in bad {
                keys::delete_spanning(&mut self.to.fix, &key, chunks);
                self.to.repaired.push(format!("agent {}: an unused place of the journal", self.name));
            }
        }
        if head.is_none() || self.cut.is_some() {
            // Rooms may have gone back with the journal, so its content is checked again.
            self.to.fix.put(key.clone(), seal(&key, &self.on_disk.head()));
        } else {
            self.on_disk.delivered = head.map_or(0, |(.., delivered)| delivered);
        }
        Ok(())
    }

    fn read_mail(&mut self) -> Result<(), EngineError> {
        for (key, found) in keys::spanning(self.engine, &keys::agent(keys::MAIL, self.name))? {
            match found.content.as_deref().and_then(|content| Bundle::of(key.clone(), content, found.chunks)) {
                Some(bundle) => self.on_disk.mail.push(bundle),
                None => {
                    keys::delete_spanning(&mut self.to.fix, &key, found.chunks);
                    self.lose("signals that waited for rooms that were down: they can't be read".into());
                }
            }
        }
        Ok(())
    }

    /// A frame without entries replaces what is lost, so that no LSN is given twice.
    fn close_gap(&mut self, end: u64, known_end: u64, bad: Vec<(Vec<u8>, u16)>) {
        let known_end = known_end.max(end + 1);
        self.cut = Some(end);
        for (key, chunks) in bad {
            keys::delete_spanning(&mut self.to.fix, &key, chunks);
        }
        let content = super::journal::gap(end + 1, known_end);
        let place = self.on_disk.take_place();
        let chunks = keys::put_spanning(&mut self.to.fix, &keys::frame(self.name, place), &content, 0);
        let bytes = content.len();
        let span = FrameSpan { place, first: end + 1, last: known_end, last_emission: 0, chunks, bytes };
        self.on_disk.keep(span);
        self.on_disk.end = known_end;
        let loss = Loss::of(Some(self.name), "the end of the journal".into());
        self.to.lost.push(Loss { lsns: Some((Lsn(end + 1), Lsn(known_end))), ..loss });
    }

    fn read_metas(&mut self) -> Result<(), EngineError> {
        let prefix = keys::agent(keys::META, self.name);
        let mut found = Vec::new();
        self.engine.scan(&prefix, after_prefix(&prefix).as_deref(), &mut |key, value| {
            let meta = unseal(key, value).and_then(|content| Meta::read(&mut Reader(content)));
            found.extend(keys::names(key).map(|(_, region)| (key.to_vec(), Arc::<str>::from(region), meta)));
            true
        })?;
        for (key, region, meta) in found {
            let usable = meta.filter(|meta| self.cut.is_none_or(|cut| meta.lsn <= cut));
            let newest_root = self.roots.get(&region).and_then(|roots| roots.last()).map(|root| root.meta.clone());
            let on_disk = self.on_disk.regions.entry(region.clone()).or_default();
            if let Some(meta) = usable {
                on_disk.meta_written = meta.lsn;
                on_disk.meta = meta;
            } else {
                on_disk.meta = newest_root.unwrap_or_default();
                self.to.fix.delete(key);
                if self.cut.is_some() {
                    continue;
                }
                let what = format!("how far region {region} has read its inbox after {}", Lsn(on_disk.meta.lsn));
                self.lose(format!("{what}: signals may be delivered again"));
            }
        }
        Ok(())
    }

    fn build(&mut self, floor: Epoch) -> AgentState {
        let mut state = AgentState { next: self.on_disk.end + 1, ..AgentState::default() };
        for entry in &self.entries {
            let region = self.on_disk.regions.entry(entry.region.clone()).or_default();
            region.meta.apply(entry);
            if !entry.events.is_empty() {
                region.last_event = entry.lsn;
            }
        }
        let names: Vec<Arc<str>> = self.on_disk.regions.keys().cloned().collect();
        for name in names {
            self.build_region(&mut state, &name, floor);
        }
        for entry in std::mem::take(&mut self.entries) {
            let covered = self.roots.get(&entry.region).and_then(|roots| roots.last()).map_or(0, |root| root.meta.lsn);
            let region = state.region(&entry.region, floor);
            if entry.lsn > covered {
                region.apply_events(entry.lsn, &entry.events);
            }
            if entry.lsn > region.records.sealed.upto {
                for (key, value) in &entry.records {
                    region.records.tail.put(key.clone(), value.clone(), entry.lsn);
                }
            }
        }
        for (name, bad) in std::mem::take(&mut self.bad_roots) {
            self.judge_bad_roots(&mut state, &name, bad, floor);
        }
        state
    }

    fn build_region(&mut self, state: &mut AgentState, name: &Arc<str>, floor: Epoch) {
        let Some(on_disk) = self.on_disk.regions.get_mut(name) else { return };
        if let Some(newest) = self.roots.get(name).and_then(|roots| roots.last()) {
            if newest.meta.lsn > on_disk.meta.lsn {
                on_disk.meta = newest.meta.clone();
            }
            let region = state.region(name, floor);
            region.root = newest.root.clone();
            newest.events.iter().for_each(|(lsn, events)| region.apply_events(*lsn, events));
        }
        let region = state.region(name, floor);
        region.cursors = on_disk.meta.cursors;
        region.state_hash = on_disk.meta.state_hash;
        region.epoch = Epoch(floor.0.max(on_disk.meta.epoch + 1));
        region.records.sealed = Arc::new(self.sealed.remove(name).unwrap_or_default());
    }

    /// A bad root loses nothing if there is the other slot, or if all events since the beginning exist.
    fn judge_bad_roots(&mut self, state: &mut AgentState, name: &Arc<str>, bad: usize, floor: Epoch) {
        let has_other = self.roots.contains_key(name);
        let has_events = state.region(name, floor).event_count > 0;
        // Until there are two roots, no event of the region is removed.
        if has_other || (bad == 1 && has_events) {
            let from = if has_other { "its other slot" } else { "the journal" };
            self.to
                .repaired
                .push(format!("agent {}, region {name}: a root, from {from} and the events after it", self.name));
        } else {
            // Events without the state that they change would make a wrong state.
            let region = state.region(name, floor);
            region.events.clear();
            (region.event_count, region.event_bytes) = (0, 0);
            self.lose(format!("the state of region {name}: both its roots can't be read; its records are kept"));
        }
    }
}
