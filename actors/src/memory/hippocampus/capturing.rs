//! Capture: a percept opens an episode, and the end of its turn completes it.

use jiff::Timestamp;
use maxim_bus::Trust as BusTrust;
use maxim_bus::signals::bridges::EpisodeLived;
use maxim_bus::signals::percept::{Disposition, PainSignal, SalientPercept};
use maxim_bus::signals::recall::EpisodeStored;
use maxim_bus::signals::similarity::{self, Situation, SituationsStored};
use maxim_bus::signals::thought::TurnEnded;

use super::law::{Surroundings, capture_reasons, is_same_observation, merge_observation, sitting_after};
use super::model::{Action, CaptureReason, EpisodicMemory, Outcome, Provenance, Trust};
use super::recalling::{CLIP, bus_trust};
use super::region::{
    Hippocampus, HippocampusEvent, Recent, day_of, episode_key, id_key, repeats_key, vector_key, vector_of,
};
use crate::region::{Hears, Pulse};

/// Tool that only speaks: a turn in which nothing else was done has no action of its own.
const RESPOND: &str = "respond";

impl Hippocampus {
    pub(super) fn put_vector(&self, document: u32, episode: &EpisodicMemory, pulse: &mut Pulse<'_, Self>) {
        let encoder = &*pulse.settings().encoder;
        pulse.put_bytes(vector_key(document), vector_of(episode, encoder).to_record(encoder.id()));
    }

    /// The recent episode that this one repeats.
    pub(super) fn repeated(&self, episode: &EpisodicMemory, pulse: &Pulse<'_, Self>) -> Option<(u32, EpisodicMemory)> {
        let law = &pulse.settings().capture;
        let text = Recent::text_of(episode);
        let recent = self.recent.iter().rev();
        let near = recent.filter(|recent| episode.created.duration_since(recent.at).abs() <= law.merge_within);
        near.filter(|recent| recent.text.is_none_or(|other| other == text))
            .filter_map(|recent| Some((recent.document, pulse.record(&episode_key(recent.document))?)))
            .find(|(_, old)| is_same_observation(old, episode, law))
    }
}

/// The id of an observation that repeats an episode leads to it from now on.
pub(super) fn put_repeat(document: u32, id: &str, pulse: &mut Pulse<'_, Hippocampus>) {
    pulse.put(id_key(id), &document);
    let mut repeats = pulse.record::<Vec<String>>(&repeats_key(document)).unwrap_or_default();
    repeats.push(id.to_owned());
    pulse.put(repeats_key(document), &repeats);
}

/// The episode by what it can be compared with others.
pub(super) fn situation(episode: &EpisodicMemory) -> Situation {
    let more = episode.further_words();
    Situation {
        layer: similarity::EPISODES.into(),
        id: episode.id.clone(),
        at: episode.created,
        text: episode.fields(&more, 0).meant().to_owned(),
        goal: episode.goal().map(str::to_owned),
        mode: episode.context.mode.clone(),
        tool: episode.tool().map(str::to_owned),
        success: episode.success(),
        objects: episode.perception.objects.clone(),
        people: episode.perception.people.clone(),
    }
}

fn trust_of(trust: BusTrust) -> Trust {
    match trust {
        BusTrust::Owner => Trust::Owner,
        BusTrust::Own | BusTrust::Sensor => Trust::Own,
        BusTrust::Listed => Trust::Trusted,
        BusTrust::Outside => Trust::Outside,
    }
}

/// The completed episode as the bridges learn from it.
fn lived(episode: &EpisodicMemory, ended: &TurnEnded, at: Timestamp) -> EpisodeLived {
    EpisodeLived {
        episode: episode.id.clone(),
        turn: ended.turn,
        at,
        text: episode.perception.text.chars().take(CLIP).collect(),
        source: episode.perception.source.clone(),
        objects: episode.perception.objects.clone(),
        people: episode.perception.people.clone(),
        goal: episode.context.goal.clone(),
        goal_changed: episode.reasons.contains(&CaptureReason::GoalChanged),
        actions: ended.actions.clone(),
        salience: episode.salience,
        novelty: episode.novelty,
        person_involved: episode.person_involved,
        trust: bus_trust(episode.trust),
    }
}

impl Hears<SalientPercept> for Hippocampus {
    fn hear(&self, salient: &SalientPercept, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        let percept = &salient.percept;
        let now = pulse.now();
        let mut episode = EpisodicMemory::new(turn.to_string(), now);
        let said = percept.is_said();
        episode.provenance = if said { Provenance::Person } else { Provenance::OwnExperience };
        episode.trust = trust_of(pulse.trust());
        episode.run.clone_from(&pulse.settings().run);
        episode.perception.text.clone_from(&percept.content);
        episode.perception.objects.clone_from(&percept.objects);
        episode.perception.people.clone_from(&percept.people);
        episode.perception.source.clone_from(&percept.source);
        episode.perception.heard = percept.heard;
        episode.context.mode = Some(pulse.settings().mode.clone());
        episode.context.goal.clone_from(&self.goal);
        episode.salience = salient.salience;
        episode.novelty = salient.novelty;
        episode.person_involved = said || !percept.people.is_empty();
        self.around.come_into(&mut episode.perception, now);
        if salient.disposition != Disposition::Proceed {
            episode.outcome = Some(Outcome { success: None, result: "not acted on".into() });
        }
        let around =
            Surroundings { goal_before: self.kept_goal.as_deref(), last_kept: self.newest.map(|(_, at, _)| at) };
        episode.reasons = capture_reasons(&episode, &around, &pulse.settings().capture);
        if episode.reasons.is_empty() {
            return;
        }
        let reasons = episode.reasons.iter().map(|reason| format!("{reason:?}")).collect();
        let stored = EpisodeStored {
            episode: episode.id.clone(),
            at: now,
            complete: false,
            reasons,
            salience: episode.salience,
        };
        if let Some((document, mut old)) = self.repeated(&episode, pulse) {
            merge_observation(&mut old, &episode);
            pulse.put(episode_key(document), &old);
            put_repeat(document, &episode.id, pulse);
            pulse.keep(HippocampusEvent::Merged { document, turn: Some(turn), episode: Box::new(old) });
        } else {
            episode.sitting = sitting_after(self.newest.map(|(sitting, at, _)| (sitting, at)), now);
            let day = day_of(now, &pulse.settings().zone);
            pulse.put(episode_key(self.next), &episode);
            pulse.put(id_key(&episode.id), &self.next);
            self.put_vector(self.next, &episode, pulse);
            pulse.emit(SituationsStored { stored: vec![situation(&episode)], ..SituationsStored::default() });
            pulse.keep(HippocampusEvent::Captured {
                document: self.next,
                turn: Some(turn),
                day,
                episode: Box::new(episode),
            });
        }
        self.keep_sealed(pulse);
        pulse.emit(stored);
    }
}

impl Hears<TurnEnded> for Hippocampus {
    fn hear(&self, ended: &TurnEnded, pulse: &mut Pulse<'_, Self>) {
        let Some(document) = self.open.get(&ended.turn).copied() else { return };
        let Some(mut episode) = pulse.record::<EpisodicMemory>(&episode_key(document)) else { return };
        let mut done = ended.actions.iter().rev().filter(|action| action.tool != RESPOND);
        if let Some(action) = done.next() {
            let params = action.params.as_object().cloned().unwrap_or_default();
            episode.action = Some(Action { tool: action.tool.clone(), params });
            let success = match action.status.as_str() {
                "done" => Some(true),
                "failed" => Some(false),
                _ => None,
            };
            let result = action.reason.clone().unwrap_or_else(|| action.status.clone());
            episode.outcome = Some(Outcome { success, result });
        } else if episode.outcome.is_none() {
            // What was answered may repeat what was recalled, so it stays out of what is found by words.
            let answered = !ended.lost && ended.actions.iter().any(|action| action.status == "done");
            let success = answered.then_some(true);
            episode.outcome = Some(Outcome { success, result: String::new() });
        }
        if ended.decided.is_some() {
            episode.decision.clone_from(&ended.decided);
        }
        let stored = EpisodeStored {
            episode: episode.id.clone(),
            at: pulse.now(),
            complete: true,
            reasons: Vec::new(),
            salience: episode.salience,
        };
        pulse.put(episode_key(document), &episode);
        pulse.emit(SituationsStored { stored: vec![situation(&episode)], ..SituationsStored::default() });
        pulse.emit(lived(&episode, ended, pulse.now()));
        pulse.keep(HippocampusEvent::Completed { document, turn: ended.turn, episode: Box::new(episode) });
        pulse.emit(stored);
    }
}

impl Hears<PainSignal> for Hippocampus {
    /// What hurt in a turn belongs to its episode.
    fn hear(&self, felt: &PainSignal, pulse: &mut Pulse<'_, Self>) {
        let Some(document) = self.document_of(pulse.turn()) else { return };
        let Some(mut episode) = pulse.record::<EpisodicMemory>(&episode_key(document)) else { return };
        if felt.intensity <= episode.pain {
            return;
        }
        episode.pain = felt.intensity;
        let is_reason = felt.intensity.get() >= pulse.settings().capture.painful;
        if is_reason && !episode.reasons.contains(&CaptureReason::Pain) {
            episode.reasons.push(CaptureReason::Pain);
        }
        pulse.put(episode_key(document), &episode);
    }
}
