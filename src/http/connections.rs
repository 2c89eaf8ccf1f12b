//! Connections and their limits. Every newcomer is admitted, so that a stop always gets in; another connection makes
//! place.
//!
//! A connection without a complete request has nothing to lose. The one that has waited longest is closed first. If all
//! are working on a request, newcomers get one of a few reserve places, for stop, status and health only. A stop that
//! is being read or answered is not closed for another connection before its time is over.
//!
//! A young connection may still become a stop: it has sent the beginning of one, or nothing yet. Such connections make
//! place last. Even then they are not closed but shed: they no longer count, and may only become a stop.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use maxim_bus::bounds::{CONNECTIONS, PEER_CONNECTIONS, PEER_SOCKETS, RESERVE, SHED, SOCKETS, WRITE_PAUSE};
use maxim_bus::clock::monotonic_micros;
use parking_lot::Mutex;
use rustix::process::{Resource, getrlimit};
use tokio::sync::Notify;

use super::Problem;

/// How long a stop may take to be read, and the same again to be answered, before its connection may be closed for
/// another. In microseconds. Its body is one line.
const STOP_TIME: u64 = 3_000_000;
/// How long a connection may take to become a stop: microseconds.
const YOUTH: u64 = 5_000_000;
/// How the head of a stop begins.
const STOP_HEAD: &[u8] = b"POST /v1/stop";
/// The value of `head` for bytes that are not those of a stop.
const NO_STOP: u8 = u8::MAX;
/// The value of `head` after an answer, while nothing new has come. The client expects that the connection may be
/// closed.
const IDLE: u8 = NO_STOP - 1;
/// The value of `head` when the unread bytes begin like a stop.
const SEEN: u8 = NO_STOP - 2;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// No complete head of a request has come, or the last request is answered.
    Waiting,
    /// A body is on its way.
    Reading,
    /// A complete request is being worked on, or its answer is being sent.
    Busy,
}

/// One connection.
pub(super) struct Connection {
    peer: IpAddr,
    pub is_reserve: bool,
    phase: AtomicU8,
    /// Its last request is a stop, and was not refused.
    is_stop: AtomicBool,
    /// How many bytes of [`STOP_HEAD`] have come as the next request's head; or [`NO_STOP`], [`IDLE`] or [`SEEN`].
    head: AtomicU8,
    /// It has made place for another, and may only become a stop.
    is_shed: AtomicBool,
    /// Monotonic time in microseconds when its present state began.
    since: AtomicU64,
    /// Monotonic time in microseconds since when its reader accepts nothing; 0 while it accepts data.
    stalled: AtomicU64,
    /// Notified when the connection has to end.
    pub end: Notify,
    all: Arc<Connections>,
}

/// The limits of connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub connections: usize,
    pub of_peer: usize,
    pub reserve: usize,
    pub shed: usize,
    pub sockets: usize,
    pub sockets_of_peer: usize,
}

impl Room {
    /// The limits of the table of bounds. They are lower where this process may open few files, of which half are for
    /// its other work.
    pub fn of_this_process() -> Self {
        Self::within(getrlimit(Resource::Nofile).current)
    }

    fn within(files: Option<u64>) -> Self {
        let files = files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
        let connections = CONNECTIONS.limit.min(files / 2).max(8);
        let share = |limit: usize| (limit * connections / CONNECTIONS.limit).max(4);
        Self {
            connections,
            of_peer: share(PEER_CONNECTIONS.limit),
            reserve: share(RESERVE.limit),
            shed: share(SHED.limit),
            sockets: share(SOCKETS.limit),
            sockets_of_peer: share(PEER_SOCKETS.limit),
        }
    }
}

/// All connections of one door.
pub(super) struct Connections {
    room: Room,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    next: u64,
    /// By their numbers, which grow.
    all: BTreeMap<u64, Arc<Connection>>,
    sockets: BTreeMap<IpAddr, usize>,
}

/// A place among the connections, until it is dropped.
pub(super) struct Place {
    number: u64,
    pub connection: Arc<Connection>,
}

/// A place among the WebSockets, until it is dropped.
pub(super) struct SocketPlace {
    peer: IpAddr,
    all: Arc<Connections>,
}

impl Connections {
    pub fn new(room: Room) -> Arc<Self> {
        Arc::new(Self { room, known: Mutex::default() })
    }

    /// Admits a newcomer. A connection that has to end for it is notified.
    pub fn admit(self: &Arc<Self>, peer: IpAddr) -> Place {
        let mut known = self.known.lock();
        let peer = one_of_its_network(peer);
        let count = |fits: &dyn Fn(&Connection) -> bool| known.all.values().filter(|one| fits(one)).count();
        let of_peer = count(&|one| one.peer == peer && one.is_ordinary());
        let ordinary = count(&|one| one.is_ordinary());
        let (now, everybody) = (monotonic_micros(), ordinary >= self.room.connections);
        let is_full = everybody || of_peer >= self.room.of_peer;
        // An address that has reached its limit makes place among its own connections.
        let victim =
            if is_full { known.oldest(now, |one| one.is_ordinary() && (everybody || one.peer == peer)) } else { None };
        let is_reserve = is_full && victim.is_none();
        let reserve = count(&|one| one.is_reserve && !one.is_shed());
        if is_reserve && reserve >= self.room.reserve {
            // The reserve may double for stops that are still being answered. By then, each of these stops has taken
            // effect.
            let may_grow = reserve < self.room.reserve * 2;
            let victim = known.least_of_reserve(now, may_grow);
            known.make_place(victim, now, self.room.shed);
        }
        known.make_place(victim, now, self.room.shed);
        let connection = Arc::new(Connection {
            peer,
            is_reserve,
            phase: AtomicU8::new(Phase::Waiting as u8),
            is_stop: AtomicBool::new(false),
            head: AtomicU8::new(0),
            is_shed: AtomicBool::new(false),
            since: AtomicU64::new(now),
            stalled: AtomicU64::new(0),
            end: Notify::new(),
            all: Arc::clone(self),
        });
        let number = known.next;
        known.next += 1;
        known.all.insert(number, Arc::clone(&connection));
        Place { number, connection }
    }

    /// Closes the oldest connection that has nothing to lose, because no file handle is left for the next one.
    pub fn make_place(&self) {
        let (mut known, now) = (self.known.lock(), monotonic_micros());
        let oldest = known.oldest(now, Connection::is_shed).or_else(|| known.oldest(now, |_| true));
        known.let_go(oldest);
    }
}

impl Known {
    /// Chooses the connection that makes place: the least likely to become a stop, and of these the oldest.
    fn oldest(&self, now: u64, fits: impl Fn(&Connection) -> bool) -> Option<u64> {
        let idle = self.all.iter().filter(|(_, one)| fits(one) && one.has_nothing_to_lose(now));
        let rank = |one: &Connection| (one.prospect(now), one.since.load(Ordering::Relaxed));
        idle.min_by_key(|(number, one)| (rank(one), **number)).map(|(number, _)| *number)
    }

    /// Chooses in the same way within the reserve, where also requests other than stops make place. With `spares_stops`
    /// the result is `None` if all the others are stops.
    fn least_of_reserve(&self, now: u64, spares_stops: bool) -> Option<u64> {
        let all = self.all.iter().filter(|(_, one)| one.is_reserve && !one.is_shed());
        let all = all.map(|(number, one)| (one.prospect(now), *number));
        all.filter(|(prospect, _)| *prospect < Prospect::Stop || !spares_stops).min().map(|(_, number)| number)
    }

    /// Lets this connection make place for another. If it may still become a stop, it stays open, without a place.
    fn make_place(&mut self, number: Option<u64>, now: u64, room: usize) {
        let may_stop = |one: &Arc<Connection>| (Prospect::Silent..Prospect::Stop).contains(&one.prospect(now));
        let Some(connection) = number.and_then(|number| self.all.get(&number)).filter(|one| may_stop(one)) else {
            return self.let_go(number);
        };
        connection.is_shed.store(true, Ordering::Relaxed);
        let mut shed: Vec<(Prospect, u64, u64)> = self
            .all
            .iter()
            .filter(|(_, one)| one.is_shed())
            .map(|(number, one)| (one.prospect(now), one.since.load(Ordering::Relaxed), *number))
            .collect();
        shed.sort_unstable();
        let over = shed.len().saturating_sub(room);
        for (at, (prospect, _, number)) in shed.into_iter().enumerate() {
            if at < over || prospect == Prospect::None {
                self.let_go(Some(number));
            }
        }
    }

    /// Stops counting the connection, and ends it soon.
    fn let_go(&mut self, number: Option<u64>) {
        if let Some(connection) = number.and_then(|number| self.all.remove(&number)) {
            connection.end.notify_one();
        }
    }
}

/// An IPv6 address counts as its network of 64 bits, because one machine can use all of it.
fn one_of_its_network(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => address.into(),
            None if address.is_loopback() => peer,
            None => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        },
        IpAddr::V4(_) => peer,
    }
}

/// How likely it is that a connection's next request is a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Prospect {
    /// It asks for something else, or has had its time.
    None,
    /// Nothing has come of a head yet.
    Silent,
    /// The bytes that have arrived are how a stop begins.
    Begun,
    /// A stop is read or answered.
    Stop,
}

impl Connection {
    pub fn enter(&self, phase: Phase) {
        if self.phase.swap(phase as u8, Ordering::Relaxed) != phase as u8 {
            self.since.store(monotonic_micros(), Ordering::Relaxed);
            self.head.store(IDLE, Ordering::Relaxed);
        }
    }

    /// Looks at a newcomer's unread bytes. Until they are read, time may pass if many come.
    pub fn has_seen(&self, bytes: &[u8]) {
        self.has_read(bytes);
        if (1..=STOP_HEAD.len() as u8).contains(&self.head.load(Ordering::Relaxed)) {
            self.head.store(SEEN, Ordering::Relaxed);
        }
    }

    /// Looks at received bytes: a stop may begin with them.
    pub fn has_read(&self, bytes: &[u8]) {
        let before = self.head.load(Ordering::Relaxed);
        if bytes.is_empty() || before == NO_STOP || self.phase.load(Ordering::Relaxed) != Phase::Waiting as u8 {
            return;
        }
        let mut matched = if before == SEEN { 0 } else { usize::from(before) };
        if before == IDLE {
            matched = 0;
            self.since.store(monotonic_micros(), Ordering::Relaxed);
        }
        // Blank lines may stand before a head.
        let start =
            if matched == 0 { bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count() } else { 0 };
        for byte in bytes.iter().skip(start).take(STOP_HEAD.len() - matched) {
            if STOP_HEAD[matched] != *byte {
                return self.head.store(NO_STOP, Ordering::Relaxed);
            }
            matched += 1;
        }
        self.head.store(matched as u8, Ordering::Relaxed);
    }

    fn prospect(&self, now: u64) -> Prospect {
        let is_young = now.saturating_sub(self.since.load(Ordering::Relaxed)) <= YOUTH;
        match self.head.load(Ordering::Relaxed) {
            _ if self.is_stopping(now) => Prospect::Stop,
            NO_STOP | IDLE => Prospect::None,
            _ if !is_young || self.phase.load(Ordering::Relaxed) != Phase::Waiting as u8 => Prospect::None,
            0 => Prospect::Silent,
            _ => Prospect::Begun,
        }
    }

    /// True when it has made place: it may only ask for a stop.
    pub fn is_shed(&self) -> bool {
        self.is_shed.load(Ordering::Relaxed)
    }

    fn is_ordinary(&self) -> bool {
        !self.is_reserve && !self.is_shed()
    }

    /// Notes whether the request that is being read is a stop. A refused request is noted as none.
    pub fn asks_for_stop(&self, is_stop: bool) {
        self.is_stop.store(is_stop, Ordering::Relaxed);
    }

    /// True while a stop is being read, worked on or answered, within [`STOP_TIME`].
    fn is_stopping(&self, now: u64) -> bool {
        let since = self.since.load(Ordering::Relaxed);
        self.is_stop.load(Ordering::Relaxed) && now.saturating_sub(since) <= STOP_TIME
    }

    /// Notes whether its reader accepts what is written.
    pub fn takes(&self, takes: bool) {
        if takes {
            self.stalled.store(0, Ordering::Relaxed);
        } else {
            let _ = self.stalled.compare_exchange(0, monotonic_micros().max(1), Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    fn has_nothing_to_lose(&self, now: u64) -> bool {
        let stalled = self.stalled.load(Ordering::Relaxed);
        let is_stalled = stalled != 0 && now.saturating_sub(stalled) > WRITE_PAUSE.limit as u64 * 1_000_000;
        is_stalled || !self.is_stopping(now) && self.phase.load(Ordering::Relaxed) != Phase::Busy as u8
    }

    /// A place for a WebSocket over this connection.
    ///
    /// # Errors
    /// Too many are open.
    pub fn socket(&self) -> Result<SocketPlace, Problem> {
        let (mut known, room) = (self.all.known.lock(), self.all.room);
        let all: usize = known.sockets.values().sum();
        let of_peer = known.sockets.get(&self.peer).copied().unwrap_or(0);
        if all >= room.sockets || of_peer >= room.sockets_of_peer {
            let found = format!("{all} WebSockets are open, {of_peer} of them from {}", self.peer);
            let fix =
                format!("close some: at most {} may be open, {} of one address", room.sockets, room.sockets_of_peer);
            return Err(Problem::later(found, fix));
        }
        *known.sockets.entry(self.peer).or_default() += 1;
        Ok(SocketPlace { peer: self.peer, all: Arc::clone(&self.all) })
    }

    /// For calls within this process, which have no connection.
    pub fn within() -> Arc<Self> {
        let all = Connections::new(Room::of_this_process());
        Arc::clone(&all.admit(Ipv4Addr::LOCALHOST.into()).connection)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connection.all.known.lock().all.remove(&self.number);
    }
}

impl Drop for SocketPlace {
    fn drop(&mut self) {
        let mut known = self.all.known.lock();
        if let Some(count) = known.sockets.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                known.sockets.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { connections: 4, of_peer: 3, reserve: 2, shed: 2, sockets: 3, sockets_of_peer: 2 };

    fn peer(number: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, number).into()
    }

    fn counts(all: &Arc<Connections>, place: &Place) -> bool {
        is_there(all, place) && !place.connection.is_shed()
    }

    fn is_there(all: &Arc<Connections>, place: &Place) -> bool {
        all.known.lock().all.contains_key(&place.number)
    }

    #[test]
    fn the_oldest_without_a_whole_request_makes_place_and_the_address_with_most_of_them_first() {
        let all = Connections::new(ROOM);
        let of_one: Vec<Place> = (0..3).map(|_| all.admit(peer(1))).collect();
        of_one[0].connection.enter(Phase::Busy);
        let fourth = all.admit(peer(1));
        assert!(counts(&all, &of_one[0]) && !counts(&all, &of_one[1]) && counts(&all, &of_one[2]));
        assert!(!fourth.connection.is_reserve);
        let other = all.admit(peer(2));
        let next = all.admit(peer(3));
        assert!(!next.connection.is_reserve && !counts(&all, &of_one[2]) && counts(&all, &other));
    }

    #[test]
    fn where_all_are_busy_newcomers_get_the_reserve_and_the_oldest_of_it_goes() {
        let all = Connections::new(ROOM);
        let busy: Vec<Place> = (1..=4).map(|number| all.admit(peer(number))).collect();
        busy.iter().for_each(|place| place.connection.enter(Phase::Busy));
        let reserve: Vec<Place> = (0..3).map(|_| all.admit(peer(9))).collect();
        assert!(reserve.iter().all(|place| place.connection.is_reserve));
        assert_eq!(reserve.iter().map(|place| counts(&all, place)).collect::<Vec<_>>(), [false, true, true]);
        assert!(busy.iter().all(|place| counts(&all, place)));
        drop(busy);
        assert!(!all.admit(peer(9)).connection.is_reserve);
        let known = all.known.lock().all.len();
        drop(reserve);
        assert_eq!(all.known.lock().all.len(), known - 3, "one of them was shed");
    }

    #[test]
    fn whoever_has_begun_to_say_stop_makes_place_last_and_may_still_say_it_then() {
        let all = Connections::new(ROOM);
        let begun = all.admit(peer(1));
        begun.connection.has_read(b"\r\nPOST /v1");
        // The silent ones and the others end before it, in whatever order they came.
        let mut others: Vec<Place> = Vec::new();
        for number in 0..100_u64 {
            let other = all.admit(peer(1));
            if number % 2 == 0 {
                other.connection.has_read(b"GET /v1/status HTTP/1.1\r\n");
            }
            others.push(other);
            assert!(counts(&all, &begun), "{number}");
        }
        assert!(others.iter().filter(|one| is_there(&all, one)).count() <= ROOM.of_peer + ROOM.shed);
        begun.connection.has_read(b"/stop HTTP/1.1\r\nhost: localhost\r\n");
        // As many connections begin like a stop: the first one is shed, and stays open for a while.
        let alike: Vec<Place> = (0..ROOM.of_peer)
            .map(|_| {
                let other = all.admit(peer(1));
                other.connection.has_read(b"POST /v1/stop");
                other
            })
            .collect();
        assert!(is_there(&all, &begun) && begun.connection.is_shed());
        let now = monotonic_micros();
        assert_eq!(begun.connection.prospect(now), Prospect::Begun);
        assert_eq!(begun.connection.prospect(now + YOUTH + 1), Prospect::None, "for a while, not for ever");
        drop(alike);
        begun.connection.asks_for_stop(true);
        begun.connection.enter(Phase::Busy);
        let many: Vec<Place> = (0..100).map(|_| all.admit(peer(1))).collect();
        assert!(is_there(&all, &begun), "it is answered now");
        assert!(many.iter().filter(|one| one.connection.is_shed() && is_there(&all, one)).count() <= ROOM.shed);
    }

    #[test]
    fn a_head_that_is_no_stop_s_has_no_prospect_however_it_comes() {
        let all = Connections::new(ROOM);
        let place = all.admit(peer(1));
        let now = monotonic_micros();
        for (pieces, prospect) in [
            (&["P", "OST", " /v1/stop", " HTTP/1.1\r\n"][..], Prospect::Begun),
            (&["\r\n", "POST /v1/stop"], Prospect::Begun),
            (&["POST /v1/percepts"], Prospect::None),
            (&["POST /v1/sto", "re"], Prospect::None),
            (&["GET /"], Prospect::None),
            (&["\r\n"], Prospect::Silent),
            (&[], Prospect::None),
        ] {
            place.connection.enter(Phase::Busy);
            place.connection.enter(Phase::Waiting);
            pieces.iter().for_each(|piece| place.connection.has_read(piece.as_bytes()));
            assert_eq!(place.connection.prospect(now), prospect, "{pieces:?}");
        }
    }

    #[test]
    fn what_waits_to_be_read_counts_and_is_not_counted_twice() {
        let all = Connections::new(ROOM);
        let now = monotonic_micros();
        for (seen, read, prospect) in [
            ("POST /v1", "POST /v1/stop HTTP/1.1\r\n", Prospect::Begun),
            ("POST /v1/stop HTTP", "POST /v1/stop HTTP/1.1\r\n", Prospect::Begun),
            ("POST /v1", "POST /v1/sleep HTTP/1.1\r\n", Prospect::None),
            ("", "POST /v1/stop", Prospect::Begun),
        ] {
            let place = all.admit(peer(1));
            place.connection.has_seen(seen.as_bytes());
            let expected = if seen.is_empty() { Prospect::Silent } else { Prospect::Begun };
            assert_eq!(place.connection.prospect(now), expected, "{seen}");
            place.connection.has_read(read.as_bytes());
            assert_eq!(place.connection.prospect(now), prospect, "{seen}, {read}");
        }
        let place = all.admit(peer(1));
        place.connection.has_seen(b"GET /");
        assert_eq!(place.connection.prospect(now), Prospect::None);
    }

    #[test]
    fn a_stop_that_is_read_or_answered_keeps_its_place_whoever_comes() {
        let all = Connections::new(ROOM);
        let busy: Vec<Place> = (1..=4).map(|number| all.admit(peer(number))).collect();
        busy.iter().for_each(|place| place.connection.enter(Phase::Busy));
        for phase in [Phase::Reading, Phase::Busy, Phase::Waiting] {
            let stop = all.admit(peer(9));
            // Its head has come, then its body, and its answer goes out.
            stop.connection.asks_for_stop(true);
            stop.connection.enter(phase);
            for _ in 0..100 {
                let guess = all.admit(peer(8));
                guess.connection.enter(Phase::Busy);
                assert!(guess.connection.is_reserve && counts(&all, &stop) && counts(&all, &guess), "{phase:?}");
                std::mem::forget(guess);
            }
            drop(stop);
        }
    }

    #[test]
    fn guesses_make_place_before_whoever_has_not_asked_and_refused_stops_are_none() {
        let all = Connections::new(ROOM);
        let busy: Vec<Place> = (1..=4).map(|number| all.admit(peer(number))).collect();
        busy.iter().for_each(|place| place.connection.enter(Phase::Busy));
        let (fresh, guess) = (all.admit(peer(9)), all.admit(peer(8)));
        guess.connection.asks_for_stop(true);
        guess.connection.enter(Phase::Busy);
        guess.connection.asks_for_stop(false);
        let next = all.admit(peer(8));
        assert!(counts(&all, &fresh) && !counts(&all, &guess) && counts(&all, &next));
    }

    #[test]
    fn stops_alone_are_bounded_and_one_that_takes_too_long_goes() {
        let all = Connections::new(ROOM);
        let busy: Vec<Place> = (1..=4).map(|number| all.admit(peer(number))).collect();
        busy.iter().for_each(|place| place.connection.enter(Phase::Busy));
        let stops: Vec<Place> = (0..10)
            .map(|_| {
                let stop = all.admit(peer(9));
                stop.connection.asks_for_stop(true);
                stop.connection.enter(Phase::Reading);
                stop
            })
            .collect();
        assert_eq!(stops.iter().filter(|stop| counts(&all, stop)).count(), ROOM.reserve * 2);
        let (last, now) = (&stops[9].connection, monotonic_micros());
        assert!(last.is_stopping(now) && !last.is_stopping(now + STOP_TIME + 1));
    }

    #[test]
    fn an_ordinary_connection_that_reads_a_stop_makes_no_place() {
        let all = Connections::new(ROOM);
        let places: Vec<Place> = (0..3).map(|_| all.admit(peer(1))).collect();
        places[0].connection.asks_for_stop(true);
        places[0].connection.enter(Phase::Reading);
        let _more: Vec<Place> = (0..10).map(|_| all.admit(peer(1))).collect();
        assert!(counts(&all, &places[0]) && !counts(&all, &places[1]));
    }

    #[test]
    fn websockets_are_bounded_in_all_and_by_address() {
        let all = Connections::new(ROOM);
        let (one, two, three) = (all.admit(peer(1)), all.admit(peer(2)), all.admit(peer(3)));
        let held =
            [one.connection.socket(), one.connection.socket()].map(|socket| socket.map_err(|_| ()).expect("a place"));
        assert!(one.connection.socket().is_err_and(|problem| problem.status.as_u16() == 503));
        let third = two.connection.socket().map_err(|_| ()).expect("a place");
        assert!(three.connection.socket().is_err());
        drop(held);
        assert!(three.connection.socket().is_ok());
        drop(third);
        assert!(all.known.lock().sockets.is_empty());
    }

    #[test]
    fn few_open_files_leave_few_connections() {
        assert_eq!(Room::within(None).connections, CONNECTIONS.limit);
        assert_eq!(Room::within(Some(1024)).connections, 512);
        let few = Room::within(Some(128));
        assert_eq!((few.connections, few.sockets), (64, 16));
        assert_eq!(
            one_of_its_network("2001:db8::1:2".parse().expect("an address")),
            "2001:db8::".parse::<IpAddr>().expect("an address")
        );
        assert_eq!(one_of_its_network("::ffff:10.0.0.1".parse().expect("an address")), peer(1));
    }
}
