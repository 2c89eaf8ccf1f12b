//! Which act to do unasked: a law without state, time or chance of its own.
//!
//! An option is worth q = v + b − φ f + ω d. v is what experience expects, (2V − 1)·c with value V and confidence c of the
//! nucleus accumbens. b is curiosity, by discounted UCB (Garivier & Moulines 2011, the bonus of UCB1 of Auer, Cesa-Bianchi &
//! Fischer 2002 over counts that fade, so that a world that changes is tried again): b = β √(ln(e + N)/(1 + n)), where of
//! the choices in which it was an option, the one k choices ago weighs γᵏ: N is the weight of all, n of those that it won.
//! f is fear, (1 − V) times the share of it that time has left, where the tool hurt before. d is the need that it serves.
//! Doing nothing is worth 0. The choice is a softmax (Sutton & Barto 2018, section 2.8): chance ∝ exp(q/τ).

use std::collections::BTreeMap;

use maxim_bus::signals::acting::ActOption;
use maxim_bus::signals::introspection::{Verdict, VerdictForeseen};
use maxim_bus::signals::recall::OutcomesPredicted;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::section::HabitKeys;

/// Acts with counts, at most. Those that were an option the least often go first.
const MOST: usize = 256;

/// How much each reason counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActLaw {
    /// β: worth of an act that was never tried.
    pub novelty: f64,
    /// γ: weight of a choice at the next one. With 0.98 the last 50 count.
    pub memory: f64,
    /// φ: weight of fear.
    pub fear: f64,
    /// ω: weight of a need.
    pub need: f64,
    /// τ: amount of chance; 0 takes the best.
    pub temperature: f64,
}

impl From<&HabitKeys> for ActLaw {
    fn from(keys: &HabitKeys) -> Self {
        Self {
            novelty: keys.act_novelty,
            memory: keys.act_memory,
            fear: keys.act_fear,
            need: keys.act_need,
            temperature: keys.act_temperature,
        }
    }
}

impl Default for ActLaw {
    fn default() -> Self {
        Self::from(&HabitKeys::default())
    }
}

/// How often an act was an option and how often it was chosen. Older choices weigh less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counts {
    offered: f64,
    chosen: f64,
}

/// Counts by act.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TriedActs(BTreeMap<String, Counts>);

impl TriedActs {
    /// Counts a choice among these acts.
    pub fn chose(&mut self, among: &[String], chosen: Option<&str>, memory: f64) {
        for key in among {
            let counts = self.0.entry(key.clone()).or_default();
            counts.offered = memory * counts.offered + 1.0;
            counts.chosen = memory * counts.chosen + f64::from(u8::from(chosen == Some(key)));
        }
        while self.0.len() > MOST {
            let least = self.0.iter().min_by(|a, b| a.1.offered.total_cmp(&b.1.offered)).map(|(key, _)| key.clone());
            least.map(|key| self.0.remove(&key));
        }
    }

    fn of(&self, key: &str) -> Counts {
        self.0.get(key).copied().unwrap_or_default()
    }
}

/// The name of an act: the tool with its parameters.
pub fn key_of(tool: &str, params: &Json) -> String {
    match params.as_object() {
        Some(fields) if !fields.is_empty() => format!("{tool} {params}"),
        _ => tool.to_owned(),
    }
}

/// The expectation of experience.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    value: f64,
    confidence: f64,
    known: bool,
}

impl From<&OutcomesPredicted> for Expected {
    fn from(predicted: &OutcomesPredicted) -> Self {
        let OutcomesPredicted { value, confidence, known, .. } = predicted;
        Self { value: value.get(), confidence: confidence.get(), known: *known }
    }
}

/// An act under consideration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Considered {
    pub tool: String,
    pub params: Json,
    pub need: f64,
    pub expected: Option<Expected>,
    pub foreseen: Option<Box<VerdictForeseen>>,
    /// Why it can't be chosen.
    pub barred: Option<String>,
}

impl Considered {
    pub fn key(&self) -> String {
        key_of(&self.tool, &self.params)
    }

    /// Why the gate would not let it pass without a person's yes.
    fn no_of_the_gate(&self) -> Option<String> {
        let foreseen = self.foreseen.as_ref()?;
        let VerdictForeseen { verdict, rule, allowed_always, hurt_before, .. } = &**foreseen;
        if *verdict == Verdict::Block || (*verdict == Verdict::Ask && !allowed_always) {
            return Some(format!("the gate would {verdict} ({rule})"));
        }
        let expected = self.expected.filter(|expected| expected.known && *hurt_before)?;
        let sure = expected.confidence * foreseen.unforgiven;
        (sure > foreseen.veto_confidence && expected.value < foreseen.veto_value)
            .then(|| "the gate would ask (fear.learned)".to_owned())
    }

    /// The act with its reasons. A missing answer counts as nothing.
    pub fn weighed(&self, tried: &TriedActs, law: &ActLaw) -> ActOption {
        let known = self.expected.filter(|expected| expected.known);
        let value = known.map_or(0.0, |expected| (2.0 * expected.value - 1.0) * expected.confidence);
        let counts = tried.of(&self.key());
        let novelty = law.novelty * ((std::f64::consts::E + counts.offered).ln() / (1.0 + counts.chosen)).sqrt();
        let hurt = self.foreseen.as_ref().filter(|foreseen| foreseen.hurt_before);
        let fear = hurt.map_or(0.0, |foreseen| foreseen.unforgiven * (1.0 - known.map_or(0.5, |known| known.value)));
        ActOption {
            tool: self.tool.clone(),
            params: self.params.clone(),
            value,
            tries: counts.chosen,
            novelty,
            fear,
            need: self.need,
            score: value + novelty - law.fear * fear + law.need * self.need,
            chance: 0.0,
            barred: self.barred.clone().or_else(|| self.no_of_the_gate()),
        }
    }
}

/// Gives each option its chance, and the option that a draw from [0, 1) falls on; `None` is to do nothing. The last number is
/// the chance of doing nothing.
pub fn choose(options: &mut [ActOption], law: &ActLaw, draw: f64) -> (Option<usize>, f64) {
    let open = |option: &ActOption| option.barred.is_none();
    let best = options.iter().filter(|option| open(option)).map(|option| option.score).fold(0.0, f64::max);
    let weight = |score: f64| match law.temperature > 0.0 {
        true => ((score - best) / law.temperature).exp(),
        false => f64::from(u8::from(score >= best)),
    };
    let all =
        weight(0.0) + options.iter().filter(|option| open(option)).map(|option| weight(option.score)).sum::<f64>();
    let mut chosen = None;
    let mut below = weight(0.0) / all;
    let nothing = below;
    for (place, option) in options.iter_mut().enumerate().filter(|(_, option)| option.barred.is_none()) {
        option.chance = weight(option.score) / all;
        if chosen.is_none() && below <= draw && draw < below + option.chance {
            chosen = Some(place);
        }
        below += option.chance;
    }
    (chosen, nothing)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn act(tool: &str, value: f64, confidence: f64) -> Considered {
        Considered {
            tool: tool.into(),
            params: json!({}),
            need: 0.0,
            expected: Some(Expected { value, confidence, known: confidence > 0.0 }),
            foreseen: Some(Box::new(VerdictForeseen {
                verdict: Verdict::Allow,
                rule: "allow".into(),
                category: String::new(),
                reason: String::new(),
                allowed_always: false,
                hurt_before: confidence > 0.0 && value < 0.5,
                veto_confidence: 0.85,
                veto_value: 0.1,
                unforgiven: 1.0,
            })),
            barred: None,
        }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }

    #[test]
    fn a_score_is_value_curiosity_fear_and_need() {
        let law = ActLaw::default();
        let mut tried = TriedActs::default();
        near(act("new", 0.0, 0.0).weighed(&tried, &law).score, 0.2);
        let good = Considered { need: 0.5, ..act("good", 0.9, 0.5) };
        near(good.weighed(&tried, &law).score, 0.4 + 0.2 + 0.25);
        let bad = act("bad", 0.2, 0.5).weighed(&tried, &law);
        near(bad.score, -0.3 + 0.2 - 0.5 * 0.8);
        tried.chose(&["new".into(), "good".into()], Some("new"), 0.98);
        tried.chose(&["new".into(), "good".into()], Some("new"), 0.98);
        let (new, good) = (act("new", 0.0, 0.0).weighed(&tried, &law), act("good", 0.0, 0.0).weighed(&tried, &law));
        near(new.tries, 1.98);
        near(new.novelty, 0.2 * ((std::f64::consts::E + 1.98).ln() / 2.98).sqrt());
        assert!(good.novelty > 0.2 && new.novelty < 0.2, "what was passed over grows newer: {new:?} {good:?}");
    }

    #[test]
    fn what_the_gate_would_ask_about_is_never_chosen() {
        let law = ActLaw { temperature: 100.0, ..ActLaw::default() };
        let feared = act("feared", 0.05, 0.9);
        let mut asked = act("asked", 1.0, 0.9);
        asked.foreseen.as_mut().expect("foreseen").verdict = Verdict::Ask;
        let refused = Considered { barred: Some("it was refused".into()), ..act("refused", 1.0, 0.9) };
        let mut options: Vec<ActOption> =
            [feared, asked, refused].iter().map(|act| act.weighed(&TriedActs::default(), &law)).collect();
        let barred: Vec<&str> = options.iter().filter_map(|option| option.barred.as_deref()).collect();
        assert_eq!(barred, ["the gate would ask (fear.learned)", "the gate would ask (allow)", "it was refused"]);
        assert_eq!(choose(&mut options, &law, 0.999), (None, 1.0));
    }

    #[test]
    fn chances_are_a_softmax_over_the_scores_and_nothing() {
        let law = ActLaw { novelty: 0.0, temperature: 0.5, ..ActLaw::default() };
        let mut options: Vec<ActOption> = [act("a", 1.0, 0.5), act("b", 0.5, 0.5)]
            .iter()
            .map(|act| act.weighed(&TriedActs::default(), &law))
            .collect();
        let (first, nothing) = choose(&mut options, &law, 0.0);
        near(nothing, 1.0 / (2.0 + 1f64.exp()));
        near(options[0].chance / options[1].chance, 1f64.exp());
        near(nothing + options[0].chance + options[1].chance, 1.0);
        assert_eq!(first, None, "the first share is that of doing nothing");
        assert_eq!(choose(&mut options, &law, nothing).0, Some(0));
        assert_eq!(choose(&mut options, &law, 0.999_999).0, Some(1));
        let greedy = ActLaw { temperature: 0.0, ..law };
        assert!((0..10).all(|n| choose(&mut options, &greedy, f64::from(n) / 10.0).0 == Some(0)));
    }

    #[test]
    fn counts_stay_few() {
        let mut tried = TriedActs::default();
        (0..400).for_each(|n| tried.chose(&[format!("act {n}"), "often".into()], None, 0.98));
        assert!(tried.0.len() <= MOST && tried.of("often").offered > 10.0);
    }
}
