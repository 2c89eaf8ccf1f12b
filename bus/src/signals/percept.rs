//! What comes in, and what perception makes of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::bounds::{self, TooMuch};
use crate::ids::MessageId;
use crate::signal;
use crate::signal::Trust;
use crate::units::{Confidence, Intensity, Novelty, Salience};

/// A message as a channel received it, on its way to the gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inbound {
    pub id: MessageId,
    pub channel: String,
    pub sender: String,
    pub body: String,
    /// The provider's own id; a repeated one is the same message.
    pub provider_id: Option<String>,
    /// What the channel knows of the sender: owner's console, allow-listed, or outside.
    pub trust: Trust,
    /// How sure the recogniser is of words that were spoken; none for what was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<Confidence>,
    /// Its provider has signed it with its id, so it may be played again, and must then do nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_signed: bool,
    /// A body moved when it came: what is nearly a stop is one then. The door says so, and nobody outside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moving: bool,
}

impl Inbound {
    /// Whether each field that names something is within its bound. Nothing beyond one becomes a percept; the words are cut to
    /// `gateway.text_max`.
    ///
    /// # Errors
    /// The first that isn't.
    pub fn check(&self) -> Result<(), TooMuch> {
        bounds::CHANNEL.take(&self.channel)?;
        bounds::SENDER.take(&self.sender)?;
        self.provider_id.as_deref().map_or(Ok(()), |id| bounds::PROVIDER_ID.take(id).map(|_| ()))
    }
}

/// The gateway has it: the channel acknowledges once this is durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InboundAccepted {
    pub inbound: MessageId,
    /// The percept that it became; the first one's for a repeated provider id.
    pub percept: MessageId,
    pub channel: String,
    pub repeated: bool,
}

/// The only override that a message can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HardOverride {
    #[serde(rename = "HARD_STOP")]
    HardStop,
}

/// Who said it, and where. Informational only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerceptOrigin {
    pub channel: String,
    pub sender: String,
    /// The provider's own name of the message, by which an answer finds its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
}

/// Senders of channels that whoever is there may use.
const NAMELESS: [&str; 2] = ["owner", "console"];

impl PerceptOrigin {
    /// The person by name; nothing where the sender is a place, such as a console or `speech:microphone`.
    pub fn person(&self) -> Option<&str> {
        let name = self.sender.trim();
        let is_place = name.is_empty() || name.contains(':') || NAMELESS.contains(&name);
        (!is_place).then_some(name)
    }
}

/// Something perceived. Made by its constructors alone: no outside field reaches a control field.
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
    /// How sure the recogniser is of it, where it was heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<Confidence>,
}

/// The source of what a goal says to the agent itself.
const GOAL: &str = "goal";
/// The source of what the senses notice that can be acted on.
const SENSES: &str = "senses";
/// The source of words that were heard.
pub const SPEECH: &str = "speech";

/// Whether what has this source was said by somebody, in writing or aloud.
pub fn is_of_a_person(source: &str) -> bool {
    source.starts_with("comms:") || source == SPEECH
}

impl Percept {
    /// Text from outside. `stop` is what the whitelist says of the text, nothing else.
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

    /// The same, spoken: `sure` is the recogniser's confidence.
    pub fn heard(self, sure: Confidence) -> Self {
        Self { source: SPEECH.into(), heard: Some(sure), ..self }
    }

    /// A goal that is taken up. Its words are those of whoever gave it, who also gets the answer; they stop nothing,
    /// because nobody says them now.
    pub fn of_goal(channel: &str, sender: &str, title: String, trust: Trust) -> Self {
        Self { source: GOAL.into(), ..Self::from_outside(channel, sender, title, false, trust) }
    }

    /// Things that are around and can be acted on, unasked. What the agent does then is its own doing.
    pub fn of_senses(things: Vec<String>) -> Self {
        let content = format!("I sense {}", things.join(", "));
        let noticed = Self::from_outside("", "", content, false, Trust::Own);
        Self { source: SENSES.into(), objects: things, ..noticed }
    }

    /// The senses noticed something to act on.
    pub fn is_sensed(&self) -> bool {
        self.source == SENSES
    }

    /// Somebody said it to the agent; else its senses or its goals did.
    pub fn is_said(&self) -> bool {
        is_of_a_person(&self.source)
    }

    /// Something is wanted of the agent: somebody said it, or a goal is taken up.
    pub fn is_request(&self) -> bool {
        self.is_said() || self.source == GOAL
    }
}

/// What the PreemptionCircuit lets happen with a percept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    Proceed,
    /// Recorded and answered "stopped"; not done after the resume either.
    Stopped {
        reason: String,
        /// Who stopped it.
        #[serde(default)]
        by: String,
    },
    /// Recorded; the loop cycles but proposes nothing before `until`.
    Held {
        until: Option<Timestamp>,
    },
    /// Recorded and shown; whoever wrote it from outside may not command, and nobody answers.
    Noted,
}

/// A percept that passed the PreemptionCircuit. Its id is the message id of the percept: the turn's correlation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdmittedPercept {
    pub percept: Percept,
    pub disposition: Disposition,
}

/// A percept with what it is worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SalientPercept {
    pub percept: Percept,
    pub disposition: Disposition,
    /// What the brain gives it, from source, novelty and goal.
    pub salience: Salience,
    pub novelty: Novelty,
}

/// What hurts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PainKind {
    ToolError,
    Timeout,
    MovementError,
    OverSpeed,
    /// Back and forth without getting anywhere.
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
    /// The tool or movement that it came of.
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

/// The gateway's record that a message of this provider's id (`channel/id`) has stopped the agent. The door reads it too: a signed
/// webhook that is replayed must not stop again what a person has reset.
pub fn stopped_key(key: &str) -> Vec<u8> {
    format!("stopped/{}", crate::bounds::digest(key)).into_bytes()
}
