//! When a moment becomes an episode, and how it is linked.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use maxim_config::{SHARE, Shape, Span, section};

use super::compressed::compressed;
use super::model::{CaptureReason, EpisodicMemory, Provenance};
use super::spreading::Spreading;
use crate::section::Memory;
use maxim_language::{is_stop_word, words};

/// What makes a moment worth keeping, and when it is merged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaptureLaw {
    /// Minimum novelty for storing a moment.
    pub novel: f64,
    /// Minimum salience for storing a moment.
    pub salient: f64,
    /// Minimum pain for storing a moment.
    pub painful: f64,
    /// After this much experience, a moment is kept in any case.
    pub checkpoint: SignedDuration,
    /// An identical observation within this time updates the earlier episode.
    pub merge_within: SignedDuration,
}

impl From<&Memory> for CaptureLaw {
    fn from(keys: &Memory) -> Self {
        Self {
            novel: keys.capture_novelty,
            salient: keys.capture_salience,
            painful: keys.capture_pain,
            checkpoint: keys.capture_checkpoint.signed(),
            merge_within: keys.merge_window.signed(),
        }
    }
}

impl Default for CaptureLaw {
    fn default() -> Self {
        Self::from(&Memory::default())
    }
}

section! {
    /// How episodes are joined, and how activation spreads from them.
    LinkKeys = "hippocampus" {
        /// How much shared objects, people and words count in an association.
        association_overlap: f64 = "0.6", "share", SHARE;
        /// How much the same goal counts in an association.
        association_goal: f64 = "0.25", "share", SHARE;
        /// How much nearness in time counts in an association.
        association_proximity: f64 = "0.15", "share", SHARE;
        /// The weight from which an association is made.
        association_floor: f64 = "0.5", "share", SHARE;
        /// Associations that an episode makes when it is kept, at most.
        associations_max: u32 = "5", "edges", Shape::Integer { low: 0, high: 32 };
        /// The prediction error above which an outcome gets causes.
        surprise: f64 = "0.3", "share", SHARE;
        /// Causes of one outcome, at most.
        causes_max: u32 = "3", "edges", Shape::Integer { low: 0, high: 16 };
        /// A longer gap without episodes starts a new sitting.
        sitting_gap: Span = "30min", "time", Shape::Span { low: "1s", high: "1day" };
        /// Activation that is left after a hop over an edge of weight 1, here and over the layers of knowledge.
        spreading_decay: f64 = "0.5", "share", Shape::Real { low: 0.01, high: 1.0 };
        /// Hops from where activation begins, where nobody says how many.
        spreading_hops: u32 = "3", "hops", Shape::Integer { low: 1, high: 6 };
        /// Activation below this goes no further and isn't told.
        spreading_floor: f64 = "0.05", "share", Shape::Real { low: 0.001, high: 1.0 };
    }
}

/// How an episode is linked, and how activation spreads from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkLaw {
    /// Weights of overlap, goal and proximity in an association.
    pub overlap: f64,
    pub goal: f64,
    pub proximity: f64,
    /// Minimum weight of an association.
    pub floor: f64,
    /// Maximum number of associations made at capture.
    pub associations: usize,
    /// |RPE| above which causal edges are made.
    pub surprise: f64,
    /// Maximum number of causes of one outcome.
    pub causes: usize,
    /// A longer gap starts a new session.
    pub sitting_gap: SignedDuration,
    pub spreading: Spreading,
}

impl From<&LinkKeys> for LinkLaw {
    fn from(keys: &LinkKeys) -> Self {
        Self {
            overlap: keys.association_overlap,
            goal: keys.association_goal,
            proximity: keys.association_proximity,
            floor: keys.association_floor,
            associations: keys.associations_max as usize,
            surprise: keys.surprise,
            causes: keys.causes_max as usize,
            sitting_gap: keys.sitting_gap.signed(),
            spreading: Spreading {
                decay: keys.spreading_decay,
                hops: keys.spreading_hops as usize,
                cut_off: keys.spreading_floor,
            },
        }
    }
}

impl Default for LinkLaw {
    fn default() -> Self {
        Self::from(&LinkKeys::default())
    }
}

/// The surroundings of a moment that matter for capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings<'a> {
    /// The active goal at the previous moment.
    pub goal_before: Option<&'a str>,
    /// When the last episode was kept; `None` if none was.
    pub last_kept: Option<Timestamp>,
}

/// The reasons to keep this moment; empty: it isn't kept.
pub fn capture_reasons(episode: &EpisodicMemory, around: &Surroundings, law: &CaptureLaw) -> Vec<CaptureReason> {
    let due = around.last_kept.is_none_or(|last| episode.created.duration_since(last) >= law.checkpoint);
    let reasons = [
        (episode.person_involved, CaptureReason::PersonInvolved),
        (episode.novelty.get() >= law.novel, CaptureReason::Novel),
        (episode.salience.get() >= law.salient, CaptureReason::Salient),
        (episode.goal() != around.goal_before, CaptureReason::GoalChanged),
        (episode.success() == Some(false), CaptureReason::ActionFailed),
        (episode.pain.get() >= law.painful, CaptureReason::Pain),
        (due, CaptureReason::Checkpoint),
    ];
    reasons.into_iter().filter_map(|(holds, reason)| holds.then_some(reason)).collect()
}

/// True if `new` is the observation `old` again, within the law's time: same text, objects, people, source, context and
/// action.
pub fn is_same_observation(old: &EpisodicMemory, new: &EpisodicMemory, law: &CaptureLaw) -> bool {
    new.created.duration_since(old.created).abs() <= law.merge_within
        && old.perception == new.perception
        && old.trust == new.trust
        && old.context == new.context
        && old.action == new.action
        && old.success() == new.success()
}

/// True if a line repeats the kept episode of its id. `is_timed`: the line gives its time.
pub fn is_told_again(kept: &EpisodicMemory, told: &EpisodicMemory, is_timed: bool) -> bool {
    let small = kept.live_edges.map(|edges| compressed(told, edges));
    let told = small.as_ref().unwrap_or(told);
    // The id of a repetition leads to the repeated episode, which is a little earlier.
    let is_own = kept.id == told.id;
    let is_then = !is_timed || !is_own || kept.created.as_microsecond() == told.created.as_microsecond();
    // An episode that was seen again has the higher values of both, and the later outcome.
    let is_untouched = kept.access_count == 0 && small.is_none() && is_own;
    let is_as_strong = (kept.salience, kept.novelty, &kept.outcome) == (told.salience, told.novelty, &told.outcome);
    is_then
        && kept.perception == told.perception
        && kept.context == told.context
        && kept.action == told.action
        && kept.success() == told.success()
        && (!is_untouched || is_as_strong)
}

/// True if a whole record shows the moment that is kept under its id. Either may have been used, pinned, seen again,
/// ended or compressed since the other was written.
pub fn is_same_moment(kept: &EpisodicMemory, told: &EpisodicMemory) -> bool {
    let as_small_as = |one: &EpisodicMemory, other: &EpisodicMemory| match other.live_edges {
        Some(edges) if !one.is_compressed() => compressed(one, edges),
        _ => one.clone(),
    };
    let (kept, told) = (as_small_as(kept, told), as_small_as(told, kept));
    let has_ended = !kept.is_open() && !told.is_open();
    let is_seen_again = kept.access_count != told.access_count;
    kept.created.as_microsecond() == told.created.as_microsecond()
        && kept.perception == told.perception
        && kept.context == told.context
        && (!has_ended || kept.action == told.action)
        && (!has_ended || is_seen_again || kept.success() == told.success())
}

/// Merges the later observation into the earlier episode: it was seen again, and gets the higher values of both.
pub fn merge_observation(old: &mut EpisodicMemory, new: &EpisodicMemory) {
    old.last_accessed = old.last_accessed.max(new.created);
    old.access_count = old.access_count.saturating_add(1);
    if new.salience > old.salience {
        old.salience = new.salience;
    }
    if new.novelty > old.novelty {
        old.novelty = new.novelty;
    }
    if new.pain > old.pain {
        old.pain = new.pain;
    }
    old.person_involved |= new.person_involved;
    if new.outcome.is_some() {
        old.outcome.clone_from(&new.outcome);
    }
    for reason in &new.reasons {
        if !old.reasons.contains(reason) {
            old.reasons.push(*reason);
        }
    }
}

/// True if an episode can be a source of new knowledge: inferences and dreams don't count as experience.
pub fn is_experience(episode: &EpisodicMemory) -> bool {
    matches!(episode.provenance, Provenance::OwnExperience | Provenance::Person | Provenance::Document)
}

/// The sitting of a moment, from the previous moment's sitting and both times. A jump back in time by more than the gap
/// also starts a new sitting.
pub fn sitting_after(before: Option<(u32, Timestamp)>, now: Timestamp, law: &LinkLaw) -> u32 {
    match before {
        None => 0,
        Some((sitting, then)) if now.duration_since(then).abs() <= law.sitting_gap => sitting,
        Some((sitting, _)) => sitting.saturating_add(1),
    }
}

/// |A ∩ B| / |A ∪ B|, case ignored; `None` if either is empty.
pub fn jaccard<'a>(a: impl IntoIterator<Item = &'a str>, b: impl IntoIterator<Item = &'a str>) -> Option<f64> {
    let a: BTreeSet<String> = a.into_iter().map(str::to_lowercase).collect();
    let b: BTreeSet<String> = b.into_iter().map(str::to_lowercase).collect();
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let shared = a.intersection(&b).count();
    Some(shared as f64 / (a.len() + b.len() - shared) as f64)
}

/// The three parts of an association.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AssociationParts {
    /// 0 to 1.
    pub overlap: f64,
    /// 0 to 1.
    pub goal: f64,
    /// 0 to 1.
    pub proximity: f64,
}

impl AssociationParts {
    /// Weight of the edge: 0.60·overlap + 0.25·goal + 0.15·proximity, or with the law's weights.
    pub fn weight(self, law: &LinkLaw) -> f64 {
        law.overlap * self.overlap + law.goal * self.goal + law.proximity * self.proximity
    }
}

/// How two episodes belong together. `text_similarity` is the floor-corrected cosine of their texts in [0, 1], `None`
/// if one has no text. Overlap is the mean of the parts that both have. People alone are no overlap: two turns of one
/// speaker may be about different things.
pub fn association(a: &EpisodicMemory, b: &EpisodicMemory, text_similarity: Option<f64>) -> AssociationParts {
    let shared = |a: &[String], b: &[String]| jaccard(a.iter().map(String::as_str), b.iter().map(String::as_str));
    let objects = shared(&a.perception.objects, &b.perception.objects);
    let people = shared(&a.perception.people, &b.perception.people);
    let overlap = overlap(objects, people, text_similarity);
    AssociationParts { overlap, goal: goal_similarity(a.goal(), b.goal()), proximity: proximity(a.created, b.created) }
}

/// Mean of the given likenesses, each 0 to 1; 0 if both have nothing but people.
pub fn overlap(objects: Option<f64>, people: Option<f64>, text: Option<f64>) -> f64 {
    if objects.is_none() && text.is_none() {
        return 0.0;
    }
    let (mut sum, mut count) = (0.0, 0.0);
    for part in [objects, people, text].into_iter().flatten() {
        sum += part.clamp(0.0, 1.0);
        count += 1.0;
    }
    sum / count
}

/// 1 for equal goals, else the Jaccard of their content words; 0 if one has none.
pub fn goal_similarity(a: Option<&str>, b: Option<&str>) -> f64 {
    let (Some(a), Some(b)) = (a, b) else {
        return 0.0;
    };
    if a == b {
        return 1.0;
    }
    let content = |goal| words(goal).into_iter().map(|w| w.text).filter(|w| !is_stop_word(w)).collect::<Vec<_>>();
    let (a, b) = (content(a), content(b));
    jaccard(a.iter().map(String::as_str), b.iter().map(String::as_str)).unwrap_or(0.0)
}

/// 1 / (1 + hours between them).
pub fn proximity(a: Timestamp, b: Timestamp) -> f64 {
    1.0 / (1.0 + a.duration_since(b).abs().as_secs_f64() / 3600.0)
}

/// The associations to make: the strongest first, at most five, each of at least 0.5; ties by target.
pub fn choose_associations<T: Ord>(candidates: impl IntoIterator<Item = (T, f64)>, law: &LinkLaw) -> Vec<(T, f64)> {
    let mut strong: Vec<(T, f64)> = candidates.into_iter().filter(|(_, w)| *w >= law.floor).collect();
    strong.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    strong.truncate(law.associations);
    strong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hippocampus::model::Outcome;
    use maxim_bus::units::{Intensity, Novelty, Salience};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_767_600_000 + seconds).expect("a time")
    }

    fn episode(seconds: i64) -> EpisodicMemory {
        EpisodicMemory::new("e", at(seconds))
    }

    fn reasons(change: impl FnOnce(&mut EpisodicMemory)) -> Vec<CaptureReason> {
        let mut moment = episode(100);
        change(&mut moment);
        capture_reasons(&moment, &Surroundings { goal_before: None, last_kept: Some(at(0)) }, &CaptureLaw::default())
    }

    #[test]
    fn the_thresholds_are_the_laws_own() {
        let mut moment = episode(100);
        moment.salience = Salience::clamped(0.5);
        let around = Surroundings { goal_before: None, last_kept: Some(at(0)) };
        assert_eq!(capture_reasons(&moment, &around, &CaptureLaw::default()), []);
        let open = CaptureLaw { salient: 0.5, ..CaptureLaw::default() };
        assert_eq!(capture_reasons(&moment, &around, &open), [CaptureReason::Salient]);
        let often = CaptureLaw { checkpoint: SignedDuration::from_secs(100), ..CaptureLaw::default() };
        assert_eq!(capture_reasons(&moment, &around, &often), [CaptureReason::Checkpoint]);
        let never = CaptureLaw { merge_within: SignedDuration::ZERO, ..CaptureLaw::default() };
        assert!(!is_same_observation(&episode(0), &episode(1), &never));
    }

    #[test]
    fn each_reason_alone_keeps_a_moment_and_none_lets_it_pass() {
        use CaptureReason::*;
        assert_eq!(reasons(|_| ()), []);
        assert_eq!(reasons(|e| e.person_involved = true), [PersonInvolved]);
        assert_eq!(reasons(|e| e.novelty = Novelty::clamped(0.7)), [Novel]);
        assert_eq!(reasons(|e| e.salience = Salience::clamped(0.7)), [Salient]);
        assert_eq!(reasons(|e| e.salience = Salience::clamped(0.69)), []);
        assert_eq!(reasons(|e| e.context.goal = Some("x".into())), [GoalChanged]);
        let outcome = |success| Some(Outcome { success, result: String::new() });
        assert_eq!(reasons(|e| e.outcome = outcome(Some(false))), [ActionFailed]);
        assert_eq!(reasons(|e| e.outcome = outcome(None)), []);
        assert_eq!(reasons(|e| e.pain = Intensity::clamped(0.4)), [Pain]);
        assert_eq!(reasons(|e| e.created = at(300)), [Checkpoint]);
    }

    #[test]
    fn the_same_observation_within_half_a_minute_is_merged() {
        let mut first = episode(0);
        let mut again = episode(30);
        let law = CaptureLaw::default();
        assert!(is_same_observation(&first, &again, &law));
        assert!(!is_same_observation(&first, &episode(31), &law));
        again.salience = Salience::clamped(0.5);
        merge_observation(&mut first, &again);
        assert_eq!((first.salience.get(), first.access_count, first.last_accessed), (0.5, 1, at(30)));
        again.perception.text = "other".into();
        assert!(!is_same_observation(&first, &again, &law));
    }

    #[test]
    fn a_gap_of_more_than_half_an_hour_starts_a_sitting() {
        assert_eq!(sitting_after(None, at(0), &LinkLaw::default()), 0);
        assert_eq!(sitting_after(Some((4, at(0))), at(1800), &LinkLaw::default()), 4);
        assert_eq!(sitting_after(Some((4, at(0))), at(1801), &LinkLaw::default()), 5);
        assert_eq!(sitting_after(Some((4, at(9000))), at(0), &LinkLaw::default()), 5);
    }

    #[test]
    fn association_weight_is_the_sum_of_its_weighted_parts() {
        let parts =
            |overlap, goal, proximity| AssociationParts { overlap, goal, proximity }.weight(&LinkLaw::default());
        assert!((parts(1.0, 1.0, 1.0) - 1.0).abs() < 1e-9);
        assert!((parts(1.0, 0.0, 0.0) - 0.6).abs() < 1e-9);
        assert!((parts(0.0, 1.0, 0.0) - 0.25).abs() < 1e-9);
        assert!((parts(0.0, 0.0, 1.0) - 0.15).abs() < 1e-9);
        assert!((proximity(at(0), at(3600)) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn overlap_is_the_mean_of_what_both_have_and_people_alone_are_none() {
        let (mut a, mut b) = (episode(0), episode(0));
        a.perception.people = vec!["Anna".into()];
        b.perception.people = vec!["anna".into()];
        assert_eq!(association(&a, &b, None).overlap, 0.0);
        assert_eq!(association(&a, &b, Some(0.5)).overlap, 0.75);
        a.perception.objects = vec!["cup".into(), "tea".into()];
        b.perception.objects = vec!["Cup".into()];
        assert_eq!(association(&a, &b, None).overlap, 0.75);
        assert_eq!(association(&a, &b, Some(0.0)).overlap, 0.5);
    }

    #[test]
    fn goals_are_compared_by_their_content_words() {
        assert_eq!(goal_similarity(Some("fetch the cup"), Some("fetch the cup")), 1.0);
        assert_eq!(goal_similarity(Some("fetch the cup"), Some("fetch a lamp")), 1.0 / 3.0);
        assert_eq!(goal_similarity(None, None), 0.0);
    }

    #[test]
    fn only_the_five_strongest_associations_are_made() {
        let made = choose_associations((0..9).map(|i| (i, 0.45 + 0.05 * f64::from(i))), &LinkLaw::default());
        assert_eq!(made.iter().map(|(i, _)| *i).collect::<Vec<_>>(), [8, 7, 6, 5, 4]);
        assert!(choose_associations([(1, 0.49)], &LinkLaw::default()).is_empty());
    }
}
