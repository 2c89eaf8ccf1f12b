//! Numbers of the score: rarity, saturating frequency, decay along a sitting.

/// A hit reaches at most this many documents in each direction.
pub const MOST_STEPS: usize = 5;

/// Saturation of the frequency of a stem in one document; low, because short turns repeat little.
const K1: f32 = 0.9;
/// Length normalisation of documents; low, so that short greetings don't win.
const B: f32 = 0.2;
/// The usual values for long texts, used for a session as one document.
const SITTING_K1: f32 = 1.2;
const SITTING_B: f32 = 0.75;

/// ln(1 + (N − n + ½) / (n + ½)) for a stem in `n` of `total` documents (Robertson & Spärck Jones 1976, kept positive).
pub fn rarity(total: usize, n: usize) -> f32 {
    let (total, n) = (total as f32, n.min(total) as f32);
    (1.0 + (total - n + 0.5) / (n + 0.5)).ln()
}

/// tf (k1 + 1) / (tf + k1 (1 − b + b · length / average)).
fn saturate(count: f32, k1: f32, b: f32, relative_length: f32) -> f32 {
    count * (k1 + 1.0) / (count + k1 * (1.0 - b + b * relative_length))
}

/// Hit of a stem in a whole session.
pub fn sitting_hit(count: f32, relative_length: f32) -> f32 {
    saturate(count, SITTING_K1, SITTING_B, relative_length)
}

/// Hits of stems that occur once, by document length, so that the common case is a table lookup.
pub struct HitTable {
    once: [f32; 256],
    average: f32,
}

impl HitTable {
    pub fn new(average_length: f32) -> Self {
        let average = average_length.max(1.0);
        let mut once = [0.0; 256];
        for (length, hit) in once.iter_mut().enumerate() {
            *hit = saturate(1.0, K1, B, length as f32 / average);
        }
        Self { once, average }
    }

    #[inline]
    pub fn hit(&self, count: u16, length: u16) -> f32 {
        match self.once.get(usize::from(length)) {
            Some(hit) if count == 1 => *hit,
            _ => saturate(f32::from(count), K1, B, f32::from(length) / self.average),
        }
    }
}

/// Shares of a hit for the documents from five before to five after, and a final 0.
pub fn decay_window(decay: f32, steps: usize) -> [f32; 2 * MOST_STEPS + 2] {
    let mut window = [0.0; 2 * MOST_STEPS + 2];
    for (i, share) in window.iter_mut().enumerate() {
        let distance = i.abs_diff(MOST_STEPS);
        if distance <= steps {
            *share = decay.powi(distance as i32);
        }
    }
    window
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f32, b: f32) -> bool {
        (a - b).abs() < 1e-5
    }

    #[test]
    fn numbers_agree_with_the_formulas_by_hand() {
        assert!(near(rarity(10, 1), (1.0f32 + 9.5 / 1.5).ln()));
        assert!(near(rarity(10, 0), 22f32.ln()));
        let table = HitTable::new(10.0);
        assert!(near(table.hit(1, 10), 1.0));
        assert!(near(table.hit(2, 20), 3.8 / (2.0 + 0.9 * 1.2)));
        assert!(near(table.hit(1, 300), 1.9 / (1.0 + 0.9 * (0.8 + 6.0))));
        assert!(near(sitting_hit(3.0, 1.0), 6.6 / 4.2));
    }

    #[test]
    fn a_hit_halves_roughly_with_each_step_and_ends_after_the_fifth() {
        let window = decay_window(0.6, 5);
        assert!(near(window[5], 1.0) && near(window[4], 0.6) && near(window[10], 0.07776));
        assert_eq!(decay_window(0.6, 0).iter().filter(|s| **s > 0.0).count(), 1);
    }
}
