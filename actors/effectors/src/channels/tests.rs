//! A channel whose actor fails: waiting callers are told, and nothing is left behind.

use std::sync::Arc;
use std::time::Duration;

use maxim_bus::latch::StopLatch;
use maxim_bus::signals::percept::{Inbound, InboundAccepted};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{
    AgentId, BusBuilder, Delivery, Envelope, Epoch, Inbox, Lsn, MessageId, Meta, Signal, Trust, VirtualClock,
};

use super::*;
use crate::door::Door;
use maxim_language::stop_phrase::StopGrammar;
use maxim_region::rig::{ear, monday_morning};
use maxim_region::{EffectorPost, EffectorStepper, Frame, Heart, Stepper, Supervision, SupervisionSettings, WardKind};
use maxim_store::StateStore;

struct Bench {
    desk: Arc<Desk>,
    stepper: EffectorStepper<ChannelActor<Http>>,
    inbox: Arc<Inbox>,
    probe: Arc<Inbox>,
    heart: Arc<Heart>,
    _store: StateStore,
}

fn bench() -> Bench {
    let mut wires = BusBuilder::default();
    let card = ChannelActor::<Http>::card();
    let inbox = card.enter(&mut wires);
    let probe = wires.inbox("probe");
    ear::<Inbound>(&mut wires, &probe);
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
    let desk = Desk::new(
        Door::new(frame.clone(), StopGrammar::new::<_, &str>(&["maxim"], &[]), Box::new(|| false)),
        Http::ACTOR,
    );
    let heart = Arc::new(Heart::new(Http::ACTOR, WardKind::Effector, Duration::from_secs(3600)));
    let supervision = Supervision::new(SupervisionSettings::default(), latch);
    let of_actor = Arc::clone(&desk);
    let make = move || ChannelActor::new(Arc::clone(&of_actor));
    let post = EffectorPost::new(frame, Arc::clone(&inbox), card, Arc::clone(&heart), supervision, make);
    let mut stepper = EffectorStepper::new(post);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    stepper.perform_on(&Arc::new(runtime.expect("a runtime")));
    stepper.start().expect("starts");
    Bench { desk, stepper, inbox, probe, heart, _store: store }
}

impl Bench {
    fn deliver<S: Signal>(&mut self, signal: S) {
        let meta = Meta {
            id: MessageId::from_parts(1, 1),
            agent: AgentId::new("bench").expect("a good name"),
            name: S::NAME.into(),
            cause: None,
            correlation: MessageId::from_parts(1, 1),
            at: monday_morning(),
            sender: "probe".into(),
            trust: Trust::Owner,
            to: None,
        };
        let envelope = Arc::new(Envelope::new(meta, Arc::new(signal)));
        self.inbox.push(Delivery { lsn: Lsn(0), envelope, attempts: 0 });
        while self.stepper.step() {}
    }

    fn submitted(&self) -> MessageId {
        let (_, delivery) = self.probe.take(Epoch(0)).expect("it came onto the bus");
        self.probe.done(Epoch(0));
        delivery.envelope.get::<Inbound>().expect("an inbound message").id
    }
}

fn hello() -> Submission {
    Submission {
        channel: "http".into(),
        sender: "anna".into(),
        body: "hello".into(),
        provider_id: None,
        trust: Trust::Owner,
    }
}

fn ended(turn: MessageId) -> TurnEnded {
    TurnEnded {
        turn,
        channel: "http".into(),
        reply: None,
        spoken: true,
        actions: vec![],
        lost: false,
        decided: None,
        rests_on: Vec::new(),
    }
}

#[test]
fn who_waits_for_a_lost_acknowledgement_is_told_at_once() {
    let mut bench = bench();
    let mut told = bench.desk.submit(hello());
    let inbound = bench.submitted();
    bench.heart.poison(InboundAccepted::NAME, 1);
    let percept = MessageId::from_parts(2, 2);
    bench.deliver(InboundAccepted { inbound, percept, channel: "http".into(), repeated: false });
    let why = told.try_recv().expect("told").expect_err("lost");
    assert!(why.contains("send it again with the same provider_id"), "{why}");
    assert_eq!(bench.desk.waiting(), (0, 0));
}

#[test]
fn who_waits_for_a_lost_end_of_a_turn_is_told_at_once() {
    let mut bench = bench();
    let turn = MessageId::from_parts(3, 3);
    let (mut first, mut second) = (bench.desk.turn(turn), bench.desk.turn(turn));
    bench.heart.poison(TurnEnded::NAME, 1);
    bench.deliver(ended(turn));
    for told in [&mut first, &mut second] {
        let why = told.try_recv().expect("told").expect_err("lost");
        assert!(why.contains(&turn.to_string()) && why.contains("maxim why"), "{why}");
    }
    assert_eq!(bench.desk.waiting(), (0, 0));
    // The end of another turn comes as usual.
    let mut other = bench.desk.turn(MessageId::from_parts(4, 4));
    bench.deliver(ended(MessageId::from_parts(4, 4)));
    assert!(other.try_recv().expect("told").is_ok());
}

#[test]
fn entries_of_waiters_who_are_gone_do_not_pile_up() {
    let bench = bench();
    for n in 0..10_000u32 {
        drop(bench.desk.turn(MessageId::from_parts(5, u128::from(n) + 1)));
        drop(bench.desk.submit(hello()));
    }
    let (acknowledgements, turns) = bench.desk.waiting();
    assert!(acknowledgements + turns < 200, "{acknowledgements} and {turns} are left");
}
