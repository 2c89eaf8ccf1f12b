//! Any history of an inbox, compared with a simple slow list.

use maxim_bus::{Delivery, Epoch, Inbox, Lane};
use proptest::prelude::*;

use crate::common::{Command, Frame, Word, delivery, said};

#[derive(Clone, Debug)]
enum Act {
    Word,
    Command,
    Frame(u8),
    Take,
    Done,
    GiveBack(bool),
    Failed,
    Seize,
    TakeOver,
    /// The former incarnation acts, which must have no effect.
    Ghost,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Word),
        1 => Just(Act::Command),
        3 => (0u8..3).prop_map(Act::Frame),
        6 => Just(Act::Take),
        4 => Just(Act::Done),
        1 => any::<bool>().prop_map(Act::GiveBack),
        1 => Just(Act::Failed),
        1 => Just(Act::Seize),
        1 => Just(Act::TakeOver),
        1 => Just(Act::Ghost),
    ]
}

/// A waiting message: its content, its policy, and its failed attempts.
#[derive(Clone, Debug, PartialEq)]
struct Mail {
    text: String,
    kind: Kind,
    attempts: u32,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Control,
    Plain,
    Latest(u8),
}

#[derive(Default)]
struct Naive {
    control: Vec<Mail>,
    data: Vec<Mail>,
    leased: Option<Mail>,
    conflated: u64,
}

impl Naive {
    fn push(&mut self, text: String, kind: Kind) {
        let mail = Mail { text, kind: kind.clone(), attempts: 0 };
        match kind {
            Kind::Control => self.control.push(mail),
            Kind::Plain => self.data.push(mail),
            Kind::Latest(_) => match self.data.iter_mut().find(|waiting| waiting.kind == mail.kind) {
                Some(waiting) => {
                    *waiting = mail;
                    self.conflated += 1;
                }
                None => self.data.push(mail),
            },
        }
    }

    fn take(&mut self) -> Option<Mail> {
        if self.leased.is_some() {
            return None;
        }
        let from = if self.control.is_empty() { &mut self.data } else { &mut self.control };
        let taken = if from.is_empty() { return None } else { from.remove(0) };
        self.leased = Some(taken.clone());
        Some(taken)
    }

    fn fail(&mut self) -> Option<Mail> {
        let leased = self.leased.as_mut()?;
        leased.attempts += 1;
        Some(leased.clone())
    }

    fn put_back(&mut self, failed: bool) {
        let Some(mut mail) = self.leased.take() else { return };
        mail.attempts += u32::from(failed);
        if mail.kind == Kind::Control {
            self.control.insert(0, mail);
        } else {
            // A message that was taken once is not conflated any more.
            self.data.insert(0, Mail { kind: Kind::Plain, ..mail });
        }
    }
}

fn seen(taken: Option<(Lane, Delivery)>) -> Option<(Lane, String, u32)> {
    taken.map(|(lane, delivery)| (lane, said(&delivery), delivery.attempts))
}

fn expected(mail: Option<Mail>) -> Option<(Lane, String, u32)> {
    mail.map(|mail| (if mail.kind == Kind::Control { Lane::Control } else { Lane::Data }, mail.text, mail.attempts))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_inbox_behaves_like_the_naive_list(acts in prop::collection::vec(act(), 1..120)) {
        let inbox = Inbox::new("room");
        let mut epoch = Epoch(1);
        inbox.seize(epoch);
        let mut naive = Naive::default();
        for (n, act) in acts.into_iter().enumerate() {
            let n = n as u32;
            let mut push = |delivery: Delivery, kind| {
                naive.push(said(&delivery), kind);
                inbox.push(delivery);
            };
            match act {
                Act::Word => push(delivery(0, Word(n)), Kind::Plain),
                Act::Command => push(delivery(0, Command(n)), Kind::Control),
                Act::Frame(key) => push(delivery(0, Frame(key, n)), Kind::Latest(key)),
                Act::Take => prop_assert_eq!(seen(inbox.take(epoch)), expected(naive.take())),
                Act::Done => {
                    inbox.done(epoch);
                    naive.leased = None;
                }
                Act::GiveBack(failed) => {
                    inbox.give_back(epoch, failed);
                    naive.put_back(failed);
                }
                Act::Failed => prop_assert_eq!(seen(inbox.failed(epoch)), expected(naive.fail())),
                Act::Seize => {
                    epoch = Epoch(epoch.0 + 1);
                    inbox.seize(epoch);
                    naive.put_back(true);
                }
                Act::TakeOver => {
                    epoch = Epoch(epoch.0 + 1);
                    prop_assert_eq!(seen(inbox.take_over(epoch)), expected(naive.fail()));
                }
                Act::Ghost => {
                    let ghost = Epoch(epoch.0 - 1);
                    prop_assert!(inbox.take(ghost).is_none());
                    prop_assert!(inbox.failed(ghost).is_none());
                    inbox.done(ghost);
                    inbox.give_back(ghost, true);
                }
            }
            let counters = inbox.counters();
            prop_assert_eq!(counters.depth, naive.control.len() + naive.data.len());
            prop_assert_eq!(counters.conflated, naive.conflated);
        }
    }
}
