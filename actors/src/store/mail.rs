//! Mail of rooms that don't read it, taken out of the journal: one letter for a room that is down must not keep all that
//! was written after it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use maxim_bus::ids::Lsn;

use super::agent::{Agent, OnDisk};
use super::codec::{Reader, Writer};
use super::engine::{Batch, Engine};
use super::journal::unpack;
use super::keys;

/// Where more mail than this is unread, it stays in the journal: copying it would cost more than reading on.
const CARRIED: usize = 256;

/// A signal that some room has yet to hear, by its LSN.
pub type Letter = (u64, Arc<[u8]>);

/// What is unread of a part of the journal that is late.
pub struct Unread {
    /// The part ends before this LSN.
    below: u64,
    lsns: Vec<u64>,
}

impl Unread {
    /// Asked before what waits is taken: who has read a letter by now said so in this batch or an older one.
    pub fn of(agent: &Agent, below: Option<u64>) -> Option<Self> {
        let below = below?;
        let ask = agent.unread.lock().clone()?;
        let lsns = catch_unwind(AssertUnwindSafe(|| ask(Lsn(below)))).ok()??;
        (lsns.len() <= CARRIED).then(|| Self { below, lsns: lsns.into_iter().map(|lsn| lsn.0).collect() })
    }
}

/// Writes the unread letters into a place of their own. The LSN up to which the journal is then needed by nobody's inbox;
/// none when a letter could not be read.
pub fn carry(
    unread: &Unread,
    engine: &dyn Engine,
    agent: &str,
    on_disk: &mut OnDisk,
    batch: &mut Batch,
) -> Option<u64> {
    let find = |lsn: u64| match on_disk.letters.binary_search_by_key(&lsn, |(lsn, _)| *lsn) {
        Ok(at) => Some(on_disk.letters[at].1.clone()),
        Err(_) => in_journal(lsn, engine, agent, on_disk),
    };
    let letters = unread.lsns.iter().map(|lsn| Some((*lsn, find(*lsn)?))).collect::<Option<Vec<Letter>>>()?;
    put(letters, agent, on_disk, batch);
    Some(unread.below.saturating_sub(1))
}

/// Replaces the letters that are kept.
pub fn put(letters: Vec<Letter>, agent: &str, on_disk: &mut OnDisk, batch: &mut Batch) {
    if letters == on_disk.letters {
        return;
    }
    let key = keys::agent(keys::MAIL, agent);
    if letters.is_empty() {
        keys::delete_spanning(batch, &key, on_disk.letter_chunks);
        on_disk.letter_chunks = 0;
    } else {
        on_disk.letter_chunks = keys::put_spanning(batch, &key, &write(&letters), on_disk.letter_chunks);
    }
    on_disk.letters = letters;
}

fn in_journal(lsn: u64, engine: &dyn Engine, agent: &str, on_disk: &OnDisk) -> Option<Arc<[u8]>> {
    let at = on_disk.frames.partition_point(|frame| frame.last < lsn);
    let key = keys::frame(agent, on_disk.frames.get(at)?.first);
    let found = keys::spanning(engine, &key).ok()?.remove(&key)?;
    let (_, entries) = unpack(&found.content?, found.chunks)?;
    let entry = entries.into_iter().find(|entry| (entry.lsn + 1..=entry.last()).contains(&lsn))?;
    let nth = usize::try_from(lsn - entry.lsn - 1).ok()?;
    entry.emissions.into_iter().nth(nth)
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
pub fn read(content: &[u8]) -> Option<Vec<Letter>> {
    let mut from = Reader(content);
    (0..from.count()?).map(|_| Some((from.varint()?, from.bytes()?.into()))).collect()
}
