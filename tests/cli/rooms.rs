//! `maxim rooms`: the wiring, without a daemon.

use serde_json::json;

use crate::home::Home;

#[test]
fn rooms_and_signals_are_told_without_a_daemon_and_a_wrong_name_gets_the_nearest() {
    let home = Home::new();
    let all = home.run(&["rooms", "--json"]).json();
    let rooms = all["rooms"].as_array().expect("rooms");
    assert!(rooms.len() > 40, "{all}");
    assert!(home.run(&["rooms"]).out.contains("hippocampus"));
    let gateway = home.run(&["rooms", "gateway", "--json"]).json();
    assert_eq!((&gateway["does"], &gateway["stage"]), (&json!("decides"), &json!("perception")));
    let result = home.run(&["rooms", "--signal", "ToolResult", "--json"]).json();
    let hearers = result["heard_by"].as_array().expect("hearers");
    let hears = |room: &str, next: bool| hearers.contains(&json!({ "room": room, "next_turn": next }));
    assert!(hears("nucleus_accumbens", false) && hears("habit", true), "{result}");
    assert!(result["said_by"].as_array().is_some_and(|said_by| said_by.contains(&json!("executor"))), "{result}");
    let wrong = home.run(&["rooms", "hipocampus"]);
    assert_eq!(wrong.code, Some(2));
    insta::assert_snapshot!(wrong.err, @r#"maxim: there is no room "hipocampus"; did you mean hippocampus?"#);
}
