use std::collections::BTreeMap;

use maxim_bus::signals::concepts::{CrossKind, Layer, MemoryRef};
use proptest::prelude::*;

use super::graph::{Draft, EdgeKind, Graph, Node, ToldEdge};
use crate::hippocampus::spreading::Spreading;

fn at(layer: Layer, id: impl ToString) -> MemoryRef {
    MemoryRef::new(layer, id.to_string())
}

fn edge(from: MemoryRef, to: MemoryRef, weight: f32, back: f32) -> ToldEdge {
    ToldEdge { kind: EdgeKind::Own("ASSOCIATES".into()), from, to, weight, back }
}

/// A graph with the changes that are planned for it, as in the room.
#[derive(Default)]
struct Changing {
    graph: Graph,
    next: u32,
}

impl Changing {
    /// The changed numbers.
    fn change(&mut self, think: impl FnOnce(&mut Draft<'_>)) -> Vec<u32> {
        let mut draft = Draft::new(&self.graph, self.next);
        think(&mut draft);
        let (changed, next) = (draft.changed, draft.next);
        let numbers = changed.keys().copied().collect();
        changed.into_iter().for_each(|(number, node)| self.graph.set(number, node));
        self.next = next;
        numbers
    }

    fn link(&mut self, told: &ToldEdge) -> Vec<u32> {
        self.change(|draft| draft.link(told))
    }

    fn unlink(&mut self, record: &MemoryRef) -> Vec<u32> {
        self.change(|draft| draft.unlink(record))
    }

    fn nodes(&self) -> impl Iterator<Item = (u32, &Node)> {
        (0..self.next).filter_map(|number| Some((number, self.graph.node(number)?)))
    }
}

impl std::ops::Deref for Changing {
    type Target = Graph;
    fn deref(&self) -> &Graph {
        &self.graph
    }
}

fn spread(graph: &Graph, seed: &MemoryRef) -> BTreeMap<(Layer, String), f64> {
    let seed = graph.number(seed).expect("known");
    let reached = graph.spread(&[(seed, 1.0)], &Spreading::default());
    let named = reached.into_iter().map(|(number, a)| {
        let node = graph.node(number).expect("stands");
        ((node.layer, node.id.to_string()), a)
    });
    named.collect()
}

#[test]
fn activation_passes_through_a_layer_over_to_another_and_on_in_it() {
    let mut graph = Changing::default();
    let (coffee, cup, mug, container) = (
        at(Layer::Hippocampus, "coffee"),
        at(Layer::Hippocampus, "cup"),
        at(Layer::Atl, "mug"),
        at(Layer::Atl, "container"),
    );
    graph.link(&edge(coffee.clone(), cup.clone(), 0.81, 0.81));
    graph.link(&ToldEdge {
        kind: EdgeKind::Cross(CrossKind::InstanceOf),
        from: cup,
        to: mug.clone(),
        weight: 1.0,
        back: 0.0,
    });
    graph.link(&edge(mug.clone(), container, 1.0, 0.5));
    let found = spread(&graph, &coffee);
    let of = |layer, id: &str| found[&(layer, id.to_owned())];
    assert!((of(Layer::Hippocampus, "cup") - 0.405).abs() < 1e-6);
    assert!((of(Layer::Atl, "mug") - 0.2025).abs() < 1e-6);
    assert!((of(Layer::Atl, "container") - 0.10125).abs() < 1e-6);
    // The edge between the layers has one direction.
    assert_eq!(spread(&graph, &mug).len(), 2);
}

#[test]
fn a_removed_record_leaves_no_edge_anywhere() {
    let mut graph = Changing::default();
    let names: Vec<MemoryRef> = (0..6).map(|n| at(Layer::Atl, n)).collect();
    for a in &names {
        for b in &names {
            graph.link(&edge(a.clone(), b.clone(), 0.9, 0.9));
        }
    }
    assert_eq!(graph.size(), (6, 30));
    let number = graph.number(&names[2]).expect("known");
    assert_eq!(graph.unlink(&names[2]).len(), 6, "itself and five that pointed at it");
    assert_eq!(graph.size(), (5, 20));
    assert!(graph.node(number).is_none() && graph.number(&names[2]).is_none());
    assert!(graph.nodes().flat_map(|(_, node)| &node.edges).all(|edge| edge.to != number));
    // Its name returns as another node.
    graph.link(&edge(names[2].clone(), names[0].clone(), 0.5, 0.0));
    assert_ne!(graph.number(&names[2]), Some(number));
}

#[test]
fn a_known_edge_keeps_its_greater_weight_and_a_loop_is_none() {
    let mut graph = Changing::default();
    let (a, b) = (at(Layer::Nac, "a"), at(Layer::Atl, "b"));
    assert_eq!(graph.link(&edge(a.clone(), b.clone(), 0.4, 0.0)).len(), 2);
    assert_eq!(graph.link(&edge(a.clone(), b.clone(), 0.3, 0.0)).len(), 0);
    assert_eq!(graph.link(&edge(a.clone(), b.clone(), 0.6, 0.0)).len(), 1);
    graph.link(&edge(a.clone(), a.clone(), 1.0, 1.0));
    assert_eq!(graph.size(), (2, 1));
    assert!((spread(&graph, &a)[&(Layer::Atl, "b".to_owned())] - 0.3).abs() < 1e-6);
}

#[test]
fn a_hub_keeps_its_strongest_edges() {
    let mut graph = Changing::default();
    let hub = at(Layer::Atl, "hub");
    for n in 0..700u32 {
        graph.link(&edge(hub.clone(), at(Layer::Hippocampus, n), (n % 100) as f32 / 100.0 + 0.001, 0.0));
    }
    let node = graph.node(graph.number(&hub).expect("known")).expect("stands");
    assert_eq!(node.edges.len(), super::graph::MOST_EDGES);
    assert!(node.edges.iter().all(|edge| edge.weight > 0.2));
}

proptest! {
    /// The fast traversal follows the hippocampus's law.
    #[test]
    fn spreading_is_the_law_of_the_hippocampus(
        edges in prop::collection::vec((0u32..24, 0u32..24, 1u32..=20, 0u32..=20), 0..80),
        seeds in prop::collection::vec((0u32..24, 1u32..=10), 1..4),
    ) {
        let mut graph = Changing::default();
        let name = |n: u32| at(if n.is_multiple_of(2) { Layer::Atl } else { Layer::Hippocampus }, n);
        for (a, b, weight, back) in &edges {
            graph.link(&edge(name(*a), name(*b), *weight as f32 / 20.0, *back as f32 / 20.0));
        }
        let seeds: Vec<(u32, f64)> =
            seeds.iter().filter_map(|(n, start)| Some((graph.number(&name(*n))?, f64::from(*start) / 10.0))).collect();
        let how = Spreading::default();
        let expected = how.from_seeds(seeds.clone(), |node, visit| {
            let node = graph.node(node).expect("stands");
            node.edges.iter().for_each(|edge| visit(edge.to, f64::from(edge.weight)));
        });
        let found = graph.spread(&seeds, &how);
        // Values close to the cut-off may fall on either side of it.
        let clear = |a: f64| a > how.cut_off + 1e-6;
        for (node, a) in expected.iter().filter(|(_, a)| clear(**a)) {
            let at = found.iter().find(|(n, _)| n == node);
            prop_assert!(at.is_some_and(|(_, b)| (a - b).abs() < 1e-5), "{} {} {:?}", node, a, at);
        }
        prop_assert!(found.iter().all(|(node, a)| !clear(*a) || expected.contains_key(node)));
    }

    /// A graph from stored nodes equals the graph that was built edge by edge.
    #[test]
    fn a_graph_comes_back_from_its_nodes(
        edges in prop::collection::vec((0u32..12, 0u32..12, 1u32..=20), 0..40),
        gone in prop::collection::vec(0u32..12, 0..4),
    ) {
        let mut graph = Changing::default();
        for (a, b, weight) in &edges {
            graph.link(&edge(at(Layer::Atl, a), at(Layer::Atl, b), *weight as f32 / 20.0, 0.0));
        }
        for n in gone {
            graph.unlink(&at(Layer::Atl, n));
        }
        let mut again = Graph::default();
        graph.nodes().for_each(|(number, node)| again.set(number, Some(node.clone())));
        prop_assert_eq!(graph.size(), again.size());
        for number in 0..graph.next {
            prop_assert_eq!(graph.node(number), again.node(number));
            prop_assert_eq!(graph.spread(&[(number, 1.0)], &Spreading::default()),
                again.spread(&[(number, 1.0)], &Spreading::default()));
        }
    }
}

mod room {
    use std::time::Duration;

    use maxim_bus::MessageId;
    use maxim_bus::signals::associations::{AssociationsFollowed, FollowAssociations};
    use maxim_bus::signals::concepts::{
        AssociatedRecalled, ConceptsFound, CrossEdge, EpisodesFetched, FetchEpisodes, FindConcepts, LayerEdge,
        LayerLinked, RecallAssociated, RecordsLinked, RecordsRemoved, SourcesRemoved,
    };
    use maxim_bus::signals::recall::RecallEpisodes;

    use super::*;
    use crate::cross_layer_graph::{CrossLayerGraph, GraphSettings};
    use maxim_region::rig::{Rig, ear};

    fn rig() -> Rig<CrossLayerGraph> {
        Rig::new(GraphSettings::default(), |bus, probe| {
            ear::<RecallEpisodes>(bus, probe);
            ear::<FindConcepts>(bus, probe);
            ear::<FetchEpisodes>(bus, probe);
            ear::<FollowAssociations>(bus, probe);
            ear::<AssociationsFollowed>(bus, probe);
            ear::<AssociatedRecalled>(bus, probe);
            ear::<ConceptsFound>(bus, probe);
            ear::<EpisodesFetched>(bus, probe);
            ear::<SourcesRemoved>(bus, probe);
        })
    }

    fn linked() -> Rig<CrossLayerGraph> {
        let mut rig = rig();
        rig.send(LayerLinked {
            layer: Layer::Hippocampus,
            edges: vec![LayerEdge {
                kind: "ASSOCIATES".into(),
                from: "e1".into(),
                to: "e2".into(),
                weight: 0.9,
                back: 0.9,
            }],
        });
        rig.send(RecordsLinked {
            edges: vec![CrossEdge {
                kind: CrossKind::InstanceOf,
                from: at(Layer::Hippocampus, "e2"),
                to: at(Layer::Atl, "concept-0"),
                weight: 1.0,
            }],
        });
        rig
    }

    /// Reports edges; the hippocampus then answers that these episodes are missing.
    fn tell(rig: &mut Rig<CrossLayerGraph>, edges: Vec<CrossEdge>, missing: &[&str]) {
        rig.send(RecordsLinked { edges });
        let (question, asked) = rig.heard_with::<FollowAssociations>().pop().expect("the hippocampus is asked");
        let missing = asked.ids.iter().filter(|id| missing.contains(&id.as_str())).cloned().collect();
        let next = asked.ids.iter().map(|_| Vec::new()).collect();
        rig.answer(MessageId::from_parts(9, 9), question, AssociationsFollowed { next, missing });
    }

    #[test]
    fn edges_outlive_a_crash_and_go_with_their_record() {
        let mut rig = linked();
        let (size, hash) = (rig.region().graph().size(), rig.state_hash());
        assert_eq!(size, (3, 3));
        rig.crash();
        assert_eq!((rig.region().graph().size(), rig.state_hash()), (size, hash));
        rig.send(RecordsRemoved {
            layer: Layer::Hippocampus,
            ids: vec!["e2".into(), "never was".into()],
            forgotten: true,
            again: false,
        });
        assert_eq!(rig.region().graph().size(), (2, 0));
        rig.crash();
        assert_eq!(rig.region().graph().size(), (2, 0));
    }

    #[test]
    fn what_is_associated_is_fetched_and_what_is_silent_is_named() {
        let mut rig = linked();
        let asked = RecallAssociated { memory_id: Some("e1".into()), depth: Some(9), ..RecallAssociated::default() };
        // Silence: the hops are done without its associations. It is waited for once, and once more for the episodes.
        rig.send(asked.clone());
        assert_eq!(rig.heard::<FollowAssociations>()[0].ids, ["e1"]);
        rig.pass(Duration::from_secs(1));
        let heard = rig.heard_all();
        let fetched =
            heard.iter().find_map(|envelope| envelope.get::<FetchEpisodes>()).expect("the episodes are fetched");
        assert_eq!(fetched.ids, ["e2"]);
        assert!(heard.iter().all(|envelope| envelope.get::<FollowAssociations>().is_none()));
        rig.pass(Duration::from_secs(2));
        let answer = rig.heard::<AssociatedRecalled>().remove(0);
        assert_eq!(answer.missing.len(), 2, "{answer:?}");
        // With an answer, its episodes are reached, and activation continues from there.
        rig.send(asked);
        let turn = MessageId::from_parts(9, 9);
        let (question, _) = rig.heard_with::<FollowAssociations>().remove(0);
        rig.answer(
            turn,
            question,
            AssociationsFollowed { next: vec![vec![("e7".to_owned(), 0.8)]], missing: Vec::new() },
        );
        let (question, follow) = rig.heard_with::<FollowAssociations>().remove(0);
        assert_eq!(follow.ids, ["e2", "e7"]);
        rig.answer(turn, question, AssociationsFollowed { next: vec![Vec::new(), Vec::new()], missing: Vec::new() });
        let heard = rig.heard_all();
        let fetched =
            heard.iter().find_map(|envelope| envelope.get::<FetchEpisodes>()).expect("the episodes are fetched");
        assert_eq!(fetched.ids, ["e2", "e7"], "0.45 and 0.4");
        let concept = heard.iter().find_map(|envelope| envelope.get::<FindConcepts>()).expect("and the concept");
        assert_eq!(concept.concept_id.as_deref(), Some("concept-0"));
        rig.send(RecallAssociated::default());
        assert!(rig.heard::<AssociatedRecalled>()[0].missing[0].contains("give query"));
    }

    #[test]
    fn what_correlates_in_time_passes_activation_both_ways_and_what_is_derived_one_way() {
        for (kind, edges) in [(CrossKind::TemporallyCorrelates, 2), (CrossKind::DerivedFrom, 1)] {
            let mut rig = rig();
            let (from, to) = (at(Layer::AngularGyrus, "m1"), at(Layer::AngularGyrus, "m2"));
            rig.send(RecordsLinked { edges: vec![CrossEdge { kind, from, to, weight: 0.8 }] });
            assert_eq!(rig.region().graph().size(), (2, edges), "{kind:?}");
        }
    }

    #[test]
    fn concepts_are_told_which_of_their_sources_are_gone() {
        let mut rig = rig();
        let derived = |concept: &str, episode: &str| CrossEdge {
            kind: CrossKind::DerivedFrom,
            from: at(Layer::Atl, concept),
            to: at(Layer::Hippocampus, episode),
            weight: 1.0,
        };
        tell(&mut rig, vec![derived("cup", "e1"), derived("tea", "e1"), derived("cup", "e2")], &[]);
        let gone = |rig: &mut Rig<CrossLayerGraph>, layer, ids: &[&str]| {
            rig.send(RecordsRemoved {
                layer,
                ids: ids.iter().map(ToString::to_string).collect(),
                forgotten: true,
                again: false,
            });
            rig.heard::<SourcesRemoved>().pop().unwrap_or_default().gone
        };
        let e1 = || at(Layer::Hippocampus, "e1");
        assert_eq!(gone(&mut rig, Layer::Hippocampus, &["e1", "e9"]), [("cup".into(), e1()), ("tea".into(), e1())]);
        assert_eq!(gone(&mut rig, Layer::Hippocampus, &["e1"]), [], "it is said once");
        assert_eq!(gone(&mut rig, Layer::Atl, &["cup"]), [], "a concept is no source of itself");
    }

    /// A concept and an episode that it was learned from.
    fn taught(id: &str) -> Vec<CrossEdge> {
        let edge = |kind, from: MemoryRef, to: MemoryRef| CrossEdge { kind, from, to, weight: 1.0 };
        let (cup, episode) = (at(Layer::Atl, "cup"), at(Layer::Hippocampus, id));
        vec![edge(CrossKind::DerivedFrom, cup.clone(), episode.clone()), edge(CrossKind::InstanceOf, episode, cup)]
    }

    #[test]
    fn what_is_said_of_a_record_that_is_gone_makes_no_edge() {
        let mut rig = rig();
        rig.send(RecordsRemoved { layer: Layer::Hippocampus, ids: vec!["e1".into()], forgotten: true, again: false });
        rig.crash();
        rig.send(RecordsLinked { edges: taught("e1") });
        assert_eq!(rig.region().graph().size(), (0, 0));
        let told = rig.heard::<SourcesRemoved>().remove(0);
        assert_eq!(told.gone, [("cup".into(), at(Layer::Hippocampus, "e1"))], "the concept is told, once");
        assert!(told.forgotten, "a person wanted it");
        tell(&mut rig, taught("e2"), &[]);
        assert_eq!((rig.region().graph().size(), rig.heard::<SourcesRemoved>().len()), ((2, 2), 0));
        // It is removed while its answer is on the way.
        rig.send(RecordsLinked { edges: taught("e3") });
        let (question, _) = rig.heard_with::<FollowAssociations>().pop().expect("asked");
        rig.send(RecordsRemoved { layer: Layer::Hippocampus, ids: vec!["e3".into()], forgotten: true, again: false });
        let there = AssociationsFollowed { next: vec![Vec::new()], missing: Vec::new() };
        rig.answer(MessageId::from_parts(9, 9), question, there);
        assert_eq!(rig.region().graph().size(), (2, 2));
        rig.heard::<SourcesRemoved>();
        rig.send(RecordsRemoved { layer: Layer::Atl, ids: vec!["cup".into()], forgotten: true, again: false });
        rig.send(RecordsLinked { edges: taught("e4") });
        let told = rig.heard::<SourcesRemoved>().len();
        assert_eq!((rig.region().graph().size().1, told), (0, 0), "nobody is left to tell");
        // It came back, for example by an import, and something new is learned from it.
        rig.pass(Duration::from_secs(301));
        tell(&mut rig, taught("e1"), &[]);
        assert_eq!(rig.region().graph().size().1, 2);
    }

    #[test]
    fn an_edge_to_an_episode_stands_when_there_is_one() {
        let mut rig = rig();
        let both = || taught("turn that was let pass").into_iter().chain(taught("e1")).collect::<Vec<_>>();
        rig.send(RecordsLinked { edges: both() });
        assert_eq!(rig.region().graph().size(), (0, 0));
        rig.crash();
        rig.pass(Duration::from_secs(31));
        let asked = rig.heard_with::<FollowAssociations>();
        let (question, again) = asked.last().expect("it asks again after a crash");
        assert_eq!(again.ids, ["e1", "turn that was let pass"]);
        let missing = vec!["turn that was let pass".to_owned()];
        let answer = AssociationsFollowed { next: vec![Vec::new(); 2], missing };
        rig.answer(MessageId::from_parts(9, 9), *question, answer);
        assert_eq!(rig.region().graph().size(), (2, 2));
        let told = rig.heard::<SourcesRemoved>().remove(0);
        assert_eq!(told.gone, [("cup".into(), at(Layer::Hippocampus, "turn that was let pass"))]);
        assert!(!told.forgotten, "nobody had it forgotten");
        // Known episodes need no question.
        rig.send(RecordsLinked { edges: taught("e1") });
        rig.pass(Duration::from_secs(3_600));
        assert!(rig.heard::<FollowAssociations>().is_empty());
    }
}
