//! What is known about one key: its meaning, unit, range and default. Structs, sample file and `explain` share it.

use std::borrow::Cow;

use config::ValueKind;

/// One key of the configuration.
#[derive(Clone, Debug)]
pub struct Field {
    pub section: Cow<'static, str>,
    pub name: &'static str,
    /// The doc comment of the struct's field.
    pub meaning: &'static str,
    /// What the value counts; empty where that is plain.
    pub unit: &'static str,
    /// As it would be written in an environment variable; empty is "not set".
    pub default: &'static str,
    pub shape: Shape,
}

impl Field {
    pub fn key(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// The meaning as one line of text.
    pub fn meaning(&self) -> String {
        one_line(self.meaning)
    }

    /// True when the key may be left unset, which is then its default.
    pub fn is_optional(&self) -> bool {
        self.default.is_empty() && !matches!(self.shape, Shape::Texts { .. })
    }

    /// Reads what an environment variable or a flag says. Empty text unsets an optional key.
    pub fn read(&self, text: &str) -> Option<ValueKind> {
        if text.is_empty() && self.is_optional() { Some(ValueKind::Nil) } else { self.shape.read(text) }
    }

    /// The value in its canonical form, or nothing when the key doesn't take it.
    pub fn check(&self, value: &ValueKind) -> Option<ValueKind> {
        match value {
            ValueKind::String(text) if text.is_empty() && self.is_optional() => Some(ValueKind::Nil),
            _ => self.shape.check(value),
        }
    }

    /// The environment variable that overrides every file.
    pub fn variable(&self) -> String {
        format!("MAXIM__{}__{}", self.section.to_uppercase().replace('.', "__"), self.name.to_uppercase())
    }
}

/// A table of the file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    pub name: &'static str,
    pub about: &'static str,
    pub fields: &'static [Field],
}

impl Section {
    pub fn about(&self) -> String {
        one_line(self.about)
    }
}

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

/// Declares a section: the struct, its documentation and the table of its fields, from one text.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $Name:ident = $section:literal {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $Type:ty = $default:literal, $unit:literal, $shape:expr;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $Name {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("\n\nUnit: ", $unit, ". Default: `", $default, "`. Takes: `", stringify!($shape), "`.")]
                pub $field: $Type,
            )+
        }

        impl $Name {
            pub const SECTION: $crate::config::Section = $crate::config::Section {
                name: $section,
                about: concat!($($about),+),
                fields: &[
                    $($crate::config::Field {
                        section: std::borrow::Cow::Borrowed($section),
                        name: stringify!($field),
                        meaning: concat!($($doc),+),
                        unit: $unit,
                        default: $default,
                        shape: $shape,
                    }),+
                ],
            };
        }
    };
}

/// Declares a closed set of words.
macro_rules! choice {
    ($(#[$about:meta])* $Name:ident { $($(#[$doc:meta])* $Variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $Name {
            $($(#[$doc])* #[serde(rename = $word)] $Variant),+
        }

        impl $Name {
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$Variant => $word),+
                }
            }
        }
    };
}

pub(super) use {choice, section};

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
