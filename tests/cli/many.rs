//! `maxim sim bench --agents`: many brains in one process.

use serde_json::json;

use crate::home::Home;

#[test]
fn many_agents_are_spoken_to_leave_memory_and_know_what_they_were_told() {
    let home = Home::new();
    for more in [&[][..], &["--on-disk", "--threads", "3"]] {
        let figures = home.run(&[&["sim", "bench", "--agents", "5", "--awake", "2", "--json"], more].concat()).json();
        assert_eq!(figures["asked"], json!({"agents": 5, "wrong": 0}), "{figures}");
        assert_eq!((&figures["still_awake"], &figures["decisions"]["agents"]), (&json!(0), &json!(2)), "{figures}");
        assert!(figures["decisions"]["per_s"].as_f64().is_some_and(|rate| rate > 0.0), "{figures}");
    }
    assert_eq!(std::fs::read_dir(home.path("work")).expect("a folder").count(), 0, "nothing is left behind");
}

#[test]
fn a_number_of_agents_goes_with_nothing_that_is_one_agents_alone() {
    let home = Home::new();
    for (args, word) in [
        (&["--agents", "0"][..], "--agents"),
        (&["--agents", "3", "--awake", "0"], "--awake"),
        (&["--awake", "3"], "--agents"),
        (&["--on-disk"], "--agents"),
        (&["--agents", "3", "--burst", "5"], "--burst"),
    ] {
        let done = home.run(&[&["sim", "bench"], args].concat());
        assert_eq!(done.code, Some(2), "{args:?}: {done:?}");
        assert!(done.err.contains(word), "{args:?}: {done:?}");
    }
}
