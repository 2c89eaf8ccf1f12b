//! The inlet: outside messages are judged by their sender only, and submitted.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use maxim_bus::Trust;
use maxim_bus::bounds::{self, TooMuch};
use maxim_bus::latch::StopLatch;

use super::Line;
use crate::channels::{Accepted, Desk, Submission};

/// How long the brain may take to store a message on disk.
const ACCEPTANCE: Duration = Duration::from_secs(30);
/// Characters of a stranger's text that are shown, at most.
const SHOWN: usize = 160;

/// An incoming message. Only [`Arrived::new`] makes one, so no field is beyond its bound.
// The empty field prevents other construction in this crate too; `non_exhaustive` only does so in others.
#[allow(clippy::manual_non_exhaustive)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub sender: String,
    pub body: String,
    /// The provider's own id of it.
    pub provider_id: Option<String>,
    /// Whether the sender's name can be believed. A sender that can't be believed counts as a stranger.
    pub is_vouched: bool,
    /// The provider has signed it with its id. It may be replayed, and must then have no effect.
    pub is_signed: bool,
    checked: (),
}

impl Arrived {
    /// A message from a credible sender. The words are cut to their bound; the gateway keeps fewer of them.
    ///
    /// # Errors
    /// The sender or the id is longer than any real one of a provider.
    pub fn new(sender: &str, body: &str, provider_id: Option<&str>) -> Result<Self, TooMuch> {
        Ok(Self {
            sender: bounds::SENDER.take(sender)?.into_owned(),
            body: bounds::TEXT.cut(body),
            provider_id: provider_id.map(|id| bounds::PROVIDER_ID.take(id).map(Cow::into_owned)).transpose()?,
            is_vouched: true,
            is_signed: false,
            checked: (),
        })
    }

    /// Its provider has signed it with its id.
    pub fn signed(self) -> Self {
        Self { is_signed: true, ..self }
    }

    /// Sets whether the sender's name can be believed.
    pub fn vouched(self, is_vouched: bool) -> Self {
        Self { is_vouched, ..self }
    }
}

/// The result of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is on disk.
    Durable(Accepted),
    /// The same message has already stopped the agent.
    Repeated,
    /// Its sender, or all senders together, wrote too much; it isn't on disk. The caller decides whether it comes later
    /// or never.
    Limited { retry_after_s: u64, is_listed: bool },
}

/// The inlet of one channel.
#[derive(Clone)]
pub struct Inlet {
    line: Arc<Line>,
    desk: Arc<Desk>,
    tell: Arc<dyn Fn(String) + Send + Sync>,
}

impl Inlet {
    pub fn new(line: Arc<Line>, desk: Arc<Desk>, tell: Arc<dyn Fn(String) + Send + Sync>) -> Self {
        Self { line, desk, tell }
    }

    pub fn line(&self) -> &Line {
        &self.line
    }

    pub(super) fn latch(&self) -> &StopLatch {
        &self.desk.door().frame().latch
    }

    /// True if a text stops, no matter who says it.
    pub fn stops(&self, text: &str) -> bool {
        self.desk.door().is_stop(text)
    }

    /// Submits it, and waits until it is on disk.
    ///
    /// # Errors
    /// It isn't on disk: the outside must keep it and deliver it again.
    pub async fn take(&self, arrived: Arrived) -> Result<Taken, String> {
        let Arrived { sender, body, provider_id, is_vouched, is_signed, checked: () } = arrived;
        let is_listed = is_vouched && self.line.policy.senders.holds(&sender);
        let channel = self.line.name();
        if self.stops(&body) {
            let before = provider_id.as_ref().filter(|_| is_signed);
            if before.is_some_and(|id| self.desk.door().has_stopped(channel, id)) {
                self.line.count("repeated");
                return Ok(Taken::Repeated);
            }
        } else if let Err(retry_after_s) = self.line.admit(if is_listed { &sender } else { "" }, self.desk.door().now())
        {
            return Ok(Taken::Limited { retry_after_s, is_listed });
        }
        if !is_listed {
            self.show(&sender, &body);
        }
        let trust = if is_listed { Trust::Listed } else { Trust::Outside };
        let submission = Submission { channel: channel.into(), sender, body, provider_id, trust };
        let told = if is_signed { self.desk.submit_signed(submission) } else { self.desk.submit(submission) };
        match tokio::time::timeout(ACCEPTANCE, told).await {
            Ok(Ok(Ok(accepted))) => {
                self.line.count(if accepted.repeated { "repeated" } else { "received" });
                Ok(Taken::Durable(accepted))
            }
            Ok(Ok(Err(why))) => Err(why),
            _ => Err(format!("the brain did not accept it within {} s", ACCEPTANCE.as_secs())),
        }
    }

    /// Shows a stranger's words to the owner, once per stranger.
    fn show(&self, sender: &str, body: &str) {
        self.line.count("strangers");
        if !self.line.is_new(sender) {
            return;
        }
        let plain =
            |text: &str| text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect::<String>();
        let (name, sender, body) = (self.line.name(), plain(sender), plain(body));
        (self.tell)(format!(
            "{name}: {sender} is not on channels.{name}.senders and may not command; the message is recorded: {body}"
        ));
    }
}
