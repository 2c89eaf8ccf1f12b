//! The allocator of the program: mimalloc. Signals are made on one thread and dropped on another all the time, and a daemon
//! runs for years: the system's allocator is slow at the first and fragments over the second.
//!
//! Asked for aligned memory, mimalloc takes a roundabout way for every size that isn't a power of two: a block of another
//! class, with room to move in. The ready-made binding asks so for everything, which was a third of what allocating cost. Any
//! block of mimalloc lies at a multiple of a word, so what needs no more than that is asked for plainly.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;

use libmimalloc_sys as mi;

/// Alignment that every block has, in bytes: the smallest class is a word, and all others are multiples of it.
const NATURAL: usize = size_of::<usize>();

/// mimalloc as the program's allocator.
pub struct Mimalloc;

// SAFETY: the contract of `GlobalAlloc` is that of these functions: a block of at least the size, at a multiple of the
// alignment, or null; `mi_free` takes back what any of them gave.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Mimalloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = match layout.align() <= NATURAL {
            true => unsafe { mi::mi_malloc(layout.size()) },
            false => unsafe { mi::mi_malloc_aligned(layout.size(), layout.align()) },
        };
        block.cast()
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = match layout.align() <= NATURAL {
            true => unsafe { mi::mi_zalloc(layout.size()) },
            false => unsafe { mi::mi_zalloc_aligned(layout.size(), layout.align()) },
        };
        block.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        unsafe { mi::mi_free(block.cast::<c_void>()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let block = block.cast::<c_void>();
        let moved = match layout.align() <= NATURAL {
            true => unsafe { mi::mi_realloc(block, size) },
            false => unsafe { mi::mi_realloc_aligned(block, size, layout.align()) },
        };
        moved.cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of all small sizes and alignments, grown and shrunk, overlap nobody and lie where they should.
    #[test]
    #[allow(unsafe_code)]
    fn blocks_are_aligned_and_keep_what_is_in_them() {
        let mut held = Vec::new();
        for align in [1, 2, 4, 8, 16, 64] {
            for size in (1..600).step_by(7) {
                let layout = Layout::from_size_align(size, align).expect("a layout");
                // SAFETY: the size isn't zero, and every block is freed below by the layout that it has then.
                let block = unsafe { Mimalloc.alloc_zeroed(layout) };
                assert!(!block.is_null() && block.addr().is_multiple_of(align), "{size} at {align}");
                let is_zero = (0..size).all(|at| unsafe { block.add(at).read() } == 0);
                assert!(is_zero, "{size} at {align}");
                unsafe { block.write_bytes(size.to_le_bytes()[0], size) };
                held.push((block, layout));
            }
        }
        for (block, layout) in held {
            let (mark, size) = (layout.size().to_le_bytes()[0], layout.size() * 3);
            let grown = unsafe { Mimalloc.realloc(block, layout, size) };
            assert!(!grown.is_null() && grown.addr().is_multiple_of(layout.align()));
            let is_kept = (0..layout.size()).all(|at| unsafe { grown.add(at).read() } == mark);
            assert!(is_kept, "{layout:?}");
            unsafe { Mimalloc.dealloc(grown, Layout::from_size_align(size, layout.align()).expect("a layout")) };
        }
    }
}
