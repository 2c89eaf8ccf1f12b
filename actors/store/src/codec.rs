//! Bytes on disk: varints, length-prefixed strings, and a checksum over key and content.

/// Writes the parts of a value one after the other.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    pub fn count(&mut self, value: usize) {
        self.varint(value as u64);
    }

    pub fn bytes(&mut self, value: &[u8]) {
        self.count(value.len());
        self.0.extend_from_slice(value);
    }
}

/// Reads what a [`Writer`] wrote. `None` means cut off or malformed; it never panics.
#[derive(Clone, Copy)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A number of following items, each at least one byte long. A number that can't fit is refused before memory is
    /// allocated.
    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.varint()?).ok().filter(|&count| count <= self.0.len())
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.take(length)
    }

    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Checksum over key and content, so that a value under the wrong key is detected too.
pub fn sum(key: &[u8], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(content);
    hasher.finalize()
}

/// Puts the checksum before the content.
pub fn seal(key: &[u8], content: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(content.len() + 4);
    sealed.extend_from_slice(&sum(key, content).to_le_bytes());
    sealed.extend_from_slice(content);
    sealed
}

/// The content, if its checksum is right.
pub fn unseal<'a>(key: &[u8], sealed: &'a [u8]) -> Option<&'a [u8]> {
    let mut reader = Reader(sealed);
    let expected = reader.u32()?;
    (sum(key, reader.0) == expected).then_some(reader.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut writer = Writer::default();
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        for number in numbers {
            writer.varint(number);
        }
        writer.bytes(b"abc");
        writer.u64(7);
        let mut reader = Reader(&writer.0);
        for number in numbers {
            assert_eq!(reader.varint(), Some(number));
        }
        assert_eq!(reader.bytes(), Some(&b"abc"[..]));
        assert_eq!(reader.u64(), Some(7));
        assert!(reader.is_empty());
    }

    #[test]
    fn every_flipped_bit_and_the_wrong_key_are_seen() {
        let sealed = seal(b"key", b"content");
        assert_eq!(unseal(b"key", &sealed), Some(&b"content"[..]));
        assert_eq!(unseal(b"kez", &sealed), None);
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unseal(b"key", &flipped), None, "bit {bit}");
        }
    }

    #[test]
    fn a_cut_or_endless_varint_is_refused() {
        assert_eq!(Reader(&[0x80]).varint(), None);
        assert_eq!(Reader(&[0xff; 20]).varint(), None);
        assert_eq!(Reader(&[200, 1, 0]).count(), None);
    }
}
