//! Sessions of the page. `maxim open` asks for a key. The page finds the key in the fragment of its address, and
//! exchanges it, once, for the key of its session. There is no cookie: a browser would send it to every port of this
//! machine.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::StatusCode;
use maxim_bus::clock::Stopwatch;
use parking_lot::Mutex;
use serde_json::json;

use super::fields::{Field, Kind, body_fields};
use super::problem::{Answer, ok};
use super::proof::Digest;
use super::{Problem, Served};
use crate::{loopback, token};

/// How long a key of `maxim open` works.
const KEY_LASTS: Duration = Duration::from_secs(120);
/// Keys that wait for their page, at most; the oldest is dropped.
const KEYS: usize = 16;
/// Sessions that may exist at the same time. If there are more, the session that was used longest ago is dropped.
const SESSIONS: usize = 32;

pub const KEY: &[Field] = &[Field::optional(
    "account",
    Kind::Whole(0, u32::MAX as u64),
    "the number of the only account of this machine whose browser may use it; without it any may",
)];
pub const EXCHANGE: &[Field] =
    &[Field::needed("key", Kind::Text, "what the fragment of the page's address holds behind key=; works once")];

/// Why a key opens nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// Used already, too old, or never one.
    Unknown,
    /// The session was made for another account than the caller's.
    OtherAccount,
}

struct Key {
    digest: Digest,
    made: Duration,
    account: Option<u32>,
}

/// Keys and sessions, as digests. Times count from the start of the daemon. All sessions end with the daemon.
#[derive(Default)]
struct Held {
    keys: Vec<Key>,
    sessions: Vec<(Digest, Duration)>,
}

impl Held {
    fn keep_key(&mut self, key: Key) {
        self.keys.retain(|old| key.made.saturating_sub(old.made) < KEY_LASTS);
        self.keys.push(key);
        let over = self.keys.len().saturating_sub(KEYS);
        self.keys.drain(..over);
    }

    /// Takes a matching key, once. A key that another account shows is used up too, because that account has seen it.
    fn take_key(&mut self, key: &Digest, now: Duration, account: impl Fn() -> Option<u32>) -> Result<(), Refusal> {
        let place = self.keys.iter().position(|known| known.digest == *key).ok_or(Refusal::Unknown)?;
        let found = self.keys.remove(place);
        if now.saturating_sub(found.made) >= KEY_LASTS {
            return Err(Refusal::Unknown);
        }
        match found.account {
            Some(own) if account() != Some(own) => Err(Refusal::OtherAccount),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, session: Digest, now: Duration) {
        self.sessions.push((session, now));
        if self.sessions.len() > SESSIONS {
            let oldest = self.sessions.iter().enumerate().min_by_key(|(_, (_, used))| *used);
            if let Some((place, _)) = oldest {
                self.sessions.remove(place);
            }
        }
    }

    /// True for the key of a session. This counts as a use of the session.
    fn is_session(&mut self, shown: &Digest, now: Duration, idle: Duration) -> bool {
        self.sessions.retain(|(_, used)| now.saturating_sub(*used) < idle);
        match self.sessions.iter_mut().find(|(digest, _)| digest == shown) {
            Some((_, used)) => {
                *used = now;
                true
            }
            None => false,
        }
    }
}

/// The sessions of a door.
pub struct Sessions {
    held: Mutex<Held>,
    watch: Stopwatch,
    idle: Duration,
}

impl Sessions {
    /// Each session ends when it has asked for nothing for `idle`.
    pub fn new(idle: Duration) -> Self {
        Self { held: Mutex::default(), watch: Stopwatch::start(), idle }
    }

    pub fn knows(&self, shown: &Digest) -> bool {
        self.held.lock().is_session(shown, self.watch.elapsed(), self.idle)
    }
}

fn chance() -> Result<String, Problem> {
    token::random().map_err(|error| Problem::later(error.to_string(), "try again"))
}

/// `POST /v1/session-keys`: for `maxim open`.
pub async fn make_key(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let given = body_fields(&served, request, KEY).await?;
    let account = given.0.get("account").and_then(serde_json::Value::as_u64).and_then(|number| number.try_into().ok());
    let key = chance()?;
    let sessions = &served.sessions;
    let made = sessions.watch.elapsed();
    sessions.held.lock().keep_key(Key { digest: Digest::of(key.as_bytes()), made, account });
    ok(&json!({"key": key, "expires_s": KEY_LASTS.as_secs()}))
}

/// `POST /v1/session`: for the page.
pub async fn begin(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| *peer);
    let given = body_fields(&served, request, EXCHANGE).await?;
    let shown = Digest::of(given.text("key").unwrap_or_default().as_bytes());
    let (sessions, own) = (&served.sessions, served.listen);
    let own = |peer: SocketAddr| if own.ip().is_unspecified() { SocketAddr::new(peer.ip(), own.port()) } else { own };
    let account = || peer.and_then(|peer| loopback::account_of(peer, own(peer)));
    let taken = sessions.held.lock().take_key(&shown, sessions.watch.elapsed(), account);
    let (status, found, fix) = match taken {
        Ok(()) => {
            let session = chance()?;
            sessions.held.lock().begin(Digest::of(session.as_bytes()), sessions.watch.elapsed());
            return ok(&json!({"session": session, "idle_s": sessions.idle.as_secs()}));
        }
        Err(Refusal::Unknown) => {
            let found = "this key was used already or is too old";
            (StatusCode::UNAUTHORIZED, found, "run `maxim open` again")
        }
        Err(Refusal::OtherAccount) => {
            tracing::warn!(peer = ?peer, "a key of `maxim open` was shown by another account than it was made for");
            let found = "this key was made for the browser of another account, and is used up";
            (StatusCode::UNAUTHORIZED, found, "use `maxim open --print` for the browser of another account")
        }
    };
    served.guesses.slow(peer.map(|peer| peer.ip())).await?;
    Err(Problem::new(status, found, fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_secs(3600);

    fn digest(name: &str) -> Digest {
        Digest::of(name.as_bytes())
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn key(name: &str, seconds: u64) -> Key {
        Key { digest: digest(name), made: at(seconds), account: None }
    }

    #[test]
    fn a_key_works_once_and_not_for_long() {
        let mut held = Held::default();
        let take = |held: &mut Held, name: &str, seconds| held.take_key(&digest(name), at(seconds), || None);
        held.keep_key(key("a", 0));
        assert_eq!(take(&mut held, "b", 1), Err(Refusal::Unknown));
        assert_eq!(take(&mut held, "a", 119), Ok(()));
        assert_eq!(take(&mut held, "a", 119), Err(Refusal::Unknown), "it was used");
        held.keep_key(key("c", 0));
        assert_eq!(take(&mut held, "c", 120), Err(Refusal::Unknown), "its time is over");
        (0..100).for_each(|number| held.keep_key(key(&number.to_string(), 0)));
        assert_eq!(held.keys.len(), KEYS);
        assert_eq!((take(&mut held, "0", 1), take(&mut held, "99", 1)), (Err(Refusal::Unknown), Ok(())));
        held.keep_key(key("later", 500));
        assert_eq!(held.keys.len(), 1, "those whose time is over go");
    }

    #[test]
    fn a_key_for_one_account_is_used_up_by_another_without_opening_anything() {
        let mut held = Held::default();
        for (shows, wanted) in
            [(Some(1000), Ok(())), (Some(1234), Err(Refusal::OtherAccount)), (None, Err(Refusal::OtherAccount))]
        {
            held.keep_key(Key { account: Some(1000), ..key("a", 0) });
            assert_eq!(held.take_key(&digest("a"), at(1), || shows), wanted, "{shows:?}");
            assert_eq!(held.take_key(&digest("a"), at(1), || Some(1000)), Err(Refusal::Unknown));
        }
    }

    #[test]
    fn a_session_ends_when_it_is_idle_and_the_idlest_goes_for_a_new_one() {
        let mut held = Held::default();
        held.begin(digest("a"), at(0));
        assert!(held.is_session(&digest("a"), at(3599), IDLE));
        assert!(held.is_session(&digest("a"), at(7000), IDLE), "it was used meanwhile");
        assert!(!held.is_session(&digest("a"), at(10_600), IDLE));
        assert!(!held.is_session(&digest("a"), at(10_600), IDLE) && held.sessions.is_empty());
        (0..SESSIONS).for_each(|number| held.begin(digest(&number.to_string()), at(0)));
        assert!(held.is_session(&digest("0"), at(1), IDLE));
        held.begin(digest("new"), at(2));
        assert_eq!(held.sessions.len(), SESSIONS);
        for (name, lives) in [("0", true), ("1", false), ("2", true), ("new", true)] {
            assert_eq!(held.is_session(&digest(name), at(3), IDLE), lives, "{name}");
        }
    }
}
