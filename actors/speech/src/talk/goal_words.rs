//! Talk about goals: a goal is given or given up, or the goals are asked for.

use crate::word_list::word_lists;

word_lists! {
    "goal_words.txt";
    QUESTIONS = "questions";
}

/// Which goal is to be given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenUp {
    /// The active one.
    Present,
    /// The one just spoken of. Clear only if there is one alone.
    That,
    All,
    /// The one with these words.
    Named(String),
}

/// A text that is read from its beginning, in any case.
struct Eaten<'a> {
    text: &'a str,
    lower: String,
    at: usize,
}

impl<'a> Eaten<'a> {
    /// `None`: lower case has another length, so places would differ.
    fn of(text: &'a str) -> Option<Self> {
        let lower = text.to_lowercase();
        (lower.len() == text.len()).then_some(Self { text, lower, at: 0 })
    }

    /// Reads the first of these that comes next.
    fn eat(&mut self, words: &[&'static str]) -> Option<&'static str> {
        let rest = self.lower.get(self.at..)?;
        let skipped = rest.len() - rest.trim_start_matches([' ', ',']).len();
        let word = words.iter().find(|word| rest[skipped..].starts_with(**word))?;
        self.at += skipped + word.len();
        Some(word)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default().trim()
    }
}

/// The goal in "your next goal is to tidy up", "new goal: tidy up".
pub fn given(text: &str) -> Option<&str> {
    let mut said = Eaten::of(text)?;
    let _ = said.eat(&["please"]);
    let owned = said.eat(&["your "]).is_some();
    let next = said.eat(&["next ", "new "]).is_some();
    said.eat(&["goal"])?;
    if !owned && !next {
        return None;
    }
    said.eat(&["is now to ", "is now ", "is to ", "is ", "to ", ": to ", ":"])?;
    let title = said.rest().trim_end_matches('.');
    (!title.is_empty() && !title.ends_with('?')).then_some(title)
}

/// The goal in "drop that goal", "give up your goal", "please forget the goal to tidy up", "drop all goals".
pub fn given_up(text: &str) -> Option<GivenUp> {
    let mut said = Eaten::of(text)?;
    let _ = said.eat(&["please ", "can you ", "could you ", "will you ", "would you "]);
    let _ = said.eat(&["please "]);
    said.eat(&["drop ", "give up on ", "give up ", "abandon ", "forget about ", "forget ", "cancel ", "let go of "])?;
    let which =
        said.eat(&["all of your ", "all your ", "all the ", "all ", "that ", "this ", "the ", "your ", "my "])?;
    let present = said.eat(&["current ", "present ", "active "]).is_some();
    said.eat(&["goals", "goal"])?;
    let words = match said.eat(&["to ", "of ", ":", "\"", "“", "called ", "that says "]) {
        Some(_) => said.rest(),
        None => "",
    };
    let words = words.trim_matches(['"', '“', '”', '.', '!', ' ']);
    let ends = said.rest().trim_matches(['.', '!', '?', ' ']);
    match (words.is_empty(), which) {
        (false, _) => Some(GivenUp::Named(words.to_owned())),
        (true, _) if !matches!(ends, "" | "please" | "now" | "again") => None,
        (true, which) if which.starts_with("all") => Some(GivenUp::All),
        (true, "your ") => Some(GivenUp::Present),
        (true, _) if present => Some(GivenUp::Present),
        (true, _) => Some(GivenUp::That),
    }
}

pub fn asked_for(text: &str) -> bool {
    let lower = text.to_lowercase();
    let asked = lower.trim().trim_end_matches(['?', '!', '.', ' ']);
    QUESTIONS.iter().any(|question| asked == *question || asked == format!("{question} now"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_given_in_plain_words_and_nothing_else_gives_one() {
        for (text, goal) in [
            ("your next goal is to tidy up", Some("tidy up")),
            ("Your goal is to create a file a.txt with the text x", Some("create a file a.txt with the text x")),
            ("New goal: find the key.", Some("find the key")),
            ("please, your new goal is now to rest", Some("rest")),
            ("what is your goal?", None),
            ("the goal is to win", None),
            ("your goal is what?", None),
            ("your goal", None),
            ("goals are good", None),
            ("İ your goal is x", None),
        ] {
            assert_eq!(given(text), goal, "{text}");
        }
        assert!(asked_for("What is your goal?"));
        assert!(asked_for("what are you working on now?"));
        assert!(!asked_for("what is your goal keeper called?"));
    }

    #[test]
    fn a_goal_is_given_up_in_plain_words_and_nothing_else_gives_one_up() {
        let named = |words: &str| Some(GivenUp::Named(words.to_owned()));
        for (text, which) in [
            ("drop that goal", Some(GivenUp::That)),
            ("Please give up this goal.", Some(GivenUp::That)),
            ("forget your goal", Some(GivenUp::Present)),
            ("could you please cancel the current goal?", Some(GivenUp::Present)),
            ("drop all your goals", Some(GivenUp::All)),
            ("abandon the goal to tidy up", named("tidy up")),
            ("drop the goal “Tidy up”", named("Tidy up")),
            ("drop the goalkeeper's gloves", None),
            ("forget that goal in the second half", None),
            ("drop that", None),
            ("what goal did you drop?", None),
        ] {
            assert_eq!(given_up(text), which, "{text}");
        }
    }
}
