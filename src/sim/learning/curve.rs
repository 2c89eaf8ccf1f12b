//! Figures of many lives: means with their intervals, and the worth of each part.

use serde_json::{Value, json};

use super::arms::ARMS;
use super::world::{IN_SIGHT, Lived, THINGS};
use super::{Course, Left, Life, Lives, OPPORTUNITIES};

/// The brain must be better than chance after this many episodes.
const LEARNT_AFTER: usize = 5;
/// Half-width of the 95 % interval of a normal distribution, in standard errors.
const Z: f64 = 1.96;

/// A mean over lives with its 95 % interval, by the normal approximation.
fn interval(of: &[f64]) -> Value {
    let n = of.len() as f64;
    let mean = of.iter().sum::<f64>() / n;
    let variance = of.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let half = Z * (variance / n).sqrt();
    json!({ "mean": mean, "low": mean - half, "high": mean + half })
}

/// Worth of an opportunity.
fn worth(lived: &Lived) -> f64 {
    lived.worth / OPPORTUNITIES as f64
}

fn mean(of: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = of.len() as f64;
    of.sum::<f64>() / n
}

fn by_episode(episodes: usize, lives: usize, figure: impl Fn(usize, usize) -> f64) -> Vec<Value> {
    let of = |episode| interval(&(0..lives).map(|life| figure(life, episode)).collect::<Vec<_>>());
    (0..episodes).map(of).collect()
}

/// The share of lives that did better than chance in the first episode after the learning episodes.
fn better_than_chance(lives: &[Life], random: &[Vec<f64>]) -> Option<f64> {
    let better =
        |(life, random): (&Life, &Vec<f64>)| Some(worth(life.episodes.get(LEARNT_AFTER)?) > *random.get(LEARNT_AFTER)?);
    let better = lives.iter().zip(random).map(better).collect::<Option<Vec<bool>>>()?;
    Some(mean(better.iter().map(|better| f64::from(u8::from(*better)))))
}

/// The difference between the first and the second in this figure, seed by seed, over all episodes.
fn difference(first: &[Life], second: &[Life], figure: fn(&Lived) -> f64) -> Value {
    let of = |life: &Life| mean(life.episodes.iter().map(figure));
    interval(&first.iter().zip(second).map(|(first, second)| of(first) - of(second)).collect::<Vec<_>>())
}

/// The mean of a count at the end of the lives.
fn left(lives: &[Life], count: fn(&Left) -> u64) -> f64 {
    mean(lives.iter().map(|life| count(&life.left) as f64))
}

pub fn document(course: Course, lives: &Lives) -> Value {
    let whole = &lives.arms[0];
    let hurts = |lived: &Lived| lived.hurts as f64;
    let by_episode =
        |figure: &dyn Fn(usize, usize) -> f64| by_episode(course.episodes.get(), course.lives.get(), figure);
    let brains: Vec<Value> = ARMS
        .iter()
        .zip(&lives.arms)
        .enumerate()
        .map(|(at, (arm, lived))| {
            // Nothing is switched off in the whole brain.
            let part = |of: Value| if at == 0 { Value::Null } else { of };
            json!({
                "brain": arm.name,
                "what": arm.what,
                "worth": by_episode(&|life, at| worth(&lived[life].episodes[at])),
                "hurts": by_episode(&|life, at| hurts(&lived[life].episodes[at])),
                "better_than_chance": better_than_chance(lived, &lives.random),
                "part_is_worth": part(difference(whole, lived, worth)),
                "part_spares_hurts": part(difference(lived, whole, hurts)),
                "left": {
                    "episodes": left(lived, |left| left.episodes),
                    "lessons": left(lived, |left| left.lessons),
                    "sleeps": left(lived, |left| left.sleeps),
                },
            })
        })
        .collect();
    let things: Vec<Value> = THINGS
        .iter()
        .map(|thing| json!({"thing": thing.name, "act": thing.act, "worth": thing.worth, "turned": thing.turned}))
        .collect();
    json!({
        "world": { "things": things, "in_sight": IN_SIGHT, "turns_after": course.turns_after },
        "lives": course.lives,
        "first_seed": course.first_seed,
        "episodes": course.episodes,
        "opportunities": OPPORTUNITIES,
        "learnt_after": LEARNT_AFTER,
        "random": by_episode(&|life, at| lives.random[life][at]),
        "best": by_episode(&|life, at| lives.best[life][at]),
        "brains": brains,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_about_the_mean_and_as_wide_as_the_values_scatter() {
        let [same, apart] = [interval(&[0.5; 4]), interval(&[0.0, 1.0, 0.0, 1.0])];
        assert_eq!(same, json!({"mean": 0.5, "low": 0.5, "high": 0.5}));
        let half = 1.96 * (1.0_f64 / 3.0 / 4.0).sqrt();
        assert!((apart["high"].as_f64().expect("a number") - 0.5 - half).abs() < 1e-12, "{apart}");
    }

    #[test]
    fn better_than_chance_is_asked_of_the_episode_after_those_of_learning() {
        let life = |last: f64| {
            let worths = [1.0, 1.0, 1.0, 1.0, 1.0, last];
            let episodes = worths.map(|worth| Lived { worth: worth * 8.0, ..Lived::default() });
            Life { episodes: episodes.to_vec(), ..Life::default() }
        };
        let random = vec![vec![0.1; 6]; 2];
        assert_eq!(better_than_chance(&[life(0.2), life(0.05)], &random), Some(0.5));
        let mut short = life(0.2);
        short.episodes.truncate(5);
        assert_eq!(better_than_chance(&[short], &random), None, "it wasn't lived so long");
    }
}
