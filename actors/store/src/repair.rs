//! Verifies every checksum, and removes unreadable data from the sealed records.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

use super::agent::Agent;
use super::backup::OtherPacks;
use super::engine::Engine;
use super::error::{EngineError, StoreError};
use super::journal::unpack;
use super::keys;
use super::load::load;
use super::open::Loss;
use super::pack::{Pack, Packing, Pointer};
use super::records::{Merging, RunCursor, RunWriter, Sealed, Source, Value};
use super::shared::{Retired, Shared};
use super::upkeep::submit;

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    pub frames: u64,
    pub roots: u64,
    pub blocks: u64,
    /// Unreadable data in words: agent, region, and which keys.
    pub bad: Vec<String>,
}

impl VerifyReport {
    pub fn is_sound(&self) -> bool {
        self.bad.is_empty()
    }
}

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    pub repaired: Vec<String>,
    pub lost: Vec<Loss>,
}

/// Reads every frame, root and block that is on disk.
pub fn verify(shared: &Shared) -> VerifyReport {
    let mut report = VerifyReport::default();
    let (Some(engine), Some(pack)) = (shared.backing(), shared.pack()) else { return report };
    {
        // The journal must not be cut while it is verified.
        let _gate = shared.gate.lock();
        match load(&*engine, shared.boot_epoch()) {
            Ok(loaded) => {
                report.bad.extend(loaded.repaired);
                report.bad.extend(loaded.lost.iter().map(Loss::to_string));
            }
            Err(error) => report.bad.push(error.to_string()),
        }
        for agent in shared.everybody() {
            let on_disk = agent.on_disk.lock();
            report.frames += on_disk.frames.len() as u64;
            report.roots +=
                on_disk.regions.values().flat_map(|region| region.slots).filter(|slot| slot.lsn > 0).count() as u64;
        }
    }
    for (agent, region, sealed) in all_sealed(shared) {
        for run in &sealed.runs {
            let name = format!("agent {}, region {region}", agent.id);
            match run.extents(&pack) {
                Ok(extents) => {
                    let bad = extents.iter().filter(|at| pack.read_uncached(**at).is_err()).count();
                    report.blocks += extents.len() as u64;
                    if bad > 0 {
                        let (from, to) = run.span();
                        let (from, to) = (from.escape_ascii(), to.escape_ascii());
                        report.bad.push(format!("{name}: {bad} blocks of records between {from} and {to}"));
                    }
                }
                Err(error) => report.bad.push(format!("{name}: an index of records: {error}")),
            }
        }
    }
    report
}

fn all_sealed(shared: &Shared) -> Vec<(Arc<Agent>, Arc<str>, Arc<Sealed>)> {
    let of_agent = |agent: Arc<Agent>| {
        let state = agent.state.lock();
        let found: Vec<_> = state
            .regions
            .iter()
            .map(|(name, region)| (agent.clone(), name.clone(), region.records.sealed.clone()))
            .collect();
        drop(state);
        found
    };
    shared.everybody().into_iter().flat_map(of_agent).collect()
}

/// Everything in the pack that is referenced. The caller holds packing and gate.
pub fn live_extents(
    shared: &Shared,
    engine: &dyn Engine,
    pack: &Pack,
    retired: &[Retired],
) -> Result<Vec<Pointer>, StoreError> {
    let mut live = Vec::new();
    for (_, _, sealed) in all_sealed(shared) {
        for run in &sealed.runs {
            live.extend(run.extents(pack)?);
        }
    }
    // These may still have readers.
    for run in retired.iter().flat_map(|retired| &retired.runs) {
        live.extend(run.extents(pack)?);
    }
    for (key, frame) in keys::spanning(engine, &[keys::FRAME])? {
        let unpacked = frame.content.and_then(|content| unpack(&content, keys::place_of(&key), frame.chunks));
        let entries = unpacked.map(|(_, entries)| entries);
        for (_, value) in entries.into_iter().flatten().flat_map(|entry| entry.records) {
            if let Value::Spilled(pieces) = value {
                live.extend(pieces.iter());
            }
        }
    }
    // Runs share blocks with the runs that they were merged from.
    live.sort_unstable_by_key(|at| at.offset);
    live.dedup();
    Ok(live)
}

/// Replaces bad blocks from a backup where possible, and rewrites regions without blocks that no backup has.
pub fn repair_all(shared: &Arc<Shared>) -> Result<RepairReport, StoreError> {
    let mut report = RepairReport::default();
    let Some(pack) = shared.pack() else { return Ok(report) };
    let others = OtherPacks::of(shared.folder.as_ref());
    for (agent, region, sealed) in all_sealed(shared) {
        let (healed, bad) = heal(&pack, &others, &sealed)?;
        if healed > 0 {
            let name = format!("agent {}, region {region}", agent.id);
            report.repaired.push(format!("{name}: {healed} blocks of records, from a backup"));
        }
        if bad > 0 {
            rewrite(shared, &pack, &agent, &region, &mut report)?;
        }
    }
    shared.clear_damage();
    Ok(report)
}

/// The numbers of restored and unrestored blocks.
fn heal(pack: &Pack, others: &OtherPacks, sealed: &Sealed) -> Result<(u64, u64), EngineError> {
    let (mut healed, mut bad) = (0, 0);
    let mut look = |at: Pointer| -> Result<(), EngineError> {
        match pack.read_uncached(at) {
            Err(EngineError::Damaged(_)) => match others.find(at) {
                Some(block) => {
                    pack.heal(at, &block)?;
                    healed += 1;
                }
                None => bad += 1,
            },
            other => {
                other?;
            }
        }
        Ok(())
    };
    for run in &sealed.runs {
        run.index_blocks().iter().try_for_each(|at| look(*at))?;
        if let Ok(extents) = run.extents(pack) {
            let behind_index = extents.iter().filter(|at| !run.index_blocks().contains(at));
            behind_index.copied().try_for_each(&mut look)?;
        }
    }
    Ok((healed, bad))
}

/// Makes one run of all readable records in a region.
fn rewrite(
    shared: &Shared,
    pack: &Arc<Pack>,
    agent: &Arc<Agent>,
    region: &Arc<str>,
    report: &mut RepairReport,
) -> Result<(), StoreError> {
    let mut retired = shared.packing.lock();
    let Some(sealed) = agent.state.lock().regions.get(region).map(|region| region.records.sealed.clone()) else {
        return Ok(());
    };
    let lose = |what: String| Loss::of(Some(agent.id.as_str()), format!("region {region}: {what}"));
    let everything = (Bound::Unbounded, Bound::Unbounded);
    let mut sources = Vec::new();
    for run in &sealed.runs {
        match RunCursor::new(run.clone(), pack.clone(), everything.clone(), false) {
            Ok(cursor) => sources.push(Source::Run(cursor)),
            Err(EngineError::Damaged(_)) => {
                let (from, to) = run.span();
                let (from, to) = (from.escape_ascii(), to.escape_ascii());
                report
                    .lost
                    .push(lose(format!("{} records between {from} and {to}: their index is damaged", run.entries)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mut merging = Merging::new(sources);
    merging.lost = Some(Vec::new());
    let mut writer = RunWriter::new(pack.clone(), Packing::Dense);
    let mut live = 0;
    while let Some((key, value)) = merging.next()? {
        match value.load(pack) {
            Ok(None) => {}
            Ok(Some(_)) => {
                live += 1;
                writer.push(&key, &value)?;
            }
            Err(EngineError::Damaged(why)) => {
                report.lost.push(lose(format!("the record {}: {why}", key.escape_ascii())))
            }
            Err(error) => return Err(error.into()),
        }
    }
    for (from, to) in merging.lost.into_iter().flatten() {
        let (from, to) = (from.escape_ascii(), to.escape_ascii());
        report
            .lost
            .push(lose(format!("records from {from} to before {to}: their block is damaged, older values may show")));
    }
    let runs = writer.finish(sealed.next_id())?.into_iter().map(Arc::new).collect();
    let rewritten = Arc::new(Sealed { runs, live, upto: sealed.upto });
    submit(shared, agent, region, rewritten, false)?;
    agent.state.lock().regions.values_mut().for_each(|region| region.records.forget_below());
    let runs = sealed.runs.clone();
    retired.push(Retired { sealed, runs, replaced: Vec::new(), taken_over: HashSet::new() });
    Ok(())
}
