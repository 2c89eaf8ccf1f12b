use rumqttc::Request;

use super::*;

fn read(topic: &str, payload: &str, filters: &[&str]) -> Option<Arrived> {
    let publish = Publish::new(topic, QoS::AtLeastOnce, payload);
    message_of(&publish, &filters.iter().map(|filter| (*filter).to_owned()).collect::<Vec<_>>())
}

#[test]
fn the_sender_is_whom_the_topic_names_else_whom_the_message_names() {
    let json = r#"{"text": "hello", "sender": "mallory", "id": "7"}"#;
    let arrived = read("home/anna/in", json, &["home/+/in"]).expect("a message");
    assert_eq!((arrived.sender.as_str(), arrived.body.as_str()), ("anna", "hello"));
    assert_eq!(arrived.provider_id.as_deref(), Some("anna/7"));
    assert_eq!(read("in", json, &["in"]).expect("a message").sender, "mallory");
    assert_eq!(read("in", "hello", &["in"]).expect("a message").sender, "in");
    assert_eq!(read("a/b/c", "x", &["a/#"]).expect("a message").sender, "a/b/c");
    assert_eq!(sender_in("+/in", "anna/in/more"), None);
    assert_eq!(sender_in("+/#", "anna/in/more"), Some("anna"));
}

#[test]
fn what_the_broker_kept_and_what_is_no_text_is_left_alone() {
    let mut kept = Publish::new("in", QoS::AtLeastOnce, "stop");
    kept.retain = true;
    assert_eq!(message_of(&kept, &[]), None);
    assert_eq!(message_of(&Publish::new("in", QoS::AtLeastOnce, vec![0xff, 0xfe]), &[]), None);
    assert_eq!(read("in", "  ", &[]), None);
    assert_eq!(read("in", "[1]", &[]).expect("plain text").body, "[1]");
}

#[test]
fn a_name_or_id_beyond_its_bound_is_not_taken() {
    let long = "x".repeat(100_000);
    for (topic, payload) in [
        ("in".to_owned(), format!(r#"{{"text": "a", "id": "{long}"}}"#)),
        ("in".to_owned(), format!(r#"{{"text": "a", "sender": "{long}"}}"#)),
        (long.clone(), "a".to_owned()),
        (format!("home/{}/in", "y".repeat(400)), "a".to_owned()),
    ] {
        assert_eq!(read(&topic, &payload, &["home/+/in"]), None);
    }
    assert!(read("in", r#"{"text": "a", "id": "7"}"#, &["in"]).is_some());
}

fn publication(n: u16) -> Publish {
    Publish { pkid: n, ..Publish::new("in", QoS::AtLeastOnce, "hello") }
}

#[test]
fn what_is_left_with_the_broker_is_acknowledged_in_order_and_bounded() {
    let mut left = Left::default();
    let acknowledged = |left: &mut Left| {
        std::iter::from_fn(|| left.next_acknowledged())
            .map(|(publish, taken)| (publish.pkid, taken))
            .collect::<Vec<_>>()
    };
    left.came(publication(1), None);
    assert_eq!(acknowledged(&mut left), [(1, true)]);
    let later = Some(Duration::from_secs(60));
    left.came(publication(2), later);
    left.came(publication(3), None);
    left.came(publication(4), later);
    assert_eq!(acknowledged(&mut left), [], "nothing before its turn");
    assert_eq!(left.first().map(|publish| publish.pkid), Some(2));
    left.retried(later);
    assert_eq!(left.first().map(|publish| publish.pkid), Some(2));
    left.retried(None);
    assert_eq!(acknowledged(&mut left), [(2, true), (3, true)]);
    assert_eq!(left.first().map(|publish| publish.pkid), Some(4));
    for n in 5..=13 {
        left.came(publication(n), None);
    }
    assert_eq!(acknowledged(&mut left), []);
    left.came(publication(14), later);
    let given_up: Vec<(u16, bool)> = [(4, false)].into_iter().chain((5..=13).map(|n| (n, true))).collect();
    assert_eq!(acknowledged(&mut left), given_up, "so that a stop comes through");
    left.came(publication(15), None);
    left.give_up();
    assert_eq!(acknowledged(&mut left), [(14, false), (15, true)], "after a stop");
}

#[test]
fn what_was_never_written_to_the_connection_is_told_from_what_was() {
    let sending = |packet| Sending { packet, tell: oneshot::channel().0 };
    let (_client, mut events) = AsyncClient::builder(MqttOptions::new("maxim", ("127.0.0.1", 1))).build();
    assert!(never_left(&sending(None), &events) && !never_left(&sending(Some(1)), &events));
    let publish = Publish::new("out", QoS::AtLeastOnce, "hello");
    events.state.handle_outgoing_packet(Request::Publish(publish)).expect("it is handled");
    assert!(!never_left(&sending(None), &events), "it was written, and the connection broke before that was told");
}
