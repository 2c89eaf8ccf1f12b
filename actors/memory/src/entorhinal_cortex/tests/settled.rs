//! Many situations on disk: each vector once, also after damage and changes.

use std::time::Duration;

use super::super::segment::SEGMENT;
use super::*;
use maxim_region::Region;
use maxim_store::{Commit, RecordChanges};

const MANY: usize = 5600;

fn told(n: usize) -> Situation {
    let thing = ["lamp", "door", "kettle", "cable", "mirror"][n % 5].to_string() + &format!(" {}", n % 97);
    done(&format!("m{n}"), &format!("put away the {thing}"), "move", !n.is_multiple_of(3), &[&thing])
}

fn many() -> Rig<EntorhinalCortex> {
    let mut rig = rig();
    for from in (0..MANY).step_by(400) {
        store(&mut rig, (from..from + 400).map(told).collect());
    }
    rig
}

fn forget(rig: &mut Rig<EntorhinalCortex>, which: std::ops::Range<usize>) {
    let forgotten = which.map(|n| (EPISODES.to_owned(), format!("m{n}"))).collect();
    rig.send(SituationsStored { stored: Vec::new(), forgotten });
}

/// Answers by a situation in the segment, by one after it, and by words.
fn answers(rig: &mut Rig<EntorhinalCortex>) -> Vec<SimilarFound> {
    let of = |id: &str| FindSimilar { memory_id: Some(id.into()), limit: 8, ..FindSimilar::default() };
    let words = FindSimilar { context: Some("where the kettle went".into()), limit: 8, ..FindSimilar::default() };
    [of("m700"), of("m5100"), words].into_iter().map(|cue| ask(rig, cue)).collect()
}

fn count(rig: &Rig<EntorhinalCortex>, prefix: &str) -> usize {
    rig.records().prefixed(prefix.as_bytes(), usize::MAX).len()
}

/// Writes records past the room, as another program did.
fn write(rig: &mut Rig<EntorhinalCortex>, records: RecordChanges) {
    let name = EntorhinalCortex::NAME;
    let commit = Commit { records, state_hash: rig.state_hash(), ..Commit::of(name, rig.store().epoch(name)) };
    rig.store().accept(commit, |_| {}).expect("accepted");
    rig.crash();
}

/// Settles with a crash after each step; returns the number of steps.
fn settle_over_crashes(rig: &mut Rig<EntorhinalCortex>) -> usize {
    let mut steps = 0;
    while rig.tick() {
        rig.crash();
        if steps % 16 == 0 {
            let [wakes, lists] = rig.woken_by();
            assert_eq!(wakes, lists, "after step {steps}");
        }
        steps += 1;
        assert!(steps < 1000, "it ends");
    }
    steps
}

#[test]
fn a_vector_is_kept_once_in_its_segment_or_beside_its_situation() {
    let mut rig = many();
    assert_eq!((count(&rig, "segment/"), count(&rig, "item/")), (1, MANY));
    assert_eq!(count(&rig, "vector/"), MANY - SEGMENT as usize);
    let before = answers(&mut rig);
    assert!(before.iter().all(|found| found.results.len() == 8), "{before:?}");
    assert_eq!(before[0].results[0].score, 1.0, "what is equal in all");
    rig.crash();
    assert_eq!(answers(&mut rig), before);
    store(&mut rig, vec![done("m3", "the parrot learned a word", "teach", true, &["parrot"])]);
    forget(&mut rig, 5000..5001);
    assert_eq!(count(&rig, "vector/"), MANY - SEGMENT as usize, "one more of what changed, one less that went");
    rig.crash();
    let parrot = ask(&mut rig, FindSimilar { context: Some("a parrot learned".into()), ..FindSimilar::default() });
    assert_eq!(parrot.results[0].id, "m3");
    assert!(parrot.results[0].parts.semantic > Some(0.5), "by what it says now");
}

#[test]
fn a_segment_of_which_much_went_is_written_anew_when_it_is_calm() {
    let mut rig = many();
    let before = count(&rig, "item/");
    let bytes = |rig: &Rig<EntorhinalCortex>| rig.records().bytes(b"segment/000000").expect("a segment");
    let old = bytes(&rig);
    forget(&mut rig, 1000..1400);
    rig.pass(Duration::from_secs(60));
    assert_eq!((count(&rig, "changed/"), bytes(&rig) == old), (400, true), "so little is no reason");
    forget(&mut rig, 1400..1600);
    assert_eq!(count(&rig, "changed/"), 600, "not while things change");
    let asked = answers(&mut rig);
    rig.crash();
    assert_eq!(settle_over_crashes(&mut rig), 1, "a new start is calm");
    assert_eq!((count(&rig, "changed/"), count(&rig, "item/")), (0, before - 600));
    assert!(bytes(&rig) != old);
    assert_eq!(answers(&mut rig), asked);
    let gone = ask(&mut rig, FindSimilar { context: Some(told(1500).text), limit: 500, ..FindSimilar::default() });
    let is_gone = |id: &str| (1000..1600).any(|n| id == format!("m{n}"));
    assert!(!gone.results.is_empty() && !gone.results.iter().any(|like| is_gone(&like.id)));
    forget(&mut rig, 0..600);
    rig.pass(Duration::from_secs(3));
    assert_eq!(count(&rig, "changed/"), 0, "and without a start");
}

#[test]
fn a_damaged_segment_is_made_anew_from_what_its_situations_say() {
    let mut rig = many();
    store(&mut rig, vec![done("m3", "the parrot learned a word", "teach", true, &["parrot"])]);
    let before = answers(&mut rig);
    let segment = rig.records().bytes(b"segment/000000").expect("a segment");
    let mut damaged = segment.clone();
    damaged[900_000] ^= 4;
    for broken in [Some(damaged), None] {
        write(&mut rig, vec![(b"segment/000000".to_vec(), broken.map(Into::into))]);
        let index = rig.region().index.as_ref().expect("awake");
        let taught = index.find(&Cue { tool: Some("teach".into()), ..Cue::default() }, 5, |_| true);
        assert_eq!(taught.iter().map(|like| like.item).collect::<Vec<_>>(), [3], "by structure at once");
        assert!(settle_over_crashes(&mut rig) > SEGMENT as usize / 64);
        assert_eq!(answers(&mut rig), before);
        assert_eq!((count(&rig, "segment/"), count(&rig, "changed/")), (1, 0));
        assert_eq!(count(&rig, "vector/"), MANY - SEGMENT as usize);
        rig.crash();
        assert_eq!(answers(&mut rig), before);
    }
}
