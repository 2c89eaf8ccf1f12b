//! A buffer for writing data of unknown length. Each thread has one, which stays in the processor's cache. Fresh
//! memory for a percept's hundred signals, events and records would cost more than writing them.

use std::cell::Cell;
use std::sync::Arc;

/// A buffer that grew beyond this size is dropped, in bytes.
const KEPT: usize = 64 << 10;

thread_local! {
    /// Empty between two uses, so no written data stays in it.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Runs `write` on an empty buffer and `take` on what it wrote. A nested use inside `write` gets its own buffer.
pub fn through<T>(write: impl FnOnce(&mut Vec<u8>), take: impl FnOnce(&[u8]) -> T) -> T {
    let mut buffer = BUFFER.take();
    write(&mut buffer);
    let taken = take(&buffer);
    if buffer.capacity() <= KEPT {
        buffer.clear();
        BUFFER.set(buffer);
    }
    taken
}

/// What `write` puts into an empty buffer, in an allocation of exactly its size.
pub fn shared(write: impl FnOnce(&mut Vec<u8>)) -> Arc<[u8]> {
    through(write, |bytes| bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_use_begins_empty_also_inside_of_another_and_after_a_long_one() {
        let long = shared(|out| out.resize(4 * KEPT, 7));
        assert_eq!(long.len(), 4 * KEPT);
        let inner = |out: &mut Vec<u8>| out.extend_from_slice(&shared(|out| out.extend_from_slice(b"inner")));
        for _ in 0..2 {
            let outer = shared(|out| {
                out.extend_from_slice(b"outer ");
                inner(out);
            });
            assert_eq!(&*outer, b"outer inner");
        }
        assert_eq!(through(|_| (), |bytes| bytes.len()), 0);
    }
}
