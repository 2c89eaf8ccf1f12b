//! Random chaos, reproducible: everything acknowledged is remembered, and each turn ends once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use maxim_actors::region::{InputRecord, Order, Tap};
use maxim_bus::hash::StableHash;
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{Envelope, Lsn, MessageId, Trust};

use super::live::{Live, Plan, durable_store};

const PERCEPTS: usize = 2_000;
const AT_ONCE: usize = 48;

#[derive(Default)]
struct Ends(Mutex<BTreeMap<MessageId, u32>>);

impl Tap for Ends {
    fn input(&self, _input: InputRecord) {}

    fn emitted(&self, _lsn: Lsn, envelope: &Arc<Envelope>) {
        if let Some(ended) = envelope.get::<TurnEnded>() {
            *self.0.lock().expect("no panic inside").entry(ended.turn).or_default() += 1;
        }
    }
}

/// Strikes until told to stop; returns how often.
fn strike(live: &Live, over: &AtomicBool) -> BTreeMap<&'static str, u64> {
    let hearts = live.hearts();
    let mut strikes = BTreeMap::new();
    let mut word = StableHash::resume(20_260_105);
    let mut count = 0u64;
    while !over.load(Ordering::SeqCst) {
        word = word.add(&count.to_le_bytes());
        count += 1;
        let chance = word.get();
        let heart = &hearts[(chance % hearts.len() as u64) as usize];
        let (name, order) = match (chance >> 32) % 50 {
            0 if live.agent.supervision.zombies() < 4 => ("hangs", Order::Hang(Duration::from_millis(2_500))),
            n if n < 25 => ("kills", Order::Kill),
            _ => ("panics", Order::Panic),
        };
        heart.order(order);
        *strikes.entry(name).or_default() += 1;
        std::thread::sleep(Duration::from_millis(10));
    }
    strikes
}

#[test]
fn nothing_acknowledged_is_lost_under_random_chaos_and_each_turn_ends_once() {
    let ends = Arc::new(Ends::default());
    let (_folder, store) = durable_store();
    let live = Live::start(Plan {
        store,
        live_clock: true,
        tap: Some(Arc::clone(&ends) as Arc<dyn Tap>),
        settings: Box::new(|rooms| {
            rooms.deadline = Duration::from_millis(300);
            rooms.supervision.restarts = 100_000;
            rooms.supervision.back_off = Duration::ZERO;
        }),
        ..Plan::default()
    });
    let over = AtomicBool::new(false);
    let begun = Instant::now();
    let (acknowledged, strikes) = std::thread::scope(|scope| {
        let chaos = scope.spawn(|| strike(&live, &over));
        let acknowledged = talk(&live, &ends);
        over.store(true, Ordering::SeqCst);
        (acknowledged, chaos.join().expect("chaos ends"))
    });
    let took = begun.elapsed();
    live.eventually("all rooms are back", || live.agent.supervision.is_up() && live.is_quiet());
    println!(
        "{} of {PERCEPTS} percepts acknowledged in {:.1} s under {strikes:?}; {} restarts",
        acknowledged.len(),
        took.as_secs_f64(),
        live.hearts().iter().map(|heart| heart.restarts()).sum::<u64>()
    );
    // A struck channel loses its pending acknowledgements; real senders would retry.
    assert!(acknowledged.len() > PERCEPTS / 2, "{} acknowledged", acknowledged.len());
    for heart in live.hearts() {
        assert_eq!(heart.dead_letters(), 0, "{}: an order is no message's fault", heart.name());
    }
    let ended = ends.0.lock().expect("no panic inside").clone();
    for (number, turn) in &acknowledged {
        assert_eq!(ended.get(turn), Some(&1), "turn of percept {number}");
    }
    let words: Vec<String> = acknowledged.keys().map(|number| word(*number)).collect();
    let forgotten: Vec<&String> = words
        .chunks(AT_ONCE)
        .flat_map(|asked| asked.iter().zip(live.recall(asked)))
        .filter(|(word, told)| !told.iter().any(|text| text.contains(*word)))
        .map(|(word, _)| word)
        .collect();
    assert!(forgotten.is_empty(), "acknowledged but forgotten: {forgotten:?}");
}

fn word(number: usize) -> String {
    format!("locker{number}q")
}

/// Sends everything with a limited number of turns at once; returns the turn of each acknowledged percept.
fn talk(live: &Live, ends: &Ends) -> BTreeMap<usize, MessageId> {
    let mut acknowledged = BTreeMap::new();
    let mut waiting = Vec::new();
    let mut next = 0;
    let mut last = Instant::now();
    loop {
        let ended = ends.0.lock().expect("no panic inside").len();
        while next < PERCEPTS && next < ended + AT_ONCE {
            let text = format!("remember that {} holds the {number} th parcel", word(next), number = next * 7);
            waiting.push((next, live.submit(&text, Trust::Owner)));
            next += 1;
        }
        let before = waiting.len();
        waiting.retain_mut(|(number, accepted)| match accepted.try_recv() {
            Ok(Ok(accepted)) => {
                acknowledged.insert(*number, accepted.percept);
                false
            }
            Ok(Err(_)) => false,
            Err(_) => true,
        });
        if waiting.len() != before || ends.0.lock().expect("no panic inside").len() != ended {
            last = Instant::now();
        }
        if next == PERCEPTS && ended >= PERCEPTS {
            return acknowledged;
        }
        assert!(last.elapsed() < Duration::from_secs(30), "{ended} of {next} turns ended; {}", live.describe());
        std::thread::sleep(Duration::from_millis(2));
    }
}
