//! The one binary.

fn main() -> std::process::ExitCode {
    maxim::cli::main()
}
