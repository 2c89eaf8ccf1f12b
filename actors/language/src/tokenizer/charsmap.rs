//! SentencePiece's map of characters, as its models carry it: a double array (Aoe 1989) of byte sequences, each with the
//! place of what it becomes in a text of NUL-ended parts.

use unicode_segmentation::UnicodeSegmentation;

/// A cluster of this many bytes or more is mapped by its characters alone.
const CLUSTER_MAX: usize = 6;

#[derive(Debug)]
pub(super) struct Charsmap {
    units: Vec<u32>,
    parts: Vec<u8>,
}

impl Charsmap {
    /// Out of its bytes; none where they are cut off or no text.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (size, rest) = bytes.split_at_checked(4)?;
        let size = usize::try_from(u32::from_le_bytes(size.try_into().ok()?)).ok()?;
        let (units, parts) = rest.split_at_checked(size)?;
        let unit = |four: &[u8]| four.try_into().ok().map(u32::from_le_bytes);
        let units = units.chunks_exact(4).map(unit).collect::<Option<Vec<u32>>>()?;
        std::str::from_utf8(parts).ok()?;
        Some(Self { units, parts: parts.to_vec() })
    }

    pub fn mapped(&self, text: &str) -> String {
        let mut mapped = String::with_capacity(text.len());
        for cluster in text.graphemes(true) {
            match self.part(cluster).filter(|_| cluster.len() < CLUSTER_MAX) {
                Some(whole) => mapped.push_str(whole),
                None => {
                    for c in cluster.chars() {
                        match self.part(c.encode_utf8(&mut [0; 4])) {
                            Some(part) => mapped.push_str(part),
                            None => mapped.push(c),
                        }
                    }
                }
            }
        }
        mapped
    }

    /// What the shortest known beginning of these bytes becomes.
    fn part(&self, key: &str) -> Option<&str> {
        let offset = |unit: u32| (unit >> 10) << ((unit & (1 << 9)) >> 6);
        let mut at = offset(*self.units.first()?);
        for byte in key.bytes().take_while(|byte| *byte != 0) {
            at ^= u32::from(byte);
            let unit = *self.units.get(at as usize)?;
            if unit & ((1 << 31) | 0xFF) != u32::from(byte) {
                return None;
            }
            at ^= offset(unit);
            if (unit >> 8) & 1 == 1 {
                let start = self.units.get(at as usize)? & ((1 << 31) - 1);
                let part = self.parts.get(start as usize..)?;
                let end = part.iter().position(|byte| *byte == 0).unwrap_or(part.len());
                return std::str::from_utf8(&part[..end]).ok();
            }
        }
        None
    }
}
