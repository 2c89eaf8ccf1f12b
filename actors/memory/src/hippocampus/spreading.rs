//! Spreading activation (Collins & Loftus 1975): breadth first from seeds, maximum over paths.

use std::collections::BTreeMap;
use std::hash::Hash;

use hashbrown::HashMap;

use super::law::LinkLaw;

/// How activation spreads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spreading {
    /// Activation left after a hop over an edge of weight 1, in (0, 1].
    pub decay: f64,
    /// Maximum number of hops from a seed.
    pub hops: usize,
    /// Activation below this is not passed on and not reported.
    pub cut_off: f64,
}

impl Default for Spreading {
    fn default() -> Self {
        LinkLaw::default().spreading
    }
}

impl Spreading {
    /// Activation of every node that the seeds reach, including the seeds. A node's neighbours are visited through
    /// `edges`, which calls its argument with each neighbour and the edge's weight in [0, 1].
    ///
    /// child = parent · decay · weight; of several paths the maximum counts, so cycles can't amplify themselves.
    pub fn from_seeds<N: Ord + Hash + Copy>(
        &self,
        seeds: impl IntoIterator<Item = (N, f64)>,
        mut edges: impl FnMut(N, &mut dyn FnMut(N, f64)),
    ) -> BTreeMap<N, f64> {
        let mut activation = HashMap::new();
        let mut frontier: Vec<(N, f64)> = seeds.into_iter().collect();
        frontier.retain(|(node, start)| raise(&mut activation, *node, *start));
        for _ in 0..self.hops {
            // A node that rose several times within a hop passes on its final value.
            frontier.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.total_cmp(&a.1)));
            frontier.dedup_by_key(|(node, _)| *node);
            let mut next = Vec::new();
            for (node, parent) in frontier {
                let share = parent * self.decay;
                if share < self.cut_off {
                    continue; // no weight exceeds 1
                }
                edges(node, &mut |neighbour, weight| {
                    let child = share * weight;
                    // A later and weaker path also has fewer hops left, so it can't win anywhere.
                    if child >= self.cut_off && raise(&mut activation, neighbour, child) {
                        next.push((neighbour, child));
                    }
                });
            }
            frontier = next;
        }
        activation.into_iter().collect()
    }
}

/// True if the node's activation rose.
fn raise<N: Eq + Hash>(activation: &mut HashMap<N, f64>, node: N, to: f64) -> bool {
    let known = activation.entry(node).or_insert(f64::NEG_INFINITY);
    let rises = to > *known;
    if rises {
        *known = to;
    }
    rises
}

/// The strongest first, ties by node. The caller leaves out the seeds.
pub fn strongest<N: Ord + Copy>(activation: &BTreeMap<N, f64>, limit: usize) -> Vec<(N, f64)> {
    let mut ranked: Vec<(N, f64)> = activation.iter().map(|(n, a)| (*n, *a)).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    ranked.truncate(limit);
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(edges: &[(u32, u32, f64)], seed: u32) -> BTreeMap<u32, f64> {
        Spreading::default().from_seeds([(seed, 1.0)], |node, visit| {
            for (a, b, w) in edges {
                if *a == node {
                    visit(*b, *w);
                } else if *b == node {
                    visit(*a, *w);
                }
            }
        })
    }

    #[test]
    fn activation_halves_by_hop_and_edge() {
        let (coffee, cup, table) = (0, 1, 2);
        let found = spread(&[(coffee, cup, 0.81), (cup, table, 0.75)], coffee);
        assert!((found[&coffee] - 1.0).abs() < 1e-9);
        assert!((found[&cup] - 0.405).abs() < 1e-9);
        assert!((found[&table] - 0.151875).abs() < 1e-9);
    }

    #[test]
    fn activation_ends_after_three_hops() {
        let found = spread(&[(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0)], 0);
        assert_eq!(found.values().copied().collect::<Vec<_>>(), [1.0, 0.5, 0.25, 0.125]);
    }

    #[test]
    fn two_paths_count_by_their_maximum() {
        let (s, a, b, t) = (0, 1, 2, 3);
        let found = spread(&[(s, a, 1.0), (s, b, 1.0), (a, t, 1.0), (b, t, 1.0)], s);
        assert!((found[&t] - 0.25).abs() < 1e-9);
    }

    #[test]
    fn a_complete_graph_terminates_with_every_other_node_at_a_half() {
        let edges: Vec<_> = (0..50).flat_map(|a| (a + 1..50).map(move |b| (a, b, 1.0))).collect();
        let found = spread(&edges, 7);
        assert_eq!(found.len(), 50);
        assert!(found.iter().all(|(n, a)| *a == if *n == 7 { 1.0 } else { 0.5 }));
    }

    #[test]
    fn what_falls_below_the_cut_off_is_silent_and_the_strongest_come_first() {
        let found = spread(&[(0, 1, 0.09), (0, 2, 0.2), (0, 3, 0.9)], 0);
        assert_eq!(strongest(&found, 9).iter().map(|(n, _)| *n).collect::<Vec<_>>(), [0, 3, 2]);
        assert_eq!(strongest(&found, 1), [(0, 1.0)]);
    }
}
