//! What a text goes through before its words are looked up, as `tokenizer.json` writes it: changes, then cuts.

use std::borrow::Cow;

use fancy_regex::Regex;
use unicode_normalization::UnicodeNormalization;

use super::charsmap::Charsmap;

/// A change of the text.
#[derive(Debug)]
pub(super) enum Step {
    /// A text before any that isn't empty.
    Prepend(String),
    /// One text by another.
    Replace(String, String),
    /// What matches by a text.
    ReplaceMatches(Regex, String),
    /// Normal form C, KC, D or KD.
    Compose,
    ComposeCompatible,
    Decompose,
    DecomposeCompatible,
    Lowercase,
    Charsmap(Charsmap),
}

/// How blanks become a mark that can be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Metaspace {
    pub mark: char,
    pub prepends: Prepends,
    /// Whether each word is looked up by itself.
    pub splits: bool,
}

/// Before which parts of a text that don't begin with the mark it is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prepends {
    Never,
    /// The text's first.
    First,
    Always,
}

#[derive(Debug)]
pub(super) enum Cutter {
    /// What matches is a word; what lies between is dropped.
    Words(Regex),
    Metaspace(Metaspace),
}

/// Changes and cuts, each in order.
#[derive(Debug, Default)]
pub(super) struct Preparing {
    pub steps: Vec<Step>,
    pub cutters: Vec<Cutter>,
}

impl Preparing {
    /// The sum over all words of a text.
    pub fn sum(&self, text: &str, count: &dyn Fn(&str) -> usize) -> usize {
        let text = self.steps.iter().fold(Cow::Borrowed(text), |text, step| step.done(text));
        cut(&text, true, &self.cutters, count)
    }
}

/// `is_first`: the part begins where the text does.
fn cut(part: &str, is_first: bool, cutters: &[Cutter], count: &dyn Fn(&str) -> usize) -> usize {
    let Some((cutter, rest)) = cutters.split_first() else { return count(part) };
    match cutter {
        Cutter::Words(words) => {
            let found = words.find_iter(part).map_while(Result::ok);
            found.map(|word| cut(word.as_str(), is_first && word.start() == 0, rest, count)).sum()
        }
        Cutter::Metaspace(Metaspace { mark, prepends, splits }) => {
            let mut marked = part.replace(' ', mark.encode_utf8(&mut [0; 4]));
            let prepends = *prepends == Prepends::Always || (*prepends == Prepends::First && is_first);
            if prepends && !marked.is_empty() && !marked.starts_with(*mark) {
                marked.insert(0, *mark);
            }
            if !splits {
                return cut(&marked, is_first, rest, count);
            }
            let starts = marked.char_indices().filter(|(at, c)| *at > 0 && c == mark).map(|(at, _)| at);
            let mut from = 0;
            let ends = starts.chain([marked.len()]);
            ends.map(|end| {
                let start = std::mem::replace(&mut from, end);
                cut(&marked[start..end], is_first && start == 0, rest, count)
            })
            .sum()
        }
    }
}

impl Step {
    fn done<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        match self {
            Self::Prepend(prefix) if !text.is_empty() => format!("{prefix}{text}").into(),
            Self::Prepend(_) => text,
            Self::Replace(what, with) => text.replace(what.as_str(), with).into(),
            Self::ReplaceMatches(what, with) => what.replace_all(&text, with.as_str()).into_owned().into(),
            Self::Lowercase => text.chars().flat_map(char::to_lowercase).collect::<String>().into(),
            Self::Charsmap(map) => map.mapped(&text).into(),
            Self::Compose | Self::ComposeCompatible | Self::Decompose | Self::DecomposeCompatible
                if text.is_ascii() =>
            {
                text
            }
            Self::Compose => text.nfc().collect::<String>().into(),
            Self::ComposeCompatible => text.nfkc().collect::<String>().into(),
            Self::Decompose => text.nfd().collect::<String>().into(),
            Self::DecomposeCompatible => text.nfkd().collect::<String>().into(),
        }
    }
}
