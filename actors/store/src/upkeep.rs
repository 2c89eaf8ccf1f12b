//! The thread beside the committer: seals tails into runs, merges runs, frees unused ones.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use super::agent::{Agent, Region};
use super::error::EngineError;
use super::pack::{Pack, Packing, Pointer};
use super::records::{Merging, Run, RunCursor, RunWriter, Sealed, Source, Tail, Value};
use super::shared::{Chore, Edit, Retired, Shared};

/// This many neighbours of a size class are merged into one.
const FAN: usize = 4;
/// More runs than this are merged, whatever their size.
const RUNS: usize = 12;
/// Runs with more bytes than this deserve more work. They are long-lived, so they are packed densely. If too many of
/// their entries were replaced by newer ones, all are merged into one.
const MUCH: u64 = 8 << 20;
/// A journal of at least this many bytes, before compression, is emptied when a store ends.
const LONG: usize = 2 << 20;
/// Batches in which it is then cut, at most.
const CUTS: usize = 8;
const PAUSE: Duration = Duration::from_millis(200);
const EVERYTHING: super::records::KeyRange = (Bound::Unbounded, Bound::Unbounded);

pub fn run(shared: &Arc<Shared>) {
    // Work that the last end interrupted.
    much_replaced(shared).into_iter().for_each(|(agent, region)| shared.upkeep.seal(agent, region));
    while let Some(chore) = shared.upkeep.take() {
        match chore {
            Chore::Weigh => {
                // A failure leaves the store as it was; the next check tries again.
                if let Err(error) = super::compact::compact_if_wasteful(shared) {
                    shared.counters.compaction_failed(error.to_string());
                }
            }
            Chore::Seal(agent, region) => patiently(shared, &agent, &region, When::AtWork),
            Chore::Merge(agent, region) => patiently(shared, &agent, &region, When::Now),
        }
        free_unread(shared);
    }
}

/// Tends a region, repeatedly while the disk refuses.
fn patiently(shared: &Shared, agent: &Arc<Agent>, region: &Arc<str>, when: When) {
    while let Err(EngineError::Full | EngineError::Io(_)) = tend_when(shared, agent, region, when) {
        shared.upkeep.pause(PAUSE);
        if shared.upkeep.is_stopped() {
            return;
        }
    }
}

/// Whether deferrable work is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Expensive work waits until the store is idle, unless it has waited too long.
    AtWork,
    Now,
}

/// The regions with many replaced entries, as after a sleep.
fn much_replaced(shared: &Shared) -> Vec<(Arc<Agent>, Arc<str>)> {
    regions(shared, |region| is_old(&region.records.sealed, region.alive_at_least()))
}

fn regions(shared: &Shared, is_meant: impl Fn(&Region) -> bool) -> Vec<(Arc<Agent>, Arc<str>)> {
    let of_agent = |agent: Arc<Agent>| {
        let state = agent.state.lock();
        let regions = state.regions.iter().filter(|(_, region)| is_meant(region));
        regions.map(|(name, _)| (agent.clone(), name.clone())).collect::<Vec<_>>()
    };
    shared.all_agents().into_iter().flat_map(of_agent).collect()
}

/// Rewrites records with many replaced entries, and empties a long journal into runs, before the store ends. Otherwise
/// the last data of an import would be there twice. Fails if the disk does; then nothing has changed.
pub fn settle(shared: &Shared) -> Result<(), EngineError> {
    // The number of replaced entries is known when the replacing ones are sealed; the other thread may not have done
    // that yet.
    let Some(pack) = shared.pack() else { return Ok(()) };
    for (agent, region) in regions(shared, |region| region.seal_wanted) {
        let _one_at_a_time = shared.packing.lock();
        seal_tail(shared, &pack, &agent, &region)?;
    }
    for agent in shared.all_agents() {
        if agent.on_disk.lock().frame_bytes > LONG {
            seal_all(shared, &agent)?;
        }
    }
    for (agent, region) in much_replaced(shared).into_iter().chain(shared.upkeep.take_put_off()) {
        shared.settles.store(true, Ordering::Release);
        tend(shared, &agent, &region)?;
    }
    free_unread(shared);
    Ok(())
}

fn seal_all(shared: &Shared, agent: &Arc<Agent>) -> Result<(), EngineError> {
    let names = |agent: &Agent| agent.state.lock().regions.keys().cloned().collect::<Vec<_>>();
    for region in names(agent) {
        tend(shared, agent, &region)?;
    }
    shared.settles.store(true, Ordering::Release);
    // Each batch cuts what it can: a region's events go into one of its two slots at a time, letters in bundles.
    for _ in 0..CUTS {
        let region = names(agent).into_iter().next();
        let Some(region) = region.filter(|_| agent.on_disk.lock().frame_bytes > 0) else { break };
        let sealed = agent.state.lock().regions.get(&region).map(|region| region.records.sealed.clone());
        shared.work.add(agent.clone());
        submit(shared, agent, &region, sealed.unwrap_or_default(), false)?;
    }
    Ok(())
}

/// Seals a region's tail and merges its runs if needed.
pub fn tend(shared: &Shared, agent: &Arc<Agent>, region: &Arc<str>) -> Result<(), EngineError> {
    tend_when(shared, agent, region, When::Now)
}

fn tend_when(shared: &Shared, agent: &Arc<Agent>, region: &Arc<str>, when: When) -> Result<(), EngineError> {
    let Some(pack) = shared.pack() else { return Ok(()) };
    let mut retired = shared.packing.lock();
    seal_tail(shared, &pack, agent, region)?;
    loop {
        let (sealed, alive, replaced_much) = match agent.state.lock().regions.get(region) {
            Some(region) => (region.records.sealed.clone(), region.alive_at_least(), region.has_replaced_much),
            None => return Ok(()),
        };
        let Some((from, to)) = to_merge(&sealed, alive) else { break };
        let can_wait = is_dear(&sealed, from, to) && sealed.runs.len() <= RUNS && !replaced_much;
        if when == When::AtWork && can_wait {
            shared.upkeep.put_off(agent.clone(), region.clone());
            break;
        }
        // Damage stops the merging, not the store: reading reports it, and a repair removes it.
        let Merged { sealed: merged, replaced, taken_over } = match merge(shared, &pack, &sealed, from, to) {
            Err(EngineError::Damaged(_)) => {
                shared.note_damage();
                return Ok(());
            }
            other => other?,
        };
        submit(shared, agent, region, Arc::new(merged), false)?;
        let runs = sealed.runs[from..to].to_vec();
        retired.push(Retired { sealed, runs, replaced, taken_over });
    }
    if let Some(region) = agent.state.lock().regions.get_mut(region) {
        region.has_replaced_much = false;
    }
    Ok(())
}

fn seal_tail(shared: &Shared, pack: &Arc<Pack>, agent: &Arc<Agent>, region: &Arc<str>) -> Result<(), EngineError> {
    if let Some((tail, sealed)) = begin(agent, region) {
        let more = seal(pack, &tail, &sealed)?;
        submit(shared, agent, region, Arc::new(more), true)?;
    }
    Ok(())
}

/// Sets the tail aside for sealing. A tail left aside by a failure is continued.
fn begin(agent: &Agent, region: &str) -> Option<(Arc<Tail>, Arc<Sealed>)> {
    let mut state = agent.state.lock();
    let last = state.next - 1;
    let region = state.regions.get_mut(region)?;
    let records = &mut region.records;
    if records.sealing.is_none() {
        if records.tail.map.is_empty() {
            region.seal_wanted = false;
            return None;
        }
        let mut tail = std::mem::take(&mut records.tail);
        tail.upto = last;
        records.sealing = Some(Arc::new(tail));
    }
    Some((records.sealing.clone()?, records.sealed.clone()))
}

fn seal(pack: &Arc<Pack>, tail: &Tail, sealed: &Sealed) -> Result<Sealed, EngineError> {
    let mut writer = RunWriter::new(pack.clone(), Packing::Quick);
    let mut value = sealed.ascending();
    let mut alive = |key: &[u8]| Ok(value(pack, key)?.is_some_and(|value| value != Value::Deleted));
    let (mut more, mut fewer) = (0u64, 0u64);
    for (key, held) in &tail.map {
        let below = match held.below {
            Some(below) => below,
            None => alive_or_damaged(alive(key))?,
        };
        fewer += u64::from(below);
        more += u64::from(held.value != Value::Deleted);
        writer.push(key, &held.value.spilled(pack)?)?;
    }
    let mut runs = sealed.runs.clone();
    if let Some(run) = writer.finish(sealed.next_id())? {
        runs.insert(0, Arc::new(run));
    }
    Ok(Sealed { runs, live: (sealed.live + more).saturating_sub(fewer), upto: tail.upto })
}

/// A key in an unreadable block counts as lost.
fn alive_or_damaged(alive: Result<bool, EngineError>) -> Result<bool, EngineError> {
    match alive {
        Err(EngineError::Damaged(_)) => Ok(false),
        other => other,
    }
}

/// True if fewer entries than this are alive per replaced one.
fn is_old(sealed: &Sealed, alive: u64) -> bool {
    let entries: u64 = sealed.runs.iter().map(|run| run.entries).sum();
    let replaced = entries.saturating_sub(sealed.live);
    sealed.runs.len() > 1 && sealed.bytes() > MUCH && replaced.saturating_mul(alive) > sealed.live
}

/// Which neighbouring runs (newest first) should be merged.
fn to_merge(sealed: &Sealed, alive: u64) -> Option<(usize, usize)> {
    let runs = &sealed.runs;
    if is_old(sealed, alive) {
        return Some((0, runs.len()));
    }
    let class = |run: &Run| (run.bytes >> 20).checked_ilog(4).map_or(0, |class| class + 1);
    let mut from = 0;
    while from < runs.len() {
        let same = runs[from..].iter().take_while(|run| class(run) <= class(&runs[from])).count();
        if same >= FAN {
            return Some((from, from + same));
        }
        from += 1;
    }
    (runs.len() > RUNS).then(|| {
        let weight = |from: &usize| runs[*from..from + FAN].iter().map(|run| run.bytes).sum::<u64>();
        let from = (0..=runs.len() - FAN).min_by_key(weight).unwrap_or(0);
        (from, from + FAN)
    })
}

/// True if a merge packs densely: it makes the oldest run, with many bytes.
fn is_dear(sealed: &Sealed, from: usize, to: usize) -> bool {
    let bytes: u64 = sealed.runs[from..to].iter().map(|run| run.bytes).sum();
    to == sealed.runs.len() && bytes > MUCH
}

/// The result of a merge.
struct Merged {
    sealed: Sealed,
    /// Long values without any pointer.
    replaced: Vec<Pointer>,
    taken_over: HashSet<u64>,
}

/// A block is taken over unchanged if no other run has keys in its range. Most memories are in the order of time, so
/// runs hardly overlap.
fn merge(shared: &Shared, pack: &Arc<Pack>, sealed: &Sealed, from: usize, to: usize) -> Result<Merged, EngineError> {
    let is_oldest = to == sealed.runs.len();
    let packing = if is_dear(sealed, from, to) { Packing::Dense } else { Packing::Quick };
    let sources = &sealed.runs[from..to];
    // A large oldest run was packed densely when it was made.
    let is_packed =
        |source: usize| packing == Packing::Quick || (source + 1 == sources.len() && sources[source].bytes > MUCH);
    let open = |run: &Arc<Run>| RunCursor::new(run.clone(), pack.clone(), EVERYTHING, false).map(Source::Run);
    let mut merging = Merging::new(sources.iter().map(open).collect::<Result<_, _>>()?);
    merging.replaced = Some(Vec::new());
    let mut writer = RunWriter::new(pack.clone(), packing);
    let mut taken_over = HashSet::new();
    loop {
        if shared.upkeep.is_stopped() {
            return Err(EngineError::Io("the store is closing".into()));
        }
        if writer.is_even()
            && let Some((source, whole)) = merging.whole_block()?
            && is_packed(source)
            && !(is_oldest && whole.contents.deletes)
        {
            taken_over.insert(whole.at.offset);
            writer.take_over(whole)?;
            merging.pass_block(source)?;
            continue;
        }
        let Some((key, value)) = merging.next()? else { break };
        if !(is_oldest && value == Value::Deleted) {
            writer.push(&key, &value)?;
        }
    }
    let mut runs = sealed.runs.clone();
    runs.splice(from..to, writer.finish(sealed.next_id())?.map(Arc::new));
    let live = if from == 0 && is_oldest { runs.iter().map(|run| run.entries).sum() } else { sealed.live };
    let pieces = merging.replaced.into_iter().flatten().filter_map(|value| match value {
        Value::Spilled(pieces) => Some(pieces.to_vec()),
        _ => None,
    });
    let replaced = pieces.flatten().collect();
    Ok(Merged { sealed: Sealed { runs, live, upto: sealed.upto }, replaced, taken_over })
}

/// Passes the new list of runs to the committer and waits until it is on disk.
pub fn submit(
    shared: &Shared,
    agent: &Arc<Agent>,
    region: &Arc<str>,
    sealed: Arc<Sealed>,
    ends_sealing: bool,
) -> Result<(), EngineError> {
    let (done, answer) = sync_channel(1);
    shared.work.edit(Edit { agent: agent.clone(), region: region.clone(), sealed, ends_sealing, done });
    // A closed channel: the store has ended.
    answer.recv().unwrap_or_else(|_| Err(EngineError::Io("the store is closed".into())))
}

/// Frees the space of merged runs without readers.
pub fn free_unread(shared: &Shared) {
    let Some(pack) = shared.pack() else { return };
    let mut retired = shared.packing.lock();
    // Data that was merged twice in a row is held by the older run until that is gone.
    while free_some(&pack, &mut retired) {}
}

/// False when there was nothing to free.
fn free_some(pack: &Pack, retired: &mut Vec<Retired>) -> bool {
    let is_read = |retired: &Retired| {
        Arc::strong_count(&retired.sealed) > 1 || retired.runs.iter().any(|run| Arc::strong_count(run) > 2)
    };
    let (mut read, unread): (Vec<_>, Vec<_>) = retired.drain(..).partition(is_read);
    let is_any = !unread.is_empty();
    let blocks_of = |retired: &Retired| {
        retired.runs.iter().flat_map(|run| run.blocks(pack).unwrap_or_default()).collect::<Vec<_>>()
    };
    let mut dead = Vec::new();
    for retired in unread {
        dead.extend(blocks_of(&retired).into_iter().filter(|at| !retired.taken_over.contains(&at.offset)));
        dead.extend(retired.replaced);
    }
    // Blocks shared with an older run that still has readers are freed with that run.
    for older in &mut read {
        let shared: HashSet<u64> = blocks_of(older).iter().map(|at| at.offset).collect();
        let (theirs, ours) = dead.into_iter().partition(|at: &Pointer| shared.contains(&at.offset));
        dead = ours;
        older.replaced.extend::<Vec<_>>(theirs);
    }
    pack.free(dead);
    *retired = read;
    is_any
}
