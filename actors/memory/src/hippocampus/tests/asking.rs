//! Richer questions: who told it, what was done, what it is about, and what counts instead.

use maxim_bus::signals::recall::EpisodeFilter;
use serde_json::Value;

use super::*;

/// A moment so many minutes after the first.
fn moment(minute: usize, rest: Value) -> Value {
    let at = monday_morning() - SignedDuration::from_hours(24 * 60) + SignedDuration::from_mins(minute as i64);
    let mut line = json!({ "id": format!("m{minute}"), "timestamp": at.to_string() });
    for (field, value) in rest.as_object().expect("fields") {
        line[field] = value.clone();
    }
    line
}

fn told(minute: usize, who: &str, text: &str) -> Value {
    moment(minute, json!({ "text": format!("{who}: {text}"), "people": [who], "person_involved": true }))
}

fn done(minute: usize, tool: &str, success: bool, text: &str) -> Value {
    moment(minute, json!({ "text": text, "tool": tool, "success": success, "result": "ended" }))
}

fn ask(bench: &mut Bench, filter: EpisodeFilter) -> EpisodesRecalled {
    bench.rig.send(RecallEpisodes { filter, except: None, thought: false, waits: false, until: None });
    bench.rig.heard::<EpisodesRecalled>().pop().expect("an answer")
}

fn ids(found: &EpisodesRecalled) -> Vec<&str> {
    found.episodes.iter().map(|episode| episode.id.as_str()).collect()
}

#[test]
fn one_question_names_the_teller_the_subject_and_the_order() {
    let mut bench = Bench::new(None);
    bench.import([
        told(1, "Anna", "the boat lies at pier three"),
        told(2, "Bo", "the boat lies at pier nine"),
        done(3, "print", true, "print the list of boats"),
        told(4, "Anna", "the kettle is broken"),
        told(5, "Anna", "the boat lies at pier four"),
    ]);
    let of_anna = EpisodeFilter { told_by: Some("anna".into()), limit: 10, ..EpisodeFilter::default() };
    assert_eq!(ids(&ask(&mut bench, of_anna.clone())), ["m5", "m4", "m1"]);
    let boats = EpisodeFilter { about: Some("boat".into()), ..of_anna };
    assert_eq!(ids(&ask(&mut bench, boats.clone())), ["m5", "m1"]);
    let first = EpisodeFilter { oldest: true, limit: 1, ..boats };
    assert_eq!(ids(&ask(&mut bench, first)), ["m1"]);
    let acts = EpisodeFilter { done: true, limit: 10, ..EpisodeFilter::default() };
    let found = ask(&mut bench, acts);
    assert_eq!((ids(&found), found.read), (vec!["m3"], None), "all were read");
    let named = EpisodeFilter { ids: vec!["m4".into(), "m2".into()], limit: 10, ..EpisodeFilter::default() };
    assert_eq!(ids(&ask(&mut bench, named)), ["m4", "m2"]);
}

#[test]
fn the_first_alternative_with_a_known_tool_counts() {
    let mut bench = Bench::new(None);
    bench.import([
        done(1, "print", true, "print the report"),
        done(2, "print", false, "print the list"),
        told(3, "Anna", "the scan went well"),
    ]);
    let of = |tool: &str| EpisodeFilter { tool_name: Some(tool.into()), count: true, ..EpisodeFilter::default() };
    let failed = EpisodeFilter { success: Some(false), ..of("print") };
    let words = EpisodeFilter { query: Some("scan".into()), ..EpisodeFilter::default() };
    let either = |alternatives: Vec<EpisodeFilter>| EpisodeFilter { alternatives, ..EpisodeFilter::default() };
    let found = ask(&mut bench, either(vec![of("scan"), failed, words.clone()]));
    assert_eq!((ids(&found), found.alternative), (vec!["m2"], Some(1)));
    assert_eq!(found.counted.map(|counted| (counted.total, counted.failed)), Some((1, 1)));
    let found = ask(&mut bench, either(vec![of("scan"), of("mow"), words]));
    assert_eq!((found.episodes.first().map(|one| one.id.as_str()), found.alternative), (Some("m3"), Some(2)));
    // A known tool counts though nothing of it passes.
    let early = EpisodeFilter { time_before: Some(Timestamp::UNIX_EPOCH), ..of("print") };
    let found = ask(&mut bench, either(vec![early, of("print")]));
    assert_eq!((ids(&found), found.alternative), (vec![], Some(0)));
}

#[test]
fn what_lies_further_back_than_is_read_is_found_by_its_words() {
    let mut bench = Bench::new(None);
    let lines =
        (2..EpisodeFilter::READ + 20).map(|minute| done(minute, "look_at", true, &format!("look at shelf {minute}")));
    let first = told(1, "Anna", "the lighthouse keeper has a parrot");
    bench.import([first].into_iter().chain(lines).collect::<Vec<_>>());
    let of_anna = EpisodeFilter { told_by: Some("Anna".into()), limit: 5, ..EpisodeFilter::default() };
    let found = ask(&mut bench, of_anna.clone());
    assert_eq!((ids(&found), found.read), (vec![], Some(EpisodeFilter::READ)), "it isn't read without bound");
    let parrot = EpisodeFilter { about: Some("parrot".into()), ..of_anna };
    assert_eq!(ids(&ask(&mut bench, parrot)), ["m1"]);
}
