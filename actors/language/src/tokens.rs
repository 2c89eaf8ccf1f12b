//! How many tokens a text costs, where the model's own tokenizer isn't at hand.

/// Letters of a common word that make one token; longer words are cut.
const WORD: usize = 6;
/// Digits that make one token.
const DIGITS: usize = 3;

/// An estimate that errs on the dear side: a token for each six letters, three digits or mark, one for each character of
/// other scripts; blanks go with the word behind them.
pub fn estimated_tokens(text: &str) -> usize {
    #[derive(PartialEq)]
    enum Kind {
        Letter,
        Digit,
        Blank,
        Other,
    }
    let (mut tokens, mut run) = (0, 0);
    let mut last = Kind::Other;
    for c in text.chars() {
        let kind = match c {
            c if c.is_ascii_alphabetic() => Kind::Letter,
            c if c.is_ascii_digit() => Kind::Digit,
            ' ' => Kind::Blank,
            _ => Kind::Other,
        };
        run = if kind == last { run + 1 } else { 1 };
        tokens += match kind {
            Kind::Letter => usize::from(run % WORD == 1),
            Kind::Digit => usize::from(run % DIGITS == 1),
            // One blank goes with the word behind it; runs of them cost by fours.
            Kind::Blank => usize::from(run % 4 == 2),
            // Letters of Latin, Greek and Cyrillic often come in pairs; others alone, or in several pieces.
            Kind::Other => {
                if c.len_utf8() >= 4 {
                    2
                } else {
                    1
                }
            }
        };
        last = kind;
    }
    tokens
}

/// What a million tokens of prompts and of replies cost, in whatever currency the limits are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    pub prompt: f64,
    pub reply: f64,
}

impl Price {
    pub fn of(self, prompt_tokens: u64, reply_tokens: u64) -> f64 {
        (self.prompt * prompt_tokens as f64 + self.reply * reply_tokens as f64) / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_not_below_what_tokenizers_need() {
        // Counted with the vocabulary o200k_base.
        for (text, known) in [
            ("Hello, world!", 4),
            ("The quick brown fox jumps over the lazy dog.", 10),
            ("{\"tool_name\": \"respond\", \"params\": {\"message\": \"hi\"}}", 17),
        ] {
            let estimate = estimated_tokens(text);
            assert!((known..=known * 2).contains(&estimate), "{text}: {estimate}");
        }
        assert_eq!(estimated_tokens(""), 0);
        assert_eq!(estimated_tokens("東京"), 2);
    }
}
