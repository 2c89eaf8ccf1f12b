//! The numbers of the laws by which the memories learn, room by room. Each default is the law's own; what they are for and
//! where they come from stands beside the laws.

use super::field::section;
use super::{Fault, Settings, Shape, Span};

/// A share of a whole.
const SHARE: Shape = Shape::Real { low: 0.0, high: 1.0 };

section! {
    /// How episodes are joined, and how activation spreads from them.
    HippocampusLaw = "hippocampus" {
        /// How much shared objects, people and words count in an association.
        association_overlap: f64 = "0.6", "share", SHARE;
        /// How much the same goal counts in an association.
        association_goal: f64 = "0.25", "share", SHARE;
        /// How much nearness in time counts in an association.
        association_proximity: f64 = "0.15", "share", SHARE;
        /// The weight from which an association is made.
        association_floor: f64 = "0.5", "share", SHARE;
        /// Associations that an episode makes when it is kept, at most.
        associations_max: u32 = "5", "edges", Shape::Integer { low: 0, high: 32 };
        /// The prediction error above which an outcome gets causes.
        surprise: f64 = "0.3", "share", SHARE;
        /// Causes of one outcome, at most.
        causes_max: u32 = "3", "edges", Shape::Integer { low: 0, high: 16 };
        /// A longer gap without episodes starts a new sitting.
        sitting_gap: Span = "30min", "time", Shape::Span { low: "1s", high: "1day" };
        /// Activation that is left after a hop over an edge of weight 1, here and over the layers of knowledge.
        spreading_decay: f64 = "0.5", "share", Shape::Real { low: 0.01, high: 1.0 };
        /// Hops from where activation begins, where nobody says how many.
        spreading_hops: u32 = "3", "hops", Shape::Integer { low: 1, high: 6 };
        /// Activation below this goes no further and isn't told.
        spreading_floor: f64 = "0.05", "share", Shape::Real { low: 0.001, high: 1.0 };
    }
}

section! {
    /// How well an episode fits a question: a score of shared words, about 1 where all are there, plus these.
    RecallLaw = "recall" {
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

section! {
    /// What sleep keeps of episodes. A score is the sum of access, connectedness and importance, each 0 to 1.
    SleepLaw = "sleep" {
        /// The decay of a memory's trace (ACT-R's d).
        trace_decay: f64 = "0.5", "exponent", Shape::Real { low: 0.01, high: 0.99 };
        /// What nobody recalled for this long is made small, or removed where it is low in score too.
        idle: Span = "7days", "time", Shape::Span { low: "1h", high: "3650days" };
        /// An idle episode of a lower score is removed, unless a person, a success or a pin protects it.
        remove_below: f64 = "0.4", "score", Shape::Real { low: 0.0, high: 4.5 };
        /// An episode of at least this score stays whole.
        whole_from: f64 = "2.0", "score", Shape::Real { low: 0.0, high: 4.5 };
        /// What an edge takes off what is missing to full connectedness, and again what its weight does.
        edge: f64 = "0.15", "share", SHARE;
        /// How much salience counts in importance.
        salience: f64 = "0.3", "weight", SHARE;
        /// How much novelty counts in importance.
        novelty: f64 = "0.2", "weight", SHARE;
        /// How much a success counts in importance.
        success: f64 = "0.25", "weight", SHARE;
        /// How much it counts in importance that a person took part.
        person: f64 = "0.25", "weight", SHARE;
        /// By how much the only episode of its hour of the week counts for more.
        sole_factor: f64 = "1.5", "times", Shape::Real { low: 1.0, high: 10.0 };
    }
}

section! {
    /// How the clocks of day, week, month and year learn, and what is a rhythm.
    ClockLaw = "suprachiasmatic_nucleus" {
        /// How strongly the clocks pull at each other.
        coupling: f64 = "0.002", "radians per hour", SHARE;
        /// How much one moment of full agreement joins two clocks.
        hebb_rate: f64 = "0.05", "share", SHARE;
        /// What a moment leaves of what joined them before.
        hebb_keep: f64 = "0.98", "share", SHARE;
        /// The strongest joint of two clocks.
        hebb_max: f64 = "1.0", "weight", Shape::Real { low: 0.01, high: 100.0 };
        /// The share of rhythms found that may be chance.
        false_discoveries: f64 = "0.05", "share", Shape::Real { low: 0.000_001, high: 1.0 };
        /// Events of a kind at one time under which nothing is said of a rhythm.
        rhythm_events_min: u32 = "4", "events", Shape::Integer { low: 2, high: 10_000 };
    }
}

section! {
    /// How sure the nucleus accumbens is of what it expects. Its learning rate is `memory.nac_alpha`.
    AccumbensLaw = "nucleus_accumbens" {
        /// Kinds of events (a tool with the shape of its parameters) of which it knows what they led to. What is small of each,
        /// a few kilobytes, stays in memory; beyond that many go, those that hurt last.
        kinds_max: u32 = "2000", "kinds", Shape::Integer { low: 16, high: 100_000 };
        /// Confidence before anything was observed.
        confidence_first: f64 = "0.5", "share", SHARE;
        /// What the square root of the number of observations adds to it.
        confidence_growth: f64 = "0.1", "share", SHARE;
        /// Confidence never goes higher.
        confidence_max: f64 = "0.99", "share", SHARE;
        /// After this, half of what age takes off confidence is gone.
        recency_half_life: Span = "30days", "time", Shape::Span { low: "1min", high: "36500days" };
        /// The share of confidence that no age takes off.
        recency_floor: f64 = "0.5", "share", SHARE;
        /// The share of confidence that is left in circumstances that were never met.
        strange_context: f64 = "0.5", "share", SHARE;
        /// Observations in a circumstance that count as much as all others together.
        context_prior: f64 = "4.0", "observations", Shape::Real { low: 0.1, high: 1_000.0 };
        /// The share of confidence that is left where experience is borrowed from what is called alike.
        borrowed: f64 = "0.5", "share", SHARE;
        /// The likeness of names from which one borrows from the other.
        lends_from: f64 = "0.3", "share", Shape::Real { low: 0.01, high: 1.0 };
    }
}

section! {
    /// How much each part counts in the likeness of two situations.
    LikenessLaw = "entorhinal_cortex" {
        /// What was said and meant.
        semantic: f64 = "0.35", "weight", SHARE;
        /// Tool, outcome, objects and people.
        structural: f64 = "0.35", "weight", SHARE;
        /// The time of day, week, month and year.
        temporal: f64 = "0.15", "weight", SHARE;
        /// Goal and mode.
        context: f64 = "0.15", "weight", SHARE;
    }
}

section! {
    /// What is one concept, and how long it stays whole.
    ConceptLaw = "anterior_temporal_lobe" {
        /// The likeness from which two names mean the same.
        same_name: f64 = "0.8", "share", Shape::Real { low: 0.1, high: 1.0 };
        /// A concept that nobody asked for over this time is consolidated in sleep.
        consolidated_after: Span = "30days", "time", Shape::Span { low: "1h", high: "36500days" };
        /// Confidence in what was taught once.
        confidence_first: f64 = "0.5", "share", SHARE;
        /// What the square root of the number of reinforcements adds to it.
        confidence_growth: f64 = "0.1", "share", SHARE;
        /// Confidence never goes higher.
        confidence_max: f64 = "0.99", "share", SHARE;
    }
}

section! {
    /// How long records of numbers stay whole.
    NumberLaw = "angular_gyrus" {
        /// A record that nobody asked for over this time is made small in sleep.
        consolidated_after: Span = "30days", "time", Shape::Span { low: "1h", high: "36500days" };
    }
}

section! {
    /// What the quick sense of numbers notices.
    QuickLaw = "intraparietal_sulcus" {
        /// The difference of two magnitudes that is just noticed (Weber's fraction).
        weber: f64 = "0.15", "share", Shape::Real { low: 0.001, high: 10.0 };
        /// How far off a value is odd, in robust standard deviations.
        odd_from: f64 = "3.5", "deviations", Shape::Real { low: 0.5, high: 100.0 };
        /// How often noise may be taken for order.
        significance: f64 = "0.05", "share", Shape::Real { low: 0.000_001, high: 0.5 };
        /// Values under which nothing is said of chance.
        values_min: u32 = "8", "values", Shape::Integer { low: 4, high: 256 };
    }
}

section! {
    /// When a pattern of a metric is believed.
    PatternLaw = "statistician" {
        /// The quick sense is sure of a pattern that chance makes at most this often.
        sure: f64 = "0.01", "share", Shape::Real { low: 0.000_001, high: 0.5 };
        /// Times in a row that it has to see the pattern.
        times: u32 = "3", "times", Shape::Integer { low: 1, high: 100 };
        /// Values without a pattern after which the exact sense is asked.
        asks_after: u32 = "24", "values", Shape::Integer { low: 8, high: 64 };
        /// A share is given up when the latest values are as improbable as this.
        broken: f64 = "0.01", "share", Shape::Real { low: 0.000_001, high: 0.5 };
        /// Times in a row that another pattern may be missed before it is given up.
        misses: u32 = "2", "times", Shape::Integer { low: 1, high: 100 };
        /// The confidence from which a confirmed pattern is offered for promotion.
        promoted_from: f64 = "0.4", "share", SHARE;
    }
}

section! {
    /// What becomes general knowledge. How sure and how often stands at `memory.promotion_*`.
    PromoterLaw = "semantic_promoter" {
        /// Independent episodes of trusted origin that outweigh one of an outsider.
        witnesses: u32 = "2", "episodes", Shape::Integer { low: 2, high: 100 };
        /// Outcomes from which on it is asked whether they are chance.
        judged_from: u32 = "8", "outcomes", Shape::Integer { low: 4, high: 64 };
    }
}

section! {
    /// When practice makes a skill.
    SkillLaw = "cerebellum" {
        /// Times that the same actions have to reach the same kind of goal before they are a program.
        repetitions: u32 = "3", "times", Shape::Integer { low: 2, high: 6 };
        /// The share of the way to full strength that a success takes.
        gain: f64 = "0.3", "share", SHARE;
        /// The share of its strength that a failure leaves.
        loss: f64 = "0.7", "share", SHARE;
        /// A program of this strength is offered as one step.
        offered_from: f64 = "0.5", "share", SHARE;
        /// A program of less strength is forgotten.
        forgotten_below: f64 = "0.2", "share", SHARE;
        /// The confidence from which it is predicted what a movement does.
        predicts_from: f64 = "0.3", "share", Shape::Real { low: 0.01, high: 1.0 };
        /// How far off a movement is felt, in standard deviations.
        felt_from: f64 = "3.0", "deviations", Shape::Real { low: 0.5, high: 100.0 };
        /// Confidence in what works on what before it was tried; the share of successes scales it.
        confidence_first: f64 = "0.5", "share", SHARE;
        /// What the square root of the number of uses adds to it.
        confidence_growth: f64 = "0.1", "share", SHARE;
        /// It never goes higher.
        confidence_max: f64 = "0.99", "share", SHARE;
    }
}

section! {
    /// What is made of contexts that were alike, and of how asking people went.
    BridgeLaw = "bridges" {
        /// The likeness from which what was done before speaks for whether this is dangerous.
        danger_similar_from: f64 = "0.5", "share", SHARE;
        /// Like contexts without which nothing is said of danger.
        danger_cases_min: u32 = "3", "actions", Shape::Integer { low: 1, high: 12 };
        /// Questions from which something is said of asking.
        asking_cases_min: u32 = "3", "questions", Shape::Integer { low: 1, high: 15 };
        /// The expected share of answers below which asking is of no use.
        asking_unanswered_below: f64 = "0.25", "share", SHARE;
        /// The expected share of yes from which a person needn't be asked.
        asking_trusted_from: f64 = "0.8", "share", SHARE;
        /// The expected share of yes up to which a person wants to be asked.
        asking_unwanted_to: f64 = "0.2", "share", SHARE;
        /// Such counsel holds for this long.
        asking_holds: Span = "7days", "time", Shape::Span { low: "1min", high: "3650days" };
    }
}

section! {
    /// How it is learned which moments are worth keeping.
    SignificanceLaw = "significance" {
        /// Experience after which a kept moment is judged by what it was good for.
        judged_after: Span = "1day", "time", Shape::Span { low: "1min", high: "365days" };
        /// How much one judgement teaches.
        eta: f64 = "0.2", "share", SHARE;
        /// The prediction error above which what is perceived next counts for more.
        surprise: f64 = "0.3", "share", SHARE;
    }
}

/// Lower bounds that stand above the upper bounds beside them.
pub(super) fn contradictions(settings: &Settings) -> Vec<Fault> {
    let Settings { sleep, nucleus_accumbens: accumbens, anterior_temporal_lobe: concepts, cerebellum, bridges, .. } =
        settings;
    let pairs = [
        ("sleep", "remove_below", sleep.remove_below, "whole_from", sleep.whole_from),
        (
            "nucleus_accumbens",
            "confidence_first",
            accumbens.confidence_first,
            "confidence_max",
            accumbens.confidence_max,
        ),
        (
            "anterior_temporal_lobe",
            "confidence_first",
            concepts.confidence_first,
            "confidence_max",
            concepts.confidence_max,
        ),
        ("cerebellum", "confidence_first", cerebellum.confidence_first, "confidence_max", cerebellum.confidence_max),
        ("cerebellum", "forgotten_below", cerebellum.forgotten_below, "offered_from", cerebellum.offered_from),
        (
            "bridges",
            "asking_unwanted_to",
            bridges.asking_unwanted_to,
            "asking_trusted_from",
            bridges.asking_trusted_from,
        ),
    ];
    let contradict = pairs.into_iter().filter(|(_, _, low, _, high)| low > high);
    let fault = |(section, low_key, low, high_key, high): (&str, &str, f64, &str, f64)| {
        let found = format!("{section}.{low_key} = {low} is more than {section}.{high_key} = {high}");
        Fault::new(format!("{section}.{low_key}"), found, format!("lower it, or raise {section}.{high_key}"))
    };
    contradict.map(fault).collect()
}
