//! `GET /`: the page on which a person talks with the agent, stops it, allows what it asks and sees how it is.
//!
//! Three files, served as they are written, from the program itself: nothing is built, and nothing comes from
//! elsewhere. They contain nothing of this brain. They request all that they show through the door, like any other
//! client.

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// What the page may do in a browser: its own script and style, and its own daemon. Text can't become markup
/// (`require-trusted-types-for`), and no other page can put this one into a frame to have its buttons pressed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// `GET /`.
pub async fn document() -> Response {
    file("text/html; charset=utf-8", include_str!("page.html"))
}

/// `GET /page.css`.
pub async fn style() -> Response {
    file("text/css; charset=utf-8", include_str!("page.css"))
}

/// `GET /page.js`.
pub async fn script() -> Response {
    file("text/javascript; charset=utf-8", include_str!("page.js"))
}

fn file(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        // After an update of the daemon the page is the new one.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}
