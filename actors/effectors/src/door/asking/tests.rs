//! The list of waiters: which waiter gets which answer, and which leaves the list.

use std::time::Duration;

use maxim_bus::latch::StopLatch;
use maxim_bus::signals::lifecycle::PreemptionRequested;
use maxim_bus::signals::recall::ImportEpisodes;
use maxim_bus::{
    AgentId, BusBuilder, Delivery, Envelope, Epoch, Inbox, Lsn, MessageId, Meta, Signal, Trust, VirtualClock,
};

use super::*;
use maxim_language::stop_phrase::StopGrammar;
use maxim_region::rig::{ear, monday_morning};
use maxim_region::{
    Effector, EffectorPost, EffectorStepper, Frame, Heart, Stepper, Supervision, SupervisionSettings, WardKind,
};
use maxim_store::StateStore;

struct Bench {
    door: Arc<Door>,
    stepper: EffectorStepper<DoorKeeper>,
    inbox: Arc<Inbox>,
    probe: Arc<Inbox>,
    heart: Arc<Heart>,
    runtime: Arc<tokio::runtime::Runtime>,
    _store: StateStore,
}

impl Bench {
    fn new() -> Self {
        let mut wires = BusBuilder::default();
        let card = DoorKeeper::card();
        let inbox = card.enter(&mut wires);
        let probe = wires.inbox("probe");
        ear::<PreemptionRequested>(&mut wires, &probe);
        ear::<ImportEpisodes>(&mut wires, &probe);
        let (store, latch) = (StateStore::in_memory(), StopLatch::in_memory());
        let agent = AgentId::new("bench").expect("a good name");
        let frame = Frame {
            agent: agent.clone(),
            bus: Arc::new(wires.build_unchecked()),
            store: store.agent(&agent),
            clock: Arc::new(VirtualClock::at(monday_morning())),
            latch: latch.clone(),
            seed: 7,
            tap: None,
        };
        let door = Door::new(frame.clone(), StopGrammar::new::<_, &str>(&["maxim"], &[]), Box::new(|| false));
        let heart = Arc::new(Heart::new(DOOR, WardKind::Effector, Duration::from_secs(3600)));
        let supervision = Supervision::new(SupervisionSettings::default(), latch);
        let kept = Arc::clone(&door);
        let make = move || DoorKeeper { door: Arc::clone(&kept) };
        let post = EffectorPost::new(frame, Arc::clone(&inbox), card, Arc::clone(&heart), supervision, make);
        let mut stepper = EffectorStepper::new(post);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = Arc::new(runtime.expect("a runtime"));
        stepper.perform_on(&runtime);
        stepper.start().expect("starts");
        Self { door, stepper, inbox, probe, heart, runtime, _store: store }
    }

    /// Asks for an import; returns the question's id.
    fn ask(&self) -> (Question<EpisodesImported>, MessageId) {
        let lines = ImportEpisodes { lines: Vec::new(), all: true, refused: Vec::new(), waits: false };
        let question = self.door.begin(None, lines);
        let (_, delivery) = self.probe.take(Epoch(0)).expect("it came onto the bus");
        self.probe.done(Epoch(0));
        (question, delivery.envelope.meta.id)
    }

    fn deliver<S: Signal>(&mut self, cause: Option<MessageId>, correlation: MessageId, signal: S) {
        let meta = Meta {
            id: MessageId::from_parts(1, 1),
            agent: AgentId::new("bench").expect("a good name"),
            name: S::NAME.into(),
            cause,
            correlation,
            at: monday_morning(),
            sender: "probe".into(),
            trust: Trust::Owner,
            to: None,
        };
        let envelope = Arc::new(Envelope::new(meta, Arc::new(signal)));
        self.inbox.push(Delivery { lsn: Lsn(0), envelope, attempts: 0 });
        while self.stepper.step() {}
    }

    fn answer(&self, question: Question<EpisodesImported>) -> Result<EpisodesImported, Unanswered> {
        self.runtime.block_on(self.door.answer_within(question, Duration::ZERO))
    }
}

fn other() -> MessageId {
    MessageId::from_parts(9, 9)
}

#[test]
fn an_answer_is_known_by_its_question_or_by_the_questions_turn() {
    let mut bench = Bench::new();
    for is_in_one_step in [true, false] {
        let (question, id) = bench.ask();
        let (cause, turn) = if is_in_one_step { (Some(id), other()) } else { (Some(other()), id) };
        bench.deliver(cause, turn, EpisodesImported { kept: 3, ..EpisodesImported::default() });
        assert_eq!(bench.answer(question).expect("an answer").kept, 3);
        assert!(!bench.door.is_awaited());
    }
}

#[test]
fn an_answer_of_another_kind_in_the_same_turn_is_not_taken_for_the_one_that_is_waited_for() {
    let mut bench = Bench::new();
    let (question, id) = bench.ask();
    let request = PreemptionRequested::Reset { by: "anna".into() };
    bench.deliver(Some(id), id, PreemptionChanged { request, cancelled_turns: Vec::new() });
    assert!(bench.door.is_awaited());
    bench.deliver(Some(id), id, EpisodesImported::default());
    assert!(bench.answer(question).is_ok());
}

#[test]
fn who_stops_waiting_leaves_the_list_with_the_next_question() {
    let bench = Bench::new();
    let (first, _) = bench.ask();
    assert!(matches!(bench.answer(first), Err(Unanswered::Late(_))));
    assert!(!bench.door.is_awaited());
    let (second, _) = bench.ask();
    assert_eq!(bench.door.waiters.lock().len(), 1);
    drop(second);
    assert!(!bench.door.is_awaited());
}

#[test]
fn who_waits_for_a_lost_answer_is_told_at_once() {
    let mut bench = Bench::new();
    let (question, id) = bench.ask();
    bench.heart.poison(EpisodesImported::NAME, 1);
    bench.deliver(Some(id), id, EpisodesImported::default());
    assert!(matches!(bench.answer(question), Err(Unanswered::Lost(_))));
}
