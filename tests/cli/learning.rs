//! `maxim sim learn`: whole brains in a small world.

use serde_json::{Value, json};

use crate::home::Home;

fn brain<'a>(figures: &'a Value, name: &str) -> &'a Value {
    let brains = figures["brains"].as_array().expect("brains");
    brains.iter().find(|brain| brain["brain"] == name).unwrap_or_else(|| panic!("no brain {name}: {figures}"))
}

/// A mean's interval.
fn interval(of: &Value) -> [f64; 2] {
    ["low", "high"].map(|end| of[end].as_f64().expect("a number"))
}

#[test]
fn a_brain_learns_what_is_worth_doing_and_what_lacks_its_memory_does_not() {
    let home = Home::new();
    let args = ["sim", "learn", "--json", "--lives", "8", "--episodes", "12", "--turns-after", "8"];
    let figures = home.run(&[&args[..], &["--threads", "2", "--report", "learned"]].concat()).json();
    let (whole, without) = (brain(&figures, "whole"), brain(&figures, "without memory"));
    let of = |brain: &Value, episode: usize| interval(&brain["worth"][episode - 1]);
    let [random, best] = ["random", "best"].map(|of| interval(&figures[of][5]));
    assert_eq!(whole["better_than_chance"], 1.0, "{whole}");
    assert!(of(whole, 6)[0] > random[1] + 0.2, "better than chance: {whole}");
    assert!(of(whole, 6)[1] <= best[1] + 1e-9, "and not than what is possible");
    assert!(of(without, 6)[1] < random[1] + 0.2, "without memory it isn't: {without}");
    assert!(interval(&without["part_is_worth"])[0] > 0.3, "{without}");
    assert!(interval(&without["part_spares_hurts"])[0] > 0.5, "{without}");
    assert_eq!(brain(&figures, "without values")["left"]["lessons"], 0.0);
    let hurts = |episode: usize| interval(&whole["hurts"][episode - 1]);
    assert!(hurts(9)[0] > hurts(8)[1], "when things change sides it gets hurt: {whole}");
    assert!(hurts(12)[1] < hurts(9)[0], "and learns that too: {whole}");
    // What the report calls switched off is off, and it works in the other runs.
    for (name, left) in [("without episodes", "episodes"), ("without sleep", "sleeps"), ("without memory", "lessons")] {
        assert_eq!(brain(&figures, name)["left"][left], 0.0, "{name}");
        assert!(whole["left"][left].as_f64().is_some_and(|count| count > 3.0), "{whole}");
    }
    // The report, and another number of threads.
    let folder = home.path("work/learned");
    let kept: Value =
        serde_json::from_slice(&std::fs::read(folder.join("report.json")).expect("written")).expect("JSON");
    assert_eq!(kept, figures);
    let page = std::fs::read_to_string(folder.join("report.html")).expect("written");
    assert!(page.contains("without fear") && page.matches("<svg").count() == 2, "{page}");
    let again = home.run(&[&args[..], &["--threads", "1"]].concat()).json();
    assert_eq!(again, figures, "the same lives on one thread");
    let shown = home.run(&["sim", "learn", "--lives", "1", "--episodes", "2"]);
    assert!(shown.out.contains("at random") && shown.out.contains("ep. 2"), "{shown:?}");
}

#[test]
fn what_cannot_be_lived_or_written_is_refused() {
    let home = Home::new();
    for (args, word) in
        [(["--lives", "0"], "--lives"), (["--episodes", "0"], "--episodes"), (["--seed", "x"], "--seed")]
    {
        let done = home.run(&[&["sim", "learn"], &args[..]].concat());
        assert_eq!(done.code, Some(2), "{args:?}: {done:?}");
        assert!(done.err.contains(word), "{args:?}: {done:?}");
    }
    std::fs::write(home.path("work/file"), "").expect("written");
    let done = home.run(&["sim", "learn", "--report", "file/below"]);
    assert_eq!((done.code, &json!(done.out)), (Some(75), &json!("")), "{done:?}");
    assert!(done.err.contains("file/below") && done.err.contains("--report"), "{done:?}");
}
