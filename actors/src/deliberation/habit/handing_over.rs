//! What deliberation is told of a turn that is handed over to it.

use maxim_bus::MessageId;
use maxim_bus::signals::concepts::{KnowledgeEntry, Layer};
use maxim_bus::signals::recall::{EnrichedPercept, RecalledEpisode};
use maxim_bus::signals::thought::Deliberate;

use super::answer;
use super::counsel::who;

/// `programs`: what was practised, in words.
pub(super) fn handed_over(turn: MessageId, enriched: &EnrichedPercept, programs: &str) -> Deliberate {
    let percept = &enriched.salient.percept;
    let EnrichedPercept { recalled, knowledge, missing, .. } = enriched;
    let mut rooms = Vec::new();
    rooms.extend((!recalled.is_empty()).then(|| room_of(Layer::Hippocampus)));
    for layer in [Layer::Atl, Layer::AngularGyrus, Layer::Nac] {
        rooms.extend(knowledge.iter().any(|entry| entry.layer == layer).then(|| room_of(layer)));
    }
    rooms.extend((!programs.is_empty()).then_some("cerebellum"));
    Deliberate {
        turn,
        text: percept.content.clone(),
        context: [&context(recalled, knowledge), programs].join("\n").trim().to_owned(),
        enriched: rooms.into_iter().map(str::to_owned).collect(),
        missing: missing.iter().map(|missing| missing.region.clone()).collect(),
        memories: u32::try_from(recalled.len() + knowledge.len()).unwrap_or(u32::MAX),
        with: who(&percept.metadata.channel, &percept.metadata.sender),
        done: Vec::new(),
        last: false,
        goal: None,
    }
}

fn room_of(layer: Layer) -> &'static str {
    match layer {
        Layer::Hippocampus => "hippocampus",
        Layer::Atl => "anterior_temporal_lobe",
        Layer::AngularGyrus => "angular_gyrus",
        Layer::Nac => "nucleus_accumbens",
    }
}

/// What memory has, as data for the model.
fn context(recalled: &[RecalledEpisode], knowledge: &[KnowledgeEntry]) -> String {
    let line = |episode: &RecalledEpisode| {
        format!("- {} ({}): {:?}", episode.timestamp, episode.people.join(", "), episode.text)
    };
    let mut sections = Vec::new();
    if !recalled.is_empty() {
        let lines: Vec<String> = recalled.iter().map(line).collect();
        sections.push(format!("From memory:\n{}", lines.join("\n")));
    }
    if !knowledge.is_empty() {
        let lines: Vec<String> = knowledge.iter().map(answer::prompt_line).collect();
        sections.push(format!("General knowledge:\n{}", lines.join("\n")));
    }
    sections.join("\n")
}
