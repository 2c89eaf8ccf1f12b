//! One room's mail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use maxim_bus::{Epoch, Inbox, Lane, Lsn};

use crate::common::{Bell, Command, Frame, Word, delivery, inbox, read_all, said};

const READER: Epoch = Epoch(1);
const NEXT: Epoch = Epoch(2);

#[test]
fn lossless_mail_comes_whole_and_in_order() {
    let inbox = inbox();
    (1..=1_000).for_each(|n| inbox.push(delivery(n, Word(n as u32))));
    let expected: Vec<String> = (1..=1_000).map(|n| format!("Word({n})")).collect();
    assert_eq!(read_all(&inbox, READER), expected);
    assert_eq!(inbox.counters().high_water, 1_000);
    assert_eq!(inbox.counters().delivered, 1_000);
}

#[test]
fn each_of_several_producers_keeps_its_order() {
    let inbox = Arc::new(inbox());
    std::thread::scope(|scope| {
        for producer in 0..4u32 {
            let inbox = Arc::clone(&inbox);
            scope.spawn(move || (0..2_000).for_each(|n| inbox.push(delivery(0, Word(producer * 10_000 + n)))));
        }
    });
    let mut seen = [0u32; 4];
    let mut count = 0;
    while let Some((_, taken)) = inbox.take(READER) {
        let Word(word) = *taken.envelope.get::<Word>().expect("a word");
        let (producer, n) = ((word / 10_000) as usize, word % 10_000);
        assert_eq!(n, seen[producer], "of producer {producer}");
        seen[producer] += 1;
        count += 1;
        inbox.done(READER);
    }
    assert_eq!(count, 8_000);
}

#[test]
fn control_mail_overtakes_all_data() {
    let inbox = inbox();
    inbox.push(delivery(1, Word(1)));
    inbox.push(delivery(2, Command(1)));
    inbox.push(delivery(3, Frame(0, 1)));
    inbox.push(delivery(4, Command(2)));
    assert_eq!(inbox.take(READER).map(|(lane, _)| lane), Some(Lane::Control));
    inbox.done(READER);
    assert_eq!(read_all(&inbox, READER), ["Command(2)", "Word(1)", "Frame(0, 1)"]);
}

#[test]
fn a_room_may_take_data_of_one_kind_before_all_other() {
    let inbox = Inbox::hearing_first("room", ["Word"]);
    inbox.seize(READER);
    inbox.push(delivery(1, Frame(0, 1)));
    inbox.push(delivery(2, Word(1)));
    inbox.push(delivery(3, Command(1)));
    inbox.push(delivery(4, Word(2)));
    assert_eq!(inbox.take(READER).map(|(lane, _)| lane), Some(Lane::Control));
    inbox.give_back(READER, false);
    assert_eq!(read_all(&inbox, READER), ["Word(1)", "Command(1)", "Word(2)", "Frame(0, 1)"]);
}

#[test]
fn a_taken_message_is_leased_until_it_is_dealt_with() {
    let inbox = inbox();
    inbox.push(delivery(1, Word(1)));
    inbox.push(delivery(2, Word(2)));
    assert!(inbox.take(READER).is_some());
    assert!(inbox.take(READER).is_none(), "one at a time");
    assert_eq!(inbox.low_water(), Some(Lsn(1)), "the leased one holds the journal");
    inbox.done(READER);
    assert_eq!(inbox.take(READER).map(|(_, taken)| said(&taken)), Some("Word(2)".into()));
}

#[test]
fn what_is_given_back_is_taken_again_first() {
    let inbox = inbox();
    (1..=3).for_each(|n| inbox.push(delivery(n, Word(n as u32))));
    inbox.take(READER);
    inbox.give_back(READER, true);
    assert_eq!(inbox.take(READER).map(|(_, taken)| (said(&taken), taken.attempts)), Some(("Word(1)".into(), 1)));
    inbox.give_back(READER, false);
    assert_eq!(inbox.take(READER).map(|(_, taken)| taken.attempts), Some(1), "no failure, no attempt");
    inbox.done(READER);
    assert_eq!(read_all(&inbox, READER), ["Word(2)", "Word(3)"]);
}

#[test]
fn a_failure_names_the_message_that_was_leased_whatever_came_since() {
    let inbox = inbox();
    inbox.push(delivery(1, Word(1)));
    inbox.take(READER);
    inbox.push(delivery(2, Command(9)));
    let (lane, failed) = inbox.failed(READER).expect("it is leased");
    assert_eq!((lane, said(&failed), failed.attempts), (Lane::Data, "Word(1)".into(), 1));
    inbox.done(READER);
    assert_eq!(read_all(&inbox, READER), ["Command(9)"], "the failed one alone is gone");
    assert!(inbox.failed(READER).is_none());
}

#[test]
fn a_new_incarnation_gets_what_the_old_one_had_leased_and_the_old_one_gets_nothing() {
    let inbox = inbox();
    inbox.push(delivery(1, Word(1)));
    inbox.push(delivery(2, Word(2)));
    inbox.take(READER);
    inbox.seize(NEXT);
    assert!(inbox.take(READER).is_none());
    inbox.done(READER);
    inbox.give_back(READER, true);
    assert!(inbox.failed(READER).is_none());
    let (_, taken) = inbox.take(NEXT).expect("it is back");
    assert_eq!((said(&taken), taken.attempts), ("Word(1)".into(), 1));
    inbox.done(READER);
    assert_eq!(inbox.low_water(), Some(Lsn(1)), "the old one can't end the new one's lease");
    inbox.done(NEXT);
    assert_eq!(read_all(&inbox, NEXT), ["Word(2)"]);
}

#[test]
fn a_new_incarnation_may_take_the_lease_over_and_end_it() {
    let inbox = inbox();
    inbox.push(delivery(1, Word(1)));
    inbox.push(delivery(2, Word(2)));
    inbox.take(READER);
    let (_, inherited) = inbox.take_over(NEXT).expect("it was leased");
    assert_eq!((said(&inherited), inherited.attempts), ("Word(1)".into(), 1));
    inbox.done(NEXT);
    assert_eq!(read_all(&inbox, NEXT), ["Word(2)"]);
    assert!(inbox.take_over(Epoch(3)).is_none(), "nothing is leased");
}

#[test]
fn the_newest_of_each_key_keeps_the_place_of_the_first() {
    let inbox = inbox();
    inbox.push(delivery(1, Frame(1, 10)));
    inbox.push(delivery(2, Word(1)));
    inbox.push(delivery(3, Frame(2, 20)));
    inbox.push(delivery(4, Frame(1, 11)));
    inbox.push(delivery(5, Frame(1, 12)));
    assert_eq!(inbox.counters().conflated, 2);
    assert_eq!(inbox.counters().depth, 3);
    assert_eq!(read_all(&inbox, READER), ["Frame(1, 12)", "Word(1)", "Frame(2, 20)"]);
    inbox.push(delivery(6, Frame(1, 13)));
    assert_eq!(read_all(&inbox, READER), ["Frame(1, 13)"], "a read one is not conflated with");
}

#[test]
fn the_low_water_is_the_oldest_journalled_message_of_both_lanes_and_the_lease() {
    let inbox = inbox();
    assert_eq!(inbox.low_water(), None);
    inbox.push(delivery(0, Word(0)));
    assert_eq!(inbox.low_water(), None, "mail without a journal holds none of it");
    inbox.push(delivery(7, Word(7)));
    inbox.push(delivery(8, Word(8)));
    assert_eq!(inbox.low_water(), Some(Lsn(7)));
    inbox.push(delivery(9, Command(9)));
    assert_eq!(inbox.take(READER).map(|(_, taken)| taken.lsn), Some(Lsn(9)));
    assert_eq!(inbox.low_water(), Some(Lsn(7)));
    inbox.done(READER);
    read_all(&inbox, READER);
    assert_eq!(inbox.low_water(), None);
}

#[test]
fn a_push_after_parking_wakes_once_and_one_before_refuses_to_park() {
    let inbox = inbox();
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    assert!(inbox.park(READER, &waker));
    inbox.push(delivery(1, Word(1)));
    inbox.push(delivery(2, Word(2)));
    assert_eq!(bell.0.load(Ordering::SeqCst), 1);
    assert!(!inbox.park(READER, &waker), "there is mail");
    read_all(&inbox, READER);
    assert!(inbox.park(READER, &waker));
    inbox.nudge();
    assert_eq!(bell.0.load(Ordering::SeqCst), 2);
}

#[test]
fn an_inbox_is_awaited_from_when_its_reader_parks_to_the_next_push_or_nudge() {
    let inbox = inbox();
    assert!(!inbox.is_awaited(), "nobody has looked");
    assert!(inbox.park(READER, Waker::noop()));
    assert!(inbox.is_awaited());
    inbox.nudge();
    assert!(!inbox.is_awaited(), "the reader hasn't looked since");
    assert!(inbox.park(READER, Waker::noop()));
    inbox.push(delivery(1, Word(1)));
    inbox.take(READER).expect("mail");
    assert!(!inbox.is_awaited());
    assert!(inbox.park(READER, Waker::noop()), "no more mail");
    assert!(!inbox.is_awaited(), "what is taken is not dealt with");
    inbox.done(READER);
    assert!(inbox.is_awaited());
}

#[test]
fn no_push_is_slept_through_however_it_meets_the_parking() {
    let inbox = Arc::new(inbox());
    let (rounds, done) = (20_000u32, Arc::new(AtomicBool::new(false)));
    let producer = {
        let (inbox, done) = (Arc::clone(&inbox), Arc::clone(&done));
        std::thread::spawn(move || {
            (1..=rounds).for_each(|n| inbox.push(delivery(0, Word(n))));
            done.store(true, Ordering::SeqCst);
        })
    };
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut read = 0;
    while read < rounds {
        let rung = bell.0.load(Ordering::SeqCst);
        while inbox.take(READER).is_some() {
            inbox.done(READER);
            read += 1;
        }
        if inbox.park(READER, &waker) && read < rounds {
            // A parked reader is woken by the next push, which must still come.
            while bell.0.load(Ordering::SeqCst) == rung {
                assert!(
                    !done.load(Ordering::SeqCst)
                        || inbox.counters().depth == 0
                        || bell.0.load(Ordering::SeqCst) != rung
                );
                std::thread::yield_now();
            }
        }
    }
    producer.join().expect("the producer ends");
    assert_eq!(read, rounds);
}
