//! Which metrics correlate: rank correlations over the time buckets that two metrics share (Spearman 1904), with
//! false discoveries controlled over all pairs (Benjamini & Hochberg 1995). A correlation is claimed only if it is
//! found twice in a row, because it is tested again with every bucket.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model::{Metric, Metrics};
use maxim_language::numbers::statistics::{correlation_p, false_discovery_rates, rank_correlation};

/// Minimum number of time buckets that two metrics share.
pub const LEAST_SHARED: usize = 8;
/// Accepted share of false discoveries.
pub const FALSE_DISCOVERY_RATE: f64 = 0.05;
/// Weaker correlations are not reported, however certain.
pub const LEAST_RHO: f64 = 0.5;
/// A claim is dropped below this.
pub const LOST_RHO: f64 = 0.3;
/// Maximum number of claims and of candidates; the weakest are left out.
pub const MOST_CLAIMS: usize = 64;
/// Two metrics with the same kind and subject say the same in two ways.
const SEPARATOR: char = ':';

/// A pair of metrics in alphabetical order.
pub type Pair = (String, String);

/// The findings on a pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correlation {
    pub rho: f64,
    pub p: f64,
    pub q: f64,
    pub shared: usize,
}

/// Candidates were found once, claims twice in a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Claims {
    #[serde(with = "pairs")]
    pub candidates: BTreeMap<Pair, f64>,
    #[serde(with = "pairs")]
    pub claimed: BTreeMap<Pair, f64>,
    /// Claims that were reported with a trend in both metrics.
    #[serde(default, with = "pairs")]
    pub trending: BTreeMap<Pair, f64>,
}

/// JSON doesn't allow pairs of texts as keys.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::Pair;

    pub fn serialize<S: Serializer>(map: &BTreeMap<Pair, f64>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<BTreeMap<Pair, f64>, D::Error> {
        Ok(Vec::<(Pair, f64)>::deserialize(from)?.into_iter().collect())
    }
}

/// A change of claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub pair: Pair,
    pub found: Correlation,
    pub holds: bool,
    /// Both metrics rise or fall.
    pub trends: bool,
}

fn subject(name: &str) -> &str {
    name.split_once(SEPARATOR)
        .map_or(name, |(_, rest)| rest.rsplit_once(SEPARATOR).map_or(rest, |(subject, _)| subject))
}

/// Correlations of all pairs that share enough buckets, with their false-discovery rates.
pub fn correlations(metrics: &Metrics) -> BTreeMap<Pair, Correlation> {
    let means: Vec<(&str, BTreeMap<i64, f64>)> =
        metrics.iter().map(|(name, metric)| (name, Metric::means(metric))).collect();
    let mut found = Vec::new();
    for (at, (a, left)) in means.iter().enumerate() {
        for (b, right) in &means[at + 1..] {
            if subject(a) == subject(b) {
                continue;
            }
            let shared = left.iter().filter_map(|(bucket, x)| right.get(bucket).map(|y| (*x, *y)));
            let (x, y): (Vec<f64>, Vec<f64>) = shared.unzip();
            if x.len() < LEAST_SHARED {
                continue;
            }
            let Some(rho) = rank_correlation(&x, &y) else { continue };
            let pair = ((*a).to_owned(), (*b).to_owned());
            found.push((pair, Correlation { rho, p: correlation_p(rho, x.len()), q: 1.0, shared: x.len() }));
        }
    }
    let p: Vec<f64> = found.iter().map(|(_, correlation)| correlation.p).collect();
    let rates = false_discovery_rates(&p, p.len());
    found
        .into_iter()
        .zip(rates)
        .map(|((pair, correlation), q)| (pair, Correlation { q: q.min(1.0), ..correlation }))
        .collect()
}

impl Claims {
    /// The claims after another bucket, and which of them are new, changed or gone. `trends` says whether both
    /// metrics of a pair rise or fall; that takes longer to confirm than the correlation.
    pub fn renewed(&self, found: &BTreeMap<Pair, Correlation>, trends: impl Fn(&Pair) -> bool) -> (Self, Vec<Change>) {
        let (mut next, mut changes) = (Self::default(), Vec::new());
        for (pair, sign) in &self.claimed {
            match found.get(pair) {
                Some(now) if now.rho.abs() < LOST_RHO || now.rho.signum() != *sign => {
                    changes.push(Change { pair: pair.clone(), found: *now, holds: false, trends: false });
                }
                // Without news the claim stays.
                now => {
                    next.claimed.insert(pair.clone(), *sign);
                    if let Some(now) = now.filter(|_| trends(pair) != self.trending.contains_key(pair)) {
                        changes.push(Change { pair: pair.clone(), found: *now, holds: true, trends: trends(pair) });
                    }
                }
            }
        }
        let significant = found.iter().filter(|(pair, now)| {
            now.q <= FALSE_DISCOVERY_RATE && now.rho.abs() >= LEAST_RHO && !self.claimed.contains_key(*pair)
        });
        let mut significant: Vec<_> = significant.collect();
        significant.sort_by(|a, b| a.1.p.total_cmp(&b.1.p).then(a.0.cmp(b.0)));
        significant.truncate(MOST_CLAIMS.saturating_sub(next.claimed.len()));
        for (pair, now) in significant {
            if self.candidates.get(pair) == Some(&now.rho.signum()) {
                next.claimed.insert(pair.clone(), now.rho.signum());
                changes.push(Change { pair: pair.clone(), found: *now, holds: true, trends: trends(pair) });
            } else {
                next.candidates.insert(pair.clone(), now.rho.signum());
            }
        }
        let said = |pair: &Pair| changes.iter().find(|change| change.pair == *pair).map(|change| change.trends);
        let trending = next.claimed.iter().filter(|(pair, _)| said(pair).unwrap_or(self.trending.contains_key(*pair)));
        next.trending = trending.map(|(pair, sign)| (pair.clone(), *sign)).collect();
        (next, changes)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use maxim_bus::Trust;

    use super::super::model::Measured;
    use super::*;

    fn metrics(series: &[(&str, &[f64])]) -> Metrics {
        let mut metrics = Metrics::default();
        for (name, values) in series {
            for (bucket, value) in values.iter().enumerate() {
                let at = Timestamp::UNIX_EPOCH;
                metrics.measure(&Measured {
                    metric: (*name).into(),
                    value: *value,
                    at,
                    bucket: bucket as i64,
                    episode: None,
                    trust: Trust::Own,
                });
            }
        }
        metrics
    }

    /// Splitmix64 (Steele et al. 2014).
    fn noise(seed: u64, count: usize) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..count).map(|_| next()).collect()
    }

    fn pair() -> Pair {
        ("pain:rate".into(), "tool:bash:latency".into())
    }

    #[test]
    fn what_goes_together_twice_in_a_row_is_claimed_and_given_up_when_it_does_not() {
        let base = noise(1, 12);
        let worse: Vec<f64> = base.iter().map(|value| 1.0 / (value + 0.1)).collect();
        let found = correlations(&metrics(&[("pain:rate", &base), ("tool:bash:latency", &worse)]));
        assert_eq!(found[&pair()].rho, -1.0);
        let (once, changes) = Claims::default().renewed(&found, |_| false);
        assert!(changes.is_empty() && once.candidates.len() == 1);
        let (twice, changes) = once.renewed(&found, |_| false);
        assert!(changes.len() == 1 && changes[0].holds && !changes[0].trends, "{changes:?}");
        assert!(twice.renewed(&found, |_| false).1.is_empty(), "said once");
        let (both, changes) = twice.renewed(&found, |_| true);
        assert!(changes.len() == 1 && changes[0].holds && changes[0].trends, "known later: {changes:?}");
        assert!(both.renewed(&found, |_| true).1.is_empty(), "said once");
        let (again, changes) = both.renewed(&found, |_| false);
        assert!(changes.len() == 1 && changes[0].holds && !changes[0].trends && again == twice, "{changes:?}");
        let gone = BTreeMap::from([(pair(), Correlation { rho: 0.1, p: 0.7, q: 0.9, shared: 12 })]);
        let (given_up, changes) = both.renewed(&gone, |_| true);
        assert!(!changes[0].holds && given_up == Claims::default());
        let json = serde_json::to_string(&both).expect("JSON");
        assert_eq!(serde_json::from_str::<Claims>(&json).expect("it comes back"), both);
    }

    #[test]
    fn two_metrics_of_one_subject_and_few_stretches_say_nothing() {
        let rising: Vec<f64> = (0..12).map(f64::from).collect();
        assert!(correlations(&metrics(&[("tool:bash:latency", &rising), ("tool:bash:success", &rising)])).is_empty());
        assert!(correlations(&metrics(&[("a", &rising[..7]), ("b", &rising[..7])])).is_empty());
        assert_eq!((subject("tool:bash:success"), subject("pain:rate"), subject("x")), ("bash", "rate", "x"));
    }

    #[test]
    fn among_many_metrics_of_noise_claims_are_rare() {
        let mut claims = 0;
        for round in 0..20 {
            let names: Vec<String> = (0..20).map(|number| format!("m{number:02}")).collect();
            let series: Vec<Vec<f64>> = (0..20).map(|number| noise(round * 100 + number, 24)).collect();
            let given: Vec<(&str, &[f64])> =
                names.iter().map(String::as_str).zip(series.iter().map(Vec::as_slice)).collect();
            let found = correlations(&metrics(&given));
            assert_eq!(found.len(), 190);
            let (once, _) = Claims::default().renewed(&found, |_| false);
            claims += once.renewed(&found, |_| false).1.len();
        }
        println!("{claims} claims in 20 rounds of 190 pairs of noise");
        assert!(claims <= 4, "{claims} claims among 3800 pairs of noise");
    }
}
