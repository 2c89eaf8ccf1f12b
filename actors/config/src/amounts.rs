//! Amounts as people write them: `50ms`, `64 KiB`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

/// A length of time. Written as `200ms`, `5min`, `1h 30min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(Duration);

impl Span {
    pub fn new(duration: Duration) -> Self {
        Self(duration)
    }

    pub fn get(self) -> Duration {
        self.0
    }

    /// The same, for laws that reckon with times. What is too long for it becomes the longest.
    pub fn signed(self) -> SignedDuration {
        SignedDuration::try_from(self.0).unwrap_or(SignedDuration::MAX)
    }

    pub fn days(self) -> f64 {
        self.0.as_secs_f64() / 86_400.0
    }
}

/// A text that is no amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    #[error("{0:?} is not a length of time such as 50ms, 30s or 5min")]
    Span(String),
    #[error("{0:?} is not an amount of bytes such as 65536, 64 KiB or 1 GiB")]
    Bytes(String),
}

impl FromStr for Span {
    type Err = AmountError;
    fn from_str(text: &str) -> Result<Self, AmountError> {
        humantime::parse_duration(text).map(Self).map_err(|_| AmountError::Span(text.into()))
    }
}

impl TryFrom<String> for Span {
    type Error = AmountError;
    fn try_from(text: String) -> Result<Self, AmountError> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> String {
        span.to_string()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = humantime::format_duration(self.0).to_string();
        // humantime writes `5m`, which reads as metres; it takes `5min` as well.
        let words: Vec<String> = text
            .split(' ')
            .map(|word| match word.strip_suffix('m') {
                Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => format!("{digits}min"),
                _ => word.to_owned(),
            })
            .collect();
        f.write_str(&words.join(" "))
    }
}

/// An amount of memory or disk. Written as `64 KiB`, `1 GiB` or as a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ByteCount(u64);

const UNITS: [(&str, u32); 5] = [("B", 0), ("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];

impl ByteCount {
    pub fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    pub fn get(self) -> u64 {
        self.0
    }

    /// The same, for what lies in memory. What is too much for it becomes the most.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl FromStr for ByteCount {
    type Err = AmountError;
    fn from_str(text: &str) -> Result<Self, AmountError> {
        let wrong = || AmountError::Bytes(text.into());
        let text = text.trim();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
        let unit = text[digits..].trim();
        let unit = if unit.is_empty() { "B" } else { unit };
        let (_, shift) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or_else(wrong)?;
        number.checked_mul(1 << shift).map(Self).ok_or_else(wrong)
    }
}

impl TryFrom<String> for ByteCount {
    type Error = AmountError;
    fn try_from(text: String) -> Result<Self, AmountError> {
        text.parse()
    }
}

impl From<ByteCount> for String {
    fn from(bytes: ByteCount) -> String {
        bytes.to_string()
    }
}

impl fmt::Display for ByteCount {
    /// In the largest unit that divides it, so that reading it back gives the same number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = UNITS.iter().rev().find(|(_, shift)| self.0 != 0 && self.0.trailing_zeros() >= *shift);
        let (unit, shift) = exact.unwrap_or(&UNITS[0]);
        write!(f, "{} {unit}", self.0 >> shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spans_are_read_and_written_as_people_write_them() {
        for text in ["50ms", "5min", "1h 30min", "7days", "10s", "0s"] {
            let span: Span = text.parse().expect("a length of time");
            assert_eq!(span.to_string().parse::<Span>(), Ok(span), "{text}");
        }
        assert_eq!("300s".parse::<Span>().expect("a length of time").to_string(), "5min");
        assert_eq!("50".parse::<Span>(), Err(AmountError::Span("50".into())));
    }

    #[test]
    fn bytes_take_binary_units_and_refuse_the_rest() {
        assert_eq!("64 KiB".parse(), Ok(ByteCount::new(65536)));
        assert_eq!("65536".parse(), Ok(ByteCount::new(65536)));
        assert_eq!("1gib".parse(), Ok(ByteCount::new(1 << 30)));
        for wrong in ["", "KiB", "-1", "1.5 MiB", "64 KB", "99999999999 TiB"] {
            assert_eq!(wrong.parse::<ByteCount>(), Err(AmountError::Bytes(wrong.into())));
        }
    }

    proptest! {
        #[test]
        fn a_written_amount_reads_back_the_same(bytes in any::<u64>()) {
            prop_assert_eq!(ByteCount::new(bytes).to_string().parse(), Ok(ByteCount::new(bytes)));
        }
    }
}
