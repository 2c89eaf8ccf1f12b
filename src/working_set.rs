//! Returns unused memory to the system.

use std::ffi::c_void;
use std::fs;
use std::ptr::null_mut;
use std::time::Duration;

use rustix::mm::{Advice, madvise};

/// How often a call of [`tidy`] pays off.
pub const TIDY_EVERY: Duration = Duration::from_secs(10);

/// A stretch of addresses that is mapped from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping {
    start: usize,
    end: usize,
}

impl Mapping {
    /// The private mapping around an address that nobody can write to, if there is one. `None` also without `/proc`.
    fn around(address: usize) -> Option<Self> {
        let maps = fs::read_to_string("/proc/self/maps").ok()?;
        maps.lines().find_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let (start, end) = fields.next()?.split_once('-')?;
            let [start, end] = [start, end].map(|text| usize::from_str_radix(text, 16).ok());
            let mapping = Self { start: start?, end: end? };
            let rights = fields.next()?;
            let is_read_only = rights.starts_with('r') && !rights.contains('w') && rights.ends_with('p');
            (is_read_only && (mapping.start..mapping.end).contains(&address)).then_some(mapping)
        })
    }

    fn let_go(self) -> Option<()> {
        let start = std::ptr::with_exposed_provenance_mut::<c_void>(self.start);
        // SAFETY: the program's code and constants are mapped privately and read-only. What the loader relocates is in
        // mappings of its own. So these pages are equal to the file, and the next access reads them from it again.
        #[allow(unsafe_code)]
        let done = unsafe { madvise(start, self.end - self.start, Advice::LinuxDontNeed) };
        done.ok()
    }
}

/// Returns freed memory. Code and constants that were used until now count as resident memory until they are used
/// again, and an idle daemon needs few of those that its start used. They stay in the kernel's file cache, so using
/// them again reads no disk. Where this isn't possible, nothing happens.
pub fn let_go_of_start() {
    let _ = code().and_then(Mapping::let_go);
    let _ = constants().and_then(Mapping::let_go);
    collect(true);
}

/// Returns memory that was freed a while ago. The allocator only does so while it works, so memory stays where a busy
/// thread falls silent.
pub fn tidy() {
    collect(false);
}

/// `all`: also memory that was freed just now.
fn collect(all: bool) {
    // 4096 are all arenas (MALLCTL_ARENAS_ALL).
    let name = if all { c"arena.4096.purge" } else { c"arena.4096.decay" };
    // SAFETY: the name is that of a command that takes and gives nothing; it may be called by any thread at any time, also
    // where another allocator is in use.
    #[allow(unsafe_code)]
    unsafe {
        tikv_jemalloc_sys::mallctl(name.as_ptr(), null_mut(), null_mut(), null_mut(), 0);
    }
}

fn code() -> Option<Mapping> {
    Mapping::around((let_go_of_start as fn() as *const ()).expose_provenance())
}

fn constants() -> Option<Mapping> {
    Mapping::around(env!("CARGO_PKG_VERSION").as_ptr().expose_provenance())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident_kib(mapping: Mapping) -> u64 {
        let maps = fs::read_to_string("/proc/self/smaps").expect("it is there");
        let mut lines = maps.lines().skip_while(|line| !line.starts_with(&format!("{:x}-", mapping.start)));
        let line = lines.find_map(|line| line.strip_prefix("Rss:")).expect("a line of it");
        line.trim().trim_end_matches("kB").trim().parse().expect("a number")
    }

    #[test]
    fn code_that_was_run_and_constants_that_were_read_are_no_longer_resident_and_still_there() {
        let table = maxim_actors::language::TokenTable::embedded();
        let words = ["cup", "kitchen", "repository", "parliament", "river", "seven"];
        let embed = || words.map(|word| maxim_actors::language::Encoder::embed(&table, word));
        let before = embed();
        let mappings = [code().expect("it runs"), constants().expect("it has a version")];
        assert_ne!(mappings[0], mappings[1]);
        let sum = || mappings.map(resident_kib).iter().sum::<u64>();
        let resident = sum();
        let_go_of_start();
        let resident_then = sum();
        assert!(resident_then < resident, "{resident} to {resident_then} KiB");
        assert_eq!(embed(), before);
    }
}
