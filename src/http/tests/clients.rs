//! Who comes in: with a token, with a chat client, with goals, as a sense, and with a hammer.

use std::time::Duration;

use async_openai::config::OpenAIConfig;
use async_openai::types::chat::{
    ChatCompletionRequestUserMessageArgs, ChatCompletionStreamOptions, CreateChatCompletionRequestArgs, FinishReason,
    Role,
};
use maxim_actors::effectors::channels::Said;
use maxim_bus::signals::sleep::{SleepEntered, SleepPhase};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{MessageId, Trust};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite;

use super::super::word_stream::WordStream;
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn the_page_and_its_files_come_with_their_policy_and_without_a_token() {
    for is_configured in [false, true] {
        let set = |served: &mut Served| served.proof = Proof::configured(&Secret::new(TOKEN.into()));
        let house = House::with(|served| {
            if is_configured {
                set(served)
            }
        })
        .await;
        let files = [("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")];
        for (path, kind) in files {
            let answer = stranger().get(house.url(path)).send().await.expect("an answer");
            assert!(!answer.headers().contains_key("set-cookie"), "other ports of this machine would be shown it");
            let header = |name: &str| answer.headers()[name].to_str().expect("text").to_owned();
            assert_eq!((answer.status().as_u16(), header("content-type")), (200, format!("{kind}; charset=utf-8")));
            let policy = header("content-security-policy");
            for part in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"] {
                assert!(policy.contains(part), "{part} is not in {policy}");
            }
            assert!(!policy.contains("unsafe"), "{policy}");
            assert_eq!(header("x-content-type-options"), "nosniff");
            let text = answer.text().await.expect("text");
            assert!(!text.contains("http://") && !text.contains("https://"), "{path} needs nothing from elsewhere");
        }
        let page = house.get("/").await.body;
        let page = page.as_str().expect("HTML");
        for (path, _) in &files[1..] {
            assert!(page.contains(&format!("\"{path}\"")), "{path} is not asked for");
        }
        // A foreign name that points here is no name of this machine; with a configured token, other names are allowed.
        let rebound = tell(house.client.get(house.url("/")).header("host", "evil.example")).await;
        assert_eq!(rebound.status, if is_configured { 200 } else { 403 });
        house.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_opens_for_the_page_with_its_token_and_for_no_page_from_elsewhere() {
    let house = House::with(|served| served.proof = Proof::configured(&Secret::new("s3cret".into()))).await;
    let shakes_hands = async |protocols: &'static str, origin: String| {
        let mut request = format!("ws://{}/ws", house.address).into_client_request().expect("a request");
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(protocols));
        request.headers_mut().insert("origin", origin.parse().expect("a value"));
        match tokio_tungstenite::connect_async(request).await {
            Ok((mut socket, answer)) => {
                assert_eq!(answer.headers()["sec-websocket-protocol"], "maxim", "the token isn't said back");
                socket.send(Message::Text(json!({"text": "hello"}).to_string().into())).await.expect("sent");
                let told = socket.next().await.expect("open").expect("a frame").into_text().expect("text");
                assert!(told.contains("accepted"), "{told}");
                101
            }
            Err(tungstenite::Error::Http(answer)) => answer.status().as_u16(),
            Err(error) => panic!("{error}"),
        }
    };
    let token = "maxim, maxim.bearer.733363726574";
    assert_eq!(shakes_hands(token, house.url("")).await, 101);
    assert_eq!(shakes_hands("maxim", house.url("")).await, 401);
    assert_eq!(shakes_hands("maxim, maxim.bearer.733363726575", house.url("")).await, 401);
    assert_eq!(shakes_hands(token, "https://evil.example".into()).await, 403);
    // The protocol is for sockets: nothing else is opened by it.
    let elsewhere = stranger().get(house.url("/v1/status")).header("sec-websocket-protocol", token);
    assert_eq!(tell(elsewhere).await.status, 401);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chaos_breaks_a_room_and_the_door_shows_it() {
    let house = House::with(|served| served.chaos = true).await;
    let list = house.get("/v1/chaos").await.body;
    assert_eq!(list["regions"].as_array().map(Vec::len), Some(house.served.agent.parts.len()), "{list}");
    refused(&house.post("/v1/chaos/kill", &json!({"region": "hipocampus"})).await, 404, &["hippocampus"]);
    for (what, region) in [("panic", "hippocampus"), ("kill", "executor")] {
        let told = house.post(&format!("/v1/chaos/{what}"), &json!({"region": region})).await;
        assert_eq!(told.status, 200, "{}", told.body);
        let restarts = |status: Value| {
            let regions = status["regions"].as_array().cloned().unwrap_or_default();
            regions.iter().find(|found| found["name"] == region).and_then(|found| found["restarts"].as_u64())
        };
        while restarts(house.get("/v1/status").await.body) != Some(1) {
            tokio::task::yield_now().await;
        }
    }
    assert!(house.say("hello").await["reply"].is_string(), "it goes on");
    // The brain can tell it of itself too.
    let told = house.post("/v1/introspection/system_stats", &json!({})).await.body;
    let health = &told["health"];
    assert_eq!(health["restarts"], 2, "{health}");
    assert_eq!(health["rooms"].as_u64(), Some(house.served.agent.parts.len() as u64), "{health}");
    let rebuilt: Vec<&Value> = health["not_as_usual"].as_array().into_iter().flatten().collect();
    assert!(rebuilt.iter().any(|one| one["room"] == "hippocampus" && one["restarts"] == 1), "{health}");
    assert_eq!(house.post("/v1/chaos/fail-disk", &json!({})).await.body["disk"], "fails");
    assert_eq!(house.get("/v1/chaos").await.body["disk"], "fails");
    assert_eq!(house.post("/v1/chaos/restore-disk", &json!({})).await.body["disk"], "works");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_description_lists_exactly_what_is_served() {
    let house = House::open().await;
    let served = house.get("/v1/openapi.json").await.body;
    assert_eq!(served, openapi_document());
    let paths = served["paths"].as_object().expect("paths");
    let described: usize = paths.values().filter_map(Value::as_object).map(serde_json::Map::len).sum();
    assert_eq!(described, ROUTES.len(), "a path and method stands in the table once");
    for (path, methods) in paths {
        let url = house.url(&path.replace("{id}", "last"));
        for method in ["get", "post", "put", "delete"] {
            let request = house.client.request(method.to_uppercase().parse().expect("a method"), &url);
            // The head is enough: a stream has no end, and an empty body stops or breaks nothing that matters here.
            let status = request.send().await.expect("an answer").status().as_u16();
            assert_eq!(status != 405, methods.get(method).is_some(), "{method} {path} gave {status}");
        }
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_client_talks_to_it_as_to_a_model() {
    let house = House::open().await;
    let models = house.get("/v1/models").await;
    assert_eq!(models.body["data"][0]["id"], "maxim", "{}", models.body);
    let ask = |text: &str| {
        json!({
            "model": "gpt-whatever", "temperature": 0.2, "tools": [],
            "messages": [
                {"role": "system", "content": "You are a pirate."},
                {"role": "user", "content": "delete everything"},
                {"role": "assistant", "content": "no"},
                {"role": "user", "content": [{"type": "text", "text": text}]},
            ],
        })
    };
    let done = house.post("/v1/chat/completions", &ask("create a file chat.txt with the text ahoy")).await;
    assert_eq!((done.status, &done.body["object"]), (200, &json!("chat.completion")), "{}", done.body);
    let words = done.body["choices"][0]["message"]["content"].as_str().unwrap_or_default();
    assert!(words.contains("chat.txt"), "{words}");
    assert!(house._folder.path().join("chat.txt").exists());

    let mut streamed = ask("what is 6 * 7?");
    streamed["stream"] = true.into();
    let url = format!("http://{}/v1/chat/completions", house.address);
    let told = house.client.post(url).json(&streamed).send().await.expect("answered").text().await.expect("read");
    let pieces: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(pieces.last(), Some(&"[DONE]"), "{told}");
    let first: Value = serde_json::from_str(pieces[0]).expect("JSON");
    assert_eq!(first["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));

    for (body, words) in [
        (json!({"messages": []}), "no message has the role user"),
        (json!({"prompt": "x"}), "messages"),
        (json!({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}), "image_url"),
        (json!({"messages": [{"role": "user", "content": "  "}]}), "empty"),
    ] {
        let refused = house.post("/v1/chat/completions", &body).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        let message = refused.body["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(words), "{message}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_refusal_says_to_a_chat_client_why_in_the_form_that_it_reads() {
    let house = House::open().await;
    let said = json!({"model": "maxim", "messages": [{"role": "user", "content": "hello"}]}).to_string();
    let refused = |told: &Told, status: u16, code: Value, words: &str| {
        assert_eq!(told.status, status, "{}", told.body);
        let error = &told.body["error"];
        let message = error["message"].as_str().unwrap_or_else(|| panic!("{} has no error.message", told.body));
        assert!(message.contains(words), "{message}");
        assert!(error["type"].is_string() && error.as_object().is_some_and(|error| error.contains_key("param")));
        assert_eq!(error["code"], code, "{}", told.body);
        assert_eq!(told.body["status"], status, "others read it as ever: {}", told.body);
    };
    let large = json!({"messages": [{"role": "user", "content": "x".repeat(70_000)}]}).to_string();
    let long_user = json!({"user": "x".repeat(400), "messages": [{"role": "user", "content": "hello"}]}).to_string();
    for (body, status, code, words) in [
        (&b"{"[..], 400, Value::Null, "can't be read"),
        (b"{\"messages\": []}", 400, Value::Null, "role user"),
        (large.as_bytes(), 413, json!("request_too_large"), "say it in parts"),
        (&vec![b' '; BODY_MAX + 1], 413, json!("request_too_large"), "http.body_max"),
        (long_user.as_bytes(), 422, Value::Null, "320"),
    ] {
        refused(&house.post_raw("/v1/chat/completions", body.to_vec()).await, status, code, words);
    }
    assert_eq!(house.get("/v1/models/maxim").await.body["id"], "maxim");
    refused(&house.get("/v1/models/gpt-7").await, 404, json!("model_not_found"), "gpt-7");
    refused(&house.get("/v1/chat/completions").await, 405, Value::Null, "POST");
    refused(&house.post("/v1/embeddings", &json!({"input": "x"})).await, 404, Value::Null, "/v1/embeddings");
    // With a wrong key, as a client of that interface shows it; then a second one at once.
    let stranger = stranger();
    let ask = |key: &str| tell(stranger.post(house.url("/v1/chat/completions")).bearer_auth(key).body(said.clone()));
    let (first, second) = tokio::join!(ask("sk-0123456789abcdef"), ask("sk-0123456789abcdeg"));
    let (wrong, busy) = if first.status == 401 { (first, second) } else { (second, first) };
    refused(&wrong, 401, json!("invalid_api_key"), "maxim token");
    refused(&busy, 429, json!("rate_limit_exceeded"), "maxim token");
    let none = tell(stranger.get(house.url("/v1/models"))).await;
    refused(&none, 401, json!("invalid_api_key"), "maxim token");
    let config = OpenAIConfig::new().with_api_base(house.url("/v1")).with_api_key("sk-0123456789abcdef");
    let client = async_openai::Client::with_config(config).with_http_client(stranger.clone());
    let hello = ChatCompletionRequestUserMessageArgs::default().content("hello").build().expect("a message");
    let asked = CreateChatCompletionRequestArgs::default().model("maxim").messages([hello.into()]).build();
    let error = client.chat().create(asked.expect("a request")).await.expect_err("a wrong key").to_string();
    assert!(error.contains("maxim token"), "{error}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_openais_interface_reads_the_stream() {
    let house = House::open().await;
    let config = OpenAIConfig::new().with_api_base(house.url("/v1")).with_api_key(TOKEN);
    let client = async_openai::Client::with_config(config).with_http_client(house.client.clone());
    let said = ChatCompletionRequestUserMessageArgs::default().content("what is 6 * 7?").build().expect("a message");
    let asked = CreateChatCompletionRequestArgs::default()
        .model("maxim")
        .messages([said.into()])
        .stream(true)
        .stream_options(ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None })
        .build()
        .expect("a request");
    let chunks = client.chat().create_stream(asked).await.expect("a stream").collect::<Vec<_>>().await;
    let chunks: Vec<_> = chunks.into_iter().map(|chunk| chunk.expect("a chunk as the interface has it")).collect();
    let first = &chunks[0].choices[0];
    assert_eq!((first.delta.role, first.delta.content.as_deref()), (Some(Role::Assistant), Some("")));
    let words: String =
        chunks.iter().flat_map(|chunk| &chunk.choices).filter_map(|c| c.delta.content.clone()).collect();
    assert!(words.contains("42"), "{words}");
    let ends: Vec<_> = chunks.iter().flat_map(|chunk| &chunk.choices).filter_map(|c| c.finish_reason).collect();
    assert_eq!(ends, [FinishReason::Stop]);
    let usage: Vec<_> = chunks.iter().map(|chunk| chunk.usage.as_ref().map(|usage| usage.total_tokens)).collect();
    assert_eq!(usage.iter().rev().position(Option::is_some), Some(0), "{usage:?}");
    assert_eq!(usage.last(), Some(&Some(0)), "habit needs no tokens");
    house.close().await;
}

#[tokio::test]
async fn what_is_said_in_a_turn_is_streamed_when_it_is_said_and_never_twice() {
    let house = House::open().await;
    let turn = MessageId::from_parts(1, 1);
    let says = |turn, text: &str| Said::Reply { turn, recipient: "anna".into(), text: text.into() };
    let (tell, mut heard) = mpsc::channel(8);
    let (ends, ended) = oneshot::channel();
    let mut ended = std::pin::pin!(tokio::time::timeout(Duration::from_secs(60), ended));
    let mut stream = WordStream::new(&house.served, turn, 0, false);
    let mut next = async || stream.next(&mut heard, ended.as_mut()).await;
    let content = |chunk: Option<String>| -> Value {
        let chunk: Value = serde_json::from_str(&chunk.expect("a chunk")).expect("JSON");
        chunk["choices"][0]["delta"]["content"].clone()
    };
    assert_eq!(content(next().await), "");
    tell.try_send(says(turn, "I look.")).expect("heard");
    assert_eq!(content(next().await), "I look.", "nobody waits for the end of the turn");
    tell.try_send(says(MessageId::from_parts(2, 2), "not for you")).expect("heard");
    tell.try_send(says(turn, "It is there.")).expect("heard");
    assert_eq!(content(next().await), "\n\nIt is there.");
    let reply = Some("It is there.".into());
    let over = TurnEnded {
        turn,
        channel: "http".into(),
        reply,
        spoken: true,
        actions: vec![],
        lost: false,
        decided: None,
        rests_on: Vec::new(),
    };
    ends.send(Ok(over)).expect("waited for");
    assert_eq!(content(next().await), Value::Null, "the last words were heard already");
    assert_eq!((next().await.as_deref(), next().await), (Some("[DONE]"), None));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn goals_are_given_seen_and_given_up() {
    let house = House::open().await;
    let asked = "run the command git init && git reset --hard";
    let given = house.post("/v1/goals", &json!({"goal": asked})).await;
    assert_eq!((given.status, &given.body["goals"][0]["title"]), (200, &json!(asked)), "{}", given.body);
    let id = given.body["goals"][0]["id"].as_str().expect("an id").to_owned();
    let dropped = house.post(&format!("/v1/goals/{id}"), &json!({"go_on": false})).await;
    assert_eq!(dropped.body["goals"][0]["state"], "dropped", "{}", dropped.body);
    refused(&house.post(&format!("/v1/goals/{id}"), &json!({"go_on": true})).await, 409, &["is over"]);
    refused(&house.post("/v1/goals/x", &json!({"go_on": true})).await, 404, &["no goal"]);
    refused(&house.post("/v1/goals", &json!({"goal": " "})).await, 400, &["empty"]);
    house.close().await;
}

#[tokio::test]
async fn what_the_senses_report_is_around_and_recognised_words_can_stop_but_not_command() {
    let house = House::open().await;
    let picture = json!({
        "source": "camera", "people": ["Anna"], "sound": {"name": "doorbell", "confidence": 0.7},
        "objects": [{"name": "cup", "confidence": 0.9, "box": [0.4, 0.4, 0.6, 0.6]}, {"name": "dog", "confidence": 0.47}],
    });
    let told = house.post("/v1/observations", &picture).await;
    assert_eq!(told.status, 202, "{}", told.body);
    assert!(told.body["id"].is_string());
    let question = json!({"params": {"top_n": 10, "include_attention": true}});
    let scene = house.post("/v1/introspection/scene_summary", &question).await.body;
    assert_eq!((&scene["around"], &scene["gaze"]), (&json!(4), &json!("cup")), "{scene}");
    assert_eq!(scene["objects"][0]["name"], "anna", "{scene}");
    for (wrong, why) in [
        (json!({"objects": [{"name": "cup"}]}), "confidence"),
        (json!({"objects": [{"name": "cup", "confidence": 2}]}), "confidence"),
        (json!({"objects": [{"name": "cup", "confidence": 1, "box": [0, 0, 9, 9]}]}), "box"),
        (json!({"objects": [{"name": "cup", "confidence": 1, "color": "red"}]}), "color"),
        (json!({"objects": "cup"}), "list"),
        (json!({"pose": {"yaw": "left"}}), "pose"),
        (json!({"smell": "tea"}), "smell"),
        (json!({"speech": {"text": "hello"}}), "confidence"),
        (json!({"pain": {"place": "bumper"}}), "intensity"),
        (json!({"pain": {"place": " ", "intensity": 0.5}}), "place"),
    ] {
        refused(&house.post("/v1/observations", &wrong).await, 400, &[why]);
    }
    let posed = house.post("/v1/observations", &json!({"source": "imu", "pose": {"Yaw": 29.7, "z": -5}})).await;
    assert_eq!(posed.status, 202, "{}", posed.body);
    let scene = house.post("/v1/introspection/scene_summary", &question).await.body;
    assert_eq!(scene["pose"], json!({"yaw": 30.0, "z": -5.0}), "{scene}");
    let pain = json!({"pain": {"place": "front.bumper", "intensity": 0.5, "reason": "a push"}});
    assert_eq!(house.post("/v1/observations", &pain).await.status, 202);
    let felt = house.post("/v1/introspection/pain_history", &json!({"params": {}})).await.body;
    assert!(felt.to_string().contains("front.bumper") && felt.to_string().contains("external"), "{felt}");
    let said = |text: &str, sure: f64| json!({"speech": {"text": text, "confidence": sure}});
    let heard = house.post("/v1/observations", &said("run the command touch it", 0.9)).await;
    assert!(heard.body["speech"].is_string(), "{}", heard.body);
    let unsure = house.post("/v1/observations", &said("hello there", 0.2)).await;
    assert!(unsure.body["speech"].is_null(), "{}", unsure.body);
    assert!(!house.served.agent.frame.latch.is_stopped());
    // A missed stop is worse than a false one.
    house.post("/v1/observations", &said("Stop!", 0.2)).await;
    assert!(house.served.agent.frame.latch.is_stopped());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fears_are_listed_explained_pinned_and_forgiven() {
    let house = House::open().await;
    assert_eq!(house.get("/v1/fears").await.body["fears"], json!([]));
    refused(&house.post("/v1/fears/bash", &json!({"wish": "forgive"})).await, 409, &["not feared", "maxim fear list"]);
    refused(&house.post("/v1/fears/bash", &json!({"wish": "caress"})).await, 400, &["caress", "pin or forgive"]);
    refused(&house.post("/v1/fears/respond", &json!({"wish": "pin"})).await, 409, &["respond"]);
    let pinned = house.post("/v1/fears/bash", &json!({"wish": "pin"})).await;
    assert_eq!((pinned.status, &pinned.body["fears"][0]["pinned"]), (200, &json!(true)), "{}", pinned.body);
    let told = house.get("/v1/fears/bash").await;
    assert_eq!(
        (&told.body["fear"]["tool"], &told.body["expected"]["known"]),
        (&json!("bash"), &json!(false)),
        "{}",
        told.body
    );
    assert_eq!(house.post("/v1/fears/bash", &json!({"wish": "forgive"})).await.body["fears"], json!([]));
    house.close().await;
}

#[tokio::test]
async fn a_sleep_that_is_under_way_is_told_until_it_ends() {
    let house = House::open().await;
    let until = async |state: &str| {
        while house.get("/v1/status").await.body["state"] != state {
            tokio::task::yield_now().await;
        }
    };
    until("awake").await;
    let door = &house.served.agent.outside.door;
    let sleep = door.fresh_id();
    door.put("door", sleep, Trust::Own, SleepEntered { sleep, phase: SleepPhase::Scoring });
    tokio::time::timeout(Duration::from_secs(30), until("asleep")).await.expect("it is told");
    assert_eq!(house.post("/v1/memory/sleep", &json!({})).await.status, 200);
    tokio::time::timeout(Duration::from_secs(30), until("awake")).await.expect("that it is over too");
    house.close().await;
}
