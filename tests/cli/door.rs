//! A fake daemon that shows exactly what the client sends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use serde_json::Value;

/// A daemon's HTTP door with given answers, each used once; stores the requests.
pub struct Door {
    pub url: String,
    pub asked: JoinHandle<Vec<Asked>>,
}

pub struct Asked {
    pub line: String,
    pub token: Option<String>,
    pub body: Value,
}

pub fn door(answers: Vec<(u16, Value)>) -> Door {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = std::thread::spawn(move || {
        answers
            .into_iter()
            .map(|(status, answer)| {
                // A mere connection test sends nothing.
                loop {
                    let (stream, _) = listener.accept().expect("a caller");
                    if let Some(asked) = serve(stream, status, &answer) {
                        return asked;
                    }
                }
            })
            .collect()
    });
    Door { url, asked }
}

fn serve(mut stream: TcpStream, status: u16, answer: &Value) -> Option<Asked> {
    let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let first = head.first()?.clone();
    let field = |name: &str| {
        let found =
            head.iter().filter_map(|line| line.split_once(": ")).find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    };
    let length = field("content-length").map_or(0, |length| length.parse().expect("a number"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let answer = answer.to_string();
    write!(stream, "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}", answer.len())
        .expect("sent");
    let body = serde_json::from_slice(&body).unwrap_or_else(|_| String::from_utf8_lossy(&body).into());
    Some(Asked { line: first, token: field("authorization"), body })
}
