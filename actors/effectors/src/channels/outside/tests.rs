//! Webhooks from providers, and from forgers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use maxim_bus::AllowList;
use maxim_bus::signals::outbox::Attempted;
use ring::signature::{Ed25519KeyPair, KeyPair};
use ring::{hmac, rand};
use serde_json::{Value as Json, json};

use super::discord::Discord;
use super::line::SenderPolicy;
use super::slack::{Slack, SlackOut};
use super::twilio::Twilio;
use super::*;
use crate::http_client::{Roots, builder};

const NOW: i64 = 1_700_000_000;
const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

fn now() -> Timestamp {
    Timestamp::from_second(NOW).expect("a time")
}

fn http() -> reqwest::Client {
    builder(&Roots::Nobody).build().expect("a client")
}

fn slack() -> Slack {
    let signing_secret = Some(SECRET.to_owned());
    Slack { http: http(), base_url: "http://127.0.0.1:1".into(), signing_secret, out: SlackOut::Nowhere }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A request with these headers, read by a channel.
fn read(
    transport: &dyn Transport,
    headers: &[(&str, String)],
    target: &str,
    body: &str,
) -> Result<Hooked, HookRefused> {
    let headers: Vec<(String, String)> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    transport.hook(&HookRequest { headers: &headers, target, body: body.as_bytes() }, now())
}

fn by_slack(at: i64, body: &str) -> [(&'static str, String); 2] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = hmac::sign(&key, format!("v0:{at}:{body}").as_bytes());
    [("x-slack-request-timestamp", at.to_string()), ("x-slack-signature", format!("v0={}", hex(tag.as_ref())))]
}

fn event(event: Json) -> String {
    json!({"type": "event_callback", "event_id": "Ev1", "event": event}).to_string()
}

#[test]
fn slack_is_believed_by_its_signature_alone() {
    let body = event(json!({"type": "message", "user": "U1", "text": "hello", "channel": "D1", "ts": "17.1"}));
    let good = by_slack(NOW, &body);
    let hooked = read(&slack(), &good, "/hooks/slack", &body).expect("it is Slack");
    assert_eq!((hooked.messages[0].sender.as_str(), hooked.messages[0].body.as_str()), ("U1", "hello"));
    assert_eq!(hooked.messages[0].provider_id.as_deref(), Some("D1/17.1"));
    assert!(hooked.messages[0].is_signed && hooked.messages[0].is_vouched);
    for at in 0..body.len() {
        let mut forged = body.clone().into_bytes();
        forged[at] ^= 1;
        let Ok(forged) = String::from_utf8(forged) else { continue };
        assert!(matches!(read(&slack(), &good, "/", &forged), Err(HookRefused::Forged(_))), "{forged}");
    }
    for (name, value) in [("x-slack-signature", "v0="), ("x-slack-signature", "x"), ("x-slack-request-timestamp", "1")]
    {
        let forged = good.clone().map(|(known, old)| (known, if known == name { value.to_owned() } else { old }));
        assert!(matches!(read(&slack(), &forged, "/", &body), Err(HookRefused::Forged(_))), "{name}: {value}");
    }
    assert!(matches!(read(&slack(), &good[..1], "/", &body), Err(HookRefused::Forged(_))));
    assert!(matches!(read(&slack(), &by_slack(NOW - 301, &body), "/", &body), Err(HookRefused::Stale(_))));
    assert!(matches!(read(&slack(), &by_slack(NOW + 301, &body), "/", &body), Err(HookRefused::Stale(_))));
    let closed = Slack { signing_secret: None, ..slack() };
    assert_eq!(read(&closed, &good, "/", &body), Err(HookRefused::NotHere));
}

#[test]
fn slack_is_answered_its_challenge_and_what_is_no_message_is_none() {
    let said = |body: &str| read(&slack(), &by_slack(NOW, body), "/hooks/slack", body);
    let challenge = json!({"type": "url_verification", "challenge": "abc"}).to_string();
    assert_eq!(said(&challenge).expect("read").answer.body, "abc");
    for event_body in [
        json!({"type": "message", "subtype": "message_changed", "user": "U1", "text": "x", "channel": "C", "ts": "1"}),
        json!({"type": "message", "bot_id": "B1", "user": "U1", "text": "x", "channel": "C", "ts": "1"}),
        json!({"type": "reaction_added", "user": "U1"}),
        json!({"type": "message", "text": "x"}),
        json!(null),
    ] {
        assert_eq!(said(&event(event_body)).expect("read").messages, []);
    }
    let mention =
        event(json!({"type": "app_mention", "user": "U1", "text": "<@UBOT> stop", "channel": "C", "ts": "1"}));
    assert_eq!(said(&mention).expect("read").messages[0].body, "stop");
    for malformed in ["", "{", "[]", "{\"type\": \"url_verification\"}", "{\"type\": 7}", "\u{0}"] {
        assert!(matches!(said(malformed), Err(HookRefused::Malformed(_))), "{malformed:?}");
    }
}

fn twilio() -> Twilio {
    Twilio {
        http: http(),
        base_url: "http://127.0.0.1:1".into(),
        account: "AC1".into(),
        token: "12345".into(),
        from: "+15550199".into(),
        public_url: Some("https://maxim.example.org".into()),
    }
}

fn by_twilio(body: &str) -> [(&'static str, String); 1] {
    let mut fields: Vec<(String, String)> = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    fields.sort();
    let joined: String = fields.iter().map(|(name, value)| format!("{name}{value}")).collect();
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, b"12345");
    let tag = hmac::sign(&key, format!("https://maxim.example.org/hooks/twilio{joined}").as_bytes());
    [("x-twilio-signature", STANDARD.encode(tag))]
}

#[test]
fn twilio_brings_texts_and_what_was_said_in_calls() {
    let said = |body: &str| read(&twilio(), &by_twilio(body), "/hooks/twilio", body);
    let text = "MessageSid=SM00000000000000000000000000000001&From=%2B15550100&To=%2B15550199&Body=hello+there";
    let hooked = said(text).expect("it is Twilio");
    let message = &hooked.messages[0];
    assert_eq!((message.sender.as_str(), message.body.as_str()), ("+15550100", "hello there"));
    assert_eq!(message.provider_id.as_deref(), Some("SM00000000000000000000000000000001"));
    assert!(hooked.answer.body.ends_with("<Response></Response>"));
    let ringing = said("CallSid=CA00000000000000000000000000000001&From=%2B15550100").expect("read");
    assert!(ringing.messages.is_empty() && ringing.answer.body.contains("<Gather"));
    let spoken =
        said("CallSid=CA00000000000000000000000000000001&From=%2B15550100&SpeechResult=please+stop").expect("read");
    assert_eq!(spoken.messages[0].body, "please stop");
    for malformed in [
        "",
        "From=%2B1",
        "MessageSid=SM00000000000000000000000000000001&Body=x",
        "MessageSid=SM00000000000000000000000000000001&From=%2B1&From=%2B2&Body=x",
    ] {
        assert!(matches!(said(malformed), Err(HookRefused::Malformed(_))), "{malformed}");
    }
}

#[test]
fn twilio_is_believed_by_its_signature_alone() {
    let body = "MessageSid=SM00000000000000000000000000000001&From=%2B15550100&Body=hello";
    let good = by_twilio(body);
    for (headers, target, body) in [
        (&good[..], "/hooks/twilio?x=1", body),
        (&good[..], "/hooks/slack", body),
        (&good[..], "/hooks/twilio", "MessageSid=SM00000000000000000000000000000002&From=%2B15550100&Body=hello"),
        (
            &good[..],
            "/hooks/twilio",
            "MessageSid=SM00000000000000000000000000000001&From=%2B15550100&Body=hello&Extra=",
        ),
        (&[][..], "/hooks/twilio", body),
        (&[("x-twilio-signature", "!".to_owned())][..], "/hooks/twilio", body),
        (&[("x-twilio-signature", String::new())][..], "/hooks/twilio", body),
    ] {
        assert!(matches!(read(&twilio(), headers, target, body), Err(HookRefused::Forged(_))), "{target} {body}");
    }
    let closed = Twilio { public_url: None, ..twilio() };
    assert_eq!(read(&closed, &good, "/hooks/twilio", body), Err(HookRefused::NotHere));
}

#[test]
fn discord_is_believed_by_its_signature_alone() {
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&rand::SystemRandom::new()).expect("a key");
    let key = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).expect("a key");
    let discord = Discord { http: http(), webhook_url: None, public_key: Some(key.public_key().as_ref().to_vec()) };
    let signed = |at: i64, body: &str| {
        let signature = hex(key.sign(format!("{at}{body}").as_bytes()).as_ref());
        [("x-signature-timestamp", at.to_string()), ("x-signature-ed25519", signature)]
    };
    let said = |at: i64, body: &str| read(&discord, &signed(at, body), "/hooks/discord", body);
    assert_eq!(said(NOW, "{\"type\": 1}").expect("read").answer.body, "{\"type\":1}");
    let command = json!({
        "type": 2, "id": "99", "member": {"user": {"id": "42"}}, "data": {"options": [{"value": "hello"}]},
    })
    .to_string();
    let hooked = said(NOW, &command).expect("read");
    assert_eq!((hooked.messages[0].sender.as_str(), hooked.messages[0].body.as_str()), ("42", "hello"));
    assert_eq!(hooked.messages[0].provider_id.as_deref(), Some("99"));
    let other = command.replace("hello", "hellO");
    assert!(matches!(read(&discord, &signed(NOW, &command), "/", &other), Err(HookRefused::Forged(_))));
    assert!(matches!(read(&discord, &[], "/", &command), Err(HookRefused::Forged(_))));
    assert!(matches!(said(NOW - 400, &command), Err(HookRefused::Stale(_))));
    for malformed in ["", "{}", "{\"type\": 2}", "{\"type\": 2, \"data\": {\"options\": [{\"value\": 7}]}}"] {
        assert!(matches!(said(NOW, malformed), Err(HookRefused::Malformed(_))), "{malformed}");
    }
}

#[test]
fn a_line_bounds_each_sender_and_all_together() {
    let policy = SenderPolicy { senders: AllowList::default(), per_sender: 2, per_channel: 3 };
    let line = Line::new("mqtt", policy, None);
    let at = |seconds: i64| Timestamp::from_second(NOW + seconds).expect("a time");
    assert_eq!([line.admit("a", at(0)), line.admit("a", at(1))], [Ok(()), Ok(())]);
    assert_eq!(line.admit("a", at(2)), Err(59));
    assert_eq!(line.admit("b", at(3)), Ok(()));
    assert_eq!(line.admit("c", at(4)), Err(57), "the channel is full");
    assert_eq!(line.admit("a", at(60)), Ok(()), "a minute later there is room");
}

#[test]
fn an_unconfigured_channel_is_there_and_says_so() {
    let all = OutsideChannels::default();
    let report = all.report();
    assert_eq!(report.len(), 6);
    for channel in report {
        assert_eq!((&channel["available"], &channel["state"]), (&json!(false), &json!("unconfigured")));
        assert!(channel["why"].as_str().is_some_and(|why| why.contains("[channels.")), "{channel}");
    }
    let request = HookRequest { headers: &[], target: "/hooks/slack", body: b"" };
    assert_eq!(all.line("slack").expect("there").hook(&request, now()), Err(HookRefused::NotHere));
}

#[test]
fn what_went_wrong_is_told_until_something_arrives() {
    let line = Line::new(
        "slack",
        SenderPolicy { senders: AllowList::default(), per_sender: 1, per_channel: 1 },
        Some(Arc::new(slack())),
    );
    line.up();
    line.attempted(&Attempted::NotNow { why: "busy".into(), retry_after_s: None });
    assert_eq!(line.report()["why"], "busy");
    line.attempted(&Attempted::Delivered { provider_id: None });
    assert_eq!((&line.report()["why"], &line.report()["counts"]["sent"]), (&Json::Null, &json!(1)));
}

/// Providers' requests, each with one field of a megabyte.
#[test]
fn a_megabyte_in_a_field_of_a_provider_is_refused_or_cut() {
    let long = "x".repeat(1 << 20);
    let event = |user: &str, channel: &str, ts: &str, text: &str| {
        json!({"type": "event_callback", "event": {"type": "message", "user": user, "channel": channel, "ts": ts, "text": text}})
            .to_string()
    };
    let malformed = |read: Result<Hooked, HookRefused>| matches!(read, Err(HookRefused::Malformed(_)));
    let by_slack = |body: String| read(&slack(), &by_slack(NOW, &body), "/hooks/slack", &body);
    for body in [event(&long, "D1", "1", "a"), event("U1", &long, "1", "a"), event("U1", "D1", &long, "a")] {
        assert!(malformed(by_slack(body)));
    }
    let said = by_slack(event("U1", "D1", "1", &(long.clone() + "y"))).expect("read").messages.remove(0);
    assert!(said.body.len() <= maxim_bus::bounds::TEXT.limit && said.body.ends_with("(cut)"));
    for body in [
        format!("MessageSid={long}&From=%2B15550100&Body=a"),
        format!("MessageSid=SM00000000000000000000000000000001&From={long}&Body=a"),
        format!("MessageSid=SM00000000000000000000000000000001&From=%2B15550100&FromCity={long}&Body=a"),
        format!("{long}=1&From=%2B15550100&Body=a"),
    ] {
        assert!(malformed(read(&twilio(), &by_twilio(&body), "/hooks/twilio", &body)));
    }
}

/// A message to a recipient that each channel accepts.
fn wish(recipient: &str) -> SendMessage {
    SendMessage {
        entry: maxim_bus::MessageId::from_parts(1, 1),
        attempt: 1,
        channel: "any".into(),
        recipient: recipient.into(),
        text: "hello".into(),
        medium: maxim_bus::signals::outbox::Medium::Text,
        in_reply_to: None,
    }
}

/// Channels that post to an address.
fn posting(url: &str) -> Vec<Box<dyn Transport>> {
    let base_url = url.to_owned();
    let out = SlackOut::Bot("xoxb".into());
    vec![
        Box::new(Slack { http: http(), base_url: base_url.clone(), signing_secret: None, out }),
        Box::new(Twilio { base_url: base_url.clone(), ..twilio() }),
        Box::new(super::telegram::Telegram { http: http(), base_url, token: "1:x".into() }),
        Box::new(Discord { http: http(), webhook_url: Some(url.into()), public_key: None }),
    ]
}

fn letters(host: &str, port: u16) -> super::email::Email {
    use super::email::{Email, MailServer, Security, Vouching};
    Email {
        imap: None,
        smtp: Some(MailServer { host: host.into(), port, security: Security::Plain }),
        address: "maxim@example.org".into(),
        login: None,
        mailbox: "INBOX".into(),
        ca_file: None,
        vouching: Vouching::Nobody,
    }
}

fn sent(transport: &dyn Transport, recipient: &str) -> Attempted {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(transport.send(&wish(recipient)))
}

/// A port without a listener.
fn nobody() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port()
}

/// A server that does this with each connection.
fn somebody(serve: impl Fn(std::net::TcpStream) + Send + 'static) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(serve));
    port
}

#[test]
fn what_certainly_never_left_is_not_taken_and_what_may_have_is_unknown() {
    use std::io::{Read, Write};
    let is_not_now = |outcome: &Attempted| matches!(outcome, Attempted::NotNow { .. });
    // No listener; no such host; a listener without TLS.
    let plain = somebody(|mut stream| {
        let _ = stream.write_all(b"who is there?\r\n");
    });
    for url in
        [format!("http://127.0.0.1:{}", nobody()), "http://nobody.invalid".into(), format!("https://127.0.0.1:{plain}")]
    {
        for transport in posting(&url) {
            let outcome = sent(transport.as_ref(), "42");
            assert!(is_not_now(&outcome), "{url}, {}: {outcome:?}", transport.reached_by());
        }
    }
    for (host, port) in [("127.0.0.1", nobody()), ("nobody.invalid", 25)] {
        let outcome = sent(&letters(host, port), "anna@example.org");
        assert!(is_not_now(&outcome), "{host}: {outcome:?}");
    }
    let broker =
        super::mqtt::Mqtt::new("127.0.0.1".into(), nobody(), super::mqtt::BrokerSecurity::Plain, None, "maxim".into());
    assert!(is_not_now(&sent(&broker, "anna")));

    // The request was read, and its result is lost.
    let reader = somebody(|mut stream| {
        let _ = stream.read(&mut [0; 64 * 1024]);
    });
    for transport in posting(&format!("http://127.0.0.1:{reader}")) {
        let outcome = sent(transport.as_ref(), "42");
        assert!(matches!(outcome, Attempted::Unknown { .. }), "{}: {outcome:?}", transport.reached_by());
    }
    let server = somebody(|mut stream| {
        let _ = stream.write_all(b"220 mx ESMTP\r\n");
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stream.try_clone().expect("cloned")));
        while let Some(Ok(line)) = lines.next() {
            let (answer, ends) = match line.get(..4).unwrap_or_default() {
                "EHLO" => ("250 mx", false),
                "DATA" => ("354 go on", true),
                "QUIT" => ("221 bye", true),
                _ => ("250 ok", false),
            };
            let _ = stream.write_all(format!("{answer}\r\n").as_bytes());
            if ends {
                let _ = stream.read(&mut [0; 1024]);
                return;
            }
        }
    });
    let outcome = sent(&letters("127.0.0.1", server), "anna@example.org");
    assert!(matches!(outcome, Attempted::Unknown { .. }), "{outcome:?}");
}

#[test]
fn an_attempt_that_was_given_up_before_it_left_never_leaves() {
    let policy = SenderPolicy { senders: AllowList::default(), per_sender: 1, per_channel: 1 };
    let line = Line::new("slack", policy, None);
    let (one, other) = (maxim_bus::MessageId::from_parts(1, 1), maxim_bus::MessageId::from_parts(1, 2));
    assert!(line.leaves(one, 1));
    assert!(line.has_left(one, 1), "whether it was taken isn't known");
    assert!(!line.has_left(other, 1));
    assert!(!line.leaves(other, 1), "whoever held it was slow: it was told that it is tried again");
    assert!(line.leaves(other, 2), "the next attempt is another");
}
