//! Answers from general knowledge: what is known apart from when it was learned, and how surely.

use maxim_bus::Trust;
use maxim_bus::signals::concepts::{ConceptShown, KnowledgeEntry, Layer};

use super::memory::{ANSWERS, coverage};

/// Pieces of knowledge in one answer, at most.
const MOST: usize = 3;
/// Names in one answer, at most; what is left out is counted.
const MOST_NAMES: usize = 12;

/// What is generally known about a question of these words, with its confidence; nothing if no piece bears on it. What led to
/// what is told where it is asked for.
pub fn known(words: &[String], knowledge: &[KnowledgeEntry]) -> Option<String> {
    let bears = |entry: &&KnowledgeEntry| {
        if entry.layer == Layer::Nac {
            return false;
        }
        let held = format!("{} {} {} {}", entry.name, entry.category, entry.text, entry.relations.join(" "));
        coverage(words, &held) >= ANSWERS
    };
    let said: Vec<String> = knowledge.iter().filter(bears).take(MOST).map(sentence).collect();
    (!said.is_empty()).then(|| format!("In general: {}", said.join(" ")))
}

fn sentence(entry: &KnowledgeEntry) -> String {
    let words = match (entry.text.trim(), entry.relations.first()) {
        ("", Some(relation)) => readable(relation),
        ("", None) => format!("I know of {}", entry.name),
        (text, _) => text.to_owned(),
    };
    let source = if entry.trust == Trust::Listed { ", read in a document" } else { "" };
    format!("{} (confidence {:.2}{source}).", words.trim_end_matches('.'), entry.confidence.get())
}

/// "mug IS_A container" as "mug is a container".
fn readable(relation: &str) -> String {
    let words = relation.split(' ').map(|word| {
        let kind = word.contains('_') && word.chars().all(|c| c.is_uppercase() || c == '_');
        if kind { word.to_lowercase().replace('_', " ") } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A piece of knowledge as a line of the prompt, as data.
pub fn prompt_line(entry: &KnowledgeEntry) -> String {
    let relations =
        if entry.relations.is_empty() { String::new() } else { format!("; {}", entry.relations.join("; ")) };
    let category = if entry.category.is_empty() { String::new() } else { format!(" [{}]", entry.category) };
    format!(
        "- {:?}{category} {:?} (confidence {:.2}, {:?}){relations}",
        entry.name,
        entry.text,
        entry.confidence.get(),
        entry.trust
    )
}

/// The concepts of a kind, or what a name means.
pub fn concepts(topic: &str, found: &[ConceptShown]) -> String {
    match found {
        [] => format!("I don't know any {topic}."),
        [one] => {
            let definition = one.definition.trim().trim_end_matches('.');
            let words = if definition.is_empty() { one.name.clone() } else { definition.to_owned() };
            format!("I know of one: {} ({words}, confidence {:.2}).", one.name, one.confidence.get())
        }
        all => {
            let names: Vec<&str> = all.iter().take(MOST_NAMES).map(|concept| concept.name.as_str()).collect();
            let more = all.len().saturating_sub(MOST_NAMES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("I know of these {topic}: {}{more}.", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::units::Confidence;

    use super::*;

    fn entry(name: &str, text: &str, relations: &[&str]) -> KnowledgeEntry {
        KnowledgeEntry {
            layer: Layer::Atl,
            id: "concept-1".into(),
            name: name.into(),
            category: String::new(),
            text: text.into(),
            score: 0.5,
            confidence: Confidence::clamped(0.7),
            trust: Trust::Own,
            relations: relations.iter().map(|relation| (*relation).into()).collect(),
        }
    }

    #[test]
    fn only_what_bears_on_the_question_is_said() {
        let words = ["backup".to_owned()];
        let knowledge =
            [entry("backup success", "Using backup usually works.", &[]), entry("mug", "A mug is a container.", &[])];
        assert_eq!(
            known(&words, &knowledge).as_deref(),
            Some("In general: Using backup usually works (confidence 0.70).")
        );
        assert_eq!(known(&["tulip".to_owned()], &knowledge), None);
        assert_eq!(known(&[], &knowledge), None);
    }

    #[test]
    fn a_concept_without_words_is_told_by_its_relation() {
        let knowledge = [entry("mug", "", &["mug IS_A container"])];
        let said = known(&["mugs".to_owned()], &knowledge).expect("it is about mugs");
        assert_eq!(said, "In general: mug is a container (confidence 0.70).");
    }
}
