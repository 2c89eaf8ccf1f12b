//! Words for what the brain found out about itself.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{SHOWN_CHARS, bounded};

/// Lines of a list.
const LINES: usize = 8;

/// The result of an introspection tool, in plain English. `None`: another module words this tool.
pub(crate) fn told(tool: &str, params: &Value, output: &Value) -> Option<String> {
    let said = match tool {
        "pain_history" => pains(params, output),
        "causal_links" => links(output),
        "discover_tools" => tools(output),
        "sense_presence" => presence(output),
        "energy_status" => energy(output),
        "temporal_patterns" => times(params, output),
        "system_stats" => stats(output),
        _ => return None,
    };
    let missing = words(&output["missing"]);
    let missing =
        if missing.is_empty() { String::new() } else { format!("\n({} did not answer.)", missing.join(", ")) };
    Some(bounded(&format!("{said}{missing}"), SHOWN_CHARS))
}

fn word<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The first lines of a list, and the number of the others.
fn lines(items: &Value, found: Option<u64>, line: impl Fn(&Value) -> String) -> String {
    let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut told: Vec<String> = items.iter().take(LINES).map(line).collect();
    let more = found.unwrap_or(items.len() as u64).saturating_sub(told.len() as u64);
    told.extend((more > 0).then(|| format!("… ({more} more)")));
    told.join("\n")
}

/// Past harm, and the gate's forecast for an action.
fn pains(params: &Value, output: &Value) -> String {
    let mut told = Vec::new();
    if let Some(tool) = params["check_action"].as_str() {
        let verdict = output["would"].as_str().or_else(|| output["fear"]["verdict"].as_str());
        let reason = word(&output["fear"], "reason");
        told.push(match verdict {
            Some("allow") => format!("I would do {tool}: {reason}."),
            Some("ask") => format!("For {tool} I would ask a person first: {reason}."),
            Some(_) => format!("{tool} would be blocked: {reason}."),
            None => format!("What the gate would say of {tool} isn't known now."),
        });
    }
    let felt = lines(&output["recent"], None, |pain| {
        format!("- {}: {} ({})", day(&pain["at"]), word(pain, "about"), word(pain, "reason"))
    });
    told.push(if felt.is_empty() { "Nothing has hurt lately.".into() } else { format!("What hurt lately:\n{felt}") });
    let sore = words(&output["sore"]);
    told.extend((!sore.is_empty()).then(|| format!("Sore now: {}.", sore.join(", "))));
    told.join("\n")
}

fn day(at: &Value) -> String {
    at.as_str().unwrap_or_default().chars().take(10).collect()
}

fn links(output: &Value) -> String {
    let told = lines(&output["results"], output["found"].as_u64(), |link| {
        let strength = link["strength"].as_f64().unwrap_or_default() * 100.0;
        let (event, outcome) = (word(link, "event"), word(link, "outcome"));
        format!("- {event} leads to {outcome} ({} times, lately {strength:.0} %)", link["observations"])
    });
    if told.is_empty() { "I have learned nothing of the kind yet.".into() } else { told }
}

fn tools(output: &Value) -> String {
    let told = lines(&output["results"], output["found"].as_u64(), |tool| {
        let off = if tool["available"] == false { " (not available here)" } else { "" };
        format!("- {}{off}: {}", word(tool, "name"), word(tool, "description"))
    });
    let told = if told.is_empty() { "None of my tools fits that.".to_owned() } else { told };
    match output["hint"].as_str() {
        Some(hint) => format!("{told}\n{hint}."),
        None => told,
    }
}

fn presence(output: &Value) -> String {
    let (you, scene) = (&output["you"], &output["scene"]);
    let count = you["tools"].as_array().map_or(0, Vec::len);
    let body = if you["body"]["available"] == true { "a body" } else { "no body" };
    let (name, mode) = (word(you, "name"), word(you, "mode"));
    let lowered = you["configured_mode"].as_str();
    let lowered = lowered.map(|whole| format!(" (lowered; {whole} is configured)")).unwrap_or_default();
    let own = format!("I am {name}, in {mode} mode{lowered}, with {body} and {count} tools.");
    let around = lines(&scene["observed"], scene["around"].as_u64(), |thing| {
        format!("- {} ({})", word(thing, "name"), word(thing, "kind"))
    });
    match around.is_empty() {
        false => format!("{own} Around me:\n{around}"),
        true => format!("{own} I perceive nobody and nothing else now."),
    }
}

fn energy(output: &Value) -> String {
    let mut told = vec![format!("I used {} tokens in {} calls lately.", output["tokens"], output["calls"])];
    for span in ["hour", "day", "session"] {
        let budget = &output["budgets"][span];
        let limit = budget["limit"].as_u64();
        told.extend(limit.map(|limit| format!("Of the {limit} tokens of this {span}, {} are left.", budget["left"])));
        let money = &output["money"][span];
        told.extend(
            money["limit"].as_f64().map(|limit| format!("Of {limit} in money this {span}, {} is left.", money["left"])),
        );
    }
    let battery = &output["battery"];
    let charge = battery["charge"].as_f64().filter(|_| battery["available"] == true);
    told.extend(charge.map(|charge| format!("The battery is at {:.0} %.", charge * 100.0)));
    told.join(" ")
}

fn times(params: &Value, output: &Value) -> String {
    let at = params["hour"].as_u64().map_or_else(|| "At such a time".to_owned(), |hour| format!("At {hour} o'clock"));
    let usual = lines(&output["typical"], None, |kind| format!("- {} ({} times)", word(kind, "kind"), kind["times"]));
    let (matching, total) = (output["matching"].as_u64().unwrap_or(0), output["total"].as_u64().unwrap_or(0));
    let mut told = vec![match matching {
        0 => format!("{at} nothing has happened yet, of {total} things that I lived through."),
        _ => format!("{at} {matching} of {total} things happened that I lived through."),
    }];
    told.extend((!usual.is_empty()).then_some(usual));
    if let Some(rhythms) = output["rhythms"].as_array() {
        let kinds: BTreeSet<&str> = rhythms.iter().map(|rhythm| word(rhythm, "kind")).collect();
        let kinds: Vec<&str> = kinds.into_iter().collect();
        told.push(match kinds.as_slice() {
            [] => "I have found no rhythm yet.".to_owned(),
            kinds => format!("What comes at certain times more often than by chance: {}.", kinds.join(", ")),
        });
    }
    told.join("\n")
}

fn stats(output: &Value) -> String {
    let Some(regions) = output["regions"].as_object() else { return "Nobody answered.".into() };
    let count = |room: &str, name: &str| output["regions"][room][name].as_u64().unwrap_or(0);
    let off: Vec<&str> =
        regions.iter().filter(|(_, report)| report["available"] == false).map(|(room, _)| room.as_str()).collect();
    let well = match off.as_slice() {
        [] => format!("I am well: all {} rooms that were asked answer.", regions.len()),
        off => format!("{} of {} rooms can't answer: {}.", off.len(), regions.len(), off.join(", ")),
    };
    let rebuilt = output["health"]["not_as_usual"].as_array().into_iter().flatten();
    let rebuilt: Vec<String> = rebuilt
        .map(|one| format!("{} is {} ({} restarts)", word(one, "room"), word(one, "state"), one["restarts"]))
        .collect();
    let well = if rebuilt.is_empty() { well } else { format!("{well} Not as usual: {}.", rebuilt.join(", ")) };
    let (episodes, concepts) = (count("hippocampus", "episodes"), count("anterior_temporal_lobe", "concepts"));
    format!("{well} I remember {episodes} episodes and know {concepts} concepts. `maxim status` shows more.")
}
