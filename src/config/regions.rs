//! How the rooms of the brain are watched and restarted.

use super::{Shape, Span};
use maxim_config::section;

section! {
    /// How the rooms of the brain are watched and restarted.
    Regions = "regions" {
        /// A region that is busy with one message for longer counts as hung, and a new incarnation takes its place.
        deadline: Span = "200ms", "time", Shape::Span { low: "10ms", high: "1min" };
        /// A region may restart so often within the window; then it is held and the agent goes to its safe state.
        restart_budget: u32 = "5", "restarts", Shape::Integer { low: 1, high: 1000 };
        /// The window of the restart budget.
        restart_window: Span = "10s", "time", Shape::Span { low: "1s", high: "1h" };
        /// The rooms of one group (a stage: perception, memory, deliberation, gate, action, learning, sleep) may be held so
        /// often within the group's window; then all of them are rebuilt, and the next try waits longer.
        group_budget: u32 = "3", "escalations", Shape::Integer { low: 1, high: 1000 };
        /// The window of the group's budget.
        group_window: Span = "5min", "time", Shape::Span { low: "1s", high: "1d" };
        /// Hung threads that may exist at once; with this many the process ends, so that its service starts it anew.
        hung_threads_max: u32 = "8", "threads", Shape::Integer { low: 1, high: 256 };
    }
}
