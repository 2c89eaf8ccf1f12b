//! How wide the model's window is, by what its server has told.
//!
//! Law: prompts are counted by an estimate or by the model's own tokenizer; each reply brings the server's own count, and the ratio of the two scales the
//! next prompt: upwards at once, downwards by a tenth a reply. A server that refuses a prompt as too long tells its window,
//! or is believed to count a quarter more than was thought. What it told of its window holds for a day: it may be started
//! with another one.

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::thought::Overflow;
use serde::{Deserialize, Serialize};

use maxim_language::TokenCounter;

/// Ratios of the server's count to the estimate that are believed.
const RATIO: (f64, f64) = (0.5, 4.0);
/// A prompt of fewer tokens is mostly the frame that the server puts around it.
const ENOUGH: u32 = 200;
/// How much a lower ratio is believed at once.
const EASING: f64 = 0.1;
/// What a refusal without figures is taken for.
const MORE: f64 = 1.25;
const HOLDS: SignedDuration = SignedDuration::from_hours(24);

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// The server's count of a prompt over the estimate of it.
    ratio: f64,
    /// Tokens of prompt and reply, and when it was told.
    told: Option<(u32, Timestamp)>,
}

impl Default for Window {
    fn default() -> Self {
        Self { ratio: 1.0, told: None }
    }
}

impl Window {
    /// A server counts no fewer tokens than the model's own tokenizer does: its template comes on top.
    pub fn not_below(self, counter: &TokenCounter) -> Self {
        if counter.is_exact() { Self { ratio: self.ratio.max(1.0), ..self } } else { self }
    }

    /// After a reply to a prompt of `estimate` tokens that the server counted as `counted`.
    pub fn counted(self, estimate: u32, counted: u32) -> Self {
        if estimate < ENOUGH || counted == 0 {
            return self;
        }
        let found = f64::from(counted) / f64::from(estimate);
        let ratio = if found > self.ratio { found } else { self.ratio + EASING * (found - self.ratio) };
        Self { ratio: ratio.clamp(RATIO.0, RATIO.1), ..self }
    }

    /// After a refusal of a prompt of `estimate` tokens as too long.
    pub fn refused(self, estimate: u32, overflow: Overflow, at: Timestamp) -> Self {
        let told = overflow.window.map(|window| (window, at)).or(self.told);
        let ratio = match overflow.prompt_tokens {
            Some(counted) if estimate > 0 => self.ratio.max(f64::from(counted) / f64::from(estimate)),
            _ if overflow.window.is_some() => self.ratio,
            _ => self.ratio * MORE,
        };
        Self { ratio: ratio.clamp(RATIO.0, RATIO.1), told }
    }

    /// The window in tokens, of which `configured` is the most.
    pub fn tokens(self, configured: u64, now: Timestamp) -> u64 {
        let told = self.told.filter(|(_, at)| now < at.later(HOLDS));
        told.map_or(configured, |(window, _)| configured.min(u64::from(window)))
    }

    /// Real tokens as the estimate counts them.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tokens of a window, rounded down")]
    pub fn estimated(self, tokens: u64) -> usize {
        (tokens as f64 / self.ratio) as usize
    }

    /// Estimated tokens as the server will count them.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tokens of a window, rounded up")]
    pub fn real(self, estimate: usize) -> u64 {
        (estimate as f64 * self.ratio).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maxim_region::rig::monday_morning;

    #[test]
    fn a_server_that_counts_more_narrows_the_window_at_once_and_one_that_counts_less_widens_it_slowly() {
        let window = Window::default().counted(1_000, 1_600);
        assert_eq!((window.estimated(8_000), window.real(5_000)), (5_000, 8_000));
        let eased = window.counted(1_000, 600);
        assert_eq!(eased.real(1_000), 1_500);
        assert_eq!(Window::default().counted(50, 200), Window::default(), "a short prompt says little");
        assert_eq!(Window::default().counted(1_000, 0), Window::default(), "a server that doesn't count");
    }

    #[test]
    fn what_a_refusal_tells_holds_for_a_day_and_one_without_figures_costs_a_quarter() {
        let now = monday_morning();
        let told = Overflow { prompt_tokens: Some(3_000), window: Some(2_048) };
        let window = Window::default().refused(2_000, told, now);
        assert_eq!((window.tokens(8_192, now), window.estimated(1_500)), (2_048, 1_000));
        assert_eq!(window.tokens(1_024, now), 1_024, "never more than was configured");
        assert_eq!(window.tokens(8_192, now + HOLDS), 8_192);
        let silent = Window::default().refused(2_000, Overflow::default(), now);
        assert_eq!(silent.estimated(1_000), 800);
    }
}
