//! Every room is killed, ordered to panic and made to hang.

use std::time::{Duration, Instant};

use maxim_actors::region::{Order, WardState};

use super::live::{Live, Plan, durable_store};

/// A room is back within 100 ms after a panic, and within its deadline plus 100 ms after a hang (P7). On a shared
/// machine the test allows five times that, for the median room, because the scheduler may delay a single one.
const BACK: Duration = Duration::from_millis(500);

/// The time within which half of the rooms were back.
fn median(mut outages: Vec<Duration>) -> Duration {
    outages.sort_unstable();
    outages[outages.len() / 2]
}

const SAID: &str = "please create a file hello.txt with the text good morning";

/// A whole turn through every stage; a minute apart, so that no rate limit stops it.
fn does_it(live: &Live) -> bool {
    live.push(61);
    let ended = live.say(SAID);
    let done = |tool: &str| ended.actions.iter().any(|action| action.tool == tool && action.status == "done");
    done("write_file") && done("respond")
}

fn restarts(live: &Live) -> Vec<(&'static str, u64)> {
    live.hearts().iter().map(|heart| (heart.name(), heart.restarts())).collect()
}

/// The culprit has one more restart, no other room has any.
fn assert_one_more(live: &Live, before: &[(&'static str, u64)], culprit: &str, case: &str) {
    for ((name, before), (_, now)) in before.iter().zip(restarts(live)) {
        assert_eq!(now, before + u64::from(*name == culprit), "{case}: restarts of {name}");
    }
}

fn each_room(order: &Order) {
    let (_folder, store) = durable_store();
    let live = Live::start(Plan {
        store,
        settings: Box::new(|rooms| rooms.supervision.window = Duration::ZERO),
        ..Plan::default()
    });
    assert!(does_it(&live));
    let mut outages = Vec::new();
    for heart in live.hearts() {
        let case = format!("{}: {order:?}", heart.name());
        let before = restarts(&live);
        live.eventually("the turn is over everywhere", || live.is_quiet());
        let stats = live.stats();
        let began = Instant::now();
        heart.order(order.clone());
        live.eventually(&case, || heart.restarts() > 0 && heart.state() == WardState::Running);
        outages.push(began.elapsed());
        assert_one_more(&live, &before, heart.name(), &case);
        assert_eq!(live.stats(), stats, "{case}: every room holds what it held");
        assert!(does_it(&live), "{case}");
        assert_one_more(&live, &before, heart.name(), &case);
    }
    assert_eq!(live.agent.supervision.escalations(), 0);
    let usual = median(outages);
    assert!(usual < BACK, "{order:?}: back after {usual:?}");
}

#[test]
fn every_room_that_is_killed_is_back_with_its_state() {
    each_room(&Order::Kill);
}

#[test]
fn every_room_that_is_told_to_panic_is_back_with_its_state() {
    each_room(&Order::Panic);
}

#[test]
fn every_room_that_hangs_is_replaced_and_its_neighbours_go_on() {
    let (_folder, store) = durable_store();
    let deadline = Duration::from_millis(150);
    let live = Live::start(Plan {
        store,
        settings: Box::new(move |rooms| {
            rooms.deadline = deadline;
            rooms.supervision.window = Duration::ZERO;
        }),
        ..Plan::default()
    });
    assert!(does_it(&live));
    let mut outages = Vec::new();
    for heart in live.hearts() {
        let case = format!("{} hangs", heart.name());
        let before = restarts(&live);
        let epochs: Vec<_> = live.hearts().iter().map(|heart| heart.epoch()).collect();
        // Far longer than its deadline, so an answer meanwhile comes from another thread.
        let began = Instant::now();
        heart.order(Order::Hang(Duration::from_millis(1_500)));
        live.eventually(&case, || {
            heart.restarts() > before.iter().find(|(name, _)| *name == heart.name()).expect("it").1
        });
        live.eventually(&case, || live.agent.supervision.is_up());
        outages.push(began.elapsed());
        assert!(live.agent.supervision.zombies() >= 1, "{case}: its thread still hangs while others go on");
        assert!(does_it(&live), "{case}");
        assert_one_more(&live, &before, heart.name(), &case);
        let moved = live.hearts().iter().zip(epochs).filter(|(heart, epoch)| heart.epoch() != *epoch).count();
        assert!(moved >= 1, "{case}: it has a new incarnation");
    }
    live.eventually("all threads that hung are gone", || live.agent.supervision.zombies() == 0);
    assert!(does_it(&live));
    let usual = median(outages);
    assert!(usual < deadline + BACK, "back after {usual:?}");
}
