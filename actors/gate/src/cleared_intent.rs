//! An intent that may become an action. Only the gate can make one, and none ever comes back from a journal: after a
//! crash the gate issues it again, if it still may.

use jiff::Timestamp;
use maxim_bus::MessageId;
use maxim_bus::mode::Powers;
use maxim_bus::signal::{NotRead, Policy, Signal, Stage};
use maxim_bus::signals::intent::Intent;
use maxim_bus::signals::program_files::Fixed;
use maxim_bus::signals::recall::OutcomesPredicted;
use serde::{Deserialize, Serialize};

/// The gate's yes. Whoever holds one got it from the gate: it is made there alone, and can't be read back from bytes, as what
/// it was given for can.
///
/// ```
/// use maxim_bus::signals::intent::Intent;
/// let _ = |bytes: &[u8]| serde_json::from_slice::<Intent>(bytes);
/// ```
/// ```compile_fail,E0277
/// use maxim_gate::ClearedIntent;
/// let _ = |bytes: &[u8]| serde_json::from_slice::<ClearedIntent>(bytes);
/// ```
/// ```compile_fail,E0624
/// use maxim_gate::ClearedIntent;
/// let _ = ClearedIntent::issue;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClearedIntent {
    id: MessageId,
    intent: Intent,
    rule: String,
    reason: String,
    expires: Timestamp,
    terms: Terms,
    /// What experience expects of it, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<OutcomesPredicted>,
}

/// What an intent is done under, beside itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// What the agent may; none: what the configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub powers: Option<Powers>,
    /// The name by which the tool was asked for, where that is another than its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// What would run, as it was when it was allowed: it is begun only while it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<Fixed>,
}

impl ClearedIntent {
    /// For the rooms of the gate alone.
    pub(crate) fn issue(
        id: MessageId,
        intent: Intent,
        rule: String,
        reason: String,
        expires: Timestamp,
        terms: Terms,
        expected: Option<OutcomesPredicted>,
    ) -> Self {
        Self { id, intent, rule, reason, expires, terms, expected }
    }

    /// The intent's own id.
    pub fn id(&self) -> MessageId {
        self.id
    }

    pub fn intent(&self) -> &Intent {
        &self.intent
    }

    /// The rule that let it pass.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    pub fn reason(&self) -> &str {
        &self.reason
    }

    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// After this it is worth nothing.
    pub fn expires(&self) -> Timestamp {
        self.expires
    }
}

impl Signal for ClearedIntent {
    const NAME: &'static str = "ClearedIntent";
    const STAGE: Stage = Stage::Gate;
    const POLICY: Policy = Policy::Transient;

    fn decode(_bytes: &[u8]) -> Result<Self, NotRead> {
        Err(NotRead { name: Self::NAME.into(), why: "a clearance is issued by the gate, never read".into() })
    }
}
