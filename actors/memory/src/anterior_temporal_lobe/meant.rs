//! Concepts in the comparison of all memory. The entorhinal cortex is told of each concept. It is asked which are near
//! in meaning, if an external encoder can tell.

use jiff::SignedDuration;
use maxim_bus::MessageId;
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::concepts::{ConceptsFound, FindConcepts};
use maxim_bus::signals::encoding::{FindMeant, MeantFound};
use maxim_bus::signals::similarity::Situation;

use super::find::Meant;
use super::model::{SemanticMemory, concept_number};
use super::region::{AnteriorTemporalLobe, AtlEvent};
use maxim_region::{Hears, Pulse, Waiting};

/// Number of nearby concepts requested.
const MEANT: usize = 64;
/// How long a question waits for them: less than the asker does.
const PATIENCE: SignedDuration = SignedDuration::from_millis(900);

/// A concept in a form that can be compared with episodes: its description is the text, and its name is an object.
pub(super) fn situation(concept: &SemanticMemory) -> Situation {
    Situation {
        layer: rooms::ANTERIOR_TEMPORAL_LOBE.into(),
        id: concept.id.clone(),
        at: concept.created,
        text: concept.embedding_text(),
        objects: vec![concept.name.clone()],
        ..Situation::default()
    }
}

impl AnteriorTemporalLobe {
    pub(super) fn give_up_pondering(&self, pulse: &mut Pulse<'_, Self>) {
        self.pondered.overdue(pulse.now()).into_iter().for_each(|asked| self.end_pondering(asked, None, pulse));
    }

    /// Waits for what an external encoder finds near; false if there is none, or nothing to compare.
    fn ponder(&self, asked: &FindConcepts, pulse: &mut Pulse<'_, Self>) -> bool {
        let text = asked.query.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let waiting = Waiting::heard(pulse, pulse.now().later(PATIENCE), asked.clone());
        let (Some(text), Some(pondered)) = (text.filter(|_| pulse.settings().asks_meaning), waiting) else {
            return false;
        };
        let find = FindMeant { text: text.into(), layer: rooms::ANTERIOR_TEMPORAL_LOBE.into(), limit: MEANT };
        let asked = pulse.ask(find);
        pulse.keep(AtlEvent::Pondered { asked, pondered: Box::new(pondered) });
        true
    }

    /// Answers a waiting question with what came.
    fn end_pondering(&self, asked: MessageId, meant: Option<&MeantFound>, pulse: &mut Pulse<'_, Self>) {
        let Some(pondered) = self.pondered.get(asked) else { return };
        let meant = meant.and_then(|meant| Some((meant.near.as_ref()?, meant.floor))).map(|(near, floor)| {
            let beyond = |like: f32| f64::from(((like - floor) / (1.0 - floor)).clamp(0.0, 1.0));
            near.iter().filter_map(|(id, like)| Some((concept_number(id)?, beyond(*like)))).collect::<Meant>()
        });
        let answer = self.found(&pondered.question, meant.as_ref(), pulse);
        pulse.keep(AtlEvent::PonderingEnded { asked });
        pondered.answer(pulse, answer);
    }

    fn found(&self, asked: &FindConcepts, meant: Option<&Meant>, pulse: &mut Pulse<'_, Self>) -> ConceptsFound {
        let finder = self.finder(&pulse.settings().law);
        match finder.find(asked, meant) {
            Ok(ranked) => {
                let numbers: Vec<u32> = ranked.iter().map(|(number, _)| *number).collect();
                self.touch(&numbers, pulse);
                let shown = ranked.into_iter().filter_map(|(number, score)| {
                    let memory = self.memory(number, pulse)?;
                    Some(finder.shown(number, memory, score))
                });
                ConceptsFound { concepts: shown.collect(), error: None }
            }
            Err(why) => ConceptsFound { concepts: Vec::new(), error: Some(why) },
        }
    }
}

impl Hears<FindConcepts> for AnteriorTemporalLobe {
    fn hear(&self, asked: &FindConcepts, pulse: &mut Pulse<'_, Self>) {
        if !self.ponder(asked, pulse) {
            let answer = self.found(asked, None, pulse);
            pulse.reply(answer);
        }
    }
}

impl Hears<MeantFound> for AnteriorTemporalLobe {
    fn hear(&self, found: &MeantFound, pulse: &mut Pulse<'_, Self>) {
        if let Some(asked) = pulse.cause().and_then(|cause| cause.cause) {
            self.end_pondering(asked, Some(found), pulse);
        }
    }
}
