//! Keys that several memories share.

use maxim_config::{ByteCount, Shape, Span, section};

section! {
    /// What is kept, recalled and learned.
    Memory = "memory" {
        /// How long a percept waits for what the memories have to say; what is late is missing, by name.
        enrichment_deadline: Span = "50ms", "time", Shape::Span { low: "1ms", high: "10s" };
        /// Pieces of general knowledge that a percept is enriched with; 0 for none.
        knowledge_max: u32 = "8", "pieces", Shape::Integer { low: 0, high: 8 };
        /// What the records of episodes may take on disk. When they take more, sleep lets the least valued of those that it
        /// made small go, and says how many.
        episodes_max: ByteCount = "4 GiB", "bytes", Shape::Size { low: "16 KiB", high: "1024 GiB" };
        /// A session ends when nothing was perceived for this long; sleep follows.
        session_idle: Span = "30min", "time", Shape::Span { low: "1s", high: "7days" };
        /// The hour of the local day at which it sleeps; 24 for no daily sleep.
        sleep_hour: u32 = "3", "hour", Shape::Integer { low: 0, high: 24 };
        /// Nothing happened for this long: what repeats is promoted to concepts.
        promotion_idle: Span = "10min", "time", Shape::Span { low: "1s", high: "30days" };
        /// The least confidence of what is promoted.
        promotion_confidence: f64 = "0.6", "share", Shape::Real { low: 0.0, high: 1.0 };
        /// The least number of times that what is promoted was observed.
        promotion_observations: u32 = "3", "times", Shape::Integer { low: 1, high: 1_000_000 };
        /// A moment at least this new is kept.
        capture_novelty: f64 = "0.7", "share", Shape::Real { low: 0.0, high: 1.0 };
        /// A moment at least this salient is kept.
        capture_salience: f64 = "0.7", "share", Shape::Real { low: 0.0, high: 1.0 };
        /// A moment at least this painful is kept.
        capture_pain: f64 = "0.4", "share", Shape::Real { low: 0.0, high: 1.0 };
        /// A moment is kept at least this often, whatever happens.
        capture_checkpoint: Span = "5min", "time", Shape::Span { low: "1s", high: "7days" };
        /// An equal observation within this time updates the earlier episode.
        merge_window: Span = "30s", "time", Shape::Span { low: "0s", high: "1h" };
        /// Clocks of day, week, month and year, which learn when things come and tell what is expected next.
        oscillators: bool = "true", "", Shape::Flag;
        /// The learning rate of the nucleus accumbens: the share of each surprise that its prediction takes over.
        nac_alpha: f64 = "0.14", "share", Shape::Real { low: 0.001, high: 1.0 };
    }
}
