//! Observers: events, cycles of thinking, and a socket.

use super::*;

/// Reads server-sent events until one of this type, and gives its id and data.
async fn event(response: &mut reqwest::Response, buffer: &mut String, wanted: &str) -> (String, Value) {
    loop {
        while let Some((event, rest)) = buffer.split_once("\n\n") {
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            let (name, id, data) = (field("event: "), field("id: "), field("data: "));
            *buffer = rest.to_owned();
            if name.as_deref() == Some(wanted) {
                let data = serde_json::from_str(&data.expect("data")).expect("JSON");
                return (id.unwrap_or_default(), data);
            }
        }
        let chunk = response.chunk().await.expect("a stream").expect("it goes on");
        buffer.push_str(&String::from_utf8_lossy(&chunk));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_resumed_where_they_broke_off() {
    let house = House::open().await;
    let look = |last: Option<String>| {
        let request = house.client.get(house.url("/v1/events?type=Percept,TurnEnded"));
        match last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        }
    };
    let mut live = look(None).send().await.expect("a stream");
    let first = house.say("hello").await["id"].clone();
    let mut buffer = String::new();
    let (id, percept) = event(&mut live, &mut buffer, "Percept").await;
    assert_eq!((&percept["turn"], &percept["body"]["content"]), (&first, &json!("hello")));
    drop(live);
    let second = house.say("good morning").await["id"].clone();
    let (mut again, mut buffer) = (look(Some(id)).send().await.expect("a stream"), String::new());
    let (_, ended) = event(&mut again, &mut buffer, "TurnEnded").await;
    assert_eq!(ended["turn"], first, "what came after the last seen one comes first");
    assert_eq!(event(&mut again, &mut buffer, "Percept").await.1["turn"], second);
    let (mut foreign, mut buffer) = (look(Some("6-1".into())).send().await.expect("a stream"), String::new());
    assert_eq!(event(&mut foreign, &mut buffer, "lost").await.1["lost"], true);
    assert_eq!(event(&mut foreign, &mut buffer, "Percept").await.1["turn"], first);
    // Open streams don't keep the door from closing.
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cycles_of_thinking_are_seen_as_they_end_and_stand_in_the_why_record() {
    use maxim_bus::signals::cycle::{CycleEnding, CycleThought, OutwardSpeech};
    use maxim_bus::units::{Confidence, Salience};
    let house = House::open().await;
    let mut live = house.client.get(house.url("/v1/events?type=CycleThought")).send().await.expect("a stream");
    let door = Arc::clone(&house.served.agent.outside.door);
    let turn = door.fresh_id();
    let thought = CycleThought {
        turn,
        cycle: 1,
        cycles: 3,
        seconds: 8.24,
        enriched: vec!["hippocampus".into(), "nucleus_accumbens".into()],
        missing: vec!["angular_gyrus".into()],
        recalled: Vec::new(),
        knowledge: Vec::new(),
        predicted: None,
        foreseen: None,
        salience: Salience::clamped(0.625),
        text: "Where is the key?".into(),
        tool: Some("glob".into()),
        confidence: Some(Confidence::clamped(0.5)),
        ending: CycleEnding::Continued,
        outward: vec![OutwardSpeech::Question],
        display: maxim_bus::signals::cycle::Display::Full,
    };
    door.put("prefrontal_cortex", turn, maxim_bus::Trust::Own, thought);
    let (_, seen) = event(&mut live, &mut String::new(), "CycleThought").await;
    assert_eq!(
        (&seen["turn"], &seen["body"]["cycle"], &seen["body"]["salience"]),
        (&json!(turn), &json!(1), &json!(0.625))
    );
    let mut why = house.get(&format!("/v1/why/{turn}")).await;
    while why.status != 200 {
        tokio::task::yield_now().await; // the ledger is a separate room
        why = house.get(&format!("/v1/why/{turn}")).await;
    }
    let told = "prefrontal_cortex: cycle 1/3 · 8.2 s · enriched: hippocampus, nucleus_accumbens · without: angular_gyrus · \
                speaks to others: question · continued: \"Where is the key?\", towards glob (salience 0.62)";
    assert_eq!(why.body["steps"][0]["what"], told);
    // The question waits behind the thought in the room's inbox.
    let mind = house.get("/v1/memory/working?kind=thought,pain&salient=true&limit=1").await;
    assert_eq!(mind.body["results"][0]["text"], "Where is the key?", "{}", mind.body);
    assert_eq!(house.get("/v1/memory/working?kind=pain").await.body["results"], json!([]));
    refused(&house.get("/v1/memory/working?kind=dream").await, 400, &["dream", "conversation"]);
    refused(&house.get("/v1/memory/working?since=monday").await, 400, &["since"]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_hears_of_its_own_turns() {
    let house = House::open().await;
    let (mut mine, mut other) = (house.socket().await, house.socket().await);
    let mut told = Vec::new();
    mine.send(Message::text("{\"txt\": 1}")).await.expect("sent");
    mine.send(Message::text(json!({"text": "hello", "sender": "anna"}).to_string())).await.expect("sent");
    while told.last().is_none_or(|last: &Value| last["type"] != "ended") {
        let message = mine.next().await.expect("it goes on").expect("a message");
        told.push(serde_json::from_str(message.to_text().expect("text")).expect("JSON"));
    }
    let kinds: Vec<&str> = told.iter().filter_map(|told| told["type"].as_str()).collect();
    assert_eq!(kinds, ["error", "accepted", "reply", "ended"], "{told:?}");
    assert!(told[0]["detail"].as_str().is_some_and(|detail| detail.contains("txt")));
    assert_eq!((&told[1]["id"], &told[1]["id"]), (&told[2]["turn"], &told[3]["turn"]));
    other.send(Message::text(json!({"text": "good morning"}).to_string())).await.expect("sent");
    let message = other.next().await.expect("it goes on").expect("a message");
    let first: Value = serde_json::from_str(message.to_text().expect("text")).expect("JSON");
    assert_eq!(first["type"], "accepted", "nothing of the other's turn came: {first}");
    house.close().await;
}
