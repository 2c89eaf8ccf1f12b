//! Capture: a percept opens an episode. The end of its turn completes it (`outcomes.rs`).

use maxim_bus::MessageId;
use maxim_bus::Trust as BusTrust;
use maxim_bus::signals::goal::GoalChanged;
use maxim_bus::signals::percept::{Disposition, SalientPercept};
use maxim_bus::signals::powers::ModeLowered;
use maxim_bus::signals::recall::EpisodeStored;
use maxim_bus::signals::similarity::{self, Situation, SituationsStored};

use super::events::HippocampusEvent;
use super::held::Indexed;
use super::law::{Surroundings, capture_reasons, is_same_observation, merge_observation, sitting_after};
use super::model::{EpisodicMemory, Outcome, Provenance, Trust};
use super::records::{episode_key, id_key, repeats_key, vector_key};
use super::region::{Hippocampus, Recent, day_of, vector_of};
use maxim_region::{Hears, Pulse};

impl Hippocampus {
    pub(super) fn put_vector(&self, document: u32, indexed: &Indexed, pulse: &mut Pulse<'_, Self>) {
        let encoder = &*pulse.settings().encoder;
        pulse.put_bytes(vector_key(document), vector_of(indexed, encoder).to_record(encoder.id()));
    }

    /// The recent episode with the same observation.
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

/// From now on, the id of an observation that repeats an episode leads to that episode.
pub(super) fn put_repeat(document: u32, id: &str, pulse: &mut Pulse<'_, Hippocampus>) {
    pulse.put(id_key(id), &document);
    let mut repeats = pulse.record::<Vec<String>>(&repeats_key(document)).unwrap_or_default();
    repeats.push(id.to_owned());
    pulse.put(repeats_key(document), &repeats);
}

/// The episode in the form in which it is compared with others.
pub(super) fn situation(episode: &EpisodicMemory) -> Situation {
    situation_of(&Indexed::of(episode, None))
}

pub(super) fn situation_of(indexed: &Indexed) -> Situation {
    let episode = &indexed.episode;
    Situation {
        layer: similarity::EPISODES.into(),
        id: episode.id.clone(),
        at: episode.created,
        text: indexed.fields(0).meant().to_owned(),
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
        BusTrust::Own => Trust::Own,
        BusTrust::Listed => Trust::Trusted,
        BusTrust::Sensor => Trust::Sensor,
        BusTrust::Outside => Trust::Outside,
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
        episode.context.mode = Some(pulse.settings().mode.lowered_to(self.lowered).as_str().to_owned());
        episode.context.goal.clone_from(&self.goal);
        episode.salience = salient.salience;
        episode.novelty = salient.novelty;
        episode.person_involved = said || !percept.people.is_empty();
        // A sender who may not command could use anybody's name.
        let speaker = percept.metadata.person().filter(|_| said && pulse.trust() >= BusTrust::Listed);
        if let Some(name) = speaker {
            episode.perception.people.retain(|known| known != name);
            episode.perception.people.insert(0, name.to_owned());
        }
        self.around.come_into(&mut episode.perception, now);
        episode.perception.unattributed = speaker.is_none() && !episode.perception.people.is_empty();
        if salient.disposition != Disposition::Proceed {
            episode.outcome = Some(Outcome { success: None, result: "not acted on".into() });
        }
        let around =
            Surroundings { goal_before: self.kept_goal.as_deref(), last_kept: self.newest.map(|(_, at, _)| at) };
        episode.reasons = capture_reasons(&episode, &around, &pulse.settings().capture);
        if episode.reasons.is_empty() {
            self.let_pass(turn, episode, pulse);
        } else {
            self.keep_moment(turn, episode, pulse);
        }
    }
}

impl Hears<GoalChanged> for Hippocampus {
    /// Another goal is pursued; the next moment belongs to it.
    fn hear(&self, changed: &GoalChanged, pulse: &mut Pulse<'_, Self>) {
        if changed.active != self.goal {
            pulse.keep(HippocampusEvent::GoalSet { goal: changed.active.clone() });
        }
    }
}

impl Hears<ModeLowered> for Hippocampus {
    fn hear(&self, lowered: &ModeLowered, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(HippocampusEvent::ModeLowered { to: lowered.to });
    }
}

/// The document as which a moment is kept, and the episode there.
pub(super) type Kept = (u32, EpisodicMemory);

impl Hippocampus {
    /// Keeps a moment, or merges it into the one that it repeats. Its turn is open until it is completed.
    pub(super) fn keep_moment(
        &self,
        turn: MessageId,
        mut episode: EpisodicMemory,
        pulse: &mut Pulse<'_, Self>,
    ) -> Kept {
        let reasons = episode.reasons.iter().map(|reason| format!("{reason:?}")).collect();
        let mut stored = EpisodeStored {
            episode: episode.id.clone(),
            at: pulse.now(),
            complete: false,
            reasons,
            salience: episode.salience,
            repeats: None,
        };
        let kept = if let Some((document, mut old)) = self.repeated(&episode, pulse) {
            merge_observation(&mut old, &episode);
            pulse.put(episode_key(document), &old);
            put_repeat(document, &episode.id, pulse);
            stored.repeats = Some(old.id.clone());
            pulse.keep(HippocampusEvent::Merged { document, turn: Some(turn), episode: Box::new(old.clone()) });
            (document, old)
        } else {
            let before = self.newest.map(|(sitting, at, _)| (sitting, at));
            episode.sitting = sitting_after(before, episode.created, &pulse.settings().links);
            let day = day_of(episode.created, &pulse.settings().zone);
            pulse.put(episode_key(self.next), &episode);
            pulse.put(id_key(&episode.id), &self.next);
            self.put_vector(self.next, &Indexed::of(&episode, None), pulse);
            pulse.emit(SituationsStored { stored: vec![situation(&episode)], ..SituationsStored::default() });
            let boxed = Box::new(episode.clone());
            pulse.keep(HippocampusEvent::Captured {
                document: self.next,
                turn: Some(turn),
                day,
                episode: boxed,
                held: None,
            });
            (self.next, episode)
        };
        self.keep_sealed(pulse);
        pulse.emit(stored);
        kept
    }
}
