//! Coupled clocks (Kuramoto 1975) that learn which rhythms belong together.
//!
//! `dθi/dt = ωi + (K/N) Σj W[i][j] sin(θj − θi)`, over the real elapsed time. Each observation sets the phases to the
//! real ones and strengthens `W[i][j]` by η cos(θi − θj) (Hebb), with decay.

use std::f64::consts::TAU;

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use super::keys::ClockKeys;

/// Periods in hours: day, week, month, year.
pub const PERIODS_HOURS: [f64; 4] = [24.0, 168.0, 720.0, 8760.0];
/// How the clocks influence each other, and how they learn it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HebbLaw {
    /// K in radians per hour. The default is far below the value that locks all four (0.185), so coupling can't drag a
    /// clock off its period. Eight weeks of silence after busy days leave an anomaly below 0.04 (0.34 with K = 0.01).
    pub coupling: f64,
    /// η, change of W by one observation of full agreement, 0 to 1.
    pub rate: f64,
    /// Share of W that an observation leaves, 0 to 1.
    pub keep: f64,
    /// Largest |W|.
    pub most: f64,
}

impl From<&ClockKeys> for HebbLaw {
    fn from(keys: &ClockKeys) -> Self {
        Self { coupling: keys.coupling, rate: keys.hebb_rate, keep: keys.hebb_keep, most: keys.hebb_max }
    }
}

impl Default for HebbLaw {
    fn default() -> Self {
        Self::from(&ClockKeys::default())
    }
}

impl HebbLaw {
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// Longest step of the integration, in hours; then the maximum number of steps per call.
const STEP_HOURS: f64 = 0.5;
const MOST_STEPS: f64 = 20_000.0;

/// Oscillators and the weights between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Oscillators {
    /// ω, radians per hour.
    rates: Vec<f64>,
    /// θ, radians in [0, 2π).
    phases: Vec<f64>,
    /// W, row by row; the diagonal is 0.
    weights: Vec<f64>,
    coupling: f64,
}

impl Default for Oscillators {
    /// Day, week, month and year, uncoupled until something is learned.
    fn default() -> Self {
        Self::new(PERIODS_HOURS.iter().map(|period| TAU / period).collect(), HebbLaw::default().coupling)
    }
}

impl Oscillators {
    /// `rates` and `coupling` in radians per hour. All phases and weights are 0.
    pub fn new(rates: Vec<f64>, coupling: f64) -> Self {
        let n = rates.len();
        Self { rates, phases: vec![0.0; n], weights: vec![0.0; n * n], coupling }
    }

    /// How many there are; `None` if rates, phases and weights don't match.
    pub fn count(&self) -> Option<usize> {
        let n = self.rates.len();
        (self.phases.len() == n && self.weights.len() == n * n).then_some(n)
    }

    pub fn phases(&self) -> &[f64] {
        &self.phases
    }

    /// Sets all phases.
    pub fn set_phases(&mut self, phases: &[f64]) {
        for (mine, phase) in self.phases.iter_mut().zip(phases) {
            *mine = phase.rem_euclid(TAU);
        }
    }

    /// Lets time pass, in hours. Fourth order (Runge–Kutta) in steps of at most half an hour, so splitting the time
    /// into several calls changes the result by less than 1e-6 radians a day.
    pub fn advance(&mut self, hours: f64) {
        if !(hours > 0.0 && hours.is_finite()) {
            return;
        }
        let free = self.coupling == 0.0 || self.weights.iter().all(|w| *w == 0.0);
        let steps = if free { 1.0 } else { (hours / STEP_HOURS).ceil().clamp(1.0, MOST_STEPS) };
        let step = hours / steps;
        let mut scratch = Scratch::new(self.rates.len());
        for _ in 0..steps as u64 {
            self.step(step, &mut scratch, Self::field);
        }
        self.phases.iter_mut().for_each(|phase| *phase = phase.rem_euclid(TAU));
    }

    /// One step of h hours with the field that `field` leaves in the scratch.
    fn step(&mut self, h: f64, scratch: &mut Scratch, field: impl Fn(&Self, &mut Scratch)) {
        let weights_of_slopes = [1.0, 2.0, 2.0, 1.0];
        let reach = [0.0, h / 2.0, h / 2.0, h];
        scratch.sum.fill(0.0);
        scratch.slope.fill(0.0);
        for (share, ahead) in weights_of_slopes.into_iter().zip(reach) {
            for (i, phase) in self.phases.iter().enumerate() {
                let (sin, cos) = (phase + ahead * scratch.slope[i]).sin_cos();
                scratch.sin[i] = sin;
                scratch.cos[i] = cos;
            }
            field(self, scratch);
            self.slopes(scratch);
            scratch.sum.iter_mut().zip(&scratch.slope).for_each(|(sum, slope)| *sum += share * slope);
        }
        self.phases.iter_mut().zip(&scratch.sum).for_each(|(phase, sum)| *phase += h / 6.0 * sum);
    }

    /// Σj W[i][j] sin θj and Σj W[i][j] cos θj of each i.
    fn field(&self, scratch: &mut Scratch) {
        let n = self.rates.len();
        for (i, field) in scratch.field.iter_mut().enumerate() {
            let row = &self.weights[i * n..(i + 1) * n];
            let sum = |of: &[f64]| row.iter().zip(of).map(|(w, x)| w * x).sum::<f64>();
            *field = (sum(&scratch.sin), sum(&scratch.cos));
        }
    }

    /// sin(θj − θi) = sin θj cos θi − cos θj sin θi: two sums per row instead of a sine per pair.
    fn slopes(&self, scratch: &mut Scratch) {
        let pull = self.coupling / self.rates.len() as f64;
        for (i, (sin, cos)) in scratch.field.iter().enumerate() {
            let turn = sin * scratch.cos[i] - cos * scratch.sin[i];
            scratch.slope[i] = self.rates[i] + pull * turn;
        }
    }

    /// r = |mean e^{iθ}|, 0 (spread out) to 1 (in phase).
    pub fn coherence(&self) -> f64 {
        let n = self.phases.len().max(1) as f64;
        let (sin, cos) = self.phases.iter().fold((0.0, 0.0), |(s, c), phase| (s + phase.sin(), c + phase.cos()));
        (sin / n).hypot(cos / n)
    }

    /// Eigenvalues of W, the largest first. W is symmetric: two clocks learn the same of each other.
    pub fn eigenvalues(&self) -> Vec<f64> {
        let n = self.rates.len();
        let mut values = DMatrix::from_row_slice(n, n, &self.weights).symmetric_eigenvalues().as_slice().to_vec();
        values.sort_by(|a, b| b.total_cmp(a));
        values
    }

    /// The distance between these phases and the present ones: mean circular distance, 0 to 1 (opposite).
    pub fn anomaly(&self, observed: &[f64]) -> f64 {
        let apart = |(a, b): (&f64, &f64)| (a - b + TAU / 2.0).rem_euclid(TAU) - TAU / 2.0;
        let compared = self.phases.len().min(observed.len()).max(1) as f64;
        self.phases.iter().zip(observed).map(apart).map(f64::abs).sum::<f64>() / compared / (TAU / 2.0)
    }

    /// Lets `hours` pass, takes the observed phases and learns.
    pub fn observe(&mut self, hours: f64, observed: &[f64], law: &HebbLaw) {
        self.coupling = law.coupling;
        self.advance(hours);
        self.set_phases(observed);
        self.learn(law);
    }

    fn learn(&mut self, law: &HebbLaw) {
        let n = self.phases.len();
        for i in 0..n {
            for j in (0..n).filter(|j| *j != i) {
                let together = (self.phases[i] - self.phases[j]).cos();
                let weight = &mut self.weights[i * n + j];
                *weight = (*weight * law.keep + law.rate * together).clamp(-law.most, law.most);
            }
        }
    }

    /// Hours until an oscillator next reaches a phase (radians), by its own rate.
    pub fn hours_until(&self, oscillator: usize, phase: f64) -> Option<f64> {
        let (rate, now) = (*self.rates.get(oscillator)?, *self.phases.get(oscillator)?);
        (rate > 0.0).then(|| (phase - now).rem_euclid(TAU) / rate)
    }
}

struct Scratch {
    sin: Vec<f64>,
    cos: Vec<f64>,
    field: Vec<(f64, f64)>,
    slope: Vec<f64>,
    sum: Vec<f64>,
}

impl Scratch {
    fn new(n: usize) -> Self {
        let zeros = || vec![0.0; n];
        Self { sin: zeros(), cos: zeros(), field: vec![(0.0, 0.0); n], slope: zeros(), sum: zeros() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_4, PI};

    impl Oscillators {
        /// With every weight 1, Kuramoto's own case.
        fn fully_coupled(rates: Vec<f64>, coupling: f64) -> Self {
            let n = rates.len();
            let weights = (0..n * n).map(|k| if k / n == k % n { 0.0 } else { 1.0 }).collect();
            Self { weights, ..Self::new(rates, coupling) }
        }

        fn rates(&self) -> &[f64] {
            &self.rates
        }

        fn weight(&self, i: usize, j: usize) -> f64 {
            self.weights.get(i * self.rates.len() + j).copied().unwrap_or(0.0)
        }
    }

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} instead of {expected}");
    }

    /// Evenly spread phases that no period hides (golden angle).
    fn spread(n: usize) -> Vec<f64> {
        (0..n).map(|i| (i as f64 * 2.399_963_229_728_653).rem_euclid(TAU)).collect()
    }

    /// The field for weights that are all 1, which is the same for every oscillator: N sums instead of N². An
    /// oscillator doesn't affect itself: sin 0 removes its own part of the field.
    fn mean_field(_: &Oscillators, scratch: &mut Scratch) {
        let sums = (scratch.sin.iter().sum(), scratch.cos.iter().sum());
        scratch.field.fill(sums);
    }

    /// Mean r of these oscillators, all coupled, from t = 100 to 200.
    fn mean_r(rates: &[f64], coupling: f64, start: &[f64]) -> f64 {
        let mut network = Oscillators::new(rates.to_vec(), coupling);
        network.set_phases(start);
        let mut scratch = Scratch::new(rates.len());
        let (mut sum, mut count) = (0.0, 0.0);
        for step in 1..=1000 {
            network.step(0.2, &mut scratch, mean_field);
            if step > 500 && step % 4 == 0 {
                sum += network.coherence();
                count += 1.0;
            }
        }
        sum / count
    }

    const N: usize = 2000;

    /// N frequencies at these quantiles of a distribution.
    fn quantiles(n: usize, at: impl Fn(f64) -> f64) -> Vec<f64> {
        (0..n).map(|i| at((i as f64 + 0.5) / n as f64)).collect()
    }

    fn lorentzian(n: usize, gamma: f64) -> Vec<f64> {
        quantiles(n, |p| gamma * (PI * (p - 0.5)).tan())
    }

    #[test]
    fn lorentzian_oscillators_reach_the_known_coherence() {
        // r = √(1 − Kc/K) with Kc = 2γ = 1.
        let rates = lorentzian(N, 0.5);
        assert!(mean_r(&rates, 0.5, &spread(N)) < 0.1, "below Kc there is no synchrony");
        let cases =
            [(1.25, 0.44721359549995787), (1.5, 0.5773502691896258), (2.0, FRAC_1_SQRT_2), (4.0, 0.8660254037844386)];
        cases.into_iter().for_each(|(coupling, r)| near(mean_r(&rates, coupling, &[0.0; N]), r, 0.05));
    }

    #[test]
    fn wider_frequencies_need_twice_the_coupling() {
        let rates = lorentzian(N, 1.0);
        assert!(mean_r(&rates, 1.0, &spread(N)) < 0.1);
        let cases =
            [(2.5, 0.44721359549995787), (3.0, 0.5773502691896258), (4.0, FRAC_1_SQRT_2), (8.0, 0.8660254037844386)];
        cases.into_iter().for_each(|(coupling, r)| near(mean_r(&rates, coupling, &[0.0; N]), r, 0.05));
    }

    #[test]
    fn normal_frequencies_fall_in_step_from_their_own_critical_coupling_on() {
        // Kc = 2/(π g(0)) = 1.5958; above, r solves 1 = K ∫ cos²θ g(K r sin θ) dθ.
        let rates = quantiles(N, |p| std::f64::consts::SQRT_2 * statrs::function::erf::erf_inv(2.0 * p - 1.0));
        assert!(mean_r(&rates, 1.4, &spread(N)) < 0.15, "still incoherent below");
        let cases = [(1.8, 0.5628670150612194), (2.0, 0.7151739566831895), (3.0, 0.9251816861387034)];
        cases.into_iter().for_each(|(coupling, r)| near(mean_r(&rates, coupling, &[0.0; N]), r, 0.05));
    }

    #[test]
    fn uniform_frequencies_jump_to_a_quarter_of_pi() {
        let rates = quantiles(N, |p| 2.0 * p - 1.0);
        assert!(mean_r(&rates, 1.2, &spread(N)) < 0.3, "still incoherent just below");
        let above = mean_r(&rates, 1.2732395447351628 * 1.01, &[0.0; N]);
        assert!(above > FRAC_PI_4 - 0.05, "{above}");
    }

    #[test]
    fn the_network_moves_as_the_mean_field_does() {
        let rates = lorentzian(100, 0.5);
        let mut network = Oscillators::fully_coupled(rates.clone(), 2.0);
        let mut field = Oscillators::new(rates, 2.0);
        network.set_phases(&spread(100));
        field.set_phases(&spread(100));
        let mut scratch = Scratch::new(100);
        for _ in 0..200 {
            network.advance(0.2);
            field.step(0.2, &mut scratch, mean_field);
        }
        let apart = network.phases.iter().zip(&field.phases).map(|(a, b)| (1.0 - (a - b).cos()).abs());
        assert!(apart.fold(0.0, f64::max) < 1e-9, "{:?} {:?}", network.phases, field.phases);
        assert!(network.coherence() > 0.5, "they have met: {}", network.coherence());
    }

    #[test]
    fn random_phases_have_the_coherence_of_chance() {
        let mut state = 88_172_645_463_325_252u64;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64 * TAU
        };
        let mut network = Oscillators::new(vec![1.0; 1000], 0.0);
        let mean = (0..200)
            .map(|_| {
                let phases: Vec<f64> = (0..1000).map(|_| uniform()).collect();
                network.set_phases(&phases);
                network.coherence() / 200.0
            })
            .sum::<f64>();
        near(mean, 0.02802495608198964, 0.01);
    }

    #[test]
    fn two_oscillators_lock_when_their_difference_is_below_the_coupling() {
        let mut pair = Oscillators::fully_coupled(vec![1.0, 1.4], 1.0);
        pair.advance(200.0);
        let lag = (pair.phases()[1] - pair.phases()[0]).rem_euclid(TAU);
        near(lag, 0.41151684606748806, 1e-3);
        near(pair.coherence(), 0.9789063129307033, 1e-3);
        let before = pair.phases()[0];
        pair.advance(0.1);
        near((pair.phases()[0] - before).rem_euclid(TAU) / 0.1, 1.2, 1e-3);
    }

    #[test]
    fn two_oscillators_too_far_apart_beat_at_the_known_frequency() {
        let mut pair = Oscillators::fully_coupled(vec![1.0, 2.5], 1.0);
        let (mut turned, mut last) = (0.0, 0.0);
        for _ in 0..20_000 {
            pair.advance(0.02);
            let lag = pair.phases()[1] - pair.phases()[0];
            turned += (lag - last + PI).rem_euclid(TAU) - PI;
            last = lag;
        }
        near(turned / 400.0, 1.118033988749895, 0.02);
        near(TAU / (turned / 400.0), 5.619851784832581, 0.1);
    }

    #[test]
    fn identical_oscillators_within_half_a_circle_meet() {
        let mut four = Oscillators::fully_coupled(vec![0.3; 4], 1.0);
        four.set_phases(&[0.0, 0.9, 1.7, 2.6]);
        four.advance(10.0);
        // A diagonal of zeros changes nothing, because sin 0 = 0.
        let gap = |o: &Oscillators| {
            let low = o.phases().iter().copied().fold(f64::MAX, f64::min);
            o.phases().iter().copied().fold(0.0, f64::max) - low
        };
        let early = gap(&four);
        four.advance(2.0);
        near(early.ln() - gap(&four).ln(), 2.0, 1e-2);
        near(four.coherence(), 1.0, 1e-3);
    }

    #[test]
    fn the_natural_rates_are_those_of_day_week_month_and_year() {
        let expected = [0.2617993877991494, 0.037399912542735635, 0.008726646259971648, 0.0007172585967099984];
        let clocks = Oscillators::default();
        clocks.rates().iter().zip(expected).for_each(|(rate, expected)| near(*rate, expected, 1e-9));
        let mean = expected.iter().sum::<f64>() / 4.0;
        near(expected.iter().map(|w| (w - mean).abs()).fold(0.0, f64::max), 0.1846, 1e-3);
    }

    #[test]
    fn coupling_does_not_drag_the_daily_clock() {
        let mut clocks = Oscillators::default();
        (0..500).for_each(|_| clocks.observe(1.0, &[0.0; 4], &HebbLaw::default()));
        assert!(clocks.weight(0, 1) > 0.9, "rhythms that always met are coupled");
        clocks.advance(24.0 * 7.0);
        let phase = clocks.phases()[0];
        assert!(phase.min(TAU - phase) < 0.26, "within an hour of the true time after a week: {phase}");
    }

    #[test]
    fn couplings_grow_by_what_meets_decay_without_it_and_stay_within_one() {
        let mut clocks = Oscillators::default();
        clocks.observe(1.0, &[0.0, 0.0, PI, PI], &HebbLaw::default());
        near(clocks.weight(0, 1), 0.05, 1e-12);
        near(clocks.weight(0, 2), -0.05, 1e-12);
        clocks.observe(1.0, &[0.0, 0.0, PI, PI], &HebbLaw::default());
        near(clocks.weight(0, 1), 0.05 * 0.98 + 0.05, 1e-12);
        (0..500).for_each(|_| clocks.observe(1.0, &[0.0, 0.0, PI, PI], &HebbLaw::default()));
        assert_eq!((clocks.weight(0, 1), clocks.weight(0, 2)), (1.0, -1.0));
        // A quarter of a turn apart, they neither support nor oppose each other.
        (0..10).for_each(|_| clocks.observe(1.0, &[0.0, PI / 2.0, PI, PI], &HebbLaw::default()));
        near(clocks.weight(0, 1), 0.98f64.powi(10), 1e-9);
    }

    #[test]
    fn the_result_does_not_depend_on_how_often_time_is_passed() {
        let run = |cuts: &[f64]| {
            let mut clocks = Oscillators::fully_coupled(PERIODS_HOURS.iter().map(|p| TAU / p).collect(), 0.1);
            clocks.set_phases(&[0.1, 2.0, 4.0, 5.0]);
            cuts.iter().for_each(|hours| clocks.advance(*hours));
            clocks.phases().to_vec()
        };
        let once = run(&[240.0]);
        let often = run(&[0.7; 342].into_iter().chain([0.6]).collect::<Vec<_>>());
        once.iter().zip(often).for_each(|(a, b)| near(*a, b, 1e-5));
    }

    #[test]
    fn an_expected_time_is_no_anomaly_and_an_opposite_one_is() {
        let mut clocks = Oscillators::default();
        clocks.observe(0.0, &[0.0; 4], &HebbLaw::default());
        let phases: Vec<f64> = clocks.rates().iter().map(|w| w * 6.0).collect();
        clocks.advance(6.0);
        assert!(clocks.anomaly(&phases) < 0.01);
        let opposite: Vec<f64> = clocks.phases().iter().map(|p| p + PI).collect();
        assert!(clocks.anomaly(&opposite) > 0.99);
        near(Oscillators::default().hours_until(0, PI).expect("a day clock"), 12.0, 1e-9);
    }

    #[test]
    fn clocks_that_always_meet_have_the_eigenvalues_of_full_coupling() {
        // The complete graph on four: 3 once and −1 three times.
        let full = Oscillators::fully_coupled(vec![1.0; 4], 1.0).eigenvalues();
        full.iter().zip([3.0, -1.0, -1.0, -1.0]).for_each(|(found, expected)| near(*found, expected, 1e-9));
    }
}
