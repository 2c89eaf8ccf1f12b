//! http_fetch against a real server, whose names and addresses the test decides about.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use maxim_bus::latch::{EffectKind, StopLatch};
use serde_json::{Value, json};

use super::HttpFetch;
use super::fetch::Reach;
use crate::{ErrorKind, Hands, Mode, Tool, ToolOutcome};

/// Answers each path with a whole response, on a thread that ends with the test's process.
fn serve(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
            let _ = stream.write_all(&answer(&path));
        }
    });
    port
}

fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Every public name leads to the server on loopback, which passes for public here; 127.0.0.2 doesn't.
fn reach() -> Reach {
    let judge = |address: IpAddr| (address != IpAddr::V4(Ipv4Addr::LOCALHOST)).then(|| address.to_string());
    let lookup = |host: &str, port: u16| {
        let address = if host.starts_with("inside") { Ipv4Addr::new(127, 0, 0, 2) } else { Ipv4Addr::LOCALHOST };
        Ok(vec![SocketAddr::from((address, port))])
    };
    Reach::new(lookup, judge)
}

fn fetch_by(reach: Reach, params: &Value, hands: &Hands) -> ToolOutcome {
    let latch = StopLatch::in_memory();
    let permit = latch.permit(EffectKind::Other).expect("not stopped");
    HttpFetch::within(reach).run(params, &permit, hands)
}

fn hands() -> Hands {
    Hands::new("/", Mode::Passive, "/saved")
}

fn fetch(port: u16, path: &str) -> ToolOutcome {
    fetch_by(reach(), &json!({"url": format!("http://tides.example.org:{port}{path}")}), &hands())
}

fn error(outcome: &ToolOutcome) -> (Option<ErrorKind>, &str) {
    assert!(!outcome.success, "{outcome:?}");
    (outcome.error_kind, outcome.error.as_deref().unwrap_or_default())
}

#[test]
fn a_page_comes_as_text_with_its_title() {
    let page = b"<html><head><title>Tides</title></head><body><p>High at noon.</p></body></html>";
    let port = serve(move |_| response("200 OK", "Content-Type: text/html\r\n", page));
    let outcome = fetch(port, "/");
    assert!(outcome.success, "{outcome:?}");
    assert_eq!((&outcome.output["title"], &outcome.output["status"]), (&json!("Tides"), &json!(200)));
    assert_eq!(outcome.output["text"], "High at noon.");
}

#[test]
fn a_long_text_is_cut_and_read_on_by_its_offset() {
    let port = serve(|_| response("200 OK", "Content-Type: text/plain\r\n", "é".repeat(900).as_bytes()));
    let mut hands = hands();
    hands.output_cap = 1000;
    let url = format!("http://tides.example.org:{port}/");
    let first = fetch_by(reach(), &json!({"url": url}), &hands).output;
    assert_eq!(first["text"].as_str().map(|text| text.chars().count()), Some(500));
    assert!(first["cut"].as_str().is_some_and(|cut| cut.contains("400 more") && cut.contains("offset 500")), "{first}");
    let rest = fetch_by(reach(), &json!({"url": url, "offset": 500}), &hands).output;
    assert_eq!((rest["text"].as_str().map(|text| text.chars().count()), rest.get("cut")), (Some(400), None));
}

#[test]
fn a_big_page_is_taken_only_in_part() {
    let big = vec![b'x'; 5 * 1024 * 1024];
    let port = serve(move |_| response("200 OK", "Content-Type: text/plain\r\n", &big));
    let output = fetch(port, "/").output;
    assert_eq!(output["bytes"], 4 * 1024 * 1024);
    assert!(output["cut"].as_str().is_some_and(|cut| cut.contains("first 4194304 bytes")), "{}", output["cut"]);
}

#[test]
fn a_redirect_is_followed_to_public_hosts_alone() {
    let port = serve(|path| match path {
        "/on" => response("302 Found", "Location: /there\r\n", b""),
        "/in" => response("302 Found", "Location: http://127.0.0.1:1/x\r\n", b""),
        "/meta" => response("301 Moved", "Location: http://169.254.169.254/latest/meta-data/\r\n", b""),
        "/name" => response("307 Go", "Location: http://inside.example.org/\r\n", b""),
        "/file" => response("302 Found", "Location: file:///etc/passwd\r\n", b""),
        "/round" => response("302 Found", "Location: /round\r\n", b""),
        _ => response("200 OK", "Content-Type: text/plain\r\n", b"there"),
    });
    let outcome = fetch(port, "/on");
    assert_eq!(outcome.output["text"], "there");
    assert_eq!(outcome.output["redirects"].as_array().map(Vec::len), Some(1));
    for path in ["/in", "/meta", "/name", "/file"] {
        let outcome = fetch(port, path);
        assert_eq!(error(&outcome).0, Some(ErrorKind::Refused), "{path}: {outcome:?}");
    }
    assert!(error(&fetch(port, "/round")).1.contains("more than 5 times"));
}

#[test]
fn a_name_that_leads_inside_is_refused_however_it_answered_before() {
    let port = serve(|_| response("200 OK", "Content-Type: text/plain\r\n", b"secret of the house"));
    // Public when it is first asked, inside at once after: what counts is the address that is connected to.
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let lookup = move |_: &str, port: u16| {
        let first = count.fetch_add(1, Ordering::SeqCst) == 0;
        let address = if first { Ipv4Addr::LOCALHOST } else { Ipv4Addr::new(127, 0, 0, 2) };
        Ok(vec![SocketAddr::from((address, port))])
    };
    let judge = |address: IpAddr| (address != IpAddr::V4(Ipv4Addr::LOCALHOST)).then(|| address.to_string());
    let turning = Reach::new(lookup, judge);
    let params = json!({"url": format!("http://turning.example.org:{port}/")});
    assert!(fetch_by(turning.clone(), &params, &hands()).success);
    assert_eq!(asked.load(Ordering::SeqCst), 1, "the judged address is the one that is used");
    let outcome = fetch_by(turning, &params, &hands());
    assert_eq!(error(&outcome).0, Some(ErrorKind::Refused));
    assert!(error(&outcome).1.contains("127.0.0.2"), "{outcome:?}");
    // One address of several is enough to refuse.
    let both = |_: &str, port: u16| {
        Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from(([10, 0, 0, 1], port))])
    };
    assert_eq!(error(&fetch_by(Reach::new(both, judge), &params, &hands())).0, Some(ErrorKind::Refused));
}

#[test]
fn the_real_reach_refuses_this_machine_and_its_network_in_every_spelling() {
    for url in [
        "http://127.0.0.1/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://[::ffff:10.0.0.1]/",
        "http://localhost:7717/v1/status",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://metadata.google.internal/",
        "ftp://example.org/x",
        "file:///etc/passwd",
    ] {
        let outcome = fetch_by(Reach::public(), &json!({"url": url}), &hands());
        assert_eq!(error(&outcome).0, Some(ErrorKind::Refused), "{url}: {outcome:?}");
    }
    let judged = fetch_by(
        Reach::new(|_, port| Ok(vec![SocketAddr::from(([10, 1, 2, 3], port))]), crate::places::unfit_address),
        &json!({"url": "http://innocent.example.org/"}),
        &hands(),
    );
    assert_eq!(error(&judged).0, Some(ErrorKind::Refused), "a public name of a private address");
}

#[test]
fn a_status_is_an_error_with_what_was_said_and_bytes_are_no_text() {
    let port = serve(|path| match path {
        "/picture" => response("200 OK", "Content-Type: image/png\r\n", b"\x89PNG\0"),
        "/broken" => response("500 Oops", "Content-Type: text/plain\r\n", b"out of order"),
        _ => response("404 Not Found", "Content-Type: text/plain\r\n", b"nothing here"),
    });
    let missing = fetch(port, "/missing");
    assert_eq!(error(&missing).0, Some(ErrorKind::NotFound));
    assert_eq!(missing.output["text"], "nothing here");
    assert_eq!(error(&fetch(port, "/broken")).0, Some(ErrorKind::Failed));
    let picture = fetch(port, "/picture");
    assert_eq!((picture.success, &picture.output["text"]), (true, &Value::Null));
}

#[test]
fn the_switch_turns_it_off() {
    let port = serve(|_| response("200 OK", "Content-Type: text/plain\r\n", b"x"));
    let mut off = hands();
    off.web = false;
    let outcome = fetch_by(reach(), &json!({"url": format!("http://tides.example.org:{port}/")}), &off);
    assert_eq!(error(&outcome).0, Some(ErrorKind::Refused));
    assert!(error(&outcome).1.contains("tools.web"), "{outcome:?}");
}
