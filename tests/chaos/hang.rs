//! Rooms that hang inside a handler with a leased message: another thread handles the message, and what they emit
//! after waking is refused.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use maxim_actors::effectors::channels::Submission;
use maxim_actors::region::{InputRecord, Tap, WardState};
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{Envelope, Lsn, MessageId, RegionName, Trust};

use super::live::{Live, Plan, durable_store};
use super::poison::{another_twin, assert_reached, in_threads, is_region, twin, waves};
use super::script::live_it;
use super::twin::{by_harm, differences, states};

const DEADLINE: Duration = Duration::from_millis(300);
/// Long enough that its successor has finished the message when it wakes.
const HANGS: Duration = Duration::from_millis(1_500);
/// Number of signals per room on which it hangs, each in a separate life: all of them would take hours.
const WAVES: usize = 2;

/// Counts how often each turn, and each action, was reported as ended.
#[derive(Default)]
struct Ends(Mutex<BTreeMap<MessageId, u32>>);

impl Tap for Ends {
    fn input(&self, _: InputRecord) {}

    fn emitted(&self, _: Lsn, envelope: &Arc<Envelope>) {
        let turn = envelope.get::<TurnEnded>().map(|ended| ended.turn);
        if let Some(ended) = turn.or_else(|| envelope.get::<ToolResult>().map(|result| result.action)) {
            *self.0.lock().expect("no panic inside").entry(ended).or_default() += 1;
        }
    }
}

impl Ends {
    fn assert_once(&self, case: &str) {
        let ends = self.0.lock().expect("no panic inside");
        assert!(!ends.is_empty() && ends.values().all(|times| *times == 1), "{case}: {ends:?}");
    }
}

fn agent(ends: &Arc<Ends>, plan: Plan) -> Live {
    Live::start(Plan {
        tap: Some(Arc::clone(ends) as Arc<dyn Tap>),
        settings: Box::new(|rooms| {
            rooms.deadline = DEADLINE;
            rooms.supervision.window = Duration::ZERO;
        }),
        ..plan
    })
}

#[test]
fn a_region_that_hangs_on_a_signal_is_replaced_and_all_goes_as_if_it_never_had() {
    let twin = twin(is_region);
    let waves: Vec<_> = waves(&twin.pairs, usize::MAX).into_iter().take(WAVES).collect();
    let count = waves.iter().map(Vec::len).sum();
    let unreached = in_threads(waves, |wave| {
        let case = format!("each hangs once: {wave:?}");
        let ends = Arc::new(Ends::default());
        let live = agent(&ends, Plan { model: true, ..Plan::default() });
        wave.iter().for_each(|(room, signal)| live.heart(room).stall(signal, HANGS));
        let outcomes = live_it(&live);
        let missed: Vec<_> = wave.iter().filter(|(room, _)| live.heart(room).poison_left() > 0).copied().collect();
        assert_eq!(outcomes, twin.outcomes, "{case}");
        let hung: Vec<RegionName> = wave.iter().filter(|pair| !missed.contains(pair)).map(|(room, _)| *room).collect();
        for room in hung {
            assert!(live.heart(room).restarts() > 0, "{case}: nobody saw {room} hang");
        }
        live.eventually("the threads that hung have woken and are gone", || live.agent.supervision.zombies() == 0);
        live.wait_or_lose(|| live.is_quiet().then_some(()));
        assert_eq!(live.hearts().iter().map(|heart| heart.dead_letters()).sum::<u64>(), 0, "{case}");
        assert_eq!(live.stats(), twin.stats, "{case}");
        let harm = by_harm(differences(&states(&live), &twin.states), || {
            let live = agent(&Arc::default(), Plan { model: true, ..Plan::default() });
            wave.iter().for_each(|(room, signal)| live.heart(room).stall(signal, HANGS));
            live_it(&live);
            differences(&states(&live), &another_twin())
        });
        assert_eq!(harm, Vec::<String>::new(), "{case}");
        ends.assert_once(&case);
        missed
    });
    assert_reached(&unreached, count);
}

#[test]
fn who_shares_a_thread_with_a_handler_that_hangs_moves_on_with_what_was_acknowledged() {
    let ends = Arc::new(Ends::default());
    let (_folder, store) = durable_store();
    let live = agent(&ends, Plan { store, ..Plan::default() });
    let epochs: BTreeMap<_, _> = live.hearts().iter().map(|heart| (heart.name(), heart.epoch())).collect();
    let habit = live.heart("habit");
    habit.stall("EnrichedPercept", HANGS);
    // The channel may share the hanging thread, and reports what it loses; then its sender repeats the message.
    let said = || Submission {
        channel: "http".into(),
        sender: "anna".into(),
        body: "please create a file moved.txt with the text here".into(),
        provider_id: Some("m1".into()),
        trust: Trust::Owner,
    };
    let accepted = live.wait("the acknowledgement", || {
        let mut accepted = live.agent.outside.http.submit(said());
        live.wait("an answer of the channel", || accepted.try_recv().ok()).ok()
    });
    let ended = live.end_of(accepted.percept);
    assert!(ended.actions.iter().any(|action| action.status == "done"), "{ended:?}");
    // None of its neighbours has failed, and those on its thread run elsewhere now.
    for heart in live.hearts() {
        assert_eq!(heart.restarts(), u64::from(heart.name() == "habit"), "{}", heart.name());
    }
    let moved = live.hearts().iter().filter(|heart| heart.epoch() != epochs[heart.name()]).count();
    assert!(moved > 1, "rooms share threads");
    live.eventually("its thread is gone", || live.agent.supervision.zombies() == 0);
    live.wait_or_lose(|| live.is_quiet().then_some(()));
    assert_eq!(habit.state(), WardState::Running);
    ends.assert_once("habit hangs");
    let told = live.recall(&["moved".to_owned()]);
    assert!(told[0].iter().any(|text| text.contains("moved.txt")), "{told:?}");
}

#[test]
fn an_effect_that_hung_before_it_began_is_unknown_and_does_not_happen_when_its_thread_wakes() {
    let ends = Arc::new(Ends::default());
    let live = agent(&ends, Plan::default());
    live.heart("executor").stall("ExecutionStarted", HANGS);
    let ended = live.say("please create a file late.txt with the text never");
    assert_eq!(ended.actions[0].status, "unknown", "{ended:?}");
    live.eventually("its thread has woken and is gone", || live.agent.supervision.zombies() == 0);
    live.wait_or_lose(|| live.is_quiet().then_some(()));
    assert!(!live.folder.path().join("late.txt").exists(), "what hung acts no more");
    ends.assert_once("the executor hangs");
}
