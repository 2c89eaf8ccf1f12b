//! The fear bridge: how often did contexts like this end badly?
//!
//! Biology: the ventral hippocampus, which tells the amygdala where a danger was met.
//! Law: a context is the tool and the words of its parameters. Among the contexts similar enough, the three most
//! similar and all that are as similar as the third count (the newest twelve at most). The answer is the share of
//! failures among them; with fewer than three there is no answer. The gate multiplies the share by its gain (b = 0.3
//! × share by default) and only becomes stricter. Words with which an otherwise reliable tool goes wrong are offered
//! as general knowledge (`danger`).
//! Remembers: the newest actions with their results. Forgets: the oldest, and those of an episode that a person has
//! forgotten.
//! Down: the gate decides by its plain thresholds after its deadline.

use std::collections::{BTreeSet, VecDeque};

use maxim_bus::rooms::{self, RESPOND};
use maxim_bus::signals::bridges::{AssessContext, ContextAssessed};
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::outcome::{FailureKind, ToolResult};
use maxim_bus::signals::promotion::{CandidatesOffered, OfferCandidates};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::gist::{alike, gist};
use super::law::BridgeLaw;
use maxim_region::wiring;
use maxim_region::{Hears, Law, Pulse, Region, RemembersInState, StatePart, StatePuts, part};

/// Maximum number of remembered actions.
const REMEMBERED: usize = 256;
/// Maximum number of similar contexts that count, so that recent experience replaces old.
const MOST: usize = 12;
/// Contexts within this distance of the third also count.
const TIE: f64 = 0.05;
/// Characters of the parameters that are examined.
const LOOKED_AT: usize = 2_000;

/// The tool and words of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Context {
    pub(super) tool: String,
    /// Stems of the parameters' names and words.
    pub(super) words: BTreeSet<String>,
}

impl Context {
    pub fn of(tool: &str, params: &Json) -> Self {
        let text: String = params.to_string().chars().take(LOOKED_AT).collect();
        Self { tool: tool.into(), words: gist(&text) }
    }

    /// ½ for the same tool + ½ · Jaccard of the words; two calls without words count as equal in this part.
    pub fn similarity(&self, other: &Self) -> f64 {
        let words =
            if self.words.is_empty() && other.words.is_empty() { 1.0 } else { alike(&self.words, &other.words) };
        0.5 * f64::from(u8::from(self.tool == other.tool)) + 0.5 * words
    }
}

/// A context with its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lived {
    pub(super) context: Context,
    pub(super) failed: bool,
    /// The turn of the action; empty after sleep has removed it.
    pub(super) episode: String,
}

/// The number of contexts that count, and how many of them failed; `lived` is in order, the newest last.
pub fn assess<'a>(lived: impl DoubleEndedIterator<Item = &'a Lived>, now: &Context, law: &BridgeLaw) -> (u32, u32) {
    let mut similar: Vec<(f64, bool)> = lived
        .rev()
        .map(|one| (one.context.similarity(now), one.failed))
        .filter(|(s, _)| *s >= law.danger_similar_from)
        .collect();
    // A stable sort: among equals the newest stays first.
    similar.sort_by(|a, b| b.0.total_cmp(&a.0));
    let Some((third, _)) = similar.get(law.danger_cases_min.saturating_sub(1)).copied() else {
        return (similar.len() as u32, 0);
    };
    let count = similar.iter().take(MOST.max(law.danger_cases_min)).take_while(|(s, _)| *s >= third - TIE).count();
    (count as u32, similar[..count].iter().filter(|(_, failed)| *failed).count() as u32)
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FearBridge {
    pub(super) lived: VecDeque<Lived>,
}

/// Untagged, so that contexts keep their old format.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FearBridgeEvent {
    Lived(Lived),
    LetGo(RecordsRemoved),
    Imported(StatePuts),
}

wiring!(FearBridge {
    hears: [ToolResult, RecordsRemoved, AssessContext, OfferCandidates, ReportStats, ExportRecords, ImportRecords],
    back: [],
    emits: [ContextAssessed, CandidatesOffered, StatsReported, RecordsExported, RecordsImported],
});

impl Region for FearBridge {
    const NAME: RegionName = rooms::FEAR_BRIDGE;
    const STAGE: Stage = Stage::Learning;
    type Event = FearBridgeEvent;
    type Settings = BridgeLaw;

    fn apply(&mut self, event: FearBridgeEvent) {
        let event = match event {
            FearBridgeEvent::Lived(event) => event,
            FearBridgeEvent::LetGo(removed) => return self.let_go(&removed),
            FearBridgeEvent::Imported(puts) => return puts.apply_to(self),
        };
        self.lived.push_back(event);
        if self.lived.len() > REMEMBERED {
            self.lived.pop_front();
        }
    }
}

impl RemembersInState for FearBridge {
    const PARTS: &'static [StatePart] = &[part("lived", Law::Window { most: REMEMBERED })];

    fn imported(puts: StatePuts) -> FearBridgeEvent {
        FearBridgeEvent::Imported(puts)
    }
}

impl Hears<ToolResult> for FearBridge {
    /// A stop, a lost result, a missing part or a wrong name says nothing about the context.
    fn heeds(result: &ToolResult) -> bool {
        let is_silent = |kind: FailureKind| {
            kind.teaches_nothing() || matches!(kind, FailureKind::UnknownTool | FailureKind::BadParams)
        };
        // The result of an answer says nothing about danger.
        result.tool != RESPOND && !result.failure.is_some_and(is_silent)
    }

    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        if let Some(success) = result.success {
            let context = Context::of(&result.tool, &result.params);
            pulse.keep(FearBridgeEvent::Lived(Lived { context, failed: !success, episode: result.turn.to_string() }));
        }
    }
}

impl FearBridge {
    fn let_go(&mut self, removed: &RecordsRemoved) {
        self.lived.retain_mut(|lived| {
            let is_gone = removed.ids.contains(&lived.episode);
            if is_gone {
                lived.episode.clear();
            }
            !(is_gone && removed.forgotten)
        });
    }
}

impl Hears<RecordsRemoved> for FearBridge {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        let is_held = || self.lived.iter().any(|lived| removed.ids.contains(&lived.episode));
        if removed.layer == Layer::Hippocampus && (removed.forgotten || is_held()) {
            pulse.keep_gone(FearBridgeEvent::LetGo(removed.clone()), removed.forgotten);
        }
    }
}

impl Hears<AssessContext> for FearBridge {
    fn hear(&self, question: &AssessContext, pulse: &mut Pulse<'_, Self>) {
        let (contexts, failures) =
            assess(self.lived.iter(), &Context::of(&question.tool, &question.params), pulse.settings());
        let enough = contexts as usize >= pulse.settings().danger_cases_min;
        let share = if enough { f64::from(failures) / f64::from(contexts) } else { 0.0 };
        pulse.reply(ContextAssessed { intent: question.intent, share, contexts, failures });
    }
}

impl Hears<ReportStats> for FearBridge {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let failed = self.lived.iter().filter(|lived| lived.failed).count();
        let counts = serde_json::json!({ "contexts": self.lived.len(), "failed": failed });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::MessageId;
    use serde_json::json;

    use super::*;
    use maxim_region::rig::{Rig, ear};

    fn touch(what: &str, failed: bool) -> Lived {
        Lived { context: Context::of("touch", &json!({ "what": what })), failed, episode: String::new() }
    }

    #[test]
    fn similarity_is_half_tool_and_half_words() {
        let stove = Context::of("touch", &json!({"thing": "hot stove"}));
        assert_eq!(stove.similarity(&Context::of("touch", &json!({"thing": "hot stove"}))), 1.0);
        // thing, hot, stove against thing, cold, stove: 2 of 4 words.
        assert_eq!(stove.similarity(&Context::of("touch", &json!({"thing": "cold stove"}))), 0.75);
        assert_eq!(stove.similarity(&Context::of("look", &json!({"thing": "hot stove"}))), 0.5);
        assert_eq!(Context::of("a", &json!({})).similarity(&Context::of("a", &json!({}))), 1.0);
        assert_eq!(Context::of("a", &json!({})).similarity(&Context::of("b", &json!({"x": 1}))), 0.0);
    }

    #[test]
    fn the_three_most_similar_contexts_and_their_equals_decide() {
        let stove = |failed| touch("stove", failed);
        let lived = [stove(true), stove(true), touch("cat", false), touch("cat", false), touch("cat", false)];
        let ask = |lived: &[Lived], what: &str| {
            assess(lived.iter(), &Context::of("touch", &json!({ "what": what })), &BridgeLaw::default())
        };
        assert_eq!(ask(&lived[..2], "stove"), (2, 0), "two are too few to tell");
        assert_eq!(ask(&lived, "cat"), (3, 0));
        let burnt = [&lived[..], &[stove(true)]].concat();
        assert_eq!(ask(&burnt, "stove"), (3, 3));
        assert_eq!(ask(&burnt, "dog"), (6, 3), "all are equally far from a dog");
        let eased = [&burnt[..], &[stove(false)]].concat();
        assert_eq!(ask(&eased, "stove"), (4, 3));
        let long_ago = [&burnt[..], &vec![stove(false); MOST][..]].concat();
        assert_eq!(ask(&long_ago, "stove"), (12, 0), "the newest twelve count");
    }

    #[test]
    fn it_answers_the_gate_and_remembers_over_a_crash() {
        let mut rig: Rig<FearBridge> = Rig::new(BridgeLaw::default(), ear::<ContextAssessed>);
        let id = MessageId::from_parts(1, 1);
        let result = |success, failure| ToolResult {
            action: id,
            intent: id,
            turn: id,
            tool: "touch".into(),
            params: json!({"what": "stove"}),
            success: Some(success),
            output: Json::Null,
            error: None,
            failure,
            duration_us: 1,
            side_effects: vec![],
            reward: None,
        };
        for _ in 0..3 {
            rig.send(result(false, Some(FailureKind::Failed)));
        }
        rig.send(result(false, Some(FailureKind::Stopped)));
        rig.send(result(true, None));
        rig.crash();
        rig.send(AssessContext { intent: id, tool: "touch".into(), params: json!({"what": "stove"}) });
        let said = rig.heard::<ContextAssessed>();
        assert_eq!((said[0].contexts, said[0].failures, said[0].share), (4, 3, 0.75));
        let removed = |layer, forgotten| RecordsRemoved { layer, ids: vec![id.to_string()], forgotten, again: false };
        rig.send(removed(Layer::Atl, true));
        assert_eq!(rig.region().lived.len(), 4, "a concept of that name is another");
        let mut slept = rig.region().clone();
        slept.apply(FearBridgeEvent::LetGo(removed(Layer::Hippocampus, false)));
        assert!(slept.lived.iter().all(|lived| lived.episode.is_empty()) && slept.lived.len() == 4);
        rig.send(removed(Layer::Hippocampus, true));
        rig.crash();
        assert!(rig.region().lived.is_empty(), "a person has forgotten what went wrong");
    }
}
