//! A life with failing rooms is recorded, and its replay makes the same decisions and states as any other (P10).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use maxim::agent::AgentSettings;
use maxim::config::Settings;
use maxim::recorder::{Limits, RecorderError, Recording, ReplayReport};
use maxim_actors::region::{Order, WardKind, WardState};
use maxim_bus::{MessageId, RegionName, Trust};
use tempfile::TempDir;

use super::live::{Live, Plan, durable_store, tools};
use super::poison::{Pair, is_region, waves};
use super::script::{live_it, pairs};

fn limits() -> Limits {
    Limits { lead: Duration::ZERO, ..Limits::from(&Settings::default().recorder) }
}

fn plan(recordings: &Path) -> Plan {
    Plan {
        model: true,
        recordings: Some((recordings.to_owned(), limits())),
        settings: Box::new(|rooms| {
            rooms.supervision.window = Duration::from_secs(600);
            rooms.supervision.hold = Duration::from_secs(3_600);
        }),
        ..Plan::default()
    }
}

/// Ends the recording; returns its files.
fn recordings(live: &Live, folder: &Path) -> Vec<PathBuf> {
    live.wait_or_lose(|| live.is_quiet().then_some(()));
    let recorder = live.recorder.as_ref().expect("it records");
    recorder.close();
    assert_eq!(recorder.counts().lost, 0);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("there").map(|entry| entry.expect("one").path()).collect();
    files.sort();
    files
}

/// Replays a file completely and compares the result.
fn replayed(file: &Path, case: &str) -> (Recording, ReplayReport) {
    let recording = Recording::read(file).expect("readable");
    let report = recording.replay(tools()).expect("it replays");
    println!("{case}: {} inputs, {} equal, {:?}", report.inputs, report.matched, report.elapsed);
    if let Some(divergence) = &report.first_divergence {
        let before = recording.inputs.iter().filter(|line| line.region == divergence.region);
        let before: Vec<_> = before.take(divergence.region_input as usize).collect();
        println!("{case}: its last inputs were {:#?}", &before[before.len().saturating_sub(4)..]);
    }
    assert!(report.is_equal(), "{case}: {:#?}\n{:#?}", report.first_divergence, report.set_aside);
    assert_eq!((report.inputs, report.lost, &report.cut), (report.matched, 0, &None), "{case}");
    (recording, report)
}

/// Every deciding room is killed and ordered to panic while nothing else happens.
fn strike_all(live: &Live) {
    for order in [Order::Kill, Order::Panic] {
        for heart in live.hearts().iter().filter(|heart| heart.kind() != WardKind::Effector) {
            let before = heart.restarts();
            heart.order(order.clone());
            live.eventually("it is back", || heart.restarts() > before && heart.state() == WardState::Running);
        }
    }
}

/// The signals on which rooms fail, each wave in a separate life: the first that each room hears, and so on.
const WAVES: [usize; 3] = [0, 2, 5];

#[test]
fn a_life_in_which_rooms_panic_bury_mail_are_killed_and_held_replays_to_the_same() {
    let heard = pairs(&Live::start(Plan { model: true, ..Plan::default() }), is_region);
    let waves = waves(&heard, usize::MAX);
    for number in WAVES {
        let wave: &[Pair] = &waves[number];
        let dir = TempDir::new().expect("a folder");
        let live = Live::start(plan(dir.path()));
        // A single failure is retried; a second one makes a dead letter.
        for (nth, (room, signal)) in wave.iter().enumerate() {
            live.heart(room).poison(signal, if nth % 4 == 3 { 2 } else { 1 });
        }
        live_it(&live);
        strike_all(&live);
        live.try_say("please create a file between.txt with the text here", Trust::Owner);
        let held = live.heart("suprachiasmatic_nucleus");
        while held.state() != WardState::Held {
            let before = held.restarts();
            held.order(Order::Kill);
            live.eventually("it notices", || held.restarts() > before && held.state() != WardState::Restarting);
        }
        live.try_say("where is the spare key?", Trust::Owner);
        live.agent.supervision.release_held();
        live.eventually("it is back", || live.agent.supervision.is_up());
        live.try_say("please create a file after.txt with the text here", Trust::Owner);
        let buried: Vec<(RegionName, MessageId)> = wave
            .iter()
            .flat_map(|(room, _)| live.dead_letters(room).into_iter().map(|letter| (*room, letter.id)))
            .collect();
        let files = recordings(&live, dir.path());
        assert_eq!(files.len(), 1);
        let (recording, report) = replayed(&files[0], &format!("wave {number}"));
        assert!(report.inputs > 500, "{}", report.inputs);
        assert!(!buried.is_empty(), "nothing was buried");
        for (room, id) in &buried {
            let taken = recording.inputs.iter().any(|line| line.region == *room && line.message == Some(*id));
            assert!(!taken, "{room} decided what was buried");
        }
        let told = recording.inputs.iter().filter(|line| line.signal.as_deref() == Some("RegionChanged")).count();
        assert!(told > 0, "nobody heard that a room is held");
    }
}

#[test]
fn a_life_in_which_rooms_hang_and_are_replaced_replays_to_the_same() {
    let dir = TempDir::new().expect("a folder");
    let settings: Box<dyn Fn(&mut AgentSettings)> = Box::new(|rooms| {
        rooms.deadline = Duration::from_millis(300);
        rooms.supervision.window = Duration::ZERO;
    });
    let live = Live::start(Plan { settings, ..plan(dir.path()) });
    // So that each room has decided something before.
    live.say("please create a file before.txt with the text here");
    let hangs = [("hippocampus", "SalientPercept"), ("habit", "EnrichedPercept"), ("nucleus_accumbens", "ToolResult")];
    for (room, signal) in hangs {
        live.heart(room).stall(signal, Duration::from_millis(1_500));
    }
    live.say("remember that the spare key is in the blue drawer");
    live.say("please create a file hello.txt with the text good morning");
    live.say("where is the spare key?");
    live.eventually("the threads that hung have woken and are gone", || live.agent.supervision.zombies() == 0);
    let files = recordings(&live, dir.path());
    let (recording, _) = replayed(&files[0], "hangs");
    for (room, _) in hangs {
        assert!(live.heart(room).restarts() > 0, "nobody saw {room} hang");
        let epochs: BTreeSet<_> =
            recording.inputs.iter().filter(|line| line.region == room).map(|line| line.epoch).collect();
        assert!(epochs.len() > 1, "{room}: {epochs:?}");
    }
}

/// On the machine's clock, with rooms struck during turns, and recording files that rotate all the time.
#[test]
fn a_life_under_strikes_replays_from_each_of_its_files() {
    let dir = TempDir::new().expect("a folder");
    let limits = Limits { file_bytes: 96 << 10, ..limits() };
    let settings: Box<dyn Fn(&mut AgentSettings)> = Box::new(|rooms| {
        rooms.supervision.restarts = 100_000;
        rooms.supervision.back_off = Duration::ZERO;
    });
    let (_store_folder, store) = durable_store();
    let recordings_folder = Some((dir.path().to_owned(), limits));
    let live = Live::start(Plan {
        store,
        live_clock: true,
        model: false,
        settings,
        recordings: recordings_folder,
        ..Plan::default()
    });
    let rooms: Vec<_> = live.hearts().into_iter().filter(|heart| heart.kind() != WardKind::Effector).collect();
    for round in 0..40 {
        let mut accepted =
            live.submit(&format!("remember that locker {round} holds parcel {}", round * 7), Trust::Owner);
        for heart in rooms.iter().skip(round % 5).step_by(5) {
            heart.order(if round % 2 == 0 { Order::Kill } else { Order::Panic });
        }
        let turn = live.wait("the acknowledgement", || accepted.try_recv().ok()).expect("accepted").percept;
        live.end_of(turn);
    }
    live.eventually("all rooms are back", || live.agent.supervision.is_up() && live.is_quiet());
    let recorder = live.recorder.as_ref().expect("it records");
    recorder.close();
    let mut files: Vec<PathBuf> =
        fs::read_dir(dir.path()).expect("there").map(|entry| entry.expect("one").path()).collect();
    files.sort();
    let (mut inputs, mut rebuilt) = (0, 0);
    for file in &files {
        let recording = Recording::read(file).expect("readable");
        let report = recording.replay(tools()).expect("it replays");
        assert_eq!(report.first_divergence, None, "{}", file.display());
        // A clearance in transit at the moment of the rotation can't be carried over, and this is reported.
        assert!(report.set_aside.iter().all(|aside| aside.why.contains("clearance")), "{:?}", report.set_aside);
        inputs += report.inputs;
        let incarnations = |room: &str| {
            let of_room = recording.inputs.iter().filter(|line| line.region == room).map(|line| line.incarnation);
            of_room.collect::<BTreeSet<_>>().len().saturating_sub(1)
        };
        rebuilt += rooms.iter().map(|heart| incarnations(heart.name())).sum::<usize>();
    }
    let restarts = rooms.iter().map(|heart| heart.restarts()).sum::<u64>();
    println!("{} files, {inputs} inputs, {restarts} restarts, {rebuilt} of them between inputs of a file", files.len());
    assert!(files.len() > 1 && inputs > 1_000 && restarts > 100 && rebuilt > 50);
}

/// `maxim replay` names the file, the position, and what to do.
fn assert_told(file: &Path, code: i32) {
    let told = Command::new(env!("CARGO_BIN_EXE_maxim")).arg("replay").arg(file).output().expect("it runs");
    let said = format!("{}{}", String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    let named = [file.to_str().expect("UTF-8"), "damaged from byte", "restore an intact copy"];
    assert!(named.iter().all(|part| said.contains(part)), "{said}");
    assert_eq!(told.status.code(), Some(code), "{said}");
}

/// Each flipped bit in a recording is found and located, and everything before it equals the recording.
#[test]
fn a_flipped_bit_anywhere_is_damage_with_a_place_and_never_a_divergence() {
    let dir = TempDir::new().expect("a folder");
    let live = Live::start(plan(dir.path()));
    for n in 0..12 {
        live.say(&format!("remember that jar {n} holds buttons of kind {}", n * 7));
        live.say("please create a file jars.txt with the text counted");
        // A chunk of its own, as a second's flush makes it.
        live.wait_or_lose(|| live.is_quiet().then_some(()));
    }
    let files = recordings(&live, dir.path());
    let (whole, _) = replayed(&files[0], "whole");
    assert_eq!(whole.damage, None);
    let bytes = fs::read(&files[0]).expect("readable");
    let flipped = dir.path().join("flipped.mcap");
    let ends = [0..64, bytes.len() - 300..bytes.len()];
    let places = (0..bytes.len()).step_by((bytes.len() / 600).max(1)).chain(ends.into_iter().flatten());
    let (mut refused, mut cut, mut around, mut replays) = (0, 0, 0, 0);
    for (nth, place) in places.enumerate() {
        let mut other = bytes.clone();
        other[place] ^= 1 << (nth % 8);
        fs::write(&flipped, &other).expect("written");
        let recording = match Recording::read(&flipped) {
            Ok(recording) => recording,
            Err(RecorderError::Unreadable { why, is_damaged, .. }) => {
                assert!(is_damaged && why.contains("from byte"), "at {place}: {why}");
                if refused == 0 {
                    assert_told(&flipped, 2);
                }
                refused += 1;
                continue;
            }
            Err(error) => panic!("at {place}: {error}"),
        };
        let damage = recording.damage.clone().unwrap_or_else(|| panic!("nobody saw the flip at {place}"));
        assert!(damage.byte <= place as u64, "at {place}: {damage}");
        assert_eq!(recording.inputs, whole.inputs[..recording.inputs.len()], "at {place}");
        assert!(recording.signals.iter().all(|(id, said)| whole.signals.get(id) == Some(said)), "at {place}");
        match &recording.cut {
            Some(why) => {
                assert!(why.contains("from byte"), "{why}");
                if cut == 0 {
                    assert_told(&flipped, 1);
                }
                cut += 1;
            }
            None => {
                assert_eq!(recording.inputs.len(), whole.inputs.len(), "at {place}: {damage}");
                around += 1;
            }
        }
        if nth % 60 == 0 {
            let report = recording.replay(tools()).expect("it replays");
            assert!(report.is_equal() && report.damage.is_some(), "at {place}: {:#?}", report.first_divergence);
            replays += 1;
        }
    }
    println!(
        "{} bytes: {refused} flips before all states, {cut} after which nothing is read, {around} around what is read, \
         {replays} replayed",
        bytes.len()
    );
    assert!(refused > 0 && cut > 0 && around > 0 && replays > 0);
}
