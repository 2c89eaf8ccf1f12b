//! The steps of a why-record in words, and the evidence of each.

use maxim_actors::action::cause_ledger::CausePart;
use maxim_bus::signals::acting::{ActChosen, ActOption};
use maxim_bus::signals::concepts::KnowledgeEntry;
use maxim_bus::signals::fear::FearsRecalled;
use maxim_bus::signals::intent::Alternative;
use maxim_bus::signals::introspection::VerdictForeseen;
use maxim_bus::signals::percept::Disposition;
use maxim_bus::signals::recall::{OutcomesPredicted, RecalledEpisode};
use maxim_bus::signals::skill::ProgramRecalled;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The evidence of a step, one line each: memories with their scores, knowledge, programs, fears, predictions, and the
/// alternatives.
pub(super) fn rests_on(part: &CausePart) -> Vec<String> {
    let body = &part.body;
    let recalled = if body["recalled"].is_array() { &body["recalled"] } else { &body["output"]["results"] };
    let mut lines: Vec<String> = listed::<RecalledEpisode>(recalled).iter().map(episode).collect();
    lines.extend(
        listed::<KnowledgeEntry>(&body["knowledge"])
            .iter()
            .map(|known| format!("{:.2}  {}: “{}”", known.score, known.name, known.text)),
    );
    lines.extend(
        listed::<ProgramRecalled>(&body["programs"])
            .iter()
            .map(|program| format!("{:.2}  practised {}: {}", program.fit, program.name, program.wording)),
    );
    let fears = read::<FearsRecalled>(&body["fears"]).map(|fears| fears.lines()).unwrap_or_default();
    lines.extend(fears.iter().map(|line| line.trim_start_matches("- ").to_owned()));
    let predicted = [&body["predicted"], &body["expected"], &body["output"]].map(read::<OutcomesPredicted>);
    lines.extend(predicted.into_iter().flatten().map(|predicted| prediction(&predicted)));
    lines.extend(
        read::<VerdictForeseen>(&body["foreseen"])
            .map(|foreseen| format!("the gate would {}: {} ({})", foreseen.verdict, foreseen.reason, foreseen.rule)),
    );
    lines.extend(listed::<Alternative>(&body["instead"]).iter().map(|other| {
        let params = if other.params.is_null() { String::new() } else { format!(" {}", other.params) };
        format!("instead of {}{params}: {}", other.tool, other.why)
    }));
    lines
}

/// The readable entries of a list.
fn listed<T: DeserializeOwned>(list: &Value) -> Vec<T> {
    list.as_array().into_iter().flatten().filter_map(read).collect()
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

fn episode(episode: &RecalledEpisode) -> String {
    let text = if episode.text.is_empty() { episode.tool.as_deref().unwrap_or_default() } else { &episode.text };
    format!("{:.2}  “{text}”, {}", episode.score, episode.timestamp)
}

fn prediction(predicted: &OutcomesPredicted) -> String {
    let OutcomesPredicted { tool_name, value, confidence, observations, .. } = predicted;
    if !predicted.known {
        return format!("predicted nothing of {tool_name}: nothing like it is known");
    }
    let outcome = predicted.outcomes.first().map_or(String::new(), |(name, p)| format!(", mostly {name} ({p:.2})"));
    let (value, confidence) = (value.get(), confidence.get());
    format!(
        "predicted {tool_name}: {value:.2} of 1 good{outcome}, confidence {confidence:.2}, after {observations} times"
    )
}

fn rounded(number: &Value) -> String {
    number.as_f64().map_or_else(|| "-".into(), |number| format!("{number:.2}"))
}

/// Microseconds as a person reads them.
fn lasted(microseconds: &Value) -> String {
    match microseconds.as_u64().unwrap_or_default() {
        us @ 0..1_000 => format!("{us} µs"),
        us @ 1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        us => format!("{:.1} s", us as f64 / 1e6),
    }
}

/// The step in words, out of its own fields alone.
pub(super) fn sentence(part: &CausePart) -> String {
    let body = &part.body;
    let text = |name: &str| match &body[name] {
        Value::String(text) => text.clone(),
        Value::Null => "-".into(),
        other => other.to_string(),
    };
    let intent = &body["intent"];
    match part.kind.as_str() {
        "SalientPercept" => {
            let kept = disposed(&body["disposition"]);
            format!("perceived {}, salience {}{kept}", body["percept"]["content"], rounded(&body["salience"]))
        }
        "EnrichedPercept" => {
            let recalled = body["recalled"].as_array().map_or(0, Vec::len);
            let missing: Vec<&str> =
                body["missing"].as_array().into_iter().flatten().filter_map(|m| m["region"].as_str()).collect();
            let without = if missing.is_empty() { String::new() } else { format!(", without {}", missing.join(", ")) };
            let named = |list: &Value, by: &str| -> Vec<String> {
                list.as_array().into_iter().flatten().filter_map(|one| one[by].as_str().map(str::to_owned)).collect()
            };
            let fears = &body["fears"];
            let mut feared = named(&fears["hurts"], "tool");
            feared.extend(named(&fears["refusals"], "tool"));
            feared.sort();
            feared.dedup();
            let others = [
                ("knows", named(&body["knowledge"], "name")),
                ("programs", named(&body["programs"], "name")),
                ("fears", feared),
            ];
            let others = others.into_iter().filter(|(_, names)| !names.is_empty());
            let others: String = others.map(|(what, names)| format!("; {what} {}", names.join(", "))).collect();
            format!("recalled {recalled} episodes{others}{without}")
        }
        "PromptBuilt" => {
            let sections = body["sections"].as_array();
            let out: Vec<&str> = sections
                .into_iter()
                .flatten()
                .filter(|section| section["kept"] == false)
                .filter_map(|section| section["name"].as_str())
                .collect();
            let left_out = if out.is_empty() { String::new() } else { format!(", left out {}", out.join(", ")) };
            format!("asked the model with {} of {} tokens{left_out}", body["tokens"], body["budget"])
        }
        "ThoughtGated" => match body["refused"].as_str() {
            Some(bar) => format!("left it to habit ({bar}): {}", text("reason")),
            None => format!("found it worth a thought: {}", text("reason")),
        },
        "CycleThought" => cycle(body),
        "Thought" => format!("thought: {} (confidence {})", text("text"), rounded(&body["confidence"])),
        "ActChosen" => acts(body),
        "Intent" => {
            let others = body["then"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let others: Vec<&str> = others.collect();
            let others = if others.is_empty() { String::new() } else { format!(", and then {}", others.join(", ")) };
            format!("wanted {} {}{others}", text("tool"), body["params"])
        }
        "IntentRefused" => format!("{} {}: {} ({})", text("refusal"), text("tool"), text("reason"), text("rule")),
        "ClearedIntent" => {
            let level = body["terms"]["powers"]["autonomy"].as_str();
            let level = level.map_or(String::new(), |level| format!(" (autonomy: {level})"));
            format!("cleared {} by {}: {}{level}", intent["tool"].as_str().unwrap_or("-"), text("rule"), text("reason"))
        }
        "ExecutionStarted" => {
            format!("began {}, attempt {}", intent["tool"].as_str().unwrap_or("-"), body["attempt"])
        }
        "ToolResult" => match body["success"].as_bool() {
            Some(true) => format!("{} succeeded in {}", text("tool"), lasted(&body["duration_us"])),
            Some(false) => format!("{} failed: {}", text("tool"), text("error")),
            None => format!("{} has no known outcome", text("tool")),
        },
        "Outbound" => format!("said {} on {}", body["text"], text("channel")),
        "DeliveryEnded" => {
            let why = body["why"].as_str().map_or(String::new(), |why| format!(": {why}"));
            format!("the message to {} on {} is {}{why}", text("recipient"), text("channel"), text("state"))
        }
        "TurnEnded" => {
            let answered = body["reply"].as_str().map_or(String::new(), |reply| format!(", answered “{reply}”"));
            format!("ended the turn{answered}")
        }
        "GoalChanged" => {
            let goal = |name: &str| body["goal"][name].as_str().unwrap_or("-").to_owned();
            format!("the goal “{}” is {}: {}", goal("title"), goal("state"), goal("reason"))
        }
        "EpisodeStored" => {
            let state = if body["complete"] == true { "completed" } else { "opened" };
            format!("{state} the episode {}", text("episode"))
        }
        "PainSignal" => format!("felt {} at {}: {}", text("kind"), rounded(&body["intensity"]), text("reason")),
        "InquiryAnswered" => format!("asked {} {}", text("tool"), body["params"]),
        "PredictionErrorSensed" => format!(
            "learned of {}: {}, expected {}, error {}, now {} ({})",
            text("event"),
            text("outcome"),
            rounded(&body["expected"]),
            rounded(&body["rpe"]),
            rounded(&body["value"]),
            text("valence")
        ),
        "Reward" => format!("rewarded {} with {}", text("tool"), rounded(&body["lambda"])),
        other => format!("{other} {body}"),
    }
}

/// Why a percept may lead to nothing, if so.
fn disposed(disposition: &Value) -> String {
    match read(disposition) {
        Some(Disposition::Stopped { reason, by }) => {
            let by = if by.is_empty() { String::new() } else { format!(", by {by}") };
            format!("; stopped ({reason}{by}), so nothing is done")
        }
        Some(Disposition::Held { until: None }) => "; on hold, so nothing is done".into(),
        Some(Disposition::Held { until: Some(until) }) => format!("; on hold until {until}, so nothing is done"),
        Some(Disposition::Noted) => "; who wrote it may not command".into(),
        Some(Disposition::Proceed) | None => String::new(),
    }
}

/// The options that were weighed, each with its worth.
fn acts(body: &Value) -> String {
    let Some(ActChosen { options, chosen, nothing }) = read(body) else { return "weighed what to do".into() };
    let weighed = options.iter().enumerate().map(|(place, option)| {
        let ActOption { tool, value, novelty, fear, need, score, chance, barred, .. } = option;
        let taken = if place == chosen { " (chosen)" } else { "" };
        let thing = option.params["thing"].as_str().map_or(String::new(), |thing| format!(" {thing}"));
        let barred = barred.as_ref().map_or(String::new(), |why| format!(", not possible: {why}"));
        format!(
            "{tool}{thing}{taken} {score:.2} = value {value:.2}, novelty {novelty:.2}, fear {fear:.2}, need {need:.2}, \
             chance {chance:.2}{barred}"
        )
    });
    format!("weighed {}; nothing 0.00, chance {nothing:.2}", weighed.collect::<Vec<_>>().join("; "))
}

/// `Cycle 1/3 · 8.2 s · enriched: hippocampus · ready`, what was thought, and how much it stands out.
fn cycle(body: &Value) -> String {
    let listed = |name: &str| {
        let items: Vec<&str> = body[name].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        items.join(", ")
    };
    let mut parts = vec![format!("cycle {}/{}", body["cycle"], body["cycles"])];
    parts.push(format!("{:.1} s", body["seconds"].as_f64().unwrap_or_default()));
    for (name, word) in [("enriched", "enriched"), ("missing", "without"), ("outward", "speaks to others")] {
        let items = listed(name);
        parts.extend((!items.is_empty()).then(|| format!("{word}: {items}")));
    }
    parts.push(body["ending"].as_str().unwrap_or("-").to_owned());
    let leaning = body["tool"].as_str().map_or(String::new(), |tool| format!(", towards {tool}"));
    let salience = body["salience"].as_f64().unwrap_or_default();
    format!("{}: {}{leaning} (salience {salience:.2})", parts.join(" · "), body["text"])
}
