//! Energy: the cost of thinking and moving, and what is left.
//!
//! Biology: the hypothalamus, which senses stores and lets costly organs rest.
//! Law: tokens, seconds of inference, calls, money and degrees moved are metered per purpose, and by the minute over
//! a day. The level is what is left of the scarcest resource for thinking: 1 − spent/limit of tokens and money, and
//! the battery's charge if there is one. Tokens of vectors count only towards money. Movements count towards no
//! level: autonomy limits them. The level is reported when it changed by 0.05 or crossed 0.15; below 0.15
//! deliberation rests and habit answers.
//! Remembers: a day of minutes, totals by purpose, calls without a reply. Forgets: older minutes; a call after an
//! hour.
//! Down: the budgets of deliberation itself still hold; the level stays as last reported.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::mode::{EffortLimits, MoneyLimits};
use maxim_bus::rooms;
use maxim_bus::signals::body::MovementSensed;
use maxim_bus::signals::bridges::{BatterySensed, EnergyChanged, EnergyReported, ReportEnergy, SenseBattery};
use maxim_bus::signals::encoding::TextsEncoded;
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::thought::{ModelCall, ModelReply, Purpose};
use maxim_bus::{MessageId, RegionName, Stage};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};

const HOUR: i64 = 60;
const DAY: i64 = 24 * HOUR;
/// A smaller change of the level isn't reported.
const STEP: f64 = 0.05;
/// How often a low level, or a battery, is checked again.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_mins(5);
/// A call without a reply is dropped after this.
const CALL_LIMIT: SignedDuration = SignedDuration::from_hours(1);

/// The spending limits.
#[derive(Clone, Debug)]
pub struct EnergySettings {
    /// Tokens per hour; 0 allows none.
    pub tokens_per_hour: u64,
    /// Tokens per day; 0 allows none.
    pub tokens_per_day: u64,
    /// Tokens from the process's start on; 0 means no limit.
    pub tokens_per_session: u64,
    pub money: MoneyLimits,
    pub effort: EffortLimits,
    /// Identifies this process, which is one session.
    pub boot: u64,
}

/// Amounts spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    pub tokens: u64,
    /// Seconds between call and reply.
    pub seconds: f64,
    pub calls: u64,
    /// By the configured prices.
    pub money: f64,
    /// Degrees that joints turned.
    pub degrees: f64,
    /// The part of these tokens that went to vectors, which no token budget counts.
    pub embedded: u64,
}

impl Spent {
    fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.seconds += other.seconds;
        self.calls += other.calls;
        self.money += other.money;
        self.degrees += other.degrees;
        self.embedded = self.embedded.saturating_add(other.embedded);
    }
}

/// The share of a budget that is left: 1 − spent/limit, 0 to 1.
pub fn left(spent: u64, limit: u64) -> f64 {
    if limit == 0 { 0.0 } else { (1.0 - spent as f64 / limit as f64).max(0.0) }
}

/// The same for a session's tokens; a limit of 0 means no limit.
fn session_left(spent: u64, limit: u64) -> f64 {
    if limit == 0 { 1.0 } else { left(spent, limit) }
}

/// The same for money; a limit of 0 means no limit.
fn money_left(spent: f64, limit: f64) -> f64 {
    if limit <= 0.0 { 1.0 } else { (1.0 - spent / limit).max(0.0) }
}

/// Whether a level must be reported after the last reported one.
pub fn worth_telling(told: f64, level: f64) -> bool {
    (told - level).abs() >= STEP || (told < EnergyChanged::LOW) != (level < EnergyChanged::LOW)
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Battery {
    charge: Option<f64>,
    charging: bool,
    source: String,
    at: Timestamp,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Energy {
    /// By minute since 1970.
    minutes: BTreeMap<i64, Spent>,
    purposes: BTreeMap<String, Spent>,
    /// The counted process, and what it spent.
    session: Option<(u64, Spent)>,
    calls: BTreeMap<MessageId, Timestamp>,
    /// Purposes of calls other than deliberation.
    meant: BTreeMap<MessageId, Purpose>,
    battery: Option<Battery>,
    /// The process in which the battery was last checked.
    looked: Option<u64>,
    told: Option<(f64, Timestamp)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum EnergyEvent {
    Called {
        call: MessageId,
        at: Timestamp,
        purpose: Purpose,
    },
    Spent {
        call: MessageId,
        spent: Spent,
        at: Timestamp,
        session: u64,
    },
    /// Use other than a model's call.
    Used {
        purpose: String,
        spent: Spent,
        at: Timestamp,
        session: u64,
    },
    Looked {
        session: u64,
    },
    Sensed {
        charge: Option<f64>,
        charging: bool,
        source: String,
        at: Timestamp,
    },
    Told {
        level: f64,
        at: Timestamp,
    },
}

wiring!(Energy {
    hears: [ModelCall, ModelReply, TextsEncoded, MovementSensed, BatterySensed, ReportEnergy, ReportStats],
    back: [],
    emits: [EnergyChanged, SenseBattery, EnergyReported, StatsReported],
});

fn minute_of(at: Timestamp) -> i64 {
    at.as_second().div_euclid(60)
}

impl Region for Energy {
    const NAME: RegionName = rooms::ENERGY;
    const STAGE: Stage = Stage::Perception;
    type Event = EnergyEvent;
    type Settings = EnergySettings;

    fn apply(&mut self, event: EnergyEvent) {
        match event {
            EnergyEvent::Called { call, at, purpose } => {
                self.calls.retain(|_, begun| begun.later(CALL_LIMIT) > at);
                self.calls.insert(call, at);
                self.meant.retain(|call, _| self.calls.contains_key(call));
                if purpose != Purpose::default() {
                    self.meant.insert(call, purpose);
                }
            }
            EnergyEvent::Spent { call, spent, at, session } => self.spend(call, spent, at, session),
            EnergyEvent::Used { purpose, spent, at, session } => self.meter(&purpose, spent, at, session),
            EnergyEvent::Looked { session } => self.looked = Some(session),
            EnergyEvent::Sensed { charge, charging, source, at } => {
                self.battery = Some(Battery { charge, charging, source, at });
            }
            EnergyEvent::Told { level, at } => self.told = Some((level, at)),
        }
    }

    fn next_deadline(&self, settings: &EnergySettings) -> Option<Timestamp> {
        if self.looked != Some(settings.boot) {
            return Some(Timestamp::UNIX_EPOCH);
        }
        let low = self.told.filter(|(level, _)| *level < EnergyChanged::LOW).map(|(_, at)| at.later(LOOK_AGAIN));
        let battery = self.battery.as_ref().filter(|battery| battery.charge.is_some()).map(|b| b.at.later(LOOK_AGAIN));
        low.into_iter().chain(battery).min()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let (now, session) = (pulse.now(), pulse.settings().boot);
        if self.looked != Some(session) {
            pulse.keep(EnergyEvent::Looked { session });
            pulse.emit(SenseBattery {});
        }
        if let Some(battery) = self.battery.clone().filter(|battery| battery.at.later(LOOK_AGAIN) <= now) {
            // Asked again at the next deadline, whether the sense answers or not.
            let Battery { charge, charging, source, .. } = battery;
            pulse.keep(EnergyEvent::Sensed { charge, charging, source, at: now });
            pulse.emit(SenseBattery {});
        }
        if self.told.is_some_and(|(level, at)| level < EnergyChanged::LOW && at.later(LOOK_AGAIN) <= now) {
            self.tell(self.clone(), true, pulse);
        }
    }
}

impl Energy {
    fn spend(&mut self, call: MessageId, spent: Spent, at: Timestamp, session: u64) {
        self.calls.remove(&call);
        let purpose = self.meant.remove(&call).unwrap_or_default();
        self.meter(purpose.as_str(), spent, at, session);
    }

    fn meter(&mut self, purpose: &str, spent: Spent, at: Timestamp, session: u64) {
        let minute = minute_of(at);
        self.minutes = self.minutes.split_off(&(minute - DAY + 1));
        self.minutes.entry(minute).or_default().add(spent);
        self.purposes.entry(purpose.into()).or_default().add(spent);
        let mut of_session = self.session.filter(|(old, _)| *old == session).unwrap_or((session, Spent::default()));
        of_session.1.add(spent);
        self.session = Some(of_session);
    }

    /// Amounts spent in the newest minutes.
    fn within(&self, minutes: i64, now: Timestamp) -> Spent {
        let mut sum = Spent::default();
        self.minutes.range(minute_of(now) - minutes + 1..).for_each(|(_, spent)| sum.add(*spent));
        sum
    }

    fn of_session(&self, settings: &EnergySettings) -> Spent {
        self.session.filter(|(boot, _)| *boot == settings.boot).map_or(Spent::default(), |(_, spent)| spent)
    }

    /// The level, and the scarcest resource.
    fn level(&self, now: Timestamp, settings: &EnergySettings) -> (f64, &'static str) {
        let (hour, day, session) = (self.within(HOUR, now), self.within(DAY, now), self.of_session(settings));
        let budgets = [
            (left(hour.tokens - hour.embedded, settings.tokens_per_hour), "tokens of the hour"),
            (left(day.tokens - day.embedded, settings.tokens_per_day), "tokens of the day"),
            (session_left(session.tokens - session.embedded, settings.tokens_per_session), "tokens of the session"),
            (money_left(hour.money, settings.money.per_hour), "money of the hour"),
            (money_left(day.money, settings.money.per_day), "money of the day"),
            (money_left(session.money, settings.money.per_session), "money of the session"),
        ];
        let battery = self.battery.as_ref().filter(|battery| !battery.charging).and_then(|battery| battery.charge);
        let all = budgets.into_iter().chain(battery.map(|charge| (charge, "battery")));
        all.fold((1.0, "nothing"), |least, one| if one.0 < least.0 { one } else { least })
    }

    /// Reports the level of `later` if it changed enough.
    fn tell(&self, later: Self, looked: bool, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let (level, scarcest) = later.level(now, pulse.settings());
        if worth_telling(self.told.map_or(1.0, |(told, _)| told), level) {
            pulse.emit(EnergyChanged { level, scarcest: scarcest.into() });
            pulse.keep(EnergyEvent::Told { level, at: now });
        } else if looked && let Some((told, _)) = self.told {
            pulse.keep(EnergyEvent::Told { level: told, at: now });
        }
    }

    fn battery_in_words(&self) -> Json {
        match &self.battery {
            None => json!({ "available": false, "reason": "not looked for yet" }),
            Some(Battery { charge: None, source, .. }) => json!({ "available": false, "reason": source }),
            Some(battery) => {
                json!({ "available": true, "charge": battery.charge, "charging": battery.charging, "source": battery.source })
            }
        }
    }

    fn report(&self, window_seconds: u64, now: Timestamp, settings: &EnergySettings) -> Json {
        let minutes = i64::try_from(window_seconds.div_ceil(60)).unwrap_or(DAY).clamp(1, DAY);
        let (spent, (level, scarcest)) = (self.within(minutes, now), self.level(now, settings));
        let budget = |minutes, limit: u64| {
            let spent = self.within(minutes, now);
            let spent = spent.tokens - spent.embedded;
            json!({ "limit": limit, "spent": spent, "left": limit.saturating_sub(spent) })
        };
        let session = self.of_session(settings);
        // A limit of 0 means no limit.
        let (limit, of_session) = (settings.tokens_per_session, session.tokens - session.embedded);
        let of_this_session = match limit {
            0 => json!({ "limit": null, "spent": of_session }),
            _ => json!({ "limit": limit, "spent": of_session, "left": limit.saturating_sub(of_session) }),
        };
        let bounded = |spent: f64, limit: f64| match limit > 0.0 {
            true => json!({ "limit": limit, "spent": spent, "left": (limit - spent).max(0.0) }),
            false => json!({ "limit": null, "spent": spent }),
        };
        let (hour, day, limits) = (self.within(HOUR, now), self.within(DAY, now), &settings.money);
        json!({
            "window_seconds": minutes * 60,
            "tokens": spent.tokens,
            "inference_seconds": spent.seconds,
            "calls": spent.calls,
            "tokens_per_minute": spent.tokens as f64 / minutes as f64,
            "budgets": {
                "hour": budget(HOUR, settings.tokens_per_hour),
                "day": budget(DAY, settings.tokens_per_day),
                "session": of_this_session,
            },
            "session": session,
            "purposes": self.purposes,
            "level": level,
            "scarcest": scarcest,
            "battery": self.battery_in_words(),
            "motor_effort": {
                "unit": "degrees",
                "window": spent.degrees,
                "hour": bounded(hour.degrees, settings.effort.per_hour),
                "day": bounded(day.degrees, settings.effort.per_day),
            },
            "money": {
                "window": spent.money,
                "hour": bounded(hour.money, limits.per_hour),
                "day": bounded(day.money, limits.per_day),
                "session": bounded(session.money, limits.per_session),
            },
        })
    }
}

impl Hears<ModelCall> for Energy {
    fn hear(&self, call: &ModelCall, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(EnergyEvent::Called { call: call.call, at: pulse.now(), purpose: call.purpose });
    }
}

impl Hears<ModelReply> for Energy {
    fn hear(&self, reply: &ModelReply, pulse: &mut Pulse<'_, Self>) {
        let at = pulse.now();
        let begun = self.calls.get(&reply.call).copied().unwrap_or(at);
        let spent = Spent {
            tokens: u64::from(reply.prompt_tokens) + u64::from(reply.completion_tokens),
            seconds: at.duration_since(begun).as_secs_f64().max(0.0),
            calls: 1,
            money: reply.money,
            ..Spent::default()
        };
        let session = pulse.settings().boot;
        let mut later = self.clone();
        later.spend(reply.call, spent, at, session);
        pulse.keep(EnergyEvent::Spent { call: reply.call, spent, at, session });
        self.tell(later, false, pulse);
    }
}

impl Energy {
    fn used(&self, purpose: &str, spent: Spent, pulse: &mut Pulse<'_, Self>) {
        let (at, session) = (pulse.now(), pulse.settings().boot);
        let mut later = self.clone();
        later.meter(purpose, spent, at, session);
        pulse.keep(EnergyEvent::Used { purpose: purpose.into(), spent, at, session });
        self.tell(later, false, pulse);
    }
}

impl Hears<TextsEncoded> for Energy {
    fn hear(&self, encoded: &TextsEncoded, pulse: &mut Pulse<'_, Self>) {
        let (tokens, money) = (encoded.tokens, encoded.money);
        if tokens > 0 {
            self.used("embed", Spent { tokens, embedded: tokens, money, calls: 1, ..Spent::default() }, pulse);
        }
    }
}

impl Hears<MovementSensed> for Energy {
    fn hear(&self, sensed: &MovementSensed, pulse: &mut Pulse<'_, Self>) {
        let degrees = sensed.degrees();
        if degrees > 0.0 {
            self.used("move", Spent { degrees, ..Spent::default() }, pulse);
        }
    }
}

impl Hears<BatterySensed> for Energy {
    fn hear(&self, sensed: &BatterySensed, pulse: &mut Pulse<'_, Self>) {
        let BatterySensed { charge, charging, source } = sensed.clone();
        let at = pulse.now();
        let battery = Some(Battery { charge, charging, source: source.clone(), at });
        let later = Self { battery, ..self.clone() };
        pulse.keep(EnergyEvent::Sensed { charge, charging, source, at });
        self.tell(later, false, pulse);
    }
}

impl Hears<ReportEnergy> for Energy {
    fn hear(&self, query: &ReportEnergy, pulse: &mut Pulse<'_, Self>) {
        let report = self.report(query.window_seconds, pulse.now(), pulse.settings());
        pulse.reply(EnergyReported { report });
    }
}

impl Hears<ReportStats> for Energy {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let all = self.purposes.values().fold(Spent::default(), |mut sum, spent| {
            sum.add(*spent);
            sum
        });
        let battery = self.battery.as_ref().map_or("not looked for yet", |battery| match battery.charge {
            Some(_) => "present",
            None => "none",
        });
        let (tokens, calls, money, degrees) = (all.tokens, all.calls, all.money, all.degrees);
        let (level, scarcest) = self.level(pulse.now(), pulse.settings());
        let counts = json!({
            "tokens": tokens,
            "calls": calls,
            "money": money,
            "degrees_moved": degrees,
            "level": level,
            "scarcest": scarcest,
            "battery": battery,
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
        // A later question sees the new state.
        pulse.emit(SenseBattery {});
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use maxim_region::rig::{Rig, ear};

    fn settings() -> EnergySettings {
        let (money, effort) = (MoneyLimits::default(), EffortLimits::default());
        EnergySettings { tokens_per_hour: 1_000, tokens_per_day: 10_000, tokens_per_session: 0, money, effort, boot: 1 }
    }

    fn reply(call: MessageId, tokens: u32) -> ModelReply {
        let (text, error) = (Some("hm".into()), None);
        ModelReply { text, error, prompt_tokens: tokens, ..ModelReply::failed(&self::call(call), "") }
    }

    fn call(call: MessageId) -> ModelCall {
        ModelCall {
            call,
            turn: call,
            system: String::new(),
            user: String::new(),
            max_tokens: 1,
            tools: Vec::new(),
            purpose: Purpose::Deliberate,
            form: None,
        }
    }

    fn id(n: u64) -> MessageId {
        MessageId::from_parts(n, 0)
    }

    fn report(rig: &mut Rig<Energy>) -> Json {
        rig.send(ReportEnergy { window_seconds: 3_600 });
        rig.heard::<EnergyReported>().remove(0).report
    }

    #[test]
    fn what_is_left_is_told_in_steps_and_at_the_bar() {
        assert_eq!((left(0, 100), left(25, 100), left(200, 100), left(0, 0)), (1.0, 0.75, 0.0, 0.0));
        assert!(worth_telling(1.0, 0.95) && !worth_telling(1.0, 0.96));
        assert!(worth_telling(0.16, 0.14) && worth_telling(0.14, 0.15) && !worth_telling(0.10, 0.14));
    }

    #[test]
    fn tokens_and_seconds_are_metered_and_an_hour_later_they_are_back() {
        let mut rig: Rig<Energy> = Rig::new(settings(), |bus, probe| {
            ear::<EnergyChanged>(bus, probe);
            ear::<EnergyReported>(bus, probe);
        });
        rig.send(call(id(1)));
        rig.pass(Duration::from_secs(4));
        rig.send(reply(id(1), 30));
        assert!(rig.heard::<EnergyChanged>().is_empty(), "0.97 isn't worth telling");
        rig.send(reply(id(2), 870));
        let told = rig.heard::<EnergyChanged>();
        assert!((told[0].level - 0.1).abs() < 1e-12 && told[0].scarcest == "tokens of the hour", "{told:?}");
        rig.crash();
        let spent = report(&mut rig);
        assert_eq!(
            (&spent["tokens"], &spent["inference_seconds"], &spent["calls"]),
            (&json!(900), &json!(4.0), &json!(2))
        );
        assert_eq!(spent["budgets"]["day"]["left"], 9_100);
        assert_eq!(spent["session"]["tokens"], 900);
        for _ in 0..13 {
            rig.pass(Duration::from_secs(300));
        }
        let told = rig.heard::<EnergyChanged>();
        assert!((told[0].level - 0.91).abs() < 1e-12 && told[0].scarcest == "tokens of the day", "{told:?}");
        assert_eq!(report(&mut rig)["tokens"], 0);
    }

    #[test]
    fn a_battery_counts_where_there_is_one_and_none_is_said_to_be_none() {
        let mut rig: Rig<Energy> = Rig::new(settings(), |bus, probe| {
            ear::<EnergyChanged>(bus, probe);
            ear::<EnergyReported>(bus, probe);
            ear::<SenseBattery>(bus, probe);
        });
        rig.run();
        assert_eq!(rig.heard::<SenseBattery>().len(), 1, "it is looked for once at the start");
        rig.send(BatterySensed { charge: None, charging: false, source: "this machine has no battery".into() });
        assert_eq!(report(&mut rig)["battery"]["reason"], "this machine has no battery");
        rig.pass(Duration::from_secs(86_400));
        assert!(rig.heard::<SenseBattery>().is_empty(), "what isn't there isn't looked at again");
        rig.send(BatterySensed { charge: Some(0.1), charging: false, source: "BAT0".into() });
        assert_eq!(rig.heard::<EnergyChanged>()[0].level, 0.1);
        rig.pass(Duration::from_secs(301));
        assert_eq!(rig.heard::<SenseBattery>().len(), 1);
        rig.send(BatterySensed { charge: Some(0.11), charging: true, source: "BAT0".into() });
        assert_eq!(rig.heard::<EnergyChanged>()[0].level, 1.0, "it is being charged");
    }
}
