//! The scene as a room: keeps track of what is present.
//!
//! Biology: the parietal lobe's map of what is where, and the eye fields that gaze.
//! Law: `law.rs`. Labels are often wrong, so their confidence is kept and flickering is smoothed.
//! Remembers: things, people and sounds with when they were last seen, the gaze, the reported pose of the body, and
//! the scene's name.
//! Forgets: things not seen for ten minutes; beyond 64, those seen longest ago.
//! Down: nothing is known of what is present; observations are conflated and wait.

use jiff::Timestamp;
use maxim_bus::rooms;
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::scene::{Observed, SceneNamed, SceneNoticed, SceneSurveyed, SurveyScene};
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::law::Around;
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};

/// Maximum number of things reported to others without a question.
const NOTICED: usize = 16;
/// Why there is no answer.
const BLIND: &str = "no sense has reported anything; send what is seen to POST /v1/observations";

#[derive(Default, Serialize, Deserialize)]
pub struct Scene {
    around: Around,
    named: Option<SceneNamed>,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum SceneEvent {
    Seen { observed: Observed, at: Timestamp },
    Named(SceneNamed),
}

wiring!(Scene {
    hears: [Observed, SceneNamed, SurveyScene, ReportStats],
    back: [],
    emits: [SceneNoticed, SceneSurveyed, StatsReported],
});

impl Region for Scene {
    const NAME: RegionName = rooms::SCENE;
    const STAGE: Stage = Stage::Perception;
    type Event = SceneEvent;
    type Settings = ();

    fn apply(&mut self, event: SceneEvent) {
        match event {
            SceneEvent::Seen { observed, at } => self.around.take(&observed, at),
            SceneEvent::Named(scene) => self.named = Some(scene),
        }
    }
}

impl Hears<Observed> for Scene {
    fn hear(&self, observed: &Observed, pulse: &mut Pulse<'_, Self>) {
        let at = pulse.now();
        if !self.around.is_news(observed, at) {
            return;
        }
        let mut around = self.around.clone();
        around.take(observed, at);
        let mut things = around.told(at, true);
        things.truncate(NOTICED);
        let (gaze, pose) = (around.gazed(at).map(str::to_owned), around.pose(at).cloned());
        pulse.emit(SceneNoticed { things, gaze, pose });
        pulse.keep(SceneEvent::Seen { observed: observed.clone(), at });
    }
}

impl Hears<SceneNamed> for Scene {
    fn hear(&self, named: &SceneNamed, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(SceneEvent::Named(named.clone()));
    }
}

impl Hears<SurveyScene> for Scene {
    fn hear(&self, wanted: &SurveyScene, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let mut objects = self.around.told(now, wanted.include_attention);
        let gaze = self.around.gazed(now).filter(|_| wanted.include_attention).map(str::to_owned);
        let next = objects.iter().find(|thing| Some(&thing.name) != gaze.as_ref());
        let next_target = next.filter(|_| wanted.include_attention).map(|thing| thing.name.clone());
        let around = objects.len();
        objects.truncate(wanted.top_n);
        let available = !self.around.is_empty() || self.named.is_some();
        let reason = (!available).then(|| BLIND.to_owned());
        let (scene, pose) = (self.named.clone(), self.around.pose(now).cloned());
        pulse.reply(SceneSurveyed { available, reason, scene, objects, around, gaze, pose, next_target });
    }
}

impl Hears<ReportStats> for Scene {
    fn hear(&self, _question: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts = json!({ "around": self.around.told(pulse.now(), false).len() });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use maxim_bus::signals::scene::{Detection, ThingKind};
    use maxim_bus::units::Confidence;

    use super::*;
    use maxim_region::rig::{Rig, ear};

    fn detection(name: &str, confidence: f64, frame: Option<[f64; 4]>) -> Detection {
        Detection { name: name.into(), confidence: Confidence::clamped(confidence), frame }
    }

    fn observed(objects: Vec<Detection>, people: Vec<Detection>) -> Observed {
        Observed { source: "camera".into(), objects, people, sound: None, pose: None }
    }

    fn survey(rig: &mut Rig<Scene>) -> SceneSurveyed {
        rig.send(SurveyScene { top_n: 3, include_attention: true });
        rig.heard::<SceneSurveyed>().remove(0)
    }

    const MIDDLE: Option<[f64; 4]> = Some([0.4, 0.4, 0.6, 0.6]);
    const CORNER: Option<[f64; 4]> = Some([0.0, 0.0, 0.2, 0.2]);

    #[test]
    fn what_is_around_is_told_by_salience_with_gaze_and_dwell_over_a_crash() {
        let mut rig: Rig<Scene> = Rig::new((), ear::<SceneSurveyed>);
        let blind = survey(&mut rig);
        assert!(!blind.available && blind.reason.is_some() && blind.objects.is_empty());
        for _ in 0..4 {
            let objects = vec![detection("Cup", 0.9, MIDDLE), detection("dog", 0.47, CORNER)];
            rig.send(observed(objects, vec![detection("Anna", 0.8, CORNER)]));
            rig.pass(Duration::from_secs(5));
        }
        rig.crash();
        let told = survey(&mut rig);
        let names: Vec<&str> = told.objects.iter().map(|thing| thing.name.as_str()).collect();
        assert_eq!((names, told.around), (vec!["anna", "cup", "dog"], 3));
        assert_eq!((told.gaze.as_deref(), told.next_target.as_deref()), (Some("cup"), Some("anna")));
        let cup = &told.objects[1];
        assert_eq!((cup.sightings, cup.kind, cup.dwell_s), (4, ThingKind::Object, Some(15.0)));
        assert!((told.objects[2].confidence.get() - 0.47).abs() < 1e-9, "a wrong label keeps its low confidence");
        assert!(cup.novelty.get() < 1.0);
    }

    #[test]
    fn what_is_not_seen_any_more_is_forgotten_and_there_is_never_too_much() {
        let mut rig: Rig<Scene> = Rig::new((), ear::<SceneSurveyed>);
        for number in 0..100 {
            rig.send(observed(vec![detection(&format!("thing {number}"), 0.5, None)], Vec::new()));
            rig.pass(Duration::from_secs(2));
        }
        assert_eq!(survey(&mut rig).around, super::super::law::MOST);
        rig.pass(Duration::from_secs(700));
        let told = survey(&mut rig);
        assert_eq!((told.around, told.gaze), (0, None));
        assert!(told.available, "it looked, and there is nothing");
    }

    #[test]
    fn the_same_picture_again_costs_nothing() {
        let mut rig: Rig<Scene> = Rig::new((), ear::<SceneSurveyed>);
        let picture = || observed(vec![detection("cup", 0.9, MIDDLE)], Vec::new());
        rig.send(picture());
        rig.pass(Duration::from_millis(500));
        rig.send(picture());
        assert_eq!(survey(&mut rig).objects[0].sightings, 1);
    }
}
