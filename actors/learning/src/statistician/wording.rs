//! Patterns in words and as formulas.

use std::collections::BTreeMap;

use maxim_bus::signals::numbers::SeriesFeature;

use super::model::Metric;
use maxim_language::numbers::statistics::{median, wilson_interval};

/// A pattern in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Worded {
    /// The tool, goal or person.
    pub subject: String,
    pub verbal: String,
    pub code: String,
    pub outputs: BTreeMap<String, f64>,
}

/// Kind, subject and quantity of a metric's name, e.g. `tool:bash:success`.
pub fn parts(name: &str) -> (&str, &str, &str) {
    match name.split_once(':') {
        Some((kind, rest)) => match rest.rsplit_once(':') {
            Some((subject, quantity)) => (kind, subject, quantity),
            None => (kind, kind, rest),
        },
        None => ("", name, "value"),
    }
}

fn quantity_of(kind: &str, subject: &str, quantity: &str) -> String {
    match (kind, quantity) {
        ("tool", "latency") => format!("the time that {subject} takes"),
        ("person", _) => format!("the time that {subject} takes to answer"),
        ("pain", _) => "the rate of pain".into(),
        ("energy", _) => "the use of energy".into(),
        ("tool" | "goal", "success") => format!("the success of {subject}"),
        _ => format!("the {quantity} of {subject}"),
    }
}

fn unit(kind: &str, quantity: &str) -> &'static str {
    match (kind, quantity) {
        (_, "latency" | "reply") => " s",
        ("energy", _) => " tokens",
        _ => "",
    }
}

/// A number with three significant digits.
fn shown(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The wording of a metric's pattern.
pub fn word(name: &str, metric: &Metric, feature: &SeriesFeature) -> Worded {
    let (kind, subject, quantity) = parts(name);
    let what = quantity_of(kind, subject, quantity);
    let values = metric.window();
    let level = median(&values).unwrap_or(0.0);
    let n = values.len();
    let mut outputs = BTreeMap::from([("n".to_owned(), n as f64)]);
    let mut give = |name: &str, value: f64| {
        outputs.insert(name.to_owned(), value);
    };
    let unit = unit(kind, quantity);
    let (verbal, code) = match feature {
        SeriesFeature::Prevailing { .. } | SeriesFeature::Constant if metric.is_share() && quantity == "success" => {
            let good = values.iter().sum::<f64>() as u64;
            let share = good as f64 / n.max(1) as f64;
            let [low, high] = wilson_interval(good, n as u64);
            give("rate", share);
            give("low", low);
            give("high", high);
            let (does, percent) = if share >= 0.5 { ("succeeds", share) } else { ("fails", 1.0 - share) };
            let [from, to] = if share >= 0.5 { [low, high] } else { [1.0 - high, 1.0 - low] };
            let verbal = format!(
                "{subject} {does} in {:.0} % of {n} uses (95 % interval {:.0} to {:.0} %)",
                percent * 100.0,
                from * 100.0,
                to * 100.0
            );
            (verbal, format!("P(success | {subject}) = {good}/{n}"))
        }
        SeriesFeature::Prevailing { share } => {
            give("share", *share);
            let verbal = format!("{what} is the greater of two values in {:.0} % of {n} cases", share * 100.0);
            (verbal, format!("P(high) = {share:.3}"))
        }
        SeriesFeature::Constant => {
            give("level", level);
            (format!("{what} is always {}{unit}", shown(level)), format!("x = {}", shown(level)))
        }
        SeriesFeature::Trend { slope } => {
            give("slope", *slope);
            give("level", level);
            let way = if *slope > 0.0 { "rises" } else { "falls" };
            let verbal =
                format!("{what} {way} by {}{unit} each time, now around {}{unit}", shown(slope.abs()), shown(level));
            (verbal, format!("Δx = {} per observation", shown(*slope)))
        }
        SeriesFeature::Periodic { period } => {
            give("period", *period as f64);
            give("level", level);
            let verbal = format!("{what} comes back every {period} times, around {}{unit}", shown(level));
            (verbal, format!("x(t + {period}) = x(t)"))
        }
        SeriesFeature::Serial { r } => {
            give("r", *r);
            give("level", level);
            let way = if *r > 0.0 { "stays like it was the time before" } else { "goes up and down from time to time" };
            (format!("{what} {way}, around {}{unit}", shown(level)), format!("r₁ = {r:.2}"))
        }
    };
    Worded { subject: subject.to_owned(), verbal, code, outputs }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, values: &[f64], feature: SeriesFeature) -> String {
        let metric = Metric { values: values.iter().copied().collect(), ..Metric::default() };
        word(name, &metric, &feature).verbal
    }

    #[test]
    fn each_pattern_has_its_words() {
        let mut mostly = vec![1.0; 9];
        mostly.push(0.0);
        let share = SeriesFeature::Prevailing { share: 0.9 };
        assert_eq!(
            of("tool:bash:success", &mostly, share.clone()),
            "bash succeeds in 90 % of 10 uses (95 % interval 60 to 98 %)"
        );
        let rarely: Vec<f64> = mostly.iter().map(|value| 1.0 - value).collect();
        assert_eq!(
            of("goal:fetch cup:success", &rarely, share),
            "fetch cup fails in 90 % of 10 uses (95 % interval 60 to 98 %)"
        );
        assert_eq!(
            of("tool:bash:latency", &[0.1, 0.2, 0.3], SeriesFeature::Trend { slope: 0.1 }),
            "the time that bash takes rises by 0.1 s each time, now around 0.2 s"
        );
        assert_eq!(of("energy:rate", &[900.0; 3], SeriesFeature::Constant), "the use of energy is always 900 tokens");
        assert_eq!(
            of("person:anna:reply", &[60.0; 3], SeriesFeature::Periodic { period: 7 }),
            "the time that anna takes to answer comes back every 7 times, around 60 s"
        );
        assert!(
            of("pain:rate", &[1.0, 2.0, 3.0], SeriesFeature::Serial { r: 0.5 }).starts_with("the rate of pain stays")
        );
    }

    #[test]
    fn numbers_show_three_digits() {
        for (value, text) in
            [(0.123_456, "0.123"), (1234.5, "1234"), (0.000_012_34, "0.0000123"), (2.0, "2"), (0.0, "0")]
        {
            assert_eq!(shown(value), text);
        }
    }
}
