//! Learned links as a list, for introspection.

use jiff::Timestamp;
use maxim_bus::signals::introspection::{LinkShown, LinksListed, ListLinks};
use maxim_bus::units::Valence;

use super::model::LinkTable;

/// Default number of links.
const LIMIT: usize = 5;
/// Episodes shown per link.
const EPISODES: usize = 5;

/// The matching links, those with the most observations first; ties by the latest.
pub fn list(links: &LinkTable, wanted: &ListLinks, now: Timestamp) -> LinksListed {
    let has = |name: &str, part: &Option<String>| {
        part.as_ref().is_none_or(|part| name.to_lowercase().contains(&part.trim().to_lowercase()))
    };
    let law = links.law();
    let mut found: Vec<LinkShown> = Vec::new();
    for (event, record) in links.records().filter(|(event, _)| has(event, &wanted.event)) {
        let valence = Valence::of(record.value());
        if wanted.valence.is_some_and(|wanted| wanted != valence) {
            continue;
        }
        for link in &record.links {
            let is_of =
                wanted.memory_id.as_ref().is_none_or(|id| link.episodes.iter().any(|episode| **episode == **id));
            let is_then = wanted.time_after.is_none_or(|earliest| link.last >= earliest)
                && wanted.time_before.is_none_or(|latest| link.last <= latest);
            if !has(&link.outcome.name, &wanted.outcome) || !is_of || !is_then {
                continue;
            }
            let sure = law.confidence(link.observations).get() * law.recency(link.last, now);
            found.push(LinkShown {
                event: event.to_owned(),
                outcome: link.outcome.name.clone(),
                observations: link.observations,
                strength: link.strength,
                value: record.value(),
                valence,
                confidence: maxim_bus::units::Confidence::clamped(sure),
                delay_s: link.delay.estimate().map(|delay| delay.median),
                last: link.last,
                episodes: link.episodes.iter().rev().take(EPISODES).map(|id| id.to_string()).collect(),
            });
        }
    }
    let order = |link: &LinkShown| (std::cmp::Reverse(link.observations), std::cmp::Reverse(link.last));
    found.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| (&a.event, &a.outcome).cmp(&(&b.event, &b.outcome))));
    let all = found.len();
    found.truncate(if wanted.limit == 0 { LIMIT } else { wanted.limit });
    LinksListed { links: found, found: all }
}

#[cfg(test)]
mod tests {
    use maxim_bus::Provenance;
    use serde_json::{Map, json};

    use super::super::event::{EventKind, OutcomeKind};
    use super::super::model::Observation;
    use super::*;

    fn table() -> LinkTable {
        let mut links = LinkTable::new(0.14);
        let seen = [("bash", true, "e1"), ("bash", true, "e2"), ("bash", false, "e3"), ("glob", true, "e4")];
        for (second, (tool, success, episode)) in (0i64..).zip(seen) {
            let params: Map<_, _> = json!({"command": "ls"}).as_object().expect("an object").clone();
            links.observe(&Observation {
                event: &EventKind::of(tool, &params),
                context: &[],
                outcome: &OutcomeKind::of_success(Some(success)),
                cues: &[],
                around: &[],
                delay: Some(0.5),
                episode: Some(episode),
                provenance: Provenance::OwnExperience,
                at: Timestamp::from_second(second).expect("a time"),
                reward: None,
            });
        }
        links
    }

    fn names(wanted: &ListLinks) -> Vec<(String, u32)> {
        let now = Timestamp::from_second(10).expect("a time");
        let listed = list(&table(), wanted, now);
        listed
            .links
            .into_iter()
            .map(|link| (link.event.split('(').next().unwrap_or_default().to_owned(), link.observations))
            .collect()
    }

    #[test]
    fn links_come_by_how_often_they_were_seen_and_can_be_chosen() {
        let all = ListLinks::default();
        assert_eq!(names(&all).iter().map(|(_, count)| *count).collect::<Vec<_>>(), [2, 1, 1]);
        assert_eq!(names(&ListLinks { event: Some("GLOB".into()), ..all.clone() }).len(), 1);
        assert_eq!(names(&ListLinks { memory_id: Some("e3".into()), ..all.clone() }).len(), 1);
        assert_eq!(names(&ListLinks { memory_id: Some("e9".into()), ..all.clone() }).len(), 0);
        let at = |second: i64| Some(Timestamp::from_second(second).expect("a time"));
        assert_eq!(names(&ListLinks { time_after: at(2), ..all.clone() }).len(), 2);
        assert_eq!(names(&ListLinks { time_before: at(2), ..all.clone() }).len(), 2);
        assert_eq!(names(&ListLinks { time_after: at(1), time_before: at(2), ..all.clone() }).len(), 2);
        assert_eq!(names(&ListLinks { time_after: at(4), ..all.clone() }).len(), 0);
        let one = list(&table(), &ListLinks { limit: 1, ..all }, Timestamp::from_second(10).expect("a time"));
        assert_eq!((one.links.len(), one.found), (1, 3));
        assert_eq!(one.links[0].episodes, ["e2", "e1"]);
        assert_eq!(one.links[0].delay_s, Some(0.5));
    }

    #[test]
    fn a_valence_chooses_by_what_the_event_is_worth() {
        let good = ListLinks { valence: Some(Valence::Positive), ..ListLinks::default() };
        let bad = ListLinks { valence: Some(Valence::Negative), ..ListLinks::default() };
        let neutral = ListLinks { valence: Some(Valence::Neutral), ..ListLinks::default() };
        let counts = [good, bad, neutral].map(|wanted| names(&wanted).len());
        assert_eq!(counts.iter().sum::<usize>(), 3, "each link is of one valence: {counts:?}");
    }
}
