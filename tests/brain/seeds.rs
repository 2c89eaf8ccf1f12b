//! One agent is a value: two in one process and one store don't affect each other, and randomness depends only on the
//! seed.

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

/// What was said and done in a session, and the resulting states.
type Lived = (Vec<String>, Vec<(&'static str, u64)>);

fn session() -> Lived {
    let said = [
        "hello",
        "remember that Anna likes tea",
        "create a file tea.txt with the text assam",
        "read the file tea.txt",
        "run the command false",
        "what does Anna like?",
        "what would happen if you run a command?",
        "frobnicate the gargle",
    ];
    let mut bench = Bench::new();
    let transcript: Vec<String> = said
        .iter()
        .map(|text| {
            let ended = bench.say(text);
            let actions: Vec<(String, String)> =
                ended.actions.iter().map(|action| (action.id.to_string(), action.status.to_string())).collect();
            format!("{} {:?} {actions:?}", ended.turn, ended.reply)
        })
        .collect();
    // Why-records contain the tools' own words, and undo data contains paths: both include each bench's folder.
    let states = bench.agent.state_hashes().into_iter();
    let states = states.filter(|(name, _)| !["cause_ledger", "execution_tracker"].contains(name));
    (transcript, states.collect())
}

/// Agents that run at the same time, on as many threads, decide like one alone.
#[test]
fn the_same_seed_gives_the_same_transcript_and_the_same_states_on_any_number_of_threads() {
    let first = session();
    for threads in [1, 2, 8] {
        let living: Vec<_> = (0..threads).map(|_| std::thread::spawn(session)).collect();
        for lived in living {
            let lived = lived.join().expect("it lives to its end");
            assert_eq!(lived.0, first.0, "on {threads} threads");
            assert_eq!(lived.1, first.1, "on {threads} threads");
        }
    }
}
