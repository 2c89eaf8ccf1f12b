//! Recall@10 of the signature pass against exact search over the stored vectors.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::*;

/// Splitmix64 (Steele et al. 2014).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Approximately normal: twelve uniform numbers (Irwin and Hall).
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| (self.next() >> 40) as f32 / (1u64 << 24) as f32).sum::<f32>() - 6.0
    }
}

fn index_of(vectors: &[PackedVector]) -> SituationIndex {
    let id = EncoderId::new("test");
    let mut index = SituationIndex::new(id.clone(), vectors[0].steps.len(), 0.0, TimeZone::UTC);
    for (place, vector) in vectors.iter().enumerate() {
        let item = Item::with_vector(said(&place.to_string(), ""), id.clone(), vector.clone());
        index.put(place as u32, &item);
    }
    index
}

fn recall_at_ten(index: &SituationIndex, questions: &[PackedVector]) -> f64 {
    let mut found = 0;
    for question in questions {
        let cue = Cue { text: Some(question.clone()), ..Cue::default() };
        let exact: BTreeSet<u32> = index.find_exactly(&cue, 10).into_iter().map(|like| like.item).collect();
        found += index.find(&cue, 10, |_| true).into_iter().filter(|like| exact.contains(&like.item)).count();
    }
    found as f64 / (10 * questions.len()) as f64
}

#[test]
fn the_nearest_of_clusters_are_found() {
    let mut chance = Chance(3);
    let centers: Vec<Vec<f32>> = (0..100).map(|_| (0..256).map(|_| chance.normal()).collect()).collect();
    let mut around = |at: usize| {
        let numbers: Vec<f32> = centers[at % 100].iter().map(|x| x + 0.55 * chance.normal()).collect();
        PackedVector::of(&maxim_language::Embedding::new(EncoderId::new("test"), numbers))
    };
    let vectors: Vec<PackedVector> = (0..20_000).map(&mut around).collect();
    let questions: Vec<PackedVector> = (0..50).map(&mut around).collect();
    let recall = recall_at_ten(&index_of(&vectors), &questions);
    println!("recall@10 on clusters, 20 000 items: {recall:.3}");
    assert!(recall >= 0.95, "{recall}");
}

/// Lines of real text from the development data: remarks, questions, descriptions, requests.
fn real_texts() -> Option<Vec<String>> {
    fn gather(folder: &PathBuf, into: &mut BTreeSet<String>) {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                gather(&path, into);
            } else if path.extension().is_some_and(|end| end == "jsonl" || end == "json") {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                let strings = text.split('"').filter(|part| part.split(' ').count() >= 4 && part.len() < 400);
                into.extend(strings.map(str::to_owned));
            }
        }
    }
    let mut texts = BTreeSet::new();
    gather(&maxim_region::development_data::path("")?, &mut texts);
    Some(texts.into_iter().collect())
}

#[test]
fn the_nearest_of_real_texts_are_found() {
    let Some(texts) = real_texts() else { return };
    if texts.len() < 6_000 {
        println!("SKIPPED: MAXIM_DATA holds {} real texts, 6 000 are wanted", texts.len());
        return;
    }
    let table = TokenTable::embedded();
    let vectors: Vec<PackedVector> = texts.iter().map(|text| PackedVector::of(&table.embed(text))).collect();
    let questions: Vec<PackedVector> = vectors.iter().step_by(vectors.len() / 60).cloned().collect();
    let recall = recall_at_ten(&index_of(&vectors), &questions);
    println!("recall@10 on {} real texts: {recall:.3}", texts.len());
    assert!(recall >= 0.95, "{recall}");
}
