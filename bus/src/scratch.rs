//! A buffer to write into before it is known how long something gets. Each thread has one, which stays where the processor
//! has it at hand: fresh memory for each of a percept's hundred signals, events and records would cost more than writing them.

use std::cell::Cell;
use std::sync::Arc;

/// A buffer that grew longer than so many bytes isn't kept.
const KEPT: usize = 64 << 10;

thread_local! {
    /// Empty between two uses, so nothing of what was written stays.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// What `write` puts into an empty buffer, as `take` takes it out. Inside of `write` another use gets a buffer of its own.
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

/// What `write` puts into an empty buffer, in as much memory as it needs.
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
