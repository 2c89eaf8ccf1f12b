//! A whole document as a question or as a statement: the cost stays bounded, and the relevant part is found.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::search::RELATED_CUES;
use super::*;
use maxim_language::{Embedding, EncoderId};

/// The embedded table, counting its calls.
#[derive(Debug)]
struct Counting {
    table: TokenTable,
    asked: AtomicUsize,
}

impl Encoder for Counting {
    fn id(&self) -> &EncoderId {
        self.table.id()
    }

    fn dims(&self) -> usize {
        self.table.dims()
    }

    fn embed(&self, text: &str) -> Embedding {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.table.embed(text)
    }
}

/// A word of seven letters.
fn word(n: usize) -> String {
    (0..7)
        .scan(n * 7_919, |left, _| {
            let letter = b'a' + (*left % 26) as u8;
            *left = *left / 26 + 31;
            Some(char::from(letter))
        })
        .collect()
}

fn of_rare_words(documents: usize) -> (TextIndex, Arc<Counting>) {
    let encoder = Arc::new(Counting { table: TokenTable::embedded(), asked: AtomicUsize::new(0) });
    let mut index = TextIndex::with_encoder(encoder.clone());
    for document in 0..documents {
        let text = format!("the lamp {} {}", word(2 * document), word(2 * document + 1));
        let fields = Fields { text: &text, sitting: document as u32, ..Fields::default() };
        index.add(document as u32, &fields).expect("ascending");
    }
    (index, encoder)
}

#[test]
fn a_question_of_hundreds_of_words_looks_up_a_few_and_still_finds() {
    let (index, encoder) = of_rare_words(600);
    index.warm();
    let before = encoder.asked.load(Ordering::Relaxed);
    let question: Vec<String> = (0..60).chain(3_000..9_000).map(word).collect();
    let found = found(&index, &question.join(" "));
    assert!(found.iter().all(|document| *document < 30) && found.len() == 10, "{found:?}");
    let asked = encoder.asked.load(Ordering::Relaxed) - before;
    assert!(asked <= RELATED_CUES + 1, "the encoder was asked {asked} times for one question");
}

#[test]
fn what_stands_at_the_end_of_a_very_long_text_is_not_indexed_and_the_rest_is() {
    let filler = "so it went on and on ".repeat(TEXT_BYTES / 20);
    let text = format!("the violin {filler} the trombone");
    let index = with_meaning(&[("the lamp", 1), (&text, 2)]);
    assert_eq!(found(&index, "violin")[0], 1);
    let words = Query { weights: Weights::words_alone(), ..Query::new("trombone") };
    assert!(index.search(&words, 3).is_empty());
}

#[test]
fn an_index_that_was_warmed_answers_without_making_the_vectors_of_its_words() {
    let (index, encoder) = of_rare_words(600);
    let asked = |index: &TextIndex| {
        let before = encoder.asked.load(Ordering::Relaxed);
        assert!(!found(index, &word(7)).is_empty());
        encoder.asked.load(Ordering::Relaxed) - before
    };
    index.warm();
    assert!(asked(&index) <= 2);
    let (cold, encoder) = of_rare_words(600);
    let before = encoder.asked.load(Ordering::Relaxed);
    assert!(!found(&cold, &word(7)).is_empty());
    assert!(encoder.asked.load(Ordering::Relaxed) - before > 600, "else warming is needless");
}
