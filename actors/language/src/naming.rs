//! When two names mean the same: case, `_` and `-`, plural, articles and the order of the words before the head don't
//! matter; the head (the last word) does, so that a dog house is no house dog.

use unicode_normalization::UnicodeNormalization;

/// Similarity from which two names are one concept by default, 0 to 1.
pub const SAME: f64 = 0.8;
/// Letters of a word from which one typing error is forgiven.
const LONG_WORD: usize = 5;
/// What one typing error leaves of a word's likeness.
const MISTYPED: f64 = 0.9;

/// Plurals that no rule makes.
const IRREGULAR: [(&str, &str); 22] = [
    ("children", "child"),
    ("feet", "foot"),
    ("geese", "goose"),
    ("halves", "half"),
    ("indices", "index"),
    ("knives", "knife"),
    ("leaves", "leaf"),
    ("lives", "life"),
    ("loaves", "loaf"),
    ("matrices", "matrix"),
    ("men", "man"),
    ("mice", "mouse"),
    ("oxen", "ox"),
    ("people", "person"),
    ("phenomena", "phenomenon"),
    ("shelves", "shelf"),
    ("teeth", "tooth"),
    ("thieves", "thief"),
    ("wives", "wife"),
    ("wolves", "wolf"),
    ("women", "woman"),
    ("movies", "movie"),
];

/// Words that end in s and are no plural.
const SINGULAR: [&str; 22] = [
    "always",
    "as",
    "bias",
    "bus",
    "canvas",
    "chaos",
    "christmas",
    "compass",
    "cosmos",
    "gas",
    "his",
    "its",
    "lens",
    "mathematics",
    "news",
    "physics",
    "plus",
    "series",
    "species",
    "this",
    "us",
    "was",
];

/// The words of a name in their singular, lower case, in order; articles dropped. "mug, coffee" is read "coffee mug".
pub fn normal_words(name: &str) -> Vec<String> {
    let plain: String = name.nfkc().collect();
    let inverted = plain.split_once(", ").filter(|(head, rest)| {
        let words = |text: &str| text.split_whitespace().count();
        words(head) == 1 && words(rest) <= 2 && !rest.contains(',')
    });
    let plain = inverted.map_or(plain.clone(), |(head, rest)| format!("{rest} {head}"));
    let lower = humps_apart(&plain).to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '.' && c != '+' && c != '#');
    words
        .map(|word| word.trim_matches(['\'', '.']))
        .map(|word| word.strip_suffix("'s").unwrap_or(word))
        .filter(|word| !word.is_empty() && !["a", "an", "the"].contains(word))
        .map(singular)
        .collect()
}

/// "coffeeMug" as "coffee Mug".
fn humps_apart(name: &str) -> String {
    let mut apart = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            apart.push(' ');
        }
        apart.push(c);
        before = c;
    }
    apart
}

/// The singular of an English word; a word that is none stays as it is.
pub fn singular(word: &str) -> String {
    if let Some((_, one)) = IRREGULAR.iter().find(|(many, _)| *many == word) {
        return (*one).to_owned();
    }
    let short = word.chars().count() <= 3;
    if short || SINGULAR.contains(&word) || !word.chars().all(char::is_alphabetic) {
        return word.to_owned();
    }
    let cut = |letters: usize| word[..word.len() - letters].to_owned();
    if word.ends_with("ies") && word.len() > 4 {
        return cut(3) + "y";
    }
    if ["sses", "ches", "shes", "xes", "zzes", "oes"].iter().any(|end| word.ends_with(end)) && word != "shoes" {
        return cut(2);
    }
    if word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        return cut(1);
    }
    word.to_owned()
}

/// Equal for names that mean the same by form alone: the words before the head in alphabetical order, then the head.
pub fn key(name: &str) -> String {
    let mut words = normal_words(name);
    let modifiers = words.len().saturating_sub(1);
    words[..modifiers].sort_unstable();
    words.join(" ")
}

/// How alike two names are, 0 to 1, word by word. `meaning` compares two words by what they mean; where one name says
/// what the other leaves open, or says something else in its place, they are not the same thing.
pub fn likeness(a: &str, b: &str, meaning: impl Fn(&str, &str) -> f64) -> f64 {
    let (a, b) = (normal_words(a), normal_words(b));
    let (Some(head_a), Some(head_b)) = (a.last(), b.last()) else { return 0.0 };
    if a.len() != b.len() {
        return 0.0;
    }
    let head = alike(head_a, head_b, &meaning);
    let mut left: Vec<&String> = b[..b.len() - 1].iter().collect();
    let mut least = head;
    for word in &a[..a.len() - 1] {
        let best = left
            .iter()
            .enumerate()
            .map(|(at, other)| (alike(word, other, &meaning), at))
            .max_by(|x, y| x.0.total_cmp(&y.0).then(y.1.cmp(&x.1)));
        let Some((best, at)) = best else { return 0.0 };
        left.remove(at);
        least = least.min(best);
    }
    least
}

fn alike(a: &str, b: &str, meaning: impl Fn(&str, &str) -> f64) -> f64 {
    if a == b {
        return 1.0;
    }
    let numbered = |word: &str| word.chars().any(|c| c.is_ascii_digit());
    if numbered(a) || numbered(b) {
        return 0.0;
    }
    let long = a.chars().count() >= LONG_WORD && b.chars().count() >= LONG_WORD;
    // Two true words may differ in one letter ("gloves", "cloves"), and mistyped first letters are rare.
    let first = a.chars().next() == b.chars().next();
    if long && first && strsim::osa_distance(a, b) == 1 {
        return MISTYPED;
    }
    meaning(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_meaning(_: &str, _: &str) -> f64 {
        0.0
    }

    #[test]
    fn names_of_one_thing_have_one_key() {
        let same = [
            ("coffee_mug", "coffee mug"),
            ("Coffee-Mugs", "the coffee mug"),
            ("mug, coffee", "coffeeMug"),
            ("big red cup", "red big cups"),
            ("Anna's boxes", "anna box"),
            ("mice", "Mouse"),
            ("ﬁles", "file"),
            ("batteries", "battery"),
            ("classes", "class"),
            ("C++", "c++"),
        ];
        for (a, b) in same {
            assert_eq!(key(a), key(b), "{a} and {b}");
        }
    }

    #[test]
    fn names_of_two_things_have_two_keys() {
        let other = [
            ("dog house", "house dog"),
            ("mug of coffee", "coffee mug"),
            ("bus", "bu"),
            ("red cup", "blue cup"),
            ("room 1", "room 2"),
            ("glass", "glas"),
            ("C", "C++"),
            ("news", "new"),
        ];
        for (a, b) in other {
            assert_ne!(key(a), key(b), "{a} and {b}");
        }
    }

    #[test]
    fn a_typing_error_is_forgiven_in_a_long_word_alone() {
        assert!(likeness("coffe mug", "coffee mug", no_meaning) >= SAME);
        assert!(likeness("screwdirver", "screwdriver", no_meaning) >= SAME);
        assert!(likeness("cat", "car", no_meaning) < SAME);
        assert!(likeness("room 12", "room 13", no_meaning) < SAME);
        assert!(likeness("gloves", "cloves", no_meaning) < SAME);
    }

    #[test]
    fn what_one_name_leaves_open_is_not_the_same() {
        let synonyms = |a: &str, b: &str| f64::from(u8::from((a, b) == ("sofa", "couch")));
        assert!(likeness("mug", "coffee mug", synonyms) < SAME);
        assert!(likeness("red sofa", "red couch", synonyms) >= SAME);
        assert!(likeness("red sofa", "blue couch", synonyms) < SAME);
        assert_eq!(likeness("", "x", synonyms), 0.0);
    }
}
