//! A model server reached by `https`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use maxim::agent::AgentSettings;
use maxim::config::Settings;
use maxim_actors::effectors::tool_servers::ListFolder;
use maxim_actors::store::StateStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use crate::common::{Bench, core_tools};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/brain/tls").join(name)
}

/// Answers every call with the same action; returns its base URL.
fn model() -> String {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = CertificateDer::pem_file_iter(file("server.pem")).expect("it is there");
    let chain = chain.collect::<Result<Vec<_>, _>>().expect("certificates");
    let key = PrivateKeyDer::from_pem_file(file("server-key.pem")).expect("a key");
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
    let config = Arc::new(config.with_no_client_auth().with_single_cert(chain, key).expect("they fit"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}/v1", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that doesn't trust the certificate hangs up.
            let _ = answer(stream, Arc::clone(&config));
        }
    });
    url
}

fn answer(stream: TcpStream, config: Arc<ServerConfig>) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    let (mut asked, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut part)?;
        asked.extend_from_slice(&part[..read]);
        let text = String::from_utf8_lossy(&asked).into_owned();
        let length = |head: &str| {
            let lower = head.to_ascii_lowercase();
            let value =
                lower.lines().find_map(|line| line.strip_prefix("content-length:").map(str::trim).map(str::to_owned));
            value.and_then(|value| value.parse::<usize>().ok()).unwrap_or(0)
        };
        if read == 0 || text.split_once("\r\n\r\n").is_some_and(|(head, body)| body.len() >= length(head)) {
            break;
        }
    }
    let action = json!({
        "tool_name": "respond", "params": {"message": "Said over a wire that nobody reads."}, "reasoning": "I answer.",
    });
    let body = json!({
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": action.to_string()}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 10},
    })
    .to_string();
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
    stream.conn.send_close_notify();
    stream.flush()
}

fn reply(authorities: Option<PathBuf>) -> String {
    let mut settings = Settings::default();
    (settings.effectors.llm.base_url, settings.effectors.llm.model) = (Some(model()), Some("gull".into()));
    settings.effectors.llm.ca_file = authorities;
    let mut bench = Bench::with("maxim", StateStore::in_memory(), core_tools, settings);
    bench.say("what do you think of gulls?").reply.unwrap_or_default()
}

#[test]
fn a_model_behind_tls_is_asked_when_its_authority_is_believed() {
    assert_eq!(reply(Some(file("authority.pem"))), "Said over a wire that nobody reads.");
}

#[test]
fn a_server_whose_authority_is_unknown_is_not_believed_and_habit_answers() {
    let habit = reply(None);
    assert!(!habit.is_empty() && !habit.contains("wire"), "{habit}");
}

#[test]
fn a_file_without_certificates_is_named_before_anything_runs() {
    let mut settings = Settings::default();
    (settings.effectors.llm.base_url, settings.effectors.llm.model) =
        (Some("https://127.0.0.1:1/v1".into()), Some("gull".into()));
    settings.effectors.llm.ca_file = Some(file("README.md"));
    let error = AgentSettings::new(&settings, 1, Path::new("/"), Path::new("/saved"), ListFolder::default())
        .err()
        .expect("refused");
    let text = error.to_string();
    assert!(text.contains("llm.ca_file") && text.contains("README.md") && text.contains("PEM"), "{text}");
}
