//! Wrong tokens. Each one is answered later than the one before it. While a peer owes such a wait, its further wrong
//! tokens are refused at once. The peer owes the wait, not the connection: hanging up doesn't shorten it. A right token
//! never waits, because it is compared first. So what protects the token is its length. This module limits what
//! guessing costs the daemon, and logs it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use maxim_bus::clock::Stopwatch;
use parking_lot::Mutex;

use super::Problem;

/// How long the first wrong token of a peer waits for its answer; each further one waits twice as long.
const FIRST: Duration = Duration::from_millis(50);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(5);
/// After this time without a wrong token, a peer's count starts again at zero.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// Peers that are remembered, at most. If there are more, the peer whose last wrong token is oldest is
/// dropped.
const PEERS: usize = 1024;
/// Answers of all peers that may wait at a time. Beyond that, a wrong token is refused at once.
const WAITING: usize = 512;
/// Interval of log lines: this for one peer, and [`LINES_APART`] for all.
const PEER_LINES_APART: Duration = Duration::from_secs(10);
const LINES_APART: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct Guesser {
    /// Wrong tokens that got their answer, or wait for it.
    judged: u32,
    /// All wrong tokens, also those that were refused at once.
    shown: u32,
    last: Duration,
    /// Until then further ones are refused at once.
    owes_until: Duration,
    /// When it was logged last.
    logged: Option<Duration>,
}

/// The result for a wrong token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Noted {
    /// `Ok`: how long its answer waits. `Err`: how long the peer still owes.
    wait: Result<Duration, Duration>,
    /// If a line is due: the peer's wrong tokens, and those of others that were not logged.
    told: Option<(u32, u32)>,
}

#[derive(Default)]
struct Table {
    peers: BTreeMap<IpAddr, Guesser>,
    logged: Option<Duration>,
    /// Wrong tokens since the last line.
    untold: u32,
}

impl Table {
    fn note(&mut self, peer: IpAddr, now: Duration) -> Noted {
        let is_over = |last: Duration, time: Duration| now.saturating_sub(last) >= time;
        if self.peers.len() >= PEERS && !self.peers.contains_key(&peer) {
            self.peers.retain(|_, guesser| !is_over(guesser.last, FORGOTTEN));
            if self.peers.len() >= PEERS
                && let Some(oldest) = self.peers.iter().min_by_key(|(_, guesser)| guesser.last).map(|(peer, _)| *peer)
            {
                self.peers.remove(&oldest);
            }
        }
        let new = Guesser { judged: 0, shown: 0, last: now, owes_until: now, logged: None };
        let guesser = self.peers.entry(peer).or_insert(new);
        if is_over(guesser.last, FORGOTTEN) {
            (guesser.judged, guesser.shown) = (0, 0);
        }
        let wait = match guesser.owes_until.checked_sub(now).filter(|owed| !owed.is_zero()) {
            Some(owed) => Err(owed),
            None => {
                let doubled = 1u32.checked_shl(guesser.judged.min(16)).unwrap_or(u32::MAX);
                let wait = FIRST.saturating_mul(doubled).min(LONGEST);
                guesser.judged = guesser.judged.saturating_add(1);
                guesser.owes_until = now + wait;
                Ok(wait)
            }
        };
        guesser.shown = guesser.shown.saturating_add(1);
        guesser.last = now;
        let is_due = guesser.logged.is_none_or(|last| is_over(last, PEER_LINES_APART))
            && self.logged.is_none_or(|last| is_over(last, LINES_APART));
        if !is_due {
            self.untold = self.untold.saturating_add(1);
            return Noted { wait, told: None };
        }
        (guesser.logged, self.logged) = (Some(now), Some(now));
        Noted { wait, told: Some((guesser.shown, std::mem::take(&mut self.untold))) }
    }
}

/// One machine, as far as an address shows it: an IPv6 network counts as one machine.
fn machine(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            Ipv6Addr::from(u128::from(address) & !u128::from(u64::MAX)).into()
        }
        // All of its addresses are this machine.
        address if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        address => address,
    }
}

/// The guesses at one door.
pub struct Guesses {
    table: Mutex<Table>,
    waiting: AtomicUsize,
    watch: Stopwatch,
}

impl Default for Guesses {
    fn default() -> Self {
        Self { table: Mutex::default(), waiting: AtomicUsize::new(0), watch: Stopwatch::start() }
    }
}

/// An answer that waits; ends with its connection.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Guesses {
    /// Notes a wrong token, and waits as long as its peer owes.
    ///
    /// # Errors
    /// The peer still owes an earlier wait, or too many wait already.
    pub async fn slow(&self, peer: Option<IpAddr>) -> Result<(), Problem> {
        let peer = machine(peer.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED)));
        let noted = self.table.lock().note(peer, self.watch.elapsed());
        if let Some((wrong, untold)) = noted.told {
            tracing::warn!(%peer, wrong, untold, "a wrong token was shown to the HTTP door");
        }
        let wait = noted.wait.map_err(later)?;
        let waiting = Waiting(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::SeqCst) >= WAITING {
            return Err(later(LONGEST));
        }
        tokio::time::sleep(wait).await;
        drop(waiting);
        Ok(())
    }

    /// Wrong tokens that were not refused at once.
    #[cfg(test)]
    pub fn judged(&self) -> u32 {
        self.table.lock().peers.values().map(|guesser| guesser.judged).sum()
    }

    /// How many answers wait.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }
}

fn later(wait: Duration) -> Problem {
    let found = "the token is wrong, and so were others from this address shortly before";
    let fix = "show what `maxim token` prints: the right token never waits";
    let mut problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, found, fix);
    problem.retry_after = Some(u32::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u32::MAX));
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u32) -> IpAddr {
        std::net::Ipv4Addr::from(number).into()
    }

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn the_wait_grows_with_each_up_to_a_bound_and_the_peer_owes_it_whether_it_waits_or_not() {
        let mut table = Table::default();
        let (mut now, mut waits) = (ms(0), Vec::new());
        for _ in 0..10 {
            let wait = table.note(peer(1), now).wait.expect("it owes nothing");
            // It hangs up at once, and shows a thousand more.
            for part in 0..1000 {
                let owed = table.note(peer(1), now + wait * part / 1000).wait.expect_err("it owes a wait");
                assert_eq!(owed, wait - wait * part / 1000);
            }
            now += wait;
            waits.push(wait.as_millis());
        }
        assert_eq!(waits, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
        assert_eq!(table.note(peer(2), ms(0)).wait, Ok(FIRST), "each peer by itself");
        let last = table.peers[&peer(1)].last;
        assert_eq!(table.note(peer(1), last + ms(599_999)).wait, Ok(LONGEST));
        assert_eq!(table.note(peer(1), last + ms(599_999 + 600_000)).wait, Ok(FIRST));
    }

    #[test]
    fn what_is_remembered_and_logged_is_bounded() {
        let mut table = Table::default();
        let lines = (0..100_000).filter(|number| table.note(peer(*number), ms(1)).told.is_some()).count();
        assert_eq!((table.peers.len(), lines), (PEERS, 1));
        assert_eq!(table.note(peer(7), ms(1001)).told, Some((1, 99_999)), "all are counted");
        // One peer over an hour, ten times a second.
        let mut table = Table::default();
        let lines = (0..36_000).filter(|number| table.note(peer(1), ms(number * 100)).told.is_some()).count();
        assert_eq!(lines, 360);
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer() {
        let of = |text: &str| machine(text.parse().expect("an address"));
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2::1"));
        assert_ne!(of("2001:db8:1:3::1"), of("2001:db8:1:2::1"));
        assert_eq!(of("::ffff:127.0.0.1"), of("127.0.0.1"));
        assert_ne!(of("::1"), of("::2"));
        for own in ["127.0.0.2", "127.255.1.9", "::1", "::ffff:127.3.4.5"] {
            assert_eq!(of(own), of("127.0.0.1"), "{own}");
        }
        assert_ne!(of("128.0.0.1"), of("127.0.0.1"));
    }
}
