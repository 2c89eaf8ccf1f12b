//! Input, and what perception makes of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::bounds::{self, TooMuch};
use crate::ids::MessageId;
use crate::signal;
use crate::signal::Trust;
use crate::units::{Confidence, Intensity, Novelty, Salience};

/// How a client marks a request that it may send again. `digest` names the whole request: where it goes, who sends it, what
/// it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Retry {
    /// By a key, which is the provider's id. Another request under the same key is a mistake.
    Key { digest: String },
    /// By the number of the try, from 0 on, and without an id.
    Count { digest: String, count: u32 },
}

/// A message as a channel received it, on its way to the gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inbound {
    pub id: MessageId,
    pub channel: String,
    pub sender: String,
    pub body: String,
    /// The provider's own id. A repeated id means the same message.
    pub provider_id: Option<String>,
    /// The trust that the channel gives the sender: owner's console, allow-listed, or outside.
    pub trust: Trust,
    /// The recogniser's confidence for spoken words; none for written ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<Confidence>,
    /// The provider signed it with its id, so an attacker may replay it. A replay must do nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_signed: bool,
    /// A body was moving when it arrived, so a near match of a stop phrase counts as a stop. Only the door sets this,
    /// never a sender.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moving: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
}

impl Inbound {
    /// Checks that each identifying field is within its bound. A message with a longer field never becomes a percept.
    /// Its words are cut to `gateway.text_max` instead.
    ///
    /// # Errors
    /// The first field that is too long.
    pub fn check(&self) -> Result<(), TooMuch> {
        bounds::CHANNEL.take(&self.channel)?;
        bounds::SENDER.take(&self.sender)?;
        self.provider_id.as_deref().map_or(Ok(()), |id| bounds::PROVIDER_ID.take(id).map(|_| ()))
    }
}

/// The gateway has accepted it. The channel acknowledges it once this is durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InboundAccepted {
    pub inbound: MessageId,
    /// The percept made from it; for a repeated provider id, the first one's percept.
    pub percept: MessageId,
    pub channel: String,
    pub repeated: bool,
    /// Another request had this key before: nothing was made of this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub differs: bool,
}

/// The only override that a message can contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HardOverride {
    #[serde(rename = "HARD_STOP")]
    HardStop,
}

/// Who said it, and where. For information only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerceptOrigin {
    pub channel: String,
    pub sender: String,
    /// The provider's own name of the message, which puts an answer into the right thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
}

/// Senders of channels that anyone present may use.
const NAMELESS: [&str; 2] = ["owner", "console"];

impl PerceptOrigin {
    /// The person by name; none when the sender is a place, such as a console or `speech:microphone`.
    pub fn person(&self) -> Option<&str> {
        let name = self.sender.trim();
        let is_place = name.is_empty() || name.contains(':') || NAMELESS.contains(&name);
        (!is_place).then_some(name)
    }
}

/// Something perceived. Only its constructors make one, so a field from outside never reaches a control field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Percept {
    /// `comms:<channel>` for text, `speech` for what was heard.
    pub source: String,
    pub content: String,
    pub hard_override: Option<HardOverride>,
    pub metadata: PerceptOrigin,
    pub trust: Trust,
    pub objects: Vec<String>,
    pub people: Vec<String>,
    /// The recogniser's confidence, if it was heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<Confidence>,
}

/// The source of a percept that a goal makes for the agent itself.
const GOAL: &str = "goal";
/// The source of a percept about something nearby that can be acted on.
const SENSES: &str = "senses";
/// The source of words that were heard.
pub const SPEECH: &str = "speech";

/// Whether a person said what has this source, in writing or aloud.
pub fn is_of_a_person(source: &str) -> bool {
    source.starts_with("comms:") || source == SPEECH
}

impl Percept {
    /// Text from outside. `stop` is set only by matching the text against the list of stop phrases.
    pub fn from_outside(channel: &str, sender: &str, content: String, stop: bool, trust: Trust) -> Self {
        Self {
            source: format!("comms:{channel}"),
            content,
            hard_override: stop.then_some(HardOverride::HardStop),
            metadata: PerceptOrigin { channel: channel.into(), sender: sender.into(), provider_id: None },
            trust,
            objects: Vec::new(),
            people: Vec::new(),
            heard: None,
        }
    }

    /// As spoken words; `sure` is the recogniser's confidence.
    pub fn heard(self, sure: Confidence) -> Self {
        Self { source: SPEECH.into(), heard: Some(sure), ..self }
    }

    /// A goal whose pursuit begins. Its words are those of the person who gave it, and that person also gets the
    /// answer. The words can't stop the agent, because nobody says them now.
    pub fn of_goal(channel: &str, sender: &str, title: String, trust: Trust) -> Self {
        Self { source: GOAL.into(), ..Self::from_outside(channel, sender, title, false, trust) }
    }

    /// Things nearby that can be acted on, without a request. What the agent then does is its own doing.
    pub fn of_senses(things: Vec<String>) -> Self {
        let content = format!("I sense {}", things.join(", "));
        let noticed = Self::from_outside("", "", content, false, Trust::Own);
        Self { source: SENSES.into(), objects: things, ..noticed }
    }

    /// The senses noticed something to act on.
    pub fn is_sensed(&self) -> bool {
        self.source == SENSES
    }

    /// A person said it to the agent; otherwise its senses or goals did.
    pub fn is_said(&self) -> bool {
        is_of_a_person(&self.source)
    }

    /// Something is wanted of the agent: a person said it, or the pursuit of a goal begins.
    pub fn is_request(&self) -> bool {
        self.is_said() || self.source == GOAL
    }
}

/// What the PreemptionCircuit allows for a percept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    Proceed,
    /// Recorded and answered "stopped". It isn't done after the resume either.
    Stopped {
        reason: String,
        /// Who stopped it.
        #[serde(default)]
        by: String,
    },
    /// Recorded. The loop runs on but proposes nothing before `until`.
    Held {
        until: Option<Timestamp>,
    },
    /// Recorded and shown. Its sender is outside and may not command, and nobody answers.
    Noted,
}

/// A percept that passed the PreemptionCircuit. Its id is the message id of the percept: the turn's correlation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdmittedPercept {
    pub percept: Percept,
    pub disposition: Disposition,
}

/// A percept with its salience.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SalientPercept {
    pub percept: Percept,
    pub disposition: Disposition,
    /// The salience that the brain computes from source, novelty and goal.
    pub salience: Salience,
    pub novelty: Novelty,
}

/// The kind of pain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PainKind {
    ToolError,
    Timeout,
    MovementError,
    OverSpeed,
    /// Back and forth without progress.
    Thrashing,
    SustainedStrain,
    ResourceExhaustion,
    SandboxViolation,
    External,
}

/// Something went wrong and hurt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PainSignal {
    pub kind: PainKind,
    pub intensity: Intensity,
    /// The tool or movement that caused it.
    pub about: String,
    pub reason: String,
    pub action: Option<MessageId>,
}

signal! {
    Inbound: Outside, Transient;
    InboundAccepted: Anywhere, Transient;
    Percept: Perception, Lossless;
    AdmittedPercept: Perception, Lossless;
    SalientPercept: Perception, Lossless;
    PainSignal: Perception, Lossless;
}

/// The key of the gateway's record that a message with this provider's id (`channel/id`) has stopped the agent. The
/// door reads the record too: replaying a signed webhook must not repeat a stop that a person has reset.
pub fn stopped_key(key: &str) -> Vec<u8> {
    format!("stopped/{}", crate::bounds::digest(key)).into_bytes()
}
