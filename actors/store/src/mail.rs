//! Mail of rooms that don't read it, moved out of the journal. Otherwise one letter for a room that is down would
//! keep all of the journal after it.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use maxim_bus::ids::Lsn;

use super::agent::{Agent, OnDisk};
use super::codec::{Reader, Writer};
use super::engine::{Batch, Engine};
use super::error::EngineError;
use super::journal::unpack;
use super::keys;

/// Maximum number of letters copied at once. The journal is kept from the next letter on, until that one is copied.
const CARRIED: usize = 256;

/// A signal that some room hasn't read yet, with its LSN.
pub type Letter = (u64, Arc<[u8]>);

/// Letters that were moved together and are stored in one place, until all of them are read.
pub struct Bundle {
    key: Vec<u8>,
    chunks: u16,
    /// Ascending.
    lsns: Vec<u64>,
}

impl Bundle {
    /// None when it can't be read.
    pub fn of(key: Vec<u8>, content: &[u8], chunks: u16) -> Option<Self> {
        let lsns = read(content)?.into_iter().map(|(lsn, _)| lsn).collect();
        Some(Self { key, chunks, lsns })
    }

    fn is_read(&self, unread: &Unread) -> bool {
        self.lsns.iter().all(|lsn| *lsn < unread.below && unread.lsns.binary_search(lsn).is_err())
    }
}

/// The unread signals in a part of the journal that is late.
pub struct Unread {
    /// The part ends before this LSN.
    below: u64,
    /// Ascending.
    lsns: Vec<u64>,
}

impl Unread {
    /// Determined before waiting commits are taken. So every reading counted here is in this batch or an older one.
    pub fn of(agent: &Agent, below: Option<u64>) -> Option<Self> {
        let below = below?;
        let ask = agent.unread.lock().clone()?;
        let lsns = catch_unwind(AssertUnwindSafe(|| ask(Lsn(below)))).ok()??;
        Some(Self { below, lsns: lsns.into_iter().map(|lsn| lsn.0).collect() })
    }
}

/// Writes each unread letter once, into a place of its own. Returns the LSN up to which no inbox needs the journal
/// any more; none when a letter could not be read.
pub fn carry(
    unread: &Unread,
    engine: &dyn Engine,
    agent: &str,
    on_disk: &mut OnDisk,
    batch: &mut Batch,
) -> Option<u64> {
    let carried: BTreeSet<u64> = on_disk.mail.iter().flat_map(|bundle| &bundle.lsns).copied().collect();
    let fresh: Vec<u64> = unread.lsns.iter().filter(|lsn| !carried.contains(lsn)).copied().collect();
    let (now, later) = fresh.split_at(fresh.len().min(CARRIED));
    if let Some(first) = now.first() {
        let letters = in_journal(now, engine, agent, on_disk)?;
        let key = keys::letters(agent, *first);
        let chunks = keys::put_spanning(batch, &key, &write(&letters), 0);
        on_disk.mail.push(Bundle { key, chunks, lsns: now.to_vec() });
    }
    drop_read(on_disk, batch, |bundle| bundle.is_read(unread));
    Some(later.first().unwrap_or(&unread.below).saturating_sub(1))
}

/// Drops bundles that all rooms have read.
pub fn drop_delivered(low_water: u64, on_disk: &mut OnDisk, batch: &mut Batch) {
    drop_read(on_disk, batch, |bundle| bundle.lsns.last().is_none_or(|last| *last <= low_water));
}

fn drop_read(on_disk: &mut OnDisk, batch: &mut Batch, is_read: impl Fn(&Bundle) -> bool) {
    on_disk.mail.retain(|bundle| {
        let goes = is_read(bundle);
        if goes {
            keys::delete_spanning(batch, &bundle.key, bundle.chunks);
        }
        !goes
    });
}

/// All moved letters whose place in the journal is gone, ascending.
pub fn cut_away(engine: &dyn Engine, agent: &str, dropped: u64) -> Result<Vec<Letter>, EngineError> {
    let mut letters = Vec::new();
    for (key, found) in keys::spanning(engine, &keys::agent(keys::MAIL, agent))? {
        let damaged = || EngineError::Damaged(format!("the letters at {}", String::from_utf8_lossy(&key)));
        letters.extend(found.content.as_deref().and_then(read).ok_or_else(damaged)?);
    }
    letters.retain(|(lsn, _)| *lsn <= dropped);
    letters.sort_by_key(|(lsn, _)| *lsn);
    Ok(letters)
}

/// The letters at these LSNs, ascending. Each frame is read once.
fn in_journal(lsns: &[u64], engine: &dyn Engine, agent: &str, on_disk: &OnDisk) -> Option<Vec<Letter>> {
    let mut letters = Vec::with_capacity(lsns.len());
    let mut rest = lsns;
    while let Some(lsn) = rest.first() {
        let span = on_disk.frames.get(on_disk.frames.partition_point(|frame| frame.last < *lsn))?;
        let (here, later) = rest.split_at(rest.partition_point(|lsn| *lsn <= span.last));
        let key = keys::frame(agent, span.place);
        let found = keys::spanning(engine, &key).ok()?.remove(&key)?;
        let (_, entries) = unpack(&found.content?, span.place, found.chunks)?;
        for lsn in here {
            let entry = entries.get(entries.partition_point(|entry| entry.last() < *lsn))?;
            let nth = usize::try_from(lsn.checked_sub(entry.lsn + 1)?).ok()?;
            letters.push((*lsn, entry.emissions.get(nth)?.clone()));
        }
        rest = later;
    }
    Some(letters)
}

fn write(letters: &[Letter]) -> Vec<u8> {
    let mut to = Writer::default();
    to.count(letters.len());
    for (lsn, bytes) in letters {
        to.varint(*lsn);
        to.bytes(bytes);
    }
    to.0
}

/// `None` when it can't be read.
fn read(content: &[u8]) -> Option<Vec<Letter>> {
    let mut from = Reader(content);
    (0..from.count()?).map(|_| Some((from.varint()?, from.bytes()?.into()))).collect()
}
