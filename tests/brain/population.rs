//! Many brains in one process, of which the idle ones are unloaded.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use maxim::agent::population::{Population, PopulationError};
use maxim::agent::{Agent, AgentSettings};
use maxim::config::Settings;
use maxim_actors::effectors::channels::Submission;
use maxim_actors::store::{StateStore, StoreOptions};
use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::{StopDetail, StopLatch};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{AgentId, Trust};
use tempfile::TempDir;

use crate::common::{MONDAY, core_tools};

const IDLE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

fn id(name: &str) -> AgentId {
    AgentId::new(name).expect("a good name")
}

fn settings(folder: &Path) -> Arc<AgentSettings> {
    let settings = AgentSettings::with_tools(&Settings::default(), 1, folder, &folder.join(".saved"), core_tools());
    Arc::new(settings.expect("settings"))
}

/// This many brains, each with its own randomness.
fn population(store: &StateStore, folder: &Path, count: usize, threads: usize, idle: Duration) -> Population {
    let mut all = Population::new(store, MONDAY.parse().expect("a time"), threads, idle).expect("a population");
    let settings = settings(folder);
    for n in 0..count {
        let name = id(&format!("agent-{n:02}"));
        all.add(name, n as u64, Arc::clone(&settings), StopLatch::in_memory()).expect("new");
    }
    all
}

fn pass(all: &mut Population, time: Duration) {
    let wrong = all.pass(time);
    assert!(wrong.is_empty(), "{wrong:?}");
}

fn submission(text: &str) -> Submission {
    Submission {
        channel: "http".into(),
        sender: "anna".into(),
        body: text.into(),
        provider_id: None,
        trust: Trust::Owner,
    }
}

fn say(all: &mut Population, id: &AgentId, text: &str) -> TurnEnded {
    let agent = all.agent(id).expect("it wakes");
    let mut acknowledged = agent.outside.http.submit(submission(text));
    agent.settle();
    let accepted = acknowledged.try_recv().expect("acknowledged").expect("accepted");
    let mut ended = agent.outside.http.turn(accepted.percept);
    for _ in 0..300 {
        if let Ok(ended) = ended.try_recv() {
            return ended.expect("the end is told");
        }
        pass(all, Duration::from_millis(100));
    }
    panic!("the turn of {text:?} did not end");
}

fn reply(all: &mut Population, id: &AgentId, text: &str) -> String {
    say(all, id, text).reply.unwrap_or_default()
}

/// The final state of a room: its name, the hash of its state, and its state as text.
type Room = (&'static str, u64, String);

/// What each says, and the states of its rooms at the end of the week.
fn lives(store: &StateStore, folder: &Path, threads: usize, idle: Duration) -> (Vec<String>, Vec<Vec<Room>>) {
    // Their file actions are part of their memories, so the folder must be the same and as empty as the first time.
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).expect("a folder");
    let mut all = population(store, folder, 5, threads, idle);
    let names: Vec<AgentId> = all.ids().cloned().collect();
    for id in &names {
        all.agent(id).expect("it wakes");
    }
    let mut told = Vec::new();
    let words = [
        "remember that the key of the boat lies in drawer 7",
        "write the file notes.txt with the text hello",
        "where is the key of the boat?",
        "rm -rf /",
        "what do you remember about the boat?",
    ];
    for (n, text) in words.iter().enumerate() {
        for id in &names {
            told.push(reply(&mut all, id, text));
        }
        pass(&mut all, if n % 2 == 0 { Duration::from_secs(600) } else { DAY });
    }
    pass(&mut all, 3 * DAY);
    let rooms = |agent: &Agent| {
        let hashes = agent.state_hashes().into_iter();
        let state = |name| agent.parts.iter().find(|part| part.name == name).and_then(|part| part.state);
        hashes
            .map(|(name, hash)| {
                let state = state(name).expect("it has a state")(&agent.frame.store).expect("read");
                (name, hash, state.to_string())
            })
            .collect()
    };
    let rooms = names.iter().map(|id| rooms(all.agent(id).expect("it wakes"))).collect();
    (told, rooms)
}

#[test]
fn who_was_away_decides_and_becomes_the_same_as_who_never_was_at_any_number_of_threads() {
    let folder = TempDir::new().expect("a folder");
    let lives = |store: &StateStore, threads, idle| lives(store, &folder.path().join("work"), threads, idle);
    let (told, rooms) = lives(&StateStore::in_memory(), 1, Duration::MAX);
    assert!(told.iter().any(|reply| reply.contains("drawer 7")), "{told:?}");
    let (on_disk, _) = StateStore::open(&folder.path().join("store"), StoreOptions::default()).expect("opens");
    let in_memory = StateStore::in_memory;
    for (store, threads, idle) in [
        (in_memory(), 1, IDLE),
        (in_memory(), 1, Duration::ZERO),
        (in_memory(), 2, IDLE),
        (in_memory(), 8, IDLE),
        (on_disk, 2, Duration::ZERO),
    ] {
        let (same_told, same_rooms) = lives(&store, threads, idle);
        assert_eq!(told, same_told, "{threads} threads, idle after {idle:?}");
        for (n, (one, other)) in rooms.iter().zip(&same_rooms).enumerate() {
            for ((room, hash, state), (_, same, that_state)) in one.iter().zip(other) {
                assert_eq!(
                    hash, same,
                    "{room} of agent {n}, {threads} threads, idle after {idle:?}: {state} and {that_state}"
                );
            }
        }
    }
}

#[test]
fn the_idle_leave_memory_and_only_what_is_due_brings_them_back() {
    let (store, folder) = (StateStore::in_memory(), TempDir::new().expect("a folder"));
    let mut all = population(&store, folder.path(), 6, 2, IDLE);
    assert_eq!(all.awake(), 0, "nobody is in memory before it has something to do");
    let anna = id("agent-00");
    pass(&mut all, Duration::ZERO);
    assert_eq!(all.awake(), 0, "all lived through their first moment, one after the other");
    reply(&mut all, &anna, "remember that the ladder stands behind the shed");
    assert_eq!(all.awake(), 1);
    pass(&mut all, IDLE);
    assert_eq!(all.awake(), 0);
    let mut seen_awake = 0;
    for _ in 0..24 * 60 {
        pass(&mut all, Duration::from_secs(60));
        seen_awake += all.awake();
    }
    assert_eq!(seen_awake, 0, "who is only due goes again at once");
    assert!(reply(&mut all, &anna, "where is the ladder?").contains("behind the shed"));
    assert_eq!(all.awake(), 1, "nobody else was woken by it");
    assert!(!reply(&mut all, &id("agent-01"), "where is the ladder?").contains("behind the shed"), "who wasn't told");
}

#[test]
fn who_is_waited_for_or_listened_to_stays() {
    let (store, folder) = (StateStore::in_memory(), TempDir::new().expect("a folder"));
    let mut all = population(&store, folder.path(), 1, 1, IDLE);
    let anna = id("agent-00");
    let listens = all.agent(&anna).expect("it wakes").outside.console.listen();
    pass(&mut all, 2 * IDLE);
    assert_eq!(all.awake(), 1);
    drop(listens);
    let waits = {
        let agent = all.agent(&anna).expect("awake");
        agent.outside.http.submit(submission("hello"))
    };
    pass(&mut all, Duration::ZERO);
    drop(waits);
    pass(&mut all, 2 * IDLE);
    assert_eq!(all.awake(), 0);
}

#[test]
fn a_stop_holds_while_its_agent_is_away_and_in_the_next_process() {
    let folder = TempDir::new().expect("a folder");
    let place = folder.path().join("store");
    let (stopped, other) = (id("stopped"), id("other"));
    let latch_of = |is_new: bool| StopLatch::open(&folder.path().join("latch.json"), !is_new).expect("opens");
    let both = |store: &StateStore, latch: &StopLatch| {
        let mut all = population(store, folder.path(), 0, 1, IDLE);
        all.add(stopped.clone(), 1, settings(folder.path()), latch.clone()).expect("new");
        all.add(other.clone(), 2, settings(folder.path()), StopLatch::in_memory()).expect("new");
        all
    };
    let writes = |all: &mut Population, id: &AgentId, file: &str| {
        say(all, id, &format!("write the file {file} with the text hello"));
        folder.path().join(file).exists()
    };
    {
        let (store, _) = StateStore::open(&place, StoreOptions::default()).expect("opens");
        let latch = latch_of(true);
        let mut all = both(&store, &latch);
        assert!(writes(&mut all, &stopped, "first.txt"));
        pass(&mut all, 2 * IDLE);
        assert_eq!(all.awake(), 0);
        let (_, written) = latch.raise(StopDetail { reason: "a test".into(), by: "anna".into(), at: None });
        assert!(written.wait(Duration::from_secs(60)), "on the disk");
        assert!(!writes(&mut all, &stopped, "second.txt"));
        assert!(writes(&mut all, &other, "other.txt"), "a stop is one agent's");
        drop(all);
        store.close().expect("closes");
    }
    let (store, _) = StateStore::open(&place, StoreOptions::default()).expect("opens again");
    let latch = latch_of(false);
    let mut all = both(&store, &latch);
    assert!(!writes(&mut all, &stopped, "third.txt"));
    latch.reset().expect("reset");
    latch.resume().expect("resumed");
    pass(&mut all, 2 * IDLE);
    assert!(writes(&mut all, &stopped, "fourth.txt"), "only a person ends it");
}

#[test]
fn they_come_back_from_the_disk_in_another_process() {
    let folder = TempDir::new().expect("a folder");
    let place = folder.path().join("store");
    {
        let (store, _) = StateStore::open(&place, StoreOptions::default()).expect("opens");
        let mut all = population(&store, folder.path(), 3, 2, IDLE);
        for n in 0..3 {
            reply(&mut all, &id(&format!("agent-{n:02}")), &format!("remember that the lamp stands in room {n}"));
        }
        pass(&mut all, 2 * IDLE);
        assert_eq!(all.awake(), 0);
        let told = |all: &mut Population| reply(all, &id("agent-01"), "where is the lamp?");
        assert!(told(&mut all).contains("room 1"));
        pass(&mut all, 2 * IDLE);
        // Their states are only on disk once they are written.
        let watch = Stopwatch::start();
        while store.in_memory_now() > 0 {
            assert!(watch.elapsed() < Duration::from_secs(60), "they never leave the store's memory");
            pass(&mut all, Duration::ZERO);
            std::thread::yield_now();
        }
        assert!(told(&mut all).contains("room 1"));
        drop(all);
        store.close().expect("closes");
    }
    let (store, _) = StateStore::open(&place, StoreOptions::default()).expect("opens again");
    let mut all = population(&store, folder.path(), 3, 2, IDLE);
    for n in 0..3 {
        let told = reply(&mut all, &id(&format!("agent-{n:02}")), "where is the lamp?");
        assert!(told.contains(&format!("room {n}")), "{told}");
    }
}

#[test]
fn who_is_unknown_known_already_or_can_not_wake_is_named() {
    let folder = TempDir::new().expect("a folder");
    let (store, _) = StateStore::open(&folder.path().join("store"), StoreOptions::default()).expect("opens");
    let mut all = population(&store, folder.path(), 1, 1, IDLE);
    let (here, missing) = (id("agent-00"), id("nobody"));
    let unknown = all.agent(&missing).map(drop).expect_err("there is none");
    assert_eq!(unknown.to_string(), "no agent nobody is among them; add it first");
    let again =
        all.add(here.clone(), 0, settings(folder.path()), StopLatch::in_memory()).expect_err("it is there already");
    assert!(matches!(again, PopulationError::Known(_)), "{again}");
    reply(&mut all, &here, "remember that the lamp stands in room 7");
    pass(&mut all, 2 * IDLE);
    assert_eq!(all.awake(), 0);
    store.close().expect("closes");
    let asleep = all.agent(&here).map(drop).expect_err("nothing of it can be read");
    assert!(asleep.to_string().starts_with("agent agent-00 can't be woken: "), "{asleep}");
    assert_eq!(all.awake(), 0, "it isn't a new agent");
}

#[test]
fn time_ends_with_the_calendar() {
    let folder = TempDir::new().expect("a folder");
    let mut nobody = population(&StateStore::in_memory(), folder.path(), 0, 2, IDLE);
    assert!(nobody.pass(Duration::MAX).is_empty());
    assert_eq!(nobody.now(), maxim_bus::clock::LAST);
}

#[test]
fn when_the_store_closes_beneath_them_they_stand_still_and_it_is_told() {
    let folder = TempDir::new().expect("a folder");
    let store = StateStore::in_memory();
    let mut all = population(&store, folder.path(), 1, 1, DAY);
    let id = id("agent-00");
    assert!(reply(&mut all, &id, "remember that the boat is red").contains("red"));
    store.close().expect("closed");
    let agent = all.agent(&id).expect("it is awake");
    let accepted = agent.outside.http.submit(submission("where is the boat?"));
    agent.settle();
    let wrong = all.pass(DAY);
    assert!(matches!(wrong[..], [PopulationError::Stuck { .. }]), "{wrong:?}");
    drop(accepted);
}
