//! Channels that reach outside, with the real daemon: mosquitto, dovecot and a mail server as shipped, and the
//! published REST interfaces of the other providers.

mod broker;
mod doors;
mod mail;
mod programs;
mod providers;
mod stops;
mod webhooks;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Daemon, Place};

fn configure(place: &Place, toml: &str) {
    let folder = place.root.path().join("home/.config/maxim");
    fs::create_dir_all(&folder).expect("made");
    fs::write(folder.join("maxim.toml"), toml).expect("written");
}

/// A file with a secret, readable only by its owner.
fn secret(place: &Place, name: &str, value: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = place.root.path().join(name);
    fs::write(&path, format!("{value}\n")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
    path.display().to_string()
}

/// A certificate from the TLS tests, for 127.0.0.1 and localhost.
fn certificate(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/brain/tls").join(name).display().to_string()
}

fn channel(daemon: &Daemon, name: &str) -> Value {
    let status = daemon.get("/v1/status").1;
    status["channels"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|channel| channel["name"] == name)
        .cloned()
        .unwrap_or_default()
}

fn is_latched(daemon: &Daemon) -> bool {
    daemon.get("/v1/status").1["stop"]["latched"] == true
}

/// Clears the stop as a person would.
fn reset(place: &Place) {
    let (code, _, err) = place.cli(&["reset"]);
    assert_eq!(code, 0, "{err}");
}

/// Everything in the outbox, the oldest first.
fn outbox(place: &Place) -> Vec<Value> {
    let (code, told, err) = place.cli(&["outbox", "list", "--all", "--json"]);
    assert_eq!(code, 0, "{err}");
    let found: Value = serde_json::from_str(&told).expect("JSON");
    found["entries"].as_array().cloned().unwrap_or_default()
}
