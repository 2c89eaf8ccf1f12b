# Short names for the commands of CONTRIBUTING.md. `just` prints them; just itself: https://just.systems

_default:
    @just --list --unsorted

# Start the brain: just run --listen 127.0.0.1:7800
run *ARGS:
    cargo run --release -- run {{ARGS}}

# The tests of the inner loop: just test maxim-gate autonomy
test CRATE="maxim-gate" FILTER="":
    cargo test -p {{CRATE}} --lib -- {{FILTER}}

# A whole brain in virtual time: just brain goals
brain FILTER="":
    cargo test --test brain -- {{FILTER}}

# Whether all of it compiles
check:
    cargo check --workspace --all-targets --locked

# Formatting and lints
lint:
    .ci/run lint

# Write all generated files anew: wiring, sample configuration, guide, bounds
bless:
    UPDATE_WIRING=1 cargo test --locked --test brain -- the_page_of_the_wiring
    UPDATE_SAMPLE=1 UPDATE_GUIDE=1 cargo test --locked --lib -- the_shipped_sample reference
    BOUNDS_UPDATE=1 cargo test --locked -p maxim-bus --lib -- the_document_is_the_table

# The crates' own pages; a broken link is an error
docs:
    .ci/run docs

# The whole agent: latency, throughput, start, memory and disk
bench *ARGS:
    cargo run --profile dist --locked -- sim bench {{ARGS}}

# The program that packages are made of: target/dist/maxim
dist:
    cargo build --profile dist --locked

# What every change must pass, from a clean clone
ci:
    .ci/run
