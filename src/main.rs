//! The one binary.

#[global_allocator]
static ALLOCATOR: maxim::allocator::Mimalloc = maxim::allocator::Mimalloc;

fn main() -> std::process::ExitCode {
    maxim::cli::main()
}
