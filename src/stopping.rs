//! What is the same in each way to stop: who is named for it, and the answer.

use maxim_bus::MessageId;
use maxim_bus::latch::Raised;
use serde_json::{Value, json};

/// By whom a stop is, where no person is named.
pub mod stop_by {
    pub const HTTP: &str = "http";
    pub const SOCKET: &str = "maxim stop";
    pub const SIGNAL: &str = "signal";
    pub const FILE: &str = "stop.request";
}

/// The answer to a stop. `cancelled` is null where the rooms were not asked which turns it ended.
pub fn stop_document(raised: &Raised, durable: bool, cancelled: Option<&[MessageId]>) -> Value {
    json!({
        "latched": true,
        "latency_us": raised.latency_us,
        "durable": durable,
        "first": raised.first,
        "cancelled": cancelled,
        "processes_killed": raised.children_killed,
    })
}

/// A latency in microseconds as a person reads it.
pub fn millis(micros: u64) -> String {
    match micros {
        0 => "under 1 µs".into(),
        1..1000 => format!("{micros} µs"),
        _ => format!("{}.{:03} ms", micros / 1000, micros % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_told_in_the_unit_that_fits() {
        assert_eq!([0, 7, 999, 1234].map(millis), ["under 1 µs", "7 µs", "999 µs", "1.234 ms"]);
    }
}
