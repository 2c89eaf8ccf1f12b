//! Activation over all layers, one hop at a time. Each hop uses both the edges of this room and the associations of
//! the hippocampus.

use std::collections::BTreeMap;

use maxim_bus::signals::concepts::{Layer, LayerActivation, MemoryRef};
use serde::{Deserialize, Serialize};

use crate::hippocampus::spreading::Spreading;

/// The graph stores activation with fewer digits: a smaller difference counts as none.
const SAME: f64 = 1e-6;
/// Episodes whose associations are followed in a hop, the strongest.
const MOST: usize = 256;

/// The present activation, and where it continues from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wave {
    reached: Vec<(MemoryRef, f64)>,
    front: Vec<(MemoryRef, f64)>,
    seeds: usize,
    hops: usize,
}

impl Wave {
    pub fn new(seeds: &[(MemoryRef, f64)], hops: usize) -> Self {
        let mut strongest: BTreeMap<&MemoryRef, f64> = BTreeMap::new();
        for (seed, start) in seeds {
            let held = strongest.entry(seed).or_insert(*start);
            *held = held.max(*start);
        }
        let front: Vec<_> = strongest.into_iter().map(|(seed, start)| (seed.clone(), start)).collect();
        Self { reached: front.clone(), seeds: front.len(), front, hops }
    }

    pub fn front(&self) -> &[(MemoryRef, f64)] {
        &self.front
    }

    pub fn is_over(&self) -> bool {
        self.hops == 0 || self.front.is_empty()
    }

    /// Episodes whose associations the next hop needs.
    pub fn episodes(&self) -> Vec<String> {
        let mut episodes: Vec<_> = self.front.iter().filter(|(record, _)| record.layer == Layer::Hippocampus).collect();
        episodes.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        episodes.into_iter().take(MOST).map(|(record, _)| record.id.clone()).collect()
    }

    /// One hop: what the graph reaches, and the associations of the episodes, in the order of [`Wave::episodes`].
    pub fn hop(&mut self, by_graph: Vec<(MemoryRef, f64)>, associated: &[Vec<(String, f64)>], spreading: &Spreading) {
        let held = self.front.iter().filter(|(record, _)| record.layer == Layer::Hippocampus);
        let of: BTreeMap<&str, f64> = held.map(|(record, a)| (record.id.as_str(), *a)).collect();
        let episodes = self.episodes();
        let by_association = episodes.iter().zip(associated).flat_map(|(episode, next)| {
            let share = of.get(episode.as_str()).copied().unwrap_or(0.0) * spreading.decay;
            next.iter().map(move |(id, weight)| (MemoryRef::new(Layer::Hippocampus, id.clone()), share * weight))
        });
        let mut children: BTreeMap<MemoryRef, f64> = BTreeMap::new();
        for (record, activation) in by_association.filter(|(_, child)| *child >= spreading.cut_off).chain(by_graph) {
            let held = children.entry(record).or_insert(activation);
            *held = held.max(activation);
        }
        let mut known: BTreeMap<MemoryRef, usize> =
            self.reached.iter().enumerate().map(|(at, (record, _))| (record.clone(), at)).collect();
        self.front.clear();
        for (record, activation) in children {
            match known.get(&record) {
                Some(at) if self.reached[*at].1 + SAME >= activation => continue,
                Some(at) => self.reached[*at].1 = activation,
                None => {
                    known.insert(record.clone(), self.reached.len());
                    self.reached.push((record.clone(), activation));
                }
            }
            self.front.push((record, activation));
        }
        self.hops -= 1;
    }

    /// The result by layer, the strongest first, at most `limit` each; without the seeds.
    pub fn by_layer(&self, limit: impl Fn(Layer) -> usize) -> Vec<LayerActivation> {
        let mut reached = self.reached[self.seeds..].to_vec();
        reached.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let mut layers: BTreeMap<Layer, Vec<(String, f64)>> = BTreeMap::new();
        for (record, activation) in reached {
            let of_layer = layers.entry(record.layer).or_default();
            if of_layer.len() < limit(record.layer) {
                of_layer.push((record.id, activation));
            }
        }
        layers.into_iter().map(|(layer, records)| LayerActivation { layer, records }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn episode(id: &str) -> MemoryRef {
        MemoryRef::new(Layer::Hippocampus, id)
    }

    #[test]
    fn the_worked_case_holds_over_associations_and_the_graph_alike() {
        // 1.0 → (w 0.81, an association) 0.405 → (w 0.75, over the graph) 0.151875.
        let mut wave = Wave::new(&[(episode("a"), 0.5), (episode("a"), 1.0)], 3);
        assert_eq!(wave.episodes(), ["a"]);
        wave.hop(vec![(episode("a"), 1.0)], &[vec![("b".into(), 0.81), ("far".into(), 0.09)]], &Spreading::default());
        assert_eq!(wave.front(), [(episode("b"), 0.405)]);
        let concept = MemoryRef::new(Layer::Atl, "c");
        wave.hop(
            vec![(concept.clone(), 0.151_875), (episode("b"), 0.405_000_001)],
            &[vec![("a".into(), 0.81)]],
            &Spreading::default(),
        );
        assert_eq!(wave.front(), [(concept, 0.151_875)], "what is weaker than before goes no further");
        wave.hop(Vec::new(), &[], &Spreading::default());
        assert!(wave.is_over());
        let layers = wave.by_layer(|_| 5);
        let shown: Vec<(Layer, usize)> = layers.iter().map(|layer| (layer.layer, layer.records.len())).collect();
        assert_eq!(shown.len(), 2, "{layers:?}");
        assert!(shown.contains(&(Layer::Hippocampus, 1)) && shown.contains(&(Layer::Atl, 1)));
    }
}
