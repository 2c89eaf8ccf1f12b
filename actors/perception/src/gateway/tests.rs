use super::*;
use maxim_region::rig::{Rig, ear};
use maxim_store::Commit;

fn settings(credit: usize) -> GatewaySettings {
    GatewaySettings { credit, behind: 4096, text_max: 64 << 10, stop: StopGrammar::new::<_, &str>(&["maxim"], &[]) }
}

fn inbound(body: &str, provider_id: Option<&str>) -> Inbound {
    Inbound {
        id: MessageId::from_parts(1, body.len() as u128),
        channel: "http".into(),
        sender: "anna".into(),
        body: body.into(),
        provider_id: provider_id.map(Into::into),
        trust: Trust::Owner,
        heard: None,
        is_signed: false,
        moving: false,
        retry: None,
    }
}

/// What a try with this count became, and whether it was a repeated one.
fn tried(rig: &mut Rig<Gateway>, digest: &str, count: u32) -> (MessageId, bool) {
    rig.send(Inbound { retry: Some(Retry::Count { digest: digest.into(), count }), ..inbound("run", None) });
    let accepted = rig.heard::<InboundAccepted>().remove(0);
    (accepted.percept, accepted.repeated)
}

fn rig(credit: usize) -> Rig<Gateway> {
    Rig::new(settings(credit), |bus, probe| {
        ear::<Percept>(bus, probe);
        ear::<InboundAccepted>(bus, probe);
    })
}

#[test]
fn a_repeated_provider_id_is_the_first_message_even_after_a_crash() {
    let mut rig = rig(8);
    rig.send(inbound("hello", Some("SM1")));
    rig.crash();
    rig.send(inbound("hello again", Some("SM1")));
    let accepted = rig.heard::<InboundAccepted>();
    assert_eq!(accepted.len(), 2);
    assert_eq!(accepted[0].percept, accepted[1].percept);
    assert!(accepted[1].repeated);
}

#[test]
fn another_request_under_a_clients_key_is_none_even_after_a_crash() {
    let mut rig = rig(8);
    let keyed = |body: &str, digest: &str| Inbound {
        retry: Some(Retry::Key { digest: digest.into() }),
        ..inbound(body, Some("percept/k-1"))
    };
    let mut percepts = Vec::new();
    for (body, digest, differs) in
        [("open", "d1", false), ("open", "d1", false), ("shut", "d2", true), ("open", "d1", false)]
    {
        rig.send(keyed(body, digest));
        let accepted = rig.heard::<InboundAccepted>().remove(0);
        assert_eq!((accepted.differs, accepted.repeated), (differs, !percepts.is_empty()), "{body}");
        percepts.push(accepted.percept);
        rig.crash();
    }
    assert!(percepts.iter().all(|percept| *percept == percepts[0]));
    rig.send(inbound("shut", Some("percept/k-1")));
    let accepted = rig.heard::<InboundAccepted>().remove(0);
    assert!(accepted.repeated && !accepted.differs, "a channel's own id says nothing of the words");
    // What is forgotten leaves nothing behind.
    for n in 0..PROVIDER_IDS {
        rig.send(inbound("hello", Some(&format!("other {n}"))));
    }
    assert!(rig.region().key_digests.is_empty());
}

#[test]
fn a_counted_try_is_the_request_that_it_repeats_even_after_a_crash_and_a_first_one_is_new() {
    let mut rig = rig(64);
    let (first, repeated) = tried(&mut rig, "a", 0);
    assert!(!repeated);
    assert_eq!(tried(&mut rig, "a", 1), (first, true));
    rig.crash();
    assert_eq!(tried(&mut rig, "a", 2), (first, true));
    assert_ne!(tried(&mut rig, "b", 1).0, first, "another request");
    let (again, repeated) = tried(&mut rig, "a", 0);
    assert!(again != first && !repeated, "the person says it again");
    rig.crash();
    assert_eq!(tried(&mut rig, "a", 1), (again, true));
    rig.pass(std::time::Duration::from_secs(TRIED.as_secs().unsigned_abs() + 1));
    rig.heard::<InboundAccepted>();
    assert!(!tried(&mut rig, "a", 1).1, "long ago");
}

#[test]
fn a_later_try_that_overtakes_the_first_is_the_same_request() {
    let mut rig = rig(64);
    let (later, repeated) = tried(&mut rig, "a", 1);
    assert!(!repeated);
    rig.crash();
    assert_eq!(tried(&mut rig, "a", 0), (later, true), "the first one comes at last");
    assert_eq!(tried(&mut rig, "a", 2), (later, true));
    assert!(!tried(&mut rig, "a", 0).1, "the next first try is a new request");
    let (lonely, _) = tried(&mut rig, "b", 1);
    rig.pass(std::time::Duration::from_secs(OVERTAKEN.as_secs().unsigned_abs() + 1));
    rig.heard::<InboundAccepted>();
    assert_ne!(tried(&mut rig, "b", 0).0, lonely, "its own first try was lost long ago");
}

#[test]
fn the_requests_whose_tries_are_counted_are_bounded() {
    let mut rig = rig(8192);
    let (first, _) = tried(&mut rig, "first", 0);
    for n in 0..TRIES {
        tried(&mut rig, &format!("other {n}"), 0);
    }
    assert_eq!((rig.region().tries.len(), rig.region().try_order.len()), (TRIES, TRIES));
    assert_ne!(tried(&mut rig, "first", 1).0, first, "it was forgotten");
}

#[test]
fn a_signed_command_is_known_after_ten_thousand_others_and_a_crash() {
    let mut rig = rig(8);
    let signed = |id: &str, trust| Inbound { is_signed: true, trust, ..inbound("open the door", Some(id)) };
    rig.send(signed("first", Trust::Listed));
    let first = rig.heard::<InboundAccepted>()[0].percept;
    for n in 0..PROVIDER_IDS + 10 {
        rig.send(signed(&format!("other {n}"), Trust::Outside));
    }
    rig.heard::<InboundAccepted>();
    rig.crash();
    rig.send(signed("first", Trust::Listed));
    let again = rig.heard::<InboundAccepted>().remove(0);
    assert!(again.repeated && again.percept == first);
    assert!(!rig.region().provider_ids.contains_key("http/first"), "so it was pushed out there");
}

#[test]
fn a_stop_that_is_played_again_is_known_after_ten_thousand_others() {
    let mut rig = rig(8);
    rig.send(Inbound { is_signed: true, trust: Trust::Outside, ..inbound("STOP", Some("first")) });
    for n in 0..PROVIDER_IDS + 10 {
        rig.send(inbound("hello", Some(&format!("other {n}"))));
    }
    assert!(rig.records().get::<MessageId>(&stopped_key("http/first")).is_some());
}

#[test]
fn nothing_beyond_a_bound_is_kept() {
    let mut rig = rig(8);
    let long = "x".repeat(1_000_000);
    for n in 0..30 {
        rig.send(inbound("hello", Some(&format!("{long}{n}"))));
        rig.send(Inbound { sender: format!("{long}{n}"), ..inbound("hello", None) });
        rig.send(Inbound { channel: format!("{long}{n}"), ..inbound("hello", None) });
    }
    assert!(rig.heard::<Percept>().is_empty() && rig.region().provider_ids.is_empty());
    rig.send(inbound("hello", None));
    assert_eq!(rig.heard::<Percept>().len(), 1);
}

#[test]
fn a_present_store_whose_root_would_be_too_large_starts_sheds_and_goes_on() {
    let mut rig = rig(8);
    // As a build without bounds has left it: in the journal, since no root was taken.
    for n in 0..22 {
        let key = format!("http/{n}{}", "x".repeat(900_000));
        let event = serde_json::to_vec(&GatewayEvent::Seen { key, percept: MessageId::from_parts(1, n), digest: None });
        let epoch = rig.store().epoch(Gateway::NAME);
        let commit = Commit { events: vec![event.expect("plain data")], ..Commit::of(Gateway::NAME, epoch) };
        rig.store().accept(commit, |_| ()).expect("accepted");
    }
    rig.crash();
    assert_eq!(rig.region().provider_ids.len(), 22);
    for n in 0..5 {
        rig.send(inbound("hello", Some(&format!("new {n}"))));
    }
    assert_eq!(rig.heard::<Percept>().len(), 5, "none was refused");
    rig.crash();
    assert_eq!(rig.region().provider_ids.len(), 5, "they are gone for good, and what is new is kept");
}

#[test]
fn ids_that_were_too_long_go_first_where_the_root_is_too_large() {
    let mut gateway = Gateway::default();
    for n in 0..22 {
        let key = format!("http/{n}{}", "x".repeat(900_000));
        gateway.apply(GatewayEvent::Seen { key, percept: MessageId::from_parts(1, n), digest: None });
    }
    gateway.apply(GatewayEvent::Seen { key: "http/short".into(), percept: MessageId::from_parts(1, 99), digest: None });
    assert!(gateway.shed(1 << 20) > 0);
    assert_eq!((gateway.provider_ids.len(), gateway.provider_order.len()), (1, 1));
    assert!(gateway.provider_ids.contains_key("http/short"));
}

#[test]
fn what_has_no_credit_waits_on_disk_and_comes_in_order() {
    let mut rig = rig(1);
    for n in 0..5 {
        rig.send(inbound(&format!("message {n}"), None));
    }
    assert_eq!(rig.region().waiting(), 4);
    rig.crash();
    assert_eq!(rig.region().waiting(), 4, "the queue survives");
    let mut order = Vec::new();
    for _ in 0..5 {
        let turn = *rig.region().in_flight.keys().next().expect("a turn is in flight");
        order.extend(rig.heard::<Percept>().into_iter().map(|percept| percept.content));
        rig.send(TurnEnded {
            turn,
            channel: "http".into(),
            reply: None,
            spoken: true,
            actions: vec![],
            lost: false,
            decided: None,
            rests_on: Vec::new(),
        });
    }
    assert_eq!(order, ["message 0", "message 1", "message 2", "message 3", "message 4"]);
    assert_eq!(rig.region().waiting(), 0);
}

#[test]
fn a_text_is_cut_at_the_limit_of_the_settings() {
    for (text_max, kept) in [(64 << 10, 2000), (1 << 10, 1024)] {
        let mut rig: Rig<Gateway> = Rig::new(GatewaySettings { text_max, ..settings(8) }, ear::<Percept>);
        rig.send(inbound(&"a".repeat(2000), None));
        assert_eq!(rig.heard::<Percept>()[0].content.len(), kept);
    }
}

#[test]
fn a_stop_does_not_wait_for_credit() {
    let mut rig = rig(1);
    rig.send(inbound("hello", None));
    rig.send(inbound("STOP!!!", None));
    let percepts = rig.heard::<Percept>();
    assert_eq!(percepts.len(), 2);
    assert!(percepts[1].hard_override.is_some());
}

#[test]
fn a_turn_that_never_ends_gives_its_credit_back() {
    let mut rig = rig(1);
    rig.send(inbound("one", None));
    rig.send(inbound("two", None));
    rig.pass(std::time::Duration::from_secs(601));
    assert_eq!(rig.heard::<Percept>().len(), 2);
}
