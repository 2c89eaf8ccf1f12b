//! Every room is killed, told to panic and made to hang.

use std::time::Duration;

use maxim_actors::region::{Order, WardState};

use super::live::{Live, Plan};

const SAID: &str = "please create a file hello.txt with the text good morning";

fn restarts(live: &Live) -> Vec<(&'static str, u64)> {
    live.hearts().iter().map(|heart| (heart.name(), heart.restarts())).collect()
}

/// The culprit has one restart more, nobody else any.
fn assert_one_more(live: &Live, before: &[(&'static str, u64)], culprit: &str, case: &str) {
    for ((name, before), (_, now)) in before.iter().zip(restarts(live)) {
        assert_eq!(now, before + u64::from(*name == culprit), "{case}: restarts of {name}");
    }
}

fn each_room(order: &Order) {
    let live =
        Live::start(Plan { settings: Box::new(|rooms| rooms.supervision.window = Duration::ZERO), ..Plan::default() });
    let twin = live.say(SAID).reply;
    for heart in live.hearts() {
        let case = format!("{}: {order:?}", heart.name());
        let before = restarts(&live);
        let hash = heart.state_hash();
        heart.order(order.clone());
        live.eventually(&case, || heart.restarts() > 0 && heart.state() == WardState::Running);
        assert_one_more(&live, &before, heart.name(), &case);
        assert_eq!(heart.state_hash(), hash, "{case}: its state is what it was");
        assert_eq!(live.say(SAID).reply, twin, "{case}");
        assert_one_more(&live, &before, heart.name(), &case);
    }
    assert_eq!(live.agent.supervision.escalations(), 0);
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
    let live = Live::start(Plan {
        settings: Box::new(|rooms| {
            rooms.deadline = Duration::from_millis(150);
            rooms.supervision.window = Duration::ZERO;
        }),
        ..Plan::default()
    });
    let twin = live.say(SAID).reply;
    for heart in live.hearts() {
        let case = format!("{} hangs", heart.name());
        let before = restarts(&live);
        let epochs: Vec<_> = live.hearts().iter().map(|heart| heart.epoch()).collect();
        // Far longer than its deadline: who answers meanwhile does so on another thread.
        heart.order(Order::Hang(Duration::from_millis(1_500)));
        live.eventually(&case, || {
            heart.restarts() > before.iter().find(|(name, _)| *name == heart.name()).expect("it").1
        });
        live.eventually(&case, || live.agent.supervision.is_up());
        assert!(live.agent.supervision.zombies() >= 1, "{case}: its thread still hangs while others go on");
        assert_eq!(live.say(SAID).reply, twin, "{case}");
        assert_one_more(&live, &before, heart.name(), &case);
        let moved = live.hearts().iter().zip(epochs).filter(|(heart, epoch)| heart.epoch() != *epoch).count();
        assert!(moved >= 1, "{case}: it has a new incarnation");
    }
    live.eventually("all threads that hung are gone", || live.agent.supervision.zombies() == 0);
    assert_eq!(live.say(SAID).reply, twin);
}
