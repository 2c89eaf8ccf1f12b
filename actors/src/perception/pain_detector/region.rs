//! The pain detector as a room: turns failures into pain.
//!
//! Biology: nociceptors and the anterior cingulate.
//! Law: `law.rs`. A stop, a no of the gate and ignorance don't hurt: they say nothing about the action.
//! Remembers: what went wrong lately, by kind and tool. Forgets: with each success half of it.
//! Down: nothing hurts meanwhile; outcomes wait.

use jiff::Timestamp;
use maxim_bus::signals::body::SensoryErrorSensed;
use maxim_bus::signals::outcome::{FailureKind, ToolResult};
use maxim_bus::signals::percept::PainSignal;
use maxim_bus::units::Intensity;
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::law::{PainKind, Sores};
use crate::region::{Card, Hears, Pulse, Region};
use crate::wiring;

#[derive(Default, Serialize, Deserialize)]
pub struct PainDetector {
    sores: Sores,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum PainEvent {
    Failed { kind: PainKind, tool: String, at: Timestamp },
    Eased { tool: String },
}

wiring!(PainDetector { hears: [], back: [ToolResult, SensoryErrorSensed], emits: [PainSignal] });

impl Region for PainDetector {
    const NAME: RegionName = "pain_detector";
    const STAGE: Stage = Stage::Perception;
    type Event = PainEvent;
    type Settings = ();

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: PainEvent) {
        match event {
            PainEvent::Failed { kind, tool, at } => {
                self.sores.failure(kind, &tool, at);
            }
            PainEvent::Eased { tool } => self.sores.success(&tool),
        }
    }
}

/// What kind of pain a failure is; none for what isn't the action's fault.
fn kind_of(failure: FailureKind) -> Option<PainKind> {
    match failure {
        FailureKind::Timeout => Some(PainKind::Timeout),
        FailureKind::Exhausted => Some(PainKind::ResourceExhaustion),
        FailureKind::Denied => Some(PainKind::SandboxViolation),
        FailureKind::BadParams | FailureKind::UnknownTool | FailureKind::NotFound | FailureKind::Failed => {
            Some(PainKind::ToolError)
        }
        FailureKind::Stopped | FailureKind::Unknown => None,
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
                pulse.keep(PainEvent::Failed { kind, tool: tool.clone(), at });
                if let Some(felt) = felt {
                    let reason = result.error.clone().unwrap_or_default();
                    let (intensity, action) = (felt.intensity, Some(result.action));
                    pulse.emit(PainSignal { kind, intensity, about: tool, reason, action });
                }
            }
            _ => {}
        }
    }
}

/// A movement that went otherwise than predicted.
impl Hears<SensoryErrorSensed> for PainDetector {
    fn hear(&self, error: &SensoryErrorSensed, pulse: &mut Pulse<'_, Self>) {
        let (kind, at) = (PainKind::MovementError, pulse.now());
        let place = format!("{}.{}", error.body_part, error.movement);
        let felt = self.sores.clone().failure(kind, &place, at);
        pulse.keep(PainEvent::Failed { kind, tool: place.clone(), at });
        let Some(felt) = felt else { return };
        // It hurts by how far it went off, and by how often it did.
        let strength = felt.intensity.get().max(error.intensity.get());
        pulse.emit(PainSignal {
            kind,
            intensity: Intensity::clamped(strength),
            about: place,
            reason: format!("{} changed by {} instead of {}", error.sensor, error.observed, error.expected),
            action: error.action,
        });
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::MessageId;

    use super::*;
    use crate::region::rig::{Rig, ear};

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
        }
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
}
