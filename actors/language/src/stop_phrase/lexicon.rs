//! The words of a stop, read from one text file for each language.
//!
//! A file has sections, `[stop]` and so on, see [`Class`]; an entry stands alone on its line, `#` begins a remark. A section of
//! any other name is a list for `{name}`, which stands in an entry for each of that list. Whoever speaks the language can read
//! and mend its file without knowing the program. All languages are in force, because people shout in their own. An utterance is
//! of one of them, with English words and the agent's own among its words: what is "and" in one language is "is" in another.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use super::normal::{self, Token};

/// Language, and its words.
const LANGUAGES: &[(&str, &str)] = &[
    ("en", include_str!("words/en.txt")),
    ("ar", include_str!("words/ar.txt")),
    ("bg", include_str!("words/bg.txt")),
    ("bn", include_str!("words/bn.txt")),
    ("ca", include_str!("words/ca.txt")),
    ("cs", include_str!("words/cs.txt")),
    ("da", include_str!("words/da.txt")),
    ("de", include_str!("words/de.txt")),
    ("el", include_str!("words/el.txt")),
    ("es", include_str!("words/es.txt")),
    ("et", include_str!("words/et.txt")),
    ("fa", include_str!("words/fa.txt")),
    ("fi", include_str!("words/fi.txt")),
    ("fr", include_str!("words/fr.txt")),
    ("gu", include_str!("words/gu.txt")),
    ("he", include_str!("words/he.txt")),
    ("hi", include_str!("words/hi.txt")),
    ("hr", include_str!("words/hr.txt")),
    ("hu", include_str!("words/hu.txt")),
    ("id", include_str!("words/id.txt")),
    ("it", include_str!("words/it.txt")),
    ("ja", include_str!("words/ja.txt")),
    ("kn", include_str!("words/kn.txt")),
    ("ko", include_str!("words/ko.txt")),
    ("lt", include_str!("words/lt.txt")),
    ("lv", include_str!("words/lv.txt")),
    ("ml", include_str!("words/ml.txt")),
    ("mr", include_str!("words/mr.txt")),
    ("nl", include_str!("words/nl.txt")),
    ("no", include_str!("words/no.txt")),
    ("pa", include_str!("words/pa.txt")),
    ("pl", include_str!("words/pl.txt")),
    ("pt", include_str!("words/pt.txt")),
    ("ro", include_str!("words/ro.txt")),
    ("ru", include_str!("words/ru.txt")),
    ("sk", include_str!("words/sk.txt")),
    ("sl", include_str!("words/sl.txt")),
    ("sr", include_str!("words/sr.txt")),
    ("sv", include_str!("words/sv.txt")),
    ("sw", include_str!("words/sw.txt")),
    ("ta", include_str!("words/ta.txt")),
    ("te", include_str!("words/te.txt")),
    ("th", include_str!("words/th.txt")),
    ("tl", include_str!("words/tl.txt")),
    ("tr", include_str!("words/tr.txt")),
    ("uk", include_str!("words/uk.txt")),
    ("ur", include_str!("words/ur.txt")),
    ("vi", include_str!("words/vi.txt")),
    ("zh", include_str!("words/zh.txt")),
];

/// The language that is mixed into all others. Its word of refusal may stand before a stop without a mark between them: "no
/// stop". In others that is as often "doesn't stop".
const ENGLISH: &str = "en";

/// What an entry is in an utterance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A command to stop by itself.
    Stop,
    /// One beside a name, urgency or an object.
    Weak,
    /// What is stopped, before or behind the command.
    Object,
    /// What stands behind the command alone: "it", "moving".
    After,
    Urgency,
    Please,
    Vocative,
    Interjection,
    /// A refusal that may stand right before a command.
    No,
    /// While a body moves: a word that names nothing by itself.
    Article,
    /// While a body moves: who says it talks of stopping, and wants none.
    Against,
    /// A command that a refusal may stand right before.
    StopAfterNo,
    /// A refusal that means "not" as well, unless a mark cuts it off.
    NoOrNot,
    /// Begins the reason for the stop that was said before it; the rest of the reason is free.
    Reason,
    /// The same, where a mark stands before it.
    Cry,
    /// Begins a reason as well, one that must say what goes wrong: "or the", "before my".
    Clause,
    /// What goes wrong in such a reason, one word: "falls".
    Wrong,
    /// Who says it in a reason tells a story.
    Talk,
    /// Somebody tells of a stop, and commands none.
    Report,
}

const SECTIONS: &[(&str, Class)] = &[
    ("stop", Class::Stop),
    ("weak", Class::Weak),
    ("object", Class::Object),
    ("after", Class::After),
    ("urgency", Class::Urgency),
    ("please", Class::Please),
    ("vocative", Class::Vocative),
    ("interjection", Class::Interjection),
    ("no", Class::No),
    ("article", Class::Article),
    ("against", Class::Against),
    ("reason", Class::Reason),
    ("cry", Class::Cry),
    ("clause", Class::Clause),
    ("wrong", Class::Wrong),
    ("talk", Class::Talk),
    ("report", Class::Report),
];

/// Languages, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Languages(u64);

impl Languages {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(u64::MAX);

    fn of(language: &str) -> Self {
        let place = LANGUAGES.iter().position(|(known, _)| *known == language).filter(|_| language != ENGLISH);
        place.map_or(Self::ALL, |place| Self(1 << place))
    }

    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What an entry is, and in which languages.
pub(super) type Classes = Vec<(Class, Languages)>;

fn add(classes: &mut Classes, class: Class, languages: Languages) {
    match classes.iter_mut().find(|(known, _)| *known == class) {
        Some((_, known)) => *known = known.or(languages),
        None => classes.push((class, languages)),
    }
}

/// The languages in which an entry is of a class.
pub(super) fn languages_of(classes: &[(Class, Languages)], class: Class) -> Languages {
    classes.iter().find(|(known, _)| *known == class).map_or(Languages::default(), |(_, languages)| *languages)
}

/// Entries by their words.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    numbers: HashMap<Box<str>, u32>,
    /// From an inner place of an entry, by its next word, to the next place. The root is 0.
    next: HashMap<(u32, u32), u32>,
    /// What ends at a place.
    ends: Vec<Classes>,
    /// Entries without their gaps, of two letters or more, for what was written or shouted in one.
    glued: HashMap<Box<str>, Classes>,
    /// Bytes of the longest of them.
    longest: usize,
    /// Letters with which an entry begins, each alone: most words begin with none that leads on.
    beginnings: HashSet<[char; 2]>,
    /// Each entry as one text, for near misses, by its number of letters.
    whole: HashMap<usize, HashMap<Box<[char]>, Classes>>,
}

impl Lexicon {
    /// All languages. Read once; every agent of the process shares it.
    pub fn built_in() -> Arc<Self> {
        static BUILT_IN: LazyLock<Arc<Lexicon>> = LazyLock::new(|| {
            let mut lexicon = Lexicon::empty();
            for (language, words) in LANGUAGES {
                lexicon.read(language, words);
            }
            Arc::new(lexicon)
        });
        Arc::clone(&BUILT_IN)
    }

    /// An agent's own: what it is called, and the commands of its configuration.
    pub fn own<N: AsRef<str>, P: AsRef<str>>(names: &[N], phrases: &[P]) -> Self {
        let mut lexicon = Self::empty();
        names.iter().for_each(|name| lexicon.put(name.as_ref(), Class::Vocative, Languages::ALL));
        for phrase in phrases {
            lexicon.put(phrase.as_ref(), Class::Stop, Languages::ALL);
            lexicon.put(phrase.as_ref(), Class::StopAfterNo, Languages::ALL);
        }
        lexicon
    }

    fn empty() -> Self {
        Self { ends: vec![Classes::default()], ..Self::default() }
    }

    fn read(&mut self, language: &str, words: &str) {
        let mut lists: HashMap<&str, Vec<&str>> = HashMap::new();
        let (mut section, languages) = ("", Languages::of(language));
        for line in words.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                Some(name) => section = name,
                None => lists.entry(section).or_default().push(line),
            }
        }
        for (name, class) in SECTIONS {
            for entry in lists.get(name).into_iter().flatten() {
                for written in expanded(entry, &lists, 0) {
                    match class {
                        Class::No if language != ENGLISH => self.put(&written, Class::NoOrNot, languages),
                        class => self.put(&written, *class, languages),
                    }
                    if *class == Class::Stop && language == ENGLISH {
                        self.put(&written, Class::StopAfterNo, languages);
                    }
                }
            }
        }
    }

    /// An entry without a letter is ignored.
    fn put(&mut self, entry: &str, class: Class, languages: Languages) {
        let tokens = normal::tokens(entry);
        if tokens.is_empty() {
            return;
        }
        let mut place = 0;
        for Token { text, .. } in &tokens {
            let count = self.numbers.len() as u32;
            let number = *self.numbers.entry(text.as_str().into()).or_insert(count);
            let ends = &mut self.ends;
            place = *self.next.entry((place, number)).or_insert_with(|| {
                ends.push(Classes::default());
                ends.len() as u32 - 1
            });
        }
        add(&mut self.ends[place as usize], class, languages);
        if matches!(class, Class::Article | Class::Against | Class::Talk | Class::Report | Class::Clause | Class::Wrong)
        {
            return;
        }
        let spaced: Box<[char]> = normal::spaced(&tokens).chars().collect();
        add(self.whole.entry(spaced.len()).or_default().entry(spaced).or_default(), class, languages);
        if matches!(class, Class::Reason | Class::Cry) {
            return;
        }
        let glued = normal::glued(&tokens);
        let letters = glued.chars().count();
        let least = match class {
            Class::Interjection => INTERJECTED,
            _ if languages == Languages::ALL => 2,
            _ => GLUED,
        };
        let mut begins = glued.chars();
        if let (Some(first), Some(second)) = (begins.next(), begins.next())
            && letters >= least
            && class != Class::NoOrNot
        {
            self.beginnings.insert([first, second]);
            self.longest = self.longest.max(glued.len());
            add(self.glued.entry(glued.into()).or_default(), class, languages);
        }
    }

    /// The number of a word; none where no entry has it.
    pub fn number(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    /// From a place within an entry one word on, 0 being before the first.
    pub fn step(&self, place: u32, number: u32) -> Option<u32> {
        self.next.get(&(place, number)).copied()
    }

    /// What ends at a place.
    pub fn ends(&self, place: u32) -> &[(Class, Languages)] {
        &self.ends[place as usize]
    }

    /// The entries that begin here: their lengths in words, and what they are.
    pub fn entries<'t>(&'t self, tokens: &'t [Token]) -> impl Iterator<Item = (usize, &'t [(Class, Languages)])> + 't {
        let mut place = 0;
        let steps = tokens.iter().enumerate().map_while(move |(at, token)| {
            place = self.step(place, self.number(&token.text)?)?;
            Some((at + 1, self.ends(place)))
        });
        steps.filter(|(_, classes)| !classes.is_empty())
    }

    /// Whether a word alone is an entry of a class.
    pub fn is(&self, word: &str, class: Class) -> bool {
        self.languages(word, class) != Languages::NONE
    }

    /// The languages in which a word alone is an entry of a class.
    pub fn languages(&self, word: &str, class: Class) -> Languages {
        let place = self.number(word).and_then(|number| self.step(0, number));
        place.map_or(Languages::NONE, |place| languages_of(self.ends(place), class))
    }

    /// Whether a word may be entries written in one.
    pub fn may_be_glued(&self, word: &str) -> bool {
        let mut letters = word.chars();
        match (letters.next(), letters.next()) {
            (Some(first), Some(second)) => self.beginnings.contains(&[first, second]),
            _ => false,
        }
    }

    /// The entries with which a word that is several in one begins: their lengths in bytes, and what they are.
    pub fn glued_entries<'t>(&'t self, word: &'t str) -> impl Iterator<Item = (usize, &'t [(Class, Languages)])> + 't {
        let ends = word.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= self.longest);
        ends.filter_map(|end| Some((end, self.glued.get(&word[..end])?.as_slice())))
    }

    /// The entries of so many letters, and what they are.
    pub fn whole(&self, letters: usize) -> impl Iterator<Item = (&[char], &[(Class, Languages)])> {
        let all = self.whole.get(&letters).into_iter().flatten();
        all.map(|(entry, classes)| (&**entry, classes.as_slice()))
    }
}

/// Letters that an entry of another language than English has at least where it is written in one with others: "halted" is no
/// Czech.
const GLUED: usize = 4;
/// The same of an interjection: "stopper" is no "stop, er".
const INTERJECTED: usize = 4;
/// How deep lists may stand within lists.
const DEPTH: usize = 3;

/// An entry with each of the words that its lists have.
fn expanded(entry: &str, lists: &HashMap<&str, Vec<&str>>, depth: usize) -> Vec<String> {
    let named = entry.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (name, behind))) = named.filter(|_| depth < DEPTH) else { return vec![entry.to_owned()] };
    let words = lists.get(name).map_or(&[] as &[&str], Vec::as_slice);
    let words = words.iter().flat_map(|word| expanded(word, lists, depth + 1));
    let behind = expanded(behind, lists, depth);
    words.flat_map(|word| behind.iter().map(move |behind| format!("{before}{word}{behind}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_known_sections_and_lists_and_a_word_to_stop() {
        for (language, words) in LANGUAGES {
            let mut lists: HashMap<&str, Vec<&str>> = HashMap::new();
            let mut section = "";
            for line in words.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
                assert_eq!(line, line.trim(), "{language}");
                match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                    Some(name) => section = name,
                    None => lists.entry(section).or_default().push(line),
                }
            }
            assert!(lists.contains_key("stop"), "{language} has no [stop]");
            let used: HashSet<&str> = lists
                .values()
                .flatten()
                .flat_map(|entry| entry.split('{').skip(1).filter_map(|part| part.split_once('}')))
                .map(|(name, _)| name)
                .collect();
            for name in lists.keys().filter(|name| !SECTIONS.iter().any(|(known, _)| known == *name)) {
                assert!(used.contains(name), "{language}: no entry names the list [{name}]");
            }
            for name in used {
                assert!(lists.contains_key(name), "{language}: {{{name}}} is no list");
            }
            for entry in lists.values().flatten() {
                assert!(!normal::tokens(entry).is_empty(), "{language}: {entry:?} has no letter");
            }
        }
    }

    #[test]
    fn lists_stand_for_each_of_their_words() {
        let lists = HashMap::from([("a", vec!["x", "{b}"]), ("b", vec!["y", "z"])]);
        assert_eq!(expanded("one {a} two {b}", &lists, 0).len(), 6);
        assert_eq!(expanded("plain", &lists, 0), ["plain"]);
    }
}
