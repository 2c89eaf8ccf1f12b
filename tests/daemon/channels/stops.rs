//! A stop phrase on each channel, also from a stranger, while a body is moving.

use std::time::{Duration, Instant};

use futures_util::SinkExt;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::broker::{Broker, Somebody, toml as mqtt};
use super::channel;
use super::mail::{Dovecot, toml as email};
use super::programs::free_port;
use super::webhooks::{World, now, post};
use crate::body::{LEASE, body, clear, tell};
use crate::harness::Daemon;

/// Time limit for freezing a body after the stop was raised. Its bound is 20 ms; a busy machine may suspend threads
/// for longer.
const BOUND_US: u64 = 200_000;

fn by_websocket(daemon: &Daemon) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut socket = daemon.socket().await;
        let said = json!({"text": "Stop now!"}).to_string();
        socket.send(Message::Text(said.into())).await.expect("sent");
        // Kept open until the daemon has read it.
        let _ = futures_util::StreamExt::next(&mut socket).await;
    });
}

fn by_completion(daemon: &Daemon) {
    let said = json!({"model": "maxim", "messages": [{"role": "user", "content": "please stop moving"}]});
    let (status, answer) = daemon.post("/v1/chat/completions", &said);
    assert_eq!(status, 200, "{answer}");
}

/// A way to send a stop phrase, with its name.
type Way<'a> = (&'a str, Box<dyn FnMut() + 'a>);

#[test]
fn a_stop_phrase_on_each_channel_stops_a_moving_body() {
    let (broker, mut dovecot) = (Broker::start(), Dovecot::start());
    let mut world = World::new();
    world.also("[body]\nspeed = 0.06\n");
    if let Some(broker) = &broker {
        let more = mqtt(&world.place, broker, "");
        world.also(&more);
    }
    if let Some(dovecot) = &dovecot {
        let more = email(&world.place, dovecot.port, free_port(), "");
        world.also(&more);
    }
    let daemon = world.place.start_with(&["--body", "sim"]);
    for name in ["telegram", "slack", "twilio", "discord"] {
        daemon.until(name, || channel(&daemon, name)["state"] == "up");
    }
    let mut ways: Vec<Way<'_>> = vec![
        ("WebSocket", Box::new(|| by_websocket(&daemon))),
        ("chat completions", Box::new(|| by_completion(&daemon))),
        ("Telegram", Box::new(|| world.providers.telegram_says(99, "STOP!!!"))),
        ("Slack", Box::new(|| assert_eq!(post(&daemon, "slack", &world.slack(now(), "U9", "9.1", "stop")).0, 200))),
        ("Twilio", Box::new(|| assert_eq!(post(&daemon, "twilio", &world.twilio("+19995550", "SM9", "Stop.")).0, 200))),
        ("Discord", Box::new(|| assert_eq!(post(&daemon, "discord", &world.discord("99", "9", "freeze")).0, 200))),
    ];
    if let Some(broker) = &broker {
        daemon.until("connected to the broker", || channel(&daemon, "mqtt")["state"] == "up");
        let mallory = Somebody::at(broker, "mallory");
        ways.push(("MQTT", Box::new(move || mallory.says("maxim/in/mallory", "maxim, stop"))));
    }
    if let Some(dovecot) = &mut dovecot {
        daemon.until("in the mailbox", || channel(&daemon, "email")["state"] == "up");
        ways.push(("e-mail", Box::new(|| dovecot.arrives("mallory@evil.org", "m1@evil.org", "", "stop it"))));
    }
    for (number, (way, stop)) in ways.iter_mut().enumerate() {
        tell(&daemon, if number % 2 == 0 { "look left 60 degrees" } else { "look right 60 degrees" });
        daemon.until("moving", || body(&daemon)["state"] == "moving");
        let sent = Instant::now();
        stop();
        daemon.until(way, || body(&daemon)["froze_after_us"].is_u64());
        let (told, frozen) = (sent.elapsed(), body(&daemon));
        println!("{way}: frozen {} us after it was raised, told {told:?} after it was sent", frozen["froze_after_us"]);
        assert!(frozen["froze_after_us"].as_u64().is_some_and(|took| took < BOUND_US), "{way}: {frozen}");
        std::thread::sleep(LEASE);
        let still = body(&daemon)["pose"].clone();
        std::thread::sleep(LEASE.max(Duration::from_millis(200)));
        assert_eq!(body(&daemon)["pose"], still, "{way}");
        clear(&world.place);
    }
}
