//! Signatures of webhooks. Comparisons take constant time.

use jiff::{SignedDuration, Timestamp};
use ring::{hmac, signature};

use super::HookRefused;

/// Maximum age of a signed request, and maximum lead of its clock: five minutes, as Slack advises.
const WINDOW: SignedDuration = SignedDuration::from_mins(5);

/// True if `tag` is the HMAC-SHA256 of the concatenated parts.
pub(super) fn is_hmac_sha256(secret: &[u8], parts: &[&[u8]], tag: &[u8]) -> bool {
    verify(hmac::HMAC_SHA256, secret, parts, tag)
}

/// The same with SHA-1, which Twilio uses.
pub(super) fn is_hmac_sha1(secret: &[u8], parts: &[&[u8]], tag: &[u8]) -> bool {
    verify(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret, parts, tag)
}

fn verify(algorithm: hmac::Algorithm, secret: &[u8], parts: &[&[u8]], tag: &[u8]) -> bool {
    hmac::verify(&hmac::Key::new(algorithm, secret), &parts.concat(), tag).is_ok()
}

/// True if it is this key's signature of the concatenated parts.
pub(super) fn is_ed25519(key: &[u8], parts: &[&[u8]], signature: &[u8]) -> bool {
    signature::UnparsedPublicKey::new(&signature::ED25519, key).verify(&parts.concat(), signature).is_ok()
}

/// Bytes from hexadecimal digits.
pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Checks a signed time, in seconds since 1970.
///
/// # Errors
/// It is no number, or more than five minutes from now.
pub(super) fn fresh(seconds: &str, now: Timestamp) -> Result<(), HookRefused> {
    let stale = |why: String| Err(HookRefused::Stale(why));
    let Ok(signed) = seconds.parse::<i64>() else {
        return stale(format!("the time {:?} of the request isn't a number of seconds", shortened(seconds)));
    };
    let off = (i128::from(now.as_second()) - i128::from(signed)).unsigned_abs();
    if off > WINDOW.as_secs().unsigned_abs().into() {
        return stale(format!(
            "the request was signed {off} s away from now; only {} s are allowed: check this machine's clock",
            WINDOW.as_secs()
        ));
    }
    Ok(())
}

/// The part of outside text that may be shown.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_the_published_ones() {
        // RFC 4231, test case 2; RFC 2202, test case 2.
        let (key, data) = (b"Jefe", b"what do ya want for nothing?");
        let sha256 = unhex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843").expect("hex");
        assert!(is_hmac_sha256(key, &[&data[..4], &data[4..]], &sha256));
        assert!(!is_hmac_sha256(key, &[data], &sha256[1..]));
        let sha1 = unhex("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79").expect("hex");
        assert!(is_hmac_sha1(key, &[data], &sha1));
        // RFC 8032, test 2.
        let key = unhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c").expect("hex");
        let signed = unhex(
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        )
        .expect("hex");
        assert!(is_ed25519(&key, &[&[0x72]], &signed));
        assert!(!is_ed25519(&key, &[&[0x73]], &signed));
    }

    #[test]
    fn only_five_minutes_are_fresh() {
        let now = Timestamp::from_second(1_000_000).expect("a time");
        for good in ["999700", "1000000", "1000300"] {
            assert_eq!(fresh(good, now), Ok(()), "{good}");
        }
        for bad in ["999699", "1000301", "", "x", "-9223372036854775808"] {
            assert!(matches!(fresh(bad, now), Err(HookRefused::Stale(_))), "{bad}");
        }
        assert_eq!(unhex("abc"), None);
        assert_eq!(unhex("zz"), None);
        assert_eq!(unhex("é0"), None);
    }
}
