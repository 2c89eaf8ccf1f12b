//! A request that a client sends again is one request.
//!
//! Law: a request with an `Idempotency-Key` has that key as its provider's id, and another body under it is refused. Clients
//! of OpenAI's make send no key and count their tries in `x-stainless-retry-count`: their requests are known by what they say.
//! The gateway knows both again, over a restart too; here is only what a request shows.

use axum::http::HeaderMap;
use maxim_bus::bounds::{IDEMPOTENCY_KEY, digest_of};
use maxim_bus::signals::percept::Retry;

use super::Problem;

/// Names a request that a client sends again.
const KEY: &str = "idempotency-key";
/// Which try of the client's it is: 0, 1, ….
const COUNT: &str = "x-stainless-retry-count";

/// What a request is known by when it comes again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    pub provider_id: Option<String>,
    pub retry: Option<Retry>,
}

impl Known {
    /// That of a request to this path with this body.
    ///
    /// # Errors
    /// Its key can't be one.
    pub fn of(path: &str, headers: &HeaderMap, body: &[u8]) -> Result<Self, Problem> {
        if let Some(key) = headers.get(KEY) {
            let key = checked(key.to_str().ok())?;
            let retry = Some(Retry::Key { digest: digest_of(&[body]) });
            return Ok(Self { provider_id: Some(format!("{path}/{key}")), retry });
        }
        let count = headers.get(COUNT).and_then(|count| count.to_str().ok()?.trim().parse::<u32>().ok());
        let who =
            ["authorization", "user-agent"].map(|name| headers.get(name).map_or(&b""[..], |value| value.as_bytes()));
        let digest = || digest_of(&[path.as_bytes(), who[0], who[1], body]);
        Ok(Self { provider_id: None, retry: count.map(|count| Retry::Count { digest: digest(), count }) })
    }
}

fn checked(key: Option<&str>) -> Result<&str, Problem> {
    let key = key.filter(|key| !key.trim().is_empty()).ok_or_else(|| {
        Problem::bad(
            "the header Idempotency-Key is empty or not ASCII",
            "give each request a short key of its own, such as a UUID, and the same one when it is sent again",
        )
    })?;
    IDEMPOTENCY_KEY.take(key).map(|_| key).map_err(|much| Problem::beyond(&much))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(path: &str, headers: &[(&'static str, &str)], body: &str) -> Known {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a value"));
        }
        Known::of(path, &map, body.as_bytes()).expect("a good key")
    }

    fn digest(known: &Known) -> &str {
        match known.retry.as_ref().expect("it may come again") {
            Retry::Key { digest } | Retry::Count { digest, .. } => digest,
        }
    }

    #[test]
    fn a_counted_try_has_no_id_and_the_digest_of_the_request_that_it_repeats() {
        let first = known("completion", &[(COUNT, "0")], "run");
        let later = known("completion", &[(COUNT, " 2 ")], "run");
        assert_eq!(digest(&first), digest(&later));
        assert!(matches!(later, Known { provider_id: None, retry: Some(Retry::Count { count: 2, .. }) }));
        for other in [
            known("percept", &[(COUNT, "0")], "run"),
            known("completion", &[(COUNT, "0")], "walk"),
            known("completion", &[(COUNT, "0"), ("authorization", "Bearer x")], "run"),
            known("completion", &[(COUNT, "0"), ("user-agent", "other")], "run"),
        ] {
            assert_ne!(digest(&first), digest(&other), "{other:?}");
        }
        for none in [&[][..], &[(COUNT, "-1")], &[(COUNT, "often")]] {
            assert_eq!(known("completion", none, "run"), Known::default(), "who doesn't count doesn't repeat");
        }
    }

    #[test]
    fn a_key_is_the_id_and_its_digest_is_of_the_body() {
        let first = known("percept", &[(KEY, "k"), (COUNT, "1")], "run");
        assert_eq!(first.provider_id.as_deref(), Some("percept/k"));
        assert_eq!(first, known("percept", &[(KEY, "k"), ("user-agent", "other")], "run"));
        assert_ne!(digest(&first), digest(&known("percept", &[(KEY, "k")], "walk")));
    }

    #[test]
    fn a_key_that_can_be_none_is_refused() {
        for bad in ["", "  ", &"k".repeat(IDEMPOTENCY_KEY.limit + 1)] {
            let headers = HeaderMap::from_iter([(KEY.parse().expect("a name"), bad.parse().expect("a value"))]);
            assert!(Known::of("p", &headers, b"").is_err(), "{bad:?}");
        }
    }
}
