//! One life of an agent in which every room hears every signal on its card.

use std::collections::BTreeMap;
use std::sync::Arc;

use maxim::agent::Part;
use maxim_actors::effectors::channels::Submission;
use maxim_actors::effectors::door::Door;
use maxim_bus::mode::Mode;
use maxim_bus::signals::approval::code_of;
use maxim_bus::signals::associations::FollowAssociations;
use maxim_bus::signals::body::MovementSensed;
use maxim_bus::signals::concepts::{
    ForgetRecord, IngestDocument, Layer, MemoryRef, PinRecord, ProposeRelationType, SourcesRemoved,
};
use maxim_bus::signals::fear::SurveyFears;
use maxim_bus::signals::goal::{GoalWish, GoalsSurveyed, SurveyGoals};
use maxim_bus::signals::grants::{GrantReach, SurveyGrants};
use maxim_bus::signals::intent::{ApprovalDecided, Intent};
use maxim_bus::signals::layers::{ExportRecords, HurtRecalled, ImportRecords};
use maxim_bus::signals::lifecycle::{PreemptionRequested, RegionChanged};
use maxim_bus::signals::numbers::{
    AnalyseSeries, JudgeSeries, MetricsCorrelated, PatternConfirmed, PatternDropped, SeriesAnalysed, SeriesFeature,
    SeriesJudged, SeriesVerdict,
};
use maxim_bus::signals::outbox::{ChangeOutbox, OutboxWish};
use maxim_bus::signals::outcome::{ExecutionStarted, OutcomeDoubted};
use maxim_bus::signals::percept::PainKind;
use maxim_bus::signals::powers::{ModeLowered, ReportPowers, RestorePowers};
use maxim_bus::signals::program_files::{FixPrograms, Scope};
use maxim_bus::signals::promotion::Promote;
use maxim_bus::signals::recall::PhaseLocked;
use maxim_bus::signals::scene::{Detection, Observed};
use maxim_bus::signals::skill::{ExecutesWithLearned, GoalWord, MotorProgram, ProgramForgotten, ProgramLearned};
use maxim_bus::signals::strain::BodyStrained;
use maxim_bus::signals::thought::{Mind, SurveyTurns, TurnEnded};
use maxim_bus::signals::working_memory::SurveyWorkingMemory;
use maxim_bus::units::Confidence;
use maxim_bus::{RegionName, Signal, Trust};
use serde_json::json;

use super::live::{LIMIT, Live, said_on};

const SAID: [(&str, Trust); 21] = [
    ("remember that the spare key is in the blue drawer", Trust::Owner),
    ("please create a file hello.txt with the text good morning", Trust::Owner),
    // Commands to itself.
    ("set the scene \"the quay\" wet and windy", Trust::Owner),
    ("hide your thinking", Trust::Owner),
    // How to be spoken to, and back again.
    ("be brief", Trust::Owner),
    ("more detail please", Trust::Owner),
    ("where is the spare key?", Trust::Owner),
    ("read the file missing.txt", Trust::Owner),
    ("where is the spare key usually?", Trust::Owner),
    ("read the file missing.txt", Trust::Owner),
    // Partly understood: an earlier successful plan is offered, accepted and done.
    ("create the good morning text again", Trust::Owner),
    ("yes", Trust::Owner),
    ("what would the gulls say about the lighthouse tonight", Trust::Owner),
    ("please create a file evil.txt with the text boo", Trust::Outside),
    ("delete the file hello.txt", Trust::Owner),
    // Reading failed before, so the gate asks for a prediction.
    ("read the file nowhere.txt", Trust::Owner),
    ("what do you know of gulls and spare keys", Trust::Owner),
    // An answer to a question that doesn't exist.
    ("no 0aaa00aa", Trust::Owner),
    (RISKY, Trust::Owner),
    (RISKY, Trust::Owner),
    (RISKY, Trust::Owner),
];

/// A command that the gate asks about; it is denied each time.
const RISKY: &str = "run the command git init && git reset --hard";
/// A day of experience in seconds, after which stored moments are judged by their usefulness.
const DAY: u64 = 90_000;

/// The result of a turn, without ids and times.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub reply: Option<String>,
    pub actions: Vec<(String, String)>,
}

impl Outcome {
    fn of(live: &Live, ended: &TurnEnded) -> Self {
        let actions = ended.actions.iter().map(|action| (action.tool.clone(), action.status.to_string())).collect();
        let folder = live.folder.path().display().to_string();
        // A question for approval names the action, whose id contains the time.
        let plain = |reply: &String| {
            let named = ended
                .actions
                .iter()
                .fold(reply.clone(), |said, act| said.replace(&act.id.to_string(), "#").replace(&code_of(act.id), "#"));
            // Its expiry is a time of day.
            let plain = match named.split_once(" until ") {
                Some((before, after)) => format!("{before}{}", after.get(5..).unwrap_or_default()),
                None => named,
            };
            plain.replace(&folder, "~")
        };
        Self { reply: ended.reply.as_ref().map(plain), actions }
    }
}

/// Runs the life; returns the result of each turn and question, or none if a broken room lost it.
pub fn live_it(live: &Live) -> Vec<Option<Outcome>> {
    let door = Arc::clone(&live.agent.outside.door);
    let mut outcomes = Vec::new();
    for (text, trust) in SAID {
        let ended = live.try_say(text, trust);
        let asked = ended.iter().flat_map(|ended| &ended.actions).find(|action| action.status == "asked");
        if let Some(asked) = asked {
            door.decide(asked.id, false, false, "anna".into());
            live.wait_or_lose(|| live.is_quiet().then_some(()));
        }
        outcomes.push(ended.map(|ended| Outcome::of(live, &ended)));
    }
    live.push(DAY);
    live.rest();
    outcomes.push(live.try_say("good morning", Trust::Owner).map(|ended| Outcome::of(live, &ended)));
    let words = |said: String| Outcome { reply: Some(said), actions: Vec::new() };
    let questions = [
        ("memory_recall", json!({"query": "spare key"})),
        ("similarity_search", json!({"context": "where the spare key is kept", "limit": 1})),
        ("predict_outcome", json!({"tool_name": "write_file"})),
        ("temporal_patterns", json!({"discover_rhythms": true})),
        ("causal_links", json!({"event": "write_file"})),
        ("pain_history", json!({"check_action": "read_file"})),
        ("math", json!({"expression": "6 * 7"})),
        ("energy_status", json!({})),
        ("scene_summary", json!({})),
        ("examine", json!({"target": "spare key"})),
        ("system_stats", json!({})),
    ];
    for (tool, params) in questions {
        let answer = live.try_at_door(door.inquire(tool, params));
        outcomes.push(answer.map(|answer| words(answer.map_or_else(|error| error.to_string(), |json| shape(&json)))));
    }
    let line = json!({"id": "tide", "text": "the tide table hangs in the kitchen", "people": ["Bo"]}).to_string();
    // There is no reason to keep this one, so it doesn't survive the next sleep.
    let old = json!({"text": "zq1 blip2", "timestamp": "2025-12-01T09:00:00Z", "success": false}).to_string();
    let imported = live.try_at_door(door.import(vec![(1, line), (2, old)], true));
    outcomes.push(imported.map(|imported| words(format!("{:?}", imported.map(|imported| imported.kept).ok()))));
    for request in [
        PreemptionRequested::Hold { until: None, by: "anna".into() },
        PreemptionRequested::Resume { by: "anna".into() },
    ] {
        let changed = live.try_at_door(door.preempt(request));
        outcomes.push(changed.map(|changed| words(format!("{}", changed.is_ok()))));
    }
    live.rest();
    let slept = live.try_at_door(door.sleep("anna", LIMIT));
    outcomes.push(slept.map(|slept| words(format!("{:?}", slept.map(|report| report.episodes.pruned).ok()))));
    door.end_session("anna");
    live.rest();
    let nobody = door.fresh_id();
    let (reach, at) = (GrantReach::default(), door.now());
    let decided = ApprovalDecided { approval: nobody, allow: false, always: false, reach, by: "anna".into(), at };
    door.put("door", door.fresh_id(), Trust::Owner, decided);
    let report = live.try_at_door(door.ask("autonomy", ReportPowers {}));
    outcomes.push(report.map(|told| words(format!("{:?}", told.map(|told| told.lowered).ok()))));
    let restored = live.try_at_door(door.ask("autonomy", RestorePowers { by: "anna".into() }));
    outcomes.push(restored.map(|told| words(format!("{:?}", told.map(|told| told.powers.mode).ok()))));
    let feared = live.try_at_door(door.ask("fear_agent", SurveyFears::default()));
    outcomes.push(feared.map(|told| words(format!("{:?}", told.map(|told| told.refused).ok()))));
    let granted = live.try_at_door(door.ask("fear_agent", SurveyGrants::default()));
    outcomes.push(granted.map(|told| words(format!("{:?}", told.map(|told| told.refused).ok()))));
    let mind = live.try_at_door(door.ask("working_memory", SurveyWorkingMemory::default()));
    outcomes.push(mind.map(|told| words(format!("{:?}", told.map(|told| told.head.is_some()).ok()))));
    outcomes.extend(pursue(live));
    outcomes.extend(know(live));
    outcomes.extend(speak_elsewhere(live));
    outcomes.push(write_from_outside(live));
    practise(live);
    live.wait_or_lose(|| live.is_quiet().then_some(()));
    outcomes
}

/// A channel only hears what is said on it, so each channel is used.
fn speak_elsewhere(live: &Live) -> [Option<Outcome>; 2] {
    let outside = &live.agent.outside;
    [("console", &outside.console), ("websocket", &outside.websocket)].map(|(channel, desk)| {
        let ended = live.try_say_on(desk, said_on(channel, "good evening", Trust::Owner))?;
        Some(Outcome::of(live, &ended))
    })
}

/// A message on an unconfigured channel: it is accepted, its answer is refused, and a person drops it.
fn write_from_outside(live: &Live) -> Option<Outcome> {
    let desk = live.agent.outside.desk("mqtt").expect("a channel");
    let mut accepted = desk.submit(Submission {
        provider_id: Some("m1".into()),
        ..said_on("mqtt", "remember that the buoy is green", Trust::Listed)
    });
    live.wait_or_lose(|| accepted.try_recv().ok());
    live.wait_or_lose(|| live.is_quiet().then_some(()));
    let door = Arc::clone(&live.agent.outside.door);
    let change = ChangeOutbox { entry: door.fresh_id(), wish: OutboxWish::Drop, by: "anna".into() };
    let changed = live.try_at_door(door.ask("outbox", change))?;
    Some(Outcome { reply: Some(format!("{:?}", changed.map(|told| told.done).ok())), actions: Vec::new() })
}

/// One goal waits for a person, another for the first. Never two turns at once, because their order differs between
/// lives.
fn pursue(live: &Live) -> Vec<Option<Outcome>> {
    let door = Arc::clone(&live.agent.outside.door);
    let words = |said: String| Outcome { reply: Some(said), actions: Vec::new() };
    let quiet = || live.wait_or_lose(|| live.is_quiet().then_some(()));
    let survey = |wish: Option<GoalWish>| {
        let told = live.try_at_door(door.ask("goals", SurveyGoals { wish, by: "anna".into() }));
        told.and_then(Result::ok).map(|told: GoalsSurveyed| told.goals).unwrap_or_default()
    };
    survey(Some(GoalWish::Propose { title: RISKY.into(), channel: "http".into(), sender: "anna".into() }));
    quiet();
    let second = "your next goal is to create a file goal.txt with the text hi";
    let ended = live.try_say(second, Trust::Owner);
    quiet();
    if let Some(question) = survey(None).iter().find_map(|goal| goal.waits_for) {
        door.decide(question, false, false, "anna".into());
    }
    quiet();
    let stand: Vec<_> = survey(None).into_iter().map(|goal| (goal.title, goal.state)).collect();
    vec![ended.map(|ended| Outcome::of(live, &ended)), Some(words(format!("{stand:?}")))]
}

/// All operations on concepts: promotion, reading a document, and pinning and forgetting records.
fn know(live: &Live) -> Vec<Option<Outcome>> {
    let door = Arc::clone(&live.agent.outside.door);
    let words = |said: String| Outcome { reply: Some(said), actions: Vec::new() };
    let mut outcomes = Vec::new();
    // Enough of them to be judged as a series.
    for n in 0..8 {
        let ended = live.try_say(&format!("please create a file n{n}.txt with the text hello"), Trust::Owner);
        outcomes.push(ended.map(|ended| Outcome::of(live, &ended)));
    }
    live.wait_or_lose(|| live.is_quiet().then_some(()));
    let (lobe, promoter) = ("anterior_temporal_lobe", "semantic_promoter");
    let promoted = live.try_at_door(door.ask(promoter, Promote { by: "anna".into() }));
    outcomes.push(promoted.map(|ended| words(format!("{:?}", ended.map(|ended| ended.verdicts).ok()))));
    let text = "# Harbour\n\nA pier is a structure. A jetty is a structure.\n".to_owned();
    let part = IngestDocument {
        document: "harbour.md".into(),
        markdown: true,
        text,
        passages_before: 0,
        lessons_before: 0,
        more: false,
    };
    let read = live.try_at_door(door.ask(lobe, part));
    outcomes.push(read.map(|done| words(format!("{:?}", done.map(|done| done.created).ok()))));
    live.wait_or_lose(|| live.is_quiet().then_some(()));
    let concept = json!({ "concept_id": "concept-0", "limit": 20 });
    for (tool, params) in [
        ("concept_query", json!({ "category": "structure" })),
        ("concept_query", json!({ "query": "where a key may be" })),
        ("memory_associated", json!({ "query": "spare key" })),
        ("memory_associated", concept),
    ] {
        let answer = live.try_at_door(door.inquire(tool, params));
        // Concepts are numbered in order of arrival, and rooms on separate threads bring them in any order. So what
        // is related to the first one differs between lives.
        let told = |found: serde_json::Value| match tool {
            "memory_associated" => format!("found: {}", found["results"].is_array()),
            _ => shape(&found),
        };
        outcomes.push(answer.map(|answer| words(format!("{:?}", answer.map(told).ok()))));
    }
    let proposal = ProposeRelationType { name: "MOORED_AT".into(), symmetric: false, inverse: None, by: "anna".into() };
    let proposed = live.try_at_door(door.ask(lobe, proposal));
    outcomes.push(proposed.map(|done| words(format!("{:?}", done.map(|done| done.accepted).ok()))));
    let followed = live.try_at_door(door.ask("hippocampus", FollowAssociations { ids: vec!["tide".into()] }));
    outcomes.push(followed.map(|done| words(format!("{}", done.is_ok()))));
    outcomes.extend(carry(live));
    for (room, id) in [(lobe, "concept-0"), ("angular_gyrus", "tide"), ("hippocampus", "tide")] {
        let pinned = live.try_at_door(door.ask(room, PinRecord { id: id.into(), pinned: true }));
        outcomes.push(pinned.map(|done| words(format!("{:?}", done.map(|done| done.found).ok()))));
        let forgotten = live.try_at_door(door.ask(room, ForgetRecord { id: id.into() }));
        outcomes.push(forgotten.map(|done| words(format!("{:?}", done.map(|done| done.found).ok()))));
    }
    outcomes
}

/// Every room's memory is exported and imported: everything is known already, except an invalid line.
fn carry(live: &Live) -> Vec<Option<Outcome>> {
    let door = Arc::clone(&live.agent.outside.door);
    let owns = |part: &&Part| part.hears.iter().any(|wire| wire.signal == ExportRecords::NAME);
    let mut outcomes = Vec::new();
    for layer in live.agent.parts.iter().filter(owns).map(|part| part.name) {
        let exported = live.try_at_door(door.ask(layer, ExportRecords { after: None, limit: 1000 }));
        let lines = exported.and_then(Result::ok).map(|exported| exported.lines).unwrap_or_default();
        let lines = (1..).zip(lines.into_iter().chain(["no record at all".to_owned()])).collect();
        let imported = live.try_at_door(door.ask(layer, ImportRecords { lines, ..ImportRecords::default() }));
        let told = imported.map(|done| format!("{:?}", done.map(|done| (done.kept, done.bad.len())).ok()));
        outcomes.push(told.map(|told| Outcome { reply: Some(told), actions: Vec::new() }));
    }
    outcomes
}

/// Sends directly at the door what would take weeks of experience to occur.
fn practise(live: &Live) {
    let door = Arc::clone(&live.agent.outside.door);
    let moved = |by: f64| MovementSensed {
        action: None,
        body_part: "head".into(),
        movement: "turn".into(),
        params: json!({"degrees": 10}),
        before: BTreeMap::from([("yaw".into(), 0.0)]),
        after: BTreeMap::from([("yaw".into(), by)]),
        travelled: None,
    };
    // The fifth differs from the four before it.
    [10.0, 10.0, 10.0, 10.0, 0.0].into_iter().for_each(|by| door.sense(moved(by)));
    let cup = Detection { name: "cup".into(), confidence: Confidence::clamped(0.9), frame: Some([0.4, 0.4, 0.6, 0.6]) };
    let seen = Observed { source: "camera".into(), objects: vec![cup], people: Vec::new(), sound: None, pose: None };
    door.put("door", door.fresh_id(), Trust::Sensor, seen);
    let (place, reason) = ("head.yaw".to_owned(), "yaw turned back 4 times in 3 s".to_owned());
    say(&door, "body", BodyStrained { intensity: None, action: None, kind: PainKind::Thrashing, place, reason });
    let gone = vec![("concept-1".to_owned(), MemoryRef::new(Layer::Hippocampus, "tide".to_owned()))];
    say(&door, "cross_layer_graph", SourcesRemoved { gone, forgotten: false });
    for to in [Some(Mode::Passive), None] {
        say(&door, "autonomy", ModeLowered { to });
    }
    say(&door, "hippocampus", SurveyTurns { turns: vec![door.fresh_id()] });
    for is_held in [true, false] {
        door.tell_change(RegionChanged { region: "cerebellum".into(), is_held, why: String::new() });
    }
    say(&door, "nucleus_accumbens", HurtRecalled { tool: "lift".into(), at: door.now(), forgotten: false });
    let (metric, confidence) = ("tool:lift:success".to_owned(), Confidence::clamped(0.8));
    say(
        &door,
        "statistician",
        PatternConfirmed {
            metric: metric.clone(),
            subject: "lift".into(),
            feature: SeriesFeature::Prevailing { share: 0.9 },
            verbal: "lift succeeds".into(),
            code: "9/10".into(),
            values: vec![1.0; 9],
            outputs: BTreeMap::from([("rate".into(), 0.9)]),
            observations: 10,
            confidence,
            episodes: Vec::new(),
            trust: Trust::Own,
        },
    );
    for holds in [true, false] {
        say(
            &door,
            "statistician",
            MetricsCorrelated {
                metrics: ["pain:rate".into(), metric.clone()],
                rho: -0.9,
                p: 0.001,
                q: 0.01,
                observations: 12,
                confidence,
                holds,
                trends: true,
                trust: Trust::Own,
            },
        );
    }
    for holds in [true, false] {
        let (kind, clock) = ("lift".into(), "day".into());
        say(&door, "suprachiasmatic_nucleus", PhaseLocked { kind, clock, phase: 1.0, coupling: 0.9, holds });
    }
    say(
        &door,
        "cerebellum",
        ExecutesWithLearned {
            tool: "lift".into(),
            object: "box".into(),
            successes: 3,
            failures: 0,
            confidence,
            episodes: Vec::new(),
        },
    );
    say(&door, "statistician", PatternDropped { metric, reason: "it fails now".into() });
    let series: Vec<f64> = (0..9).map(f64::from).collect();
    say(&door, "statistician", JudgeSeries { series: "lift".into(), values: series.clone(), reference: None });
    say(&door, "statistician", AnalyseSeries { series: "lift".into(), values: series });
    say(
        &door,
        "intraparietal_sulcus",
        SeriesJudged {
            series: "lift".into(),
            observations: 9,
            verdict: SeriesVerdict::Structured,
            p: 0.0,
            features: Vec::new(),
            median: 4.0,
            spread: 3.0,
            anomalies: Vec::new(),
            compared: None,
        },
    );
    say(
        &door,
        "angular_gyrus",
        SeriesAnalysed { series: "lift".into(), observations: 9, feature: None, p: 1.0, r_squared: 0.0 },
    );
    let program = MotorProgram {
        name: "lift-box".into(),
        goal: vec![GoalWord::Same("lift".into())],
        values: 0,
        steps: Vec::new(),
        successes: 3,
        strength: confidence,
        commanded: false,
    };
    say(&door, "cerebellum", ProgramLearned { program, offered: false });
    say(&door, "cerebellum", ProgramForgotten { name: "lift-box".into() });
    say(&door, "fear_agent", FixPrograms { intent: door.fresh_id(), scope: Scope::default() });
    say(&door, "execution_tracker", OutcomeDoubted { started: begun(&door), known: String::new() });
}

/// An action that began, with an unknown result.
fn begun(door: &Door) -> ExecutionStarted {
    let intent = Intent {
        turn: door.fresh_id(),
        tool: "lift".into(),
        params: json!({}),
        mind: Mind::Habit,
        confidence: Confidence::clamped(1.0),
        commanded: false,
        trust: Trust::Owner,
        unasked: false,
        goal: None,
        channel: "http".into(),
        recipient: "anna".into(),
        then: Vec::new(),
        instead: Vec::new(),
    };
    let (action, intent_id) = (door.fresh_id(), door.fresh_id());
    let rule = "allow".to_owned();
    ExecutionStarted {
        action,
        intent_id,
        intent,
        rule,
        attempt: 1,
        powers: None,
        called: None,
        reversal: None,
        sealed: None,
        effect: String::new(),
        pose: BTreeMap::new(),
    }
}

/// A signal in the name of one of the learning rooms.
fn say<S: Signal>(door: &Door, room: RegionName, signal: S) {
    door.put(room, door.fresh_id(), Trust::Own, signal);
}

/// The answer without what differs between runs: ids, measured times, and pending messages.
fn shape(answer: &serde_json::Value) -> String {
    if let Some(results) = answer.pointer("/results").and_then(|results| results.as_array()) {
        let mut texts: Vec<String> = results.iter().map(|found| found["text"].to_string()).collect();
        texts.sort();
        return texts.join("\n");
    }
    let kept = ["tool_name", "links", "observations", "outcomes", "total"];
    let fields = kept.iter().filter(|field| !answer[**field].is_null());
    fields.map(|field| format!("{field}: {}", answer[*field])).collect::<Vec<_>>().join(", ")
}

/// Every room with every signal that it hears, from the parts list.
pub fn pairs(live: &Live, of: impl Fn(maxim_actors::region::WardKind) -> bool) -> Vec<(RegionName, &'static str)> {
    let parts = live.agent.parts.iter().filter(|part| of(part.kind));
    parts.flat_map(|part| part.hears.iter().map(|wire| (part.name, wire.signal))).collect()
}
