//! Questions of a place: "where is my cup usually?".

use crate::word_list::word_lists;

word_lists! {
    "whereabouts.txt";
    USUALLY = "usually";
    BEFORE = "words before the thing";
    AFTER = "words after the thing";
}

/// Most words of the thing.
const THING_WORDS: usize = 4;

/// "Where is my cup usually?": the thing, and whether its usual place is asked for. `None`: it is no question of a place.
pub fn whereabouts_asked(text: &str) -> Option<(String, bool)> {
    let lower = text.to_lowercase();
    let mut words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words.first() != Some(&"where") {
        return None;
    }
    let usually = words.iter().any(|word| USUALLY.contains(word));
    words.retain(|word| !USUALLY.contains(word));
    let start = words.iter().skip(1).position(|word| !BEFORE.contains(word))? + 1;
    let end = words.iter().rposition(|word| !AFTER.contains(word))? + 1;
    let thing = words.get(start..end)?;
    (1..=THING_WORDS).contains(&thing.len()).then(|| (thing.join(" "), usually))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_of_a_place_are_told_from_others() {
        let asked = |text: &str| whereabouts_asked(text);
        let is = |thing: &str, usually| Some((thing.to_owned(), usually));
        assert_eq!(asked("Where is the red cup usually?"), is("red cup", true));
        assert_eq!(asked("where do we normally keep the spare keys"), is("spare keys", true));
        assert_eq!(asked("where can I usually find my glasses?"), is("glasses", true));
        assert_eq!(asked("where is the spare key?"), is("spare key", false));
        for other in
            ["what is in the drawer usually?", "where?", "where is it that one should go if the shop is closed today"]
        {
            assert_eq!(asked(other), None, "{other}");
        }
    }
}
