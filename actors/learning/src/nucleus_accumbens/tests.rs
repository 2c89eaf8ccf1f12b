use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::mode::Mode;
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::layers::HurtRecalled;
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::powers::ModeLowered;
use maxim_bus::signals::recall::{EndedAct, EpisodesCaptured, OutcomesPredicted, PredictOutcomes};
use serde_json::{Map, Value as Json, json};

use super::circumstances::Circumstances;
use super::event::{EventKind, OutcomeKind};
use super::law::PredictionLaw;
use super::model::{LinkTable, Observation};
use super::region::{NacSettings, NucleusAccumbens};
use maxim_bus::{Clock, Provenance};
use maxim_language::TokenTable;
use maxim_region::Region;
use maxim_region::rig::{Rig, ear, monday_morning};

fn settings(kinds_max: usize) -> NacSettings {
    NacSettings {
        alpha: 0.14,
        mode: maxim_bus::mode::Mode::Active,
        zone: TimeZone::UTC,
        encoder: Arc::new(TokenTable::embedded()),
        law: PredictionLaw { kinds_max, ..PredictionLaw::default() },
    }
}

fn room(kinds_max: usize) -> Rig<NucleusAccumbens> {
    Rig::new(settings(kinds_max), ear::<OutcomesPredicted>)
}

fn params(door: &str) -> Map<String, Json> {
    json!({ "door": door }).as_object().expect("an object").clone()
}

/// A deterministic life: tools with names longer than a key may be, doors, and successes or failures.
fn act(n: usize, tools: usize) -> EndedAct {
    let tool = n * 7 % tools;
    EndedAct {
        episode: format!("e{n}"),
        at: monday_morning() + SignedDuration::from_secs(n as i64),
        tool: format!("{}open_{tool}", "very_".repeat(tool % 30)),
        params: params(&format!("door {}", n / tools % 5)),
        goal: None,
        mode: None,
        success: !(n / tools + tool).is_multiple_of(5),
    }
}

fn circumstances(params: &Map<String, Json>, at: Timestamp) -> Circumstances {
    Circumstances::of(params, "active", None, at, &TimeZone::UTC)
}

/// The same, learned by a table with everything in memory.
fn learned(acts: &[EndedAct]) -> LinkTable {
    let mut links = LinkTable::new(0.14);
    for act in acts {
        links.observe(&Observation {
            event: &EventKind::of(&act.tool, &act.params),
            context: &circumstances(&act.params, act.at).pairs(),
            outcome: &OutcomeKind::of_success(Some(act.success)),
            cues: &[],
            around: &[],
            delay: None,
            episode: Some(&act.episode),
            provenance: Provenance::OwnExperience,
            at: act.at,
            reward: None,
        });
    }
    links
}

fn ask(room: &mut Rig<NucleusAccumbens>, tool: &str, params: &Map<String, Json>) -> OutcomesPredicted {
    room.send(PredictOutcomes {
        tool_name: tool.to_owned(),
        params: Json::Object(params.clone()),
        context: Json::Null,
        include_all_outcomes: true,
    });
    room.heard().pop().expect("an answer")
}

/// Its predictions for each act and door equal those of a table with everything in memory.
fn assert_expects_as(room: &mut Rig<NucleusAccumbens>, links: &LinkTable, acts: &[EndedAct]) {
    let now = room.clock.now();
    for act in acts {
        let kind = EventKind::of(&act.tool, &act.params);
        let due = links.predict_among(&kind, &circumstances(&act.params, now).pairs(), &[], now);
        let told = ask(room, &act.tool, &act.params);
        let outcomes: Vec<(String, f64)> = due.outcomes.into_iter().map(|o| (o.name, o.probability)).collect();
        assert_eq!((told.value, told.confidence, told.outcomes), (due.value, due.confidence, outcomes), "{}", act.tool);
    }
}

fn root_of(room: &Rig<NucleusAccumbens>) -> Option<Vec<u8>> {
    room.store().recover(NucleusAccumbens::NAME).expect("recovers").root
}

#[test]
fn many_kinds_cost_the_root_nothing_and_are_known_as_if_all_stood_in_memory() {
    let mut room = room(2_000);
    let acts: Vec<EndedAct> = (0..4_500).map(|n| act(n, 450)).collect();
    for some in acts.chunks(256) {
        room.send(EpisodesCaptured { ended: some.to_vec(), ..EpisodesCaptured::default() });
    }
    let links = learned(&acts);
    assert_eq!(room.region().links().kinds(), 450);
    assert_expects_as(&mut room, &links, &acts[..450]);
    room.crash();
    assert_expects_as(&mut room, &links, &acts[4_000..]);
    let root = root_of(&room).expect("a snapshot");
    assert!(root.len() < 600_000, "{} bytes of root", root.len());
    let [wakes, lists] = room.woken_by();
    assert_eq!(wakes, lists);
}

#[test]
fn beyond_the_most_kinds_the_least_go_with_their_records_and_what_hurt_stays() {
    let mut room = room(64);
    let hurt: Vec<EndedAct> = (0..9).map(|n| EndedAct { success: false, ..act(n * 3, 3) }).collect();
    room.send(EpisodesCaptured { ended: hurt.clone(), ..EpisodesCaptured::default() });
    for n in 0..8 {
        let ended = (0..40).map(|m| EndedAct { tool: format!("once_{n}_{m}"), success: true, ..act(n * 40 + m, 1) });
        room.send(EpisodesCaptured { ended: ended.collect(), ..EpisodesCaptured::default() });
    }
    let known = |room: &Rig<NucleusAccumbens>| room.region().links().kinds();
    assert!((60..=64).contains(&known(&room)), "{}", known(&room));
    assert!(ask(&mut room, &hurt[0].tool, &hurt[0].params).known);
    let before = known(&room);
    room.crash();
    assert_eq!(known(&room), before);
    let kept =
        room.records().prefixed(b"kind/", usize::MAX).len() + room.records().prefixed(b"circum", usize::MAX).len();
    assert!(kept <= 2 * 64, "{kept} records");
}

#[test]
fn episodes_that_are_gone_are_named_no_more_and_what_they_taught_stays() {
    let mut room = room(2_000);
    let acts: Vec<EndedAct> = (0..1_200).map(|n| act(n, 3)).collect();
    // So many that some wait in the root and some are in records.
    let (written, waiting) = acts.split_at(900);
    for some in written.chunks(300).chain([waiting]) {
        room.send(EpisodesCaptured { ended: some.to_vec(), ..EpisodesCaptured::default() });
    }
    let links = learned(&acts);
    let told = |room: &mut Rig<NucleusAccumbens>| -> Vec<Vec<String>> {
        acts[..3].iter().map(|act| ask(room, &act.tool, &act.params).episodes).collect()
    };
    let before = told(&mut room);
    let gone: Vec<String> = before.iter().map(|named| named[0].clone()).collect();
    room.send(RecordsRemoved { layer: Layer::Atl, ids: gone.clone(), forgotten: true, again: false });
    assert_eq!(told(&mut room), before, "ids of another layer are others");
    room.send(RecordsRemoved { layer: Layer::Hippocampus, ids: gone.clone(), forgotten: true, again: false });
    for again in [false, true] {
        if again {
            room.crash();
        }
        for (named, before) in told(&mut room).iter().zip(&before) {
            assert!(!named.is_empty() && named.iter().all(|id| !gone.contains(id)), "{named:?}");
            assert!(before[1..].iter().filter(|id| !gone.contains(id)).all(|id| named.contains(id)), "{before:?}");
        }
        assert_expects_as(&mut room, &links, &acts[..3]);
    }
    let [wakes, lists] = room.woken_by();
    assert_eq!(wakes, lists);
}

#[test]
fn a_reward_teaches_how_good_it_was() {
    let mut rig = room(2_000);
    let id = maxim_bus::MessageId::from_parts(1, 1);
    for (tool, success, reward) in [("dance", true, Some(0.4)), ("wade", true, Some(-0.6)), ("fall", false, Some(1.0))]
    {
        for _ in 0..60 {
            rig.send(ToolResult {
                action: id,
                intent: id,
                turn: id,
                tool: tool.into(),
                params: json!({}),
                success: Some(success),
                output: Json::Null,
                error: None,
                failure: None,
                duration_us: 1,
                side_effects: vec![],
                reward,
            });
        }
    }
    rig.crash();
    let mut value = |tool: &str| {
        let (tool_name, params, context) = (tool.to_owned(), json!({}), json!({}));
        rig.send(PredictOutcomes { tool_name, params, context, include_all_outcomes: true });
        rig.heard::<OutcomesPredicted>().remove(0).value.get()
    };
    for (tool, expected) in [("dance", 0.7), ("wade", 0.2), ("fall", 0.0)] {
        let found = value(tool);
        assert!((found - expected).abs() < 0.01, "{tool}: {found}");
    }
}

fn removed(ids: &[&str], forgotten: bool) -> RecordsRemoved {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    RecordsRemoved { layer: Layer::Hippocampus, ids, forgotten, again: false }
}

/// Everything that the room stores, as text: records, root and later events.
fn kept(room: &Rig<NucleusAccumbens>) -> String {
    let state = room.store().recover(NucleusAccumbens::NAME).expect("read");
    let records = room.records().prefixed(b"", usize::MAX).into_iter().map(|(_, bytes)| bytes);
    let all: Vec<Vec<u8>> = state.root.into_iter().chain(state.events).chain(records).collect();
    all.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned() + "\n").collect()
}

#[test]
fn words_that_only_a_forgotten_episode_had_go_and_what_sleep_let_go_has_taught() {
    let act = |n: usize, path: &str, words: &str| EndedAct {
        params: json!({"path": path, "content": words}).as_object().expect("an object").clone(),
        tool: "write_file".into(),
        episode: format!("w{n}"),
        goal: Some(format!("write {words}")),
        ..act(n, 1)
    };
    let once = EndedAct { tool: "once_only".into(), episode: "once".into(), ..act(9, "o.txt", "bandicoot") };
    let mut room = room(2_000);
    let lived = [act(1, "a.txt", "quokka"), act(2, "b.txt", "wombat"), act(3, "b.txt", "lamp"), once];
    room.send(EpisodesCaptured { ended: lived.to_vec(), ..EpisodesCaptured::default() });
    // So many more that the kind's lessons are written, and its link no longer names any of these.
    let more: Vec<EndedAct> = (100..700).map(|n| act(n, "c.txt", "stone")).collect();
    for some in more.chunks(300) {
        room.send(EpisodesCaptured { ended: some.to_vec(), ..EpisodesCaptured::default() });
    }
    for restarted in [false, true] {
        assert!(["quokka", "wombat", "lamp", "bandicoot"].iter().all(|word| kept(&room).contains(word)));
        if !restarted {
            room.crash();
        }
    }
    let said = |room: &mut Rig<NucleusAccumbens>| {
        room.send(PredictOutcomes {
            tool_name: "write_file".into(),
            params: json!({"path": "c.txt", "content": "stone"}),
            context: json!({}),
            include_all_outcomes: true,
        });
        let told = room.heard::<OutcomesPredicted>().remove(0);
        (told.value, told.confidence, told.observations)
    };
    let before = said(&mut room);
    room.send(removed(&["w1", "once"], false));
    assert!(kept(&room).contains("quokka") && kept(&room).contains("bandicoot"), "what sleep let go has taught");
    room.send(removed(&["w2"], true));
    for crashed in [false, true] {
        if crashed {
            room.crash();
        }
        let left = kept(&room);
        assert!(!left.contains("wombat") && left.contains("lamp") && left.contains("b.txt"), "{left}");
        assert_eq!(said(&mut room), before, "what it taught of the act stays");
    }
    room.send(removed(&["w3"], true));
    let left = kept(&room);
    assert!(!left.contains("lamp") && !left.contains("b.txt"), "the place stood in nothing else: {left}");
}

#[test]
fn a_kind_of_event_that_was_met_only_in_what_is_forgotten_is_unknown_again() {
    let mut room = room(2_000);
    let one = |episode: &str| EndedAct { tool: "juggle".into(), episode: episode.into(), ..act(1, 1) };
    room.send(EpisodesCaptured { ended: vec![one("a"), one("b")], ..EpisodesCaptured::default() });
    let is_known = |room: &mut Rig<NucleusAccumbens>| {
        let params = serde_json::Value::Object(one("a").params);
        let (tool_name, context) = ("juggle".into(), json!({}));
        room.send(PredictOutcomes { tool_name, params, context, include_all_outcomes: true });
        room.heard::<OutcomesPredicted>().remove(0).known
    };
    room.send(removed(&["a"], true));
    assert!(is_known(&mut room), "it was met in another");
    room.send(removed(&["b"], true));
    for crashed in [false, true] {
        if crashed {
            room.crash();
        }
        assert!(!is_known(&mut room));
        assert!(!kept(&room).contains("juggle"));
    }
}

#[test]
fn the_gate_is_told_when_nothing_is_left_of_what_hurt() {
    let mut room: Rig<NucleusAccumbens> = Rig::new(settings(2_000), ear::<HurtRecalled>);
    let one = |episode: &str, tool: &str, success: bool| EndedAct {
        tool: tool.into(),
        episode: episode.into(),
        success,
        ..act(1, 1)
    };
    let ended = vec![one("a", "zap", false), one("b", "zap", false), one("c", "juggle", true)];
    room.send(EpisodesCaptured { ended, ..EpisodesCaptured::default() });
    room.heard::<HurtRecalled>();
    room.send(removed(&["a"], true));
    assert!(room.heard::<HurtRecalled>().is_empty(), "it hurt another time too");
    room.send(removed(&["b"], true));
    let told: Vec<(String, bool)> =
        room.heard::<HurtRecalled>().into_iter().map(|told| (told.tool, told.forgotten)).collect();
    assert_eq!(told, [("zap".to_owned(), true)]);
}

#[test]
fn what_is_learned_is_learned_of_the_mode_that_was_in_force() {
    let mut room = room(2_000);
    let id = maxim_bus::MessageId::from_parts(1, 1);
    let learn = |room: &mut Rig<NucleusAccumbens>, tool: &str| {
        room.send(ToolResult {
            action: id,
            intent: id,
            turn: id,
            tool: tool.into(),
            params: json!({}),
            success: Some(true),
            output: Json::Null,
            error: None,
            failure: None,
            duration_us: 1,
            side_effects: vec![],
            reward: None,
        });
        let links = room.region().links();
        let modes = links.record(tool).expect("learned").conditions.field("mode").to_vec();
        modes.into_iter().map(|count| count.value).collect::<Vec<_>>()
    };
    assert_eq!(learn(&mut room, "wave"), ["active"]);
    room.send(ModeLowered { to: Some(Mode::Passive) });
    room.crash();
    assert_eq!(learn(&mut room, "nod"), ["passive"]);
    room.send(ModeLowered { to: None });
    assert_eq!(learn(&mut room, "bow"), ["active"]);
}
