//! Every room panics on every signal that it hears: once, then twice on the same message.

use std::collections::BTreeSet;

use maxim_actors::region::{LOADING, Order, WardKind, WardState};
use maxim_bus::RegionName;

use super::live::{Live, Plan};
use super::script::{Outcome, live_it, pairs};
use super::twin::{States, by_harm, differences, states};

fn agent() -> Live {
    let plan = Plan { model: true, ..Plan::default() };
    Live::start(plan)
}

pub struct Twin {
    pub outcomes: Vec<Option<Outcome>>,
    pub stats: std::collections::BTreeMap<String, serde_json::Value>,
    pub states: States,
    later: String,
    pub pairs: Vec<(RegionName, &'static str)>,
}

/// The states of one more undisturbed life.
pub fn another_twin() -> States {
    twin(is_region).states
}

/// Maximum number of rooms with dead letters in one life.
const WAVE: usize = 4;
const LATER: &str = "please create a file later.txt with the text still here";

pub fn twin(of: fn(WardKind) -> bool) -> Twin {
    let live = agent();
    let outcomes = live_it(&live);
    let stats = live.stats();
    let states = states(&live);
    let later = live.say(LATER).reply.expect("a reply");
    Twin { outcomes, stats, states, later, pairs: pairs(&live, of) }
}

pub fn is_region(kind: WardKind) -> bool {
    kind != WardKind::Effector
}

fn is_effector(kind: WardKind) -> bool {
    kind == WardKind::Effector
}

/// The rooms panicked as ordered, and the others didn't.
fn assert_restarts(live: &Live, broken: &[RegionName], restarts: u64, case: &str) {
    for heart in live.hearts() {
        let expected = if broken.contains(&heart.name()) { restarts } else { 0 };
        assert_eq!(heart.restarts(), expected, "{case}: restarts of {}", heart.name());
        assert_eq!(heart.state(), WardState::Running, "{case}: {}", heart.name());
    }
    assert_eq!(live.agent.supervision.zombies(), 0, "{case}");
}

/// A room and a signal that it hears.
pub type Pair = (RegionName, &'static str);

/// Runs all cases, two at a time; returns the pairs that never occurred.
pub fn in_threads<T: Send>(cases: Vec<T>, check: impl Fn(T) -> Vec<Pair> + Sync) -> BTreeSet<Pair> {
    let queue = std::sync::Mutex::new(cases.into_iter());
    let unreached = std::sync::Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no panic inside").next();
                    let Some(case) = next else { break };
                    let missed = check(case);
                    unreached.lock().expect("no panic inside").extend(missed);
                }
            });
        }
    });
    unreached.into_inner().expect("no panic inside")
}

/// Divides the pairs into waves of at most `most`; in each wave a room is broken at most once.
pub fn waves(pairs: &[Pair], most: usize) -> Vec<Vec<Pair>> {
    let mut waves: Vec<Vec<Pair>> = Vec::new();
    for pair in pairs {
        let has_room = |wave: &&mut Vec<Pair>| wave.len() < most && wave.iter().all(|(room, _)| room != &pair.0);
        match waves.iter_mut().find(has_room) {
            Some(wave) => wave.push(*pair),
            None => waves.push(vec![*pair]),
        }
    }
    waves
}

pub fn assert_reached(unreached: &BTreeSet<Pair>, of: usize) {
    println!("{} of {of} pairs of room and signal were broken", of - unreached.len());
    assert!(unreached.is_empty(), "the script never brought these about: {unreached:?}");
}

/// Runs a wave: each of its rooms panics this often on its signal. Returns the pairs that didn't occur.
fn broken(live: &Live, wave: &[Pair], times: u32) -> (Vec<Option<Outcome>>, Vec<Pair>) {
    wave.iter().for_each(|(room, signal)| live.heart(room).poison(signal, times));
    let outcomes = live_it(live);
    let missed = wave.iter().filter(|(room, _)| live.heart(room).poison_left() > 0);
    (outcomes, missed.copied().collect())
}

/// A retried message leaves no trace, so a whole wave of rooms may panic in one life.
#[test]
fn a_region_that_panics_once_on_any_signal_decides_the_same_as_one_that_never_did() {
    let twin = twin(is_region);
    let unreached = in_threads(waves(&twin.pairs, usize::MAX), |wave| {
        let case = format!("each panics once: {wave:?}");
        let live = agent();
        let (outcomes, missed) = broken(&live, &wave, 1);
        assert_eq!(outcomes, twin.outcomes, "{case}");
        let hurt: Vec<RegionName> = wave.iter().filter(|pair| !missed.contains(pair)).map(|(room, _)| *room).collect();
        assert_restarts(&live, &hurt, 1, &case);
        assert_eq!(live.hearts().iter().map(|heart| heart.dead_letters()).sum::<u64>(), 0, "{case}");
        assert_eq!(live.stats(), twin.stats, "{case}");
        let harm = by_harm(differences(&states(&live), &twin.states), || {
            let live = agent();
            broken(&live, &wave, 1);
            differences(&states(&live), &another_twin())
        });
        assert_eq!(harm, Vec::<String>::new(), "{case}");
        missed
    });
    assert_reached(&unreached, twin.pairs.len());
}

/// Other rooms miss a buried message, so waves are small, and pairs that don't occur in them are broken alone.
#[test]
fn a_message_on_which_a_region_panics_twice_is_a_dead_letter_and_harms_nothing_else() {
    let twin = twin(is_region);
    let buries = |wave: Vec<Pair>| {
        let case = format!("each panics twice: {wave:?}");
        let live = agent();
        let (_, missed) = broken(&live, &wave, 2);
        let hurt: Vec<Pair> = wave.iter().filter(|pair| !missed.contains(pair)).copied().collect();
        let names: Vec<RegionName> = hurt.iter().map(|(room, _)| *room).collect();
        assert_restarts(&live, &names, 2, &case);
        for (room, signal) in &hurt {
            let letters = live.dead_letters(room);
            assert_eq!(letters.len(), 1, "{case}: {room}");
            assert_eq!(letters[0].signal, *signal, "{case}: {room}");
            assert!(letters[0].why.contains("chaos"), "{case}: {}", letters[0].why);
            assert_eq!(live.heart(room).dead_letters(), 1, "{case}: {room}");
        }
        let ended = live.say(LATER);
        assert_eq!(ended.reply.as_deref(), Some(twin.later.as_str()), "{case}");
        missed
    };
    let missed = in_threads(waves(&twin.pairs, WAVE), buries);
    let alone = missed.into_iter().map(|pair| vec![pair]).collect();
    let unreached = in_threads(alone, buries);
    assert_reached(&unreached, twin.pairs.len());
}

#[test]
fn an_effector_that_panics_on_any_signal_abandons_that_one_operation_alone() {
    let twin = twin(is_effector);
    let unreached = in_threads(twin.pairs.clone(), |(effector, signal)| {
        let case = format!("{effector} panics on {signal}");
        let live = agent();
        live.heart(effector).poison(signal, 1);
        let outcomes = live_it(&live);
        if live.heart(effector).poison_left() > 0 {
            return vec![(effector, signal)];
        }
        assert_restarts(&live, &[effector], 1, &case);
        let harmed = outcomes.iter().zip(&twin.outcomes).filter(|(now, then)| now != then).count();
        // A lost answer may affect its asker and the counts; everything else equals the twin's.
        assert!(harmed <= 3, "{case}: {harmed} outcomes differ: {outcomes:#?}");
        let ended = live.say(LATER);
        assert_eq!(ended.reply.as_deref(), Some(twin.later.as_str()), "{case}");
        Vec::new()
    });
    assert_reached(&unreached, twin.pairs.len());
}

#[test]
fn whoever_asked_an_effector_that_panicked_is_told_that_the_outcome_is_unknown() {
    let live = agent();
    live.heart("executor").poison("ExecutionStarted", 1);
    let ended = live.say("please create a file hello.txt with the text good morning");
    assert_eq!(ended.actions[0].status, "unknown", "{ended:?}");
    live.heart("llm_worker").poison("ModelCall", 1);
    let ended = live.say("what would the gulls say about the lighthouse tonight");
    assert_eq!(ended.reply.as_deref(), Some("The gull said nothing."), "the model is asked again: {ended:?}");
    live.heart("llm_worker").poison("ModelCall", 3);
    let ended = live.say("what would the gulls say about the harbour tonight");
    assert!(
        ended.reply.is_some_and(|reply| !reply.contains("gull said")),
        "habit answers when the worker stays broken"
    );
}

#[test]
fn every_room_whose_start_panics_is_started_again() {
    let live = agent();
    for heart in live.hearts() {
        heart.poison(LOADING, 2);
        heart.order(Order::Kill);
    }
    for heart in live.hearts() {
        live.eventually(heart.name(), || heart.poison_left() == 0 && heart.state() == WardState::Running);
        assert_eq!(heart.restarts(), 3, "{}: the kill and two starts that panicked", heart.name());
    }
    assert!(live.say(LATER).reply.is_some());
}

#[test]
fn a_region_that_panics_on_a_deadline_acts_on_it_when_it_is_back() {
    let live = agent();
    // With the hippocampus down, enrichment's deadline must pass before the turn continues.
    live.heart("enrichment").poison("(tick)", 2);
    live.heart("hippocampus").poison("RecallEpisodes", 2);
    let ended = live.try_say("where is the spare key?", maxim_bus::Trust::Owner);
    assert!(ended.expect("the turn ends").reply.is_some());
    assert_eq!(live.heart("enrichment").restarts(), 2);
    assert_eq!(live.heart("enrichment").dead_letters(), 0);
}
