//! Words answers from what is known, and from nothing else.

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

/// Longest piece of a text that is shown in a reply, in characters; what is cut is said.
pub const SHOWN_CHARS: usize = 1_500;

/// The text up to a bound in characters, at a line's end where one is near, with what was cut.
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
