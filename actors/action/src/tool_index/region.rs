//! The tool index as a room: learns which tools served which goals, and ranks them for a goal.
//!
//! Biology: affordances, competing in premotor cortex before one is chosen (Cisek 2007).
//! Law: see `index.rs`. A tool that succeeded serves its turn's goal, once a turn. Failures change nothing, and
//! outsiders teach nothing.
//! Remembers: for each tool its successes by word and meaning, and 256 past goals, as records. Forgets: words and goals
//! that a person had forgotten, if no other turn had them. Counts and sums stay; they reveal no word.
//! Down: results wait; the prompt shows tools without a ranking.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use maxim_bus::rooms;
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::intent::Intent;
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::prompt::{RankTools, ToolsRanked};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use super::remembering::Recalled;
use super::{Learned, Sampled, ToolIndex, ToolText};
use maxim_bus::rooms::RESPOND;
use maxim_language::{Encoder, estimated_tokens};
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, RecordView, Region, source_hashes};

/// Goals of open turns at most; the oldest leave.
const MOST_OPEN: usize = 64;
pub(super) const LEARNED: &str = "learned/";
pub(super) const SAMPLED: &str = "sampled/";

/// How the room is set up.
#[derive(Clone, Debug)]
pub struct ToolIndexSettings {
    pub catalog: Arc<Vec<ToolText>>,
    pub encoder: Arc<dyn Encoder>,
}

#[derive(Default, Serialize, Deserialize)]
pub struct ToolIndexRoom {
    open: BTreeMap<MessageId, OpenGoal>,
    pub(super) successes: u64,
    /// Built from the records when first needed, after a start and after something was forgotten. It takes half a
    /// megabyte that an agent which only talks never needs.
    #[serde(skip)]
    index: RefCell<Option<ToolIndex>>,
}

/// A turn's goal, and the tools for which it counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenGoal {
    goal: String,
    served: BTreeSet<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToolIndexEvent {
    GoalNoted { turn: MessageId, goal: String },
    Served { turn: MessageId, goal: String, tool: String },
    Recalled(Box<Recalled>),
    LetGo { turns: Vec<String> },
}

wiring!(ToolIndexRoom {
    hears: [Intent, ToolResult, RecordsRemoved, RankTools, ReportStats, ExportRecords, ImportRecords],
    back: [],
    emits: [ToolsRanked, StatsReported, RecordsExported, RecordsImported],
});

impl Region for ToolIndexRoom {
    const NAME: RegionName = rooms::TOOL_INDEX;
    const STAGE: Stage = Stage::Action;
    type Event = ToolIndexEvent;
    type Settings = ToolIndexSettings;

    fn apply(&mut self, event: ToolIndexEvent) {
        match event {
            ToolIndexEvent::GoalNoted { turn, goal } => {
                // Ids begin with their time, so the first is the oldest.
                while self.open.len() >= MOST_OPEN && self.open.pop_first().is_some() {}
                self.open.insert(turn, OpenGoal { goal, served: BTreeSet::new() });
            }
            ToolIndexEvent::Served { turn, goal, tool } => {
                self.successes += 1;
                // If it isn't built yet, the records from which it will be built hold this already.
                if let Some(index) = self.index.get_mut() {
                    let goal = index.goal(&goal);
                    index.learn_in(&goal, &tool, &turn.to_string());
                }
                if let Some(open) = self.open.get_mut(&turn) {
                    open.served.insert(tool);
                }
            }
            ToolIndexEvent::Recalled(recalled) => {
                self.successes = self.successes.max(recalled.successes);
                if let Some(index) = self.index.get_mut() {
                    recalled.put(index);
                }
            }
            ToolIndexEvent::LetGo { turns } => {
                self.open.retain(|turn, _| !turns.contains(&turn.to_string()));
                *self.index.get_mut() = None;
            }
        }
    }

    /// The records from which the index is built. A recording that starts later continues from these.
    fn read_to_wake(&mut self, records: &RecordView<'_>, _: &ToolIndexSettings) {
        for kind in [LEARNED, SAMPLED] {
            drop(records.prefixed(kind.as_bytes(), usize::MAX));
        }
    }
}

impl ToolIndexRoom {
    fn made_of(records: &RecordView<'_>, settings: &ToolIndexSettings) -> ToolIndex {
        let mut index = ToolIndex::new(&settings.catalog, Arc::clone(&settings.encoder), estimated_tokens);
        for (key, bytes) in records.prefixed(LEARNED.as_bytes(), usize::MAX) {
            let tool = String::from_utf8_lossy(&key[LEARNED.len()..]).into_owned();
            match serde_json::from_slice::<Learned>(&bytes) {
                Ok(learned) => index.restore(tool, learned),
                Err(error) => tracing::error!(tool, %error, "what a tool learned has another shape"),
            }
        }
        for (key, bytes) in records.prefixed(SAMPLED.as_bytes(), usize::MAX) {
            let key = std::str::from_utf8(&key[SAMPLED.len()..]).ok().and_then(|key| u64::from_str_radix(key, 16).ok());
            if let (Some(key), Ok(sampled)) = (key, serde_json::from_slice::<Sampled>(&bytes)) {
                index.restore_sampled(key, sampled);
            }
        }
        index
    }

    /// Builds the index if needed, and passes it on.
    fn with_index<T>(&self, pulse: &Pulse<'_, Self>, see: impl FnOnce(&ToolIndex) -> T) -> T {
        let mut index = self.index.borrow_mut();
        see(index.get_or_insert_with(|| Self::made_of(pulse.records(), pulse.settings())))
    }
}

pub(super) fn sampled_key(key: u64) -> String {
    format!("{SAMPLED}{key:016x}")
}

impl Hears<Intent> for ToolIndexRoom {
    /// An answer needs no tool search.
    fn heeds(intent: &Intent) -> bool {
        intent.tool != RESPOND && intent.trust >= Trust::Listed
    }

    fn hear(&self, intent: &Intent, pulse: &mut Pulse<'_, Self>) {
        let Some(goal) = intent.goal.clone() else { return };
        if !self.open.contains_key(&intent.turn) {
            pulse.keep(ToolIndexEvent::GoalNoted { turn: intent.turn, goal });
        }
    }
}

impl Hears<ToolResult> for ToolIndexRoom {
    fn heeds(result: &ToolResult) -> bool {
        result.success == Some(true) && result.tool != RESPOND
    }

    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        let Some(open) = self.open.get(&result.turn) else { return };
        let (turn, tool) = (result.turn, result.tool.clone());
        if open.served.contains(&tool) {
            return;
        }
        let learned = self.with_index(pulse, |index| {
            index.knows(&tool).then(|| index.with_success(&index.goal(&open.goal), &tool, &turn.to_string()))
        });
        let Some((learned, sampled, leaves)) = learned else { return };
        pulse.put(format!("{LEARNED}{tool}"), &learned);
        if let Some(key) = leaves {
            pulse.remove(sampled_key(key));
        }
        if let Some((key, sampled)) = sampled {
            pulse.put(sampled_key(key), &sampled);
        }
        pulse.keep(ToolIndexEvent::Served { turn, goal: open.goal.clone(), tool });
    }
}

impl Hears<RecordsRemoved> for ToolIndexRoom {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        if !removed.forgotten || removed.layer != Layer::Hippocampus {
            return; // what sleep let go has taught
        }
        let gone = source_hashes(removed);
        let (tools, goals) = self.with_index(pulse, |index| (index.words_without(&gone), index.sampled_in(&gone)));
        for (tool, learned) in tools {
            pulse.put(format!("{LEARNED}{tool}"), &learned);
        }
        for (key, sampled, is_spent) in goals {
            match is_spent {
                true => pulse.remove(sampled_key(key)),
                false => pulse.put(sampled_key(key), &sampled),
            }
        }
        pulse.keep_gone(ToolIndexEvent::LetGo { turns: removed.ids.clone() }, true);
    }
}

impl Hears<RankTools> for ToolIndexRoom {
    fn hear(&self, asked: &RankTools, pulse: &mut Pulse<'_, Self>) {
        let ranking = self.with_index(pulse, |index| index.rank(&index.goal(&asked.goal)));
        let tools = ranking.tools.into_iter().map(|tool| (tool.name, tool.score)).collect();
        let shown = u32::try_from(ranking.shown).unwrap_or(u32::MAX);
        pulse.reply(ToolsRanked { turn: asked.turn, tools, shown, successes: self.successes });
    }
}

impl Hears<ReportStats> for ToolIndexRoom {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts = serde_json::json!({ "successes": self.successes });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::signals::thought::Mind;
    use maxim_bus::units::Confidence;
    use serde_json::json;

    use super::*;
    use maxim_language::TokenTable;
    use maxim_region::rig::{Rig, ear};

    fn rig() -> Rig<ToolIndexRoom> {
        let tool = |name: &str, description: &str| ToolText {
            name: name.into(),
            description: description.into(),
            parameters: json!({}),
        };
        let catalog = vec![
            tool("write_file", "Writes a text to a file."),
            tool("glob", "Lists files by a pattern."),
            tool("bash", "Runs a command."),
        ];
        let settings = ToolIndexSettings { catalog: Arc::new(catalog), encoder: Arc::new(TokenTable::embedded()) };
        Rig::new(settings, ear::<ToolsRanked>)
    }

    /// A turn in which this tool was used for this goal.
    fn use_tool(rig: &mut Rig<ToolIndexRoom>, goal: &str, tool: &str, success: bool, trust: Trust) {
        let turn = MessageId::from_parts(goal.len() as u64, tool.len() as u128);
        let intent = Intent {
            turn,
            tool: tool.into(),
            params: json!({}),
            mind: Mind::Model,
            confidence: Confidence::clamped(1.0),
            commanded: false,
            trust,
            unasked: false,
            goal: Some(goal.into()),
            channel: "http".into(),
            recipient: "anna".into(),
            then: Vec::new(),
            instead: Vec::new(),
        };
        rig.send_in(turn, trust, intent);
        let result = ToolResult {
            action: turn,
            intent: turn,
            turn,
            tool: tool.into(),
            params: json!({}),
            success: Some(success),
            output: json!(null),
            error: None,
            failure: None,
            duration_us: 1,
            side_effects: Vec::new(),
            reward: None,
        };
        // The same success twice in a turn counts once.
        rig.send_in(turn, trust, result.clone());
        rig.send_in(turn, trust, result);
    }

    fn best(rig: &mut Rig<ToolIndexRoom>, goal: &str) -> (String, u64) {
        rig.send(RankTools { turn: MessageId::from_parts(1, 1), goal: goal.into() });
        let ranked = rig.heard::<ToolsRanked>().pop().expect("an answer");
        (ranked.tools[0].0.clone(), ranked.successes)
    }

    #[test]
    fn a_success_changes_the_ranking_and_a_crash_does_not() {
        let mut rig = rig();
        let goal = "prepare the morning report";
        let (first, _) = best(&mut rig, goal);
        let other = if first == "bash" { "glob" } else { "bash" };
        use_tool(&mut rig, goal, other, false, Trust::Owner);
        assert_eq!(best(&mut rig, goal), (first.clone(), 0), "a failure teaches nothing");
        use_tool(&mut rig, &format!("{goal} x"), other, true, Trust::Outside);
        assert_eq!(best(&mut rig, goal), (first, 0), "nor does an outsider");
        for turns in 1..=3 {
            use_tool(&mut rig, &format!("{goal} now{}", "!".repeat(turns)), other, true, Trust::Owner);
        }
        assert_eq!(best(&mut rig, goal), (other.to_owned(), 3), "once a turn");
        let hash = rig.state_hash();
        rig.crash();
        assert_eq!(rig.state_hash(), hash);
        assert_eq!(best(&mut rig, goal), (other.to_owned(), 3));
    }

    #[test]
    fn words_that_only_a_forgotten_turn_had_leave_and_the_ranking_forgets_them() {
        let mut rig = rig();
        let (secret, other) = ("prepare the quokka report", "prepare the morning report now");
        use_tool(&mut rig, secret, "glob", true, Trust::Owner);
        use_tool(&mut rig, other, "glob", true, Trust::Owner);
        let turn = |goal: &str| MessageId::from_parts(goal.len() as u64, "glob".len() as u128).to_string();
        let removed = |goal: &str, forgotten| RecordsRemoved {
            layer: Layer::Hippocampus,
            ids: vec![turn(goal)],
            forgotten,
            again: false,
        };
        let held = |rig: &Rig<ToolIndexRoom>| {
            let records = rig.records().prefixed(b"", usize::MAX);
            let records: String =
                records.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect();
            records + &serde_json::to_string(rig.region()).expect("a state")
        };
        rig.send(removed(secret, false));
        assert!(held(&rig).contains("quokka"), "what sleep let go has taught");
        let words = |rig: &mut Rig<ToolIndexRoom>| {
            rig.send(RankTools { turn: MessageId::from_parts(1, 1), goal: "quokka".into() });
            let ranked = rig.heard::<ToolsRanked>().pop().expect("an answer").tools;
            ranked.into_iter().find(|(tool, _)| tool == "glob").expect("ranked").1
        };
        let learned = words(&mut rig);
        rig.send(removed(secret, true));
        let left = held(&rig);
        assert!(!left.contains("quokka") && left.contains("morning") && left.contains("report"), "{left}");
        let forgotten = words(&mut rig);
        assert!(forgotten < learned, "{forgotten} after {learned}");
        rig.crash();
        assert_eq!(words(&mut rig), forgotten);
        rig.send(removed(other, true));
        assert!(!held(&rig).contains("report"), "it stood in nothing else");
    }
}
