//! Whether an expectation holds, and what was found instead.

use maxim_bus::rooms::RESPOND;
use maxim_bus::signals::concepts::ConceptFormed;
use maxim_bus::signals::intent::IntentRefused;
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::percept::PainSignal;
use maxim_bus::signals::thought::TurnEnded;
use serde::Serialize;
use serde_json::{Value, json};

use super::file::Expectation;
use super::live::Lived;
use crate::sim::bench::Broken;
use crate::stopping::millis;

/// An expectation and its result.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    pub expectation: String,
    pub holds: bool,
    pub found: String,
}

/// Texts that are shown of many.
const SHOWN: usize = 3;

/// # Errors
/// The brain doesn't answer a question.
pub fn check(lived: &mut Lived, expectation: &Expectation) -> Result<Checked, Broken> {
    use Expectation as E;
    let (expectation, (holds, found)) = match expectation {
        E::ActionTaken { tool, contains } => {
            let acts: Vec<ToolResult> = results(lived, Some(tool));
            let has = |act: &&ToolResult| contains.as_ref().is_none_or(|text| is_in(text, &told(act)));
            let done = acts.iter().filter(|act| act.success == Some(true)).find(has);
            let found = match done {
                Some(done) => told(done),
                None => format!("{}; in all: {}", some(acts.iter().map(told)), used(lived)),
            };
            (format!("action_taken {tool}{}", with(contains)), (done.is_some(), found))
        }
        E::ActionBlocked { tool, reason } => {
            let of = |refused: &IntentRefused| tool.as_ref().is_none_or(|tool| *tool == refused.tool);
            let why = |refused: &IntentRefused| format!("{}: {} ({})", refused.tool, refused.reason, refused.rule);
            let refused: Vec<String> = heard::<IntentRefused>(lived).iter().filter(|r| of(r)).map(why).collect();
            let fits = refused.iter().find(|why| reason.as_ref().is_none_or(|reason| is_in(reason, why)));
            let name = format!("action_blocked {}{}", tool.as_deref().unwrap_or("anything"), with(reason));
            (name, (fits.is_some(), fits.cloned().unwrap_or_else(|| some(refused.iter().cloned()))))
        }
        E::MemoryFormed { about, contains } => {
            let recalled = lived.ask("memory_recall", json!({"query": about, "limit": 5}))?;
            let episodes: Vec<String> = list(&recalled).iter().map(Value::to_string).collect();
            let text = contains.as_ref().unwrap_or(about);
            let fits = episodes.iter().any(|episode| is_in(text, episode));
            (
                format!("memory_formed {about:?}{}", with(contains)),
                (fits, format!("{} episodes recalled", episodes.len())),
            )
        }
        E::ConceptFormed { name } => {
            let names: Vec<String> = heard::<ConceptFormed>(lived).into_iter().map(|formed| formed.name).collect();
            let fits = names.iter().any(|formed| is_in(name, formed));
            (format!("concept_formed {name:?}"), (fits, some(names.into_iter())))
        }
        E::CausalLinkFormed { tool, outcome } => {
            let links = lived.ask("causal_links", json!({}))?;
            let word = |link: &Value, name: &str| link[name].as_str().unwrap_or_default().to_owned();
            let links = list(&links);
            let of_tool = links.iter().filter(|link| is_of(tool, &word(link, "event")));
            let outcomes: Vec<String> = of_tool.map(|link| word(link, "outcome")).collect();
            let fits = outcomes.iter().any(|found| outcome.as_ref().is_none_or(|outcome| is_in(outcome, found)));
            (format!("causal_link_formed {tool}{}", with(outcome)), (fits, some(outcomes.into_iter())))
        }
        E::PredictionValence { tool, params, valence } => {
            let predicted = lived.ask("predict_outcome", json!({"tool_name": tool, "params": params}))?;
            let found = predicted["valence"].as_str().unwrap_or("unknown");
            (format!("prediction_valence {tool} {valence}"), (found == valence, found.to_owned()))
        }
        E::ToolUsed { tool, min, max } => {
            let min = min.or(max.is_none().then_some(1));
            let count = results(lived, Some(tool)).len() as u64;
            (format!("tool_used {tool} {}", range(min, *max)), within(count, min, *max, || used(lived)))
        }
        E::ToolSuccessRate { tool, at_least } => {
            let known: Vec<bool> = results(lived, tool.as_deref()).iter().filter_map(|act| act.success).collect();
            let rate = known.iter().filter(|success| **success).count() as f64 / known.len().max(1) as f64;
            let name = format!("tool_success_rate {} at least {at_least}", tool.as_deref().unwrap_or("of all"));
            (name, (!known.is_empty() && rate >= *at_least, format!("{rate:.2} of {}", known.len())))
        }
        E::ResponseLatency { at_most } => {
            let limit = at_most.get();
            let took = |begun: &super::live::Begun| {
                lived.ended(begun.turn).map(|ended| ended.duration_since(begun.at).unsigned_abs())
            };
            let all: Option<Vec<_>> = lived.begun.iter().map(took).collect();
            let (holds, found) = match all.as_ref().map(|all| all.iter().max()) {
                None => (false, "a turn didn't end".to_owned()),
                Some(None) => (false, "nothing was said to it".to_owned()),
                Some(Some(longest)) => (*longest <= limit, format!("{} ms at most", longest.as_millis())),
            };
            (format!("response_latency at most {} ms", limit.as_millis()), (holds, found))
        }
        E::MemoryCountRange { min, max } => {
            let count = memory(lived)?["episodes"].as_u64().unwrap_or_default();
            (format!("memory_count_range {}", range(*min, *max)), within(count, *min, *max, || "episodes".into()))
        }
        E::ActionCountRange { min, max } => {
            let count = lived.acts() as u64;
            (format!("action_count_range {}", range(*min, *max)), within(count, *min, *max, || used(lived)))
        }
        E::GraphDensityAbove { density } => {
            let memory = memory(lived)?;
            let [edges, episodes] = ["edges", "episodes"].map(|name| memory[name].as_f64().unwrap_or_default());
            let possible = episodes * (episodes - 1.0);
            let found = if possible > 0.0 { edges / possible } else { 0.0 };
            let name = format!("graph_density_above {density}");
            (name, (found > *density, format!("{found:.3}: {edges} edges between {episodes} episodes")))
        }
        E::PainSignalCount { min, max } => {
            let pains = heard::<PainSignal>(lived);
            let about = || some(pains.iter().map(|pain| pain.about.clone()));
            (format!("pain_signal_count {}", range(*min, *max)), within(pains.len() as u64, *min, *max, about))
        }
        E::PipelineContinued => {
            let open = lived.open();
            ("pipeline_continued".into(), (open == 0, format!("{open} of {} turns are open", lived.begun.len())))
        }
        E::StoppedWithin { at_most } => {
            let took = lived.stopped_in();
            let micros = took.map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
            let found = micros.map_or("it isn't stopped".into(), millis);
            let holds = took.is_some_and(|took| took <= at_most.get());
            (format!("stopped_within {} ms", at_most.get().as_millis()), (holds, found))
        }
        E::ReplyContains { text } => {
            let replies: Vec<String> = heard::<TurnEnded>(lived).into_iter().filter_map(|ended| ended.reply).collect();
            let fits = replies.iter().any(|reply| is_in(text, reply));
            (format!("reply_contains {text:?}"), (fits, some(replies.into_iter())))
        }
    };
    Ok(Checked { expectation, holds, found })
}

fn heard<S: maxim_bus::Signal + Clone>(lived: &Lived) -> Vec<S> {
    lived.heard::<S>().into_iter().map(|(_, signal)| signal).collect()
}

/// The results of a tool, or of all tools except speaking.
fn results(lived: &Lived, tool: Option<&str>) -> Vec<ToolResult> {
    let is_meant = |result: &ToolResult| match tool {
        Some(tool) => result.tool == tool,
        None => result.tool != RESPOND,
    };
    heard::<ToolResult>(lived).into_iter().filter(is_meant).collect()
}

fn told(act: &ToolResult) -> String {
    let end = act.error.clone().unwrap_or_else(|| act.output.to_string());
    format!("{} {} → {end}", act.tool, act.params)
}

/// The tools that were used, for an expectation that misses one.
fn used(lived: &Lived) -> String {
    let refused = heard::<IntentRefused>(lived).into_iter().map(|refused| format!("{} (refused)", refused.tool));
    some(results(lived, None).into_iter().map(|act| act.tool).chain(refused))
}

fn memory(lived: &mut Lived) -> Result<Value, Broken> {
    Ok(lived.ask("system_stats", json!({}))?["regions"]["hippocampus"].clone())
}

fn list(answer: &Value) -> Vec<Value> {
    answer["results"].as_array().cloned().unwrap_or_default()
}

/// A link's event is a tool with the kinds of its parameters.
fn is_of(tool: &str, event: &str) -> bool {
    event.strip_prefix(tool).is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
}

fn is_in(text: &str, whole: &str) -> bool {
    whole.to_lowercase().contains(&text.to_lowercase())
}

fn some(texts: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = texts.collect();
    match all.len() {
        0 => "nothing".into(),
        n if n > SHOWN => format!("{} and {} more", all[..SHOWN].join("; "), n - SHOWN),
        _ => all.join("; "),
    }
}

fn with(text: &Option<String>) -> String {
    text.as_ref().map_or_else(String::new, |text| format!(" with {text:?}"))
}

fn range(min: Option<u64>, max: Option<u64>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "any".into(),
    }
}

fn within(count: u64, min: Option<u64>, max: Option<u64>, which: impl FnOnce() -> String) -> (bool, String) {
    let holds = min.is_none_or(|min| count >= min) && max.is_none_or(|max| count <= max);
    (holds, format!("{count}: {}", which()))
}
