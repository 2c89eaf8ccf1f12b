//! Stop, status and health where hyper or the runtime's watches fail.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use maxim_bus::bounds::RESERVE;
use maxim_bus::latch::LatchState;

use super::super::serving::{Serving, run};
use super::*;

/// A second door of a house, at which the clock is wrong.
struct PlainHouse {
    house: House,
    address: SocketAddr,
    close: Option<oneshot::Sender<()>>,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl PlainHouse {
    async fn open() -> Self {
        let house = House::open().await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let served = Arc::clone(&house.served);
        let guarded = axum::middleware::from_fn_with_state(Arc::clone(&served), super::super::guard::guard);
        let router = super::super::routes::router().layer(guarded).with_state(Arc::clone(&served));
        let door = Arc::clone(&served.agent.outside.door);
        let clock_fault = || Some("the clock of this machine shows a time after all calendars".to_owned());
        let (close, closed) = oneshot::channel();
        let shutdown = async {
            let _ = closed.await;
        };
        let serving = tokio::spawn(run(listener, Serving { router, door, clock_fault }, shutdown));
        Self { house, address, close: Some(close), serving }
    }

    /// What a whole connection is answered; none where it is closed without an answer.
    async fn tell(&self, request: String) -> (u16, String) {
        let address = self.address;
        let told = tokio::task::spawn_blocking(move || {
            let mut stream = connected(address);
            stream.write_all(request.as_bytes()).expect("written");
            let mut told = String::new();
            stream.read_to_string(&mut told).expect("an answer");
            told
        });
        let told = told.await.expect("no panic");
        let status = told.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("no status: {told:?}")), told)
    }

    fn is_stopped(&self) -> bool {
        self.house.served.agent.frame.latch.state() == LatchState::Stopped
    }

    async fn close(mut self) {
        drop(self.close.take());
        self.serving.await.expect("no panic").expect("served");
        self.house.close().await;
    }
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connects");
    // An answer that doesn't come fails the test.
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    stream
}

fn request(house: &PlainHouse, line: &str, more: &str, body: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: {}\r\n{more}Content-Length: {}\r\n\r\n{body}", house.address, body.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_status_and_health_are_answered_and_everything_else_names_the_fault() {
    let plain = PlainHouse::open().await;
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    let (status, told) = plain.tell(request(&plain, "GET /healthz", "", "")).await;
    assert_eq!(status, 200, "{told}");
    let (status, told) = plain.tell(request(&plain, "GET /v1/status", &token, "")).await;
    assert!(status == 200 && told.contains("\"stop\"") && told.contains("connection: close"), "{told}");
    let (status, told) = plain.tell(request(&plain, "GET /v1/status", "", "")).await;
    assert_eq!(status, 401, "the guard is the same: {told}");
    let (status, told) = plain.tell(request(&plain, "GET /v1/goals", &token, "")).await;
    assert!(status == 503 && told.contains("after all calendars") && told.contains("timedatectl"), "{told}");
    let foreign = "Origin: https://elsewhere.example\r\n";
    let (status, told) = plain.tell(request(&plain, "POST /v1/stop", foreign, "")).await;
    assert!(status == 403 && !plain.is_stopped(), "{told}");
    let stop = request(&plain, "POST /v1/stop", "", r#"{"reason": "smoke"}"#);
    let (status, told) = plain.tell(stop).await;
    assert!(status == 200 && told.contains("\"latched\":true"), "{told}");
    assert!(plain.is_stopped());
    plain.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_without_its_body_stops_and_silent_callers_keep_it_not_waiting() {
    let plain = PlainHouse::open().await;
    let silent: Vec<TcpStream> = (0..3 * RESERVE.limit).map(|_| connected(plain.address)).collect();
    let head = format!("POST /v1/stop HTTP/1.1\r\nHost: {}\r\nContent-Length: 50\r\n\r\n", plain.address);
    let (status, told) = plain.tell(head).await;
    assert!(status == 200 && told.contains("\"latched\":true"), "{told}");
    assert!(plain.is_stopped());
    drop(silent);
    for broken in ["\r\n\r\n\r\n", "NONSENSE\r\n\r\n", "GET /healthz HTTP/9.9\r\n\r\n"] {
        let mut stream = connected(plain.address);
        stream.write_all(broken.as_bytes()).expect("written");
        let mut told = Vec::new();
        let _ = stream.read_to_end(&mut told);
        assert!(told.is_empty(), "{broken:?}");
    }
    let (status, _) = plain.tell(request(&plain, "GET /healthz", "", "")).await;
    assert_eq!(status, 200);
    plain.close().await;
}
