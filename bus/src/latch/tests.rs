use std::sync::mpsc;
use std::time::Duration;

use super::*;

fn detail(reason: &str) -> StopDetail {
    StopDetail { reason: reason.into(), by: "test".into(), at: Some(Timestamp::UNIX_EPOCH) }
}

#[test]
fn stop_reset_resume_are_three_steps() {
    let latch = StopLatch::in_memory();
    assert!(latch.permit(EffectKind::Motion).is_ok());
    latch.raise(detail("a person said so"));
    assert!(matches!(latch.permit(EffectKind::Other), Err(Stopped::Latched { .. })));
    assert!(matches!(latch.resume(), Err(LatchError::NotReset)));
    latch.reset().expect("reset");
    assert!(latch.permit(EffectKind::Other).is_ok());
    assert!(matches!(latch.permit(EffectKind::Motion), Err(Stopped::MotionHeld)));
    latch.resume().expect("resume");
    assert!(latch.permit(EffectKind::Motion).is_ok());
}

#[test]
fn whoever_lost_the_lease_does_nothing_and_leaves_no_stop_behind() {
    use crate::clock::since_boot;

    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("latch.json");
    let latch = StopLatch::open(&path, false).expect("a fresh latch");
    let lease = Lease::won(3, since_boot(), Duration::from_secs(3600));
    latch.bind(&lease);
    assert!(latch.permit(EffectKind::Motion).is_ok());
    let (tell, told) = mpsc::channel();
    latch.on_stop(move |detail| tell.send(detail.by.clone()).expect("heard"));
    latch.fence("machine b holds it");
    assert_eq!(told.try_recv(), Ok("lease".into()), "the body is told");
    let refused = latch.permit(EffectKind::Other).expect_err("refused");
    assert!(matches!(&refused, Stopped::NotHeld(lost) if &*lost.0 == "machine b holds it"), "{refused}");
    assert_eq!(latch.state(), LatchState::Clear);
    assert_eq!(StopLatch::open(&path, true).expect("opens").state(), LatchState::Clear);
}

#[test]
fn a_mirror_hears_all_that_is_written_in_order_and_a_stop_that_did_not_arrive_there_is_not_durable() {
    let dir = tempfile::tempdir().expect("a folder");
    let (tell, told) = mpsc::channel();
    let works = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_up = Arc::clone(&works);
    let mirror: Mirror = Box::new(move |record| {
        let arrives = is_up.load(Ordering::SeqCst);
        if arrives {
            tell.send(record.state).expect("heard");
        }
        arrives
    });
    let limit = Duration::from_secs(60);
    let latch = StopLatch::open_mirrored(&dir.path().join("latch.json"), false, Some(mirror)).expect("a latch");
    assert_eq!(told.recv_timeout(limit), Ok(LatchState::Clear), "what holds at the start");
    assert!(latch.raise(detail("smoke")).1.wait(limit));
    assert_eq!(told.recv_timeout(limit), Ok(LatchState::Stopped));
    latch.reset().expect("reset");
    assert_eq!(told.recv_timeout(limit), Ok(LatchState::MotionHeld));
    latch.resume().expect("resume");
    assert_eq!(told.recv_timeout(limit), Ok(LatchState::Clear));
    works.store(false, Ordering::SeqCst);
    let (raised, durable) = latch.raise(detail("fire"));
    assert!(raised.first && latch.is_stopped() && !durable.wait(limit), "it holds here, and isn't known there");
    assert!(!latch.settle(Duration::ZERO));
    works.store(true, Ordering::SeqCst);
    assert!(latch.settle(limit), "it is tried again");
    assert_eq!(told.recv_timeout(limit), Ok(LatchState::Stopped));
    latch.reset().expect("reset");
    assert_eq!(told.recv_timeout(limit), Ok(LatchState::MotionHeld));
    // A thread that raised, and reaches the writer only after the reset.
    let writer = latch.0.writer.as_ref().expect("it has a file");
    assert!(writer.put(LatchRecord { state: LatchState::Stopped, detail: None }, 1).wait(limit));
    assert_eq!(told.recv_timeout(limit), Ok(LatchState::MotionHeld), "what the file says");
}

#[test]
fn it_is_latched_over_a_restart_and_survives_any_damage_of_its_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("latch.json");
    let latch = StopLatch::open(&path, false).expect("a fresh latch");
    assert_eq!(latch.state(), LatchState::Clear);
    let (_, durable) = latch.raise(detail("smoke"));
    assert!(durable.wait(Duration::from_secs(30)));
    let again = StopLatch::open(&path, true).expect("opens");
    assert!(again.is_stopped());
    assert_eq!(again.detail().map(|d| d.reason), Some("smoke".into()));

    again.reset().expect("reset");
    again.resume().expect("resume");
    assert_eq!(StopLatch::open(&path, true).expect("opens").state(), LatchState::Clear);
    let whole = std::fs::read(&path).expect("the file");
    for cut in 0..whole.len() {
        std::fs::write(&path, &whole[..cut]).expect("cut");
        let found = StopLatch::open(&path, true).expect("opens");
        assert!(found.is_stopped(), "cut at {cut}");
        assert_eq!(found.detail().map(|detail| detail.at), Some(None), "nobody knows since when");
    }
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &flipped).expect("flip");
        assert!(StopLatch::open(&path, true).expect("opens").is_stopped(), "bit {bit}");
    }
    std::fs::remove_file(&path).expect("removed");
    assert!(StopLatch::open(&path, true).expect("opens").is_stopped(), "missing in a used store");
}

#[test]
fn a_stop_that_could_not_be_written_is_latched_over_a_crash_and_written_as_soon_as_that_works() {
    let dir = tempfile::tempdir().expect("a folder");
    let (path, in_the_way) = (dir.path().join("latch.json"), dir.path().join("latch.new"));
    let latch = StopLatch::open(&path, false).expect("a fresh latch");
    std::fs::create_dir(&in_the_way).expect("a folder");
    let (_, durable) = latch.raise(detail("smoke"));
    assert!(!durable.wait(Duration::from_secs(30)));
    while path.exists() {
        std::thread::yield_now();
    }
    assert!(StopLatch::open(&path, true).expect("opens").is_stopped(), "as after a crash");
    std::fs::remove_dir(&in_the_way).expect("removed");
    while !path.exists() {
        std::thread::yield_now();
    }
    let again = StopLatch::open(&path, true).expect("opens");
    assert_eq!(again.detail().map(|detail| detail.reason), Some("smoke".into()));
}

#[test]
fn a_disk_that_stalls_delays_no_stop_and_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let (path, first_written) = (dir.path().join("latch.json"), dir.path().join("latch.new"));
    let latch = StopLatch::open(&path, false).expect("a fresh latch");
    // A pipe without a reader: opening it for writing waits.
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &first_written, kind, 0o600.into(), 0).expect("a pipe");
    let (tell, told) = mpsc::channel();
    let raising = latch.clone();
    std::thread::spawn(move || tell.send(raising.raise(detail("smoke"))));
    let (raised, durable) = told.recv_timeout(Duration::from_secs(60)).expect("a raise waits for no disk");
    assert!(raised.first && latch.is_stopped());
    assert!(!durable.wait(Duration::from_millis(50)));
    // The writer's thread continues, and ends with the latch.
    drop(std::fs::File::open(&first_written).expect("opened"));
}

#[test]
fn a_stop_that_could_not_be_written_does_not_come_back_after_a_reset() {
    let dir = tempfile::tempdir().expect("a folder");
    let (path, in_the_way) = (dir.path().join("latch.json"), dir.path().join("latch.new"));
    let latch = StopLatch::open(&path, false).expect("a fresh latch");
    std::fs::create_dir(&in_the_way).expect("a folder");
    assert!(!latch.raise(detail("smoke")).1.wait(Duration::from_secs(30)));
    std::fs::remove_dir(&in_the_way).expect("removed");
    latch.reset().expect("reset");
    latch.resume().expect("resume");
    // A job after an attempt at the old one is queued behind it.
    assert!(latch.raise(detail("fire")).1.wait(Duration::from_secs(30)));
    latch.reset().expect("reset");
    let again = StopLatch::open(&path, true).expect("opens");
    assert_eq!(again.state(), LatchState::MotionHeld);
}

#[test]
fn a_stop_that_is_written_late_does_not_come_back_after_its_reset() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("latch.json");
    let file = LatchFile::new(&path);
    let stopped = LatchRecord { state: LatchState::Stopped, detail: Some(detail("smoke")) };
    let held = LatchRecord { state: LatchState::MotionHeld, detail: None };
    let read = || StopLatch::open(&path, true).expect("opens").state();
    file.write(&held, 1).expect("its reset, while the disk was slow with the stop");
    file.write(&stopped, 1).expect("left out");
    file.take_away(1);
    assert_eq!(read(), LatchState::MotionHeld);
    file.write(&stopped, 2).expect("written");
    file.write(&held, 1).expect("left out");
    assert_eq!(read(), LatchState::Stopped);
}

#[test]
fn a_signal_that_is_faster_than_the_words_that_come_with_it_doesn_t_keep_them_out() {
    let at = |seconds: i64, by: &str, reason: &str| StopDetail {
        reason: reason.into(),
        by: by.into(),
        at: Some(Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)),
    };
    for (later, kept) in [(1, "the arm hit the table"), (60, "SIGUSR1")] {
        let latch = StopLatch::in_memory();
        latch.raise(at(0, StopDetail::BY_SIGNAL, "SIGUSR1"));
        latch.raise(at(later, "maxim stop", "the arm hit the table"));
        latch.raise(at(later, "http", "again"));
        let detail = latch.detail().expect("stopped");
        assert_eq!((detail.reason.as_str(), detail.at), (kept, Some(Timestamp::UNIX_EPOCH)));
    }
}

#[test]
fn a_reset_or_resume_that_a_stop_overtakes_leaves_it_stopped_and_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("latch.json");
    let latch = StopLatch::open(&path, false).expect("a fresh latch");
    for to in [HELD, CLEAR] {
        latch.raise(detail("smoke"));
        if to == CLEAR {
            latch.reset().expect("reset");
        }
        // The state of a reset just before it waits for the disk.
        let seen = latch.0.word.load(Ordering::SeqCst);
        let (_, durable) = latch.raise(detail("fire"));
        let left = latch.leave(seen, to, LatchRecord::clear());
        assert!(matches!(left, Err(LatchError::StoppedAgain)), "{left:?}");
        assert!(latch.is_stopped() && latch.permit(EffectKind::Other).is_err());
        assert!(durable.wait(Duration::from_secs(60)));
        assert!(StopLatch::open(&path, true).expect("opens").is_stopped(), "in the file too");
        latch.reset().expect("reset");
    }
}

#[test]
fn a_second_stop_keeps_the_first_reason() {
    let latch = StopLatch::in_memory();
    assert!(latch.raise(detail("first")).0.first);
    assert!(!latch.raise(detail("second")).0.first);
    assert_eq!(latch.detail().map(|d| d.reason), Some("first".into()));
}

#[test]
fn a_stop_between_the_permit_and_the_child_is_seen() {
    let latch = StopLatch::in_memory();
    let permit = latch.permit(EffectKind::Other).expect("clear");
    latch.raise(detail("just now"));
    // No process has the largest number, so this kills nothing.
    let group = permit.register(i32::MAX as u32).expect("a number");
    assert!(group.was_stopped());
}

#[test]
fn the_body_is_told_on_each_raise() {
    let latch = StopLatch::in_memory();
    let frozen = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&frozen);
    latch.on_stop(move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
    });
    latch.raise(detail("one"));
    latch.raise(detail("two"));
    assert_eq!(frozen.load(Ordering::SeqCst), 2);
}

#[test]
fn a_stop_tells_how_many_processes_it_has_killed_and_the_same_stop_by_another_way_tells_the_same() {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    let latch = StopLatch::in_memory();
    let permit = latch.permit(EffectKind::Other).expect("clear");
    // The leader only holds the number.
    let mut leader = Command::new("/bin/sleep").arg("600").process_group(0).spawn().expect("sleep");
    let group = permit.register(leader.id()).expect("a number");
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "sleep 600 & sleep 600 & echo begun; wait"])
        .process_group(leader.id() as i32)
        .stdout(Stdio::piped())
        .spawn()
        .expect("sh");
    let mut said = String::new();
    BufReader::new(shell.stdout.take().expect("its output")).read_line(&mut said).expect("read");
    assert_eq!(latch.raise(detail("first")).0.children_killed, 3, "a shell and what it has started");
    assert_eq!(latch.raise(detail("by another way")).0.children_killed, 3);
    assert!(leader.wait().is_ok() && shell.wait().is_ok());
    drop(group);
    latch.reset().expect("reset");
    assert_eq!(latch.raise(detail("another stop")).0.children_killed, 0);
}

#[test]
fn a_stop_gets_its_words_later_and_no_other_stop_gets_them() {
    let latch = StopLatch::in_memory();
    let detail =
        |reason: &str| StopDetail { reason: reason.into(), by: "http".into(), at: Some(Timestamp::UNIX_EPOCH) };
    let first = detail("POST /v1/stop");
    assert_eq!(latch.explain(&first, "smoke".into()), None, "it isn't stopped");
    assert!(!latch.is_stopped());
    let _ = latch.raise(first.clone());
    assert_eq!(latch.explain(&first, "smoke".into()), Some(detail("smoke")));
    assert_eq!(latch.detail(), Some(detail("smoke")));
    assert_eq!(latch.explain(&first, "fire".into()), Some(detail("smoke")), "it has its words");
    latch.reset().expect("reset");
    assert_eq!(latch.explain(&detail("smoke"), "fire".into()), None);
    assert!(!latch.is_stopped() && latch.detail().is_none());
}
