//! The only thread that writes: it takes everything accepted, of all agents, and makes one durable batch of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use maxim_bus::clock::Stopwatch;

use super::agent::{Agent, OnDisk, RegionOnDisk};
use super::codec::{Writer, seal};
use super::engine::Batch;
use super::error::{EngineError, NotDurable};
use super::journal::{FrameSpan, Meta, Waiting, pack};
use super::keys;
use super::mail::{self, Unread};
use super::pack::Pack;
use super::records::Value;
use super::replica::{self, ReplicaError};
use super::root_slot::RootSlot;
use super::shared::{Chore, Edit, Shared, Stop};

/// Counts the batches; after a failure it shows whether the last one is on disk.
pub const SERIAL: &[u8] = b"!serial";
/// The journal is cut in steps of at least this many frames, or this many bytes before compression, because a cut
/// rewrites the regions' summaries.
const CUT_FRAMES: usize = 32;
const CUT_BYTES: usize = 448 << 10;
/// An entry that holds the journal back for this many LSNs is late. Then records are sealed, however few they are, and
/// events are moved into their region's slots.
const LAG: u64 = 40_960;
/// In a journal longer than this, entries before its newest half of this size are late, even if they are few LSNs back:
/// an import puts much data into each LSN.
const JOURNAL_BYTES: usize = 16 << 20;
/// First and longest pause before the disk is tried again.
const RETRY: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));
/// Batches between two checks for unread emissions in a long journal.
const UNREAD_EVERY: u64 = 8;
/// Batches between two checks of the size on disk.
const WEIGH_EVERY: u64 = 512;

/// The data to write for one agent.
struct Share {
    agent: Arc<Agent>,
    entries: Vec<Arc<Waiting>>,
    low_water: u64,
    unread: Option<Unread>,
    /// Long record values that were moved into the pack.
    moved: Vec<(Arc<str>, Vec<u8>, u64, Value)>,
    /// Nothing follows: the journal is cut as far as possible.
    is_last: bool,
}

/// Runs until the store is closed or abandoned. After that nothing holds the engine.
pub fn run(shared: &Arc<Shared>) {
    let begun = begin(shared);
    while begun && let Some((agents, edits)) = shared.work.take() {
        let mut serial = shared.gate.lock();
        if !write_out(shared, agents, edits, &mut serial) {
            break;
        }
        if serial.is_multiple_of(WEIGH_EVERY) {
            shared.upkeep.push(Chore::Weigh);
        }
    }
    // Entries accepted just before the close, of which the queue was not told in time.
    let mut left = shared.all_agents();
    left.iter().for_each(|agent| agent.state.lock().closed = true);
    left.retain(|agent| !agent.state.lock().waiting.is_empty());
    if shared.work.stopping() == Stop::Drained && !left.is_empty() {
        let mut serial = shared.gate.lock();
        write_out(shared, left, Vec::new(), &mut serial);
    }
    shared.upkeep.stop();
    shared.work.refuse_edits();
    // Packing must end before the folder is unlocked, because the next opener appends at the same place.
    let packing = shared.packing.lock();
    if let Some(pack) = shared.pack() {
        pack.close();
    }
    drop(packing);
    let mut gate = shared.gate.lock();
    let is_well = shared.trouble.get().is_none() && shared.check_in_place().is_ok();
    if shared.work.stopping() == Stop::Drained && is_well {
        // Best effort: without the mark the next start only reports an unorderly end.
        let _ = finish(shared, &mut gate);
    }
    shared.trouble.set(Some(NotDurable::Closed));
    for agent in shared.all_agents() {
        agent.state.lock().closed = true;
        agent.mark.wake();
    }
    shared.set_engine(None);
    if let Some(folder) = &shared.folder {
        folder.unlock();
    }
    shared.work.end();
}

/// Writes the data that the start couldn't write on a full disk; false when the store was abandoned first.
fn begin(shared: &Shared) -> bool {
    let Some((first, pack)) = shared.owed.lock().take().zip(shared.pack()) else { return true };
    let serial = shared.gate.lock();
    endure(shared, EngineError::Full, &mut RETRY.0.clone(), *serial) && persist(shared, &pack, &first, *serial)
}

/// False when the store was abandoned first.
fn write_out(shared: &Shared, agents: Vec<Arc<Agent>>, edits: Vec<Edit>, serial: &mut u64) -> bool {
    let Some(pack) = shared.pack() else { return false };
    shared.counters.begin();
    let mut shares: Vec<Share> = agents.into_iter().map(|agent| take(shared, agent, *serial)).collect();
    for share in &mut shares {
        while let Err(error) = spill(share, &pack) {
            if !endure(shared, error, &mut RETRY.0.clone(), *serial) {
                return false;
            }
        }
    }
    *serial += 1;
    let mut batch = Batch::default();
    keys::put_number(&mut batch, SERIAL, *serial);
    for share in &shares {
        encode(shared, share, &mut batch);
    }
    for edit in &edits {
        let mut on_disk = edit.agent.on_disk.lock();
        let region = on_disk.regions.entry(edit.region.clone()).or_default();
        let key = keys::region(keys::RUNS, edit.agent.id.as_str(), &edit.region);
        region.manifest_chunks = keys::put_spanning(&mut batch, &key, &edit.sealed.write(), region.manifest_chunks);
    }
    if pack.is_dirty() {
        keys::put_number(&mut batch, keys::PACK_END, pack.written_end());
    }
    if shared.damage_to_write() {
        keys::put_number(&mut batch, keys::DAMAGE_SEEN, 1);
    }
    if !send(shared, &pack, &mut batch) || !persist(shared, &pack, &batch, *serial) {
        return false;
    }
    shares.iter().for_each(publish);
    for edit in edits {
        apply_edit(&edit);
        // The upkeep thread may have ended already.
        let _ = edit.done.send(Ok(()));
    }
    true
}

fn take(shared: &Shared, agent: Arc<Agent>, serial: u64) -> Share {
    // Before the entries are taken: every cursor that it uses is then in this batch or an older one.
    let low_water = shared.low_water(&agent);
    let is_last = shared.settles.load(Ordering::Acquire);
    let below = if is_last {
        Some(agent.on_disk.lock().end + 1)
    } else {
        serial.is_multiple_of(UNREAD_EVERY).then(|| long_before(&agent.on_disk.lock())).flatten()
    };
    let unread = Unread::of(&agent, below);
    let mut state = agent.state.lock();
    state.queued = false;
    let entries: Vec<Arc<Waiting>> = state.waiting.iter().map(|(entry, _)| entry.clone()).collect();
    if let Some(last) = entries.last() {
        agent.taken.store(last.last(), Ordering::Release);
    }
    drop(state);
    Share { agent, entries, low_water, unread, moved: Vec::new(), is_last }
}

/// Moves long record values into the pack, so that the journal only has pointers to them.
fn spill(share: &mut Share, pack: &Pack) -> Result<(), EngineError> {
    for slot in &mut share.entries {
        if !slot.long.iter().any(|(_, value)| value.is_long()) {
            continue;
        }
        let mut entry = (**slot).clone();
        for (key, value) in entry.long.iter_mut().filter(|(_, value)| value.is_long()) {
            *value = value.spilled(pack)?;
            share.moved.push((entry.head.region.clone(), key.clone(), entry.head.lsn, value.clone()));
        }
        *slot = Arc::new(entry);
    }
    Ok(())
}

fn encode(shared: &Shared, share: &Share, batch: &mut Batch) {
    let agent = share.agent.id.as_str();
    let on_disk = &mut *share.agent.on_disk.lock();
    for (mut span, content) in pack(&share.entries) {
        span.place = on_disk.take_place();
        span.chunks = keys::put_spanning(batch, &keys::frame(agent, span.place), &content, 0);
        on_disk.end = span.last;
        on_disk.keep(span);
    }
    let mut roots: BTreeMap<&Arc<str>, (Meta, &Arc<[u8]>)> = BTreeMap::new();
    for entry in &share.entries {
        let region = on_disk.regions.entry(entry.region.clone()).or_default();
        region.meta.apply(entry);
        if entry.has_events {
            region.last_event = entry.lsn;
        }
        if let Some(root) = &entry.root {
            roots.insert(&entry.region, (region.meta.clone(), root));
        }
    }
    for (name, (meta, root)) in roots {
        let region = on_disk.regions.entry(name.clone()).or_default();
        let root = Some((meta.lsn, root.clone()));
        put_root(batch, agent, name, region, &RootSlot { meta, root, events: Vec::new() });
    }
    cut(shared, share, on_disk, batch);
    let head = keys::agent(keys::HEAD, agent);
    on_disk.delivered = on_disk.delivered.max(share.low_water.min(on_disk.end));
    batch.put(head.clone(), seal(&head, &on_disk.head()));
}

fn put_root(batch: &mut Batch, agent: &str, name: &str, region: &mut RegionOnDisk, root: &RootSlot) {
    let number = region.older_slot();
    let slot = &mut region.slots[usize::from(number)];
    let content = root.write();
    slot.chunks = keys::put_spanning(batch, &keys::root(agent, name, number), &content, slot.chunks);
    (slot.lsn, slot.bytes) = (root.meta.lsn, content.len());
}

impl Share {
    /// Data that holds the journal at an LSN below this one is late.
    fn late_before(&self, on_disk: &OnDisk) -> u64 {
        if self.is_last {
            return on_disk.end + 1;
        }
        on_disk.end.saturating_sub(LAG).max(long_before(on_disk).unwrap_or(0))
    }
}

/// The beginning of the newer half of a long journal.
fn long_before(on_disk: &OnDisk) -> Option<u64> {
    if on_disk.frame_bytes <= JOURNAL_BYTES {
        return None;
    }
    let mut newer = 0;
    let half = on_disk.frames.iter().rev().find(|frame| {
        newer += frame.bytes;
        newer > JOURNAL_BYTES / 2
    });
    half.map(|frame| frame.first)
}

/// A silent region makes no more snapshots, and a region with few messages seldom does. Their events go into their
/// slots unchanged, one slot at a time, so that the journal need not be kept for them.
fn carry_events(share: &Share, late: u64, on_disk: &mut OnDisk, batch: &mut Batch) {
    let (agent, end) = (share.agent.id.as_str(), on_disk.end);
    let state = share.agent.state.lock();
    for (name, region) in &mut on_disk.regions {
        let after = region.needs_events_after();
        if region.last_event <= after || after >= late {
            continue;
        }
        let Some(accepted) = state.regions.get(name) else { continue };
        if accepted.root.as_ref().is_some_and(|(lsn, _)| *lsn > end) {
            continue;
        }
        let events = accepted.events.iter().take_while(|(lsn, _)| *lsn <= end).cloned().collect();
        put_root(
            batch,
            agent,
            name,
            region,
            &RootSlot { meta: region.meta.clone(), root: accepted.root.clone(), events },
        );
    }
}

/// Removes the unneeded front of the journal: delivered, and older than the data for rebuilding any region.
fn cut(shared: &Shared, share: &Share, on_disk: &mut OnDisk, batch: &mut Batch) {
    let (frames, bytes) = if share.is_last { (1, 1) } else { (CUT_FRAMES, CUT_BYTES) };
    if on_disk.frames.len() < frames && on_disk.frame_bytes < bytes {
        return;
    }
    let (agent, late_before) = (share.agent.id.as_str(), share.late_before(on_disk));
    carry_events(share, late_before, on_disk, batch);
    let mut needed = on_disk.regions.values().fold(u64::MAX, |needed, region| {
        let after = region.needs_events_after();
        if region.last_event > after { needed.min(after + 1) } else { needed }
    });
    let mut late = Vec::new();
    for (name, region) in &share.agent.state.lock().regions {
        let Some(first) = region.records.first_unsealed() else { continue };
        needed = needed.min(first);
        if first < late_before && !region.seal_wanted {
            late.push(name.clone());
        }
    }
    for region in late {
        if let Some(region) = share.agent.state.lock().regions.get_mut(&region) {
            region.seal_wanted = true;
        }
        shared.upkeep.seal(share.agent.clone(), region);
    }
    let carried = share.unread.as_ref().zip(shared.backing());
    let carried = carried.and_then(|(unread, engine)| mail::carry(unread, &*engine, agent, on_disk, batch));
    let delivered = share.low_water.max(carried.unwrap_or(0));
    let is_free = |frame: &&FrameSpan| frame.last < needed && frame.last_emission <= delivered;
    let free: Vec<usize> = on_disk.frames.iter().take_while(is_free).map(|frame| frame.bytes).collect();
    if free.len() < frames && free.iter().sum::<usize>() < bytes {
        return;
    }
    mail::drop_delivered(share.low_water, on_disk, batch);
    for frame in on_disk.frames.drain(..free.len()) {
        keys::empty_spanning(batch, &keys::frame(agent, frame.place), frame.chunks);
        on_disk.free_places.insert(frame.place);
        on_disk.dropped = frame.last;
        on_disk.frame_bytes -= frame.bytes;
    }
    write_metas(agent, on_disk, batch);
}

fn write_metas(agent: &str, on_disk: &mut OnDisk, batch: &mut Batch) {
    for (name, region) in &mut on_disk.regions {
        if region.meta.lsn > region.meta_written {
            region.meta_written = region.meta.lsn;
            let key = keys::region(keys::META, agent, name);
            let mut content = Writer::default();
            region.meta.write(&mut content);
            batch.put(key.clone(), seal(&key, &content.0));
        }
    }
}

/// The journal on other machines gets it first, so it has everything that is ever durable here. False when the store
/// was abandoned first, or when the agent belongs to another machine.
fn send(shared: &Shared, pack: &Pack, batch: &mut Batch) -> bool {
    let Some(replica) = &shared.replica else { return true };
    let (blocks, mut pause) = (pack.take_unsent(), RETRY.0);
    while let Err(error) = replica::send(&**replica, &blocks, batch) {
        shared.trouble.set(Some(NotDurable::Degraded(error.to_string().into())));
        shared.wake_waiting();
        if matches!(error, ReplicaError::Fenced(_)) || shared.work.stopping() == Stop::Abandoned {
            return false;
        }
        shared.switch.wait_changed(pause);
        pause = (pause * 2).min(RETRY.1);
    }
    true
}

/// Retries until it is on disk; false when the store was abandoned first.
fn persist(shared: &Shared, pack: &Pack, batch: &Batch, serial: u64) -> bool {
    let mut pause = RETRY.0;
    let watch = Stopwatch::start();
    loop {
        let written = try_persist(shared, pack, batch);
        match written {
            Ok(()) => break,
            Err(error) => {
                if !endure(shared, error, &mut pause, serial) {
                    return false;
                }
            }
        }
    }
    mark(shared, serial);
    shared.counters.committed(watch.elapsed());
    if shared.trouble.degraded().is_some() {
        shared.trouble.set(None);
        shared.wake_waiting();
    }
    true
}

fn try_persist(shared: &Shared, pack: &Pack, batch: &Batch) -> Result<(), EngineError> {
    let engine = shared.backing().ok_or_else(|| EngineError::Io("the database isn't open".into()))?;
    if shared.trouble.degraded().is_some() {
        pack.write_again()?;
    }
    pack.sync()?;
    engine.apply(batch)?;
    engine.sync()?;
    shared.check_in_place()
}

/// Becomes degraded, waits a little, and makes the engine usable again. False when the store was abandoned.
fn endure(shared: &Shared, error: EngineError, pause: &mut Duration, serial: u64) -> bool {
    let mut reason = error;
    loop {
        shared.counters.failed();
        shared.trouble.set(Some(NotDurable::Degraded(reason.to_string().into())));
        shared.wake_waiting();
        // Closing gives up by itself after its limit; a store that is only dropped can't wait for a dead disk.
        if shared.work.stopping() == Stop::Abandoned {
            return false;
        }
        shared.switch.wait_changed(*pause);
        *pause = (*pause * 2).min(RETRY.1);
        match super::revive::revive(shared, serial) {
            Ok(()) => return true,
            Err(error) => reason = error,
        }
    }
}

fn publish(share: &Share) {
    let Some(last) = share.entries.last() else { return };
    let mut state = share.agent.state.lock();
    for _ in 0..share.entries.len() {
        if let Some((_, bytes)) = state.waiting.pop_front() {
            state.waiting_bytes -= bytes;
        }
    }
    for (region, key, lsn, value) in &share.moved {
        if let Some(region) = state.regions.get_mut(region) {
            region.records.tail.replace(key, *lsn, value.clone());
        }
    }
    drop(state);
    share.agent.mark.publish(last.last());
}

fn apply_edit(edit: &Edit) {
    let mut state = edit.agent.state.lock();
    let Some(region) = state.regions.get_mut(&edit.region) else { return };
    region.records.sealed = edit.sealed.clone();
    if edit.ends_sealing {
        region.records.end_sealing();
        region.seal_wanted = false;
    }
}

/// The last batch of an orderly shutdown.
fn finish(shared: &Shared, serial: &mut u64) -> Result<(), EngineError> {
    let (Some(engine), Some(pack)) = (shared.backing(), shared.pack()) else { return Ok(()) };
    let mut batch = Batch::default();
    *serial += 1;
    keys::put_number(&mut batch, SERIAL, *serial);
    if !shared.leaves_end_untold {
        keys::put_number(&mut batch, keys::CLEAN, *serial);
    }
    if shared.damage_to_write() {
        keys::put_number(&mut batch, keys::DAMAGE_SEEN, 1);
    }
    for agent in shared.everybody() {
        write_metas(agent.id.as_str(), &mut agent.on_disk.lock(), &mut batch);
    }
    if !send(shared, &pack, &mut batch) {
        return Ok(());
    }
    pack.sync()?;
    engine.apply(&batch)?;
    engine.sync()?;
    mark(shared, *serial);
    Ok(())
}

/// Notes the position outside the database: some engines open a cut file without noticing that the rest is gone.
fn mark(shared: &Shared, serial: u64) {
    if let Some(folder) = &shared.folder {
        folder.mark(serial);
    }
}
