//! Access: the token or a session's key lets a caller in; being on this machine doesn't.

use std::collections::BTreeMap;

use super::super::routes::Access;
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn every_path_but_those_that_are_open_by_design_is_refused_without_a_token() {
    // What is open, by design. A new route that is missing here is refused, or this test fails.
    let open: BTreeMap<(&str, &str), u16> = BTreeMap::from([
        (("get", "/"), 200),
        (("get", "/page.css"), 200),
        (("get", "/page.js"), 200),
        (("get", "/healthz"), 200),
        (("get", "/readyz"), 200),
        (("post", "/hooks/{channel}"), 404), // its provider isn't set up here
        (("post", "/v1/session"), 400),      // the key is missing
        (("post", "/v1/stop"), 200),
    ]);
    let house = House::with(|served| served.chaos = true).await;
    let stranger = stranger();
    let mut refusals = 0;
    for route in ROUTES {
        let method = || route.method.to_uppercase().parse().expect("a method");
        let path = route.path.replace("{id}", "last").replace("{tool}", "bash").replace("{channel}", "slack");
        let told = tell(stranger.request(method(), house.url(&path)).body("{}")).await;
        match open.get(&(route.method, route.path)) {
            Some(status) => {
                assert_eq!(told.status, *status, "{} {path}: {}", route.method, told.body);
                assert_ne!(route.access, Access::Owner, "{path}");
            }
            None => {
                refused(&told, 401, &["token", "maxim token"]);
                refusals += 1;
            }
        }
        assert!(!told.has_cookie, "{path}");
        // With a token that is wrong it is no other, where one is asked for.
        if !open.contains_key(&(route.method, route.path)) && refusals <= 3 {
            let wrong = stranger.request(method(), house.url(&path)).bearer_auth("0123456789abcdef").body("{}");
            refused(&tell(wrong).await, 401, &["wrong"]);
        }
    }
    assert_eq!(refusals, ROUTES.len() - open.len());
    // Neither spelling nor method gets around the table.
    for (method, path) in [
        ("GET", "/v1/stop"),
        ("PUT", "/v1/stop"),
        ("POST", "/v1/stop/"),
        ("POST", "//v1/stop"),
        ("POST", "/v1/reset/"),
        ("POST", "/healthz"),
        ("POST", "/hooks/slack/x"),
        ("GET", "/hooks/slack"),
        ("GET", "/%76%31/status"),
        ("OPTIONS", "/v1/status"),
        ("HEAD", "/v1/status"),
        ("GET", "/nothing"),
    ] {
        let request = stranger.request(method.parse().expect("a method"), house.url(path));
        assert_eq!(request.send().await.expect("an answer").status().as_u16(), 401, "{method} {path}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_token_only_who_shows_it_comes_in() {
    let house = House::with(|served| served.proof = Proof::configured(&Secret::new("s3cret".into()))).await;
    let with = |token: &str| house.client.get(house.url("/v1/openapi.json")).header("authorization", token.to_owned());
    assert_eq!(tell(with("Bearer s3cret")).await.status, 200);
    refused(&tell(with("Bearer s3cres")).await, 401, &["wrong"]);
    refused(&tell(with("Basic s3cret")).await, 401, &[]);
    house.close().await;

    let house = House::open().await;
    assert_eq!(house.get("/v1/status").await.body["asks_for"], "own");
    // With the token, too: no web page of others, and no name that points here.
    let foreign = house.client.post(house.url("/v1/stop")).header("origin", "https://evil.example");
    refused(&tell(foreign).await, 403, &["evil.example"]);
    for path in ["/v1/status", "/", "/page.js"] {
        refused(&tell(house.client.get(house.url(path)).header("host", "evil.example")).await, 403, &["evil.example"]);
    }
    let own = house.client.get(house.url("/v1/approvals")).header("origin", house.url(""));
    assert_eq!(tell(own).await.status, 200);
    let link = house.client.get(house.url("/v1/memory/recall?query=x")).header("sec-fetch-site", "cross-site");
    refused(&tell(link).await, 403, &["http.origins"]);
    assert!(!house.served.agent.frame.latch.is_stopped());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_needs_no_token_from_this_machine_and_is_no_web_page_s() {
    for proof in [Proof::own(&Secret::new(TOKEN.into())), Proof::configured(&Secret::new(TOKEN.into())), Proof::Open] {
        let house = House::with(|served| {
            served.proof = proof;
            served.origins = vec!["https://robot.example".into()];
        })
        .await;
        let stop = || stranger().post(house.url("/v1/stop")).body("{}");
        for (header, value, status) in [
            ("origin", "https://evil.example", 403),
            ("origin", "null", 403),
            ("sec-fetch-site", "cross-site", 403),
            ("host", "evil.example", if matches!(proof, Proof::Configured(_)) { 401 } else { 403 }),
        ] {
            refused(&tell(stop().header(header, value)).await, status, &[]);
        }
        // What a proxy on this machine passes on comes from elsewhere.
        if proof != Proof::Open {
            for name in [
                "x-forwarded-for",
                "x-forwarded-prefix",
                "x-client-ip",
                "true-client-ip",
                "cf-connecting-ip",
                "x-original-url",
                "x-envoy-external-address",
                "x-amzn-trace-id",
                "cdn-loop",
                "forwarded",
                "via",
            ] {
                refused(&tell(stop().header(name, "203.0.113.9")).await, 401, &["token"]);
            }
        }
        assert!(!house.served.agent.frame.latch.is_stopped(), "{proof:?}");
        let by_page = stop().header("origin", "https://robot.example");
        assert_eq!(tell(by_page).await.status, 200);
        assert!(house.served.agent.frame.latch.is_stopped());
        if proof != Proof::Open {
            for path in ["/v1/reset", "/v1/resume"] {
                refused(&tell(stranger().post(house.url(path)).body("{}")).await, 401, &["token"]);
            }
            // An expired key doesn't hinder it.
            assert_eq!(tell(stop().bearer_auth("0123456789abcdef")).await.status, 200);
        }
        house.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_door_asks_nobody_and_still_lets_no_foreign_page_in() {
    let house = House::with(|served| served.proof = Proof::Open).await;
    let status = tell(stranger().get(house.url("/v1/status"))).await;
    assert_eq!((status.status, &status.body["asks_for"]), (200, &json!("nothing")));
    refused(&tell(stranger().get(house.url("/v1/status")).header("host", "evil.example")).await, 403, &[]);
    refused(&tell(stranger().post(house.url("/v1/reset")).header("origin", "https://evil.example")).await, 403, &[]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_begins_one_session_which_may_what_the_token_may() {
    let house = House::open().await;
    let made = house.post("/v1/session-keys", &json!({})).await;
    assert_eq!((made.status, &made.body["expires_s"]), (200, &json!(120)), "{}", made.body);
    let exchange = |key: &str| {
        let request = stranger().post(house.url("/v1/session"));
        tell(request.header("origin", house.url("")).body(json!({ "key": key }).to_string()))
    };
    refused(&exchange("0123456789abcdef").await, 401, &["maxim open"]);
    let key = made.body["key"].as_str().expect("a key").to_owned();
    let begun = exchange(&key).await;
    assert_eq!((begun.status, begun.has_cookie), (200, false), "{}", begun.body);
    let session = begun.body["session"].as_str().expect("a key").to_owned();
    assert!(session.len() == 64 && session != key);
    refused(&exchange(&key).await, 401, &["used already"]);
    // The key itself opens nothing else.
    for (shown, status) in [(&session, 200), (&key, 401)] {
        assert_eq!(tell(stranger().get(house.url("/v1/status")).bearer_auth(shown)).await.status, status);
    }
    let proof: String = session.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut request = format!("ws://{}/ws", house.address).into_client_request().expect("a request");
    let protocols = format!("maxim, maxim.bearer.{proof}").parse().expect("a value");
    request.headers_mut().insert("sec-websocket-protocol", protocols);
    let (_, answer) = tokio_tungstenite::connect_async(request).await.expect("connects");
    assert_eq!(answer.headers()["sec-websocket-protocol"], "maxim", "the key isn't said back");
    // A page from elsewhere exchanges nothing, whatever it got hold of.
    let made = house.post("/v1/session-keys", &json!({})).await.body;
    let foreign = stranger().post(house.url("/v1/session")).header("origin", "https://evil.example");
    refused(&tell(foreign.body(json!({"key": made["key"]}).to_string())).await, 403, &[]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_another_account_could_read_works_for_its_own_alone() {
    let house = House::open().await;
    let own = rustix::process::geteuid().as_raw();
    for (account, status) in [(own, 200), (own + 1, 401)] {
        let made = house.post("/v1/session-keys", &json!({ "account": account })).await.body;
        let body = json!({"key": made["key"]}).to_string();
        let told = tell(stranger().post(house.url("/v1/session")).body(body)).await;
        assert_eq!(told.status, status, "{}", told.body);
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_wait_and_a_right_one_does_not() {
    let house = House::open().await;
    let stranger = stranger();
    let guess = || tell(stranger.get(house.url("/v1/status")).bearer_auth("0123456789abcdef"));
    for number in 0..5 {
        let watch = std::time::Instant::now();
        refused(&guess().await, 401, &["wrong"]);
        let took = watch.elapsed();
        // A slow machine may add to a wait, but never shortens it.
        assert!(took >= Duration::from_millis(50 << number), "{number}: {took:?}");
    }
    // Many at once from the same address, and the owner among them: one is judged, the rest are refused at once.
    let guesses = tokio::spawn(futures_util::future::join_all((0..20).map(|_| guess()).collect::<Vec<_>>()));
    while house.served.guesses.waiting() < 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(house.get("/v1/status").await.status, 200);
    assert!(house.served.guesses.waiting() > 0, "one still waits while the right one was answered");
    assert_eq!(tell(stranger.post(house.url("/v1/stop")).body("{}")).await.status, 200);
    let told = guesses.await.expect("ended");
    for told in told.iter().filter(|told| told.status != 401) {
        refused(told, 429, &["wrong", "maxim token"]);
        assert!(told.retry_after);
    }
    assert!(told.iter().filter(|told| told.status == 401).count() <= 2, "1.6 s and then 3.2 s");
    // A request without a token is no guess.
    let watch = std::time::Instant::now();
    refused(&tell(stranger.get(house.url("/v1/status"))).await, 401, &["required"]);
    assert!(watch.elapsed() < Duration::from_secs(4), "it waited for nobody");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_guesses_and_hangs_up_owes_the_wait_all_the_same() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let house = House::open().await;
    let head = format!("host: {}\r\nauthorization: Bearer 0123456789abcdef", house.address);
    let guess = format!("GET /v1/status HTTP/1.1\r\n{head}\r\n\r\n");
    let watch = std::time::Instant::now();
    let mut refused_at_once = 0;
    for number in 0..300 {
        let mut stream = tokio::net::TcpStream::connect(house.address).await.expect("connected");
        stream.write_all(guess.as_bytes()).await.expect("sent");
        // Every third one hangs up without having looked; the others look for what comes at once.
        if number % 3 != 0 {
            let mut answer = [0; 64];
            let read = tokio::time::timeout(Duration::from_millis(20), stream.read(&mut answer)).await;
            if read.is_ok_and(|read| read.is_ok()) && answer.starts_with(b"HTTP/1.1 429") {
                refused_at_once += 1;
            }
        }
        drop(stream);
        if number % 100 == 50 {
            assert_eq!(house.get("/v1/status").await.status, 200, "the right one is served among them");
        }
    }
    // After 50, 150, 350, 750, 1550, 3150, 6350 ms and then each 5 s one more is judged.
    let (took, judged) = (watch.elapsed().as_millis(), house.served.guesses.judged());
    let most = 1 + [50, 150, 350, 750, 1550, 3150, 6350].iter().filter(|at| **at <= took).count() as u128 + took / 5000;
    assert!(u128::from(judged) <= most, "{judged} were judged within {took} ms");
    assert!(refused_at_once > 100, "{refused_at_once} of 200 that looked");
    assert_eq!(tell(stranger().post(house.url("/v1/stop")).body("{}")).await.status, 200);
    house.close().await;
}
