//! A request that a client sends again is one request.
//!
//! Law: a request with an `Idempotency-Key` has that key as its provider's id, so that the gateway knows it again, over a restart
//! too. Clients of OpenAI's make count their retries in `x-stainless-retry-count` and send no key: such a request gets an id of
//! its own with its first try, and a later try with the same body, path and credentials gets the same id while the first
//! runs or was seen in the last minutes. The number of those that are known is bounded; the oldest is forgotten first.

use std::collections::{HashMap, VecDeque};

use axum::http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::MessageId;
use maxim_bus::bounds::IDEMPOTENCY_KEY;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::Problem;

/// Names a request that a client sends again.
const KEY: &str = "idempotency-key";
/// Which try of the client's it is: 0, 1, ….
const COUNT: &str = "x-stainless-retry-count";
/// Letters of a key, at most.
const LONGEST: usize = IDEMPOTENCY_KEY.limit;
/// Requests that are known.
const MOST: usize = 1024;
/// How long after it was last seen: longer than a turn may take.
const KNOWN: SignedDuration = SignedDuration::from_mins(30);

type Fingerprint = [u8; 32];

/// What was asked lately by clients that count their retries.
#[derive(Default)]
pub struct Retries(Mutex<Known>);

#[derive(Default)]
struct Known {
    ids: HashMap<Fingerprint, (String, Timestamp)>,
    /// In the order in which they came in.
    order: VecDeque<Fingerprint>,
}

impl Retries {
    /// The provider's id of a request to this path with this body; none where nothing says that it may come again.
    /// `fresh` names a first try.
    ///
    /// # Errors
    /// Its key can't be one.
    pub fn provider_id(
        &self,
        path: &str,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
        fresh: impl FnOnce() -> MessageId,
    ) -> Result<Option<String>, Problem> {
        if let Some(key) = headers.get(KEY) {
            return checked(key.to_str().ok()).map(|key| Some(format!("{path}/{key}")));
        }
        let count =
            headers.get(COUNT).and_then(|count| count.to_str().ok()).and_then(|count| count.trim().parse::<u32>().ok());
        Ok(count.map(|count| self.known(fingerprint(path, headers, body), count, now, fresh)))
    }

    fn known(&self, print: Fingerprint, count: u32, now: Timestamp, fresh: impl FnOnce() -> MessageId) -> String {
        let mut known = self.0.lock();
        if count > 0
            && let Some((id, seen)) = known.ids.get_mut(&print)
            && now.duration_since(*seen) <= KNOWN
        {
            *seen = now;
            return id.clone();
        }
        let id = format!("try/{}", fresh());
        if known.ids.insert(print, (id.clone(), now)).is_none() {
            known.order.push_back(print);
        }
        if known.order.len() > MOST
            && let Some(oldest) = known.order.pop_front()
        {
            known.ids.remove(&oldest);
        }
        id
    }
}

fn checked(key: Option<&str>) -> Result<&str, Problem> {
    key.filter(|key| !key.trim().is_empty() && key.len() <= LONGEST).ok_or_else(|| {
        Problem::bad(
            format!("the header Idempotency-Key is empty, longer than {LONGEST} letters, or not ASCII"),
            "give each request a short key of its own, such as a UUID, and the same one when it is sent again",
        )
    })
}

/// Of what makes a request the same: where it goes, who sends it, what it says. No two alike: SHA-256.
fn fingerprint(path: &str, headers: &HeaderMap, body: &[u8]) -> Fingerprint {
    let mut hash = Sha256::new();
    let who = ["authorization", "user-agent"].map(|name| headers.get(name).map_or(&b""[..], |value| value.as_bytes()));
    for part in [path.as_bytes(), who[0], who[1], body] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(retries: &Retries, headers: &[(&'static str, &str)], body: &str, at: i64) -> Option<String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a value"));
        }
        let now = Timestamp::from_second(at).expect("a time");
        // Each first try is another one.
        let fresh = || MessageId::from_parts(at as u64, u128::from(body.len() as u64));
        retries.provider_id("completion", &map, body.as_bytes(), now, fresh).expect("a good key")
    }

    #[test]
    fn a_retry_is_the_request_that_it_repeats_and_a_first_try_is_a_new_one() {
        let retries = Retries::default();
        let first = id(&retries, &[(COUNT, "0")], "run", 10);
        assert!(first.is_some());
        assert_eq!(id(&retries, &[(COUNT, "1")], "run", 11), first);
        assert_eq!(id(&retries, &[(COUNT, "2")], "run", 12), first);
        assert_ne!(id(&retries, &[(COUNT, "1")], "walk", 13), first, "another body");
        assert_ne!(id(&retries, &[(COUNT, "1"), ("authorization", "Bearer x")], "run", 14), first, "another caller");
        let again = id(&retries, &[(COUNT, "0")], "run", 15);
        assert_ne!(again, first, "the person says it again");
        assert_eq!(id(&retries, &[(COUNT, "1")], "run", 16), again);
        assert_ne!(id(&retries, &[(COUNT, "1")], "run", 16 + KNOWN.as_secs() + 1), again, "long ago");
        assert_eq!(id(&retries, &[], "run", 17), None, "who doesn't count doesn't repeat");
        assert_eq!(id(&retries, &[(KEY, "k")], "run", 18), id(&retries, &[(KEY, "k")], "other", 19));
    }

    #[test]
    fn what_is_known_is_bounded() {
        let retries = Retries::default();
        let first = id(&retries, &[(COUNT, "0")], "first", 1);
        for at in 0..MOST {
            id(&retries, &[(COUNT, "0")], &format!("body {at}"), 2);
        }
        assert_eq!((retries.0.lock().ids.len(), retries.0.lock().order.len()), (MOST, MOST));
        assert_ne!(id(&retries, &[(COUNT, "1")], "first", 3), first, "it was forgotten");
    }

    #[test]
    fn a_key_that_can_be_none_is_refused() {
        let retries = Retries::default();
        for bad in ["", "  ", &"k".repeat(LONGEST + 1)] {
            let headers = HeaderMap::from_iter([(KEY.parse().expect("a name"), bad.parse().expect("a value"))]);
            let asked = retries.provider_id("p", &headers, b"", Timestamp::UNIX_EPOCH, || MessageId::from_parts(0, 0));
            assert!(asked.is_err(), "{bad:?}");
        }
    }
}
