//! Answers from general knowledge: facts apart from their episodes, each with its confidence.

use maxim_bus::signals::concepts::{ConceptShown, KnowledgeEntry, Layer};

use super::memory::{ANSWERS, coverage};

/// Pieces of knowledge in one answer, at most.
const MOST: usize = 3;
/// Names in one answer, at most. The others are counted.
const MOST_NAMES: usize = 12;

/// General knowledge about a question of these words, with its confidence. `None`: no piece bears on it. Causes are told where
/// the question asks for them.
pub fn known(words: &[String], knowledge: &[KnowledgeEntry]) -> Option<String> {
    let bears = |entry: &&KnowledgeEntry| {
        if entry.layer == Layer::Nac {
            return false;
        }
        let held = format!("{} {} {} {}", entry.name, entry.category, entry.text, entry.relations.join(" "));
        coverage(words, &held) >= ANSWERS
    };
    let mut said: Vec<(String, String)> = Vec::new();
    for (entry, words) in knowledge.iter().filter(bears).filter_map(|entry| Some((entry, told(entry)?))) {
        // A passage is about everything that it mentions.
        if said.len() < MOST && !said.iter().any(|(before, _)| before.contains(&words)) {
            said.push((words.clone(), sentence(entry, &words)));
        }
    }
    let said: Vec<String> = said.into_iter().map(|(_, sentence)| sentence).collect();
    (!said.is_empty()).then(|| format!("In general: {}", said.join(" ")))
}

fn sentence(entry: &KnowledgeEntry, words: &str) -> String {
    let source = if entry.read { ", read in a document" } else { "" };
    format!("{words} (confidence {:.2}{source}).", entry.confidence.get())
}

/// The words of a piece of knowledge. `None`: it is about the brain's own notions alone.
fn told(entry: &KnowledgeEntry) -> Option<String> {
    let words = match entry.text.trim() {
        "" if entry.relations.is_empty() => format!("I know of {}", entry.name),
        "" => readable(entry.relations.iter().find(|relation| !is_inward(relation))?),
        text => text.to_owned(),
    };
    Some(words.trim_end_matches('.').to_owned())
}

/// The names on both sides of a relation, with its type between them.
fn sides(relation: &str) -> Option<(&str, &str, &str)> {
    let is_kind = |word: &str| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let kind = relation.split(' ').skip(1).find(|word| is_kind(word))?;
    let (from, to) = relation.split_once(&format!(" {kind} "))?;
    Some((from, kind, to))
}

/// Whether a relation is about a pattern of outcomes, such as "print success". The brain gave it that name; people don't use it.
fn is_inward(relation: &str) -> bool {
    let is_pattern = |name: &str| name.ends_with(" success") || name.ends_with(" failure");
    sides(relation).is_some_and(|(from, _, to)| is_pattern(from) || is_pattern(to))
}

/// "mug IS_A container" as "mug is a container".
fn readable(relation: &str) -> String {
    let Some((from, kind, to)) = sides(relation) else { return relation.to_owned() };
    let words = match kind {
        "RELATED_TO" => "has to do with".to_owned(),
        "PROPERTY_OF" => "is a property of".to_owned(),
        "PART_OF" => "is part of".to_owned(),
        "HAS_PART" => "has as a part".to_owned(),
        other => other.to_lowercase().replace('_', " "),
    };
    format!("{from} {words} {to}")
}

/// A piece of knowledge as a line of data for the prompt.
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

/// The concepts of a kind, or the meaning of a name.
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
    use maxim_bus::Trust;
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
            read: false,
        }
    }

    #[test]
    fn only_what_was_read_is_said_to_be_and_once() {
        let words = ["valve".to_owned()];
        let read = |name: &str| KnowledgeEntry { read: true, ..entry(name, "A valve is a device.", &[]) };
        let said = known(&words, &[read("valve"), read("device")]).expect("it is about valves");
        assert_eq!(said, "In general: A valve is a device (confidence 0.70, read in a document).");
        let own = KnowledgeEntry { trust: Trust::Listed, ..entry("valve", "Using the valve usually works.", &[]) };
        assert!(!known(&words, &[own]).expect("it is about valves").contains("document"));
    }

    #[test]
    fn the_brains_own_notions_are_left_out() {
        let words = ["ben".to_owned()];
        assert_eq!(known(&words, &[entry("ben", "", &["water success RELATED_TO ben"])]), None);
        let both = entry("ben", "", &["water success RELATED_TO ben", "ben RELATED_TO garden"]);
        assert_eq!(known(&words, &[both]).as_deref(), Some("In general: ben has to do with garden (confidence 0.70)."));
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
