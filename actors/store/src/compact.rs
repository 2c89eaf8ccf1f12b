//! Compaction: copies the engine into a new generation, and returns the pack's dead blocks to the disk.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::backup::PATIENCE;
use super::engine::copy_all;
use super::error::{EngineError, StoreError};
use super::repair::live_extents;
use super::shared::Shared;

/// Compaction starts by itself when more than 1/`WASTE` of the bytes on disk are dead.
const WASTE: u64 = 4;
/// A command that ends compacts if at least this many bytes are dead, and more than 1/`SLACK_SHARE` of all.
const SLACK: u64 = 4 << 20;
const SLACK_SHARE: u64 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactReport {
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// Commits are still accepted meanwhile; they become durable a little later.
pub fn compact(shared: &Arc<Shared>) -> Result<CompactReport, StoreError> {
    let (Some(pack), Some(folder)) = (shared.pack(), &shared.folder) else {
        return Err(StoreError::InMemory("compact"));
    };
    let busy = || StoreError::Engine(EngineError::Io("the store is busy with the disk; try again later".into()));
    let packing = shared.packing.try_lock_for(PATIENCE).ok_or_else(busy)?;
    let _gate = shared.gate.try_lock_for(PATIENCE).ok_or_else(busy)?;
    let engine = shared.backing().ok_or(StoreError::Closed)?;
    let bytes_before = shared.bytes_on_disk();
    let live = live_extents(shared, &*engine, &pack, &packing)?;
    let old = shared.generation.load(Ordering::Acquire);
    let fresh = folder.begin_generation(old + 1, shared.options.engine, shared.options.page_cache)?;
    let copied = copy_all(&*engine, &*fresh).and_then(|_| folder.complete_generation(old + 1));
    if let Err(error) = copied {
        drop(fresh);
        folder.remove_generation(old + 1);
        return Err(error.into());
    }
    drop(engine);
    shared.set_engine(Some(fresh));
    shared.generation.store(old + 1, Ordering::Release);
    folder.remove_generation(old);
    pack.free_except(live, pack.end());
    let bytes_after = shared.bytes_on_disk();
    shared.counters.compacted(bytes_after);
    Ok(CompactReport { bytes_before, bytes_after })
}

pub fn compact_if_wasteful(shared: &Arc<Shared>) -> Result<(), StoreError> {
    let held = shared.bytes_on_disk();
    // What remained after a compaction isn't waste, whatever the figures say.
    let has_doubled = held / 2 > shared.counters.left_by_compaction();
    if has_doubled && is_wasteful(shared, held) { compact(shared).map(|_| ()) } else { Ok(()) }
}

/// The same at the end of the store, when nobody waits. sled overwrites all free space in its file at each open. So a
/// file that an import enlarged would slow down each start.
pub fn compact_at_end(shared: &Arc<Shared>) -> Result<(), StoreError> {
    let held = shared.bytes_on_disk();
    let has_grown = held - held / WASTE > shared.counters.held_before();
    // Data just emptied or rewritten is not waste that an earlier compaction left.
    let is_slack = shared.settles.load(Ordering::Acquire)
        && held.saturating_sub(shared.live_bytes()) > SLACK.max(held / SLACK_SHARE)
        && shared.folder.is_some();
    if is_slack || (has_grown && is_wasteful(shared, held)) { compact(shared).map(|_| ()) } else { Ok(()) }
}

fn is_wasteful(shared: &Shared, held: u64) -> bool {
    held > shared.options.compact_bytes && held - held / WASTE > shared.live_bytes() && shared.folder.is_some()
}
