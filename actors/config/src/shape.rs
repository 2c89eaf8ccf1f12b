//! What values a key takes.

/// What values a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    Flag,
    Integer {
        low: u64,
        high: u64,
    },
    Real {
        low: f64,
        high: f64,
    },
    /// A length of time, written as `50ms` or `5min`; the bounds are written alike.
    Span {
        low: &'static str,
        high: &'static str,
    },
    /// An amount of memory or disk, written as `64 KiB` or as a number of bytes; the bounds are written alike.
    Size {
        low: &'static str,
        high: &'static str,
    },
    Choice(&'static [&'static str]),
    /// Any text that isn't empty.
    Text,
    /// A list of texts, at least one when it is `required`.
    Texts {
        required: bool,
    },
    /// An IP address with a port.
    Address,
    /// An http or https address.
    Url,
    Path,
    /// `system` or a name of the IANA time zone database.
    Zone,
    /// Not allowed in a file.
    Secret,
}

/// A share of a whole.
pub const SHARE: Shape = Shape::Real { low: 0.0, high: 1.0 };

impl Shape {
    /// What the key takes, as the end of a sentence: "a whole number from 1 to 65536".
    pub fn takes(&self) -> String {
        match self {
            Self::Flag => "true or false".into(),
            Self::Integer { low, high } if *high == i64::MAX as u64 => format!("a whole number from {low}"),
            Self::Integer { low, high } => format!("a whole number from {low} to {high}"),
            Self::Real { low, high } => format!("a number from {low} to {high}"),
            Self::Span { low, high } => format!("a length of time from {low} to {high}, such as 50ms or 5min"),
            Self::Size { low, high } => format!("an amount from {low} to {high}, such as 65536 or 64 KiB"),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Text => "a text".into(),
            Self::Texts { required: true } => "a list of texts, at least one".into(),
            Self::Texts { required: false } => "a list of texts".into(),
            Self::Address => "an IP address with a port, such as 127.0.0.1:7717 or [::1]:7717".into(),
            Self::Url => "an address such as http://127.0.0.1:8080/v1".into(),
            Self::Path => "a path".into(),
            Self::Zone => "system or a time zone's name, such as Europe/Berlin".into(),
            Self::Secret => "a secret, from the environment or a file of its own".into(),
        }
    }
}
