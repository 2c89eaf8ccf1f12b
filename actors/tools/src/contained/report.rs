//! What was actually enforced in one run.

use serde::{Deserialize, Serialize};

/// One layer of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Layer {
    Enforced {
        by: String,
    },
    Partial {
        by: String,
        missing: String,
    },
    Missing {
        why: String,
    },
    /// The policy doesn't ask for it.
    NotAsked,
}

impl Layer {
    /// Adds what it leaves open.
    pub(super) fn lacking(self, more: String) -> Self {
        match self {
            Self::Enforced { by } => Self::Partial { by, missing: more },
            Self::Partial { by, missing } => Self::Partial { by, missing: format!("{more}; {missing}") },
            other => other,
        }
    }

    /// Another mechanism enforces it too.
    pub(super) fn also_by(&self, other: &str) -> Self {
        match self {
            Self::Enforced { by } => Self::Enforced { by: format!("{by} and {other}") },
            Self::Partial { by, missing } => {
                Self::Partial { by: format!("{by} and {other}"), missing: missing.clone() }
            }
            // A privileged process that Landlock doesn't restrict could write itself out of it.
            Self::Missing { why } => Self::Partial { by: other.into(), missing: why.clone() },
            Self::NotAsked => Self::NotAsked,
        }
    }
}

/// All layers of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// Which files can be reached.
    pub files: Layer,
    /// Signals only within the sandbox.
    pub signals: Layer,
    pub network: Layer,
    /// No process can leave the group, so a kill reaches all.
    pub group: Layer,
    /// No privileges except those over files.
    pub privileges: Layer,
    pub limits: Layer,
    /// Only the child's own files, processes and networks exist inside.
    pub namespaces: Layer,
    /// With the network on, the daemon's own port can't be reached.
    #[serde(default = "not_asked")]
    pub own_port: Layer,
    /// What the sandbox changes for a program, in words. Not a gap.
    #[serde(default)]
    pub notes: Vec<String>,
}

fn not_asked() -> Layer {
    Layer::NotAsked
}

impl SandboxReport {
    fn layers(&self) -> [(&'static str, &Layer); 8] {
        [
            ("files", &self.files),
            ("signals", &self.signals),
            ("network", &self.network),
            ("process group", &self.group),
            ("privileges", &self.privileges),
            ("limits", &self.limits),
            ("namespaces", &self.namespaces),
            ("own port", &self.own_port),
        ]
    }

    /// True when everything that the policy asks for is enforced.
    pub fn is_complete(&self) -> bool {
        self.gaps().is_empty()
    }

    /// What isn't enforced, in words; empty if everything is.
    pub fn gaps(&self) -> Vec<String> {
        self.layers()
            .into_iter()
            .filter_map(|(name, layer)| match layer {
                Layer::Enforced { .. } | Layer::NotAsked => None,
                Layer::Partial { missing, .. } => Some(format!("{name}: only in part, {missing}")),
                Layer::Missing { why } => Some(format!("{name}: not enforced, {why}")),
            })
            .collect()
    }
}
