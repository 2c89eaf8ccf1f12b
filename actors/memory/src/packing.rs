//! Bytes of sealed segments: little-endian columns, variable-length integers, a checksum at the end.

/// Bytes that are not a segment of the expected kind, or are damaged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DamagedSegment {
    #[error("segment starts with {found:?}, expected {expected:?}: it is of another kind or version")]
    Kind { expected: [u8; 4], found: Vec<u8> },
    #[error("segment checksum is {found:08x}, expected {expected:08x}: the bytes are damaged, restore the segment")]
    Checksum { expected: u32, found: u32 },
    #[error("segment ends at byte {length} while {what} was read at {at}: it is cut off, restore the segment")]
    CutOff { what: &'static str, at: usize, length: usize },
    #[error("segment holds {what} that is not UTF-8: it is damaged, restore the segment")]
    Text { what: &'static str },
    #[error("segments overlap: document {document} comes after document {last}; load them in the order of sealing")]
    Order { document: u32, last: u32 },
}

/// Writes a segment front to back.
pub struct Packer {
    bytes: Vec<u8>,
}

impl Packer {
    pub fn new(kind: [u8; 4]) -> Self {
        Self { bytes: kind.to_vec() }
    }

    pub fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn count(&mut self, value: usize) {
        self.u32(u32::try_from(value).unwrap_or(u32::MAX));
    }

    pub fn i64(&mut self, value: i64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The segment with its CRC-32 appended.
    pub fn finish(mut self) -> Vec<u8> {
        let sum = crc32fast::hash(&self.bytes);
        self.u32(sum);
        self.bytes
    }
}

/// Reads a segment front to back; every read checks the end.
pub struct Unpacker<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Unpacker<'a> {
    /// Verifies kind and checksum before anything is read.
    pub fn open(bytes: &'a [u8], kind: [u8; 4]) -> Result<Self, DamagedSegment> {
        if bytes.get(..4) != Some(&kind[..]) {
            return Err(DamagedSegment::Kind { expected: kind, found: bytes.iter().take(4).copied().collect() });
        }
        let cut = DamagedSegment::CutOff { what: "the checksum", at: 4, length: bytes.len() };
        let (body, tail) = bytes.split_last_chunk::<4>().filter(|(body, _)| body.len() >= 4).ok_or(cut)?;
        let (expected, found) = (u32::from_le_bytes(*tail), crc32fast::hash(body));
        if expected != found {
            return Err(DamagedSegment::Checksum { expected, found });
        }
        Ok(Self { bytes: body, at: 4 })
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], DamagedSegment> {
        let cut = DamagedSegment::CutOff { what, at: self.at, length: self.bytes.len() };
        let end = self.at.checked_add(length).ok_or_else(|| cut.clone())?;
        let slice = self.bytes.get(self.at..end).ok_or(cut)?;
        self.at = end;
        Ok(slice)
    }

    pub fn u32(&mut self, what: &'static str) -> Result<u32, DamagedSegment> {
        Ok(read_u32(self.take(4, what)?, 0))
    }

    pub fn i64(&mut self, what: &'static str) -> Result<i64, DamagedSegment> {
        let mut eight = [0; 8];
        eight.copy_from_slice(self.take(8, what)?);
        Ok(i64::from_le_bytes(eight))
    }

    pub fn text(&mut self, what: &'static str) -> Result<&'a str, DamagedSegment> {
        let length = self.u32(what)? as usize;
        std::str::from_utf8(self.take(length, what)?).map_err(|_| DamagedSegment::Text { what })
    }
}

/// The `index`-th little-endian u32 of a column; 0 beyond its end.
pub fn read_u32(column: &[u8], index: usize) -> u32 {
    match column.get(index * 4..).and_then(|rest| rest.first_chunk::<4>()) {
        Some(four) => u32::from_le_bytes(*four),
        None => 0,
    }
}

/// Appends `value` in groups of seven bits, low first, high bit set on all but the last.
pub fn put_varint(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push((value as u8) | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads what `put_varint` wrote; 0 at the end of the bytes.
#[inline]
pub fn take_varint(bytes: &[u8], at: &mut usize) -> u32 {
    if let Some(&byte) = bytes.get(*at)
        && byte < 0x80
    {
        *at += 1;
        return u32::from(byte);
    }
    let mut value = 0u32;
    let mut shift = 0;
    while let Some(&byte) = bytes.get(*at) {
        *at += 1;
        value |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 || shift >= 28 {
            break;
        }
        shift += 7;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let mut packer = Packer::new(*b"TEST");
        packer.u32(7);
        packer.i64(-3);
        packer.text("cup");
        let bytes = packer.finish();
        let mut reader = Unpacker::open(&bytes, *b"TEST").expect("just written");
        assert_eq!(reader.u32("n").expect("n"), 7);
        assert_eq!(reader.i64("i").expect("i"), -3);
        assert_eq!(reader.text("t").expect("t"), "cup");
        assert!(matches!(reader.u32("more"), Err(DamagedSegment::CutOff { .. })));
    }

    #[test]
    fn a_flipped_bit_is_seen() {
        let mut packer = Packer::new(*b"TEST");
        packer.text("cup");
        let mut bytes = packer.finish();
        bytes[8] ^= 1;
        assert!(matches!(Unpacker::open(&bytes, *b"TEST"), Err(DamagedSegment::Checksum { .. })));
        assert!(matches!(Unpacker::open(&bytes, *b"ELSE"), Err(DamagedSegment::Kind { .. })));
        assert!(Unpacker::open(b"TES", *b"TEST").is_err());
    }

    #[test]
    fn varints_of_every_length_come_back() {
        let values = [0, 1, 127, 128, 16_383, 16_384, u32::MAX];
        let mut bytes = Vec::new();
        values.iter().for_each(|v| put_varint(&mut bytes, *v));
        let mut at = 0;
        assert!(values.iter().all(|v| take_varint(&bytes, &mut at) == *v));
        assert_eq!(at, bytes.len());
    }
}
