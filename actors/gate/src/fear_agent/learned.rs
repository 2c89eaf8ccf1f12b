//! The learned layer: a call of a kind that went wrong before is asked about. With time this is forgiven.

use jiff::SignedDuration;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::bridges::{AssessContext, ContextAssessed};
use maxim_bus::signals::layers::HurtRecalled;
use maxim_bus::signals::recall::{OutcomesPredicted, PredictOutcomes, PredictionErrorSensed};
use maxim_bus::units::Valence;

use super::fears::PINNED;
use super::granting::Asked;
use super::region::{FearAgent, FearEvent, GateEntry, GateStatus, record_key};
use maxim_region::{Gather, Hears, Pulse};

/// How long experience may take to answer. Without an answer the deterministic verdict stands.
const PREDICTION: SignedDuration = SignedDuration::from_millis(500);

impl FearAgent {
    /// Experience is asked only about tools that hurt before. Other calls are cleared.
    pub(super) fn consult(&self, mut entry: GateEntry, pulse: &mut Pulse<'_, Self>) {
        if self.pinned.contains(&entry.intent.tool) && pulse.settings().fearless.is_none() {
            entry.rule = PINNED.into();
            entry.reason = "a person wants to be asked about it".into();
            entry.asks = vec![Asked::of_all(&entry.rule, &entry.reason)];
            return self.ask_unless_allowed(entry, pulse);
        }
        if !self.hurtful.contains(&entry.intent.tool) {
            return self.clear(entry, pulse);
        }
        let (id, due) = (entry.id, pulse.now().later(PREDICTION));
        entry.status = GateStatus::Predicting;
        entry.gather = Gather::until(due);
        let (tool, params) = (entry.intent.tool.clone(), entry.intent.params.clone());
        if pulse.settings().law.bridge_gain > 0.0 {
            let assess = AssessContext { intent: id, tool: tool.clone(), params: params.clone() };
            entry.gather.ask(assess, pulse);
        }
        let context = serde_json::json!({});
        let predict = PredictOutcomes { tool_name: tool, params, context, include_all_outcomes: false };
        entry.gather.ask(predict, pulse);
        pulse.put(record_key(id), &entry);
        pulse.keep(FearEvent::Predicting { id, due });
    }

    /// Takes in what one of the two rooms knows, unless it comes after the deadline.
    fn experienced(&self, take: impl FnOnce(&mut GateEntry), pulse: &mut Pulse<'_, Self>) {
        let mut asked = self.predicting.keys().filter_map(|id| pulse.record::<GateEntry>(&record_key(*id)));
        let Some(mut entry) = asked.find(|entry| entry.gather.answered(pulse).is_some()) else { return };
        entry.gather.take(pulse);
        take(&mut entry);
        if entry.gather.is_whole() {
            self.weigh(entry, pulse);
        } else {
            pulse.put(record_key(entry.id), &entry);
        }
    }

    /// Both have answered, or the time is over.
    pub(super) fn weigh(&self, mut entry: GateEntry, pulse: &mut Pulse<'_, Self>) {
        let Some(predicted) = entry.predicted.clone() else { return self.clear(entry, pulse) };
        let settings = pulse.settings();
        let share = entry.assessed.as_ref().map_or(0.0, |assessed| assessed.share);
        let tightened = (settings.law.bridge_gain * share).max(0.0);
        let confidence = predicted.confidence.get() * self.unforgiven(&predicted.tool_name, pulse);
        let feared = settings.fearless.is_none()
            && predicted.known
            && confidence > settings.law.veto_confidence - tightened
            && predicted.value.get() < settings.law.veto_value + tightened;
        if !feared {
            self.clear(entry, pulse);
            return;
        }
        let bridge = entry.assessed.as_ref().filter(|_| tightened > 0.0).map(|assessed| {
            format!(
                "; {} of {} similar contexts failed, which lowers the bar by {tightened:.2}",
                assessed.failures, assessed.contexts
            )
        });
        entry.rule = "fear.learned".into();
        entry.reason = format!(
            "it went wrong before: {} such actions, value {:.2} at confidence {:.2} (links {}){}",
            predicted.observations,
            predicted.value.get(),
            confidence,
            predicted.links.join(", "),
            bridge.unwrap_or_default(),
        );
        entry.asks = vec![Asked::of_all(&entry.rule, &entry.reason)];
        self.ask_unless_allowed(entry, pulse);
    }

    fn ask_unless_allowed(&self, mut entry: GateEntry, pulse: &mut Pulse<'_, Self>) {
        let noted = entry.grants.len();
        if let Some(files) = self.passes_by_grants(&mut entry, pulse) {
            self.note_uses(&entry.grants[noted..], pulse);
            // It is one reason, so one grant answers it.
            entry.files.fixed = files.into_iter().next().or(entry.files.fixed);
            self.clear_if_unchanged(entry, pulse);
        } else {
            self.ask(entry, pulse);
        }
    }

    /// The share of a learned fear's confidence that is left, 0 to 1: 2^(−age / half-life). A forgiven tool is tried
    /// again; a failure then renews the fear at once.
    pub(super) fn unforgiven(&self, tool: &str, pulse: &Pulse<'_, Self>) -> f64 {
        let settings = pulse.settings();
        match self.hurt_at.get(tool).filter(|_| !settings.irreversible.contains(tool)) {
            Some(at) => {
                let age = pulse.now().duration_since(*at).as_secs_f64().max(0.0);
                (-age / settings.law.forgiveness_half_life.get().as_secs_f64().max(1.0)).exp2()
            }
            None => 1.0,
        }
    }
}

impl Hears<OutcomesPredicted> for FearAgent {
    fn hear(&self, predicted: &OutcomesPredicted, pulse: &mut Pulse<'_, Self>) {
        self.experienced(|entry| entry.predicted = Some(predicted.clone()), pulse);
    }
}

impl Hears<ContextAssessed> for FearAgent {
    fn hear(&self, assessed: &ContextAssessed, pulse: &mut Pulse<'_, Self>) {
        self.experienced(|entry| entry.assessed = Some(assessed.clone()), pulse);
    }
}

impl Hears<PredictionErrorSensed> for FearAgent {
    fn heeds(sensed: &PredictionErrorSensed) -> bool {
        sensed.valence == Valence::Negative
    }

    fn hear(&self, sensed: &PredictionErrorSensed, pulse: &mut Pulse<'_, Self>) {
        let tool = sensed.event.split(['(', ' ', '/']).next().unwrap_or_default().to_owned();
        pulse.keep(FearEvent::Hurt { tool, at: Some(pulse.now()) });
    }
}

impl Hears<HurtRecalled> for FearAgent {
    /// What was feared elsewhere is asked about here, and forgiven with time from then on. When a person has the last
    /// episode forgotten, the fear that it taught goes too. A pinned fear stays.
    fn hear(&self, recalled: &HurtRecalled, pulse: &mut Pulse<'_, Self>) {
        let HurtRecalled { tool, at, forgotten } = recalled;
        if *forgotten {
            pulse.keep_gone(FearEvent::Unlearned { tool: tool.clone() }, true);
        } else if !self.hurtful.contains(tool) || self.hurt_at.get(tool).is_none_or(|known| known < at) {
            pulse.keep(FearEvent::Hurt { tool: tool.clone(), at: Some(*at) });
        }
    }
}
