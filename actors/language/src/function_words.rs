//! Function words of languages beside English, left out of a question in that language: "¿Por qué hay una cerradura nueva?"
//! asks for a lock. They are left out of questions alone, so that what was indexed before is found as before.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::words::{Word, is_stop_word};

/// The commonest function words of a language, question words, pronouns and auxiliaries among them.
type Language = &'static [&'static str];

const GERMAN: Language = &[
    "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines", "und", "oder", "aber",
    "nicht", "kein", "keine", "ist", "sind", "war", "waren", "sein", "bin", "bist", "hat", "habe", "haben", "hatte",
    "wird", "werden", "wurde", "kann", "können", "soll", "muss", "ich", "du", "er", "sie", "es", "wir", "ihr", "mir",
    "mich", "dir", "dich", "uns", "euch", "ihm", "ihn", "ihnen", "mein", "meine", "meinem", "meinen", "meiner", "dein",
    "deine", "sein", "seine", "unser", "unsere", "in", "im", "an", "am", "auf", "aus", "bei", "beim", "mit", "nach",
    "von", "vom", "vor", "zu", "zum", "zur", "für", "über", "unter", "um", "durch", "wie", "was", "wer", "wem", "wen",
    "wo", "wohin", "woher", "wann", "warum", "wieso", "welche", "welcher", "welches", "denn", "noch", "schon", "auch",
    "so", "als", "wenn", "dass", "ob", "da", "hier", "man", "sich", "dieser", "diese", "dieses", "viel", "viele",
];
const FRENCH: Language = &[
    "le", "la", "les", "l", "un", "une", "des", "du", "de", "d", "et", "ou", "mais", "ne", "n", "pas", "est", "sont",
    "était", "étaient", "être", "suis", "es", "a", "ai", "as", "ont", "avons", "avez", "avait", "avoir", "je", "j",
    "tu", "il", "elle", "on", "nous", "vous", "ils", "elles", "me", "m", "te", "t", "se", "s", "lui", "leur", "leurs",
    "mon", "ma", "mes", "ton", "ta", "tes", "son", "sa", "ses", "notre", "nos", "votre", "vos", "ce", "c", "cet",
    "cette", "ces", "à", "au", "aux", "en", "dans", "sur", "sous", "avec", "sans", "pour", "par", "chez", "vers",
    "que", "qu", "qui", "quoi", "quel", "quelle", "quels", "quelles", "où", "quand", "comment", "pourquoi", "combien",
    "y", "si", "plus", "très", "aussi", "dont", "fait", "été",
];
const SPANISH: Language = &[
    "el", "la", "los", "las", "lo", "un", "una", "unos", "unas", "de", "del", "y", "o", "pero", "no", "es", "son",
    "era", "eran", "ser", "está", "están", "estaba", "soy", "ha", "he", "han", "hay", "había", "haber", "tiene", "yo",
    "tú", "él", "ella", "nosotros", "ellos", "ellas", "me", "te", "se", "le", "les", "nos", "mi", "mis", "tu", "tus",
    "su", "sus", "nuestro", "nuestra", "a", "al", "en", "con", "sin", "por", "para", "sobre", "entre", "hasta",
    "desde", "que", "qué", "quién", "quiénes", "cuál", "cuáles", "dónde", "adónde", "cuándo", "cómo", "cuánto",
    "cuánta", "cuántos", "cuántas", "este", "esta", "ese", "esa", "eso", "esto", "como", "si", "más", "muy", "también",
    "fue",
];
const ITALIAN: Language = &[
    "il", "lo", "la", "i", "gli", "le", "l", "un", "uno", "una", "di", "del", "della", "dei", "delle", "d", "e", "o",
    "ma", "non", "è", "sono", "era", "erano", "essere", "ho", "hai", "ha", "abbiamo", "hanno", "avere", "io", "tu",
    "lui", "lei", "noi", "voi", "loro", "mi", "ti", "si", "ci", "vi", "mio", "mia", "miei", "mie", "tuo", "tua", "suo",
    "sua", "nostro", "nostra", "a", "al", "alla", "ai", "in", "nel", "nella", "con", "su", "sul", "sulla", "per", "da",
    "dal", "dalla", "che", "chi", "cosa", "quale", "quali", "dove", "quando", "come", "perché", "quanto", "quanti",
    "questo", "questa", "quello", "quella", "se", "più", "anche", "c", "cui", "stato", "stata",
];
const PORTUGUESE: Language = &[
    "o", "a", "os", "as", "um", "uma", "de", "do", "da", "dos", "das", "e", "ou", "mas", "não", "é", "são", "era",
    "eram", "ser", "está", "estão", "estava", "foi", "tem", "têm", "há", "eu", "tu", "você", "ele", "ela", "nós",
    "eles", "elas", "me", "te", "se", "lhe", "nos", "meu", "minha", "meus", "minhas", "seu", "sua", "nosso", "nossa",
    "em", "no", "na", "nos", "nas", "ao", "à", "com", "sem", "por", "pelo", "pela", "para", "sobre", "que", "quem",
    "qual", "quais", "onde", "quando", "como", "porque", "quanto", "quantos", "quantas", "este", "esta", "esse",
    "essa", "isso", "mais", "também", "já",
];
const DUTCH: Language = &[
    "de", "het", "een", "en", "of", "maar", "niet", "geen", "is", "zijn", "was", "waren", "ben", "bent", "heb", "hebt",
    "heeft", "hebben", "had", "wordt", "worden", "werd", "kan", "kunnen", "moet", "ik", "jij", "je", "hij", "zij",
    "ze", "wij", "we", "jullie", "mij", "me", "hem", "haar", "ons", "hun", "mijn", "jouw", "zijn", "onze", "in", "op",
    "aan", "uit", "bij", "met", "naar", "van", "voor", "te", "over", "onder", "om", "door", "hoe", "wat", "wie",
    "waar", "wanneer", "waarom", "welke", "welk", "nog", "ook", "al", "er", "dan", "als", "dat", "die", "dit", "deze",
    "hier", "veel", "gedaan",
];
const LANGUAGES: [Language; 6] = [GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH];
/// A bit for each language that has the word.
static LANGUAGES_OF: LazyLock<FxHashMap<&str, u8>> = LazyLock::new(|| {
    let mut languages = FxHashMap::default();
    for (at, words) in LANGUAGES.iter().enumerate() {
        words.iter().for_each(|word| *languages.entry(*word).or_default() |= 1 << at);
    }
    languages
});

/// Function words from which on a text is taken to be of their language: one alone may be a word of another.
const FEWEST: usize = 2;

/// The function words of the language that the words are of; none where that is English, or nobody knows.
pub fn function_words_of(words: &[Word]) -> Language {
    let english = words.iter().filter(|word| is_stop_word(&word.text)).count();
    let languages: Vec<u8> = words.iter().filter_map(|word| LANGUAGES_OF.get(word.text.as_str()).copied()).collect();
    let count = |at: usize| languages.iter().filter(|of| **of >> at & 1 == 1).count();
    let counted = LANGUAGES.iter().enumerate().map(|(at, language)| (count(at), *language));
    // Of equals the first: they share what is common to both.
    let best = counted.reduce(|best, one| if one.0 > best.0 { one } else { best });
    best.filter(|(count, _)| *count >= FEWEST && *count > english).map_or(&[], |(_, language)| language)
}

#[cfg(test)]
mod tests {
    use super::super::words::words;
    use super::*;

    fn left(question: &str) -> Vec<String> {
        let words = words(question);
        let function_words = function_words_of(&words);
        words.into_iter().map(|word| word.text).filter(|word| !function_words.contains(&word.as_str())).collect()
    }

    #[test]
    fn a_question_keeps_what_it_asks_for() {
        assert_eq!(left("¿Por qué hay una cerradura nueva?"), ["cerradura", "nueva"]);
        assert_eq!(left("Wo ist der Schlüssel zum Keller?"), ["schlüssel", "keller"]);
        assert_eq!(left("Qu'est devenu le vélo qu'on m'avait pris ?"), ["devenu", "vélo", "pris"]);
        assert_eq!(left("Dove sono le chiavi della cantina?"), ["chiavi", "cantina"]);
        assert_eq!(left("Waar is de sleutel van de kelder?"), ["sleutel", "kelder"]);
        assert_eq!(left("Onde está a chave do porão?"), ["chave", "porão"]);
    }

    #[test]
    fn what_is_english_or_of_no_known_language_keeps_all() {
        for question in
            ["where is the die for the press?", "what was in the hat of Al?", "Schlüssel", "サーバー de Köln"]
        {
            assert_eq!(left(question).len(), words(question).len(), "{question}");
        }
    }
}
