//! What is known about one key: its meaning, unit, range and default. Structs, sample file and `explain` share it.

use std::borrow::Cow;

use crate::Shape;

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
    /// Pairs of its keys of which the first must not be larger than the second.
    pub ordered: &'static [(&'static str, &'static str)],
}

impl Section {
    pub fn about(&self) -> String {
        one_line(self.about)
    }
}

/// Declares a section: the struct, its documentation, its defaults and the table of its fields, from one text.
///
/// A field's type is what serde reads from its shape: whole numbers, `f64`, `bool`, `String`, [`Span`](crate::Span),
/// [`ByteCount`](crate::ByteCount), a [`choice!`](crate::choice), lists of text, and an `Option` where there is no default.
/// `ordered` names pairs of keys of which the first must not be larger than the second.
#[macro_export]
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $(#[derive($($derived:ident),+)])?
        $Name:ident = $section:literal {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $Type:ty = $default:literal, $unit:literal, $shape:expr;
            )+
        }
        $(ordered { $($low:ident <= $high:ident),+ $(,)? })?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        $(#[derive($($derived),+)])?
        #[serde(deny_unknown_fields)]
        pub struct $Name {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("\n\nUnit: ", $unit, ". Default: `", $default, "`. Takes: `", stringify!($shape), "`.")]
                pub $field: $Type,
            )+
        }

        impl $Name {
            pub const SECTION: $crate::Section = $crate::Section {
                name: $section,
                about: concat!($($about),+),
                fields: &[
                    $($crate::Field {
                        section: std::borrow::Cow::Borrowed($section),
                        name: stringify!($field),
                        meaning: concat!($($doc),+),
                        unit: $unit,
                        default: $default,
                        shape: $shape,
                    }),+
                ],
                ordered: &[$($((stringify!($low), stringify!($high))),+)?],
            };
        }

        impl Default for $Name {
            fn default() -> Self {
                static DEFAULT: std::sync::OnceLock<$Name> = std::sync::OnceLock::new();
                DEFAULT.get_or_init(|| $crate::parts::default_of(&Self::SECTION)).clone()
            }
        }
    };
}

/// Declares a closed set of words.
#[macro_export]
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

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
