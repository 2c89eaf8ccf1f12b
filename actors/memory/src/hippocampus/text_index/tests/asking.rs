//! What a question shows of itself: the asker, the kind of answer wanted, the language, and what it should follow.

use super::*;

fn days(turns: &[(&str, &str, u32, i32)]) -> TextIndex {
    let mut index = TextIndex::new();
    for (i, (who, text, sitting, day)) in turns.iter().enumerate() {
        let people = if who.is_empty() { vec![] } else { vec![who.to_string()] };
        let fields = Fields { text, people: &people, sitting: *sitting, day: *day, ..Fields::default() };
        index.add(i as u32, &fields).expect("ascending");
    }
    index
}

#[test]
fn what_came_after_something_is_found_though_it_shares_no_word_and_stands_in_another_sitting() {
    let index = index(&[
        ("", "Bo painted the hull", 1),
        ("", "the flood reached the workshop", 2),
        ("", "all motors were dried in the oven", 3),
        ("", "two of them hum again", 4),
    ]);
    assert_eq!(found(&index, "What was done about the flood?"), [1]);
    assert_eq!(found(&index, "What was done after the flood?"), [1, 2, 3]);
    assert_eq!(found(&index, "Was geschah nach der flood?"), [1, 2, 3]);
    assert_eq!(found(&index, "What was done before the flood?"), [1, 0]);
    let listed = index.search_within(&Query::new("after the flood"), &[1, 3], 10);
    assert_eq!(listed.iter().map(|hit| hit.document).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn what_came_after_never_is_what_was_forgotten_or_the_question_itself() {
    let mut index = index(&[
        ("", "the flood reached the workshop", 1),
        ("", "all motors were dried", 2),
        ("Bo", "What was done after the flood?", 3),
    ]);
    index.remove(1);
    let hits = index.search(&Query::new("What was done after the flood?").asked_in(Some(2)), 10);
    assert_eq!(hits.iter().map(|hit| hit.document).collect::<Vec<_>>(), [0]);
}

#[test]
fn who_asks_about_themselves_finds_their_own_words_first() {
    let index = index(&[
        ("Ada", "the spare key lies in the shed", 1),
        ("Ben", "the spare key lies in the desk", 2),
        ("Ada", "where is my spare key?", 3),
        ("Ben", "where is my spare key?", 4),
        ("Ben", "where is Ada's spare key, I need it", 5),
    ]);
    let first = |document: u32| {
        let question =
            ["", "", "where is my spare key?", "where is my spare key?", "where is Ada's spare key, I need it"];
        let query = Query::new(question[document as usize]).asked_in(Some(document));
        let hits = index.search_within(&query, &[0, 1], 10);
        hits[0].document
    };
    assert_eq!([first(2), first(3), first(4)], [0, 1, 0]);
    let thought = Query::new("where is my spare key?").asked_in(Some(2)).thought(true);
    assert_eq!(index.search_within(&thought, &[0, 1], 10)[0].document, 1, "the agent's own: of equals the newer");
}

#[test]
fn particulars_count_where_the_question_asks_for_them() {
    let index = index(&[
        ("", "I think the fan is loud in Bremen since Monday", 1),
        ("", "fan: loud, bearing dry, oil it in the shop at once", 2),
    ]);
    let scores = |question: &str| {
        let query = Query { weights: Weights { related: 0, ..Weights::default() }, ..Query::new(question) };
        let hits = index.search(&query, 2);
        let of = |document: u32| hits.iter().find(|hit| hit.document == document).expect("found").score;
        of(0) - of(1)
    };
    let particular = Weights::default().particular;
    let plain = scores("why fan loud");
    for (question, marks) in [("when fan loud", 1.0), ("who fan loud", 1.0), ("my fan loud", 3.0)] {
        assert!((scores(question) - plain - marks * particular).abs() < 1e-5, "{question}");
    }
}

#[test]
fn a_log_line_inherits_half_of_what_a_turn_of_a_talk_does() {
    let inherited = |who: &str| {
        let index = index(&[(who, "dolphin", 1), (who, "filler", 1)]);
        let weights = Weights { sitting: 0.0, ..Weights::default() };
        let hits = index.search(&Query { weights, ..Query::new("dolphin") }, 2);
        hits.iter().find(|hit| hit.document == 1).expect("beside it").score
    };
    assert!((inherited("Ada") - 0.6 * found_whole()).abs() < 1e-5);
    assert!((inherited("") - 0.3 * found_whole()).abs() < 1e-5);
}

/// The hit of a stem that occurs once in a text of average length.
fn found_whole() -> f32 {
    score::HitTable::new(1.0).hit(1, 1)
}

#[test]
fn log_lines_and_turns_side_by_side_each_inherit_by_what_they_are() {
    let mut turns: Vec<(&str, &str, u32)> = vec![("", "filler", 1); 40];
    turns[20] = ("", "dolphin", 1);
    (21..24).for_each(|at| turns[at].0 = "Ada");
    let index = index(&turns);
    let weights = Weights { sitting: 0.0, other: 0.0, ..Weights::default() };
    let hits = index.search(&Query { weights, ..Query::new("dolphin") }, 20);
    let score = |at: u32| hits.iter().find(|hit| hit.document == at).map_or(0.0, |hit| hit.score);
    for step in 1..=3i32 {
        let (turn, line) = (score((20 + step) as u32), score((20 - step) as u32));
        assert!((turn - 0.6f32.powi(step) * found_whole()).abs() < 1e-5, "{step}: {turn}");
        assert!((line - 0.5 * 0.6f32.powi(step) * found_whole()).abs() < 1e-5, "{step}: {line}");
    }
}

#[test]
fn what_happened_asks_for_the_day_and_not_for_the_word() {
    let day = |month, of| day_number(jiff::civil::date(2024, month, of));
    let index = days(&[
        ("Ada", "What happened?", 1, day(1, 4)),
        ("Ada", "the ladder broke", 2, day(3, 5)),
        ("Ben", "a hedgehog sleeps under the boat", 3, day(6, 9)),
    ]);
    assert_eq!(found(&index, "What happened on 5 March?"), [1]);
    assert_eq!(found(&index, "What happened in June 2024?"), [2]);
    assert_eq!(found(&index, "Was geschah im März?"), [1]);
    assert_eq!(found(&index, "¿Qué pasó en junio?"), [2]);
    assert_eq!(found(&index, "What happened?"), [0], "where there is nothing else the word is all there is");
}

#[test]
fn a_month_isnt_another_one_however_alike_their_names_are() {
    let index = with_meaning(&[("the fair is in April", 1), ("the fair is in March", 2), ("a teacup", 3)]);
    let weights = Weights { alike: 0.0, alike_near: 0.0, date: 0.0, ..Weights::default() };
    let hits = index.search(&Query { weights, ..Query::new("March 2020") }, 10);
    assert_eq!(hits.iter().map(|hit| hit.document).collect::<Vec<_>>(), [1]);
}

#[test]
fn in_another_language_forms_and_parts_of_compounds_are_found_without_an_encoder() {
    let index = index(&[
        ("", "In der Hütte fiel der Ofen aus", 1),
        ("", "Die Fahrräder stehen im Hof", 2),
        ("", "Cantaba canciones en la ducha", 3),
        ("", "Das Wetter war schlecht", 4),
    ]);
    for (question, document) in
        [("Wie war es in der Berghütte?", 0), ("Wo ist mein Fahrrad?", 1), ("¿Cuál es tu canción?", 2)]
    {
        assert_eq!(found(&index, question).first(), Some(&document), "{question}");
        let weights = Weights { forms: 0.0, ..Weights::default() };
        let by_stems = index.search(&Query { weights, ..Query::new(question) }, 10);
        assert!(by_stems.iter().all(|hit| hit.document != document), "{question}: the English stems don't meet");
    }
    assert!(found(&index, "where is the Berghütte").is_empty(), "an English question doesn't look at letters");
}

#[test]
fn yesterday_is_counted_from_the_episode_in_which_it_is_asked() {
    let index = days(&[
        ("", "the belt tore", 1, 20_000),
        ("", "the chain broke", 2, 20_004),
        ("", "the hose burst", 3, 20_005),
        ("Ada", "what happened yesterday?", 4, 20_005),
    ]);
    let query = Query::new("what happened yesterday?").asked_in(Some(3));
    let hits: Vec<u32> = index.search(&query, 10).into_iter().map(|hit| hit.document).collect();
    assert_eq!(hits, [1]);
    assert!(found(&index, "what broke yesterday?").contains(&1), "without a day by its words");
}
