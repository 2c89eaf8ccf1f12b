//! A used-up restart budget: motion is held, a person is told, the room waits, and the others continue.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use maxim_actors::effectors::channels::Said;
use maxim_actors::region::{Heart, InputRecord, LOADING, Order, Tap, WardState};
use maxim_bus::latch::{EffectKind, LatchState};
use maxim_bus::signals::intent::IntentPermitted;
use maxim_bus::signals::recall::{EnrichedPercept, MissingSection};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{Envelope, Lsn, Signal, Trust};

use super::live::{Live, Plan};

/// Counts turns that have ended.
#[derive(Default)]
struct Ended(AtomicUsize);

impl Tap for Ended {
    fn input(&self, _: InputRecord) {}

    fn emitted(&self, _: Lsn, envelope: &Arc<Envelope>) {
        if envelope.body().name() == TurnEnded::NAME {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn plan() -> Plan {
    Plan {
        settings: Box::new(|rooms| {
            rooms.supervision.window = Duration::from_secs(600);
            rooms.supervision.hold = Duration::from_secs(3_600);
        }),
        ..Plan::default()
    }
}

fn agent() -> Live {
    Live::start(plan())
}

/// Notes that autonomy has passed something on.
#[derive(Default)]
struct Permitted(AtomicBool);

impl Tap for Permitted {
    fn input(&self, _: InputRecord) {}

    fn emitted(&self, _: Lsn, envelope: &Arc<Envelope>) {
        if envelope.body().name() == IntentPermitted::NAME {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

/// Notes which rooms did not answer about the last percept.
#[derive(Default)]
struct Silent(Mutex<Vec<MissingSection>>);

impl Silent {
    fn last(&self) -> Vec<MissingSection> {
        self.0.lock().expect("no panic inside").clone()
    }
}

impl Tap for Silent {
    fn input(&self, _: InputRecord) {}

    fn emitted(&self, _: Lsn, envelope: &Arc<Envelope>) {
        if let Some(enriched) = envelope.get::<EnrichedPercept>() {
            self.0.lock().expect("no panic inside").clone_from(&enriched.missing);
        }
    }
}

/// Kills until the budget of five is used up.
fn spend(live: &Live, heart: &Heart) {
    for kill in 1..=6 {
        let before = heart.restarts();
        heart.order(Order::Kill);
        live.eventually("it notices", || heart.restarts() > before);
        if kill <= 5 {
            live.eventually("it is back", || heart.state() == WardState::Running);
        }
    }
    assert_eq!(heart.state(), WardState::Held, "{}", heart.name());
}

#[test]
fn every_room_that_fails_too_often_is_held_and_comes_back_on_release() {
    for name in agent().hearts().iter().map(|heart| heart.name()) {
        let live = agent();
        let heart = live.heart(name);
        let mut said = live.agent.outside.http.listen();
        let mut is_said = || {
            let told = std::iter::from_fn(|| said.try_recv().ok());
            told.filter(|said| {
                matches!(said, Said::Reply { recipient, text, .. }
                if recipient == "anna" && text.contains(name) && text.contains("motion is held"))
            })
            .count()
                == 1
        };
        live.say("where is the spare key?");
        spend(&live, &heart);
        if !name.contains("http") {
            live.eventually("who spoke last is told where they spoke, whichever room is down", &mut is_said);
        }
        assert_eq!(live.latch.state(), LatchState::MotionHeld, "{name}");
        assert!(live.latch.permit(EffectKind::Motion).is_err(), "{name}");
        live.eventually("a person is told", || !live.notices.lock().expect("no panic inside").is_empty());
        let notices = live.notices.lock().expect("no panic inside").clone();
        assert_eq!(notices.len(), 1, "{name}: {notices:?}");
        assert!(notices[0].contains(name) && notices[0].contains("motion is held"), "{name}: {notices:?}");
        assert_eq!(live.agent.supervision.escalations(), 1, "{name}");
        live.eventually("the others go on", || {
            live.hearts().iter().all(|other| other.name() == name || other.state() == WardState::Running)
        });
        assert_eq!(heart.state(), WardState::Held, "{name}");
        live.agent.supervision.release_held();
        live.eventually(name, || live.agent.supervision.is_up());
        if name.contains("http") {
            live.eventually("who speaks by what was down is told when it is up", &mut is_said);
        }
        assert!(live.say("please create a file back.txt with the text here").reply.is_some(), "{name}");
    }
}

#[test]
fn a_room_that_can_not_be_rebuilt_keeps_nobody_from_the_rest() {
    let live = agent();
    let heart = live.heart("angular_gyrus");
    heart.poison(LOADING, u32::MAX);
    heart.order(Order::Kill);
    live.eventually("it is given up", || heart.state() == WardState::Held);
    assert!(live.agent.supervision.has_begun() && !live.agent.supervision.is_up());
    assert!(live.say("please create a file beside.txt with the text here").reply.is_some());
}

#[test]
fn a_room_that_was_given_up_is_not_waited_for() {
    let silent = Arc::new(Silent::default());
    let live = Live::start(Plan { tap: Some(Arc::clone(&silent) as Arc<dyn Tap>), ..plan() });
    spend(&live, &live.heart("hippocampus"));
    // The clock stands still, so a deadline would never pass.
    live.say("please create a file held.txt with the text here");
    let told = silent.last();
    assert!(told.len() == 1 && told[0].region == "hippocampus" && told[0].reason.contains("given up"), "{told:?}");
    live.agent.supervision.release_held();
    live.eventually("it is back", || live.agent.supervision.is_up());
    live.eventually("it is waited for again", || {
        live.say("please create a file back.txt with the text here");
        silent.last().is_empty()
    });
}

#[test]
fn a_gate_that_escalates_is_rebuilt_whole() {
    let live = agent();
    spend(&live, &live.heart("autonomy"));
    let fear = live.heart("fear_agent");
    live.eventually("its sibling is rebuilt", || fear.restarts() == 1 && fear.state() == WardState::Running);
    assert_eq!(live.heart("hippocampus").restarts(), 0, "memory stands for itself");
}

#[test]
fn rooms_that_hear_an_escalated_room_of_action_are_rebuilt_and_those_before_it_are_not() {
    let live = agent();
    spend(&live, &live.heart("executor"));
    for (name, restarts) in [("execution_tracker", 0), ("cause_ledger", 1), ("introspector", 1)] {
        let heart = live.heart(name);
        live.eventually(name, || heart.restarts() == restarts && heart.state() == WardState::Running);
    }
    assert_eq!(live.agent.supervision.escalations(), 1, "a rebuilt sibling has not failed");
}

#[test]
fn while_the_gate_is_held_nothing_is_done_and_then_it_goes_on() {
    let permitted = Arc::new(Permitted::default());
    let tap = Arc::clone(&permitted);
    let live = Live::start(Plan { tap: Some(tap), ..plan() });
    spend(&live, &live.heart("fear_agent"));
    let mut accepted = live.submit("please create a file later.txt with the text here", Trust::Owner);
    let turn = live.wait("the acknowledgement", || accepted.try_recv().ok()).expect("accepted").percept;
    let gate = live.agent.frame.bus.inbox("fear_agent").expect("its inbox");
    live.eventually("the gate is asked", || gate.counters().depth > 0);
    // If its answer was needed for thinking, it now times out, and the intent comes without it.
    live.push(1);
    live.eventually("the intent waits for the gate", || permitted.0.load(Ordering::SeqCst));
    let later = live.folder.path().join("later.txt");
    assert!(!later.exists());
    live.agent.supervision.release_held();
    let ended = live.end_of(turn);
    assert!(later.exists(), "{ended:?}");
}

#[test]
fn a_group_whose_rooms_escalate_again_and_again_is_rebuilt_whole_and_a_person_is_told() {
    let live = Live::start(Plan {
        settings: Box::new(|rooms| {
            rooms.supervision.window = Duration::from_secs(600);
            rooms.supervision.hold = Duration::from_secs(3_600);
            rooms.supervision.group_hold = Duration::from_secs(3_600);
            rooms.supervision.escalations = 1;
        }),
        ..Plan::default()
    });
    spend(&live, &live.heart("angular_gyrus"));
    spend(&live, &live.heart("cerebellum"));
    let sibling = live.heart("hippocampus");
    assert_eq!((sibling.restarts(), live.agent.supervision.group_escalations()), (0, 0), "memory stands for itself");
    spend(&live, &live.heart("memory_hub"));
    live.eventually("its whole group is rebuilt", || sibling.restarts() == 1 && sibling.state() == WardState::Running);
    assert_eq!(live.agent.supervision.group_escalations(), 1);
    assert_eq!(live.heart("statistician").restarts(), 0, "another group goes on");
    assert_eq!(live.latch.state(), LatchState::MotionHeld);
    let notices = live.notices.lock().expect("no panic inside").clone();
    let told = notices.last().expect("a person is told");
    assert!(notices.len() == 3 && told.contains("memory_hub") && told.contains("rooms of memory"), "{notices:?}");
    live.agent.supervision.release_held();
    live.eventually("all are back", || live.agent.supervision.is_up());
    assert!(live.say("please create a file back.txt with the text here").reply.is_some());
}

#[test]
fn a_held_room_stays_held_when_its_neighbour_hangs() {
    let live = Live::start(Plan {
        settings: Box::new(|rooms| {
            rooms.deadline = Duration::from_millis(150);
            rooms.supervision.hold = Duration::from_secs(3_600);
            rooms.supervision.window = Duration::from_secs(600);
        }),
        ..Plan::default()
    });
    let held = live.heart("salience");
    spend(&live, &held);
    // Rooms share two threads; the room's thread is given up once.
    for name in ["gateway", "pain_detector", "suprachiasmatic_nucleus", "enrichment"] {
        let heart = live.heart(name);
        heart.order(Order::Hang(Duration::from_millis(900)));
        live.eventually(name, || heart.restarts() == 1 && heart.state() == WardState::Running);
    }
    assert_eq!(held.state(), WardState::Held);
    live.agent.supervision.release_held();
    live.eventually("it is released", || live.agent.supervision.is_up());
}

#[test]
fn a_room_that_hangs_again_and_again_spends_its_budget() {
    let live = Live::start(Plan {
        settings: Box::new(|rooms| {
            rooms.deadline = Duration::from_millis(100);
            rooms.supervision.restarts = 2;
            rooms.supervision.hold = Duration::from_secs(3_600);
            rooms.supervision.window = Duration::from_secs(600);
        }),
        ..Plan::default()
    });
    let heart = live.heart("cerebellum");
    for hang in 1..=3 {
        heart.order(Order::Hang(Duration::from_millis(400)));
        live.eventually("it hangs", || heart.restarts() == hang);
    }
    assert_eq!(heart.state(), WardState::Held);
    assert_eq!(live.latch.state(), LatchState::MotionHeld);
    live.eventually("its threads end", || live.agent.supervision.zombies() == 0);
}

/// Maximum turns in flight, backlog of a room, and messages of one turn to the hippocampus.
const CREDIT: usize = 4;
const BEHIND: usize = 32;
const A_TURN: usize = 32;

#[test]
fn while_a_room_is_held_only_so_much_waits_for_it_and_all_is_dealt_with_when_it_is_back() {
    let ended = Arc::new(Ended::default());
    let live = Live::start(Plan {
        live_clock: true,
        tap: Some(Arc::clone(&ended) as Arc<dyn Tap>),
        settings: Box::new(|rooms| {
            rooms.supervision.window = Duration::from_secs(600);
            rooms.supervision.hold = Duration::from_secs(3_600);
            (rooms.perception.gateway.credit, rooms.perception.gateway.behind) = (CREDIT, BEHIND);
        }),
        ..Plan::default()
    });
    spend(&live, &live.heart("hippocampus"));
    let mut said: Vec<_> = (0..200).map(|n| live.submit(&format!("what is {n} + 1?"), Trust::Owner)).collect();
    for accepted in &mut said {
        live.wait("what waits is acknowledged", || accepted.try_recv().ok()).expect("accepted");
    }
    let depth = |room: &str| live.agent.frame.bus.inbox(room).expect("its inbox").counters().depth;
    let gateway = live.heart("gateway");
    live.eventually("ended turns keep their credit", || {
        gateway.waits_for() == Some("hippocampus") && depth("gateway") == CREDIT
    });
    let waiting = depth("hippocampus");
    assert!((BEHIND..=BEHIND + CREDIT * A_TURN).contains(&waiting), "{waiting} messages wait");
    let answered = ended.0.load(Ordering::SeqCst);
    assert!(answered < 100, "{answered} turns ended without memory");
    live.agent.supervision.release_held();
    live.eventually("all turns end", || ended.0.load(Ordering::SeqCst) == said.len());
}
