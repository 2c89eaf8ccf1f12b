//! A hard stop under load: whatever the brain is doing, the next effect is refused.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use maxim_actors::region::{InputRecord, Tap, WardState};
use maxim_bus::latch::{EffectKind, LatchState};
use maxim_bus::signals::lifecycle::{PreemptionChanged, PreemptionRequested};
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{Envelope, Lsn, Trust};

use super::live::{LIMIT, Live, Plan, durable_store};

/// A limit on behaviour, with reserve for a busy machine.
const AT_ONCE: Duration = Duration::from_secs(1);
const QUEUED: usize = 100_000;
/// Turns in flight at once.
const CREDIT: usize = 4;

/// When the rooms heard the stop, and the actions after it.
#[derive(Default)]
struct Watch {
    stopped: Mutex<Option<Instant>>,
    ended: AtomicU64,
    effects: AtomicU64,
}

impl Tap for Watch {
    fn input(&self, _input: InputRecord) {}

    fn emitted(&self, _lsn: Lsn, envelope: &Arc<Envelope>) {
        if let Some(PreemptionChanged { request: PreemptionRequested::Stop(_), .. }) = envelope.get() {
            self.stopped.lock().expect("no panic inside").get_or_insert_with(Instant::now);
        }
        self.ended.fetch_add(u64::from(envelope.get::<TurnEnded>().is_some()), Ordering::SeqCst);
        let done = envelope.get::<ToolResult>().is_some_and(|result| result.success == Some(true));
        self.effects.fetch_add(u64::from(done), Ordering::SeqCst);
    }
}

fn stop(live: &Live) -> Duration {
    let begun = Instant::now();
    let (raised, _) = live.agent.outside.door.stop("smoke".into(), "anna".into());
    let took = begun.elapsed();
    assert!(raised.first);
    assert_eq!(live.latch.state(), LatchState::Stopped);
    assert!(live.latch.permit(EffectKind::Other).is_err());
    assert!(live.latch.permit(EffectKind::Motion).is_err());
    assert!(took < AT_ONCE, "{took:?}");
    took
}

#[test]
fn a_stop_overtakes_a_hundred_thousand_queued_percepts() {
    let watch = Arc::new(Watch::default());
    let (_folder, store) = durable_store();
    let live =
        Live::start(Plan { store, live_clock: true, tap: Some(Arc::clone(&watch) as Arc<dyn Tap>), ..Plan::default() });
    live.say("please create a file before.txt with the text before");
    let waiting: Vec<_> = (0..QUEUED)
        .map(|n| live.submit(&format!("please create a file f{n}.txt with the text number {n}"), Trust::Owner))
        .collect();
    let queued = live.agent.frame.bus.inbox("gateway").expect("its inbox").counters().depth;
    let said = Instant::now();
    let took = stop(&live);
    let stopped = live.wait("the rooms take the stop", || *watch.stopped.lock().expect("no panic inside"));
    let heard = stopped.duration_since(said);
    println!("stop with {queued} percepts at the gateway: latch {took:?}, in the rooms after {heard:?}");
    assert!(queued > QUEUED / 10, "the load was there: {queued}");
    assert!(heard < AT_ONCE, "{heard:?}");
    // An action with an earlier permit may still end; none begins.
    live.within(LIMIT, "turns go on, without effects", || {
        let before = (watch.ended.load(Ordering::SeqCst), watch.effects.load(Ordering::SeqCst));
        std::thread::sleep(Duration::from_millis(100));
        let after = (watch.ended.load(Ordering::SeqCst), watch.effects.load(Ordering::SeqCst));
        println!("within 100 ms {} turns ended, {} with an effect", after.0 - before.0, after.1 - before.1);
        after.0 > before.0 + 5 && after.1 == before.1
    });
    drop(waiting);
}

#[test]
fn turns_go_on_while_a_backlog_comes_in() {
    let watch = Arc::new(Watch::default());
    let (_folder, store) = durable_store();
    let live = Live::start(Plan {
        store,
        live_clock: true,
        tap: Some(Arc::clone(&watch) as Arc<dyn Tap>),
        settings: Box::new(|rooms| rooms.perception.gateway.credit = CREDIT),
        ..Plan::default()
    });
    let _waiting: Vec<_> = (0..QUEUED).map(|n| live.submit(&format!("message {n}"), Trust::Owner)).collect();
    let queued = || live.agent.frame.bus.inbox("gateway").expect("its inbox").counters().depth;
    let left = live.wait("more turns end than had credit at first", || {
        let depth = queued();
        (watch.ended.load(Ordering::SeqCst) > 2 * CREDIT as u64).then_some(depth)
    });
    assert!(
        left > QUEUED / 4,
        "with {left} before it the gateway heard that turns had ended before it had taken in all that came"
    );
}

fn alive(mark: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    processes
        .filter(|process| {
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ").starts_with(&format!("sleep {mark}"))
        })
        .count()
}

#[test]
fn a_stop_kills_a_sleeping_child_and_its_children() {
    let live = Live::start(Plan { live_clock: true, ..Plan::default() });
    let mark = format!("31{}", std::process::id());
    let mut accepted = live.submit(&format!("run sleep {mark} & sleep {mark}"), Trust::Owner);
    let accepted = live.wait("the acknowledgement", || accepted.try_recv().ok()).expect("accepted");
    live.eventually("both children sleep", || alive(&mark) == 2);
    let begun = Instant::now();
    stop(&live);
    live.eventually("both are gone", || alive(&mark) == 0);
    let took = begun.elapsed();
    println!("a child and its child are gone {took:?} after the stop");
    assert!(took < AT_ONCE, "{took:?}");
    let ended = live.end_of(accepted.percept);
    assert!(ended.actions.iter().all(|action| action.status != "done"), "{ended:?}");
}

#[test]
fn a_stop_does_not_wait_for_a_stalled_disk() {
    let watch = Arc::new(Watch::default());
    let (_folder, store) = durable_store();
    let live = Live::start(Plan {
        store: store.clone(),
        live_clock: true,
        tap: Some(Arc::clone(&watch) as Arc<dyn Tap>),
        ..Plan::default()
    });
    live.say("please create a file before.txt with the text before");
    store.faults().stall();
    let mut late = live.submit("please create a file during.txt with the text during", Trust::Owner);
    let said = Instant::now();
    let took = stop(&live);
    let stopped = live.wait("the rooms take the stop", || *watch.stopped.lock().expect("no panic inside"));
    let heard = stopped.duration_since(said);
    println!("stop with a stalled disk: latch {took:?}, in the rooms after {heard:?}");
    assert!(heard < AT_ONCE, "{heard:?}");
    assert!(late.try_recv().is_err(), "nothing is acknowledged that is not on disk");
    assert!(live.hearts().iter().all(|heart| heart.state() == WardState::Running));
    store.faults().restore();
    live.wait("it is acknowledged once the disk works", || late.try_recv().ok()).expect("accepted");
    assert!(!live.folder.path().join("during.txt").exists(), "what waited for the disk found the latch set");
}
