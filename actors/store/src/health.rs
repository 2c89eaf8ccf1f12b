//! The state of the store, in figures.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use maxim_bus::clock::monotonic_micros;
use parking_lot::Mutex;

use super::shared::Shared;

/// After a longer write the disk counts as not answering.
const SILENT: Duration = Duration::from_millis(900);

/// Whether accepted data reaches the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreStatus {
    Ok,
    Degraded { reason: String },
}

#[derive(Clone, Debug)]
pub struct StoreHealth {
    pub status: StoreStatus,
    pub engine: &'static str,
    /// Of the engine and the pack, without holes.
    pub bytes_on_disk: u64,
    /// Of the journal, the roots and the sealed records that are still needed.
    pub live_bytes: u64,
    /// Batches made durable since the store was opened.
    pub commits: u64,
    /// Writes that failed since the store was opened.
    pub failures: u64,
    /// Bytes that are accepted and not yet on disk.
    pub waiting_bytes: u64,
    /// A read met a bad checksum. The next start, or a repair, checks everything.
    pub damage_seen: bool,
    /// Compactions since the store was opened.
    pub compactions: u64,
    /// Why the last compaction failed, if it did.
    pub compaction_failed: Option<String>,
    pub latency: Latency,
}

/// How long batches took to reach the disk.
#[derive(Clone, Debug)]
pub struct Latency {
    /// Upper bound in microseconds and number of batches, ascending, without empty buckets.
    pub histogram: Vec<(u64, u64)>,
    pub p50_us: u64,
    pub p99_us: u64,
}

/// Four buckets for each doubling.
const BUCKETS: usize = 128;

pub struct Counters {
    commits: AtomicU64,
    failures: AtomicU64,
    /// When the present write began; 0 when there is none.
    writing_since: AtomicU64,
    /// Bytes on disk when the store was opened; after a compaction, the bytes after it.
    opened_with: AtomicU64,
    compacted_to: AtomicU64,
    compactions: AtomicU64,
    compaction_failed: Mutex<Option<String>>,
    took: Mutex<[u64; BUCKETS]>,
}

impl Default for Counters {
    fn default() -> Self {
        let zero = AtomicU64::default;
        Self {
            commits: zero(),
            failures: zero(),
            writing_since: zero(),
            opened_with: zero(),
            compacted_to: zero(),
            compactions: zero(),
            compaction_failed: Mutex::default(),
            took: Mutex::new([0; BUCKETS]),
        }
    }
}

fn bucket(us: u64) -> usize {
    let us = us.max(4);
    let doubling = us.ilog2();
    let quarter = (us >> (doubling - 2)) & 3;
    (doubling as usize * 4 + quarter as usize).min(BUCKETS - 1)
}

fn upper_bound(bucket: usize) -> u64 {
    let (doubling, quarter) = (bucket / 4, bucket as u64 % 4);
    (1u64 << doubling).saturating_add((quarter + 1) << doubling.saturating_sub(2))
}

impl Counters {
    pub fn begin(&self) {
        self.writing_since.store(monotonic_micros().max(1), Ordering::Release);
    }

    pub fn committed(&self, took: Duration) {
        self.writing_since.store(0, Ordering::Release);
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.took.lock()[bucket(u64::try_from(took.as_micros()).unwrap_or(u64::MAX))] += 1;
    }

    pub fn opened(&self, bytes: u64) {
        self.opened_with.store(bytes, Ordering::Relaxed);
    }

    /// Bytes on disk when it was opened, or after a later compaction.
    pub fn held_before(&self) -> u64 {
        match self.left_by_compaction() {
            0 => self.opened_with.load(Ordering::Relaxed),
            left => left,
        }
    }

    pub fn compacted(&self, left: u64) {
        self.compacted_to.store(left, Ordering::Relaxed);
        self.compactions.fetch_add(1, Ordering::Relaxed);
        *self.compaction_failed.lock() = None;
    }

    pub fn compaction_failed(&self, why: String) {
        *self.compaction_failed.lock() = Some(why);
    }

    pub fn left_by_compaction(&self) -> u64 {
        self.compacted_to.load(Ordering::Relaxed)
    }

    pub fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    fn silent_for(&self) -> Option<Duration> {
        let since = self.writing_since.load(Ordering::Acquire);
        let silent = Duration::from_micros(monotonic_micros().saturating_sub(since));
        (since > 0 && silent > SILENT).then_some(silent)
    }

    fn latency(&self) -> Latency {
        let took = *self.took.lock();
        let histogram: Vec<_> =
            (0..BUCKETS).map(|i| (upper_bound(i), took[i])).filter(|(_, count)| *count > 0).collect();
        let all: u64 = took.iter().sum();
        let quantile = |part: u64| {
            let mut seen = 0;
            let found = histogram.iter().find(|(_, count)| {
                seen += count;
                seen * 100 >= all * part
            });
            found.map_or(0, |(bound, _)| *bound)
        };
        Latency { p50_us: quantile(50), p99_us: quantile(99), histogram }
    }
}

impl Shared {
    pub fn health(&self) -> StoreHealth {
        let silent =
            self.counters.silent_for().map(|time| format!("the disk has not answered for {} ms", time.as_millis()));
        let trouble = self.trouble.get().map(|trouble| trouble.to_string());
        let gone = || self.check_in_place().err().map(|gone| gone.to_string());
        let status = match trouble.or(silent).or_else(gone) {
            Some(reason) => StoreStatus::Degraded { reason },
            None => StoreStatus::Ok,
        };
        let waiting = self.all_agents().iter().map(|agent| agent.state.lock().waiting_bytes as u64).sum();
        StoreHealth {
            status,
            engine: self.backing().map_or(if self.in_memory { "memory" } else { "none" }, |engine| engine.name()),
            bytes_on_disk: self.bytes_on_disk(),
            live_bytes: self.live_bytes(),
            commits: self.counters.commits.load(Ordering::Relaxed),
            failures: self.counters.failures.load(Ordering::Relaxed),
            waiting_bytes: waiting,
            damage_seen: self.has_damage(),
            compactions: self.counters.compactions.load(Ordering::Relaxed),
            compaction_failed: self.counters.compaction_failed.lock().clone(),
            latency: self.counters.latency(),
        }
    }

    pub fn bytes_on_disk(&self) -> u64 {
        let engine = self.backing().map_or(0, |engine| engine.size_on_disk());
        engine + self.pack().map_or(0, |pack| pack.size_on_disk())
    }

    pub fn live_bytes(&self) -> u64 {
        let mut live = 0;
        for agent in self.everybody() {
            live += agent.state.lock().regions.values().map(|region| region.records.sealed.bytes()).sum::<u64>();
            // The committer locks it while it encodes, which is short; the figure may wait for that.
            let on_disk = agent.on_disk.lock();
            live += on_disk.frame_bytes as u64;
            live += on_disk.regions.values().flat_map(|region| region.slots).map(|slot| slot.bytes as u64).sum::<u64>();
        }
        live
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_falls_into_the_bucket_that_bounds_it() {
        for us in [4, 5, 7, 8, 100, 999, 1_000_000, 77_777_777] {
            let bound = upper_bound(bucket(us));
            assert!(bound > us && bound <= us + us / 2 + 4, "{us} under {bound}");
        }
    }

    #[test]
    fn quantiles_come_from_the_counts() {
        let counters = Counters::default();
        for _ in 0..99 {
            counters.committed(Duration::from_micros(200));
        }
        counters.committed(Duration::from_millis(50));
        let latency = counters.latency();
        assert!(latency.p50_us >= 200 && latency.p50_us <= 256, "{latency:?}");
        assert!(latency.p99_us <= 256);
        assert_eq!(latency.histogram.iter().map(|(_, count)| count).sum::<u64>(), 100);
    }
}
