//! The questions to the index, and the weights of the score.

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
    /// Part of this that a document inherits if nobody talks, in [0, 1]: neighbours of a reading or a log line seldom
    /// have the same subject.
    pub silent: f32,
    /// Weight of the coverage by the whole session.
    pub sitting: f32,
    /// Weight of a date in the question that fits the document's.
    pub date: f32,
    /// Penalty of a document of people whom the question doesn't name, times the share of other people squared. A
    /// quarter of it if the store knows two people: the more people, the more a name tells. More if the name is rarer
    /// than the words beside it.
    pub other: f32,
    /// Weight of speaking of a named person who is absent.
    pub mention: f32,
    /// Weight of the question's coverage by the turn just before.
    pub answer: f32,
    /// Penalty of a document that ends with a question mark.
    pub question: f32,
    /// Share of the best documents' score that following documents inherit if the question asks for what came after (or
    /// before).
    pub follow: f32,
    /// Added for each of time word, name and first person that the question asks for.
    pub particular: f32,
    /// Stems of near meaning that may stand for a stem of the question, 0 to 20. More don't find more on dialogues, and
    /// cost their postings.
    pub related: usize,
    /// Weight of a stem that is only similar by its letters, in a question of another language than English.
    pub forms: f32,
    /// Weight of the cosine between the question and the document.
    pub alike: f32,
    /// Weight of the same, averaged over the neighbours in the session.
    pub alike_near: f32,
    /// Both if an external encoder reads them: it reads sentences better than the embedded table, so it weighs more.
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
    /// The same score without any spreading: own text only, no sitting, no carried answer. The weight of the
    /// neighbours' meaning goes to the document's own.
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

    /// Words only, as without an encoder.
    pub fn words_alone() -> Self {
        Self { related: 0, forms: 0.0, alike: 0.0, alike_near: 0.0, ..Self::default() }
    }
}

/// Documents near in meaning to a question; they are found even without a common word.
#[derive(Clone, Debug, Default)]
pub struct Meant {
    /// Ascending, with their likeness; 0 is the likeness by chance.
    pub near: Vec<(u32, f32)>,
    /// Less likeness alone doesn't make a hit.
    pub floor: f32,
}

impl Meant {
    /// A document that isn't near counts as similar by chance.
    pub(super) fn of(&self, document: u32) -> f32 {
        self.near.binary_search_by_key(&document, |(near, _)| *near).map_or(0.0, |at| self.near[at].1)
    }
}

/// A query to the index.
#[derive(Clone, Debug, Default)]
pub struct Query<'a> {
    pub text: &'a str,
    pub weights: Weights,
    /// What an external encoder finds near, in place of the index's own vectors.
    pub meant: Option<&'a Meant>,
    /// The document in which the question is asked. Its words are the question's own, so they say nothing, and lend
    /// nothing to others.
    pub asked_in: Option<u32>,
    /// It is not in the words of that document's speaker: its first person is nobody known.
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

    /// Uses these weights for the score.
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
    /// Words of the question or related ones, a question just before it that has them, or its day.
    Words,
    /// Only words of its neighbours in the sitting.
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

/// Better first; of equals the newer.
pub(super) fn order(a: &Hit, b: &Hit) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then(b.document.cmp(&a.document))
}
