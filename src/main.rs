//! The one binary.

use std::ffi::c_char;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// jemalloc reads this before anything runs: pages of the usual size, whatever the system prefers. With huge pages an
/// idle brain takes three times as much memory.
// SAFETY: the name is jemalloc's own for exactly this, and what it points to lives as long as the program.
#[allow(unsafe_code)]
#[unsafe(export_name = "_rjem_malloc_conf")]
static OPTIONS: Option<&'static c_char> = Some(unsafe { &*c"thp:never".as_ptr() });

fn main() -> std::process::ExitCode {
    maxim::cli::main()
}
