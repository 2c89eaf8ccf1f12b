//! Reads a value as its shape demands, and describes valid values.

use std::net::SocketAddr;

use config::ValueKind;
use jiff::tz::TimeZone;

use super::{ByteCount, Field, Shape, Span};

/// Reads a value of a key.
pub(super) trait Reads {
    /// Reads the text of an environment variable or a flag.
    fn read(&self, text: &str) -> Option<ValueKind>;

    /// The value in its canonical form; `None` if the key doesn't accept it.
    fn check(&self, value: &ValueKind) -> Option<ValueKind>;
}

impl Reads for Field {
    /// Empty text unsets an optional key.
    fn read(&self, text: &str) -> Option<ValueKind> {
        if text.is_empty() && self.is_optional() { Some(ValueKind::Nil) } else { self.shape.read(text) }
    }

    fn check(&self, value: &ValueKind) -> Option<ValueKind> {
        match value {
            ValueKind::String(text) if text.is_empty() && self.is_optional() => Some(ValueKind::Nil),
            _ => self.shape.check(value),
        }
    }
}

impl Reads for Shape {
    fn read(&self, text: &str) -> Option<ValueKind> {
        match self {
            Self::Flag => text.parse().ok().map(ValueKind::Boolean),
            Self::Integer { .. } => self.check(&ValueKind::I64(text.parse().ok()?)),
            Self::Real { .. } => self.check(&ValueKind::Float(text.parse().ok()?)),
            Self::Texts { .. } if text.is_empty() => self.check(&ValueKind::Array(Vec::new())),
            Self::Texts { .. } => self.check(&texts(text.split(',').map(str::trim))),
            _ => self.check(&ValueKind::String(text.to_owned())),
        }
    }

    fn check(&self, value: &ValueKind) -> Option<ValueKind> {
        match (self, value) {
            (Self::Flag, ValueKind::Boolean(_)) => Some(value.clone()),
            (Self::Integer { low, high }, ValueKind::I64(number)) => {
                (*low..=*high).contains(&u64::try_from(*number).ok()?).then(|| value.clone())
            }
            (Self::Real { low, high }, ValueKind::Float(number)) => {
                (*low..=*high).contains(number).then(|| value.clone())
            }
            #[expect(clippy::cast_precision_loss, reason = "a bound is far below 2^53")]
            (Self::Real { .. }, ValueKind::I64(number)) => self.check(&ValueKind::Float(*number as f64)),
            (Self::Size { .. }, ValueKind::I64(number)) => self.check(&ValueKind::String(number.to_string())),
            (Self::Texts { required }, ValueKind::Array(items)) => {
                let words: Option<Vec<&str>> = items
                    .iter()
                    .map(|item| match &item.kind {
                        ValueKind::String(word) if !word.is_empty() => Some(word.as_str()),
                        _ => None,
                    })
                    .collect();
                let words = words.filter(|words| !(*required && words.is_empty()))?;
                Some(texts(words.into_iter()))
            }
            (_, ValueKind::String(text)) => check_text(self, text),
            _ => None,
        }
    }
}

fn check_text(shape: &Shape, text: &str) -> Option<ValueKind> {
    let fits = match shape {
        Shape::Span { low, high } => {
            let span: Span = text.parse().ok()?;
            // Canonical, so that equal amounts print equally.
            return within(span, low, high).then(|| ValueKind::String(span.to_string()));
        }
        Shape::Size { low, high } => {
            let size: ByteCount = text.parse().ok()?;
            return within(size, low, high).then(|| ValueKind::String(size.to_string()));
        }
        Shape::Choice(words) => words.contains(&text),
        Shape::Text | Shape::Path | Shape::Secret => !text.is_empty(),
        Shape::Address => text.parse::<SocketAddr>().is_ok(),
        Shape::Url => reqwest::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https")),
        Shape::Zone => text == "system" || TimeZone::get(text).is_ok(),
        Shape::Flag | Shape::Integer { .. } | Shape::Real { .. } | Shape::Texts { .. } => false,
    };
    fits.then(|| ValueKind::String(text.to_owned()))
}

/// Bounds are written like values. An unreadable bound bounds nothing; a test excludes that.
fn within<T: std::str::FromStr + PartialOrd>(value: T, low: &str, high: &str) -> bool {
    low.parse().is_ok_and(|low| value >= low) && high.parse().is_ok_and(|high| value <= high)
}

fn texts<'a>(words: impl Iterator<Item = &'a str>) -> ValueKind {
    ValueKind::Array(words.map(|word| config::Value::new(None, word)).collect())
}

/// A value in TOML.
pub(super) fn to_toml(kind: &ValueKind) -> String {
    match kind {
        ValueKind::Boolean(flag) => flag.to_string(),
        ValueKind::I64(number) => number.to_string(),
        ValueKind::Float(number) => toml::Value::Float(*number).to_string(),
        ValueKind::String(text) => toml::Value::String(text.clone()).to_string(),
        ValueKind::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| to_toml(&item.kind)).collect();
            format!("[{}]", items.join(", "))
        }
        ValueKind::Table(_) => "a table".into(),
        other => other.to_string(),
    }
}

/// A value in JSON; null if it is not set.
pub(super) fn to_json(kind: &ValueKind) -> serde_json::Value {
    match kind {
        ValueKind::Boolean(flag) => (*flag).into(),
        ValueKind::I64(number) => (*number).into(),
        ValueKind::Float(number) => (*number).into(),
        ValueKind::String(text) => text.as_str().into(),
        ValueKind::Array(items) => items.iter().map(|item| to_json(&item.kind)).collect(),
        _ => serde_json::Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_takes_what_it_says_and_nothing_else() {
        let count = Shape::Integer { low: 1, high: 9 };
        let share = Shape::Real { low: 0.0, high: 1.0 };
        let span = Shape::Span { low: "1ms", high: "1h" };
        let size = Shape::Size { low: "1 KiB", high: "1 GiB" };
        let cases: &[(&Shape, &[&str], &[&str])] = &[
            (&Shape::Flag, &["true", "false"], &["", "yes", "1"]),
            (&count, &["1", "9"], &["", "0", "10", "-1", "1.5", "many"]),
            (&share, &["0", "0.5", "1"], &["", "1.01", "-0.1", "NaN"]),
            (&span, &["1ms", "1h", "60min"], &["", "0ms", "61min", "5"]),
            (&size, &["1024", "1 GiB"], &["", "1023", "2 GiB"]),
            (&Shape::Choice(&["a", "b"]), &["a"], &["", "A", "c"]),
            (&Shape::Address, &["127.0.0.1:0", "[::1]:7717"], &["", "localhost:7717", "127.0.0.1"]),
            (&Shape::Url, &["http://h:1/v1", "https://h"], &["", "h:1", "ftp://h", "/v1"]),
            (&Shape::Zone, &["system", "UTC"], &["", "Mars/Olympus"]),
            (&Shape::Texts { required: true }, &["a", "a, b"], &["", "a,,b"]),
            (&Shape::Texts { required: false }, &["", "a"], &[","]),
        ];
        for (shape, good, bad) in cases {
            for text in *good {
                assert!(shape.read(text).is_some(), "{text:?} is {}", shape.takes());
            }
            for text in *bad {
                assert!(shape.read(text).is_none(), "{text:?} is not {}", shape.takes());
            }
        }
    }

    #[test]
    fn a_file_must_use_the_right_type() {
        assert!(Shape::Integer { low: 0, high: 9 }.check(&ValueKind::String("5".into())).is_none());
        assert!(Shape::Flag.check(&ValueKind::String("true".into())).is_none());
        assert!(Shape::Text.check(&ValueKind::I64(5)).is_none());
        let whole = Shape::Real { low: 0.0, high: 1.0 }.check(&ValueKind::I64(1));
        assert_eq!(whole, Some(ValueKind::Float(1.0)));
    }
}
