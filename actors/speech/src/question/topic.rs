//! What a question about deeds is about: the name of a tool, a failure, an order.

use crate::terms;
use crate::word::tokens::Utterance;
use crate::word::{inflection, lexicon};
use crate::word_list::word_lists;

word_lists! {
    "topic.txt";
    FAILURE = "words of failure";
    SUCCESS = "words of success";
    AROUND = "words of order";
    USES = "verbs of use";
}

/// The rest of a question about failures ("fail today", "wrong last time"). `None`: it isn't about failures.
pub fn without_failure(topic: &str) -> Option<String> {
    let is_failure = |word: &&str| FAILURE.contains(&plain(word).as_str());
    topic.split_whitespace().any(|word| is_failure(&word)).then(|| {
        let rest = topic.split_whitespace().filter(|word| !is_failure(word));
        without_order(&rest.collect::<Vec<_>>().join(" "))
    })
}

/// The rest of what is asked about what worked ("print worked"). `None`: the last word tells of no success.
pub fn without_success(topic: &str) -> Option<String> {
    let is_success = |word: &&str| SUCCESS.contains(&plain(word).as_str());
    let ends_so = topic.split_whitespace().next_back().is_some_and(|word| is_success(&word));
    ends_so.then(|| topic.split_whitespace().filter(|word| !is_success(word)).collect::<Vec<_>>().join(" "))
}

fn plain(word: &str) -> String {
    word.trim_matches(|c: char| ",.;:!?".contains(c)).to_lowercase()
}

/// A topic without words of order ("the last time").
pub fn without_order(topic: &str) -> String {
    let rest = topic.split_whitespace().filter(|word| !AROUND.contains(&plain(word).as_str()));
    rest.collect::<Vec<_>>().join(" ")
}

/// Possible names of a tool in a topic, each with the rest: the thing used, or the deed.
pub fn tries(topic: &str) -> Vec<(String, String)> {
    let said = Utterance::read(topic);
    let mut at = 0;
    let leads = |word: &str| lexicon::DETERMINERS.contains(&word) || ["you", "i", "we", "it"].contains(&word);
    while leads(said.word(at)) || (USES.contains(&said.word(at)) && at + 1 < said.len()) {
        at += 1;
    }
    // "The print tool", "print was used".
    let after = |at: usize| {
        let skips = ["tool", "used", "get", "been"].iter().any(|word| said.word(at) == *word);
        said.span(at + usize::from(skips), said.len()).to_owned()
    };
    let is_name = |word: &str| !word.is_empty() && !lexicon::looks_like_path(word) && !terms(word).is_empty();
    let (first, second) = (said.word(at), said.word(at + 1));
    let mut found = Vec::new();
    if !is_name(first) && !first.contains('_') {
        return found;
    }
    if is_name(second) && second != "tool" {
        found.push((format!("{first} {second}"), after(at + 2)));
    }
    found.push((first.to_owned(), after(at + 1)));
    let base = inflected_base(first);
    found.extend(base.map(|base| (base, after(at + 1))));
    found
}

/// "Print" for "printed" and "printing".
fn inflected_base(word: &str) -> Option<String> {
    let irregular = inflection::base(word);
    let regular = ["ed", "ing", "s"].iter().find_map(|end| word.strip_suffix(end)).filter(|stem| stem.len() > 2);
    (irregular != word).then_some(irregular).or(regular).map(str::to_owned)
}

/// A topic about others than the agent: without words of order and without "you".
pub fn of_others(topic: &str) -> String {
    let rest = without_order(topic);
    rest.strip_prefix("you ").map(str::to_owned).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_tools_name_is_tried_before_any_verb() {
        let names =
            |topic: &str| tries(topic).into_iter().map(|(name, rest)| format!("{name}|{rest}")).collect::<Vec<_>>();
        assert_eq!(names("print"), ["print|"]);
        assert_eq!(names("the print tool"), ["print|"]);
        assert_eq!(names("use print"), ["print|"]);
        assert_eq!(names("print the weekly report"), ["print|the weekly report"]);
        assert_eq!(names("printed reports"), ["printed reports|", "printed|reports", "print|reports"]);
        assert_eq!(names("notes.txt"), Vec::<String>::new());
        assert_eq!(names(""), Vec::<String>::new());
    }

    #[test]
    fn failures_are_told_from_what_failed() {
        assert_eq!(without_failure("wrong last time").as_deref(), Some(""));
        assert_eq!(without_failure("print fail").as_deref(), Some("print"));
        assert_eq!(without_failure("write notes"), None);
    }
}
