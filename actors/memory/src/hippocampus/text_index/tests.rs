use super::*;
use maxim_language::TokenTable;

fn index(turns: &[(&str, &str, u32)]) -> TextIndex {
    let mut index = TextIndex::new();
    for (i, (who, text, sitting)) in turns.iter().enumerate() {
        let people = if who.is_empty() { vec![] } else { vec![who.to_string()] };
        let fields =
            Fields { text, people: &people, sitting: *sitting, day: *sitting as i32 * 30, ..Fields::default() };
        index.add(i as u32, &fields).expect("ascending");
    }
    index
}

fn found(index: &TextIndex, text: &str) -> Vec<u32> {
    index.search(&Query::new(text), 10).into_iter().map(|hit| hit.document).collect()
}

#[test]
fn the_best_match_comes_first_and_unrelated_sittings_stay_out() {
    let index = index(&[("", "red cup", 1), ("", "the blue cup on the table", 2), ("", "a garden", 3)]);
    assert_eq!(found(&index, "blue cups on tables"), [1, 0]);
    assert!(found(&index, "submarine").is_empty());
    assert!(found(&index, "the of and").is_empty());
}

#[test]
fn what_is_written_together_is_found_by_its_parts() {
    let index = index(&[
        ("", "我昨天在北京吃了烤鸭", 1),
        ("", "猫在桌子上睡觉", 2),
        ("", "나는 어제 서울에서 친구를 만났다", 3),
        ("", "東京タワーに行きました", 4),
        ("", "the arm stopped with E4021", 5),
        ("", "the arm stopped with E-4022", 6),
        ("", "it raised ConnectionRefusedError", 7),
    ]);
    let asked = ["北京", "猫", "친구", "タワー", "E-4021", "E4022", "which connection was refused"];
    let answers = [0, 1, 2, 3, 4, 5, 6];
    for (text, document) in asked.into_iter().zip(answers) {
        assert_eq!(found(&index, text).first(), Some(&document), "{text}");
    }
    assert!(found(&index, "汽车").is_empty());
}

#[test]
fn neighbours_complete_each_other() {
    let index = index(&[
        ("Ann", "we went to the harbour", 1),
        ("Ben", "it was great", 1),
        ("Ann", "there were dolphins", 1),
        ("", "harbour", 2),
        ("", "dolphins", 3),
    ]);
    let mut best = found(&index, "dolphins harbour")[..2].to_vec();
    best.sort_unstable();
    assert_eq!(best, [0, 2], "each holds one word and is two steps from the other");
    let alone = Query { weights: Weights::without_spreading(), ..Query::new("dolphins harbour") };
    assert!(index.search(&alone, 10).iter().all(|hit| hit.document != 1), "its own text holds neither");
}

#[test]
fn spreading_stops_at_the_edge_of_the_sitting_and_after_five_steps() {
    let mut turns = vec![("", "dolphin", 1)];
    turns.extend([("", "filler", 1); 6]);
    turns.insert(0, ("", "filler", 0));
    let index = index(&turns);
    let query = Query { weights: Weights { sitting: 0.0, ..Weights::default() }, ..Query::new("dolphin") };
    let hits: Vec<_> = index.search(&query, 20).into_iter().map(|hit| hit.document).collect();
    assert_eq!(hits, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn one_term_counts_once_however_many_neighbours_repeat_it() {
    let repeated = index(&[("", "cup", 1), ("", "cup", 1), ("", "cup", 1)]);
    let query = Query { weights: Weights { sitting: 0.0, ..Weights::default() }, ..Query::new("cup") };
    let scores: Vec<f32> = repeated.search(&query, 3).iter().map(|hit| hit.score).collect();
    assert!(scores.iter().all(|s| (s - 1.0).abs() < 1e-6), "{scores:?}");
}

#[test]
fn turns_of_other_people_fall_behind_the_named_one() {
    let index = index(&[("Anna", "I like tea", 1), ("Ben", "I like tea", 2)]);
    assert_eq!(found(&index, "what does Ben like"), [1, 0]);
    assert_eq!(found(&index, "what does Anna like"), [0, 1]);
}

#[test]
fn a_speaker_before_the_text_wins_over_the_list_of_those_present() {
    let mut index = TextIndex::new();
    let both = vec!["Anna".to_string(), "Ben".to_string()];
    for (i, text) in ["Anna: I like tea", "Ben: I like tea"].into_iter().enumerate() {
        let fields = Fields { text, people: &both, sitting: i as u32, ..Fields::default() };
        index.add(i as u32, &fields).expect("ascending");
    }
    assert_eq!(found(&index, "what does Anna like"), [0, 1]);
}

#[test]
fn a_named_date_prefers_its_sitting() {
    let mut index = TextIndex::new();
    for (i, day) in [19480, 19510, 19560].into_iter().enumerate() {
        let fields = Fields { text: "we had dinner", sitting: i as u32, day, ..Fields::default() };
        index.add(i as u32, &fields).expect("ascending");
    }
    assert_eq!(day_number(jiff::civil::date(2023, 6, 2)), 19510);
    assert_eq!(found(&index, "dinner on June 2, 2023")[0], 1);
    assert_eq!(found(&index, "What happened on 2 June 2023?"), [1], "a date alone finds its day");
}

#[test]
fn a_name_alone_finds_what_that_one_took_part_in() {
    let index = index(&[
        ("Lena", "the certificate expires in August", 1),
        ("", "battery swelled by 3 mm", 2),
        ("Ben", "the certificate is in the drawer", 3),
    ]);
    assert_eq!(found(&index, "Lena"), [0]);
    assert_eq!(found(&index, "what did Lena say?"), [0]);
    assert_eq!(found(&index, "what did Lena say about the battery?"), [0, 1], "her own words before what others said");
    assert_eq!(found(&index, "certificate of Lena").first(), Some(&0));
    assert!(found(&index, "what did Zoe say?").is_empty());
}

#[test]
fn a_day_is_that_of_the_document_however_long_the_sitting_also_after_sealing() {
    let mut index = TextIndex::new();
    for n in 0..40 {
        let text = format!("battery at {} percent", 90 - n);
        let fields = Fields { text: &text, sitting: 1, day: 20_000 + n, ..Fields::default() };
        index.add(n as u32, &fields).expect("ascending");
    }
    let day = jiff::civil::date(1970, 1, 1).checked_add(jiff::Span::new().days(20_007)).expect("a day");
    let question = format!("how full was the battery on {day}?");
    assert_eq!(found(&index, &question).first(), Some(&7));
    let bytes = index.seal_all().expect("sealed");
    assert_eq!(found(&index, &question).first(), Some(&7));
    let index = TextIndex::from_segments(vec![bytes]).expect("sound");
    assert_eq!(found(&index, &question).first(), Some(&7));
    let alone = found(&index, &format!("{day}"));
    assert_eq!(alone[0], 7);
    assert!(!alone.contains(&0) && !alone.contains(&39), "a day alone finds no other of a long sitting: {alone:?}");
}

#[test]
fn a_question_in_another_language_is_asked_by_what_tells() {
    let index = index(&[
        ("", "Hemos cambiado la cerradura porque la llave vieja se perdió", 1),
        ("", "Por qué no hay pan y por qué hay una cola es lo que no sé de una ciudad", 2),
    ]);
    assert_eq!(found(&index, "¿Por qué hay una cerradura nueva?"), [0]);
}

#[test]
fn an_answer_inherits_what_its_question_covers() {
    let index = index(&[
        ("", "Which instrument do you play?", 1),
        ("", "Violin since school", 1),
        ("", "instrument shop", 2),
        ("", "filler filler", 3),
    ]);
    let query = Query {
        weights: Weights { neighbour_steps: 0, sitting: 0.0, ..Weights::default() },
        ..Query::new("instrument")
    };
    let hits: Vec<_> = index.search(&query, 3).into_iter().map(|h| h.document).collect();
    assert_eq!(hits, [2, 0, 1], "the question loses a little, its answer is found at all");
}

#[test]
fn a_hit_says_whether_its_own_words_speak_for_it() {
    let index = index(&[
        ("", "Which instrument do you play?", 1),
        ("", "Violin since school", 1),
        ("", "the weather is fine", 1),
        ("", "it rained", 2),
    ]);
    let by = |question: &str| -> std::collections::BTreeMap<u32, By> {
        index.search(&Query::new(question), 10).into_iter().map(|hit| (hit.document, hit.by)).collect()
    };
    let asked = by("instrument");
    assert_eq!(
        asked,
        [(0, By::Words), (1, By::Words), (2, By::Neighbours)].into(),
        "an answer has its question's words"
    );
    let day = by("What happened on 31 January 1970?");
    assert_eq!(day, [(0, By::Words), (1, By::Words), (2, By::Words)].into(), "their day was named");
}

fn with_meaning(turns: &[(&str, u32)]) -> TextIndex {
    let mut index = TextIndex::with_encoder(Arc::new(TokenTable::embedded()));
    for (i, (text, sitting)) in turns.iter().enumerate() {
        index.add(i as u32, &Fields { text, sitting: *sitting, ..Fields::default() }).expect("ascending");
    }
    index
}

#[test]
fn a_related_stem_stands_for_the_asked_one_by_its_weight() {
    let turns = [("the mug is here", 1), ("a parliament is here", 2), ("the cup is there", 3)];
    let index = with_meaning(&turns);
    assert_eq!(found(&index, "cup")[..2], [2, 0], "the word itself first, then what means nearly the same");
    let words = Query { weights: Weights::words_alone(), ..Query::new("cup") };
    assert_eq!(index.search(&words, 3).len(), 1, "by words alone only the word itself");
}

#[test]
fn stems_that_come_later_are_related_as_if_they_had_always_been_there() {
    let texts = ["mugs on it", "a teacup", "the cup", "some glasses", "plates and dishes", "one mug", "bowls"];
    let turns: Vec<(&str, u32)> = texts.into_iter().zip(1..).collect();
    let whole = with_meaning(&turns);
    let mut grown = with_meaning(&turns[..1]);
    for (i, (text, sitting)) in turns.iter().enumerate().skip(1) {
        grown.search(&Query::new("cup"), 10);
        grown.add(i as u32, &Fields { text, sitting: *sitting, ..Fields::default() }).expect("ascending");
    }
    assert_eq!(grown.search(&Query::new("cup"), 10), whole.search(&Query::new("cup"), 10));
    let mut sealed = whole;
    let text = sealed.seal_all().expect("documents");
    let vectors = sealed.vectors_of_stretch(0).expect("an encoder");
    let mut loaded = TextIndex::with_encoder(Arc::new(TokenTable::embedded()));
    loaded.load(text).expect("sound");
    loaded.load_vectors(texts.len(), Some(vectors));
    assert_eq!(loaded.search(&Query::new("cup"), 10), grown.search(&Query::new("cup"), 10));
    assert!(loaded.without_vector().is_empty());
}

#[test]
fn a_segment_without_fitting_vectors_is_loaded_and_its_documents_are_named() {
    let mut index = with_meaning(&[("the mug", 1), ("the lamp", 2)]);
    let text = index.seal_all().expect("documents");
    let mut loaded = TextIndex::with_encoder(Arc::new(TokenTable::embedded()));
    loaded.load(text).expect("the words are sound");
    loaded.load_vectors(2, Some(b"nonsense".to_vec()));
    assert_eq!(loaded.without_vector(), [0, 1]);
    loaded.set_vector(1, PackedVector::of(&TokenTable::embedded().embed("the lamp")));
    assert_eq!(loaded.without_vector(), [0]);
    assert_eq!(found(&loaded, "lamp")[0], 1);
}

#[test]
fn what_means_the_same_comes_before_what_shares_as_many_words() {
    let index = with_meaning(&[("the battery of the clock", 1), ("charging the battery of the robot", 2)]);
    assert_eq!(found(&index, "battery recharge")[0], 1);
}

fn many(count: u32) -> Vec<(u32, String, Vec<String>)> {
    let words = ["cup", "table", "lamp", "door", "garden", "book", "screw", "tea"];
    let word = |n: u32| words[(n.wrapping_mul(2_654_435_761) >> 29) as usize];
    let people = |n: u32| if n.is_multiple_of(3) { vec![] } else { vec![format!("P{}x", ["a", "b"][n as usize % 2])] };
    (0..count)
        .map(|n| (n * 2, format!("I saw the {} and {} {}?", word(n), word(n * 7 + 1), n % 500), people(n)))
        .collect()
}

fn fill(index: &mut TextIndex, documents: &[(u32, String, Vec<String>)], mut after: impl FnMut(&mut TextIndex)) {
    for (document, text, people) in documents {
        let fields = Fields { text, people, sitting: document / 60, day: (*document / 60) as i32, ..Fields::default() };
        index.add(*document, &fields).expect("ascending");
        after(index);
    }
}

#[test]
fn sealed_merged_and_reloaded_segments_answer_like_the_tail() {
    let documents = many(20_000);
    let mut open = TextIndex::new();
    fill(&mut open, &documents, |_| ());
    let mut sealed = TextIndex::new();
    fill(&mut sealed, &documents, |index| {
        index.seal();
        if let Some(parts) = index.merge_due() {
            let bytes: Vec<_> = index.segments().skip(parts.start).take(parts.len()).cloned().collect();
            index.replace(parts, merge(&bytes, &[]).expect("sound").into()).expect("sound");
        }
    });
    assert_eq!(sealed.segments().count(), 2, "eight merged into one, one beside it");
    sealed.seal_all();
    let loaded = TextIndex::from_segments(sealed.segments().cloned().collect()).expect("sound");
    assert_eq!(loaded.len(), open.len());
    for text in ["cup 17", "Pax's garden lamp", "tea screw 499 book"] {
        let expected = open.search(&Query::new(text), 20);
        assert_eq!(expected.len(), 20);
        assert_eq!(sealed.search(&Query::new(text), 20), expected, "sealed, {text}");
        assert_eq!(loaded.search(&Query::new(text), 20), expected, "loaded, {text}");
    }
    assert_eq!(loaded.vocabulary(), open.vocabulary());
    assert_eq!(loaded.document_frequency("cup"), open.document_frequency("cup"));
}

#[test]
fn segments_in_the_wrong_order_are_refused() {
    let mut index = TextIndex::new();
    fill(&mut index, &many(9_000), |index| {
        index.seal();
    });
    let mut bytes: Vec<_> = index.segments().cloned().collect();
    bytes.reverse();
    assert!(matches!(TextIndex::from_segments(bytes), Err(DamagedSegment::Order { .. })));
}

#[test]
fn a_removed_document_is_found_no_more_and_an_amended_one_by_its_new_words() {
    let mut index = index(&[("", "red cup", 1), ("", "red lamp", 2)]);
    index.amend(1, "it broke").expect("still open");
    assert_eq!(found(&index, "broke"), [1]);
    let now = Fields { text: "red lamp", more: "it was mended", ..Fields::default() };
    index.take_back(1, "the lamp: it broke", &now).expect("still open");
    assert_eq!(
        (found(&index, "broke"), found(&index, "lamp")),
        (vec![], vec![1]),
        "what it said before and doesn't now"
    );
    index.amend(1, "it broke").expect("still open");
    index.remove(1);
    assert!(found(&index, "broke").is_empty());
    assert_eq!(found(&index, "red"), [0]);
    assert_eq!(index.amend(9, "x"), Err(NotIndexed::Sealed(9)));
    index.seal_all();
    assert_eq!(index.amend(0, "x"), Err(NotIndexed::Sealed(0)));
    assert!(matches!(index.add(1, &Fields::default()), Err(NotIndexed::OutOfOrder { document: 1, last: 1 })));
}

#[test]
fn a_search_within_a_list_returns_only_that_list() {
    let index = index(&[("", "red cup", 1), ("", "red lamp", 1), ("", "red door", 2)]);
    let hits: Vec<_> = index.search_within(&Query::new("red"), &[1, 2], 10).into_iter().map(|h| h.document).collect();
    assert_eq!(hits.len(), 2);
    assert!(!hits.contains(&0));
}

#[test]
fn a_search_within_a_few_of_very_many_finds_them_however_good_the_others_are() {
    let mut index = TextIndex::new();
    for n in 0..20_000 {
        let text = if n % 5_000 == 17 { "a cup" } else { "red cup on the table" };
        index.add(n, &Fields { text, sitting: n / 20, ..Fields::default() }).expect("ascending");
    }
    let few = [17, 5_017, 10_017];
    let mut hits: Vec<_> =
        index.search_within(&Query::new("red cup on the table"), &few, 10).into_iter().map(|h| h.document).collect();
    hits.sort_unstable();
    assert_eq!(hits, few);
}

mod asking;
mod conversations;
mod long_texts;
mod mixed;

#[test]
fn what_stands_in_nearly_every_text_isnt_looked_for_beside_what_tells() {
    let texts: Vec<String> = (0..1_000).map(|n| format!("remember that part {n} is painted")).collect();
    let turns: Vec<(&str, &str, u32)> =
        texts.iter().enumerate().map(|(n, text)| ("", text.as_str(), n as u32)).collect();
    let index = index(&turns);
    assert_eq!(found(&index, "which part is 417, the painted one"), [417], "its number tells, the rest is everywhere");
    assert_eq!(found(&index, "painted parts").len(), 10, "where nothing tells more, common words do");
}
