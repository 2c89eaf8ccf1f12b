//! Telegram, Slack, Twilio and Discord with the real daemon: in and out on each, with kills in between, and what
//! forgers get.

use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use super::programs::{python, until};
use super::providers::{Providers, SLACK_TOKEN, TELEGRAM_TOKEN};
use super::{channel, configure, is_latched, outbox, reset, secret};
use crate::harness::{Daemon, Place};

const SIGNING: &str = "8f742231b10e8888abcd99yyyzzz85a5";
const PUBLIC: &str = "https://maxim.example.org";
const ANNA: &str = "+15550100";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn now() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed())
}

/// All four, on one fake server.
pub struct World {
    pub place: Place,
    pub providers: Providers,
    discord: Ed25519KeyPair,
    toml: String,
}

pub type Signed = (Vec<(&'static str, String)>, String);

impl World {
    pub fn new() -> Self {
        let (place, (providers, url)) = (Place::new(), Providers::start());
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).expect("a key");
        let discord = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).expect("a key");
        let file = |name: &str, value: &str| secret(&place, name, value);
        let toml = format!(
            "[channels.telegram]\nbase_url = \"{url}/telegram\"\ntoken_file = {:?}\nsenders = [\"42\"]\n\
             [channels.slack]\nbase_url = \"{url}/slack\"\nsigning_secret_file = {:?}\nbot_token_file = {:?}\nsenders = [\"U1\"]\n\
             [channels.twilio]\nbase_url = \"{url}/twilio\"\naccount_sid = \"AC1\"\nauth_token_file = {:?}\nfrom = \"+15550199\"\n\
             public_url = \"{PUBLIC}\"\nsenders = [{ANNA:?}]\nrecipients = [{ANNA:?}]\nper_sender = 5\n\
             [channels.discord]\npublic_key = \"{}\"\nwebhook_url_file = {:?}\nsenders = [\"77\"]\n",
            file("telegram", TELEGRAM_TOKEN),
            file("signing", SIGNING),
            file("bot", SLACK_TOKEN),
            file("twilio", "12345"),
            hex(discord.public_key().as_ref()),
            file("discord", &format!("{url}/discord/1")),
        );
        configure(&place, &toml);
        Self { place, providers, discord, toml }
    }

    /// Adds to the configuration.
    pub fn also(&mut self, more: &str) {
        self.toml += more;
        configure(&self.place, &self.toml);
    }

    pub fn slack(&self, at: i64, user: &str, ts: &str, text: &str) -> Signed {
        let event = json!({"type": "message", "user": user, "text": text, "channel": "D1", "ts": ts});
        self.slack_body(at, json!({"type": "event_callback", "event_id": ts, "event": event}).to_string())
    }

    pub fn slack_body(&self, at: i64, body: String) -> Signed {
        let tag =
            hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SIGNING.as_bytes()), format!("v0:{at}:{body}").as_bytes());
        let headers = vec![
            ("x-slack-request-timestamp", at.to_string()),
            ("x-slack-signature", format!("v0={}", hex(tag.as_ref()))),
            ("content-type", "application/json".into()),
        ];
        (headers, body)
    }

    /// `sid` is its beginning; the rest is filled up to the length of Twilio's ids.
    pub fn twilio(&self, from: &str, sid: &str, text: &str) -> Signed {
        let sid = format!("SM{:0>32}", sid.trim_start_matches("SM"));
        let mut fields = [("MessageSid", sid.as_str()), ("From", from), ("To", "+15550199"), ("Body", text)];
        let mut url = reqwest::Url::parse("http://h/").expect("a url");
        url.query_pairs_mut().extend_pairs(fields);
        let body = url.query().unwrap_or_default().to_owned();
        fields.sort_unstable();
        let joined: String = fields.iter().map(|(name, value)| format!("{name}{value}")).collect();
        let tag = hmac::sign(
            &hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, b"12345"),
            format!("{PUBLIC}/hooks/twilio{joined}").as_bytes(),
        );
        (vec![("x-twilio-signature", STANDARD.encode(tag))], body)
    }

    pub fn discord(&self, user: &str, id: &str, text: &str) -> Signed {
        let command =
            json!({"type": 2, "id": id, "member": {"user": {"id": user}}, "data": {"options": [{"value": text}]}});
        let (at, body) = (now(), command.to_string());
        let signature = hex(self.discord.sign(format!("{at}{body}").as_bytes()).as_ref());
        (vec![("x-signature-timestamp", at.to_string()), ("x-signature-ed25519", signature)], body)
    }
}

pub fn post(daemon: &Daemon, channel: &str, (headers, body): &Signed) -> (u16, String) {
    daemon.hook(&format!("/hooks/{channel}"), headers, body)
}

const SAID: &str = "remember that the spare key is in the blue drawer";

#[test]
fn a_message_on_each_channel_gets_its_answer_there_over_a_kill_and_a_stop_on_each_stops() {
    let world = World::new();
    let daemon = world.place.start();
    for name in ["telegram", "slack", "twilio", "discord"] {
        daemon.until(name, || channel(&daemon, name)["state"] == "up");
    }
    let answers = |provider: &str| world.providers.taken(provider);
    world.providers.telegram_says(42, SAID);
    assert_eq!(post(&daemon, "slack", &world.slack(now(), "U1", "17.1", SAID)).0, 200);
    let (status, twiml) = post(&daemon, "twilio", &world.twilio(ANNA, "SM1", SAID));
    assert!(status == 200 && twiml.contains("<Response>"), "{status} {twiml}");
    let (status, said) = post(&daemon, "discord", &world.discord("77", "900", SAID));
    assert!(status == 200 && said.contains("\"type\":4"), "{status} {said}");
    let everywhere = [("telegram", "42"), ("slack", "D1 17.1"), ("twilio", ANNA), ("discord", "77")];
    for (provider, recipient) in everywhere {
        until(provider, || answers(provider).len() == 1);
        let (to, text) = answers(provider).remove(0);
        assert!(to == recipient && text.contains("spare key"), "{provider}: {to}: {text}");
    }
    until("Telegram is told that it was taken", || world.providers.unread_by_the_bot() == 0);

    daemon.until("all are delivered", || outbox(&world.place).iter().all(|entry| entry["state"] == "delivered"));

    // Killed: redelivered messages count as the same, and new ones are answered from memory.
    daemon.kill();
    world.providers.telegram_says(42, "where is the spare key?");
    let daemon = world.place.start();
    for (name, signed) in [
        ("slack", world.slack(now(), "U1", "17.1", SAID)),
        ("twilio", world.twilio(ANNA, "SM1", SAID)),
        ("discord", world.discord("77", "900", SAID)),
        ("slack", world.slack(now(), "U1", "17.2", "where is the spare key?")),
        ("twilio", world.twilio(ANNA, "SM2", "where is the spare key?")),
        ("discord", world.discord("77", "901", "where is the spare key?")),
    ] {
        assert_eq!(post(&daemon, name, &signed).0, 200, "{name}");
    }
    for (provider, _) in everywhere {
        until(provider, || answers(provider).len() == 2);
        assert!(answers(provider)[1].1.contains("blue drawer"), "{provider}: {:?}", answers(provider));
    }
    daemon.until("all are delivered", || {
        let all = outbox(&world.place);
        all.len() == 8 && all.iter().all(|entry| entry["state"] == "delivered")
    });

    // Strangers aren't answered, but can stop; a replayed stop does nothing.
    let stops = [
        ("slack", world.slack(now(), "U9", "18.1", "stop")),
        ("twilio", world.twilio("+19995550", "SM9", "STOP")),
        ("discord", world.discord("99", "990", "please stop now")),
    ];
    for (name, signed) in &stops {
        assert_eq!(post(&daemon, name, signed).0, 200);
        assert!(is_latched(&daemon), "{name} stops");
        reset(&world.place);
        assert_eq!(post(&daemon, name, signed).0, 200);
        assert!(!is_latched(&daemon), "{name}: what was played again stopped again");
    }
    world.providers.telegram_says(99, "stop!!!");
    daemon.until("stopped by Telegram", || is_latched(&daemon));
    reset(&world.place);
    assert_eq!(post(&daemon, "twilio", &world.twilio("+19995550", "SM10", SAID)).0, 200);
    daemon.until("recorded", || channel(&daemon, "twilio")["counts"]["strangers"] == 2);
    for (provider, _) in everywhere {
        assert_eq!(answers(provider).len(), 2, "{provider}");
    }
}

#[test]
fn what_is_forged_old_oversized_or_malformed_has_no_effect_and_says_why() {
    let world = World::new();
    let daemon = world.place.start();
    let percepts = || daemon.get("/v1/memory/stats").1["regions"]["hippocampus"]["episodes"].clone();
    let before = percepts();
    let stop = |mut signed: Signed| {
        signed.1 = signed.1.replace("hello", "stop");
        signed
    };
    let big = "x".repeat(300 * 1024);
    let cases: Vec<(&str, Signed, u16, &str)> = vec![
        ("slack", stop(world.slack(now(), "U1", "1.1", "hello")), 403, "signature"),
        ("twilio", stop(world.twilio(ANNA, "SM1", "hello")), 403, "public_url"),
        ("discord", stop(world.discord("77", "1", "hello")), 403, "public_key"),
        ("slack", world.slack(now() - 600, "U1", "1.2", "stop"), 403, "clock"),
        ("slack", (Vec::new(), "stop".into()), 403, "X-Slack-Request-Timestamp"),
        ("twilio", (Vec::new(), "Body=stop".into()), 403, "X-Twilio-Signature"),
        ("discord", (Vec::new(), "{}".into()), 403, "X-Signature"),
        ("slack", (world.slack(now(), "U1", "1.3", "x").0, big), 413, "larger"),
        ("mqtt", (Vec::new(), "stop".into()), 404, "it needs no posts"),
        ("email", (Vec::new(), "stop".into()), 404, "accepts no posts here"),
        ("matrix", (Vec::new(), "stop".into()), 404, "slack, twilio and discord"),
    ];
    for (name, signed, status, words) in &cases {
        let (found, body) = post(&daemon, name, signed);
        assert_eq!(found, *status, "{name}: {body}");
        let problem: Value = serde_json::from_str(&body).expect("a problem document");
        let text = problem.to_string();
        assert!(text.contains(words) && problem["fix"].is_string(), "{name}: {text}");
        assert!(!text.contains(SIGNING) && !text.contains("12345"), "{text}");
    }
    assert!(!is_latched(&daemon));
    assert_eq!(percepts(), before);
    assert!(outbox(&world.place).is_empty());
    // Other doors stay as closed as before.
    let (status, _) = daemon.hook("/v1/percepts", &[], "{\"text\": \"stop\"}");
    assert_eq!(status, 403);
}

#[test]
fn one_who_writes_too_much_is_told_to_wait_and_can_still_stop() {
    let world = World::new();
    let daemon = world.place.start();
    let statuses: Vec<u16> = (0..7)
        .map(|n| post(&daemon, "twilio", &world.twilio(ANNA, &format!("SM{n}"), &format!("what is {n} + 1?"))).0)
        .collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
    let (_, body) = post(&daemon, "twilio", &world.twilio(ANNA, "SM8", "hello"));
    assert!(body.contains("per_sender"), "{body}");
    assert_eq!(post(&daemon, "twilio", &world.twilio(ANNA, "SM9", "stop")).0, 200);
    assert!(is_latched(&daemon));
}

#[test]
fn a_kill_while_a_provider_takes_a_message_leaves_it_unknown_and_it_is_not_sent_again() {
    let world = World::new();
    world.providers.hangs(true);
    let daemon = world.place.start();
    assert_eq!(post(&daemon, "twilio", &world.twilio(ANNA, "SM1", SAID)).0, 200);
    until("the provider has it", || world.providers.taken("twilio").len() == 1);
    daemon.kill();
    world.providers.hangs(false);
    let daemon = world.place.start();
    daemon.until("known as unknown", || outbox(&world.place).iter().any(|entry| entry["state"] == "unknown"));
    let entry = outbox(&world.place).remove(0);
    assert!(entry["why"].as_str().is_some_and(|why| why.contains("outcome of the attempt is not known")), "{entry}");
    assert_eq!(post(&daemon, "twilio", &world.twilio(ANNA, "SM2", "what is 2 + 2?")).0, 200);
    until("the next one is sent", || world.providers.taken("twilio").len() == 2);
    assert!(world.providers.taken("twilio")[1].1.contains('4'), "{:?}", world.providers.taken("twilio"));
    let id = entry["id"].as_str().expect("an id");
    let (code, told, _) = world.place.cli(&["outbox"]);
    assert!(code == 0 && told.contains("unknown") && told.contains(id), "{told}");
    assert_eq!(world.place.cli(&["outbox", "drop", id]).0, 0);
    assert_eq!(world.place.cli(&["outbox", "retry", "nothing"]).0, 1);
    let state = outbox(&world.place).remove(0)["state"].clone();
    assert_eq!(state, "dropped");
}

#[test]
fn a_call_is_ordered_where_the_list_allows_it() {
    let world = World::new();
    let daemon = world.place.start();
    let answer = daemon.say(&format!("call {ANNA} and say \"the tea & the cake are ready\""));
    assert_eq!(answer["actions"][0]["tool"], "call_user", "{answer}");
    until("called", || world.providers.taken("twilio calls").len() == 1);
    let (to, twiml) = world.providers.taken("twilio calls").remove(0);
    assert_eq!((to.as_str(), twiml.contains("the tea &amp; the cake are ready")), (ANNA, true), "{twiml}");
}

#[test]
fn wrong_secrets_are_told_without_showing_them() {
    let world = World::new();
    secret(&world.place, "telegram", "42:wrong");
    secret(&world.place, "bot", "xoxb-wrong");
    let daemon = world.place.start();
    daemon.until("refused", || channel(&daemon, "telegram")["state"] == "down");
    let why = channel(&daemon, "telegram")["why"].as_str().unwrap_or_default().to_owned();
    assert!(why.contains("@BotFather") && !why.contains("42:"), "{why}");
    assert_eq!(post(&daemon, "slack", &world.slack(now(), "U1", "1.1", SAID)).0, 200);
    daemon.until("failed", || outbox(&world.place).iter().any(|entry| entry["state"] == "failed"));
    let why = outbox(&world.place).remove(0)["why"].as_str().unwrap_or_default().to_owned();
    assert!(why.contains("invalid_auth") && why.contains("bot_token_file"), "{why}");
    let (code, told, _) = world.place.cli(&["doctor"]);
    assert!(code == 1 && told.contains("channels.telegram") && !told.contains("42:wrong"), "{told}");
}

/// The daemon accepts what Twilio's own library signs, and refuses it if one field differs.
#[test]
fn signatures_agree_with_twilios_own_library() {
    let Some(python) = python() else { return };
    let world = World::new();
    let daemon = world.place.start();
    let script = "import sys, json\nfrom twilio.request_validator import RequestValidator\n\
                  v = RequestValidator('12345')\n\
                  for line in sys.stdin:\n  c = json.loads(line)\n  print(v.compute_signature(c['url'], c['params']))\n";
    let params = json!({"MessageSid": "SM00000000000000000000000000000077", "From": ANNA, "To": "+15550199", "Body": "what is 2 + 2? äöü & <tag>"});
    let addresses = [
        format!("{PUBLIC}/hooks/twilio"),
        "https://maxim.example.org:443/hooks/twilio".to_owned(),
        format!("{PUBLIC}/hooks/twilio?a=1&b=2"),
        "https://evil.example.org/hooks/twilio".to_owned(),
    ];
    let asked: String = addresses.iter().map(|url| json!({"url": url, "params": params}).to_string() + "\n").collect();
    let mut child = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("piped"), asked.as_bytes()).expect("written");
    let said = child.wait_with_output().expect("it ends");
    let signatures = String::from_utf8(said.stdout).expect("text");
    let signatures: Vec<&str> = signatures.lines().collect();
    let mut url = reqwest::Url::parse("http://h/").expect("a url");
    let pairs =
        params.as_object().expect("fields").iter().map(|(name, value)| (name, value.as_str().unwrap_or_default()));
    url.query_pairs_mut().extend_pairs(pairs);
    let body = url.query().unwrap_or_default();
    let taken = |target: &str, signature: &str, body: &str| {
        daemon.hook(target, &[("x-twilio-signature", signature.to_owned())], body).0
    };
    assert_eq!(taken("/hooks/twilio", signatures[0], body), 200);
    assert_eq!(taken("/hooks/twilio", signatures[1], body), 200);
    assert_eq!(taken("/hooks/twilio?a=1&b=2", signatures[2], body), 200);
    assert_eq!(taken("/hooks/twilio", signatures[2], body), 403);
    assert_eq!(taken("/hooks/twilio", signatures[3], body), 403);
    assert_eq!(taken("/hooks/twilio", signatures[0], &body.replace("0077", "0078")), 403);
}

#[test]
fn what_is_over_the_rate_stays_with_telegram_and_a_stop_behind_it_is_seen() {
    let mut world = World::new();
    world.toml = world.toml.replace("[channels.slack]", "per_sender = 2\n[channels.slack]");
    world.also("");
    let daemon = world.place.start();
    (0..4).for_each(|n| world.providers.telegram_says(42, &format!("what is {n} + 100?")));
    daemon.until("two are left", || channel(&daemon, "telegram")["counts"]["deferred"] == 2);
    until("two are answered", || world.providers.taken("telegram").len() == 2);
    until("the others are still there", || world.providers.unread_by_the_bot() == 2);
    daemon.until("all are delivered", || outbox(&world.place).iter().all(|entry| entry["state"] == "delivered"));
    daemon.kill();
    let daemon = world.place.start();
    until("all are answered", || world.providers.taken("telegram").len() == 4);
    until("nothing is left", || world.providers.unread_by_the_bot() == 0);

    (4..6).for_each(|n| world.providers.telegram_says(42, &format!("what is {n} + 100?")));
    daemon.until("two are left again", || channel(&daemon, "telegram")["counts"]["deferred"] == 2);
    world.providers.telegram_says(99, "stop");
    daemon.until("stopped", || is_latched(&daemon));
    until("what was left is given up", || world.providers.unread_by_the_bot() == 0);
    reset(&world.place);
    assert_eq!(world.providers.taken("telegram").len(), 4);
}

#[test]
fn the_gate_asks_and_is_answered_on_slack_twilio_and_discord() {
    let world = World::new();
    let daemon = world.place.start();
    let risky = "run the command git init && git reset --hard";
    let git = world.place.work().join(".git");
    let say = |name: &str, number: u32, text: &str| {
        let signed = match name {
            "slack" => world.slack(now(), "U1", &format!("{number}.1"), text),
            "twilio" => world.twilio(ANNA, &format!("SM{number}"), text),
            _ => world.discord("77", &number.to_string(), text),
        };
        assert_eq!(post(&daemon, name, &signed).0, 200, "{name}");
        let so_far = usize::try_from(number).expect("small");
        until(name, || world.providers.taken(name).len() == so_far);
        world.providers.taken(name).pop().expect("an answer").1
    };
    for name in ["slack", "twilio", "discord"] {
        let asked = say(name, 1, risky);
        let (_, rest) = asked.split_once("“yes ").unwrap_or_else(|| panic!("{name} isn't asked: {asked}"));
        let code: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
        assert!(!git.exists(), "{name}");
        let told = say(name, 2, &format!("yes {code}"));
        assert!(git.exists() && told.contains("Initialized"), "{name}: {told}");
        std::fs::remove_dir_all(&git).expect("removed");
    }
}
