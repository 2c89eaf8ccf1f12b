//! The pain detector as a room: turns failures into pain.
//!
//! Biology: nociceptors and the anterior cingulate.
//! Law: `law.rs`. A message that failed for good hurts the tool that sent it. A stop, a refusal by the gate and an
//! unknown result don't hurt: they say nothing about the action.
//! Remembers: recent failures, by kind and tool; the latest pains, and their number. Forgets: half of a place's
//! failures with each success; the oldest pains.
//! Down: nothing hurts meanwhile; outcomes wait.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use maxim_bus::rooms;
use maxim_bus::signals::body::SensoryErrorSensed;
use maxim_bus::signals::introspection::{PainFelt, PainReported, ReportPain};
use maxim_bus::signals::outbox::{DeliveryEnded, OutboxState};
use maxim_bus::signals::outcome::{FailureKind, ToolResult};
use maxim_bus::signals::percept::PainSignal;
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::strain::BodyStrained;
use maxim_bus::units::Intensity;
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::law::{PainKind, Sores};
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};

#[derive(Default, Serialize, Deserialize)]
pub struct PainDetector {
    sores: Sores,
    /// Failures by kind, whether felt or not.
    counts: BTreeMap<PainKind, u64>,
    /// The latest felt pains, the newest last.
    felt: VecDeque<PainFelt>,
}

/// Maximum number of pains remembered individually.
const REMEMBERED: usize = 100;
/// Default number of pains in an answer.
const LIMIT: usize = 5;
/// Maximum length of a remembered reason, in characters.
const REASON: usize = 200;

#[derive(Debug, Serialize, Deserialize)]
pub enum PainEvent {
    Failed {
        kind: PainKind,
        tool: String,
        at: Timestamp,
        /// The felt pain, and why; none during a cooldown.
        felt: Option<(Intensity, String)>,
    },
    Eased {
        tool: String,
    },
}

wiring!(PainDetector {
    hears: [ReportPain, ReportStats, BodyStrained],
    back: [ToolResult, DeliveryEnded, SensoryErrorSensed],
    emits: [PainSignal, PainReported, StatsReported],
});

impl Region for PainDetector {
    const NAME: RegionName = rooms::PAIN_DETECTOR;
    const STAGE: Stage = Stage::Perception;
    type Event = PainEvent;
    type Settings = ();

    fn apply(&mut self, event: PainEvent) {
        match event {
            PainEvent::Failed { kind, tool, at, felt } => {
                match (kind, &felt) {
                    (PainKind::External, Some((strength, _))) => {
                        self.sores.external(&tool, *strength, at);
                    }
                    (PainKind::External, None) => {}
                    _ => {
                        self.sores.failure(kind, &tool, at);
                    }
                }
                *self.counts.entry(kind).or_insert(0) += 1;
                if let Some((intensity, reason)) = felt {
                    self.felt.push_back(PainFelt { kind, about: tool, intensity, at, reason });
                }
                if self.felt.len() > REMEMBERED {
                    self.felt.pop_front();
                }
            }
            PainEvent::Eased { tool } => self.sores.success(&tool),
        }
    }
}

/// The kind of pain of a failure; none if it isn't the action's fault.
fn kind_of(failure: FailureKind) -> Option<PainKind> {
    match failure {
        FailureKind::Timeout => Some(PainKind::Timeout),
        FailureKind::Exhausted => Some(PainKind::ResourceExhaustion),
        FailureKind::BadParams | FailureKind::UnknownTool | FailureKind::NotFound | FailureKind::Failed => {
            Some(PainKind::ToolError)
        }
        // Neither a boundary that holds nor an action that never began hurts.
        FailureKind::Stopped | FailureKind::Unknown | FailureKind::Unavailable | FailureKind::Denied => None,
    }
}

impl Hears<ReportStats> for PainDetector {
    fn hear(&self, _asked: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        pulse.reply(StatsReported {
            region: Self::NAME.into(),
            counts: json!({ "pains": self.counts.values().sum::<u64>(), "by_kind": self.counts }),
        });
    }
}

impl Hears<ToolResult> for PainDetector {
    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        let tool = result.tool.clone();
        match (result.success, result.failure.and_then(kind_of)) {
            (Some(true), _) if self.sores.is_sore(&tool) => pulse.keep(PainEvent::Eased { tool }),
            (Some(false), Some(kind)) => {
                let at = pulse.now();
                let felt = self.sores.clone().failure(kind, &tool, at);
                let reason = result.error.clone().unwrap_or_default();
                let remembered = felt.as_ref().map(|felt| (felt.intensity, reason.chars().take(REASON).collect()));
                pulse.keep(PainEvent::Failed { kind, tool: tool.clone(), at, felt: remembered });
                if let Some(felt) = felt {
                    let (intensity, action) = (felt.intensity, Some(result.action));
                    pulse.emit(PainSignal { kind, intensity, about: tool, reason, action });
                }
            }
            _ => {}
        }
    }
}

/// The tool had done its part when the message was queued; its final result is known now.
impl Hears<DeliveryEnded> for PainDetector {
    fn hear(&self, ended: &DeliveryEnded, pulse: &mut Pulse<'_, Self>) {
        let Some(tool) = ended.tool.clone().filter(|_| ended.state == OutboxState::Failed) else { return };
        let (kind, at) = (PainKind::ToolError, pulse.now());
        let felt = self.sores.clone().failure(kind, &tool, at);
        let why = ended.why.as_deref().unwrap_or("it was refused");
        let words = format!("the message to {} on {} failed: {why}", ended.recipient, ended.channel);
        let reason: String = words.chars().take(REASON).collect();
        let remembered = felt.as_ref().map(|felt| (felt.intensity, reason.clone()));
        pulse.keep(PainEvent::Failed { kind, tool: tool.clone(), at, felt: remembered });
        let Some(felt) = felt else { return };
        let (intensity, action) = (felt.intensity, Some(ended.entry));
        pulse.emit(PainSignal { kind, intensity, about: tool, reason, action });
    }
}

/// A movement that differed from its prediction.
impl Hears<SensoryErrorSensed> for PainDetector {
    fn hear(&self, error: &SensoryErrorSensed, pulse: &mut Pulse<'_, Self>) {
        let (kind, at) = (PainKind::MovementError, pulse.now());
        let place = format!("{}.{}", error.body_part, error.movement);
        let felt = self.sores.clone().failure(kind, &place, at);
        // The intensity depends on the size of the error and on how often it happened.
        let strength = felt.map(|felt| Intensity::clamped(felt.intensity.get().max(error.intensity.get())));
        let reason = format!("{} changed by {} instead of {}", error.sensor, error.observed, error.expected);
        let remembered = strength.map(|strength| (strength, reason.clone()));
        pulse.keep(PainEvent::Failed { kind, tool: place.clone(), at, felt: remembered });
        let Some(intensity) = strength else { return };
        pulse.emit(PainSignal { kind, intensity, about: place, reason, action: error.action });
    }
}

/// What a body felt in a movement, or what a sense of the world reports.
impl Hears<BodyStrained> for PainDetector {
    fn hear(&self, strained: &BodyStrained, pulse: &mut Pulse<'_, Self>) {
        let (kind, place, at) = (strained.kind, strained.place.clone(), pulse.now());
        let felt = match strained.intensity {
            Some(strength) if kind == PainKind::External => self.sores.clone().external(&place, strength, at),
            _ => self.sores.clone().failure(kind, &place, at),
        };
        let reason: String = strained.reason.chars().take(REASON).collect();
        let remembered = felt.as_ref().map(|felt| (felt.intensity, reason.clone()));
        pulse.keep(PainEvent::Failed { kind, tool: place.clone(), at, felt: remembered });
        let Some(felt) = felt else { return };
        pulse.emit(PainSignal { kind, intensity: felt.intensity, about: place, reason, action: strained.action });
    }
}

impl Hears<ReportPain> for PainDetector {
    fn hear(&self, wanted: &ReportPain, pulse: &mut Pulse<'_, Self>) {
        let is_meant = |place: &str| wanted.about.as_ref().is_none_or(|about| place == about);
        let limit = if wanted.limit == 0 { LIMIT } else { wanted.limit };
        let recent = self.felt.iter().rev().filter(|felt| is_meant(&felt.about)).take(limit).cloned().collect();
        let sore = self.sores.places().filter(|place| is_meant(place)).map(str::to_owned).collect();
        pulse.reply(PainReported { counts: self.counts.clone(), recent, sore });
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::MessageId;

    use super::*;
    use maxim_region::rig::{Rig, ear};

    fn result(success: bool) -> ToolResult {
        let id = MessageId::from_parts(1, 1);
        ToolResult {
            action: id,
            intent: id,
            turn: id,
            tool: "bash".into(),
            params: serde_json::Value::Null,
            success: Some(success),
            output: serde_json::Value::Null,
            error: (!success).then(|| "exit code 1".into()),
            failure: (!success).then_some(FailureKind::Failed),
            duration_us: 10,
            side_effects: vec![],
            reward: None,
        }
    }

    #[test]
    fn a_message_that_failed_for_good_hurts_the_tool_that_wanted_it() {
        let mut rig: Rig<PainDetector> = Rig::new((), ear::<PainSignal>);
        let ended = |state: OutboxState, tool: Option<&str>| DeliveryEnded {
            entry: MessageId::from_parts(1, 1),
            turn: MessageId::from_parts(1, 2),
            tool: tool.map(str::to_owned),
            channel: "twilio".into(),
            recipient: "+15550100".into(),
            text: "hello".into(),
            state,
            attempts: 1,
            why: Some("no such number".into()),
        };
        rig.send(ended(OutboxState::Delivered, Some("send_message")));
        rig.send(ended(OutboxState::Unknown, Some("send_message")));
        rig.send(ended(OutboxState::Failed, None));
        assert!(rig.heard::<PainSignal>().is_empty(), "what isn't known doesn't hurt");
        rig.send(ended(OutboxState::Failed, Some("send_message")));
        let pain = rig.heard::<PainSignal>().remove(0);
        assert_eq!((pain.about.as_str(), pain.action), ("send_message", Some(MessageId::from_parts(1, 1))));
        assert!(pain.reason.contains("no such number"), "{}", pain.reason);
    }

    #[test]
    fn a_movement_that_went_otherwise_hurts_by_how_far_and_how_often() {
        let mut rig: Rig<PainDetector> = Rig::new((), ear::<PainSignal>);
        let error = |strength: f64| SensoryErrorSensed {
            action: None,
            body_part: "head".into(),
            movement: "turn".into(),
            sensor: "yaw".into(),
            expected: 10.0,
            observed: 0.0,
            surprise: 5.0,
            intensity: Intensity::clamped(strength),
            confidence: maxim_bus::units::Confidence::clamped(0.5),
        };
        for strength in [0.8, 0.3, 0.3] {
            rig.send(error(strength));
            rig.pass(std::time::Duration::from_secs(60));
        }
        let felt = rig.heard::<PainSignal>();
        assert_eq!(felt.len(), 3);
        assert_eq!((felt[0].kind, felt[0].about.as_str()), (PainKind::MovementError, "head.turn"));
        assert_eq!(felt[0].intensity.get(), 0.8);
        assert!(felt[1].intensity > Intensity::clamped(0.4), "the second hurts more than its own strength");
        assert!(felt[2].intensity > felt[1].intensity);
    }

    #[test]
    fn what_strains_the_body_hurts_where_it_is_strained() {
        let mut rig: Rig<PainDetector> = Rig::new((), ear::<PainSignal>);
        for kind in [PainKind::OverSpeed, PainKind::Thrashing, PainKind::SustainedStrain, PainKind::OverSpeed] {
            let (place, reason) = ("head.yaw".to_owned(), "yaw went too far".to_owned());
            rig.send(BodyStrained { intensity: None, action: None, kind, place, reason });
        }
        let felt = rig.heard::<PainSignal>();
        let kinds: Vec<PainKind> = felt.iter().map(|felt| felt.kind).collect();
        assert_eq!(kinds, [PainKind::OverSpeed, PainKind::Thrashing, PainKind::SustainedStrain], "a cooldown for each");
        assert!(felt.iter().all(|felt| felt.about == "head.yaw" && felt.reason == "yaw went too far"));
    }

    #[test]
    fn repeated_failures_hurt_more_and_a_success_eases() {
        let mut rig: Rig<PainDetector> = Rig::new((), ear::<PainSignal>);
        for _ in 0..4 {
            rig.send(result(false));
            rig.pass(std::time::Duration::from_secs(60));
            rig.crash();
        }
        let felt = rig.heard::<PainSignal>();
        assert_eq!(felt.len(), 4);
        assert!(felt.windows(2).all(|pair| pair[0].intensity < pair[1].intensity));
        rig.send(result(true));
        rig.send(result(false));
        let eased = rig.heard::<PainSignal>();
        assert!(eased[0].intensity < felt[3].intensity);
    }

    #[test]
    fn what_hurt_is_told_the_newest_first_and_outlasts_a_crash() {
        let mut rig: Rig<PainDetector> = Rig::new((), |bus, probe| {
            ear::<PainSignal>(bus, probe);
            ear::<PainReported>(bus, probe);
        });
        for tool in ["bash", "glob", "bash"] {
            rig.send(ToolResult { tool: tool.into(), ..result(false) });
            rig.pass(std::time::Duration::from_secs(60));
        }
        rig.crash();
        rig.send(ReportPain { about: None, limit: 2 });
        let told = rig.heard::<PainReported>().remove(0);
        assert_eq!(told.counts, BTreeMap::from([(PainKind::ToolError, 3)]));
        assert_eq!(told.recent.iter().map(|felt| felt.about.as_str()).collect::<Vec<_>>(), ["bash", "glob"]);
        assert_eq!(told.recent[0].reason, "exit code 1");
        assert_eq!(told.sore, ["bash", "glob"]);
        rig.send(ReportPain { about: Some("glob".into()), limit: 0 });
        let told = rig.heard::<PainReported>().remove(0);
        assert_eq!((told.recent.len(), told.sore), (1, vec!["glob".to_owned()]));
    }
}
