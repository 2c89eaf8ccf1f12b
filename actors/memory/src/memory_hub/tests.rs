use std::time::Duration;

use jiff::SignedDuration;
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::percept::{Disposition, Percept, SalientPercept};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::sleep::{EndSession, SessionEnded, SessionEnding, SessionStarted};
use maxim_bus::units::{Novelty, Salience};
use maxim_bus::{Inbox, Trust};

use super::{HubSettings, MemoryHub};
use maxim_region::rig::{Rig, ear};

fn percept() -> SalientPercept {
    SalientPercept {
        percept: Percept::from_outside("http", "anna", "hello".into(), false, Trust::Owner),
        disposition: Disposition::Proceed,
        salience: Salience::clamped(0.9),
        novelty: Novelty::clamped(0.1),
    }
}

fn rig() -> Rig<MemoryHub> {
    let settings = HubSettings { run: "1".into(), idle: SignedDuration::from_mins(30) };
    Rig::new(settings, |bus, probe: &std::sync::Arc<Inbox>| {
        ear::<SessionStarted>(bus, probe);
        ear::<SessionEnded>(bus, probe);
        ear::<StatsReported>(bus, probe);
    })
}

fn endings(rig: &mut Rig<MemoryHub>) -> Vec<(SessionEnding, u64)> {
    rig.heard::<SessionEnded>().into_iter().map(|ended| (ended.why, ended.percepts)).collect()
}

#[test]
fn a_session_lasts_until_nothing_is_perceived_for_half_an_hour() {
    let mut rig = rig();
    rig.send(percept());
    assert_eq!(rig.heard::<SessionStarted>().len(), 1);
    rig.pass(Duration::from_secs(20 * 60));
    rig.send(percept());
    rig.pass(Duration::from_secs(29 * 60));
    assert_eq!(endings(&mut rig), []);
    rig.pass(Duration::from_secs(60));
    assert_eq!(endings(&mut rig), [(SessionEnding::Idle, 2)]);
    rig.pass(Duration::from_secs(86_400));
    assert_eq!(endings(&mut rig), [], "it ends once");
}

#[test]
fn what_left_its_layer_is_counted_once_however_often_it_is_told() {
    let mut rig = rig();
    let gone = |again| RecordsRemoved { layer: Layer::Hippocampus, ids: vec!["e".into()], forgotten: true, again };
    for again in [false, true, true] {
        rig.send(gone(again));
    }
    rig.send(ReportStats {});
    assert_eq!(rig.heard::<StatsReported>()[0].counts["removed"], 1);
}

#[test]
fn a_session_ends_on_request_and_the_next_percept_begins_another() {
    let mut rig = rig();
    rig.send(EndSession { by: "anna".into() });
    assert_eq!(endings(&mut rig), [], "there was none");
    rig.send(percept());
    rig.send(EndSession { by: "anna".into() });
    assert_eq!(endings(&mut rig), [(SessionEnding::Asked, 1)]);
    rig.send(percept());
    assert_eq!(rig.heard::<SessionStarted>().len(), 1);
}

#[test]
fn a_session_outlives_a_restart_of_its_room_but_not_of_the_process() {
    let mut rig = rig();
    rig.send(percept());
    rig.crash();
    rig.run();
    assert_eq!(endings(&mut rig), [], "the process still runs");
    rig.restart(HubSettings { run: "2".into(), idle: SignedDuration::from_mins(30) });
    rig.run();
    assert_eq!(endings(&mut rig), [(SessionEnding::Killed, 1)], "a killed session is ended at the next start");
}
