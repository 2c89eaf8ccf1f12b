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
