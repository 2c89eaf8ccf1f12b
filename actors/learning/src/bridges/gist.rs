//! The content of a text, as the bridges compare texts.

use std::collections::BTreeSet;

use maxim_bus::Trust;

use maxim_language::{Stems, words};

/// The content stems of a text, without duplicates.
pub(super) fn gist(text: &str) -> BTreeSet<String> {
    Stems::default().of_text(text).into_iter().collect()
}

/// The content stems of a name in their order, as one key; its words if it has no content stems.
pub(super) fn key(name: &str) -> String {
    let stems = Stems::default().of_text(name);
    if stems.is_empty() { plain_words(name).join(" ") } else { stems.join(" ") }
}

/// The words of a text in lower case, stop words included.
pub(super) fn plain_words(text: &str) -> Vec<String> {
    words(text).into_iter().map(|word| word.text).collect()
}

/// |A ∩ B| / |A ∪ B|; 0 if both are empty.
pub(super) fn alike(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

/// Whether input with this trust teaches. Senders who may not command must not shape habits, fears or attention
/// either.
pub(super) fn teaches(trust: Trust) -> bool {
    trust >= Trust::Listed
}
