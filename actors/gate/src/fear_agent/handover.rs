//! A cleared intent goes over to the execution tracker.

use maxim_bus::MessageId;
use maxim_bus::signals::outcome::{ExecutionStarted, ToolResult};
use maxim_region::{Hears, Pulse};

use super::region::{FearAgent, FearEvent, GateEntry, record_key};

impl FearAgent {
    /// The tracker has it now and answers for it from here on.
    fn handed_over(&self, id: MessageId, pulse: &mut Pulse<'_, Self>) {
        if self.cleared.contains_key(&id) {
            if let Some(entry) = pulse.record::<GateEntry>(&record_key(id)) {
                Self::keep_begun(&entry, pulse);
            }
            pulse.keep(FearEvent::Closed { id });
            pulse.remove(record_key(id));
        }
    }
}

impl Hears<ExecutionStarted> for FearAgent {
    fn hear(&self, started: &ExecutionStarted, pulse: &mut Pulse<'_, Self>) {
        self.handed_over(started.intent_id, pulse);
    }
}

impl Hears<ToolResult> for FearAgent {
    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        self.handed_over(result.intent, pulse);
        self.ended(result, pulse);
    }
}
