//! One agent on several machines, `[nats]`.

use std::path::PathBuf;

use super::{ByteCount, Fault, Secret, Shape, Span, secret};
use maxim_config::section;

section! {
    /// One agent that several machines may live, one at a time, over a NATS server with JetStream.
    Nats = "nats" {
        /// The server, such as nats://127.0.0.1:4222, or tls://HOST; several stand with commas between them. Not set is one machine
        /// alone.
        url: Option<String> = "", "", Shape::Text;
        /// The agent's name among those of the server: letters, digits, - and _. Machines with the same name take turns.
        agent: String = "maxim", "", Shape::Text;
        /// Certificates (PEM) of the authority that the server is checked against; not set is those of this machine.
        ca_file: Option<PathBuf> = "", "", Shape::Path;
        /// The name to log in with; not set with a password is a token.
        username: Option<String> = "", "", Shape::Text;
        /// The password or token; only from the environment.
        password: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        password_file: Option<PathBuf> = "", "", Shape::Path;
        /// How long a machine that gives no sign of life keeps the agent. The same on all machines.
        lease: Span = "10s", "time", Shape::Span { low: "1s", high: "10min" };
        /// On how many servers of a cluster everything lies.
        replicas: u32 = "1", "servers", Shape::Integer { low: 1, high: 5 };
        /// The journal's length after which a copy of the whole store is put beside it, and what is older is dropped.
        copy_every: ByteCount = "64 MiB", "bytes", Shape::Size { low: "1 MiB", high: "64 GiB" };
        /// Whoever watches over the agent sends heartbeats to maxim.AGENT.heartbeat; without one for so long it stops. 0s waits for
        /// none.
        heartbeat: Span = "0s", "time", Shape::Span { low: "0s", high: "1h" };
        /// Signals that are told to other machines as they happen, by name, such as Percept, Intent, ToolResult; `*` is all.
        signals: Vec<String> = "", "", Shape::Texts { required: false };
    }
}

impl Nats {
    /// The password, read from its file if necessary.
    ///
    /// # Errors
    /// The file can't be read or doesn't hold one line.
    pub fn password(&self) -> Result<Option<Secret>, Fault> {
        secret::resolve("nats.password_file", self.password.as_ref(), self.password_file.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Settings;

    #[test]
    fn a_recording_of_before_there_were_several_machines_is_one_machine_s() {
        let settings = Settings::default();
        let mut recorded = serde_json::to_value(&settings).expect("serialises");
        assert!(recorded.as_object_mut().and_then(|all| all.remove("nats")).is_some(), "it stands there now");
        assert_eq!(serde_json::from_value::<Settings>(recorded).expect("reads"), settings);
    }
}
