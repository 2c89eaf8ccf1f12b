//! The one binary.

/// Signals are made on one thread and dropped on another all the time, and a daemon runs for years: the system's
/// allocator is slow at the first and fragments over the second.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    maxim::cli::main()
}
