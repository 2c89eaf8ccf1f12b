//! Between two cycles: memory is asked with what was thought.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maxim_bus::MessageId;
use maxim_bus::RegionName;
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::concepts::{KnowledgeEntry, RecallKnowledge};
use maxim_bus::signals::fear::{FearsRecalled, RecallFears};
use maxim_bus::signals::introspection::{ForeseeVerdict, Verdict, VerdictForeseen};
use maxim_bus::signals::recall::{
    DescribeTime, EpisodeFilter, OutcomesPredicted, PredictOutcomes, RecallEpisodes, RecalledEpisode, TimeDescribed,
};
use maxim_bus::signals::skill::{ProgramRecalled, RecallPrograms};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::PrefrontalCortex;
use super::model::{Context, PrefrontalSettings};
use maxim_region::{Gather, Pulse};

/// The room of episodes.
const EPISODES: RegionName = rooms::HIPPOCAMPUS;
/// The room that knows what actions lead to.
const PREDICTIONS: RegionName = rooms::NUCLEUS_ACCUMBENS;
/// Kinds of what is usual now that are told.
const TYPICAL: usize = 3;
/// The room that knows what is usual at a time.
const TIMES: RegionName = rooms::SUPRACHIASMATIC_NUCLEUS;
/// The room that says what the gate would make of an action, and what hurt.
const FEAR: RegionName = rooms::FEAR_AGENT;
/// The room of what is practised.
const PROGRAMS: RegionName = rooms::CEREBELLUM;
/// Programs, and fears of each kind, that a thought is told.
const PRACTISED: usize = 3;
const FEARED: usize = 3;
/// Characters of a thought that memory is asked with.
const CUE: usize = 400;

/// Questions that are out, and what was answered so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Reminded {
    /// By the room that was asked.
    #[serde(default)]
    gather: Gather<String>,
    episodes: Vec<RecalledEpisode>,
    prediction: Option<OutcomesPredicted>,
    #[serde(default)]
    time: Option<TimeDescribed>,
    /// The tool that was named, and what the gate would say.
    #[serde(default)]
    fear: Option<(String, VerdictForeseen)>,
    #[serde(default)]
    named: String,
    /// Programs that share words with the thought.
    #[serde(default)]
    programs: Vec<ProgramRecalled>,
    /// The history of the tools that the thought speaks of.
    #[serde(default)]
    history: FearsRecalled,
    /// By the room that knows.
    knowledge: BTreeMap<String, Vec<KnowledgeEntry>>,
}

/// What a room answered.
pub(super) enum Answer {
    Episodes(Vec<RecalledEpisode>),
    Prediction(OutcomesPredicted),
    Knowledge(Vec<KnowledgeEntry>),
    Time(TimeDescribed),
    Verdict(VerdictForeseen),
    Programs(Vec<ProgramRecalled>),
    Fears(FearsRecalled),
}

impl Reminded {
    /// Asks all rooms at once. `named`: the tool that the thought leans towards.
    pub(super) fn ask(
        turn: MessageId,
        thought: &str,
        named: Option<&(String, Json)>,
        pulse: &mut Pulse<'_, PrefrontalCortex>,
    ) -> Self {
        let cue: String = thought.chars().take(CUE).collect();
        let PrefrontalSettings { episodes, knowledge, knowledge_rooms, .. } = pulse.settings();
        let until = pulse.now().later(pulse.settings().recall);
        let mut gather = Gather::until(until);
        if !cue.trim().is_empty() {
            if *episodes > 0 {
                let filter = EpisodeFilter {
                    query: Some(cue.clone()),
                    expand: true,
                    limit: *episodes + 1, // so that an association finds a place
                    ..EpisodeFilter::default()
                };
                let (except, until) = (Some(turn), Some(until));
                gather.ask(RecallEpisodes { filter, except, thought: true, waits: false, until }, pulse);
            }
            for room in knowledge_rooms.iter().filter(|_| *knowledge > 0) {
                gather.ask_room((*room).into(), room, RecallKnowledge { text: cue.clone(), limit: *knowledge }, pulse);
            }
            gather.ask(DescribeTime { limit: TYPICAL, ..DescribeTime::default() }, pulse);
            gather.ask(RecallPrograms { text: cue.clone(), limit: PRACTISED }, pulse);
            gather.ask(RecallFears { text: cue, limit: FEARED }, pulse);
        }
        if let Some((tool, params)) = named {
            gather.ask(ForeseeVerdict { tool: tool.clone(), params: params.clone() }, pulse);
            let (tool_name, params, context) = (tool.clone(), params.clone(), json!({}));
            let query = PredictOutcomes { tool_name, params, context, include_all_outcomes: false };
            gather.ask(query, pulse);
        }
        let named = named.map(|(tool, _)| tool.clone()).unwrap_or_default();
        Self { gather, named, ..Self::default() }
    }

    /// Takes the answer that is being heard; false where it isn't waited for any more.
    pub(super) fn take(&mut self, answer: Answer, pulse: &Pulse<'_, PrefrontalCortex>) -> bool {
        let Some(room) = self.gather.take(pulse) else { return false };
        match answer {
            Answer::Episodes(episodes) => self.episodes = episodes,
            Answer::Prediction(prediction) => self.prediction = Some(prediction),
            Answer::Knowledge(entries) => drop(self.knowledge.insert(room, entries)),
            Answer::Time(time) => self.time = Some(time),
            Answer::Programs(mut programs) => {
                programs.retain(|program| program.fit > 0.0);
                self.programs = programs;
            }
            Answer::Fears(fears) => self.history = fears.of_named(),
            Answer::Verdict(verdict) => self.fear = Some((self.named.clone(), verdict)),
        }
        true
    }

    pub(super) fn is_whole(&self) -> bool {
        self.gather.is_whole()
    }

    pub(super) fn due(&self) -> Timestamp {
        self.gather.due
    }

    /// What is told of it, a line each, and what the next cycle is enriched with. `most`: pieces of knowledge.
    pub(super) fn told(self, most: usize) -> (Vec<String>, Context) {
        let mut lines: Vec<String> = self.episodes.iter().map(episode_line).collect();
        let mut enriched = Vec::new();
        enriched.extend((!self.episodes.is_empty()).then(|| EPISODES.to_owned()));
        enriched.extend(self.knowledge.iter().filter(|(_, known)| !known.is_empty()).map(|(room, _)| room.clone()));
        let mut known: Vec<KnowledgeEntry> = self.knowledge.into_values().flatten().collect();
        known.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (a.layer, &a.id).cmp(&(b.layer, &b.id))));
        known.truncate(most);
        lines.extend(known.iter().map(|entry| format!("- {:?}: {:?}", entry.name, entry.text)));
        if let Some(prediction) = &self.prediction {
            enriched.extend(prediction.known.then(|| PREDICTIONS.to_owned()));
            lines.push(prediction_line(prediction));
        }
        let verdict = self.fear.as_ref().filter(|(_, verdict)| is_feared(verdict));
        enriched.extend((verdict.is_some() || !self.history.is_empty()).then(|| FEAR.to_owned()));
        lines.extend(verdict.map(|(tool, verdict)| verdict_line(tool, verdict)));
        lines.extend(self.history.lines());
        if !self.programs.is_empty() {
            enriched.push(PROGRAMS.to_owned());
            lines.extend(self.programs.iter().map(ProgramRecalled::line));
        }
        if let Some(usual) = self.time.as_ref().and_then(TimeDescribed::usual) {
            enriched.push(TIMES.to_owned());
            lines.push(format!("- {usual}"));
        }
        let memories = self.episodes.len() + known.len();
        if lines.is_empty() && self.gather.is_whole() {
            lines.push("- Nothing comes to mind.".into());
        }
        let mut missing: Vec<String> = self.gather.missing().cloned().collect();
        missing.sort();
        missing.dedup();
        lines.extend(missing.iter().map(|room| format!("- {room} did not answer in time.")));
        let (predicted, foreseen) = (self.prediction, self.fear.map(|(_, verdict)| verdict));
        (lines, Context { enriched, missing, recalled: self.episodes, knowledge: known, predicted, foreseen, memories })
    }
}

fn episode_line(episode: &RecalledEpisode) -> String {
    let outcome = match (&episode.tool, episode.success) {
        (Some(tool), Some(true)) => format!(" ({tool} succeeded)"),
        (Some(tool), Some(false)) => format!(" ({tool} failed)"),
        _ => String::new(),
    };
    match episode.who() {
        Some(who) => format!("- {} {who:?}: {:?}{outcome}", episode.timestamp, episode.text),
        None => format!("- {}: {:?}{outcome}", episode.timestamp, episode.text),
    }
}

/// Whether the gate has anything to say.
fn is_feared(verdict: &VerdictForeseen) -> bool {
    verdict.verdict != Verdict::Allow || (verdict.hurt_before && verdict.unforgiven > 0.0)
}

fn verdict_line(tool: &str, verdict: &VerdictForeseen) -> String {
    match verdict.verdict {
        Verdict::Allow => format!("- {tool} with such parameters went wrong before, so a person may be asked."),
        Verdict::Ask if verdict.allowed_always => format!("- A person allowed exactly this call of {tool} for good."),
        Verdict::Ask => format!("- For {tool} a person would be asked first: {}.", verdict.reason),
        Verdict::Block => format!("- The gate would block {tool}: {}.", verdict.reason),
    }
}

fn prediction_line(prediction: &OutcomesPredicted) -> String {
    let tool = &prediction.tool_name;
    if !prediction.known {
        return format!("- Of {tool} with such parameters nothing is known.");
    }
    let outcome =
        prediction.outcomes.first().map_or(String::new(), |(outcome, p)| format!(", mostly {outcome} ({p:.2})"));
    format!(
        "- {tool} is expected to be {:.2} of 1 good{outcome}, after {} times.",
        prediction.value.get(),
        prediction.observations
    )
}
