//! The connection to NATS for blocking threads, and the names on the server.

use std::future::Future;
use std::time::Duration;

use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::{self, kv};
use async_nats::{Client, ConnectOptions, Event};
use tokio::runtime::Runtime;

use crate::cli::{CliError, Exit};
use crate::config;

/// How long the server may take for one request; a shorter lease shortens it.
pub const PATIENCE: Duration = Duration::from_secs(3);
/// A connection that broke silently is noticed within two of these.
const PING: Duration = Duration::from_secs(5);
/// Bytes that a message may have: an entry of the journal and its head.
pub const MESSAGE: usize = 600 << 10;
/// The bucket of leases and latches of all agents.
const BUCKET: &str = "maxim";

/// Names on the server. All names of one agent contain its name.
#[derive(Clone, Debug)]
pub struct Names {
    pub agent: String,
}

impl Names {
    /// # Errors
    /// A name that the server would not accept.
    pub fn new(agent: &str) -> Result<Self, CliError> {
        let is_good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if agent.is_empty() || agent.len() > 64 || !agent.chars().all(is_good) {
            let found = format!("nats.agent = {agent:?} is no name");
            return Err(CliError::new(Exit::BadConfig, found, "use up to 64 letters, digits, - and _"));
        }
        Ok(Self { agent: agent.to_owned() })
    }

    pub fn lease(&self) -> String {
        format!("{}.lease", self.agent)
    }

    pub fn latch(&self) -> String {
        format!("{}.latch", self.agent)
    }

    pub fn journal(&self) -> String {
        format!("MAXIM_{}_JOURNAL", self.agent)
    }

    pub fn signals(&self) -> String {
        format!("MAXIM_{}_SIGNALS", self.agent)
    }

    pub fn copies(&self) -> String {
        format!("maxim-{}", self.agent)
    }

    /// The subject of this name.
    pub fn subject(&self, what: &str) -> String {
        format!("maxim.{}.{what}", self.agent)
    }
}

/// The server, for threads that may block.
pub struct Nats {
    runtime: Option<Runtime>,
    pub client: Client,
    pub jetstream: jetstream::Context,
    pub bucket: kv::Store,
    pub names: Names,
    pub replicas: usize,
    pub patience: Duration,
    pub url: String,
}

impl Nats {
    /// # Errors
    /// The server isn't available, refuses this user, or has no JetStream. The error names the fix.
    pub fn connect(settings: &config::Nats, url: &str) -> Result<Self, CliError> {
        let names = Names::new(&settings.agent)?;
        if url.contains('@') {
            // The address is shown and logged.
            let found = "nats.url holds a name or password";
            return Err(CliError::new(Exit::BadConfig, found, "give them in nats.username and nats.password_file"));
        }
        let of_config = |fault| CliError::Failed { exit: Exit::BadConfig, faults: vec![fault] };
        let password = settings.password().map_err(of_config)?.map(|secret| secret.expose().to_owned());
        let patience = PATIENCE.min(settings.lease.get() / 3);
        let replicas = settings.replicas as usize;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("nats")
            .enable_all()
            .build()
            .map_err(|error| {
                CliError::new(Exit::TryAgain, format!("a thread for NATS: {error}"), "raise the limit of threads")
            })?;
        let mut options = ConnectOptions::new()
            .name("maxim")
            .ping_interval(PING)
            .request_timeout(Some(patience))
            .connection_timeout(PATIENCE)
            .max_reconnects(None)
            .event_callback(|event| async move {
                match event {
                    Event::Connected => tracing::debug!("NATS is connected"),
                    event => tracing::warn!(%event, "NATS"),
                }
            });
        options = match (&settings.username, password) {
            (Some(name), password) => options.user_and_password(name.clone(), password.unwrap_or_default()),
            (None, Some(token)) => options.token(token),
            (None, None) => options,
        };
        if let Some(file) = &settings.ca_file {
            options = options.add_root_certificates(file.clone());
        }
        let servers: Vec<&str> = url.split(',').map(str::trim).collect();
        let unreachable = |error: String| {
            let found = format!("NATS at {url} can't be used: {error}");
            CliError::new(
                Exit::TryAgain,
                found,
                "see that a nats-server with JetStream runs there and lets this user in, or remove nats.url",
            )
        };
        let client = runtime.block_on(options.connect(servers)).map_err(|error| unreachable(in_full(&error)))?;
        // The client starts its own task.
        let entered = runtime.enter();
        let taken = client.server_info().max_payload;
        if taken < MESSAGE {
            let found = format!("NATS at {url} takes messages of {taken} bytes");
            return Err(CliError::new(Exit::BadConfig, found, format!("set its max_payload to {MESSAGE} or more")));
        }
        let jetstream = ContextBuilder::new().timeout(patience).ack_timeout(patience).build(client.clone());
        drop(entered);
        let config = kv::Config {
            bucket: BUCKET.into(),
            description: "which machine runs which agent, and its stops".into(),
            history: 1,
            num_replicas: replicas,
            ..kv::Config::default()
        };
        let bucket = runtime.block_on(async {
            match jetstream.get_key_value(BUCKET).await {
                Ok(bucket) => Ok(bucket),
                Err(_) => jetstream.create_key_value(config).await,
            }
        });
        let bucket = bucket.map_err(|error| unreachable(in_full(&error)))?;
        let runtime = Some(runtime);
        Ok(Self { runtime, client, jetstream, bucket, names, replicas, patience, url: url.to_owned() })
    }

    /// Waits for the server. Must not be called from a thread of another runtime.
    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.runtime {
            Some(runtime) => runtime.block_on(work),
            None => unreachable!("it is there until it is dropped"),
        }
    }

    /// The same, at most for the patience.
    ///
    /// # Errors
    /// The time is over.
    pub fn wait_briefly<T>(&self, work: impl Future<Output = T>) -> Result<T, String> {
        let patience = self.patience;
        self.wait(async move { tokio::time::timeout(patience, work).await })
            .map_err(|_| format!("no answer within {} ms", patience.as_millis()))
    }

    /// Runs something in the background.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(work);
        }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        // It may be dropped on a thread of another runtime, which can't wait for it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// An error with its causes.
pub fn in_full(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_a_name_that_a_subject_can_hold() {
        for bad in ["", "a b", "a.b", "a>", "*", "ü", &"x".repeat(65)] {
            let error = Names::new(bad).map(|_| ()).expect_err(bad);
            assert!(error.to_string().contains("nats.agent"), "{error}");
        }
        let names = Names::new("ada_2-b").expect("a name");
        assert_eq!(names.journal(), "MAXIM_ada_2-b_JOURNAL");
        assert_eq!(names.subject("stop"), "maxim.ada_2-b.stop");
    }
}
