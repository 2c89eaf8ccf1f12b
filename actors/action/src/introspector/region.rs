//! The introspector as a room: answers questions about the brain itself, read-only by type. It holds no permit for any effect.
//!
//! Biology: the default-mode network, which looks inward.
//! Law: an inquiry becomes questions to the rooms that know. The answers go to the asker, at the latest at the
//! deadline, and missing answers are named.
//! Remembers: open inquiries; the mode that the agent lowered itself to. Forgets: answered ones.
//! Down: inquiries wait, and their askers' deadlines answer for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::mode::Mode;
use maxim_bus::rooms;
use maxim_bus::signals::bridges::{EnergyReported, ReportEnergy};
use maxim_bus::signals::concepts::{AssociatedRecalled, ConceptsFound, FindConcepts, RecallAssociated};
use maxim_bus::signals::introspection::{
    DiscoverRhythms, ForeseeVerdict, LinksListed, ListLinks, PainReported, ReportPain, RhythmsDiscovered, SenseVitals,
    VerdictForeseen, VitalsSensed,
};
use maxim_bus::signals::numbers::{Calculate, Calculated};
use maxim_bus::signals::powers::ModeLowered;
use maxim_bus::signals::recall::{
    DescribeTime, EpisodeFilter, EpisodesRecalled, Inquiry, InquiryAnswered, OutcomesPredicted, PredictOutcomes,
    RecallEpisodes, ReportStats, StatsReported, TimeDescribed,
};
use maxim_bus::signals::scene::{SceneSurveyed, SurveyScene};
use maxim_bus::signals::similarity::{FindSimilar, Similar, SimilarFound};
use maxim_bus::signals::working_memory::{SurveyWorkingMemory, WorkingMemorySurveyed};
use maxim_bus::{MessageId, Name, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Value, Value as Json, json};

use super::{affordances, narrative, stats, times};
use maxim_region::wiring;
use maxim_region::{Card, Hears, Pulse, Region};
use maxim_tools::ToolRegistry;
use maxim_tools::narrative::{EXAMINE, THINK};

/// The part of a question that looks for rhythms.
const RHYTHMS: &str = "suprachiasmatic_nucleus (rhythms)";

/// The introspector's settings.
#[derive(Clone, Debug)]
pub struct IntrospectorSettings {
    /// Rooms that report stats.
    pub rooms: Vec<RegionName>,
    /// How long it waits for answers. Default 2 s.
    pub deadline: SignedDuration,
    /// What the agent can do.
    pub tools: Arc<ToolRegistry>,
    /// What it is called; the first is how it calls itself.
    pub names: Vec<String>,
    /// Its mode, as configured.
    pub mode: Mode,
    /// The time zone, which decides where a day begins.
    pub zone: TimeZone,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Introspector {
    open: BTreeMap<MessageId, Open>,
    /// The mode to which it was lowered; `None`: the configured mode holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lowered: Option<Mode>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Open {
    asker: Name,
    tool: String,
    params: Json,
    turn: Option<MessageId>,
    correlation: MessageId,
    due: Timestamp,
    /// Open questions, with the room that was asked.
    waiting: BTreeMap<MessageId, String>,
    reports: BTreeMap<String, Json>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum IntrospectorEvent {
    Opened { inquiry: MessageId, open: Open },
    Reported { inquiry: MessageId, question: MessageId, room: String, report: Json },
    Closed { inquiry: MessageId },
    ModeLowered { to: Option<Mode> },
}

wiring!(Introspector {
    hears: [
        Inquiry,
        EpisodesRecalled,
        OutcomesPredicted,
        TimeDescribed,
        Calculated,
        SimilarFound,
        ConceptsFound,
        AssociatedRecalled,
        StatsReported,
        EnergyReported,
        LinksListed,
        PainReported,
        SceneSurveyed,
        WorkingMemorySurveyed,
        VerdictForeseen,
        RhythmsDiscovered,
        VitalsSensed,
    ],
    back: [ModeLowered],
    emits: [
        RecallEpisodes,
        PredictOutcomes,
        DescribeTime,
        Calculate,
        FindSimilar,
        FindConcepts,
        RecallAssociated,
        ReportStats,
        ReportEnergy,
        ListLinks,
        ReportPain,
        SurveyScene,
        SurveyWorkingMemory,
        ForeseeVerdict,
        DiscoverRhythms,
        SenseVitals,
        InquiryAnswered,
    ],
});

impl Region for Introspector {
    const NAME: RegionName = rooms::INTROSPECTOR;
    const STAGE: Stage = Stage::Action;
    type Event = IntrospectorEvent;
    type Settings = IntrospectorSettings;

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: IntrospectorEvent) {
        match event {
            IntrospectorEvent::Opened { inquiry, open } => {
                self.open.insert(inquiry, open);
            }
            IntrospectorEvent::Reported { inquiry, question, room, report } => {
                if let Some(open) = self.open.get_mut(&inquiry) {
                    open.waiting.remove(&question);
                    open.reports.insert(room, report);
                }
            }
            IntrospectorEvent::Closed { inquiry } => {
                self.open.remove(&inquiry);
            }
            IntrospectorEvent::ModeLowered { to } => self.lowered = to,
        }
    }

    fn next_deadline(&self, _settings: &IntrospectorSettings) -> Option<Timestamp> {
        self.open.values().map(|open| open.due).min()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        for (inquiry, open) in self.open.iter().filter(|(_, open)| open.due <= now) {
            if let Some(known) = affordances::known(&open.tool, &open.params, None, self.lowered, pulse.settings()) {
                self.answer(*inquiry, open, known, None, pulse);
            } else if open.reports.is_empty() {
                let rooms: Vec<&str> = open.waiting.values().map(String::as_str).collect();
                let error = format!("{} did not answer in time", rooms.join(", "));
                self.answer(*inquiry, open, Json::Null, Some(error), pulse);
            } else {
                let output = compose(open, open.reports.clone());
                self.answer(*inquiry, open, output, None, pulse);
            }
        }
    }
}

impl Introspector {
    fn answer(
        &self,
        inquiry: MessageId,
        open: &Open,
        output: Json,
        error: Option<String>,
        pulse: &mut Pulse<'_, Self>,
    ) {
        pulse.keep(IntrospectorEvent::Closed { inquiry });
        let (tool, params, turn) = (open.tool.clone(), open.params.clone(), open.turn);
        let answered = InquiryAnswered { inquiry, tool, params, turn, output, error };
        match turn {
            // What a turn used belongs to its why-record, so the ledger hears it too.
            Some(turn) => pulse.emit_trusted(turn, Trust::Own, answered),
            None => pulse.emit_to(open.asker.clone(), open.correlation, answered),
        };
    }

    /// The inquiry to whose question this input is the answer.
    fn asked(&self, pulse: &Pulse<'_, Self>) -> Option<(MessageId, MessageId, &Open)> {
        let question = pulse.cause()?.cause?;
        let (inquiry, open) = self.open.iter().find(|(_, open)| open.waiting.contains_key(&question))?;
        Some((*inquiry, question, open))
    }

    fn reported(&self, room: &str, report: Json, pulse: &mut Pulse<'_, Self>) {
        let Some((inquiry, question, open)) = self.asked(pulse) else { return };
        if open.waiting.len() > 1 {
            pulse.keep(IntrospectorEvent::Reported { inquiry, question, room: room.into(), report });
            return;
        }
        let mut reports = open.reports.clone();
        reports.insert(room.into(), report);
        let output = compose(open, reports);
        self.answer(inquiry, open, output, None, pulse);
    }
}

/// The tool's answer.
fn compose(open: &Open, mut reports: BTreeMap<String, Json>) -> Json {
    if open.tool == "system_stats" {
        let missing = open.waiting.values().filter(|room| !reports.contains_key(*room)).cloned().collect();
        return stats::summed(reports, missing);
    }
    if reports.len() < 2 && open.waiting.len() < 2 {
        return reports.pop_first().map_or(Json::Null, |(_, report)| report);
    }
    // Several rooms know a part each. Their reports become one object, and missing ones are named.
    let missing: Vec<&String> = open.waiting.values().filter(|room| !reports.contains_key(*room)).collect();
    let mut whole = json!({});
    if let Value::Object(fields) = &mut whole {
        for report in reports.values() {
            fields.extend(report.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
        }
    }
    if !missing.is_empty() {
        whole["missing"] = json!(missing);
    }
    if open.tool == EXAMINE { narrative::notable(whole) } else { affordances::weighed(whole) }
}

impl Hears<Inquiry> for Introspector {
    fn hear(&self, inquiry: &Inquiry, pulse: &mut Pulse<'_, Self>) {
        let Some(cause) = pulse.cause() else { return };
        let given = bounded(inquiry);
        let checked = match inquiry.by_model {
            true => pulse.settings().tools.validate(&inquiry.tool, &given).map_err(|error| error.to_string()),
            false => Ok(given.clone()),
        };
        let mut open = Open {
            asker: cause.sender.clone(),
            tool: inquiry.tool.clone(),
            params: checked.clone().unwrap_or(given),
            turn: inquiry.turn,
            correlation: cause.correlation,
            due: pulse.now().later(pulse.settings().deadline),
            waiting: BTreeMap::new(),
            reports: BTreeMap::new(),
        };
        let inquiry = &Inquiry { params: open.params.clone(), ..inquiry.clone() };
        let question = match checked.and_then(|_| ask(inquiry, pulse)) {
            Ok(questions) => questions,
            Err(why) => {
                self.answer(cause.id, &open, Json::Null, Some(why), pulse);
                return;
            }
        };
        open.waiting = question;
        pulse.keep(IntrospectorEvent::Opened { inquiry: cause.id, open });
    }
}

/// Most results for the agent's own calls. Batch doors may ask for more.
const MOST: u64 = 20;

/// Results by default.
const LIMIT: u64 = 5;

fn found_at_most(params: &Json) -> usize {
    let limit = params.get("limit").and_then(Json::as_u64).filter(|limit| *limit > 0);
    usize::try_from(limit.unwrap_or(LIMIT)).unwrap_or(usize::MAX)
}

/// The parameters with the limit that the agent may have.
fn bounded(inquiry: &Inquiry) -> Json {
    let mut params = inquiry.params.clone();
    if let (Some(limit), Some(_)) = (params.get("limit").and_then(Json::as_u64), inquiry.turn) {
        params["limit"] = limit.clamp(1, MOST).into();
    }
    params
}

/// Asks the rooms that know. Returns the open questions.
fn ask(inquiry: &Inquiry, pulse: &mut Pulse<'_, Introspector>) -> Result<BTreeMap<MessageId, String>, String> {
    let bad = |error: serde_json::Error| format!("{}: {error}", inquiry.tool);
    let params = times::read(inquiry, &pulse.settings().zone)?;
    let (room, question) = match inquiry.tool.as_str() {
        "memory_recall" => {
            let filter: EpisodeFilter = serde_json::from_value(params).map_err(bad)?;
            let (except, until) = (inquiry.turn, Some(pulse.now().later(pulse.settings().deadline)));
            (
                "hippocampus",
                pulse.ask(rooms::HIPPOCAMPUS, RecallEpisodes { filter, except, thought: false, waits: true, until }),
            )
        }
        "similarity_search" => {
            let mut query: FindSimilar = serde_json::from_value(params).map_err(bad)?;
            // The asking turn resembles its own words, so it is left out of the answer.
            query.limit = found_at_most(&inquiry.params) + usize::from(inquiry.turn.is_some());
            ("entorhinal_cortex", pulse.ask(rooms::ENTORHINAL_CORTEX, query))
        }
        "predict_outcome" => {
            let text = |field: &str| inquiry.params.get(field).and_then(Json::as_str).map(str::to_owned);
            let tool_name = text("tool_name").ok_or("predict_outcome: tool_name is missing")?;
            let all = inquiry.params.get("include_all_outcomes").and_then(Json::as_bool).unwrap_or(false);
            let params = inquiry.params.get("params").cloned().unwrap_or(Json::Null);
            let context = json!({ "words": text("context") });
            let query = PredictOutcomes { tool_name, params, context, include_all_outcomes: all };
            ("nucleus_accumbens", pulse.ask(rooms::NUCLEUS_ACCUMBENS, query))
        }
        "temporal_patterns" => {
            let query = times::question(&params);
            let limit = query.limit;
            let described = pulse.ask(rooms::SUPRACHIASMATIC_NUCLEUS, query);
            if times::flag(&inquiry.params, "discover_rhythms") {
                let rhythms = pulse.ask(rooms::SUPRACHIASMATIC_NUCLEUS, DiscoverRhythms { limit });
                return Ok(BTreeMap::from([(described, "suprachiasmatic_nucleus".into()), (rhythms, RHYTHMS.into())]));
            }
            ("suprachiasmatic_nucleus", described)
        }
        "scene_summary" => {
            let top_n = inquiry.params.get("top_n").and_then(Json::as_u64).map_or(5, |n| n.clamp(1, MOST) as usize);
            let include_attention = inquiry.params.get("include_attention").and_then(Json::as_bool).unwrap_or(false);
            ("scene", pulse.ask(rooms::SCENE, SurveyScene { top_n, include_attention }))
        }
        "sense_presence" | "discover_tools" => {
            ("scene", pulse.ask(rooms::SCENE, SurveyScene { top_n: MOST as usize, include_attention: true }))
        }
        "sense" => {
            let entity = inquiry.params.get("entity").and_then(Json::as_str).unwrap_or_default();
            if affordances::is_oneself(entity, pulse.settings()) {
                let energy = pulse.ask(rooms::ENERGY, ReportEnergy { window_seconds: 3_600 });
                let pain = pulse.ask(rooms::PAIN_DETECTOR, ReportPain { about: None, limit: 5 });
                return Ok(BTreeMap::from([(energy, "energy".into()), (pain, "pain_detector".into())]));
            }
            ("scene", pulse.ask(rooms::SCENE, SurveyScene { top_n: usize::MAX, include_attention: true }))
        }
        "causal_links" => {
            let wanted: ListLinks = serde_json::from_value(params).map_err(bad)?;
            ("nucleus_accumbens", pulse.ask(rooms::NUCLEUS_ACCUMBENS, wanted))
        }
        "pain_history" => {
            let about = inquiry.params.get("check_action").and_then(Json::as_str).map(str::to_owned);
            let limit = inquiry.params.get("limit").and_then(Json::as_u64).map_or(5, |limit| limit as usize);
            let pain = pulse.ask(rooms::PAIN_DETECTOR, ReportPain { about: about.clone(), limit });
            let mut questions = BTreeMap::from([(pain, "pain_detector".to_owned())]);
            if let Some(tool) = about {
                let given = inquiry.params.get("action_params").cloned();
                let params = given.clone().unwrap_or_else(|| json!({}));
                let verdict = ForeseeVerdict { tool: tool.clone(), params };
                questions.insert(pulse.ask(rooms::FEAR_AGENT, verdict), "fear_agent".into());
                let (params, context) = (given.unwrap_or(Json::Null), json!({}));
                let expect = PredictOutcomes { tool_name: tool, params, context, include_all_outcomes: false };
                questions.insert(pulse.ask(rooms::NUCLEUS_ACCUMBENS, expect), "nucleus_accumbens".into());
            }
            return Ok(questions);
        }
        "math" => {
            let request = inquiry.params.clone();
            ("angular_gyrus", pulse.ask(rooms::ANGULAR_GYRUS, Calculate { request }))
        }
        "concept_query" => {
            let asked: FindConcepts = serde_json::from_value(inquiry.params.clone()).map_err(bad)?;
            ("anterior_temporal_lobe", pulse.ask(rooms::ANTERIOR_TEMPORAL_LOBE, asked))
        }
        "memory_associated" => {
            let asked: RecallAssociated = serde_json::from_value(inquiry.params.clone()).map_err(bad)?;
            ("cross_layer_graph", pulse.ask(rooms::CROSS_LAYER_GRAPH, asked))
        }
        "energy_status" => {
            let window = inquiry.params.get("window_seconds").and_then(Json::as_u64).unwrap_or(3_600);
            ("energy", pulse.ask(rooms::ENERGY, ReportEnergy { window_seconds: window.clamp(1, 86_400) }))
        }
        "system_stats" => {
            let rooms = pulse.settings().rooms.clone();
            let vitals = (pulse.ask(stats::VITALS, SenseVitals {}), stats::VITALS.to_owned());
            let asked = rooms.into_iter().map(|room| (pulse.ask(room, ReportStats {}), room.to_owned()));
            return Ok(asked.chain([vitals]).collect());
        }
        THINK | EXAMINE if pulse.settings().tools.get(&inquiry.tool).is_some() => {
            return Ok(narrative::questions(inquiry, pulse));
        }
        other => return Err(format!("there is no introspection tool {other}")),
    };
    Ok(BTreeMap::from([(question, room.to_owned())]))
}

impl Hears<ModeLowered> for Introspector {
    fn hear(&self, lowered: &ModeLowered, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(IntrospectorEvent::ModeLowered { to: lowered.to });
    }
}

impl Hears<EpisodesRecalled> for Introspector {
    fn hear(&self, answer: &EpisodesRecalled, pulse: &mut Pulse<'_, Self>) {
        let Some((_, _, open)) = self.asked(pulse) else { return };
        let report = narrative::remembered(&open.tool, &open.params, &answer.episodes, pulse.settings())
            .unwrap_or_else(|| match answer.counted {
                Some(counted) => json!({ "results": answer.episodes, "counted": counted }),
                None => json!({ "results": answer.episodes }),
            });
        self.reported("hippocampus", report, pulse);
    }
}

impl Hears<SimilarFound> for Introspector {
    fn hear(&self, answer: &SimilarFound, pulse: &mut Pulse<'_, Self>) {
        if let (Some(problem), Some((inquiry, _, open))) = (&answer.problem, self.asked(pulse)) {
            self.answer(inquiry, open, Json::Null, Some(format!("{}: {problem}", open.tool)), pulse);
            return;
        }
        let Some((_, _, open)) = self.asked(pulse) else { return };
        let own = open.turn.map(|turn| turn.to_string());
        let others = answer.results.iter().filter(|found| Some(&found.id) != own.as_ref());
        let results: Vec<&Similar> = others.take(found_at_most(&open.params)).collect();
        self.reported("entorhinal_cortex", json!({ "results": results }), pulse);
    }
}

impl Hears<OutcomesPredicted> for Introspector {
    fn hear(&self, answer: &OutcomesPredicted, pulse: &mut Pulse<'_, Self>) {
        let is_part = self.asked(pulse).is_some_and(|(_, _, open)| open.tool == "pain_history");
        let report = if is_part { json!({ "expected": answer }) } else { json!(answer) };
        self.reported("nucleus_accumbens", report, pulse);
    }
}

impl Hears<LinksListed> for Introspector {
    fn hear(&self, answer: &LinksListed, pulse: &mut Pulse<'_, Self>) {
        let LinksListed { links, found } = answer;
        self.reported("nucleus_accumbens", json!({ "results": links, "found": found }), pulse);
    }
}

impl Hears<SceneSurveyed> for Introspector {
    fn hear(&self, answer: &SceneSurveyed, pulse: &mut Pulse<'_, Self>) {
        let Some((_, _, open)) = self.asked(pulse) else { return };
        let report = match open.tool.as_str() {
            "sense" => affordances::sensed(open.params["entity"].as_str().unwrap_or_default(), answer),
            EXAMINE => narrative::seen(&open.params, answer, pulse.settings()),
            tool => affordances::known(tool, &open.params, Some(answer), self.lowered, pulse.settings())
                .unwrap_or_else(|| json!(answer)),
        };
        self.reported("scene", report, pulse);
    }
}

impl Hears<WorkingMemorySurveyed> for Introspector {
    fn hear(&self, answer: &WorkingMemorySurveyed, pulse: &mut Pulse<'_, Self>) {
        let Some((_, _, open)) = self.asked(pulse) else { return };
        let report = narrative::lately(&open.params, &answer.entries, pulse.settings());
        self.reported("working_memory", report, pulse);
    }
}

impl Hears<PainReported> for Introspector {
    fn hear(&self, answer: &PainReported, pulse: &mut Pulse<'_, Self>) {
        self.reported("pain_detector", json!(answer), pulse);
    }
}

impl Hears<VerdictForeseen> for Introspector {
    fn hear(&self, answer: &VerdictForeseen, pulse: &mut Pulse<'_, Self>) {
        self.reported("fear_agent", json!({ "fear": answer }), pulse);
    }
}

impl Hears<RhythmsDiscovered> for Introspector {
    fn hear(&self, answer: &RhythmsDiscovered, pulse: &mut Pulse<'_, Self>) {
        let RhythmsDiscovered { rhythms, events, since } = answer;
        let report = json!({ "rhythms": rhythms, "rhythm_events": events, "rhythm_since": since });
        self.reported(RHYTHMS, report, pulse);
    }
}

impl Hears<TimeDescribed> for Introspector {
    fn hear(&self, answer: &TimeDescribed, pulse: &mut Pulse<'_, Self>) {
        self.reported("suprachiasmatic_nucleus", times::report(answer), pulse);
    }
}

impl Hears<Calculated> for Introspector {
    fn hear(&self, answer: &Calculated, pulse: &mut Pulse<'_, Self>) {
        let Some(why) = &answer.error else { return self.reported("angular_gyrus", answer.output.clone(), pulse) };
        let Some((inquiry, _, open)) = self.asked(pulse) else { return };
        self.answer(inquiry, open, Json::Null, Some(why.clone()), pulse);
    }
}

impl Hears<ConceptsFound> for Introspector {
    fn hear(&self, answer: &ConceptsFound, pulse: &mut Pulse<'_, Self>) {
        let Some(why) = &answer.error else {
            return self.reported("anterior_temporal_lobe", json!({ "results": answer.concepts }), pulse);
        };
        let Some((inquiry, _, open)) = self.asked(pulse) else { return };
        self.answer(inquiry, open, Json::Null, Some(format!("concept_query: {why}")), pulse);
    }
}

impl Hears<AssociatedRecalled> for Introspector {
    fn hear(&self, answer: &AssociatedRecalled, pulse: &mut Pulse<'_, Self>) {
        let AssociatedRecalled { episodes, concepts, others, missing, problem } = answer;
        if let (Some(problem), Some((inquiry, _, open))) = (problem, self.asked(pulse)) {
            self.answer(inquiry, open, Json::Null, Some(format!("{}: {problem}", open.tool)), pulse);
            return;
        }
        let report = json!({ "results": episodes, "concepts": concepts, "others": others, "missing": missing });
        self.reported("cross_layer_graph", report, pulse);
    }
}

impl Hears<EnergyReported> for Introspector {
    fn hear(&self, answer: &EnergyReported, pulse: &mut Pulse<'_, Self>) {
        self.reported("energy", answer.report.clone(), pulse);
    }
}

impl Hears<VitalsSensed> for Introspector {
    fn hear(&self, sensed: &VitalsSensed, pulse: &mut Pulse<'_, Self>) {
        self.reported(stats::VITALS, stats::health(sensed), pulse);
    }
}

impl Hears<StatsReported> for Introspector {
    fn hear(&self, answer: &StatsReported, pulse: &mut Pulse<'_, Self>) {
        let report = if answer.available {
            answer.counts.clone()
        } else {
            json!({ "available": false, "reason": answer.reason, "counts": answer.counts })
        };
        self.reported(&answer.region, report, pulse);
    }
}
