//! The HTTP door.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::{ByteCount, Fault, Secret, Shape, Span, secret};
use maxim_config::section;

/// The shortest token, in bytes: 128 bits if each byte is random.
const SHORTEST: usize = 16;
/// The fewest different characters. A text with fewer is a pattern that is soon guessed.
const VARIETY: usize = 5;

section! {
    /// The HTTP door.
    Http = "http" {
        /// Where it listens; port 0 takes a free one. Beyond loopback a token must be set here, as other machines need it.
        listen: SocketAddr = "127.0.0.1:7717", "", Shape::Address;
        /// The bearer token that callers show, at least 16 bytes; only from the environment. Not set is one that the daemon
        /// makes for itself: the file token in its data folder, which commands read by themselves.
        token: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds the token alone; the token itself wins when both are set.
        token_file: Option<PathBuf> = "", "", Shape::Path;
        /// Asks nobody for a token: each program and each account of this machine commands the agent. Programs that tools start
        /// don't reach the door even so. On loopback alone, and told at each start, by doctor and on the page.
        open: bool = "false", "", Shape::Flag;
        /// The page's session ends when its tab has asked nothing for so long.
        session_idle: Span = "12h", "time", Shape::Span { low: "1min", high: "30days" };
        /// Origins of web pages that may use the door beside the daemon's own, such as https://robot.example where a
        /// proxy passes on another host than its own. Whoever serves such a page may command the agent.
        origins: Vec<String> = "", "", Shape::Texts { required: false };
        /// The largest body of a request.
        body_max: ByteCount = "1 MiB", "bytes", Shape::Size { low: "512 KiB", high: "1 GiB" };
    }
}

/// Why a token is easy to guess, or can't be sent in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeakToken {
    #[error("blank")]
    Blank,
    #[error("shorter than {SHORTEST} bytes")]
    Short,
    #[error("a repetition of fewer than {VARIETY} characters")]
    Repeated,
    #[error("with a blank or a character that no header can carry")]
    Unprintable,
}

/// Checks whether a text is usable as a token.
///
/// # Errors
/// It is easy to guess, or can't be sent.
pub fn check_token(text: &str) -> Result<(), WeakToken> {
    if text.trim().is_empty() {
        return Err(WeakToken::Blank);
    }
    if text.len() < SHORTEST {
        return Err(WeakToken::Short);
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(WeakToken::Unprintable);
    }
    let different: std::collections::BTreeSet<u8> = text.bytes().collect();
    if different.len() < VARIETY { Err(WeakToken::Repeated) } else { Ok(()) }
}

impl Http {
    /// The configured bearer token, read from its file if necessary.
    ///
    /// # Errors
    /// The file can't be read or doesn't hold one line; the token is blank, short or can't be sent.
    pub fn bearer(&self) -> Result<Option<Secret>, Fault> {
        let found = secret::resolve("http.token_file", self.token.as_ref(), self.token_file.as_deref())?;
        let Some(secret) = found else { return Ok(None) };
        check_token(secret.expose()).map_err(|why| {
            let key = if self.token.is_some() { "http.token" } else { "http.token_file" };
            let found = format!("the token of {key} is {why}");
            let fix = "make one with `openssl rand -hex 32`, or remove it: the daemon makes its own";
            Fault::new(key, found, fix)
        })?;
        Ok(Some(secret))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_is_guessed_soon_or_that_no_header_carries_is_none() {
        for (text, why) in [
            ("", WeakToken::Blank),
            (" ", WeakToken::Blank),
            (" \t                                ", WeakToken::Blank),
            ("t", WeakToken::Short),
            ("0123456789abcde", WeakToken::Short),
            ("aaaaaaaaaaaaaaaaaaaaaaaa", WeakToken::Repeated),
            ("abababababababababababab", WeakToken::Repeated),
            ("0123456789abcdef 0123456789", WeakToken::Unprintable),
            ("0123456789abcdef\n", WeakToken::Unprintable),
            ("0123456789abcdefé", WeakToken::Unprintable),
        ] {
            assert_eq!(check_token(text), Err(why), "{text:?}");
            let http = Http { token: Some(Secret::new(text.into())), ..crate::config::Settings::default().http };
            let told = http.bearer().expect_err("refused").to_string();
            assert!(told.contains("http.token") && told.contains("openssl rand"), "{told}");
        }
        for text in ["0123456789abcdef", "correct-horse-battery-staple", "Zm9vYmFyYmF6cXV4Cg=="] {
            assert_eq!(check_token(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_token_of_a_file_is_held_to_the_same() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("token");
        std::fs::write(&file, "hunter2\n").expect("written");
        let http = Http { token_file: Some(file.clone()), ..crate::config::Settings::default().http };
        let told = http.bearer().expect_err("refused").to_string();
        assert!(
            told.contains("http.token_file") && told.contains("shorter than 16") && !told.contains("hunter2"),
            "{told}"
        );
        std::fs::write(&file, "0123456789abcdef\n").expect("written");
        assert!(http.bearer().expect("good").is_some());
    }
}
