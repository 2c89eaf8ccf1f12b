//! One sealed block of a run: sorted entries, searched without copying.

use super::super::codec::{Reader, Writer};
use super::super::pack::{Block, Pointer};
use super::Value;

pub fn write_entry(to: &mut Writer, key: &[u8], value: &Value) {
    to.bytes(key);
    value.write(to);
}

pub fn read_entry<'a>(from: &mut Reader<'a>) -> Option<(&'a [u8], Value)> {
    Some((from.bytes()?, Value::read(from)?))
}

/// Skips a value without copying it.
fn skip_value(from: &mut Reader<'_>) -> Option<()> {
    match from.u8()? {
        0 => Some(()),
        1 => from.bytes().map(|_| ()),
        2 => (0..from.count()?).try_for_each(|_| Pointer::read(from).map(|_| ())),
        _ => None,
    }
}

/// The content of a whole block, for a run that takes it over unchanged.
pub struct Contents {
    pub entries: u64,
    /// Some key in it is marked as deleted (a tombstone).
    pub deletes: bool,
    /// The pointers of its long values.
    pub pieces: Vec<Pointer>,
    pub last: Vec<u8>,
}

/// `None` if the block is invalid.
pub fn contents(block: &[u8]) -> Option<Contents> {
    let mut reader = Reader(block);
    let mut found = Contents { entries: 0, deletes: false, pieces: Vec::new(), last: Vec::new() };
    let mut last: &[u8] = &[];
    while !reader.is_empty() {
        last = reader.bytes()?;
        found.entries += 1;
        match reader.0.first()? {
            0 => found.deletes = true,
            2 => {
                let mut value = Reader(reader.0);
                if let Value::Spilled(pieces) = Value::read(&mut value)? {
                    found.pieces.extend(pieces.iter());
                }
            }
            _ => {}
        }
        skip_value(&mut reader)?;
    }
    found.last = last.to_vec();
    Some(found)
}

/// Where the entries begin; `None` if the block is invalid.
fn entries(block: &[u8]) -> Option<Box<[u32]>> {
    let mut reader = Reader(block);
    let mut starts = Vec::new();
    while !reader.is_empty() {
        starts.push(u32::try_from(block.len() - reader.0.len()).ok()?);
        reader.bytes()?;
        skip_value(&mut reader)?;
    }
    Some(starts.into())
}

/// The beginning of the first entry that isn't before the key; the block's end if there is none. `Err(())` if the block
/// is invalid.
pub fn seek(block: &Block, key: &[u8]) -> Result<usize, ()> {
    let starts = block.entries(entries).ok_or(())?;
    let is_before = |start: &u32| Reader(&block[*start as usize..]).bytes().is_some_and(|found| found < key);
    Ok(starts.get(starts.partition_point(is_before)).map_or(block.len(), |start| *start as usize))
}

/// Moves from `at` to the first entry that isn't before the key, and returns its value if it has this key. `Err(())` if
/// the block is invalid.
pub fn find(block: &[u8], at: &mut usize, key: &[u8]) -> Result<Option<Value>, ()> {
    let mut reader = Reader(block.get(*at..).ok_or(())?);
    while !reader.is_empty() {
        *at = block.len() - reader.0.len();
        let found = reader.bytes().ok_or(())?;
        match found.cmp(key) {
            std::cmp::Ordering::Less => skip_value(&mut reader).ok_or(())?,
            std::cmp::Ordering::Equal => return Value::read(&mut reader).map(Some).ok_or(()),
            std::cmp::Ordering::Greater => return Ok(None),
        }
    }
    *at = block.len();
    Ok(None)
}
