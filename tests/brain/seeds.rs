//! One agent is a value: two in one process and one store don't see each other, and chance comes from the seed alone.

use maxim::config::Settings;
use maxim_actors::store::StateStore;
use serde_json::json;

use crate::common::{Bench, core_tools};

#[test]
fn two_agents_in_one_store_do_not_see_each_other() {
    let store = StateStore::in_memory();
    let mut alpha = Bench::with("alpha", store.clone(), core_tools, Settings::default());
    let mut beta = Bench::with("beta", store, core_tools, Settings::default());
    alpha.say("remember that the password of the shed is tulip");
    let reply = beta.say("what is the password of the shed?").reply.unwrap_or_default();
    assert!(!reply.contains("tulip"), "{reply}");
    let count =
        |bench: &mut Bench| bench.inquire("system_stats", json!({}))["regions"]["hippocampus"]["episodes"].clone();
    assert_eq!((count(&mut alpha), count(&mut beta)), (json!(1), json!(1)));
    alpha.say("stop");
    assert!(!beta.latch.is_stopped());
    alpha.crash();
    beta.crash();
    let reply = beta.say("what is the password of the shed?").reply.unwrap_or_default();
    assert!(!reply.contains("tulip"), "{reply}");
}

#[test]
fn the_same_seed_gives_the_same_transcript_and_the_same_states() {
    let session = [
        "hello",
        "remember that Anna likes tea",
        "create a file tea.txt with the text assam",
        "read the file tea.txt",
        "run the command false",
        "what does Anna like?",
        "what would happen if you run a command?",
        "frobnicate the gargle",
    ];
    let run = || {
        let mut bench = Bench::new();
        let transcript: Vec<String> = session
            .iter()
            .map(|text| {
                let ended = bench.say(text);
                let actions: Vec<(String, String)> =
                    ended.actions.iter().map(|action| (action.id.to_string(), action.status.clone())).collect();
                format!("{} {:?} {actions:?}", ended.turn, ended.reply)
            })
            .collect();
        // Why-records hold the tools' own words, and the ways back where they lead: both with the path of each bench's folder.
        let states = bench.agent.state_hashes().into_iter();
        let states: Vec<_> = states.filter(|(name, _)| !["cause_ledger", "execution_tracker"].contains(name)).collect();
        (transcript, states)
    };
    let (first, second) = (run(), run());
    assert_eq!(first.0, second.0);
    assert_eq!(first.1, second.1);
}
