use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use maxim_bus::signals::concepts::{
    ConceptFormed, ConceptLesson, ConceptProvenance, ConceptRemoved, ConceptsLearned, EpisodesFetched, FetchEpisodes,
    FetchedEpisode, LearnConcepts,
};
use maxim_bus::signals::numbers::{JudgeSeries, SeriesJudged, SeriesVerdict};
use maxim_bus::signals::promotion::{
    CandidatesOffered, OfferCandidates, Promote, PromotionCandidate, PromotionEnded, PromotionVerdict,
};
use maxim_bus::signals::recall::{EpisodeStored, RecalledEpisode, Via};
use maxim_bus::units::{Confidence, Salience};
use maxim_bus::{RegionName, Trust};

use super::law::{FETCHED, corroborate, lesson};
use super::{PromoterSettings, SemanticPromoter};
use maxim_region::rig::{Rig, ear, monday_morning};

fn episode(id: &str, text: &str, trust: Trust, sitting: u32) -> FetchedEpisode {
    FetchedEpisode {
        asked: id.into(),
        episode: RecalledEpisode {
            id: id.into(),
            score: 1.0,
            via: Via::Index,
            timestamp: Timestamp::UNIX_EPOCH,
            goal: None,
            tool: None,
            success: Some(true),
            text: text.into(),
            people: vec!["anna".into()],
            result: None,
            trust,
            said: true,
            speaker: None,
        },
        experienced: true,
        sitting,
        objects: vec!["cup".into()],
    }
}

fn candidate(name: &str, episodes: &[&str], series: &[f64]) -> PromotionCandidate {
    PromotionCandidate {
        name: name.into(),
        category: "good pattern".into(),
        definition: format!("{name} is so."),
        confidence: Confidence::clamped(0.8),
        observations: episodes.len().max(series.len()) as u64,
        episodes: episodes.iter().map(|id| (*id).to_owned()).collect(),
        properties: BTreeMap::new(),
        relations: Vec::new(),
        sources: Vec::new(),
        series: series.to_vec(),
    }
}

fn evidence(episodes: Vec<FetchedEpisode>) -> BTreeMap<String, FetchedEpisode> {
    episodes.into_iter().map(|one| (one.asked.clone(), one)).collect()
}

#[test]
fn what_an_outsider_said_needs_two_independent_trusted_witnesses() {
    let wanted = candidate("x", &["p1", "p2", "p3", "p4", "t1", "t2"], &[]);
    let poison = |n: u32| episode(&format!("p{n}"), "x is so", Trust::Outside, n);
    let outside: Vec<FetchedEpisode> = (1..=4).map(poison).collect();
    assert!(corroborate(&wanted, &evidence(outside.clone()), 2).is_none(), "outsiders alone");
    let one = episode("t1", "I saw x", Trust::Owner, 1);
    let with_one = evidence(outside.iter().cloned().chain([one.clone()]).collect());
    assert!(corroborate(&wanted, &with_one, 2).is_none(), "one witness");
    let echo = FetchedEpisode { asked: "t2".into(), ..one.clone() };
    let echoed = evidence(outside.iter().cloned().chain([one.clone(), echo]).collect());
    assert!(corroborate(&wanted, &echoed, 2).is_none(), "the same episode twice");
    let repeated = episode("t2", "I saw X!", Trust::Owner, 1);
    let repeats = evidence(outside.iter().cloned().chain([one.clone(), repeated]).collect());
    assert!(corroborate(&wanted, &repeats, 2).is_none(), "the same words in the same sitting");
    let other = episode("t2", "x happened again", Trust::Listed, 2);
    let enough = evidence(outside.into_iter().chain([one.clone(), other]).collect());
    let corroborated = corroborate(&wanted, &enough, 2).expect("two witnesses");
    assert_eq!(corroborated.trust, Trust::Listed);
    let taught = lesson("nucleus_accumbens", &wanted, &corroborated);
    let sources: Vec<&str> = taught.sources.iter().map(|source| source.id.as_str()).collect();
    assert_eq!(sources, ["t1", "t2"], "outsiders' episodes are no source");
    // Only trusted experience: one is enough.
    assert!(corroborate(&candidate("x", &["t1"], &[]), &evidence(vec![one]), 2).is_some());
}

#[test]
fn its_own_words_are_no_experience() {
    let dreamt = FetchedEpisode { experienced: false, ..episode("d1", "x is so", Trust::Own, 1) };
    let read = FetchedEpisode { experienced: false, ..episode("d2", "so x is", Trust::Own, 2) };
    let wanted = candidate("x", &["d1", "d2"], &[]);
    assert!(corroborate(&wanted, &evidence(vec![dreamt, read]), 2).is_none());
}

#[test]
fn what_recurs_in_trusted_episodes_is_related() {
    let texts = ["put the milk on the table", "the milk is cold", "milk again"];
    let told: Vec<FetchedEpisode> =
        (0u32..).zip(texts).map(|(n, text)| episode(&format!("t{n}"), text, Trust::Own, n)).collect();
    let all = evidence(told);
    let wanted = candidate("x", &["t0", "t1", "t2"], &[]);
    let taught = lesson("nac", &wanted, &corroborate(&wanted, &all, 2).expect("trusted"));
    let related: Vec<(&str, &str)> =
        taught.relations.iter().map(|relation| (relation.kind.as_str(), relation.to.as_str())).collect();
    assert_eq!(related, [("RELATED_TO", "cup"), ("RELATED_TO", "anna")]);
    assert_eq!(taught.properties["recurring"], "milk");
}

struct Bench {
    source: RegionName,
    rig: Rig<SemanticPromoter>,
    lessons: Vec<ConceptLesson>,
}

impl Bench {
    fn new() -> Self {
        Self::of("nucleus_accumbens")
    }

    fn of(source: RegionName) -> Self {
        let settings = PromoterSettings {
            sources: vec![source],
            judge: Some("intraparietal_sulcus"),
            ..PromoterSettings::default()
        };
        let rig = Rig::new(settings, |bus, probe| {
            ear::<OfferCandidates>(bus, probe);
            ear::<JudgeSeries>(bus, probe);
            ear::<FetchEpisodes>(bus, probe);
            ear::<LearnConcepts>(bus, probe);
            ear::<PromotionEnded>(bus, probe);
        });
        Self { source, rig, lessons: Vec::new() }
    }

    /// Runs a promotion with these candidates and this evidence; `verdict` judges every series.
    fn promote(&mut self, candidates: &[PromotionCandidate], verdict: SeriesVerdict) -> PromotionEnded {
        self.offer(candidates, &[], verdict)
    }

    fn offer(
        &mut self,
        candidates: &[PromotionCandidate],
        contradicted: &[PromotionCandidate],
        verdict: SeriesVerdict,
    ) -> PromotionEnded {
        let turn = self.rig.send(Promote { by: "test".into() });
        assert_eq!(self.rig.heard::<OfferCandidates>().len(), 1);
        let offer = CandidatesOffered {
            source: self.source.into(),
            candidates: candidates.to_vec(),
            contradicted: contradicted.to_vec(),
        };
        self.rig.send_in(turn, Trust::Own, offer);
        for _ in 0..8 {
            if serde_json::to_value(self.rig.region()).expect("plain data")["run"].is_null() {
                return self.rig.heard::<PromotionEnded>().pop().expect("a report");
            }
            let mut out = self.out();
            let Some(next) = out.pop() else { break };
            match next {
                Out::Judge(asked) => {
                    out.push(Out::Judge(asked));
                    for one in out {
                        if let Out::Judge(asked) = one {
                            self.rig.send_in(turn, Trust::Own, judged(&asked, verdict));
                        }
                    }
                }
                Out::Fetch(asked) => {
                    assert!(asked.ids.len() <= FETCHED, "{} episodes", asked.ids.len());
                    let episodes = asked.ids.iter().enumerate();
                    // An outsider's episodes are named this way.
                    let trust = |id: &str| if id.starts_with('p') { Trust::Outside } else { Trust::Own };
                    let episodes =
                        episodes.map(|(n, id)| episode(id, &format!("moment {id}"), trust(id), n as u32)).collect();
                    self.rig.send_in(turn, Trust::Own, EpisodesFetched { episodes, missing: Vec::new() });
                }
                Out::Learn(lessons) => {
                    self.lessons.extend(lessons.lessons);
                    self.rig.send_in(turn, Trust::Own, ConceptsLearned::default());
                }
            }
        }
        panic!("the promotion did not end");
    }

    /// The room's open questions; only one kind is open at a time.
    fn out(&mut self) -> Vec<Out> {
        let mut all = Vec::new();
        let state = serde_json::to_value(self.rig.region()).expect("plain data");
        let phase = state["run"]["phase"].as_str().unwrap_or_default().to_owned();
        match phase.as_str() {
            "Judging" => all.extend(self.rig.heard::<JudgeSeries>().into_iter().map(Out::Judge)),
            "Checking" => {
                all.extend(self.rig.heard::<FetchEpisodes>().into_iter().map(|asked| Out::Fetch(Box::new(asked))))
            }
            "Teaching" => all.extend(self.rig.heard::<LearnConcepts>().into_iter().map(Out::Learn)),
            _ => {}
        }
        all
    }
}

enum Out {
    Judge(JudgeSeries),
    Fetch(Box<FetchEpisodes>),
    Learn(LearnConcepts),
}

fn judged(asked: &JudgeSeries, verdict: SeriesVerdict) -> SeriesJudged {
    SeriesJudged {
        series: asked.series.clone(),
        observations: asked.values.len(),
        verdict,
        p: 0.5,
        features: Vec::new(),
        median: 0.0,
        spread: 0.0,
        anomalies: Vec::new(),
        compared: None,
    }
}

#[test]
fn what_is_unsure_or_was_seen_too_rarely_is_no_concept() {
    let weak = |name: &str, confidence: f64, observations: u64| PromotionCandidate {
        confidence: Confidence::clamped(confidence),
        observations,
        ..candidate(name, &["e1", "e2", "e3"], &[])
    };
    let mut bench = Bench::new();
    let offered = [weak("unsure", 0.59, 9), weak("rare", 0.9, 2), weak("enough", 0.6, 3)];
    let ended = bench.promote(&offered, SeriesVerdict::Structured);
    let verdict = |name: &str| ended.verdicts.iter().find(|(of, _)| of == name).map(|(_, verdict)| *verdict);
    let too_weak = Some(PromotionVerdict::TooWeak);
    assert_eq!((verdict("unsure"), verdict("rare")), (too_weak, too_weak));
    assert_eq!(verdict("enough"), Some(PromotionVerdict::Promoted));
    let taught: Vec<&str> = bench.lessons.iter().map(|lesson| lesson.name.as_str()).collect();
    assert_eq!(taught, ["enough"]);
}

#[test]
fn a_pattern_of_the_statistician_needs_less_confidence() {
    let sure = |name: &str, confidence: f64| PromotionCandidate {
        confidence: Confidence::clamped(confidence),
        observations: 9,
        ..candidate(name, &["e1"], &[])
    };
    for (source, verdict) in [("statistician", PromotionVerdict::Promoted), ("fear_bridge", PromotionVerdict::TooWeak)]
    {
        let offered = [sure("half", 0.5), sure("faint", 0.39)];
        let ended = Bench::of(source).promote(&offered, SeriesVerdict::Structured);
        let wanted = [("half".to_owned(), verdict), ("faint".to_owned(), PromotionVerdict::TooWeak)];
        assert!(wanted.iter().all(|one| ended.verdicts.contains(one)), "{source}: {:?}", ended.verdicts);
    }
}

#[test]
fn no_episode_is_left_unfetched_however_many_there_are() {
    let of = |name: &str, count: usize| PromotionCandidate {
        episodes: (0..count).map(|n| format!("{name}{n}")).collect(),
        ..candidate(name, &["e", "e", "e"], &[])
    };
    let ended = Bench::new().promote(&[of("a", 300), of("b", 300), of("c", 300)], SeriesVerdict::Structured);
    assert!(ended.verdicts.iter().all(|(_, verdict)| *verdict == PromotionVerdict::Promoted), "{:?}", ended.verdicts);
    assert_eq!(ended.verdicts.len(), 3);
    // An outsider's episodes come first, and more of them than are fetched at once.
    let poisoned = of("p", 2 * FETCHED);
    let with = |witnesses: &[&str]| {
        let more = witnesses.iter().map(|id| (*id).to_owned());
        PromotionCandidate { episodes: poisoned.episodes.iter().cloned().chain(more).collect(), ..poisoned.clone() }
    };
    for (candidate, verdict) in [
        (poisoned.clone(), PromotionVerdict::Uncorroborated),
        (with(&["t1"]), PromotionVerdict::Uncorroborated),
        (with(&["t1", "t2"]), PromotionVerdict::Promoted),
    ] {
        let mut bench = Bench::new();
        let ended = bench.promote(&[candidate], SeriesVerdict::Structured);
        assert_eq!(ended.verdicts[0].1, verdict);
        let sources = bench.lessons.iter().flat_map(|lesson| &lesson.sources);
        assert!(sources.map(|source| source.id.as_str()).eq(match verdict {
            PromotionVerdict::Promoted => vec!["t1", "t2"],
            _ => vec![],
        }));
    }
}

#[test]
fn noise_is_left_and_a_short_series_is_let_through() {
    let mut bench = Bench::new();
    let coin = candidate("coin", &["e1", "e2"], &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0]);
    let short = candidate("short", &["e3"], &[1.0, 0.0, 1.0]);
    let ended = bench.promote(&[coin, short], SeriesVerdict::Random);
    let verdicts: BTreeMap<&str, PromotionVerdict> =
        ended.verdicts.iter().map(|(name, verdict)| (name.as_str(), *verdict)).collect();
    assert_eq!(verdicts["coin"], PromotionVerdict::Noise);
    assert_eq!(verdicts["short"], PromotionVerdict::Promoted);
    assert_eq!(bench.lessons.iter().map(|lesson| lesson.name.as_str()).collect::<Vec<_>>(), ["short"]);
}

#[test]
fn what_is_contradicted_is_told_anew_where_it_was_promoted_and_nowhere_else() {
    let mut bench = Bench::new();
    let seen = candidate("works", &["e1", "e2", "e3"], &[]);
    let turned = PromotionCandidate { definition: "Lately it goes wrong.".into(), ..seen.clone() };
    let of = |ended: &PromotionEnded| ended.verdicts[0].1;
    let against = std::slice::from_ref(&turned);
    assert_eq!(of(&bench.offer(&[], against, SeriesVerdict::Structured)), PromotionVerdict::NothingNew);
    bench.promote(std::slice::from_ref(&seen), SeriesVerdict::Structured);
    assert_eq!(of(&bench.offer(&[], against, SeriesVerdict::Structured)), PromotionVerdict::Promoted);
    // It holds again, although it wasn't observed again.
    assert_eq!(of(&bench.promote(&[seen], SeriesVerdict::Structured)), PromotionVerdict::Promoted);
    let told: Vec<Option<&str>> = bench.lessons.iter().map(|lesson| lesson.definition.as_deref()).collect();
    assert_eq!(told, [Some("works is so."), Some("Lately it goes wrong."), Some("works is so.")]);
}

#[test]
fn a_pattern_is_taught_again_only_after_more_of_it_was_seen() {
    let mut bench = Bench::new();
    let seen = candidate("works", &["e1", "e2", "e3"], &[]);
    let of = |ended: &PromotionEnded| ended.verdicts[0].1;
    assert_eq!(of(&bench.promote(std::slice::from_ref(&seen), SeriesVerdict::Structured)), PromotionVerdict::Promoted);
    assert_eq!(
        of(&bench.promote(std::slice::from_ref(&seen), SeriesVerdict::Structured)),
        PromotionVerdict::NothingNew
    );
    bench.rig.crash();
    assert_eq!(
        of(&bench.promote(std::slice::from_ref(&seen), SeriesVerdict::Structured)),
        PromotionVerdict::NothingNew
    );
    let more = PromotionCandidate { observations: 4, ..seen };
    assert_eq!(of(&bench.promote(&[more], SeriesVerdict::Structured)), PromotionVerdict::Promoted);
    assert_eq!(bench.lessons.len(), 2);
}

#[test]
fn what_lost_all_that_it_rested_on_is_learned_anew_of_what_comes_then() {
    let mut bench = Bench::new();
    let seen = PromotionCandidate { observations: 5, ..candidate("works", &["e1"], &[]) };
    bench.promote(std::slice::from_ref(&seen), SeriesVerdict::Structured);
    bench.rig.send(ConceptRemoved {
        id: "concept-1".into(),
        name: "Works".into(),
        reason: ConceptRemoved::UNFOUNDED.into(),
    });
    bench.rig.crash();
    let ended = bench.promote(std::slice::from_ref(&seen), SeriesVerdict::Structured);
    assert_eq!(ended.verdicts[0].1, PromotionVerdict::Promoted, "not: nothing new");
}

#[test]
fn what_a_person_had_forgotten_is_not_learned_again_by_itself() {
    let mut bench = Bench::new();
    let gone = ConceptRemoved { id: "concept-1".into(), name: "Works".into(), reason: "forgotten".into() };
    bench.rig.send(gone);
    let seen = candidate("works", &["e1"], &[]);
    let seen = PromotionCandidate { observations: 5, ..seen };
    let ended = bench.promote(std::slice::from_ref(&seen), SeriesVerdict::Structured);
    assert_eq!(ended.verdicts[0].1, PromotionVerdict::Forgotten);
    bench.rig.send(ConceptFormed {
        id: "concept-2".into(),
        name: "works".into(),
        category: String::new(),
        created: true,
        at: monday_morning(),
        confidence: Confidence::clamped(0.6),
        trust: Trust::Listed,
        provenance: ConceptProvenance::DirectIngestion,
    });
    assert_eq!(bench.promote(&[seen], SeriesVerdict::Structured).verdicts[0].1, PromotionVerdict::Promoted);
}

#[test]
fn silent_rooms_hold_it_up_no_longer_than_its_patience() {
    let mut bench = Bench::new();
    bench.rig.send(Promote { by: "test".into() });
    bench.rig.pass(Duration::from_secs(3));
    bench.rig.pass(Duration::from_secs(3));
    let ended = bench.rig.heard::<PromotionEnded>().pop().expect("it ends");
    assert!(ended.reason.is_some_and(|why| why.contains("did not answer")));
    assert!(!ended.unheard.is_empty(), "whoever asked can ask again");
    bench.rig.send(Promote { by: "test".into() });
    bench.rig.send(Promote { by: "other".into() });
    assert!(bench.rig.heard::<PromotionEnded>()[0].reason.as_deref().is_some_and(|why| why.contains("under way")));
}

#[test]
fn who_asks_while_it_promotes_by_itself_gets_that_report() {
    let mut bench = Bench::new();
    bench.rig.send(EpisodeStored {
        episode: "e1".into(),
        at: monday_morning(),
        complete: true,
        reasons: Vec::new(),
        salience: Salience::clamped(0.5),
        repeats: None,
    });
    bench.rig.pass(Duration::from_secs(600));
    assert_eq!(bench.rig.heard::<OfferCandidates>().len(), 1);
    bench.rig.send(Promote { by: "sleep".into() });
    assert!(bench.rig.heard::<PromotionEnded>().is_empty() && bench.rig.heard::<OfferCandidates>().is_empty());
    bench.rig.pass(Duration::from_secs(6));
    assert_eq!(bench.rig.heard::<PromotionEnded>().len(), 1);
}

#[test]
fn it_promotes_by_itself_when_nothing_happens_any_more_and_then_rests() {
    let mut bench = Bench::new();
    bench.rig.pass(Duration::from_secs(86_400));
    assert!(bench.rig.heard::<OfferCandidates>().is_empty(), "nothing happened, so nothing is asked");
    bench.rig.send(EpisodeStored {
        episode: "e1".into(),
        at: monday_morning(),
        complete: true,
        reasons: Vec::new(),
        salience: Salience::clamped(0.5),
        repeats: None,
    });
    bench.rig.pass(Duration::from_secs(599));
    assert!(bench.rig.heard::<OfferCandidates>().is_empty());
    bench.rig.pass(Duration::from_secs(1));
    assert_eq!(bench.rig.heard::<OfferCandidates>().len(), 1);
    bench.rig.pass(Duration::from_secs(86_400));
    bench.rig.pass(Duration::from_secs(86_400));
    assert!(bench.rig.heard::<OfferCandidates>().is_empty());
}
