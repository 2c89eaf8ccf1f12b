use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use maxim_bus::latch::StopDetail;
use maxim_bus::signals::lifecycle::{PreemptionChanged, PreemptionRequested};
use maxim_bus::signals::outbox::{
    Attempted, ChangeOutbox, DeliveryEnded, Medium, OutboxChanged, OutboxEntry, OutboxState, OutboxWish, SendAttempted,
    SendMessage,
};
use maxim_bus::signals::outcome::Outbound;
use maxim_bus::signals::percept::Percept;
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{AllowList, MessageId, Trust};

use super::model::OPEN;
use super::*;
use maxim_region::rig::{Rig, ear, monday_morning};
use maxim_tools::messaging::{ChannelRules, OutboxRules};

fn settings(boot: u64, repeats_unknown: bool) -> OutboxSettings {
    let rules = ChannelRules { recipients: AllowList::new(["bo", "cleo"]), per_minute: 600, repeats_unknown };
    let channels = ["mqtt", "twilio"].map(|name| (name.to_owned(), rules.clone()));
    OutboxSettings::new(boot, Arc::new(OutboxRules { channels: BTreeMap::from(channels) }))
}

fn rig() -> Rig<Outbox> {
    rig_with(settings(1, false))
}

fn rig_with(settings: OutboxSettings) -> Rig<Outbox> {
    Rig::new(settings, |bus, probe| {
        ear::<SendMessage>(bus, probe);
        ear::<DeliveryEnded>(bus, probe);
        ear::<OutboxChanged>(bus, probe);
    })
}

fn id(n: u128) -> MessageId {
    MessageId::from_parts(7, n)
}

fn outbound(n: u128, channel: &str, recipient: &str) -> Outbound {
    let text = format!("message {n}");
    Outbound {
        turn: id(999),
        channel: channel.into(),
        recipient: recipient.into(),
        text,
        action: Some(id(n)),
        tool: Some("send_message".into()),
        medium: Medium::Text,
    }
}

fn told(wish: &SendMessage, outcome: Attempted) -> SendAttempted {
    SendAttempted { entry: wish.entry, attempt: wish.attempt, channel: wish.channel.clone(), outcome }
}

fn delivered() -> Attempted {
    Attempted::Delivered { provider_id: Some("SM1".into()) }
}

fn not_now(retry_after_s: Option<u64>) -> Attempted {
    Attempted::NotNow { why: "the server is busy".into(), retry_after_s }
}

fn entry(rig: &Rig<Outbox>, n: u128) -> OutboxEntry {
    rig.records().get(format!("{ENTRIES}{}", id(n)).as_bytes()).expect("an entry")
}

fn one(rig: &mut Rig<Outbox>) -> SendMessage {
    let mut sent = rig.heard::<SendMessage>();
    assert_eq!(sent.len(), 1, "{sent:?}");
    sent.remove(0)
}

fn stop() -> PreemptionChanged {
    changed(PreemptionRequested::Stop(StopDetail {
        reason: "said".into(),
        by: "anna".into(),
        at: Some(monday_morning()),
    }))
}

fn changed(request: PreemptionRequested) -> PreemptionChanged {
    PreemptionChanged { request, cancelled_turns: vec![] }
}

#[test]
fn a_message_is_sent_once_and_its_delivery_is_kept() {
    let mut rig = rig();
    rig.send(outbound(1, "mqtt", "bo"));
    rig.send(outbound(1, "mqtt", "bo"));
    let wish = one(&mut rig);
    assert_eq!((wish.attempt, wish.text.as_str()), (1, "message 1"));
    assert_eq!(entry(&rig, 1).state, OutboxState::Sending, "on disk before the attempt");
    rig.send(told(&wish, delivered()));
    rig.send(told(&wish, delivered()));
    rig.pass(Duration::from_secs(100_000));
    assert_eq!(rig.heard::<SendMessage>(), []);
    let entry = entry(&rig, 1);
    assert_eq!((entry.state, entry.provider_id.as_deref()), (OutboxState::Delivered, Some("SM1")));
}

#[test]
fn what_the_provider_did_not_take_is_tried_again_and_what_it_refused_is_not() {
    let mut rig = rig();
    rig.send(outbound(1, "mqtt", "bo"));
    let wish = one(&mut rig);
    rig.send(told(&wish, not_now(Some(300))));
    rig.pass(Duration::from_secs(299));
    assert_eq!(rig.heard::<SendMessage>(), [], "not before the provider wants it");
    rig.pass(Duration::from_secs(2));
    let again = one(&mut rig);
    assert_eq!((again.entry, again.attempt), (wish.entry, 2));
    rig.send(told(&again, Attempted::Refused { why: "no such number".into() }));
    rig.pass(Duration::from_secs(100_000));
    assert_eq!(rig.heard::<SendMessage>(), []);
    let entry = entry(&rig, 1);
    assert_eq!((entry.state, entry.why.as_deref()), (OutboxState::Failed, Some("no such number")));
}

#[test]
fn after_a_day_without_success_a_message_has_failed() {
    let mut rig = rig();
    rig.send(outbound(1, "mqtt", "bo"));
    let mut attempts = 0;
    while entry(&rig, 1).state != OutboxState::Failed {
        for wish in rig.heard::<SendMessage>() {
            attempts = wish.attempt;
            rig.send(told(&wish, not_now(None)));
        }
        rig.pass(Duration::from_secs(600));
        assert!(attempts < 1000, "it never gives up");
    }
    assert!(attempts > 50, "{attempts}");
    assert!(entry(&rig, 1).why.is_some_and(|why| why.contains("given up") && why.contains("busy")));
}

#[test]
fn messages_to_one_recipient_keep_their_order_and_others_do_not_wait_for_them() {
    let mut rig = rig();
    for (n, recipient) in [(1, "bo"), (2, "bo"), (3, "cleo")] {
        rig.send(outbound(n, "mqtt", recipient));
    }
    let first = one(&mut rig);
    assert_eq!(first.text, "message 1", "one at a time on a channel");
    rig.send(told(&first, not_now(Some(60))));
    let other = one(&mut rig);
    assert_eq!(other.text, "message 3");
    rig.send(told(&other, delivered()));
    assert_eq!(rig.heard::<SendMessage>(), [], "the second waits for the first");
    rig.pass(Duration::from_secs(61));
    let again = one(&mut rig);
    assert_eq!(again.text, "message 1");
    rig.send(told(&again, delivered()));
    assert_eq!(one(&mut rig).text, "message 2");
}

#[test]
fn an_attempt_that_a_crash_cut_off_is_unknown_and_is_repeated_by_a_person_alone() {
    let mut rig = rig();
    rig.send(outbound(1, "mqtt", "bo"));
    let wish = one(&mut rig);
    rig.restart(settings(2, false));
    rig.pass(Duration::from_secs(100_000));
    assert_eq!(rig.heard::<SendMessage>(), []);
    assert_eq!(entry(&rig, 1).state, OutboxState::Unknown);
    // Its report was in the journal after all.
    rig.send(told(&wish, delivered()));
    assert_eq!(entry(&rig, 1).state, OutboxState::Delivered);

    rig.send(outbound(2, "mqtt", "bo"));
    one(&mut rig);
    rig.restart(settings(3, false));
    rig.run();
    rig.send(ChangeOutbox { entry: id(2), wish: OutboxWish::Retry, by: "anna".into() });
    assert_eq!(one(&mut rig).attempt, 2);
}

#[test]
fn a_channel_may_be_set_up_to_repeat_what_is_unknown() {
    let mut rig = rig_with(settings(1, true));
    rig.send(outbound(1, "mqtt", "bo"));
    one(&mut rig);
    rig.restart(settings(2, true));
    rig.run();
    rig.pass(Duration::from_secs(10));
    assert_eq!(one(&mut rig).attempt, 2);
}

#[test]
fn a_channel_that_never_tells_ends_in_unknown() {
    let mut rig = rig();
    rig.send(outbound(1, "mqtt", "bo"));
    rig.pass(Duration::from_secs(121));
    assert_eq!(entry(&rig, 1).state, OutboxState::Unknown);
}

#[test]
fn a_stop_holds_what_waits_and_a_reset_does_not_send_it() {
    let mut rig = rig();
    rig.send(outbound(1, "mqtt", "bo"));
    rig.send(outbound(2, "mqtt", "bo"));
    let wish = one(&mut rig);
    rig.send(stop());
    rig.send(outbound(3, "mqtt", "bo"));
    rig.send(told(&wish, not_now(None)));
    rig.crash();
    rig.pass(Duration::from_secs(1000));
    let retry = ChangeOutbox { entry: id(2), wish: OutboxWish::Retry, by: "anna".into() };
    rig.send(retry.clone());
    let refused = rig.heard::<OutboxChanged>().remove(0);
    assert!(refused.reason.is_some_and(|why| why.contains("maxim reset")));
    rig.send(changed(PreemptionRequested::Reset { by: "anna".into() }));
    rig.pass(Duration::from_secs(1000));
    assert_eq!(rig.heard::<SendMessage>(), []);
    for n in 1..=3 {
        assert_eq!(entry(&rig, n).state, OutboxState::Held, "{n}");
    }
    rig.send(retry);
    assert_eq!(one(&mut rig).text, "message 2");
    rig.send(ChangeOutbox { entry: id(1), wish: OutboxWish::Drop, by: "anna".into() });
    assert_eq!(entry(&rig, 1).state, OutboxState::Dropped);
}

#[test]
fn who_may_not_change_the_outbox_does_not() {
    let mut rig = rig();
    rig.send(stop());
    rig.send(outbound(1, "mqtt", "bo"));
    rig.send_in(id(5), Trust::Listed, ChangeOutbox { entry: id(1), wish: OutboxWish::Drop, by: "x".into() });
    assert_eq!(entry(&rig, 1).state, OutboxState::Held);
}

fn percept(sender: &str, trust: Trust) -> Percept {
    let mut percept = Percept::from_outside("twilio", sender, "hello".into(), false, trust);
    percept.metadata.provider_id = Some("SM9".into());
    percept
}

#[test]
fn who_wrote_and_may_command_is_answered_in_the_thread_and_nobody_else() {
    let mut rig = rig();
    let (anna, stranger) = (id(100), id(101));
    rig.send_in(anna, Trust::Listed, percept("anna", Trust::Listed));
    rig.send_in(stranger, Trust::Outside, percept("mallory", Trust::Outside));
    rig.crash();
    rig.send(Outbound { turn: stranger, ..outbound(1, "twilio", "mallory") });
    assert_eq!(rig.heard::<SendMessage>(), []);
    assert!(entry(&rig, 1).why.is_some_and(|why| why.contains("recipients")));
    rig.send(Outbound { turn: anna, ..outbound(2, "twilio", "anna") });
    let wish = one(&mut rig);
    assert_eq!((wish.recipient.as_str(), wish.in_reply_to.as_deref()), ("anna", Some("SM9")));
    rig.send(told(&wish, delivered()));
    rig.send(Outbound { turn: anna, ..outbound(3, "twilio", "mallory") });
    assert_eq!(rig.heard::<SendMessage>(), [], "a listed sender's turn writes to no stranger");
}

#[test]
fn an_end_without_spoken_words_is_told_by_the_outbox() {
    let mut rig = rig();
    let turn = id(100);
    rig.send_in(turn, Trust::Listed, percept("anna", Trust::Listed));
    let ended = |spoken| TurnEnded {
        turn,
        channel: "twilio".into(),
        reply: Some("it needs your approval".into()),
        spoken,
        actions: vec![],
        lost: false,
        decided: None,
        rests_on: Vec::new(),
    };
    rig.send_in(turn, Trust::Listed, ended(true));
    assert_eq!(rig.heard::<SendMessage>(), [], "what was spoken isn't said twice");
    rig.send_in(turn, Trust::Listed, ended(false));
    assert_eq!(one(&mut rig).text, "it needs your approval");
}

#[test]
fn the_outbox_is_bounded_and_says_so() {
    let mut rig = rig();
    rig.send(stop());
    for n in 0..=OPEN as u128 {
        rig.send(outbound(n, "mqtt", "bo"));
    }
    let last = entry(&rig, OPEN as u128);
    assert_eq!(last.state, OutboxState::Failed);
    assert!(last.why.is_some_and(|why| why.contains("full")));
}

#[test]
fn attempts_keep_to_the_rate_of_the_channel() {
    let rules = ChannelRules { recipients: AllowList::new(["*"]), per_minute: 2, repeats_unknown: false };
    let rules = OutboxRules { channels: BTreeMap::from([("mqtt".to_owned(), rules)]) };
    let mut rig = rig_with(OutboxSettings::new(1, Arc::new(rules)));
    for n in 0..3 {
        rig.send(outbound(n, "mqtt", &format!("r{n}")));
        for wish in rig.heard::<SendMessage>() {
            rig.send(told(&wish, delivered()));
        }
    }
    assert_eq!(entry(&rig, 2).state, OutboxState::Queued);
    let due = rig.next_deadline().expect("it is tried later");
    assert_eq!(due, monday_morning() + SignedDuration::from_mins(1));
    rig.pass(Duration::from_secs(60));
    assert_eq!(one(&mut rig).text, "message 2");
}

#[test]
fn the_turn_that_wanted_a_message_is_told_its_end_once() {
    let mut rig = rig();
    let ended = |rig: &mut Rig<Outbox>| -> Vec<(OutboxState, Option<String>)> {
        rig.heard::<DeliveryEnded>()
            .into_iter()
            .inspect(|end| assert_eq!(end.turn, id(999)))
            .map(|end| (end.state, end.why))
            .collect()
    };
    rig.send(outbound(1, "mqtt", "bo"));
    let wish = one(&mut rig);
    rig.send(told(&wish, not_now(None)));
    assert_eq!(ended(&mut rig), [], "it may be sent yet");
    rig.pass(Duration::from_secs(2));
    let wish = one(&mut rig);
    rig.send(told(&wish, Attempted::Refused { why: "no such number".into() }));
    rig.send(told(&wish, Attempted::Refused { why: "no such number".into() }));
    assert_eq!(ended(&mut rig), [(OutboxState::Failed, Some("no such number".into()))]);
    rig.send(outbound(2, "mqtt", "bo"));
    let wish = one(&mut rig);
    rig.send(told(&wish, delivered()));
    assert_eq!(ended(&mut rig), [(OutboxState::Delivered, None)]);
    rig.send(outbound(3, "mqtt", "mallory"));
    let refused = ended(&mut rig);
    assert_eq!(refused[0].0, OutboxState::Failed);
    assert!(refused[0].1.as_ref().is_some_and(|why| why.contains("recipients")), "{refused:?}");
    rig.send(outbound(4, "mqtt", "bo"));
    let wish = one(&mut rig);
    rig.send(told(&wish, Attempted::Unknown { why: "it hung up".into() }));
    assert_eq!(ended(&mut rig), [(OutboxState::Unknown, Some("it hung up".into()))]);
}

#[test]
fn who_gave_a_goal_is_answered_when_it_is_taken_up() {
    let mut rig = rig();
    let turn = id(50);
    rig.send_in(turn, Trust::Listed, Percept::of_goal("twilio", "anna", "tidy up".into(), Trust::Listed));
    rig.send(Outbound { turn, ..outbound(1, "twilio", "anna") });
    assert_eq!(one(&mut rig).recipient, "anna");
}
