//! The sections of a stage together, and the defaults of one.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Field, Section, Shape};

/// Declares the sections of a stage as one struct, in which each field is called as its section in the file.
#[macro_export]
macro_rules! sections {
    ($(#[$about:meta])* $Name:ident { $($field:ident: $Section:ty),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $Name {
            $(pub $field: $Section,)+
        }

        impl $Name {
            /// What is known of each section.
            pub const ALL: &'static [$crate::Section] =
                &[$($crate::parts::named(stringify!($field), <$Section>::SECTION)),+];
        }
    };
}

/// A section of this name; any other name ends the build.
pub const fn named(field: &str, section: Section) -> Section {
    let (field, name) = (field.as_bytes(), section.name.as_bytes());
    assert!(field.len() == name.len(), "the field must be called as its section");
    let mut at = 0;
    while at < name.len() {
        assert!(field[at] == name[at], "the field must be called as its section");
        at += 1;
    }
    section
}

/// A section in which every key has its default.
pub fn default_of<T: DeserializeOwned>(section: &Section) -> T {
    let values: Map<String, Value> =
        section.fields.iter().map(|field| (field.name.to_owned(), default_value(field))).collect();
    serde_json::from_value(Value::Object(values))
        .unwrap_or_else(|error| panic!("the defaults of [{}] are wrong: {error}", section.name))
}

fn default_value(field: &Field) -> Value {
    let text = field.default;
    match field.shape {
        _ if text.is_empty() && field.is_optional() => Value::Null,
        Shape::Flag => text.parse().map_or(Value::Null, Value::Bool),
        Shape::Integer { .. } => text.parse::<u64>().map_or(Value::Null, Value::from),
        Shape::Real { .. } => text.parse::<f64>().map_or(Value::Null, Value::from),
        Shape::Texts { .. } => text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{ByteCount, Span};

    use super::*;

    crate::choice! {
        /// How loud.
        Loudness { Low = "low", High = "high" }
    }

    crate::section! {
        /// One key of each kind.
        Kinds = "kinds" {
            /// A flag.
            on: bool = "true", "", Shape::Flag;
            /// A count.
            count: usize = "7", "things", Shape::Integer { low: 1, high: 9 };
            /// A share.
            low: f64 = "0.25", "share", crate::SHARE;
            /// Another.
            high: f64 = "1", "share", crate::SHARE;
            /// A time.
            time: Span = "30days", "time", Shape::Span { low: "1s", high: "365days" };
            /// An amount.
            size: ByteCount = "64 KiB", "bytes", Shape::Size { low: "1 KiB", high: "1 MiB" };
            /// A word.
            loudness: Loudness = "high", "", Shape::Choice(Loudness::WORDS);
            /// Words.
            words: Vec<String> = "a, b", "", Shape::Texts { required: false };
            /// No words.
            none: Vec<String> = "", "", Shape::Texts { required: false };
            /// A text that may be left out.
            text: Option<String> = "", "", Shape::Text;
        }
        ordered { low <= high }
    }

    crate::sections! {
        /// A stage with one section.
        Stage { kinds: Kinds }
    }

    #[test]
    fn a_section_is_made_of_its_defaults() {
        let Stage { kinds } = Stage::default();
        let Kinds { on, count, low, high, time, size, loudness, words, none, text } = kinds;
        assert_eq!((on, count, low, high), (true, 7, 0.25, 1.0));
        assert_eq!(time.get().as_secs(), 30 * 86_400);
        assert_eq!((size, loudness.word()), (ByteCount::new(65_536), "high"));
        assert_eq!((words, none, text), (vec!["a".into(), "b".into()], Vec::<String>::new(), None));
        assert_eq!(Stage::ALL[0].ordered, [("low", "high")]);
        assert_eq!(Stage::ALL[0].fields[4].key(), "kinds.time");
    }

    #[test]
    #[should_panic(expected = "the defaults of [wrong] are wrong")]
    fn a_default_that_is_no_value_is_told_with_its_section() {
        crate::section! {
            /// A number that is none.
            Wrong = "wrong" {
                /// A count.
                count: u32 = "many", "things", Shape::Integer { low: 0, high: 9 };
            }
        }
        let _ = Wrong::default();
    }
}
