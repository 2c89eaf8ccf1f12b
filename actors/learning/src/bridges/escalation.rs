//! The escalation bridge: should a person be asked?
//!
//! Biology: the anterior cingulate, which learns when to call for help.
//! Law: per kind of goal and hour of the day it counts the results of asking (allowed, denied, no answer), each with
//! one count added (Laplace). From three on: answered with less than ¼ → asking is useless at this hour; allowed with
//! ≥ 0.8 → no need to ask; allowed with ≤ 0.2 → never without asking. The kind at the hour decides first, then the
//! kind, then the hour. Fear's own questions stay: counsel lowers no rule. It moves autonomy's bar and turns a
//! useless question into a no. It holds for a week after the newest question; then asking is tried again.
//! Remembers: counts, halved from sixteen on, so that newer ones weigh more. Forgets: by halving.
//! Down: autonomy and the gate keep what they were told.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::bridges::{ApprovalEnd, ApprovalEnded, Counsel, EscalationCounselled, goal_kind, hour_of};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::law::BridgeLaw;
use maxim_region::wiring;
use maxim_region::{Hears, Law, Pulse, Region, RemembersInState, StatePart, StatePuts, part};

/// Number of questions at which all counts are halved.
const FULL: u32 = 16;
/// Maximum number of kinds of goals.
const KINDS: usize = 512;

/// The room's settings.
#[derive(Clone, Debug)]
pub struct EscalationSettings {
    /// The time zone for hours.
    pub zone: TimeZone,
    pub law: BridgeLaw,
}

/// The results of asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    allowed: u32,
    denied: u32,
    expired: u32,
}

impl Asked {
    fn count(&mut self, end: ApprovalEnd) {
        let counter = match end {
            ApprovalEnd::Allowed => &mut self.allowed,
            ApprovalEnd::Denied => &mut self.denied,
            ApprovalEnd::Expired => &mut self.expired,
        };
        *counter += 1;
        if self.allowed + self.denied + self.expired >= FULL {
            *self = Self { allowed: self.allowed / 2, denied: self.denied / 2, expired: self.expired / 2 };
        }
    }

    fn and(self, other: &Self) -> Self {
        Self {
            allowed: self.allowed + other.allowed,
            denied: self.denied + other.denied,
            expired: self.expired + other.expired,
        }
    }

    /// (1 + answers) / (2 + questions).
    pub fn answered(&self) -> f64 {
        f64::from(1 + self.allowed + self.denied) / f64::from(2 + self.allowed + self.denied + self.expired)
    }

    /// (1 + yes) / (2 + answers).
    pub fn agreed(&self) -> f64 {
        f64::from(1 + self.allowed) / f64::from(2 + self.allowed + self.denied)
    }

    /// What it teaches about asking at this hour.
    fn at_hour(&self, law: &BridgeLaw) -> Option<Counsel> {
        let asked = self.allowed + self.denied + self.expired;
        (asked >= law.asking_cases_min && self.answered() < law.asking_unanswered_below).then_some(Counsel::Unanswered)
    }

    /// What it teaches about people's answers.
    fn of_answers(&self, law: &BridgeLaw) -> Option<Counsel> {
        let enough = self.allowed + self.denied >= law.asking_cases_min;
        match self.agreed() {
            share if enough && share >= law.asking_trusted_from => Some(Counsel::Trusted),
            share if enough && share <= law.asking_unwanted_to => Some(Counsel::Unwanted),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EscalationBridge {
    /// By kind of goal and hour of the day at the body's place.
    kinds: BTreeMap<String, BTreeMap<u8, Asked>>,
    questions: u64,
}

/// Untagged, so that answers keep their old format.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EscalationEvent {
    Ended(Ended),
    Imported(StatePuts),
}

/// One result of asking.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ended {
    kind: String,
    hour: u8,
    end: ApprovalEnd,
}

wiring!(EscalationBridge {
    hears: [ApprovalEnded, ReportStats, ExportRecords, ImportRecords],
    back: [],
    emits: [EscalationCounselled, StatsReported, RecordsExported, RecordsImported],
});

impl Region for EscalationBridge {
    const NAME: RegionName = rooms::ESCALATION_BRIDGE;
    const STAGE: Stage = Stage::Learning;
    type Event = EscalationEvent;
    type Settings = EscalationSettings;

    fn apply(&mut self, event: EscalationEvent) {
        let event = match event {
            EscalationEvent::Ended(event) => event,
            EscalationEvent::Imported(puts) => return puts.apply_to(self),
        };
        self.questions += 1;
        if !self.kinds.contains_key(&event.kind) && self.kinds.len() >= KINDS {
            let weight = |hours: &BTreeMap<u8, Asked>| hours.values().map(|a| a.allowed + a.denied + a.expired).sum();
            let least =
                self.kinds.iter().min_by_key(|(_, hours)| -> u32 { weight(hours) }).map(|(kind, _)| kind.clone());
            if let Some(least) = least {
                self.kinds.remove(&least);
            }
        }
        self.kinds.entry(event.kind).or_default().entry(event.hour).or_default().count(event.end);
    }
}

impl RemembersInState for EscalationBridge {
    const PARTS: &'static [StatePart] =
        &[part("kinds", Law::Each { most: KINDS, evidence: &[] }), part("questions", Law::Count)];

    fn imported(puts: StatePuts) -> EscalationEvent {
        EscalationEvent::Imported(puts)
    }

    fn tell(&self, after: &Self, pulse: &mut Pulse<'_, Self>) {
        let changed = after.kinds.iter().filter(|(kind, hours)| self.kinds.get(*kind) != Some(*hours));
        let mut scopes: BTreeMap<(Option<String>, Option<u8>), Counsel> = BTreeMap::new();
        for (kind, hours) in changed {
            for hour in hours.keys() {
                let [both, of_kind, at_hour] = after.counsels(kind, *hour, &pulse.settings().law);
                let of = [
                    ((Some(kind.clone()), Some(*hour)), both),
                    ((Some(kind.clone()), None), of_kind),
                    ((None, Some(*hour)), at_hour),
                ];
                scopes.extend(of.into_iter().filter_map(|(scope, counsel)| Some((scope, counsel?))));
            }
        }
        for ((kind, hour), counsel) in scopes {
            let until = pulse.now().later(pulse.settings().law.asking_holds.signed());
            pulse.emit(EscalationCounselled { kind, hour, counsel: Some(counsel), until });
        }
    }
}

impl EscalationBridge {
    /// Its counsel for this kind at this hour, for this kind, and for this hour.
    fn counsels(&self, kind: &str, hour: u8, law: &BridgeLaw) -> [Option<Counsel>; 3] {
        let none = BTreeMap::new();
        let hours = self.kinds.get(kind).unwrap_or(&none);
        let both = hours.get(&hour).copied().unwrap_or_default();
        let of_kind = hours.values().fold(Asked::default(), Asked::and);
        let at_hour = self.kinds.values().filter_map(|hours| hours.get(&hour)).fold(Asked::default(), Asked::and);
        [both.at_hour(law).or(both.of_answers(law)), of_kind.of_answers(law), at_hour.at_hour(law)]
    }
}

impl Hears<ApprovalEnded> for EscalationBridge {
    fn hear(&self, ended: &ApprovalEnded, pulse: &mut Pulse<'_, Self>) {
        let EscalationSettings { zone, law } = pulse.settings();
        let (kind, hour) = (goal_kind(&ended.tool, ended.goal.as_deref()), hour_of(ended.asked_at, zone));
        let event = EscalationEvent::Ended(Ended { kind: kind.clone(), hour, end: ended.end });
        let mut later = self.clone();
        later.apply(event.clone());
        let scopes = [(Some(kind.clone()), Some(hour)), (Some(kind.clone()), None), (None, Some(hour))];
        let (before, after) = (self.counsels(&kind, hour, law), later.counsels(&kind, hour, law));
        for ((kind, hour), (before, after)) in scopes.into_iter().zip(before.into_iter().zip(after)) {
            if before != after || after.is_some() {
                pulse.emit(EscalationCounselled {
                    kind,
                    hour,
                    counsel: after,
                    until: pulse.now().later(law.asking_holds.signed()),
                });
            }
        }
        pulse.keep(event);
    }
}

impl Hears<ReportStats> for EscalationBridge {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts = serde_json::json!({ "questions": self.questions, "kinds": self.kinds.len() });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::MessageId;
    use maxim_bus::signals::bridges::Counsels;

    use jiff::SignedDuration;

    use super::*;
    use maxim_region::rig::{Rig, ear, monday_morning};

    fn asked(ends: &[ApprovalEnd]) -> Asked {
        let mut asked = Asked::default();
        ends.iter().for_each(|end| asked.count(*end));
        asked
    }

    #[test]
    fn three_questions_of_one_end_teach_and_two_do_not() {
        let law = BridgeLaw::default();
        use ApprovalEnd::{Allowed, Denied, Expired};
        assert_eq!(asked(&[Expired; 2]).at_hour(&law), None);
        assert_eq!(asked(&[Expired; 3]).answered(), 0.2);
        assert_eq!(asked(&[Expired; 3]).at_hour(&law), Some(Counsel::Unanswered));
        assert_eq!(asked(&[Expired, Expired, Expired, Allowed]).at_hour(&law), None, "2 of 6");
        assert_eq!(asked(&[Allowed; 3]).agreed(), 0.8);
        assert_eq!(asked(&[Allowed; 3]).of_answers(&law), Some(Counsel::Trusted));
        assert_eq!(asked(&[Allowed, Allowed, Denied, Allowed]).of_answers(&law), None, "4 of 6");
        assert_eq!(asked(&[Denied; 3]).of_answers(&law), Some(Counsel::Unwanted));
        let forgiven = [vec![Denied; 15], vec![Allowed; 12]].concat();
        assert_eq!(asked(&forgiven).of_answers(&law), None, "the newer count more");
    }

    #[test]
    fn what_changes_or_holds_is_told_and_survives_a_crash() {
        let mut rig: Rig<EscalationBridge> = Rig::new(
            EscalationSettings { zone: TimeZone::UTC, law: BridgeLaw::default() },
            ear::<EscalationCounselled>,
        );
        let nine = monday_morning();
        let ended = |end| ApprovalEnded {
            intent: MessageId::from_parts(1, 1),
            tool: "bash".into(),
            goal: Some("run the tests".into()),
            rule: "exec.build".into(),
            asked_at: nine,
            end,
        };
        let mut counsels = Counsels::default();
        for n in 0..5 {
            rig.send(ended(ApprovalEnd::Expired));
            rig.crash();
            let told = rig.heard::<EscalationCounselled>();
            assert_eq!(told.len(), if n < 2 { 0 } else { 2 }, "after {} questions: {told:?}", n + 1);
            told.iter().for_each(|told| counsels.learn(told));
        }
        assert_eq!(counsels.on("bash:run", nine, &TimeZone::UTC), Some(Counsel::Unanswered));
        assert_eq!(
            counsels.on("write_file:create", nine, &TimeZone::UTC),
            Some(Counsel::Unanswered),
            "nobody is there at all"
        );
        assert_eq!(counsels.on("bash:run", nine + SignedDuration::from_hours(3), &TimeZone::UTC), None);
        for _ in 0..2 {
            rig.send(ended(ApprovalEnd::Allowed));
            rig.heard::<EscalationCounselled>().iter().for_each(|told| counsels.learn(told));
        }
        assert_eq!(counsels.on("bash:run", nine, &TimeZone::UTC), None, "somebody answered after all");
    }

    #[test]
    fn hours_are_those_of_the_place() {
        let tokyo = TimeZone::get("Asia/Tokyo").expect("a zone");
        let mut rig: Rig<EscalationBridge> = Rig::new(
            EscalationSettings { zone: tokyo.clone(), law: BridgeLaw::default() },
            ear::<EscalationCounselled>,
        );
        let asked_at = monday_morning();
        let mut counsels = Counsels::default();
        for _ in 0..3 {
            rig.send(ApprovalEnded {
                intent: MessageId::from_parts(1, 1),
                tool: "bash".into(),
                goal: None,
                rule: "exec.build".into(),
                asked_at,
                end: ApprovalEnd::Expired,
            });
            rig.heard::<EscalationCounselled>().iter().for_each(|told| counsels.learn(told));
        }
        let there = u8::try_from(asked_at.to_zoned(tokyo.clone()).hour()).expect("an hour");
        assert_eq!(rig.region().kinds["bash:"].keys().collect::<Vec<_>>(), [&there]);
        assert_eq!(counsels.on("bash:", asked_at, &tokyo), Some(Counsel::Unanswered));
        assert_eq!(counsels.on("bash:", asked_at, &TimeZone::UTC), None, "it is another hour there");
    }
}
