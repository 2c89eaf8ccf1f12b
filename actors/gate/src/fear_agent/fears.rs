//! Fears, listed for a person, who can pin or forgive them.
//!
//! Law: a pinned tool is asked about, whatever experience says, until it is forgiven. A forgiven tool is tried again at
//! once. What was learned stays, so the next bad outcome brings the fear back. Only the owner changes fears.

use std::collections::BTreeSet;

use maxim_bus::Trust;
use maxim_bus::signals::fear::{FearShown, FearWish, FearsSurveyed, SurveyFears};
use serde::{Deserialize, Serialize};

use super::region::{FearAgent, FearEvent};
use maxim_bus::rooms::RESPOND;
use maxim_region::{Hears, Pulse};

/// The rule by which a pinned tool is asked about.
pub(super) const PINNED: &str = "fear.pinned";

/// A person's change to a fear.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FearChange {
    tool: String,
    wish: FearWish,
}

impl FearAgent {
    pub(super) fn change_fear(&mut self, change: FearChange) {
        let FearChange { tool, wish } = change;
        match wish {
            FearWish::Pin => {
                // An "always" of the time before doesn't answer what is wanted now.
                for grant in self.grants.values_mut().filter(|grant| is_of(&format!("{}/", grant.tool), &tool)) {
                    grant.rules.remove(PINNED);
                }
                self.grants.retain(|_, grant| !grant.rules.is_empty());
                self.pinned.insert(tool);
            }
            FearWish::Forgive => {
                self.pinned.remove(&tool);
                self.hurtful.remove(&tool);
                self.hurt_at.remove(&tool);
            }
        }
    }

    fn refused(&self, change: &(String, FearWish), trust: Trust) -> Option<String> {
        let (tool, wish) = change;
        match wish {
            _ if trust < Trust::Owner => Some("only the owner changes what is feared".into()),
            FearWish::Pin if tool == RESPOND => {
                Some(format!("{RESPOND} can't be pinned: without it the gate could not ask"))
            }
            FearWish::Forgive if !self.hurtful.contains(tool) && !self.pinned.contains(tool) => {
                Some(format!("{tool:?} is not feared; `maxim fear list` shows what is"))
            }
            _ => None,
        }
    }

    pub(super) fn fears(&self, pulse: &Pulse<'_, Self>) -> Vec<FearShown> {
        let tools: BTreeSet<&String> = self.hurtful.union(&self.pinned).collect();
        let shown = |tool: &String| FearShown {
            tool: tool.clone(),
            hurt: self.hurt_at.get(tool).copied(),
            unforgiven: self.unforgiven(tool, pulse),
            pinned: self.pinned.contains(tool),
        };
        tools.into_iter().map(shown).collect()
    }
}

/// Whether a standing permission is for this tool: `tool/rule` or `tool@digest/rule`.
fn is_of(kind: &str, tool: &str) -> bool {
    kind.strip_prefix(tool).is_some_and(|rest| rest.starts_with(['/', '@']))
}

impl Hears<SurveyFears> for FearAgent {
    fn hear(&self, survey: &SurveyFears, pulse: &mut Pulse<'_, Self>) {
        let refused = survey.change.as_ref().and_then(|change| self.refused(change, pulse.trust()));
        let mut fears = self.fears(pulse);
        if let (Some((tool, wish)), None) = (&survey.change, &refused) {
            tracing::info!(tool, ?wish, by = survey.by, "a person changed a fear");
            match (wish, fears.iter_mut().find(|fear| &fear.tool == tool)) {
                (FearWish::Forgive, _) => fears.retain(|fear| &fear.tool != tool),
                (FearWish::Pin, Some(fear)) => fear.pinned = true,
                (FearWish::Pin, None) => {
                    fears.push(FearShown { tool: tool.clone(), hurt: None, unforgiven: 1.0, pinned: true });
                }
            }
            pulse.keep(FearEvent::Changed(FearChange { tool: tool.clone(), wish: *wish }));
        }
        let (veto_confidence, veto_value) = (pulse.settings().law.veto_confidence, pulse.settings().law.veto_value);
        pulse.reply(FearsSurveyed { fears, veto_confidence, veto_value, refused });
    }
}
