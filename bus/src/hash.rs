//! The hash of states and seeds: FNV-1a, 64 bits (Fowler, Noll, Vo). Stable over builds and machines, not cryptographic.

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

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

    /// Adds a part; its length is part of it, so that two parts never run into each other.
    #[allow(clippy::should_implement_trait)] // it adds to a running hash, and `+` would say less
    pub fn add(mut self, part: &[u8]) -> Self {
        for byte in (part.len() as u64).to_le_bytes().iter().chain(part) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
        self
    }

    pub fn get(self) -> u64 {
        self.0
    }
}
