//! The HTTP door.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::field::section;
use super::{ByteCount, Fault, Secret, Shape, secret};

section! {
    /// The HTTP door.
    Http = "http" {
        /// Where it listens; port 0 takes a free one. Beyond loopback a token is required.
        listen: SocketAddr = "127.0.0.1:7717", "", Shape::Address;
        /// The bearer token that callers show; only from the environment.
        token: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds the token alone; the token itself wins when both are set.
        token_file: Option<PathBuf> = "", "", Shape::Path;
        /// Origins of web pages that may use the door beside the daemon's own, such as https://robot.example where a
        /// proxy passes on another host than its own. Whoever serves such a page may command the agent.
        origins: Vec<String> = "", "", Shape::Texts { required: false };
        /// The largest body of a request.
        body_max: ByteCount = "1 MiB", "bytes", Shape::Size { low: "512 KiB", high: "1 GiB" };
    }
}

impl Http {
    /// The bearer token, read from its file if need be.
    ///
    /// # Errors
    /// The file can't be read or doesn't hold one line.
    pub fn bearer(&self) -> Result<Option<Secret>, Fault> {
        secret::resolve("http.token_file", self.token.as_ref(), self.token_file.as_deref())
    }
}
