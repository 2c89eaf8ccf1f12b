//! Relations found by other rooms: what works with what, which metrics go together, and what keeps a rhythm.

use std::collections::BTreeMap;

use maxim_bus::Trust;
use maxim_bus::signals::concepts::{ConceptLesson, ConceptProvenance, Layer, MemoryRef, RelationLesson};
use maxim_bus::signals::numbers::MetricsCorrelated;
use maxim_bus::signals::recall::PhaseLocked;
use maxim_bus::signals::skill::ExecutesWithLearned;

use super::region::AnteriorTemporalLobe;
use maxim_bus::relations::{CORRELATES_WITH, EXECUTES_WITH, PHASE_LOCKED_TO, TRENDS_WITH};
use maxim_region::{Hears, Pulse};

fn lesson(
    name: &str,
    category: &str,
    trust: Trust,
    sources: Vec<MemoryRef>,
    relation: RelationLesson,
) -> ConceptLesson {
    ConceptLesson {
        name: name.into(),
        category: category.into(),
        definition: None,
        properties: BTreeMap::new(),
        provenance: ConceptProvenance::AgentInference,
        trust,
        sources,
        passage: None,
        relations: vec![relation],
    }
}

fn relation(kind: &str, to: &str, category: &str, weight: f64) -> RelationLesson {
    RelationLesson { kind: kind.into(), to: to.into(), category: category.into(), weight, phase: None, coupling: None }
}

impl Hears<ExecutesWithLearned> for AnteriorTemporalLobe {
    fn hear(&self, learned: &ExecutesWithLearned, pulse: &mut Pulse<'_, Self>) {
        // Turns that succeeded. An outsider's turn teaches nothing here: its lesson is refused.
        let sources = learned.episodes.iter().map(|id| MemoryRef::new(Layer::Hippocampus, id.clone())).collect();
        let with = relation(EXECUTES_WITH, &learned.object, "object", learned.confidence.get());
        self.learn(&[lesson(&learned.tool, "tool", Trust::Own, sources, with)], pulse);
    }
}

impl Hears<MetricsCorrelated> for AnteriorTemporalLobe {
    fn hear(&self, found: &MetricsCorrelated, pulse: &mut Pulse<'_, Self>) {
        let [a, b] = &found.metrics;
        if !found.holds {
            self.unrelate(a, b, &[CORRELATES_WITH, TRENDS_WITH], pulse);
            return;
        }
        if !found.trends && self.unrelate(a, b, &[TRENDS_WITH], pulse) {
            return; // the correlation is known already
        }
        let with = relation(CORRELATES_WITH, &found.metrics[1], "metric", found.rho.abs());
        let trends = found.trends.then(|| RelationLesson { kind: TRENDS_WITH.into(), ..with.clone() });
        let mut taught = lesson(&found.metrics[0], "metric", found.trust.min(Trust::Own), Vec::new(), with);
        taught.relations.extend(trends);
        self.learn(&[taught], pulse);
    }
}

impl Hears<PhaseLocked> for AnteriorTemporalLobe {
    fn hear(&self, found: &PhaseLocked, pulse: &mut Pulse<'_, Self>) {
        let PhaseLocked { kind, clock, phase, coupling, holds } = found;
        if !holds {
            match self.known_by_rhythm_alone(kind, clock, pulse) {
                Some(number) => {
                    drop(self.remove(number, "it no longer follows a clock, and nothing else was known of it", pulse))
                }
                None => drop(self.unrelate(kind, clock, &[PHASE_LOCKED_TO], pulse)),
            }
            return;
        }
        let to = relation(PHASE_LOCKED_TO, clock, "rhythm", *coupling);
        let to = RelationLesson { phase: Some(*phase), coupling: Some(*coupling), ..to };
        self.learn(&[lesson(kind, "event", Trust::Own, Vec::new(), to)], pulse);
    }
}
