//! Wrong tokens: each is answered later than the one before it, by peer, and logged. A right one is never waited with,
//! whoever guesses at the same time and from wherever: it is compared first. So what bounds guessing is how many
//! connections a peer may have, and how long each of them waits for its answer.

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
/// A peer that has shown none for so long begins anew.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// Peers that are remembered; the one that was heard of longest ago goes.
const PEERS: usize = 1024;
/// Answers that wait at a time, of all peers; beyond them a wrong token is refused at once.
const WAITING: usize = 512;
/// Lines of the log: one in so long for a peer, and one in [`LINES_APART`] for all.
const PEER_LINES_APART: Duration = Duration::from_secs(10);
const LINES_APART: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct Guesser {
    wrong: u32,
    last: Duration,
    /// When it was logged last.
    logged: Option<Duration>,
}

/// What comes of a wrong token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Noted {
    wait: Duration,
    /// How many the peer has shown, where that is to be logged, and how many of others weren't.
    told: Option<(u32, u32)>,
}

#[derive(Default)]
struct Table {
    peers: BTreeMap<IpAddr, Guesser>,
    logged: Option<Duration>,
    /// Since the last line.
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
        let guesser = self.peers.entry(peer).or_insert(Guesser { wrong: 0, last: now, logged: None });
        if is_over(guesser.last, FORGOTTEN) {
            guesser.wrong = 0;
        }
        let wait = FIRST.saturating_mul(1u32.checked_shl(guesser.wrong.min(16)).unwrap_or(u32::MAX)).min(LONGEST);
        guesser.wrong = guesser.wrong.saturating_add(1);
        guesser.last = now;
        let is_due = guesser.logged.is_none_or(|last| is_over(last, PEER_LINES_APART))
            && self.logged.is_none_or(|last| is_over(last, LINES_APART));
        if !is_due {
            self.untold = self.untold.saturating_add(1);
            return Noted { wait, told: None };
        }
        (guesser.logged, self.logged) = (Some(now), Some(now));
        Noted { wait, told: Some((guesser.wrong, std::mem::take(&mut self.untold))) }
    }
}

/// One machine, as far as an address tells: of IPv6 a whole network belongs to one.
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

/// One that waits; ends with its connection.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Guesses {
    /// Notes a wrong token, and waits as long as its peer has deserved.
    ///
    /// # Errors
    /// Too many wait already.
    pub async fn slow(&self, peer: Option<IpAddr>) -> Result<(), Problem> {
        let peer = machine(peer.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED)));
        let noted = self.table.lock().note(peer, self.watch.elapsed());
        if let Some((wrong, untold)) = noted.told {
            tracing::warn!(%peer, wrong, untold, "a wrong token was shown to the HTTP door");
        }
        let waiting = Waiting(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::SeqCst) >= WAITING {
            let found = "too many wrong tokens were shown";
            let mut problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, found, "show the right one, or wait");
            problem.retry_after = Some(LONGEST.as_secs() as u32);
            return Err(problem);
        }
        tokio::time::sleep(noted.wait).await;
        drop(waiting);
        Ok(())
    }

    /// How many wait.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }
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
    fn the_wait_grows_with_each_up_to_a_bound_for_each_peer_by_itself() {
        let mut table = Table::default();
        let waits: Vec<u64> =
            (0..10).map(|_| table.note(peer(1), ms(0)).wait.as_millis().try_into().expect("short")).collect();
        assert_eq!(waits, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
        (0..100).for_each(|_| assert!(table.note(peer(1), ms(0)).wait == LONGEST));
        assert_eq!(table.note(peer(2), ms(0)).wait, FIRST);
        assert_eq!(table.note(peer(1), ms(599_999)).wait, LONGEST);
        assert_eq!(table.note(peer(1), ms(599_999 + 600_000)).wait, FIRST);
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
