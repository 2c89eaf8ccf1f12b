//! The hash of states and seeds: FNV-1a, 64 bits (Fowler, Noll, Vo), and a faster one for long inputs. The same on
//! all machines; not cryptographic.

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The multiplier of the folded multiplication: odd, with well spread bits (2⁶⁴ divided by the golden ratio).
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A running hash. Equal inputs in equal order give equal hashes on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StableHash(u64);

impl Default for StableHash {
    fn default() -> Self {
        Self(OFFSET)
    }
}

impl StableHash {
    pub fn resume(from: u64) -> Self {
        Self(from)
    }

    /// Adds a part and its length, so that two parts never run together.
    #[allow(clippy::should_implement_trait)] // it adds to a running hash, and `+` would say less
    pub fn add(mut self, part: &[u8]) -> Self {
        for byte in (part.len() as u64).to_le_bytes().iter().chain(part) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
        self
    }

    /// For long inputs: eight bytes at a time, by another method than [`StableHash::add`] (folded multiplication,
    /// after Yi's wyhash). The method may change with the version.
    pub fn add_long(mut self, part: &[u8]) -> Self {
        let mut words = part.chunks_exact(8);
        let mut add = |word: u64| {
            let wide = u128::from(self.0 ^ word) * u128::from(MULTIPLIER);
            self.0 = (wide >> 64) as u64 ^ wide as u64 ^ word.rotate_left(32);
        };
        add(part.len() as u64);
        for word in words.by_ref() {
            add(u64::from_le_bytes(word.try_into().unwrap_or_default()));
        }
        let mut last = [0; 8];
        last[..words.remainder().len()].copy_from_slice(words.remainder());
        add(u64::from_le_bytes(last));
        self
    }

    pub fn get(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_its_place_and_its_part_count() {
        let whole: Vec<u8> = (0..37).collect();
        for add in [StableHash::add, StableHash::add_long] {
            let hash = |parts: &[&[u8]]| parts.iter().fold(StableHash::default(), |hash, part| add(hash, part)).get();
            let mut seen = std::collections::BTreeSet::from([hash(&[&whole]), hash(&[]), hash(&[b""]), hash(&[b"\0"])]);
            assert_eq!(seen.len(), 4);
            for at in 0..whole.len() {
                let mut other = whole.clone();
                other[at] ^= 1;
                assert!(seen.insert(hash(&[&other])), "byte {at} counts");
                assert!(seen.insert(hash(&[&whole[..at], &whole[at..]])), "two parts cut at {at} are others than one");
            }
        }
    }
}
