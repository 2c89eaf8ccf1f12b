//! Words for answers, from evidence alone.

mod deeds;
mod evidence;
mod inward;
mod knowledge;
mod memory;
mod outcome;
mod past;
mod places;
mod verdict;

pub use evidence::{Evidence, Origin, STRANGER};
pub use knowledge::{concepts, known, prompt_line};
pub use memory::{Expectation, Reply, UNKNOWN, bears_on, best, covers_all, expected, is_alike, recalled, split};
pub use outcome::{of_result, outcome};
pub use past::{
    DEEDS, Often, beside, events, first_done, grounds, happened, how_often, how_often_told, newest, tellings, why,
};
pub use places::usually;
pub use verdict::{
    Question, Refusal, approval_needed, denied, doubted, held, refused, remembered, small_talk, stopped, unknown, which,
};

/// Longest piece of a text that a reply shows, in characters. The reply says how much was cut.
pub const SHOWN_CHARS: usize = 1_500;

/// The text up to a bound in characters, cut at the end of a line if one is near. It says how much was cut.
pub(crate) fn bounded(text: &str, most: usize) -> String {
    let total = text.chars().count();
    if total <= most {
        return text.to_owned();
    }
    let cut = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    let line = text[..cut].rfind('\n').filter(|at| at * 2 > cut).unwrap_or(cut);
    let shown = &text[..line];
    format!("{shown}\n… ({} more characters)", total - shown.chars().count())
}
