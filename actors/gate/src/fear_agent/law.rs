//! The keys of fear.

use maxim_config::{Shape, Span, choice, section};

choice! {
    /// What a model's review of an action is worth.
    ModelReview {
        /// It isn't asked.
        Off = "off",
        /// A person is asked in any case, and told what it thinks.
        Advise = "advise",
        /// What it finds harmless isn't asked about.
        Decide = "decide",
    }
}

section! {
    /// When fear says no, and how it forgives. The deterministic rules can't be configured away.
    #[derive(Copy)]
    FearLaw = "gate" {
        /// A learned expectation may veto from this confidence on, less the part of the fear bridge.
        veto_confidence: f64 = "0.85", "share", Shape::Real { low: 0.5, high: 0.99 };
        /// A learned expectation may veto below this value, plus the part of the fear bridge.
        veto_value: f64 = "0.1", "share", Shape::Real { low: 0.0, high: 0.5 };
        /// The most by which failures in similar situations move both thresholds.
        bridge_gain: f64 = "0.3", "share", Shape::Real { low: 0.0, high: 0.3 };
        /// The confidence of a learned fear halves in this time, after which a reversible action gets a trial.
        forgiveness_half_life: Span = "7days", "time", Shape::Span { low: "1min", high: "365days" };
        /// A question for approval that nobody answers counts as denied after this time.
        approval_expiry: Span = "10min", "time", Shape::Span { low: "1s", high: "7days" };
        /// What the model may do, if there is one, about programs that no rule knows: decide lets it pass what it finds
        /// harmless, advise tells the person who is asked what it thinks, off doesn't ask it. It never softens a block.
        model_review: ModelReview = "decide", "", Shape::Choice(ModelReview::WORDS);
    }
}
