//! All channels to the outside, and the thread of their connections.

use std::sync::Arc;
use std::time::Duration;

use maxim_bus::AllowList;
use maxim_bus::signals::outbox::OUTSIDE_CHANNELS;
use serde_json::Value as Json;
use tokio::sync::watch;

use super::{Inlet, Line, SenderPolicy};
use crate::channels::Desk;

/// The lines of one agent, one per channel.
pub struct OutsideChannels {
    lines: Vec<Arc<Line>>,
}

impl Default for OutsideChannels {
    /// No channel is configured.
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

/// Keeps the connections until it is dropped.
pub struct Connected {
    _end: watch::Sender<bool>,
}

/// How long connections may take to close.
const CLOSING: Duration = Duration::from_secs(2);

impl OutsideChannels {
    /// The configured ones; the others exist and can do nothing.
    pub fn new(configured: Vec<Arc<Line>>) -> Self {
        let line = |name: &'static str| {
            let found = configured.iter().find(|line| line.name() == name).cloned();
            let nobody = SenderPolicy { senders: AllowList::default(), per_sender: 1, per_channel: 1 };
            found.unwrap_or_else(|| Line::new(name, nobody, None))
        };
        Self { lines: OUTSIDE_CHANNELS.into_iter().map(line).collect() }
    }

    pub fn line(&self, name: &str) -> Option<&Arc<Line>> {
        self.lines.iter().find(|line| line.name() == name)
    }

    /// The state of each: one object per channel.
    pub fn report(&self) -> Vec<Json> {
        self.lines.iter().map(|line| line.report()).collect()
    }

    /// Connects all configured channels, in the background, until the returned value is dropped. `tell` gets messages
    /// for a person.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn connect(
        &self,
        desk: impl Fn(&str) -> Option<Arc<Desk>>,
        tell: impl Fn(String) + Send + Sync + 'static,
    ) -> std::io::Result<Connected> {
        let (end, mut ended) = watch::channel(false);
        let configured: Vec<_> = self.lines.iter().filter(|line| line.is_configured()).collect();
        if configured.is_empty() {
            return Ok(Connected { _end: end });
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let tell: Arc<dyn Fn(String) + Send + Sync> = Arc::new(tell);
        for line in configured {
            let Some(desk) = desk(line.name()) else { continue };
            let inlet = Inlet::new(Arc::clone(line), desk, Arc::clone(&tell));
            let line = Arc::clone(line);
            line.connecting();
            let told = Arc::clone(&line);
            inlet.latch().on_stop(move |_| told.stopped());
            runtime.spawn(async move {
                let Some(transport) = line.transport() else { return };
                match transport.receive(&inlet) {
                    Some(receiving) => receiving.await,
                    // Its provider calls it, so there is nothing to wait for.
                    None => line.up(),
                }
            });
        }
        std::thread::Builder::new().name("channels".into()).spawn(move || {
            runtime.block_on(async {
                // An error also means the end: the holder is gone.
                while ended.changed().await.is_ok() {}
            });
            runtime.shutdown_timeout(CLOSING);
        })?;
        Ok(Connected { _end: end })
    }
}

/// Growing delays between attempts to connect.
pub(super) struct BackOff(Duration);

impl BackOff {
    const FIRST: Duration = Duration::from_millis(500);
    const LONGEST: Duration = Duration::from_secs(60);

    pub(super) fn new() -> Self {
        Self(Self::FIRST)
    }

    pub(super) fn reset(&mut self) {
        self.0 = Self::FIRST;
    }

    pub(super) async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(Self::LONGEST);
    }
}
