//! From a document to lessons: passages under their headings, and what their sentences define. A document's text is
//! data; nothing in it is an instruction.

use std::collections::BTreeMap;

use maxim_bus::Trust;
use maxim_bus::signals::concepts::{ConceptLesson, ConceptProvenance, RelationLesson, SourcePassage};

use super::model::{LONGEST_TEXT, clipped};
use super::sentences::{definition, sentences};
use super::tables;

/// The trust in what is read in a document.
pub const DOCUMENT_TRUST: Trust = Trust::Listed;
/// Passages that one message may contain.
pub const MOST_PASSAGES: usize = 2_000;
/// Maximum characters of a passage; longer ones are split between sentences.
const PASSAGE: usize = 900;
/// In plain text, a line without a full stop that stands alone is a heading if it has fewer characters than this.
const HEADING: usize = 60;

/// A piece of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The nearest heading above it; empty before the first.
    pub heading: String,
    /// From 1, within the document.
    pub number: u32,
    pub text: String,
}

/// Splits a text into passages. `before` passages came in earlier parts of the same document.
pub fn passages(text: &str, markdown: bool, before: u32) -> Vec<Passage> {
    let mut found: Vec<Passage> = Vec::new();
    let mut heading = String::new();
    for block in blocks(text) {
        let block = match heading_of(&block, markdown) {
            Some((title, rest)) => {
                heading = title;
                rest
            }
            None => block,
        };
        for part in parts(&plain(&tables::in_sentences(&block), markdown)) {
            let number = before + found.len() as u32 + 1;
            found.push(Passage { heading: heading.clone(), number, text: part });
            if found.len() >= MOST_PASSAGES {
                return found;
            }
        }
    }
    found
}

/// Text between blank lines. Code fences are left out, because code defines nothing in words.
fn blocks(text: &str) -> Vec<String> {
    let (mut blocks, mut block, mut fenced) = (Vec::new(), Vec::new(), false);
    let mut flush = |block: &mut Vec<&str>| {
        if !block.is_empty() {
            blocks.push(std::mem::take(block).join("\n"));
        }
    };
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            flush(&mut block);
        } else if fenced {
        } else if line.trim().is_empty() {
            flush(&mut block);
        } else {
            if line.starts_with('#') {
                flush(&mut block);
            }
            block.push(line);
        }
    }
    flush(&mut block);
    blocks
}

/// A heading at the start of a block, and the text after it.
fn heading_of(block: &str, markdown: bool) -> Option<(String, String)> {
    let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
    let title = if markdown {
        let underlined = rest
            .lines()
            .next()
            .is_some_and(|line| line.len() >= 3 && (line.chars().all(|c| c == '=') || line.chars().all(|c| c == '-')));
        if underlined {
            let rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            return Some((plain(first, true), rest.to_owned()));
        }
        first.strip_prefix('#')?.trim_start_matches('#')
    } else {
        let alone =
            rest.is_empty() && first.chars().count() <= HEADING && !first.trim().ends_with(['.', '!', '?', ':', ',']);
        let worded = first.split_whitespace().count() <= 8 && first.chars().any(char::is_alphabetic);
        (alone && worded).then_some(first)?
    };
    Some((plain(title, markdown).trim_matches(['#', ' ']).to_owned(), rest.to_owned()))
}

/// Words without Markdown marks, on one line.
fn plain(text: &str, markdown: bool) -> String {
    let mut words = String::with_capacity(text.len());
    // Items of a list are separate sentences.
    let items = text.lines().filter(|line| line.trim_start().starts_with(['-', '*', '+'])).count();
    let listed = markdown && items > 1;
    for line in text.lines() {
        let line = line.trim();
        let line = if markdown { line.trim_start_matches(['>', '-', '*', '+', '|', ' ']) } else { line };
        if !words.is_empty() && !line.is_empty() {
            words.push_str(if listed && !words.ends_with(['.', '!', '?', ':', ';']) { ". " } else { " " });
        }
        words.push_str(line);
    }
    if markdown { without_links(&words.replace("**", "").replace('`', "")) } else { words }
}

/// "[text](target)" is its text.
fn without_links(text: &str) -> String {
    let mut rest = text;
    let mut words = String::with_capacity(text.len());
    while let Some(open) = rest.find('[') {
        words.push_str(&rest[..open]);
        let inner = &rest[open + 1..];
        match inner.find("](").and_then(|close| Some((close, inner[close..].find(')')?))) {
            Some((close, end)) => {
                words.push_str(&inner[..close]);
                rest = &inner[close + end + 1..];
            }
            None => {
                words.push('[');
                rest = inner;
            }
        }
    }
    words.push_str(rest);
    words
}

/// Splits a long block into parts of whole sentences.
fn parts(block: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for sentence in sentences(block) {
        match parts.last_mut() {
            Some(part) if part.chars().count() + sentence.chars().count() < PASSAGE => {
                part.push(' ');
                part.push_str(sentence);
            }
            _ => parts.push(clipped(sentence, LONGEST_TEXT)),
        }
    }
    parts
}

/// A passage in the form in which it is cited.
pub fn source_of(document: &str, passage: &Passage) -> SourcePassage {
    let place = match passage.heading.is_empty() {
        true => format!("passage {}", passage.number),
        false => format!("{}, passage {}", passage.heading, passage.number),
    };
    SourcePassage { document: document.to_owned(), place, text: passage.text.clone() }
}

/// The lessons of a document's passages: a concept for each heading (or for the document itself), and one for each
/// thing that a sentence defines. Each has the passage that says so.
pub fn lessons(document: &str, passages: &[Passage]) -> Vec<ConceptLesson> {
    let title = title_of(document);
    let mut lessons = Vec::new();
    for passage in passages {
        let source = source_of(document, passage);
        let lesson =
            |name: &str, category: &str, definition: Option<String>, relations: Vec<RelationLesson>| ConceptLesson {
                name: name.to_owned(),
                category: category.to_owned(),
                definition,
                properties: BTreeMap::new(),
                provenance: ConceptProvenance::DirectIngestion,
                trust: DOCUMENT_TRUST,
                sources: Vec::new(),
                passage: Some(source.clone()),
                relations,
            };
        let mut defines_heading = false;
        // A row of a table defines nothing.
        let worded = || sentences(&passage.text).into_iter().filter(|sentence| !sentence.contains('|'));
        for sentence in worded() {
            let Some(found) = definition(sentence) else { continue };
            defines_heading |=
                maxim_language::naming::key(&found.subject) == maxim_language::naming::key(&passage.heading);
            let relation = RelationLesson {
                kind: found.relation.to_owned(),
                to: singular_name(&found.object),
                category: String::new(),
                weight: 1.0,
                phase: None,
                coupling: None,
            };
            lessons.push(lesson(&singular_name(&found.subject), "", Some(sentence.to_owned()), vec![relation]));
        }
        if !defines_heading {
            let name = if passage.heading.is_empty() { title.as_str() } else { passage.heading.as_str() };
            let first = worded().next().map(str::to_owned);
            lessons.push(lesson(name, "topic", first, Vec::new()));
        }
    }
    lessons
}

/// The file's name without folder and extension.
fn title_of(document: &str) -> String {
    let file = document.rsplit(['/', '\\']).next().unwrap_or(document);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    if stem.trim().is_empty() { document.to_owned() } else { stem.replace(['_', '-'], " ") }
}

/// "Mugs" is learned as "mug"; a name with capitals inside stays as it is.
fn singular_name(name: &str) -> String {
    let words: Vec<&str> = name.split(' ').collect();
    let is_name = words.iter().skip(1).any(|word| word.starts_with(char::is_uppercase))
        || words.iter().any(|word| word.chars().skip(1).any(char::is_uppercase));
    if is_name { name.to_owned() } else { maxim_language::naming::normal_words(name).join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Kitchen\n\nA mug is a container. It holds coffee.\n\n## The [oven](http://x)\n\nThe oven gets **hot**.\n\n```\nlet a = 1;\n```\n\n- Plates are dishes\n- A fork is a tool\n";

    #[test]
    fn markdown_becomes_passages_under_their_headings() {
        let found = passages(TEXT, true, 4);
        let places: Vec<(&str, u32, &str)> =
            found.iter().map(|passage| (passage.heading.as_str(), passage.number, passage.text.as_str())).collect();
        assert_eq!(
            places,
            [
                ("Kitchen", 5, "A mug is a container. It holds coffee."),
                ("The oven", 6, "The oven gets hot."),
                ("The oven", 7, "Plates are dishes. A fork is a tool"),
            ]
        );
    }

    #[test]
    fn plain_text_has_headings_where_a_short_line_stands_alone() {
        let found = passages("Safety\n\nThe saw is a tool. Keep away.\n\nNever touch it.", false, 0);
        assert_eq!(found.iter().map(|p| p.heading.as_str()).collect::<Vec<_>>(), ["Safety", "Safety"]);
    }

    #[test]
    fn each_definition_is_a_lesson_with_its_passage() {
        let found = lessons("docs/kitchen_guide.md", &passages(TEXT, true, 0));
        let mug = found.iter().find(|lesson| lesson.name == "mug").expect("defined");
        assert_eq!((mug.relations[0].kind.as_str(), mug.relations[0].to.as_str()), ("IS_A", "container"));
        let passage = mug.passage.as_ref().expect("with its passage");
        assert_eq!(passage.place, "Kitchen, passage 1");
        assert!(passage.text.contains("holds coffee"));
        assert_eq!((mug.trust, mug.provenance), (Trust::Listed, ConceptProvenance::DirectIngestion));
        assert!(found.iter().any(|lesson| lesson.name == "The oven" && lesson.category == "topic"));
    }

    #[test]
    fn a_row_of_a_table_defines_nothing() {
        let text = "# Motors\n\n| Name | What |\n|---|---|\n| A rotor is | a part |\n\nThey turn the wheels.\n";
        let found = lessons("motors.md", &passages(text, true, 0));
        let told: Vec<(&str, Option<&str>)> =
            found.iter().map(|lesson| (lesson.name.as_str(), lesson.definition.as_deref())).collect();
        assert_eq!(told, [("Motors", None), ("Motors", Some("They turn the wheels."))]);
    }

    #[test]
    fn a_document_without_headings_is_a_topic_of_its_own() {
        let found = lessons("notes/boat_trip.txt", &passages("We sailed north. It was cold that day.", false, 0));
        assert_eq!(found[0].name, "boat trip");
    }

    #[test]
    fn long_blocks_are_cut_at_sentences() {
        let text = "The lake was calm that day. ".repeat(100);
        let found = passages(&text, false, 0);
        assert!(found.len() > 2 && found.iter().all(|passage| passage.text.chars().count() <= PASSAGE));
        assert!(found.iter().all(|passage| passage.text.ends_with('.')));
    }
}
