//! One sealed block of a run: sorted entries, searched in place.

use super::super::codec::{Reader, Writer};
use super::super::pack::Block;
use super::Value;

pub fn write_entry(to: &mut Writer, key: &[u8], value: &Value) {
    to.bytes(key);
    value.write(to);
}

pub fn read_entry<'a>(from: &mut Reader<'a>) -> Option<(&'a [u8], Value)> {
    Some((from.bytes()?, Value::read(from)?))
}

/// Passes over a value without copying it.
fn skip_value(from: &mut Reader<'_>) -> Option<()> {
    match from.u8()? {
        0 => Some(()),
        1 => from.bytes().map(|_| ()),
        2 => (0..from.count()?).try_for_each(|_| super::Pointer::read(from).map(|_| ())),
        _ => None,
    }
}

/// Where the entries begin; none when the block makes no sense.
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

/// Where the first entry begins that isn't before the key; the block's end when there is none. `Err(())` when the block
/// makes no sense.
pub fn seek(block: &Block, key: &[u8]) -> Result<usize, ()> {
    let starts = block.entries(entries).ok_or(())?;
    let is_before = |start: &u32| Reader(&block[*start as usize..]).bytes().is_some_and(|found| found < key);
    Ok(starts.get(starts.partition_point(is_before)).map_or(block.len(), |start| *start as usize))
}

/// Goes on from `at` to the first entry that isn't before the key, and gives its value if it is the key's. `Err(())` when the
/// block makes no sense.
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
