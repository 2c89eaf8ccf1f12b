use maxim_bus::signals::bridges::EnergyChanged;
use maxim_bus::{MessageId, Meta, RegionName, Signal, Stage, Trust};

use super::dead_letter::{LETTER_BYTES, LETTERS};
use super::*;
use crate::Hears;
use crate::rig::Rig;
use crate::wiring;

/// Keeps the first message that it hears, and ignores the others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct First(bool);

wiring!(First { hears: [EnergyChanged], back: [], emits: [] });

impl Region for First {
    const NAME: RegionName = "first";
    const STAGE: Stage = Stage::Memory;
    type Event = ();
    type Settings = ();

    fn apply(&mut self, (): ()) {
        self.0 = true;
    }
}

impl Hears<EnergyChanged> for First {
    fn hear(&self, _changed: &EnergyChanged, pulse: &mut Pulse<'_, Self>) {
        if !self.0 {
            pulse.keep(());
        }
    }
}

fn full() -> EnergyChanged {
    EnergyChanged { level: 1.0, scarcest: String::new() }
}

#[test]
fn what_leads_to_nothing_is_written_only_now_and_then() {
    let mut rig: Rig<First> = Rig::new((), |_, _| ());
    let stood = |rig: &Rig<First>| (rig.store().head(), rig.store().cursors(First::NAME).data);
    rig.send_at(Lsn(10), full());
    assert_eq!(stood(&rig), (Lsn(1), Lsn(10)));
    for lsn in 11..11 + u64::from(UNTOLD) {
        rig.send_at(Lsn(lsn), full());
    }
    assert_eq!(stood(&rig), (Lsn(1), Lsn(10)), "no trace of them");
    rig.send_at(Lsn(1_000), full());
    assert_eq!(stood(&rig), (Lsn(2), Lsn(1_000)), "but the room says how far it is");
}

#[test]
fn the_newest_dead_letters_are_kept_and_of_each_no_more_than_fits() {
    let rig: Rig<First> = Rig::new((), |_, _| ());
    let post = rig.post();
    let long = EnergyChanged { level: 1.0, scarcest: "é".repeat(LETTER_BYTES) };
    for number in 0..LETTERS as u128 + 3 {
        let id = MessageId::from_parts(number as u64, number);
        let meta = Meta {
            id,
            agent: post.frame.agent.clone(),
            name: EnergyChanged::NAME.into(),
            cause: None,
            correlation: id,
            at: post.frame.clock.now(),
            sender: "probe".into(),
            trust: Trust::Owner,
            to: None,
        };
        let envelope = Arc::new(Envelope::new(meta, Arc::new(long.clone())));
        let delivery = Delivery { lsn: Lsn(0), envelope, attempts: 2 };
        let buried = Seat::bury(post, post.heart.epoch(), Lane::Data, &delivery, "a test");
        assert_eq!(buried, Step::Done);
    }
    let kept = rig.records().prefixed(DeadLetter::PREFIX.as_bytes(), usize::MAX);
    let kept: Vec<DeadLetter> =
        kept.iter().map(|(_, bytes)| serde_json::from_slice(bytes).expect("a letter")).collect();
    assert_eq!(kept.len(), LETTERS);
    assert_eq!(kept[0].id, MessageId::from_parts(3, 3), "the oldest went");
    assert!(kept.iter().all(|letter| letter.content.len() <= LETTER_BYTES && letter.content.contains('é')));
}

/// Acts three times by itself, at the same time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Thrice(u32);

wiring!(Thrice { hears: [], back: [], emits: [EnergyChanged] });

impl Region for Thrice {
    const NAME: RegionName = "thrice";
    const STAGE: Stage = Stage::Perception;
    type Event = ();
    type Settings = ();

    fn apply(&mut self, (): ()) {
        self.0 += 1;
    }

    fn next_deadline(&self, (): &()) -> Option<Timestamp> {
        (self.0 < 3).then_some(Timestamp::UNIX_EPOCH)
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(());
        pulse.emit(full());
    }
}

#[test]
fn what_is_said_on_several_deadlines_at_one_time_has_ids_of_its_own() {
    let mut rig: Rig<Thrice> = Rig::new((), crate::rig::ear::<EnergyChanged>);
    rig.run();
    let said: std::collections::BTreeSet<MessageId> =
        rig.heard_with::<EnergyChanged>().into_iter().map(|(id, _)| id).collect();
    assert_eq!(said.len(), 3);
}

/// Decides on a number that JSON can't express.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Boundless(f64);

wiring!(Boundless { hears: [EnergyChanged], back: [], emits: [] });

impl Region for Boundless {
    const NAME: RegionName = "boundless";
    const STAGE: Stage = Stage::Memory;
    type Event = f64;
    type Settings = ();

    fn apply(&mut self, number: f64) {
        self.0 = number;
    }
}

impl Hears<EnergyChanged> for Boundless {
    fn hear(&self, changed: &EnergyChanged, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(1.0 / (1.0 - changed.level));
    }
}

#[test]
#[should_panic(expected = "boundless writes down what can't be read again")]
fn a_number_that_is_not_finite_is_found_where_it_is_written() {
    let mut rig: Rig<Boundless> = Rig::new((), |_, _| ());
    rig.send(full());
}
