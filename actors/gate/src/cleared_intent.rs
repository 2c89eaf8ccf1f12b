//! An intent that may become an action. Only the gate makes one, and none is read back from a journal. After a crash
//! the gate issues a clearance again if it has not expired and no stop came.

use jiff::Timestamp;
use maxim_bus::MessageId;
use maxim_bus::mode::Powers;
use maxim_bus::signal::{NotRead, Policy, Signal, Stage};
use maxim_bus::signals::intent::Intent;
use maxim_bus::signals::program_files::Fixed;
use maxim_bus::signals::recall::OutcomesPredicted;
use serde::{Deserialize, Serialize};

/// The gate's yes. Only the gate can make one. Unlike an [`Intent`], it can't be read back from bytes.
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
    /// The outcomes that experience predicts; `None` if experience wasn't asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<OutcomesPredicted>,
}

/// The conditions under which an intent is carried out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The agent's powers for this intent; `None`: those of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powers: Option<Powers>,
    /// The tool name that the caller used; `None` if it is the tool's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// Fingerprint of what would run, taken when it was allowed. It is started only while the fingerprint still
    /// matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sealed: Option<Fixed>,
}

impl ClearedIntent {
    /// Only the gate's rooms call this.
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

    /// The clearance is void after this time.
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
