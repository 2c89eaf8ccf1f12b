use std::time::Duration;

use maxim_bus::signals::concepts::{Layer, LayerConsolidated};
use maxim_bus::signals::percept::{Disposition, Percept, SalientPercept};
use maxim_bus::signals::promotion::{Promote, PromotionEnded};
use maxim_bus::signals::sleep::{
    EpisodeTally, EpisodesCompressed, EpisodesScored, RequestSleep, ScoreEpisodes, SessionEnded, SessionEnding,
    SleepEnded, SleepReason,
};
use maxim_bus::units::{Novelty, Salience};
use maxim_bus::{MessageId, Trust};

use super::{Consolidation, ConsolidationSettings};
use maxim_region::rig::{Rig, ear, monday_morning};

fn rig() -> Rig<Consolidation> {
    Rig::new(ConsolidationSettings::default(), ear::<SleepEnded>)
}

fn percept() -> SalientPercept {
    SalientPercept {
        percept: Percept::from_outside("http", "anna", "hello".into(), false, Trust::Owner),
        disposition: Disposition::Proceed,
        salience: Salience::clamped(0.9),
        novelty: Novelty::clamped(0.1),
    }
}

fn session_ended() -> SessionEnded {
    let at = monday_morning();
    SessionEnded { session: MessageId::from_parts(0, 9), began: at, last: at, why: SessionEnding::Idle, percepts: 1 }
}

/// The sleep in progress, according to its state.
fn sleep_of(rig: &Rig<Consolidation>) -> Option<MessageId> {
    let state = serde_json::to_value(rig.region()).expect("plain data");
    serde_json::from_value(state["sleep"]["id"].clone()).ok()
}

fn answer_all(rig: &mut Rig<Consolidation>, crash: impl Fn(&mut Rig<Consolidation>, usize)) {
    let sleep = sleep_of(rig).expect("it sleeps");
    let tally = |scored, compressed| EpisodeTally { scored, compressed, ..EpisodeTally::default() };
    crash(rig, 0);
    rig.send(EpisodesScored { sleep, tally: tally(5, 0), done: false });
    crash(rig, 1);
    rig.send(EpisodesScored { sleep, tally: tally(9, 0), done: true });
    crash(rig, 2);
    rig.send(PromotionEnded { created: 2, ..PromotionEnded::default() });
    crash(rig, 3);
    rig.send(EpisodesCompressed { sleep, tally: tally(9, 4), done: true });
    crash(rig, 4);
    rig.send(consolidated(Layer::Atl, false));
    rig.send(consolidated(Layer::AngularGyrus, true));
    crash(rig, 5);
    rig.send(consolidated(Layer::Atl, true));
    crash(rig, 6);
    rig.send(consolidated(Layer::AngularGyrus, true));
}

fn consolidated(layer: Layer, done: bool) -> LayerConsolidated {
    LayerConsolidated { layer, looked_at: 3, compressed: 2, pruned: 1, bytes_before: 90, bytes_after: 50, done }
}

#[test]
fn sleep_goes_through_its_parts_in_order_and_reports() {
    let mut rig = rig();
    rig.send(percept());
    rig.send(session_ended());
    // It pauses after the recent message.
    rig.pass(Duration::from_secs(1));
    answer_all(&mut rig, |_, _| ());
    let ended = rig.heard::<SleepEnded>();
    let report = &ended.first().expect("it ended").report;
    assert_eq!((report.why, report.episodes.scored, report.episodes.compressed), (SleepReason::SessionEnd, 9, 4));
    assert_eq!((report.promoted, report.missing.len(), rig.region().is_asleep()), (2, 0, false));
    // Two steps of one layer and one of the other; an answer out of turn doesn't count.
    let knowledge = report.knowledge;
    assert_eq!((knowledge.compressed, knowledge.pruned, knowledge.bytes_before - knowledge.bytes_after), (6, 3, 120));
}

#[test]
fn a_crash_after_any_step_loses_neither_the_sleep_nor_its_counts() {
    for broken in 0..7 {
        let mut rig = rig();
        rig.send(RequestSleep { by: "anna".into() });
        answer_all(&mut rig, |rig, step| {
            if step == broken {
                rig.crash();
            }
        });
        let ended = rig.heard::<SleepEnded>();
        assert_eq!(ended.len(), 1, "crash after step {broken}");
        assert_eq!((ended[0].report.episodes.compressed, ended[0].askers.len()), (4, 1));
    }
}

#[test]
fn a_percept_makes_it_pause_and_what_is_not_answered_is_asked_again() {
    let mut rig = rig();
    // The open question, and how often it was repeated.
    let asked = |rig: &Rig<Consolidation>| {
        let state = serde_json::to_value(rig.region()).expect("plain data");
        (state["sleep"]["asked"].as_bool(), state["sleep"]["tries"].as_u64())
    };
    rig.send(RequestSleep { by: "anna".into() });
    assert_eq!(asked(&rig), (Some(true), Some(0)));
    let sleep = sleep_of(&rig).expect("it sleeps");
    rig.send(percept());
    rig.send(EpisodesScored { sleep, tally: EpisodeTally::default(), done: false });
    assert_eq!(asked(&rig), (Some(false), Some(0)), "somebody has just spoken");
    rig.pass(Duration::from_secs(1));
    assert_eq!(asked(&rig), (Some(true), Some(0)));
    rig.pass(Duration::from_secs(10));
    assert_eq!(asked(&rig), (Some(true), Some(1)), "no answer: asked again");
}

#[test]
fn another_run_of_the_process_asks_again_at_once() {
    let settings = |run: &str| ConsolidationSettings { run: run.into(), ..ConsolidationSettings::default() };
    let mut rig: Rig<Consolidation> = Rig::new(settings("1"), ear::<ScoreEpisodes>);
    rig.send(RequestSleep { by: "anna".into() });
    assert_eq!(rig.heard::<ScoreEpisodes>().len(), 1);
    rig.crash();
    rig.pass(Duration::ZERO);
    assert_eq!(rig.heard::<ScoreEpisodes>().len(), 0, "the room alone was lost, the answer comes");
    rig.restart(settings("2"));
    rig.pass(Duration::ZERO);
    rig.pass(Duration::ZERO);
    assert_eq!(rig.heard::<ScoreEpisodes>().len(), 1, "once");
}

#[test]
fn a_part_that_nobody_answers_is_left_out_and_told() {
    let mut rig = rig();
    rig.send(RequestSleep { by: "anna".into() });
    for _ in 0..30 {
        rig.pass(Duration::from_secs(10));
    }
    let ended = rig.heard::<SleepEnded>();
    let missing = &ended.first().expect("it ended all the same").report.missing;
    assert_eq!(missing.len(), 5, "{missing:?}");
    assert!(missing[0].contains("scoring"), "{missing:?}");
}

#[test]
fn a_promotion_in_which_a_room_was_not_heard_is_asked_for_twice_more() {
    let unheard = |created| {
        let rooms = vec!["statistician".to_owned()];
        let reason = Some("statistician did not answer in time".to_owned());
        PromotionEnded { created, unheard: rooms, reason, ..PromotionEnded::default() }
    };
    let slept = |answers: Vec<PromotionEnded>| {
        let mut rig: Rig<Consolidation> = Rig::new(ConsolidationSettings::default(), |bus, probe| {
            ear::<SleepEnded>(bus, probe);
            ear::<Promote>(bus, probe);
        });
        rig.send(RequestSleep { by: "anna".into() });
        let sleep = sleep_of(&rig).expect("it sleeps");
        rig.send(EpisodesScored { sleep, tally: EpisodeTally::default(), done: true });
        let mut asked = rig.heard::<Promote>().len();
        for answer in answers {
            rig.send(answer);
            asked += rig.heard::<Promote>().len();
            rig.crash();
        }
        rig.send(EpisodesCompressed { sleep, tally: EpisodeTally::default(), done: true });
        rig.send(consolidated(Layer::Atl, true));
        rig.send(consolidated(Layer::AngularGyrus, true));
        let report = rig.heard::<SleepEnded>().pop().expect("it ended").report;
        (asked, report.promoted, report.missing)
    };
    let heard = PromotionEnded { created: 2, ..PromotionEnded::default() };
    assert_eq!(slept(vec![unheard(1), heard]), (2, 3, Vec::new()), "both have taught");
    let (asked, promoted, missing) = slept(vec![unheard(0), unheard(0), unheard(0)]);
    assert_eq!((asked, promoted, missing.len()), (3, 0, 1), "it sleeps on without: {missing:?}");
    assert!(missing[0].contains("statistician"), "{missing:?}");
}

#[test]
fn it_sleeps_every_night_once_it_has_lived() {
    let mut rig = rig();
    rig.pass(Duration::from_secs(3 * 86_400));
    assert!(!rig.region().is_asleep(), "nothing was ever perceived");
    rig.send(percept());
    rig.pass(Duration::from_secs(18 * 3600 - 1));
    assert!(!rig.region().is_asleep());
    rig.pass(Duration::from_secs(1));
    assert!(rig.region().is_asleep(), "it is three at night");
    answer_all(&mut rig, |_, _| ());
    let ended = rig.heard::<SleepEnded>();
    assert_eq!(ended.iter().map(|ended| ended.report.why).collect::<Vec<_>>(), [SleepReason::Schedule]);
    rig.pass(Duration::from_secs(86_400));
    assert!(rig.region().is_asleep(), "and the next night again");
}

#[test]
fn late_answers_of_another_sleep_change_nothing() {
    let mut rig = rig();
    rig.send(RequestSleep { by: "anna".into() });
    let before = rig.state_hash();
    let other = MessageId::from_parts(1, 77);
    rig.send(EpisodesScored { sleep: other, tally: EpisodeTally::default(), done: true });
    rig.send(EpisodesCompressed { sleep: other, tally: EpisodeTally::default(), done: true });
    assert_eq!(rig.state_hash(), before);
}
