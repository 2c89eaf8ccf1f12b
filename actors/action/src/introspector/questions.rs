//! The questions by which each tool of introspection is answered, and the rooms that they go to.

use jiff::Timestamp;
use maxim_bus::Addressed;
use maxim_bus::signals::bridges::ReportEnergy;
use maxim_bus::signals::concepts::{FindConcepts, RecallAssociated};
use maxim_bus::signals::introspection::{DiscoverRhythms, ForeseeVerdict, ListLinks, ReportPain, SenseVitals};
use maxim_bus::signals::numbers::Calculate;
use maxim_bus::signals::recall::{EpisodeFilter, Inquiry, PredictOutcomes, RecallEpisodes, ReportStats};
use maxim_bus::signals::scene::SurveyScene;
use maxim_bus::signals::similarity::FindSimilar;
use maxim_bus::signals::working_memory::{EntryKind, SurveyWorkingMemory};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::{Introspector, affordances, times};
use maxim_region::{Emits, Gather, Pulse};
use maxim_tools::narrative::{EXAMINE, THINK};

/// The part of a question that looks for rhythms.
const RHYTHMS: &str = "suprachiasmatic_nucleus (rhythms)";
/// The highest number of results that the agent itself may ask for, unless memory is asked without a model.
const MOST: u64 = 20;
/// Results where no number is given.
const LIMIT: u64 = 5;
/// Memories that `think` and `examine` look through: some are but questions and commands.
const LOOKED_THROUGH: usize = 10;
/// Seconds of energy that are told where no number is given.
const HOUR: u64 = 3_600;
/// A scene with all that is in it.
const WHOLE_SCENE: SurveyScene = SurveyScene { top_n: usize::MAX, include_attention: true };

type Asks = fn(&mut Asking<'_, '_>) -> Result<(), String>;

/// Each tool, and what it asks.
const TOOLS: [(&str, Asks); 17] = [
    ("memory_recall", |asking| {
        let filter: EpisodeFilter = asking.given()?;
        asking.episodes(filter, false)
    }),
    ("similarity_search", |asking| {
        // The turn that asks is like its own words; it is left out of the answer.
        let limit = found_at_most(&asking.inquiry.params) + usize::from(asking.inquiry.turn.is_some());
        let similar = FindSimilar { limit, ..asking.given()? };
        asking.room(similar)
    }),
    ("predict_outcome", |asking| {
        let tool = asking.text("tool_name").ok_or("predict_outcome: tool_name is missing")?;
        let (context, all) = (json!({ "words": asking.text("context") }), asking.flag("include_all_outcomes"));
        let params = asking.inquiry.params.get("params").cloned().unwrap_or(Json::Null);
        asking.outcomes(tool, params, context, all)
    }),
    ("temporal_patterns", |asking| {
        let times = times::question(&asking.params);
        let limit = times.limit;
        asking.room(times)?;
        if asking.flag("discover_rhythms") {
            asking.gather.ask_for(RHYTHMS.into(), DiscoverRhythms { limit }, asking.pulse);
        }
        Ok(())
    }),
    ("scene_summary", |asking| {
        let top_n = asking.number("top_n").map_or(LIMIT, |n| n.clamp(1, MOST)) as usize;
        let include_attention = asking.flag("include_attention");
        asking.room(SurveyScene { top_n, include_attention })
    }),
    ("sense_presence", presence),
    ("discover_tools", presence),
    ("sense", |asking| {
        let entity = asking.text("entity").unwrap_or_default();
        if !affordances::is_oneself(&entity, asking.pulse.settings()) {
            return asking.room(WHOLE_SCENE);
        }
        asking.room(ReportEnergy { window_seconds: HOUR })?;
        asking.room(ReportPain { about: None, limit: LIMIT as usize })
    }),
    ("causal_links", |asking| {
        let links: ListLinks = asking.given()?;
        asking.room(links)
    }),
    ("pain_history", |asking| {
        let (about, limit) = (asking.text("check_action"), asking.number("limit").unwrap_or(LIMIT) as usize);
        asking.room(ReportPain { about: about.clone(), limit })?;
        let Some(tool) = about else { return Ok(()) };
        let given = asking.inquiry.params.get("action_params").cloned();
        let params = given.clone().unwrap_or_else(|| json!({}));
        asking.room(ForeseeVerdict { tool: tool.clone(), params })?;
        asking.outcomes(tool, given.unwrap_or(Json::Null), json!({}), false)
    }),
    ("math", |asking| asking.room(Calculate { request: asking.inquiry.params.clone() })),
    ("concept_query", |asking| {
        let concepts: FindConcepts = asking.given()?;
        asking.room(concepts)
    }),
    ("memory_associated", |asking| {
        let associated: RecallAssociated = asking.given()?;
        asking.room(associated)
    }),
    ("energy_status", |asking| {
        let window_seconds = asking.number("window_seconds").unwrap_or(HOUR).clamp(1, 86_400);
        asking.room(ReportEnergy { window_seconds })
    }),
    ("system_stats", |asking| {
        asking.room(SenseVitals {})?;
        for room in asking.pulse.settings().rooms.iter().copied() {
            asking.gather.ask_room(room.into(), room, ReportStats {}, asking.pulse);
        }
        Ok(())
    }),
    (THINK, |asking| asking.narrated("thought", true)),
    (EXAMINE, |asking| {
        asking.narrated("target", false)?;
        asking.room(WHOLE_SCENE)?;
        let (kinds, turn) = (vec![EntryKind::Percept, EntryKind::Conversation], asking.inquiry.turn);
        let mind = SurveyWorkingMemory { kinds, turn, ..SurveyWorkingMemory::default() };
        asking.room(mind)
    }),
];

fn presence(asking: &mut Asking<'_, '_>) -> Result<(), String> {
    asking.room(SurveyScene { top_n: MOST as usize, include_attention: true })
}

/// An inquiry while its questions are asked.
struct Asking<'a, 'p> {
    inquiry: &'a Inquiry,
    /// Its parameters, with times for the words that they were given in.
    params: Json,
    gather: Gather<String>,
    pulse: &'a mut Pulse<'p, Introspector>,
}

impl Asking<'_, '_> {
    /// Asks the room that knows. Never fails: a row of the table may end with it.
    fn room<Q: Addressed>(&mut self, question: Q) -> Result<(), String>
    where
        Introspector: Emits<Q>,
    {
        self.gather.ask(question, self.pulse);
        Ok(())
    }

    fn episodes(&mut self, filter: EpisodeFilter, thought: bool) -> Result<(), String> {
        let (except, until) = (self.inquiry.turn, Some(self.gather.due));
        self.room(RecallEpisodes { filter, except, thought, waits: true, until })
    }

    /// Asks for memories of what a parameter says.
    fn narrated(&mut self, subject: &str, expand: bool) -> Result<(), String> {
        let filter =
            EpisodeFilter { query: self.text(subject), expand, limit: LOOKED_THROUGH, ..EpisodeFilter::default() };
        self.episodes(filter, true)
    }

    fn outcomes(&mut self, tool_name: String, params: Json, context: Json, all: bool) -> Result<(), String> {
        let query = PredictOutcomes { tool_name, params, context, include_all_outcomes: all };
        self.room(query)
    }

    /// The parameters as a question.
    fn given<Q: DeserializeOwned>(&self) -> Result<Q, String> {
        serde_json::from_value(self.params.clone()).map_err(|error| format!("{}: {error}", self.inquiry.tool))
    }

    fn text(&self, name: &str) -> Option<String> {
        self.inquiry.params.get(name).and_then(Json::as_str).map(str::to_owned)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.inquiry.params.get(name).and_then(Json::as_u64)
    }

    fn flag(&self, name: &str) -> bool {
        times::flag(&self.inquiry.params, name)
    }
}

/// The number of results that is asked for.
pub(super) fn found_at_most(params: &Json) -> usize {
    let limit = params.get("limit").and_then(Json::as_u64).filter(|limit| *limit > 0);
    usize::try_from(limit.unwrap_or(LIMIT)).unwrap_or(usize::MAX)
}

/// The parameters, with no higher limit than a turn may have. Outside of a turn there is none.
pub(super) fn bounded(inquiry: &Inquiry) -> Json {
    let mut params = inquiry.params.clone();
    let is_of_habit = inquiry.tool == "memory_recall" && !inquiry.by_model;
    let most = if is_of_habit { EpisodeFilter::READ as u64 } else { MOST };
    if let (Some(limit), Some(_)) = (params.get("limit").and_then(Json::as_u64), inquiry.turn) {
        params["limit"] = limit.clamp(1, most).into();
    }
    params
}

/// Asks the rooms that know.
///
/// # Errors
/// There is no such tool, or its parameters don't fit: in words for whoever asked.
pub(super) fn ask(
    inquiry: &Inquiry,
    due: Timestamp,
    pulse: &mut Pulse<'_, Introspector>,
) -> Result<Gather<String>, String> {
    let params = times::read(inquiry, &pulse.settings().zone)?;
    let tool = inquiry.tool.as_str();
    // These two are tools of a simulation alone.
    let is_built = ![THINK, EXAMINE].contains(&tool) || pulse.settings().tools.get(tool).is_some();
    let asks = TOOLS.iter().find(|(name, _)| *name == tool && is_built).map(|(_, asks)| asks);
    let asks = asks.ok_or_else(|| format!("{tool} is no introspection tool that is built"))?;
    let mut asking = Asking { inquiry, params, gather: Gather::until(due), pulse };
    asks(&mut asking)?;
    Ok(asking.gather)
}
