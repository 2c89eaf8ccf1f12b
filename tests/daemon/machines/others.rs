//! What other machines learn of the agent, and what they may send: signals, a stop, heartbeats.

use std::time::Duration;

use async_nats::jetstream;
use futures_util::StreamExt;
use serde_json::Value;

use super::{Machine, Server};
use crate::harness::PATIENCE;

#[test]
fn signals_are_told_once_they_are_durable_and_kept_for_who_comes_later() {
    let Some(server) = Server::start() else { return };
    let one = Machine::of(&server);
    let daemon = one.start_with(&[("MAXIM__NATS__SIGNALS", "Percept,Intent,ToolResult")]);
    let answer = daemon.say("what is 2 + 3?");
    let turn = answer["turn"].as_str().or(answer["id"].as_str()).expect("a turn").to_owned();
    let (runtime, client) = server.client();
    let heard: Vec<(String, Value)> = runtime.block_on(async {
        let jetstream = jetstream::new(client.clone());
        let stream = loop {
            // The stream is created with the first signal.
            if let Ok(stream) = jetstream.get_stream("MAXIM_maxim_SIGNALS").await {
                break stream;
            }
            tokio::task::yield_now().await;
        };
        let config = jetstream::consumer::pull::OrderedConfig::default();
        let mut messages = stream.create_consumer(config).await.expect("made").messages().await.expect("opened");
        let mut heard = Vec::new();
        while !heard.iter().any(|(subject, _): &(String, Value)| subject.ends_with("ToolResult")) {
            let next = tokio::time::timeout(PATIENCE, messages.next()).await.expect("in time");
            let message = next.expect("goes on").expect("a message");
            heard.push((message.subject.to_string(), serde_json::from_slice(&message.payload).expect("JSON")));
        }
        heard
    });
    let subjects: Vec<&str> = heard.iter().map(|(subject, _)| subject.as_str()).collect();
    assert_eq!(subjects.first(), Some(&"maxim.maxim.signal.Percept"), "{subjects:?}");
    assert!(subjects.contains(&"maxim.maxim.signal.Intent"), "{subjects:?}");
    assert!(heard.iter().any(|(_, signal)| signal["turn"] == turn.as_str()), "{turn}: {heard:?}");
    assert!(heard[0].1["body"].to_string().contains("2 + 3"), "{heard:?}");
    let ids: std::collections::BTreeSet<String> = heard.iter().map(|(_, signal)| signal["id"].to_string()).collect();
    assert_eq!(ids.len(), heard.len(), "each is told once");
}

#[test]
fn what_the_senses_of_another_machine_report_is_seen_and_what_is_noticed_of_it_is_told() {
    let Some(server) = Server::start() else { return };
    let one = Machine::of(&server);
    let (runtime, client) = server.client();
    let mut noticed = runtime.block_on(client.subscribe("maxim.maxim.sensor.SceneNoticed")).expect("subscribed");
    let daemon = one.start_with(&[("MAXIM__NATS__SIGNALS", "SceneNoticed")]);
    let ask = |body: &str| {
        let answer = client.request("maxim.maxim.observation", body.to_owned().into());
        let answer = runtime.block_on(answer).expect("answered");
        serde_json::from_slice::<Value>(&answer.payload).expect("JSON")
    };
    let seen =
        r#"{"source": "camera", "objects": [{"name": "teapot", "confidence": 0.9, "box": [0.1, 0.1, 0.4, 0.4]}]}"#;
    assert_eq!(ask(seen)["status"], 202);
    let told = runtime.block_on(async { tokio::time::timeout(PATIENCE, noticed.next()).await });
    let told = told.expect("in time").expect("goes on").payload;
    assert!(String::from_utf8_lossy(&told).contains("teapot"), "{told:?}");
    let answer = daemon.say("what do you see?");
    assert!(answer["reply"].as_str().is_some_and(|reply| reply.contains("teapot")), "{answer}");
    let refused = ask("{\"objcts\": []}");
    assert_eq!(refused["status"], 400, "{refused}");
    assert!(refused["body"].to_string().contains("objects"), "it names the fix: {refused}");
}

#[test]
fn another_machine_stops_it_and_is_answered() {
    let Some(server) = Server::start() else { return };
    let one = Machine::of(&server);
    let daemon = one.start();
    let (runtime, client) = server.client();
    let answer = runtime.block_on(client.request("maxim.maxim.stop", "smoke in the hall".into())).expect("answered");
    let answer: Value = serde_json::from_slice(&answer.payload).expect("JSON");
    assert_eq!((answer["latched"].as_bool(), answer["first"].as_bool()), (Some(true), Some(true)), "{answer}");
    let stop = daemon.get("/v1/status").1["stop"].clone();
    assert_eq!((stop["reason"].as_str(), stop["by"].as_str()), (Some("smoke in the hall"), Some("nats")), "{stop}");
}

#[test]
fn a_lost_heartbeat_is_a_stop_and_one_that_comes_again_clears_nothing() {
    let Some(server) = Server::start() else { return };
    let one = Machine::of(&server);
    let (runtime, client) = server.client();
    let beat = client.clone();
    let beating = runtime.spawn(async move {
        loop {
            let _ = beat.publish("maxim.maxim.heartbeat", "".into()).await;
            let _ = beat.flush().await;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    let daemon = one.start_with(&[("MAXIM__NATS__HEARTBEAT", "5s")]);
    let stop = || daemon.get("/v1/status").1["stop"].clone();
    daemon.say("what is 2 + 3?");
    assert_eq!(stop()["latched"], false);
    beating.abort();
    daemon.until("stopped", || stop()["latched"] == true);
    assert!(stop()["reason"].as_str().is_some_and(|reason| reason.contains("no heartbeat for 5000 ms")), "{}", stop());
    runtime.block_on(async {
        client.publish("maxim.maxim.heartbeat", "".into()).await.expect("sent");
        client.flush().await.expect("sent");
    });
    assert_eq!(stop()["latched"], true);
}
