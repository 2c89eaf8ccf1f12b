//! Publishing, addressing and redelivery.

use std::sync::Arc;

use maxim_bus::{AgentBus, BusBuilder, Epoch, Inbox, Lane, Lsn, Stage};

use crate::common::{Command, Deed, Word, envelope, read_all};

const ROOMS: [&str; 3] = ["gateway", "salience", "habit"];

fn corridor() -> (AgentBus, Vec<Arc<Inbox>>) {
    let mut bus = BusBuilder::default();
    let inboxes: Vec<_> = ROOMS
        .iter()
        .map(|name| {
            let inbox = bus.inbox(name);
            inbox.seize(Epoch(1));
            bus.hears::<Word>(&inbox, Stage::Perception, false);
            bus.hears::<Command>(&inbox, Stage::Perception, false);
            inbox
        })
        .collect();
    (bus.build_unchecked(), inboxes)
}

#[test]
fn every_hearer_gets_every_message_in_the_same_order() {
    let (bus, inboxes) = corridor();
    (1..=100).for_each(|n| bus.publish(Lsn(n), &envelope(Word(n as u32), None)));
    let expected: Vec<String> = (1..=100).map(|n| format!("Word({n})")).collect();
    for inbox in &inboxes {
        assert_eq!(read_all(inbox, Epoch(1)), expected, "{}", inbox.owner());
    }
}

#[test]
fn an_addressed_message_goes_to_one_inbox_alone() {
    let (bus, inboxes) = corridor();
    bus.publish(Lsn(1), &envelope(Word(1), Some("salience")));
    bus.publish(Lsn(2), &envelope(Word(2), Some("nobody")));
    let depths: Vec<usize> = inboxes.iter().map(|inbox| inbox.counters().depth).collect();
    assert_eq!(depths, [0, 1, 0]);
}

#[test]
fn what_does_not_concern_a_room_by_its_content_is_not_delivered_to_it_nor_after_a_crash() {
    let mut bus = BusBuilder::default();
    let [all, even] = ["gateway", "salience"].map(|name| bus.inbox(name));
    bus.hears::<Word>(&all, Stage::Perception, false);
    bus.heeds::<Word>(&even, Stage::Perception, false, |word| word.0.is_multiple_of(2));
    let bus = bus.build_unchecked();
    for inbox in [&all, &even] {
        inbox.seize(Epoch(1));
    }
    (1..=4).for_each(|n| bus.publish(Lsn(n), &envelope(Word(n as u32), None)));
    assert_eq!(read_all(&all, Epoch(1)), ["Word(1)", "Word(2)", "Word(3)", "Word(4)"]);
    assert_eq!(read_all(&even, Epoch(1)), ["Word(2)", "Word(4)"]);
    let again = |n: u32| bus.redeliver(Lsn(9), &envelope(Word(n), None).encoded(), |owner, _| owner == "salience");
    assert_eq!((again(1).expect("it is read"), again(2).expect("it is read")), (0, 1));
    assert_eq!(read_all(&even, Epoch(1)), ["Word(2)"]);
}

#[test]
fn what_nobody_hears_goes_nowhere() {
    let (bus, inboxes) = corridor();
    bus.publish(Lsn(1), &envelope(Deed(1), None));
    assert!(inboxes.iter().all(|inbox| inbox.counters().delivered == 0));
}

#[test]
fn after_a_crash_only_those_that_had_not_passed_a_message_get_it_again() {
    let (bus, inboxes) = corridor();
    let cursors = |owner: &str| if owner == "salience" { Lsn(7) } else { Lsn(6) };
    let encoded = envelope(Word(7), None).encoded();
    let delivered = bus.redeliver(Lsn(7), &encoded, |owner, _| Lsn(7) > cursors(owner)).expect("it is read");
    assert_eq!(delivered, 2);
    let read: Vec<_> = inboxes.iter().map(|inbox| read_all(inbox, Epoch(1))).collect();
    assert_eq!(read, [vec!["Word(7)".to_owned()], vec![], vec!["Word(7)".into()]]);
}

#[test]
fn after_a_crash_each_room_is_asked_by_the_lane_on_which_it_takes_the_message() {
    let mut bus = BusBuilder::default();
    for (name, first) in [("gateway", Some("Word")), ("salience", None)] {
        let inbox = bus.deciding_inbox(name, first);
        bus.hears::<Word>(&inbox, Stage::Perception, false);
    }
    let bus = bus.build_unchecked();
    let encoded = envelope(Word(7), None).encoded();
    let passed = |owner: &str, lane: Lane| (owner, lane) != ("gateway", Lane::Control);
    assert_eq!(bus.redeliver(Lsn(7), &encoded, |owner, lane| !passed(owner, lane)).expect("it is read"), 1);
    assert_eq!(bus.inbox("gateway").expect("its inbox").counters().depth, 1);
}

#[test]
fn an_addressed_message_is_delivered_again_to_its_addressee_alone() {
    let (bus, _) = corridor();
    let encoded = envelope(Word(7), Some("habit")).encoded();
    assert_eq!(bus.redeliver(Lsn(7), &encoded, |_, _| true).expect("it is read"), 1);
    assert_eq!(bus.inbox("habit").expect("its inbox").counters().depth, 1);
}

#[test]
fn a_stored_message_that_cannot_be_read_is_an_error_and_one_that_nobody_hears_is_none() {
    let (bus, _) = corridor();
    let encoded = envelope(Word(7), None).encoded();
    assert!(bus.redeliver(Lsn(7), &encoded[..encoded.len() - 1], |_, _| true).is_err());
    assert!(bus.redeliver(Lsn(7), &encoded[..3], |_, _| true).is_err());
    assert_eq!(bus.redeliver(Lsn(7), &envelope(Deed(1), None).encoded(), |_, _| true).expect("it is skipped"), 0);
}

#[test]
fn the_journal_is_kept_from_the_oldest_message_that_some_room_holds() {
    let (bus, inboxes) = corridor();
    assert_eq!(bus.low_water(), Lsn(0));
    bus.publish(Lsn(4), &envelope(Word(4), None));
    bus.publish(Lsn(5), &envelope(Command(5), None));
    read_all(&inboxes[0], Epoch(1));
    read_all(&inboxes[1], Epoch(1));
    assert_eq!(bus.low_water(), Lsn(3), "the fourth waits in the third room");
    read_all(&inboxes[2], Epoch(1));
    assert_eq!(bus.low_water(), Lsn(5), "nothing waits");
}
