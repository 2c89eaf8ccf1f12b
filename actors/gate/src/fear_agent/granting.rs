//! Giving, using and revoking grants.
//!
//! Law: the question states what an "always" would cover, and the grant covers exactly that. When a grant is revoked,
//! calls that passed by it and have not begun are refused.

use std::collections::BTreeSet;

use jiff::Timestamp;
use maxim_bus::signals::approval::longer_code_of;
use maxim_bus::signals::grants::{AlwaysOffer, GrantReach, GrantsSurveyed, SurveyGrants};
use maxim_bus::signals::intent::Refusal;
use maxim_bus::signals::program_files::Fixed;
use maxim_bus::{MessageId, Trust};
use serde::{Deserialize, Serialize};

use super::asks::Ask;
use super::grants::{Grant, MOST, Reasons, Scope, covered};
use super::region::{FearAgent, FearEvent, FearSettings, GateEntry, record_key};
use super::shape::Shape;
use super::{Setting, ToolCall};
use maxim_region::{Hears, Pulse};

/// Letters of a grant id.
const LETTERS: usize = 8;
/// Reasons shown in a question, at most.
const TOLD: usize = 6;

/// One reason for asking, as it is stored with a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub rule: String,
    pub reason: String,
    /// The simple command concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The parameter concerned; `None` if it concerns the whole call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
}

impl Asked {
    /// Concerns the whole call.
    pub(super) fn of_all(rule: &str, reason: &str) -> Self {
        Self { rule: rule.into(), reason: reason.into(), command: None, parameter: None }
    }
}

impl From<&Ask> for Asked {
    fn from(ask: &Ask) -> Self {
        let Ask { rule, reason, command, parameter, .. } = ask.clone();
        Self { rule: rule.into(), reason, command, parameter }
    }
}

/// All reasons in one text, each once.
pub(super) fn told(asks: &[Asked]) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for ask in asks.iter().filter(|ask| !ask.reason.is_empty()) {
        if !reasons.contains(&ask.reason.as_str()) {
            reasons.push(&ask.reason);
        }
    }
    let more = reasons.len().saturating_sub(TOLD);
    reasons.truncate(TOLD);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", reasons.join("; and "))
}

/// A grant for a call that runs code is possible only if the code can be fingerprinted.
fn can_be_fixed(entry: &GateEntry) -> Result<(), String> {
    if entry.files.allows_always() {
        return Ok(());
    }
    let why = entry.files.fixed.as_ref().and_then(|fixed| fixed.beyond.clone());
    let why = why.unwrap_or_else(|| "what it would run could not be read".into());
    Err(format!("what it would run can't be told apart from what it may become ({why})"))
}

fn reasons_of(asks: &[Asked]) -> Reasons {
    let parameters = asks.iter().map(|ask| ask.parameter.clone()).collect::<Option<BTreeSet<String>>>();
    Reasons { rules: asks.iter().map(|ask| ask.rule.clone()).collect(), parameters }
}

impl FearSettings {
    /// The tool as grants name it. A server's tool carries the digest of its present description.
    fn granted_tool(&self, tool: &str) -> String {
        match self.offers.get(tool) {
            Some(digest) => format!("{tool}@{digest}"),
            None => tool.to_owned(),
        }
    }

    fn shape(&self, call: ToolCall<'_>, setting: &Setting) -> Shape {
        Shape { tool: self.granted_tool(call.tool), ..Shape::of(call.tool, call.params, setting) }
    }

    fn shape_of(&self, entry: &GateEntry) -> Shape {
        let call = ToolCall { tool: &entry.intent.tool, params: &entry.intent.params };
        self.shape(call, &self.setting_under(entry.terms.powers.as_ref()))
    }
}

impl FearAgent {
    /// The grants that together answer all these reasons; `None` if a reason is left.
    fn covering(&self, shape: &Shape, rules: &BTreeSet<String>, channel: &str) -> Option<Vec<String>> {
        if rules.is_empty() {
            return None;
        }
        let fitting: Vec<(&String, &Grant)> =
            self.grants.iter().filter(|(_, grant)| grant.fits(shape, channel)).collect();
        let mut used = BTreeSet::new();
        for rule in rules {
            let (id, _) = fitting.iter().find(|(_, grant)| grant.rules.contains(rule))?;
            used.insert((*id).clone());
        }
        Some(used.into_iter().collect())
    }

    /// Whether a call passes by the owner's grants, no matter who asks for it.
    pub(super) fn is_granted(
        &self,
        call: ToolCall<'_>,
        asks: &[Ask],
        setting: &Setting,
        settings: &FearSettings,
    ) -> bool {
        let rules = asks.iter().map(|ask| ask.rule.to_owned()).collect();
        self.covering(&settings.shape(call, setting), &rules, "").is_some()
    }

    /// The fingerprints of the grants that answer everything asked about the call; `None` if something is left. The
    /// entry records the grants.
    pub(super) fn passes_by_grants(&self, entry: &mut GateEntry, pulse: &Pulse<'_, Self>) -> Option<Vec<Fixed>> {
        let rules: BTreeSet<String> = entry.asks.iter().map(|ask| ask.rule.clone()).collect();
        let shape = pulse.settings().shape_of(entry);
        let used = self.covering(&shape, &rules, &entry.intent.channel)?;
        let words: Vec<String> =
            used.iter().filter_map(|id| Some(format!("{id}, by {}", self.grants.get(id)?.by))).collect();
        let files = used.iter().filter_map(|id| self.grants.get(id)?.files.clone()).collect();
        entry.rule = format!("granted: {}", entry.rule);
        entry.reason = format!("allowed for good ({})", words.join("; "));
        entry.grants.extend(used);
        entry.asks.clear();
        Some(files)
    }

    /// The call goes on by these grants.
    pub(super) fn note_uses(&self, grants: &[String], pulse: &mut Pulse<'_, Self>) {
        let at = pulse.now();
        for id in grants {
            pulse.keep(FearEvent::GrantUsed { id: id.clone(), at });
        }
    }

    /// States in words what an "always" to this question would cover.
    pub(super) fn offer(&self, entry: &mut GateEntry, settings: &FearSettings) {
        if entry.asks.is_empty() {
            entry.asks = vec![Asked::of_all(&entry.rule, &entry.reason)];
        }
        let (shape, reasons) = (settings.shape_of(entry), reasons_of(&entry.asks));
        let words = |reach: GrantReach| {
            Scope::of(&reach, &shape, &reasons).map(|scope| covered(&scope, &shape.tool, &shape.folder))
        };
        let room = self.room_for_one().and_then(|()| can_be_fixed(entry));
        let always = room.clone().and_then(|()| words(GrantReach::Call));
        entry.any_arguments = room.ok().and_then(|()| words(GrantReach::AnyArguments).ok());
        entry.always = Some(always.map_or_else(AlwaysOffer::Not, AlwaysOffer::Covers));
    }

    fn room_for_one(&self) -> Result<(), String> {
        if self.grants.len() < MOST {
            return Ok(());
        }
        Err(format!(
            "there are {MOST} grants, and no more fit; revoke one: maxim approvals grants, maxim approvals revoke ID"
        ))
    }

    /// Grants what a question was about. Returns its coverage in words.
    ///
    /// # Errors
    /// It can't be granted in this form.
    pub(super) fn give(
        &self,
        entry: &GateEntry,
        reach: &GrantReach,
        (by, channel): (&str, Option<String>),
        pulse: &mut Pulse<'_, Self>,
    ) -> Result<String, String> {
        can_be_fixed(entry)?;
        let shape = pulse.settings().shape_of(entry);
        let mut reasons = reasons_of(&entry.asks);
        let scope = Scope::of(reach, &shape, &reasons)?;
        let same = self.grants.iter().find(|(_, grant)| {
            grant.scope == scope && grant.tool == shape.tool && grant.folder == shape.folder && grant.channel == channel
        });
        let id = match same {
            Some((id, grant)) => {
                reasons.rules.extend(grant.rules.iter().cloned());
                id.clone()
            }
            None => {
                self.room_for_one()?;
                self.fresh_name(pulse)
            }
        };
        let (used, last_used) = same.map_or((0, None), |(_, grant)| (grant.used, grant.last_used));
        let (given, by) = (pulse.now(), by.to_owned());
        let Shape { tool, folder, .. } = shape;
        let files = entry.files.fixed.clone();
        let grant = Grant { given, by, channel, tool, folder, rules: reasons.rules, scope, used, last_used, files };
        let words = format!("{id}: {}", grant.words());
        tracing::info!(id, covers = grant.words(), by = grant.by, "a person allowed something for good");
        pulse.keep(FearEvent::Granted { id, grant: Box::new(grant) });
        Ok(words)
    }

    fn fresh_name(&self, pulse: &mut Pulse<'_, Self>) -> String {
        loop {
            let name = format!("g-{}", longer_code_of(pulse.fresh_id(), LETTERS));
            if !self.grants.contains_key(&name) {
                return name;
            }
        }
    }

    pub(super) fn note_use(&mut self, id: &str, at: Timestamp) {
        if let Some(grant) = self.grants.get_mut(id) {
            grant.used += 1;
            grant.last_used = Some(at);
        }
    }

    pub(super) fn lose_grant(&mut self, id: &str) {
        self.grants.remove(id);
    }

    /// Calls that passed by the grant and have not begun are refused.
    fn withdraw(&self, id: &str, by: &str, pulse: &mut Pulse<'_, Self>) {
        let waiting = self.cleared_intents().chain(self.predicting.keys().copied()).chain(self.reviews.intents());
        let waiting = waiting.chain(self.waits.keys().copied());
        let waiting: BTreeSet<MessageId> = waiting.collect();
        for intent in waiting {
            let entry = pulse.record::<GateEntry>(&record_key(intent));
            if entry.is_some_and(|entry| entry.grants.iter().any(|used| used == id)) {
                let reason = format!("{by} revoked the grant {id} before it began");
                self.refuse(intent, Refusal::Denied, "grant.revoked", &reason, pulse);
            }
        }
    }
}

impl Hears<SurveyGrants> for FearAgent {
    fn hear(&self, survey: &SurveyGrants, pulse: &mut Pulse<'_, Self>) {
        let mut grants: Vec<_> = self.grants.iter().map(|(id, grant)| grant.shown(id)).collect();
        grants.sort_by(|a, b| a.given.cmp(&b.given).then_with(|| a.id.cmp(&b.id)));
        let refused = survey.revoke.as_ref().and_then(|id| {
            let is_known = self.grants.contains_key(id);
            match pulse.trust() {
                trust if trust < Trust::Owner => Some("only the owner may revoke a grant".to_owned()),
                _ if !is_known => Some(format!("there is no grant {id:?}")),
                _ => None,
            }
        });
        if let (Some(id), None) = (&survey.revoke, &refused) {
            tracing::info!(id, by = survey.by, "a person revoked a grant");
            self.withdraw(id, &survey.by, pulse);
            pulse.keep(FearEvent::Revoked { id: id.clone() });
            grants.retain(|grant| &grant.id != id);
        }
        pulse.reply(GrantsSurveyed { grants, most: MOST, refused });
    }
}
