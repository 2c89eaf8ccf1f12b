//! A test server on loopback, which lives as long as the test process.

use axum::Router;

/// Serves in the background; returns its address as a URL.
pub fn serve(app: Router) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("for tokio");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            axum::serve(listener, app).await.expect("it serves");
        });
    });
    format!("http://{address}")
}
