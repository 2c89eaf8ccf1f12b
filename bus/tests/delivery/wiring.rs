//! Cards that the bus refuses.

use maxim_bus::{BusBuilder, Stage, WiringError};

use crate::common::{Deed, Word};

fn errors(bus: BusBuilder) -> Vec<WiringError> {
    bus.build().err().expect("it is refused")
}

#[test]
fn what_goes_back_must_be_listed_as_going_back() {
    let wired = |back| {
        let mut bus = BusBuilder::default();
        let room = bus.inbox("salience");
        bus.hears::<Deed>(&room, Stage::Perception, back);
        bus.emits::<Deed>("executor", Stage::Action);
        bus
    };
    let (from, to) = (Stage::Action, Stage::Perception);
    assert_eq!(errors(wired(false)), [WiringError::GoesBack { signal: "Deed", from, hearer: "salience", to }]);
    assert!(wired(true).build().is_ok());
}

#[test]
fn a_room_says_only_what_belongs_to_its_stage() {
    let mut bus = BusBuilder::default();
    let room = bus.inbox("tracker");
    bus.hears::<Deed>(&room, Stage::Action, false);
    bus.emits::<Deed>("gateway", Stage::Perception);
    let (stage, of) = (Stage::Perception, Stage::Action);
    assert_eq!(errors(bus), [WiringError::WrongStage { emitter: "gateway", stage, signal: "Deed", of }]);
}

#[test]
fn what_is_said_must_be_heard() {
    let mut bus = BusBuilder::default();
    bus.emits::<Word>("gateway", Stage::Perception);
    assert_eq!(errors(bus), [WiringError::Unheard { signal: "Word", emitter: "gateway" }]);
}

#[test]
fn what_is_heard_must_be_said() {
    let mut bus = BusBuilder::default();
    let room = bus.inbox("salience");
    bus.hears::<Word>(&room, Stage::Perception, false);
    assert_eq!(errors(bus), [WiringError::Unspoken { signal: "Word", hearer: "salience" }]);
}

#[test]
fn no_two_rooms_have_one_name() {
    let mut bus = BusBuilder::default();
    bus.inbox("salience");
    bus.inbox("salience");
    assert_eq!(errors(bus), [WiringError::Twice("salience")]);
}

#[test]
fn control_goes_anywhere_and_all_errors_are_told_at_once() {
    let mut bus = BusBuilder::default();
    let room = bus.inbox("salience");
    bus.hears::<crate::common::Command>(&room, Stage::Perception, false);
    bus.emits::<crate::common::Command>("executor", Stage::Action);
    bus.emits::<Word>("gateway", Stage::Perception);
    bus.emits::<Deed>("gateway", Stage::Perception);
    assert_eq!(errors(bus).len(), 3, "a wrong stage and two that nobody hears");
}
