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
    DescribeTime, EpisodesRecalled, Inquiry, InquiryAnswered, OutcomesPredicted, PredictOutcomes, RecallEpisodes,
    ReportStats, StatsReported, TimeDescribed,
};
use maxim_bus::signals::scene::{SceneSurveyed, SurveyScene};
use maxim_bus::signals::similarity::{FindSimilar, Similar, SimilarFound};
use maxim_bus::signals::working_memory::{SurveyWorkingMemory, WorkingMemorySurveyed};
use maxim_bus::{MessageId, Name, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Value, Value as Json, json};

use super::questions::{self, bounded, found_at_most};
use super::{affordances, narrative, stats, times};
use maxim_region::wiring;
use maxim_region::{Gather, Hears, Pulse, Region};
use maxim_tools::ToolRegistry;
use maxim_tools::narrative::EXAMINE;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    lowered: Option<Mode>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Open {
    asker: Name,
    tool: String,
    params: Json,
    turn: Option<MessageId>,
    correlation: MessageId,
    /// By the room that was asked.
    #[serde(default)]
    gather: Gather<String>,
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

    fn apply(&mut self, event: IntrospectorEvent) {
        match event {
            IntrospectorEvent::Opened { inquiry, open } => {
                self.open.insert(inquiry, open);
            }
            IntrospectorEvent::Reported { inquiry, question, room, report } => {
                if let Some(open) = self.open.get_mut(&inquiry) {
                    open.gather.close(question);
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
        self.open.values().map(|open| open.gather.due).min()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        for (inquiry, open) in self.open.iter().filter(|(_, open)| open.gather.due <= now) {
            if let Some(known) = affordances::known(&open.tool, &open.params, None, self.lowered, pulse.settings()) {
                self.answer(*inquiry, open, known, None, pulse);
            } else if open.reports.is_empty() {
                let rooms: Vec<&str> = open.gather.missing().map(String::as_str).collect();
                let error = format!("{} did not answer in time", rooms.join(", "));
                self.answer(*inquiry, open, Json::Null, Some(error), pulse);
            } else {
                let output = compose(open, &open.gather, open.reports.clone());
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

    /// The inquiry whose question this input answers, and the question.
    fn asked(&self, pulse: &Pulse<'_, Self>) -> Option<(MessageId, MessageId, &Open)> {
        self.open.iter().find_map(|(inquiry, open)| Some((*inquiry, open.gather.answered(pulse)?, open)))
    }

    /// Takes in what the room that was asked reports.
    fn reported(&self, report: Json, pulse: &mut Pulse<'_, Self>) {
        let Some((inquiry, question, open)) = self.asked(pulse) else { return };
        let mut gather = open.gather.clone();
        let Some(room) = gather.take(pulse) else { return };
        if !gather.is_whole() {
            pulse.keep(IntrospectorEvent::Reported { inquiry, question, room, report });
            return;
        }
        let mut reports = open.reports.clone();
        reports.insert(room, report);
        let output = compose(open, &gather, reports);
        self.answer(inquiry, open, output, None, pulse);
    }

    /// The room that was asked can't answer.
    fn failed(&self, why: String, pulse: &mut Pulse<'_, Self>) {
        if let Some((inquiry, _, open)) = self.asked(pulse) {
            self.answer(inquiry, open, Json::Null, Some(why), pulse);
        }
    }
}

/// What the tool gives.
fn compose(open: &Open, gather: &Gather<String>, mut reports: BTreeMap<String, Json>) -> Json {
    if open.tool == "system_stats" {
        return stats::summed(reports, gather.missing().cloned().collect());
    }
    if reports.len() < 2 && gather.missing().count() < 2 {
        return reports.pop_first().map_or(Json::Null, |(_, report)| report);
    }
    // Several rooms know a part each: their reports are one object, and what is missing is named.
    let missing: Vec<&String> = gather.missing().collect();
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
            gather: Gather::until(pulse.now().later(pulse.settings().deadline)),
            reports: BTreeMap::new(),
        };
        let inquiry = &Inquiry { params: open.params.clone(), ..inquiry.clone() };
        open.gather = match checked.and_then(|_| questions::ask(inquiry, open.gather.due, pulse)) {
            Ok(gather) => gather,
            Err(why) => {
                self.answer(cause.id, &open, Json::Null, Some(why), pulse);
                return;
            }
        };
        pulse.keep(IntrospectorEvent::Opened { inquiry: cause.id, open });
    }
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
            .unwrap_or_else(|| json!(answer));
        self.reported(report, pulse);
    }
}

impl Hears<SimilarFound> for Introspector {
    fn hear(&self, answer: &SimilarFound, pulse: &mut Pulse<'_, Self>) {
        let Some((_, _, open)) = self.asked(pulse) else { return };
        if let Some(problem) = &answer.problem {
            return self.failed(format!("{}: {problem}", open.tool), pulse);
        }
        let own = open.turn.map(|turn| turn.to_string());
        let others = answer.results.iter().filter(|found| Some(&found.id) != own.as_ref());
        let results: Vec<&Similar> = others.take(found_at_most(&open.params)).collect();
        self.reported(json!({ "results": results }), pulse);
    }
}

impl Hears<OutcomesPredicted> for Introspector {
    fn hear(&self, answer: &OutcomesPredicted, pulse: &mut Pulse<'_, Self>) {
        let is_part = self.asked(pulse).is_some_and(|(_, _, open)| open.tool == "pain_history");
        let report = if is_part { json!({ "expected": answer }) } else { json!(answer) };
        self.reported(report, pulse);
    }
}

impl Hears<LinksListed> for Introspector {
    fn hear(&self, answer: &LinksListed, pulse: &mut Pulse<'_, Self>) {
        let LinksListed { links, found } = answer;
        self.reported(json!({ "results": links, "found": found }), pulse);
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
        self.reported(report, pulse);
    }
}

impl Hears<WorkingMemorySurveyed> for Introspector {
    fn hear(&self, answer: &WorkingMemorySurveyed, pulse: &mut Pulse<'_, Self>) {
        let Some((_, _, open)) = self.asked(pulse) else { return };
        let report = narrative::lately(&open.params, &answer.entries, pulse.settings());
        self.reported(report, pulse);
    }
}

impl Hears<PainReported> for Introspector {
    fn hear(&self, answer: &PainReported, pulse: &mut Pulse<'_, Self>) {
        self.reported(json!(answer), pulse);
    }
}

impl Hears<VerdictForeseen> for Introspector {
    fn hear(&self, answer: &VerdictForeseen, pulse: &mut Pulse<'_, Self>) {
        self.reported(json!({ "fear": answer }), pulse);
    }
}

impl Hears<RhythmsDiscovered> for Introspector {
    fn hear(&self, answer: &RhythmsDiscovered, pulse: &mut Pulse<'_, Self>) {
        let RhythmsDiscovered { rhythms, events, since } = answer;
        let report = json!({ "rhythms": rhythms, "rhythm_events": events, "rhythm_since": since });
        self.reported(report, pulse);
    }
}

impl Hears<TimeDescribed> for Introspector {
    fn hear(&self, answer: &TimeDescribed, pulse: &mut Pulse<'_, Self>) {
        self.reported(times::report(answer), pulse);
    }
}

impl Hears<Calculated> for Introspector {
    fn hear(&self, answer: &Calculated, pulse: &mut Pulse<'_, Self>) {
        let Some(why) = &answer.error else { return self.reported(answer.output.clone(), pulse) };
        self.failed(why.clone(), pulse);
    }
}

impl Hears<ConceptsFound> for Introspector {
    fn hear(&self, answer: &ConceptsFound, pulse: &mut Pulse<'_, Self>) {
        let Some(why) = &answer.error else {
            return self.reported(json!({ "results": answer.concepts }), pulse);
        };
        self.failed(format!("concept_query: {why}"), pulse);
    }
}

impl Hears<AssociatedRecalled> for Introspector {
    fn hear(&self, answer: &AssociatedRecalled, pulse: &mut Pulse<'_, Self>) {
        let AssociatedRecalled { episodes, concepts, others, missing, problem } = answer;
        if let Some(problem) = problem {
            return self.failed(format!("memory_associated: {problem}"), pulse);
        }
        let report = json!({ "results": episodes, "concepts": concepts, "others": others, "missing": missing });
        self.reported(report, pulse);
    }
}

impl Hears<EnergyReported> for Introspector {
    fn hear(&self, answer: &EnergyReported, pulse: &mut Pulse<'_, Self>) {
        self.reported(answer.report.clone(), pulse);
    }
}

impl Hears<VitalsSensed> for Introspector {
    fn hear(&self, sensed: &VitalsSensed, pulse: &mut Pulse<'_, Self>) {
        self.reported(stats::health(sensed), pulse);
    }
}

impl Hears<StatsReported> for Introspector {
    fn hear(&self, answer: &StatsReported, pulse: &mut Pulse<'_, Self>) {
        self.reported(answer.counts.clone(), pulse);
    }
}
