//! What the agent can do, and what is around it.

use std::collections::BTreeSet;

use maxim_bus::mode::Mode;
use maxim_bus::signals::scene::{SceneSurveyed, plain_name};
use serde_json::{Value as Json, json};

use super::IntrospectorSettings;
use maxim_language::words::Stems;
use maxim_tools::robot::MOVE;
use maxim_tools::{Door, ToolRegistry, ToolSpec};

/// Tools found by default.
const LIMIT: usize = 5;
/// Weight of a word of the name, compared to a word of the description.
const NAME_WEIGHT: usize = 2;

/// The answers of these tools; `None` for all others. `scene` is missing if its room did not answer. `lowered` is the
/// mode to which the agent was lowered, if it was.
pub(super) fn known(
    tool: &str,
    params: &Json,
    scene: Option<&SceneSurveyed>,
    lowered: Option<Mode>,
    settings: &IntrospectorSettings,
) -> Option<Json> {
    Some(match tool {
        "discover_tools" => {
            let limit = params.get("limit").and_then(Json::as_u64).map_or(LIMIT, |limit| limit as usize);
            let query = params.get("query").and_then(Json::as_str).unwrap_or_default();
            let mut found = discovered(query, limit, &settings.tools);
            if let Some(hint) = scene.and_then(|scene| hint(query, scene)) {
                found["hint"] = hint.into();
            }
            found
        }
        "sense_presence" => presence(scene, lowered, settings),
        _ => return None,
    })
}

/// Adds experience to the gate's verdict if both are told.
pub(super) fn weighed(mut whole: Json) -> Json {
    let (fear, expected) = (&whole["fear"], &whole["expected"]);
    let number = |of: &Json, field: &str| of[field].as_f64();
    let (Some(confidence), Some(value)) = (number(expected, "confidence"), number(expected, "value")) else {
        return whole;
    };
    let (Some(sure), Some(bad)) = (number(fear, "veto_confidence"), number(fear, "veto_value")) else { return whole };
    let left = number(fear, "unforgiven").unwrap_or(1.0);
    let is_feared = fear["hurt_before"] == true && expected["known"] == true && confidence * left > sure && value < bad;
    let verdict = fear["verdict"].as_str().unwrap_or_default().to_owned();
    let would = if verdict == "allow" && is_feared { "ask".to_owned() } else { verdict };
    whole["would"] = json!(would);
    whole
}

/// One entity of those around.
pub(super) fn sensed(entity: &str, scene: &SceneSurveyed) -> Json {
    let wanted = plain_name(entity);
    let things = scene.objects.iter();
    if !scene.available {
        return json!({ "available": false, "reason": scene.reason });
    }
    match things.clone().find(|thing| thing.name == wanted) {
        Some(thing) => json!({ "entity": thing, "is_gazed_at": scene.gaze.as_ref() == Some(&thing.name) }),
        None => {
            let around: Vec<&str> = things.map(|thing| thing.name.as_str()).collect();
            json!({ "entity": null, "reason": format!("{wanted:?} is not around now"), "around": around })
        }
    }
}

/// Whether a name means the agent itself.
pub(super) fn is_oneself(entity: &str, settings: &IntrospectorSettings) -> bool {
    let wanted = plain_name(entity);
    ["you", "yourself", "me", "myself", "self", "body"].contains(&wanted.as_str())
        || settings.names.iter().any(|name| plain_name(name) == wanted)
}

/// The request names a thing that is around, not a tool.
fn hint(query: &str, scene: &SceneSurveyed) -> Option<String> {
    let wanted = meaning(query);
    let is_meant = |name: &str| !meaning(name).is_empty() && meaning(name).is_subset(&wanted);
    let thing = scene.objects.iter().find(|thing| is_meant(&thing.name))?;
    let name = &thing.name;
    Some(format!("{name} is around you, and what it can do is observed, not yours to call; sense tells how it is"))
}

/// What is around, with the tools that it brings.
fn around(scene: &SceneSurveyed, tools: &ToolRegistry) -> Json {
    let brought = |name: &str| -> Vec<&str> {
        let with_it = tools.specs().filter(|spec| spec.scene.iter().any(|thing| thing == name));
        with_it.map(|spec| spec.name.as_str()).collect()
    };
    let things = scene.objects.iter().map(|thing| {
        json!({ "name": thing.name, "kind": thing.kind, "confidence": thing.confidence, "brings": brought(&thing.name) })
    });
    json!({
        "available": scene.available,
        "reason": scene.reason,
        "scene": scene.scene,
        "observed": things.collect::<Vec<_>>(),
        "around": scene.around,
        "gaze": scene.gaze,
        "note": "what is observed acts by itself; you can call only your tools, and what a thing brings",
    })
}

fn presence(scene: Option<&SceneSurveyed>, lowered: Option<Mode>, settings: &IntrospectorSettings) -> Json {
    let mode = settings.mode.lowered_to(lowered);
    let callable: Vec<&str> =
        settings.tools.specs().filter(|spec| is_callable(spec)).map(|spec| spec.name.as_str()).collect();
    let mut you = json!({
        "name": settings.names.first(),
        "mode": mode,
        "body": body(&settings.tools),
        "tools": callable,
    });
    if mode != settings.mode {
        you["configured_mode"] = json!(settings.mode);
    }
    json!({
        "you": you,
        "scene": scene.map_or_else(
            || json!({ "available": false, "reason": "the scene did not answer in time" }),
            |scene| around(scene, &settings.tools),
        ),
    })
}

/// Whether there is a body, according to its tools.
fn body(tools: &ToolRegistry) -> Json {
    match tools.get(MOVE).map(|tool| &tool.spec.unavailable) {
        Some(None) => json!({ "available": true, "moves_by": MOVE }),
        Some(Some(reason)) => json!({ "available": false, "reason": reason }),
        None => json!({ "available": false, "reason": "there are no tools that move one" }),
    }
}

fn is_callable(spec: &ToolSpec) -> bool {
    spec.unavailable.is_none()
}

/// The tools that share words with the query, best first.
fn discovered(query: &str, limit: usize, tools: &ToolRegistry) -> Json {
    let wanted = meaning(query);
    let score = |spec: &ToolSpec| {
        let (name, rest) = (meaning(&spec.name.replace('_', " ")), meaning(&described(spec)));
        let told = wanted.intersection(&rest).filter(|stem| !name.contains(*stem)).count();
        wanted.intersection(&name).count() * NAME_WEIGHT + told
    };
    let mut found: Vec<(usize, &ToolSpec)> =
        tools.specs().map(|spec| (score(spec), spec)).filter(|(score, _)| *score > 0).collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.name.cmp(&b.1.name)));
    let shown = |(score, spec): &(usize, &ToolSpec)| {
        let mut shown = json!({
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters["properties"],
            "example": spec.example,
            "asks_the_brain": spec.door == Door::Introspection,
            "score": score,
        });
        if let Some(reason) = &spec.unavailable {
            shown["available"] = false.into();
            shown["reason"] = reason.clone().into();
        }
        shown
    };
    let results: Vec<Json> = found.iter().take(limit.clamp(1, 20)).map(shown).collect();
    let mut answer = json!({ "results": results, "found": found.len() });
    if found.is_empty() {
        answer["all"] = tools.names().collect::<Vec<_>>().into();
    }
    answer
}

fn described(spec: &ToolSpec) -> String {
    let of_parameters = spec.parameter_names().filter_map(|name| spec.parameter(name)?["description"].as_str());
    std::iter::once(spec.description.as_str()).chain(of_parameters).collect::<Vec<_>>().join(" ")
}

/// The stems that matter in a text.
pub(super) fn meaning(text: &str) -> BTreeSet<String> {
    Stems::default().of_text(text).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::SignedDuration;
    use maxim_bus::signals::scene::{SceneThing, ThingKind};
    use maxim_bus::units::{Confidence, Novelty, Salience};

    use super::*;
    use maxim_tools::core_registry;

    fn ask(tool: &str, params: Json) -> Json {
        let settings = IntrospectorSettings {
            rooms: Vec::new(),
            deadline: SignedDuration::from_secs(2),
            tools: Arc::new(core_registry().expect("good specs")),
            names: vec!["maxim".into()],
            mode: Mode::Active,
            zone: jiff::tz::TimeZone::UTC,
        };
        known(tool, &params, Some(&kitchen()), None, &settings).expect("one of these tools")
    }

    fn kitchen() -> SceneSurveyed {
        let lamp = SceneThing {
            name: "lamp".into(),
            kind: ThingKind::Object,
            confidence: Confidence::clamped(0.8),
            novelty: Novelty::clamped(0.5),
            salience: Salience::clamped(0.5),
            last_seen: jiff::Timestamp::UNIX_EPOCH,
            sightings: 1,
            dwell_s: None,
        };
        SceneSurveyed {
            available: true,
            reason: None,
            scene: None,
            objects: vec![lamp],
            around: 1,
            gaze: None,
            pose: None,
            next_target: None,
        }
    }

    #[test]
    fn tools_are_found_by_what_they_are_for() {
        for (query, tool) in [
            ("search the source code for a pattern", "search_code"),
            ("running unit tests", "run_tests"),
            ("read a page of the web", "http_fetch"),
            ("commit my changes", "git_commit"),
        ] {
            assert_eq!(ask("discover_tools", json!({"query": query}))["results"][0]["name"], tool, "{query}");
        }
        let one = ask("discover_tools", json!({"query": "file", "limit": 1}));
        assert_eq!(one["results"].as_array().map(Vec::len), Some(1));
        assert!(one["found"].as_u64().is_some_and(|found| found > 1));
        let none = ask("discover_tools", json!({"query": "zzz"}));
        assert!(none["all"].as_array().is_some_and(|all| all.len() > 20), "nothing fits, so all names are told");
    }

    #[test]
    fn what_is_around_is_told_as_far_as_there_is_anything() {
        let presence = ask("sense_presence", json!({}));
        assert_eq!(presence["you"]["name"], "maxim");
        assert_eq!(presence["you"]["body"]["moves_by"], "move");
        let tools = presence["you"]["tools"].as_array().expect("tools");
        assert!(tools.contains(&json!("bash")) && tools.contains(&json!("sleep")));
        assert_eq!(presence["scene"]["observed"][0]["name"], "lamp");
        let hinted = ask("discover_tools", json!({"query": "make the lamp glow"}));
        assert!(hinted["hint"].as_str().is_some_and(|hint| hint.contains("lamp is around you")), "{hinted}");
        assert!(ask("discover_tools", json!({"query": "read a file"}))["hint"].is_null());
    }

    #[test]
    fn experience_turns_a_yes_into_a_question_and_nothing_into_a_yes() {
        let whole = |verdict: &str, value: f64, hurt: bool| {
            weighed(json!({
                "fear": {"verdict": verdict, "hurt_before": hurt, "veto_confidence": 0.85, "veto_value": 0.1, "unforgiven": 1.0},
                "expected": {"known": true, "confidence": 0.95, "value": value},
            }))
        };
        assert_eq!(whole("allow", 0.05, true)["would"], "ask");
        assert_eq!(whole("allow", 0.05, false)["would"], "allow");
        assert_eq!(whole("allow", 0.5, true)["would"], "allow");
        assert_eq!(whole("block", 0.9, false)["would"], "block");
        assert_eq!(weighed(json!({"rhythms": []})), json!({"rhythms": []}));
    }
}
