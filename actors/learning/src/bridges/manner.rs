//! What the communication bridge offers as general knowledge: how people who may command want to be spoken to.

use std::collections::BTreeMap;

use maxim_bus::Trust;
use maxim_bus::signals::promotion::{CandidatesOffered, OfferCandidates, PromotionCandidate};
use maxim_bus::units::Confidence;

use super::communication::{CommunicationBridge, Person};
use maxim_region::{Hears, Pulse, Region};

/// Messages are welcome from this value on, 0 to 1; as far above ½ as the limit for brevity is below it.
const WELCOME: f64 = 0.65;

/// None for a stranger, whose reactions anybody can fake, and for a person who was neither pleased nor displeased.
fn candidate(who: &str, person: &Person) -> Option<PromotionCandidate> {
    let (channel, sender) = who.split_once('/')?;
    if person.trust.is_none_or(|trust| trust < Trust::Listed) {
        return None;
    }
    let (value, observations) = (person.welcome.value, u64::from(person.welcome.observations));
    let (manner, sureness, says) = match value {
        _ if person.brief() => ("brief", 1.0 - value, "wants few words: more were unwelcome"),
        _ if value >= WELCOME => ("welcoming", value, "is glad of messages and answers them"),
        _ => return None,
    };
    Some(PromotionCandidate {
        name: format!("manner with {sender}"),
        category: "manner".into(),
        definition: format!("{sender} (on {channel}) {says}, as {observations} reactions said."),
        confidence: Confidence::clamped(sureness),
        observations,
        episodes: person.evidence.iter().cloned().collect(),
        properties: BTreeMap::from([
            ("person".to_owned(), sender.to_owned()),
            ("channel".to_owned(), channel.to_owned()),
            ("manner".to_owned(), manner.to_owned()),
        ]),
        relations: Vec::new(),
        sources: Vec::new(),
        series: Vec::new(),
    })
}

impl Hears<OfferCandidates> for CommunicationBridge {
    fn hear(&self, asked: &OfferCandidates, pulse: &mut Pulse<'_, Self>) {
        let found = self.people.iter().filter_map(|(who, person)| candidate(who, person));
        let is_strong = |one: &PromotionCandidate| {
            one.confidence.get() >= asked.min_confidence && one.observations >= asked.min_observations
        };
        let candidates = found.filter(is_strong).collect();
        pulse.reply(CandidatesOffered { source: Self::NAME.into(), candidates, contradicted: Vec::new() });
    }
}
