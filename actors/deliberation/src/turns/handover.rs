//! What the model is told about a turn that is handed to it.

use maxim_bus::MessageId;
use maxim_bus::signals::concepts::{KnowledgeEntry, Layer};
use maxim_bus::signals::fear::FearsRecalled;
use maxim_bus::signals::recall::{ClocksDescribed, EnrichedPercept, ExpectedEvent, RecalledEpisode, TimeDescribed};
use maxim_bus::signals::skill::{ProgramRecalled, RUN_PROGRAM};
use maxim_bus::signals::thought::Deliberate;
use serde_json::json;

use super::turn::who;
use maxim_speech::answer;

/// Expected events in the prompt, the next ones first.
const EXPECTED: usize = 3;
/// Anomaly of the time from which the model is told, 0 to 1. A calendar's irregular months stay below it.
const SURPRISING: f64 = 0.1;
/// Names of periods, by their most hours.
const PERIODS: [(f64, &str); 3] = [(24.0, "day"), (168.0, "week"), (720.0, "month")];

pub(super) fn handed_over(turn: MessageId, enriched: &EnrichedPercept) -> Deliberate {
    let percept = &enriched.salient.percept;
    let EnrichedPercept { recalled, time, knowledge, programs, fears, missing, .. } = enriched;
    let times = time.as_ref().and_then(|time| time.clocks.as_ref()).map(times).unwrap_or_default();
    let mut rooms = Vec::new();
    rooms.extend((!recalled.is_empty()).then(|| room_of(Layer::Hippocampus)));
    for layer in [Layer::Atl, Layer::AngularGyrus, Layer::Nac] {
        rooms.extend(knowledge.iter().any(|entry| entry.layer == layer).then(|| room_of(layer)));
    }
    let is_known = !times.is_empty() || time.as_ref().is_some_and(|time| time.matching > 0);
    rooms.extend(is_known.then_some("suprachiasmatic_nucleus"));
    rooms.extend((!programs.is_empty()).then_some("cerebellum"));
    rooms.extend((!fears.is_empty()).then_some("fear_agent"));
    Deliberate {
        turn,
        text: percept.content.clone(),
        context: joined(&[&context(recalled, time.as_ref(), knowledge), &times, &practised(programs), &feared(fears)]),
        knowledge: known(knowledge, |layer| layer != Layer::Nac),
        extended: extended(recalled),
        enriched: rooms.into_iter().map(str::to_owned).collect(),
        missing: missing.iter().map(|missing| missing.region.clone()).collect(),
        memories: u32::try_from(recalled.len() + knowledge.len()).unwrap_or(u32::MAX),
        with: who(&percept.metadata.channel, &percept.metadata.sender),
        done: Vec::new(),
        last: false,
        goal: None,
    }
}

fn joined(sections: &[&str]) -> String {
    let full: Vec<&str> = sections.iter().copied().filter(|section| !section.trim().is_empty()).collect();
    full.join("\n").trim().to_owned()
}

/// The events expected next, and whether the time is a surprise. Empty if there is nothing to tell.
fn times(clocks: &ClocksDescribed) -> String {
    let rhythm = |event: &ExpectedEvent| {
        let every = PERIODS.iter().find(|(hours, _)| event.period_hours <= *hours).map_or("year", |(_, word)| word);
        format!("- {:?} comes about once a {every}, next about {}", event.kind, event.at)
    };
    let mut lines: Vec<String> = clocks.expected.iter().take(EXPECTED).map(rhythm).collect();
    if clocks.anomaly >= SURPRISING {
        lines
            .push(format!("- The time is another than expected since the last moment (anomaly {:.2})", clocks.anomaly));
    }
    match lines.is_empty() {
        true => String::new(),
        false => format!("What usually comes when:\n{}", lines.join("\n")),
    }
}

/// The practised programs, and how to call them.
fn practised(programs: &[ProgramRecalled]) -> String {
    if programs.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = programs.iter().map(ProgramRecalled::line).collect();
    let how = json!({ "name": "…", "values": ["…"] });
    format!("Practised programs, each done as one step by {RUN_PROGRAM} with params {how}:\n{}", lines.join("\n"))
}

/// Past harm, and past refusals by the gate or a person.
fn feared(fears: &FearsRecalled) -> String {
    let lines = fears.lines();
    if lines.is_empty() { String::new() } else { format!("What hurt or was refused before:\n{}", lines.join("\n")) }
}

fn room_of(layer: Layer) -> &'static str {
    match layer {
        Layer::Hippocampus => "hippocampus",
        Layer::Atl => "anterior_temporal_lobe",
        Layer::AngularGyrus => "angular_gyrus",
        Layer::Nac => "nucleus_accumbens",
    }
}

/// Characters of a result.
const RESULT: usize = 200;
/// So many recalled episodes are left out last.
const BEST: usize = 3;

/// The best episodes and causes, as data for the model.
fn context(recalled: &[RecalledEpisode], time: Option<&TimeDescribed>, knowledge: &[KnowledgeEntry]) -> String {
    let mut sections = Vec::new();
    if !recalled.is_empty() {
        let lines: Vec<String> = recalled.iter().take(BEST).map(episode_line).collect();
        sections.push(format!("From memory:\n{}", lines.join("\n")));
    }
    let causes = known(knowledge, |layer| layer == Layer::Nac);
    sections.extend((!causes.is_empty()).then(|| format!("What led to what:\n{causes}")));
    sections.extend(time.and_then(TimeDescribed::usual));
    sections.join("\n")
}

fn episode_line(episode: &RecalledEpisode) -> String {
    match episode.who() {
        Some(who) => format!("- {} ({who}): {:?}", episode.timestamp, episode.text),
        None => format!("- {}: {:?}", episode.timestamp, episode.text),
    }
}

fn known(knowledge: &[KnowledgeEntry], wanted: impl Fn(Layer) -> bool) -> String {
    let lines = knowledge.iter().filter(|entry| wanted(entry.layer)).map(answer::prompt_line);
    lines.collect::<Vec<_>>().join("\n")
}

/// The weaker memories, and the acts in all of them with their results.
fn extended(recalled: &[RecalledEpisode]) -> String {
    let weaker = recalled.iter().skip(BEST).map(episode_line);
    let deeds = recalled.iter().filter_map(|episode| {
        let (tool, result) = (episode.tool.as_ref()?, episode.result.as_deref().unwrap_or_default());
        let went = match episode.success {
            Some(true) => "went well",
            Some(false) => "failed",
            None => "nobody knows how it went",
        };
        let result: String = result.chars().take(RESULT).collect();
        Some(format!("- {}: {tool} {went}: {result:?}", episode.timestamp))
    });
    let lines: Vec<String> = weaker.chain(deeds).collect();
    if lines.is_empty() { String::new() } else { format!("More from memory:\n{}", lines.join("\n")) }
}
