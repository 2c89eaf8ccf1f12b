//! The keys of the reasoner that needs no model.

use maxim_config::{Shape, Span, section};

section! {
    /// The reasoner that needs no model.
    HabitKeys = "habit" {
        /// Memories that an answer may rest on.
        evidence_max: u32 = "5", "memories", Shape::Integer { low: 1, high: 20 };
        /// Does, while nobody wants anything, what its tools say may be done unasked with the things that are around, choosing by
        /// what it learned. Without such a tool nothing is done.
        acts: bool = "true", "", Shape::Flag;
        /// From one such choice to the next, at least. Where nothing was worth it among the same things, it takes up to 64 times
        /// as long.
        act_every: Span = "5s", "time", Shape::Span { low: "100ms", high: "1day" };
        /// Acts that are weighed at once, those with the most salient things.
        act_options: u32 = "8", "acts", Shape::Integer { low: 1, high: 64 };
        /// What the newness of an act that was never tried is worth; experience tells from -1 to 1. More explores more.
        act_novelty: f64 = "0.2", "value", Shape::Real { low: 0.0, high: 10.0 };
        /// What a choice still weighs at the next one, so that what was tried long ago becomes new again.
        act_memory: f64 = "0.98", "share", Shape::Real { low: 0.0, high: 1.0 };
        /// How much the fear of an act counts against it.
        act_fear: f64 = "0.5", "times", Shape::Real { low: 0.0, high: 10.0 };
        /// How much a need counts for an act that serves it.
        act_need: f64 = "0.5", "times", Shape::Real { low: 0.0, high: 10.0 };
        /// How much chance there is in the choice: at 0 the best is done, and the more, the less what was learned decides.
        act_temperature: f64 = "0.1", "value", Shape::Real { low: 0.0, high: 100.0 };
        /// An act that was refused isn't tried again for this long.
        act_refused: Span = "1h", "time", Shape::Span { low: "1s", high: "365days" };
    }
}
