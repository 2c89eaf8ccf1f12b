//! The examples run to their end and print what they promise.

#[allow(dead_code)] // its `main` prints what `run` gives
#[path = "../../examples/agent.rs"]
mod agent;
#[allow(dead_code)] // its `main` prints what `run` gives
#[path = "../../examples/population.rs"]
mod population;
#[allow(dead_code)] // its `main` prints what `run` gives
#[path = "../../examples/room.rs"]
mod room;
#[allow(dead_code)] // its `main` prints what `run` gives
#[path = "../../examples/tool.rs"]
mod tool;

#[test]
fn a_room_of_ones_own_counts_on_a_live_agent() {
    let told = room::run().expect("it runs to its end");
    assert!(told.contains("in the drawer"), "{told}");
    assert!(told.contains(r#""polite":2"#) && told.contains(r#""requests":3"#), "{told}");
}

#[test]
fn a_tool_of_ones_own_is_asked_for_in_words() {
    let told = tool::run().expect("it runs to its end");
    assert!(told.contains("31") && told.contains("there are probes at fern and cactus"), "{told}");
}

#[test]
fn an_embedded_agent_remembers_over_a_crash_and_a_week() {
    let told = agent::run().expect("it runs to its end");
    assert!(told.matches("behind the door").count() > 1, "{told}");
    assert!(told.contains("2026-01-12"), "{told}");
}

#[test]
fn each_of_a_hundred_agents_answers_by_its_own_memory() {
    let told = population::run().expect("it runs to its end");
    assert!(told.contains("0 of them are in memory"), "{told}");
    for room in ["room 7", "room 42", "room 99"] {
        assert!(told.contains(room), "{told}");
    }
}
