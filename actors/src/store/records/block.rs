//! One sealed block of a run: sorted entries, searched in place.

use super::super::codec::{Reader, Writer};
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
