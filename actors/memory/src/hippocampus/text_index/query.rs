//! A query to the index, and the weights of the score.

use maxim_config::{SHARE, Shape, section};

section! {
    /// How well an episode fits a question: a score of shared words, about 1 where all are there, plus these.
    RecallKeys = "recall" {
        /// The share of a neighbour's words that an episode inherits with each step along its sitting.
        neighbour_decay: f64 = "0.6", "share", SHARE;
        /// Steps along the sitting that words reach.
        neighbour_steps: u32 = "5", "steps", Shape::Integer { low: 0, high: 5 };
        /// What of that it inherits where nobody talks, as between the lines of a log.
        silent: f64 = "0.5", "share", SHARE;
        /// What of the words stands anywhere in the sitting.
        sitting: f64 = "0.15", "weight", SHARE;
        /// It was on a day that the question names.
        date: f64 = "0.3", "weight", SHARE;
        /// Taken off where none of the people is named in the question; a quarter of it where two people are known.
        other_people: f64 = "0.8", "weight", SHARE;
        /// It speaks of somebody whom the question names.
        mention: f64 = "0.2", "weight", SHARE;
        /// What of the words stands just before, so that this may answer it.
        answer: f64 = "0.2", "weight", SHARE;
        /// Taken off what asks itself.
        question: f64 = "0.05", "weight", SHARE;
        /// What the next one inherits of the best, where the question asks for what came after them, or before.
        follow: f64 = "0.7", "share", SHARE;
        /// For each of a time, a name and the first person that the question asks for.
        particular: f64 = "0.03", "weight", SHARE;
        /// Words of near meaning that may stand for one of the question.
        related_words: u32 = "5", "words", Shape::Integer { low: 0, high: 20 };
        /// A word that is alike by its letters, in a question of another language than English.
        word_forms: f64 = "1.0", "weight", SHARE;
        /// Likeness in meaning.
        meaning: f64 = "0.3", "weight", SHARE;
        /// The same of its neighbours in the sitting.
        meaning_near: f64 = "0.2", "weight", SHARE;
        /// Likeness in meaning where an encoder outside of the program tells it (`encoder`).
        encoder_meaning: f64 = "0.33", "weight", SHARE;
        /// The same of its neighbours in the sitting.
        encoder_meaning_near: f64 = "0.49", "weight", SHARE;
    }
}

/// Weights of the parts of the score, in the index's own numbers. The defaults lie on plateaus: changing one by half
/// costs less than a point of recall@10 on dialogues.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// Share of a neighbour's hit that a document inherits per step within its session, in [0, 1]; 0 switches
    /// spreading off.
    pub neighbour_decay: f32,
    /// Steps that a hit reaches, 0 to 5.
    pub neighbour_steps: usize,
    /// Factor on that inheritance where nobody talks, in [0, 1]: neighbours of a reading or a log line are seldom
    /// about the same subject.
    pub silent: f32,
    /// Weight of the coverage by the whole session.
    pub sitting: f32,
    /// Weight of a date in the question that fits the document's.
    pub date: f32,
    /// Subtracted from a document when the question names none of its people, times the square of the share of other
    /// people. (With two known people, that share squared is a quarter. The more people are known, the more a name
    /// tells.) More is subtracted if the name is rarer than the words beside it.
    pub other: f32,
    /// Weight of speaking about a named person who isn't present.
    pub mention: f32,
    /// Weight of the question's coverage by the text just before.
    pub answer: f32,
    /// Subtracted from a document that ends with a question mark.
    pub question: f32,
    /// Share of the best documents that the following ones inherit, when the question asks for what came after them
    /// (or before).
    pub follow: f32,
    /// Added for each of time word, name and first person that the question asks for.
    pub particular: f32,
    /// Number of stems near in meaning that may stand for one of the question, 0 to 20. More find no more on
    /// dialogues, and cost their postings.
    pub related: usize,
    /// Weight of a stem that is similar only by its letters, in a question not in English.
    pub forms: f32,
    /// Weight of the cosine between the question and the document.
    pub alike: f32,
    /// Weight of the same, averaged over the neighbours in the session.
    pub alike_near: f32,
    /// Both weights for an external encoder. It understands sentences better than the embedded table, so it weighs
    /// more.
    pub meant: f32,
    pub meant_near: f32,
}

impl From<&RecallKeys> for Weights {
    fn from(keys: &RecallKeys) -> Self {
        Self {
            neighbour_decay: keys.neighbour_decay as f32,
            neighbour_steps: keys.neighbour_steps as usize,
            silent: keys.silent as f32,
            sitting: keys.sitting as f32,
            date: keys.date as f32,
            other: keys.other_people as f32,
            mention: keys.mention as f32,
            answer: keys.answer as f32,
            question: keys.question as f32,
            follow: keys.follow as f32,
            particular: keys.particular as f32,
            related: keys.related_words as usize,
            forms: keys.word_forms as f32,
            alike: keys.meaning as f32,
            alike_near: keys.meaning_near as f32,
            meant: keys.encoder_meaning as f32,
            meant_near: keys.encoder_meaning_near as f32,
        }
    }
}

impl Default for Weights {
    fn default() -> Self {
        Self::from(&RecallKeys::default())
    }
}

impl Weights {
    /// The same score without spreading: only the document's own text, no session, no carried answer. The weight of
    /// the neighbours' meaning goes to the document's own.
    pub fn without_spreading() -> Self {
        Self {
            neighbour_steps: 0,
            sitting: 0.0,
            answer: 0.0,
            follow: 0.0,
            alike: 0.5,
            alike_near: 0.0,
            ..Self::default()
        }
    }

    /// Only words, as without an encoder.
    pub fn words_alone() -> Self {
        Self { related: 0, forms: 0.0, alike: 0.0, alike_near: 0.0, ..Self::default() }
    }
}

/// Documents near in meaning to a question; they are found even if they share no word with it.
#[derive(Clone, Debug, Default)]
pub struct Meant {
    /// Ascending, with their similarity; 0 is what chance gives.
    pub near: Vec<(u32, f32)>,
    /// A lower similarity alone is no reason to be found.
    pub floor: f32,
}

impl Meant {
    /// A document that isn't near counts as unrelated.
    pub(super) fn of(&self, document: u32) -> f32 {
        self.near.binary_search_by_key(&document, |(near, _)| *near).map_or(0.0, |at| self.near[at].1)
    }
}

/// A query to the index.
#[derive(Clone, Debug, Default)]
pub struct Query<'a> {
    pub text: &'a str,
    pub weights: Weights,
    /// What an external encoder finds near; it replaces the index's own vectors.
    pub meant: Option<&'a Meant>,
    /// The document in which the question was asked. Its words are the question's own, so they don't count and aren't
    /// inherited.
    pub asked_in: Option<u32>,
    /// The question isn't in the speaker's words: its first person is nobody known.
    pub is_thought: bool,
}

impl<'a> Query<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, ..Self::default() }
    }

    /// With what another encoder finds near.
    pub fn meaning(text: &'a str, meant: &'a Meant) -> Self {
        Self { text, meant: Some(meant), ..Self::default() }.weighing(&Weights::default())
    }

    /// Uses these weights.
    pub fn weighing(self, by: &Weights) -> Self {
        let weights = match self.meant {
            Some(_) => Weights { alike: by.meant, alike_near: by.meant_near, ..by.clone() },
            None => by.clone(),
        };
        Self { weights, ..self }
    }

    pub fn asked_in(self, document: Option<u32>) -> Self {
        Self { asked_in: document, ..self }
    }

    pub fn thought(self, is_thought: bool) -> Self {
        Self { is_thought, ..self }
    }
}

/// Why a document was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Words of the question or similar ones, a question just before it that has them, or its day.
    Words,
    /// Only words of its neighbours in the session.
    Neighbours,
    /// Only by its meaning.
    Meaning,
}

/// A found document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    pub document: u32,
    /// Coverage of the question (about 0 to 2) plus the other parts of the score; comparable between questions.
    pub score: f32,
    pub by: By,
}

/// The better first; among equals the newer.
pub(super) fn order(a: &Hit, b: &Hit) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then(b.document.cmp(&a.document))
}
