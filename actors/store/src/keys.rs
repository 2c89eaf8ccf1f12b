//! The keys in the engine's one tree, and values that span several keys.
//!
//! One letter for the kind, then the agent, a zero byte, the region, a zero byte. Names contain no zero bytes.

use std::collections::BTreeMap;

use super::codec::{Reader, Writer, seal, sum, unseal};
use super::engine::{Batch, Engine, after_prefix};
use super::error::EngineError;

pub const FORMAT: &[u8] = b"!format";
/// How often the store was opened: the upper part of every epoch.
pub const BOOT: &[u8] = b"!boot";
/// Present if the last process closed the store in order.
pub const CLEAN: &[u8] = b"!clean";
/// The end of the pack at its last sync.
pub const PACK_END: &[u8] = b"!pack";
/// A read found damage: the next start checks everything.
pub const DAMAGE_SEEN: &[u8] = b"!damage";

pub const HEAD: u8 = b'h';
pub const FRAME: u8 = b'j';
pub const META: u8 = b'c';
pub const MAIL: u8 = b'm';
pub const RUNS: u8 = b'r';
pub const ROOT: u8 = b'o';

/// Bytes of content per key of a spanning value.
const CHUNK: usize = 4096;
/// Bytes before the content of the first chunk: checksum over all, and the length.
const CHUNK_HEAD: usize = 8;

pub fn agent(kind: u8, agent: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(agent.len() + 32);
    key.push(kind);
    key.extend_from_slice(agent.as_bytes());
    key.push(0);
    key
}

pub fn region(kind: u8, agent_name: &str, region: &str) -> Vec<u8> {
    let mut key = agent(kind, agent_name);
    key.extend_from_slice(region.as_bytes());
    key.push(0);
    key
}

pub fn root(agent_name: &str, region_name: &str, slot: u8) -> Vec<u8> {
    let mut key = region(ROOT, agent_name, region_name);
    key.push(slot);
    key
}

/// The place of a frame of the journal.
pub fn frame(agent_name: &str, place: u64) -> Vec<u8> {
    let mut key = agent(FRAME, agent_name);
    key.extend_from_slice(&place.to_be_bytes());
    key
}

/// The place of the frame with this key.
pub fn place_of(frame: &[u8]) -> u64 {
    frame.last_chunk().map_or(0, |place| u64::from_be_bytes(*place))
}

pub fn letters(agent_name: &str, first: u64) -> Vec<u8> {
    let mut key = agent(MAIL, agent_name);
    key.extend_from_slice(&first.to_be_bytes());
    key
}

/// Agent and region of a key, for kinds that have both.
pub fn names(key: &[u8]) -> Option<(&str, &str)> {
    let mut parts = key.get(1..)?.splitn(3, |&byte| byte == 0);
    let agent = std::str::from_utf8(parts.next()?).ok()?;
    let region = std::str::from_utf8(parts.next()?).ok()?;
    Some((agent, region))
}

/// The agent of a key of any kind except the store's own.
pub fn agent_name(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key.get(1..)?.split(|&byte| byte == 0).next()?).ok()
}

pub fn put_number(batch: &mut Batch, key: &[u8], number: u64) {
    batch.put(key.to_vec(), seal(key, &number.to_le_bytes()));
}

/// `Ok(None)` when it doesn't exist.
pub fn get_number(engine: &dyn Engine, key: &[u8]) -> Result<Option<u64>, EngineError> {
    let Some(sealed) = engine.get(key)? else { return Ok(None) };
    let number = unseal(key, &sealed).and_then(|content| Reader(content).u64());
    number.map(Some).ok_or_else(|| EngineError::Damaged(format!("the value of {}", String::from_utf8_lossy(key))))
}

fn chunk_key(base: &[u8], index: u16) -> Vec<u8> {
    let mut key = Vec::with_capacity(base.len() + 2);
    key.extend_from_slice(base);
    key.extend_from_slice(&index.to_be_bytes());
    key
}

/// Writes a value of any length up to 256 MB, and deletes chunks of a longer predecessor. Returns the number of chunks.
pub fn put_spanning(batch: &mut Batch, base: &[u8], content: &[u8], chunks_before: u16) -> u16 {
    let mut writer = Writer(Vec::with_capacity(content.len() + CHUNK_HEAD));
    writer.u32(sum(base, content));
    writer.u32(u32::try_from(content.len()).unwrap_or(u32::MAX));
    writer.0.extend_from_slice(content);
    let mut count = 0;
    for chunk in writer.0.chunks(CHUNK) {
        batch.put(chunk_key(base, count), chunk.to_vec());
        count += 1;
    }
    for index in count..chunks_before {
        batch.delete(chunk_key(base, index));
    }
    count
}

/// Removes the content of a spanning value, but leaves its keys for the next one.
pub fn empty_spanning(batch: &mut Batch, base: &[u8], chunks: u16) {
    for index in 0..chunks {
        batch.put(chunk_key(base, index), Vec::new());
    }
}

pub fn delete_spanning(batch: &mut Batch, base: &[u8], chunks: u16) {
    for index in 0..chunks {
        batch.delete(chunk_key(base, index));
    }
}

/// A spanning value as read.
pub struct Spanning {
    /// `None` when its checksum is wrong or a part is missing.
    pub content: Option<Vec<u8>>,
    pub chunks: u16,
    /// Only its keys exist.
    pub is_empty: bool,
}

/// All spanning values under a prefix, by base key.
pub fn spanning(engine: &dyn Engine, prefix: &[u8]) -> Result<BTreeMap<Vec<u8>, Spanning>, EngineError> {
    let mut parts: BTreeMap<Vec<u8>, (u16, Vec<u8>, bool)> = BTreeMap::new();
    engine.scan(prefix, after_prefix(prefix).as_deref(), &mut |key, value| {
        if let Some((base, index)) = key.split_at_checked(key.len().saturating_sub(2)) {
            let index = u16::from_be_bytes([index[0], index[1]]);
            let (count, bytes, whole) = parts.entry(base.to_vec()).or_insert_with(|| (0, Vec::new(), true));
            *whole &= index == *count;
            *count = index.saturating_add(1);
            bytes.extend_from_slice(value);
        }
        true
    })?;
    let check = |base: &[u8], bytes: &[u8]| {
        let mut reader = Reader(bytes);
        let (crc, length) = (reader.u32()?, reader.u32()?);
        let content = reader.take(length as usize)?;
        (sum(base, content) == crc).then(|| content.to_vec())
    };
    let found = parts.into_iter().map(|(base, (chunks, bytes, whole))| {
        let content = if whole { check(&base, &bytes) } else { None };
        let is_empty = whole && bytes.is_empty();
        (base, Spanning { content, chunks, is_empty })
    });
    Ok(found.collect())
}
