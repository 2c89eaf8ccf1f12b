//! The small world: its things, the acts that they afford, and the results. The brain is told nothing: it finds out by
//! doing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use maxim_actors::action::tools::{
    EffectClass, ErrorKind, Hands, RegistryError, Tool, ToolFailure, ToolOutcome, ToolRegistry, ToolSpec,
};
use maxim_bus::hash::StableHash;
use maxim_bus::latch::Permit;
use parking_lot::Mutex;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};

/// A thing, with the one act that it affords.
#[derive(Clone, Copy, Debug)]
pub struct Thing {
    pub name: &'static str,
    pub act: &'static str,
    /// How good the act is, −1 to 1, before the world turns and after.
    pub worth: f64,
    pub turned: f64,
}

const fn thing(name: &'static str, act: &'static str, worth: f64, turned: f64) -> Thing {
    Thing { name, act, worth, turned }
}

/// All things. When the world turns, the berries become poisonous and the water warm.
pub const THINGS: [Thing; 6] = [
    thing("fire", "touch_fire", -1.0, -1.0),
    thing("food", "eat_food", 1.0, 1.0),
    thing("water", "enter_water", -0.5, 0.6),
    thing("stone", "turn_stone", 0.0, 0.0),
    thing("berry", "pick_berry", 0.4, -0.9),
    thing("thistle", "grasp_thistle", -0.2, -0.2),
];
/// How many of them are in sight at once.
pub const IN_SIGHT: usize = 3;
/// An act that is worse than this fails and hurts.
const HURTS: f64 = -0.75;

/// The things in sight at an opportunity: the same for all brains with this seed.
pub fn in_sight(seed: u64, opportunity: u64) -> [&'static Thing; IN_SIGHT] {
    let mut all: [&Thing; THINGS.len()] = std::array::from_fn(|at| &THINGS[at]);
    let drawn = StableHash::resume(seed).add(b"in sight").add(&opportunity.to_le_bytes());
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(drawn.get());
    for at in 0..IN_SIGHT {
        let left = (all.len() - at) as u64;
        all.swap(at, at + (chance.next_u64() % left) as usize);
    }
    std::array::from_fn(|at| all[at])
}

impl Thing {
    pub fn worth(&self, is_turned: bool) -> f64 {
        if is_turned { self.turned } else { self.worth }
    }
}

/// The mean worth of a random choice among these acts and doing nothing.
pub fn at_random(things: &[&Thing], is_turned: bool) -> f64 {
    things.iter().map(|thing| thing.worth(is_turned)).sum::<f64>() / (things.len() + 1) as f64
}

/// The worth of the best choice among these acts and doing nothing.
pub fn at_best(things: &[&Thing], is_turned: bool) -> f64 {
    things.iter().map(|thing| thing.worth(is_turned)).fold(0.0, f64::max)
}

/// The acts in an episode. An opportunity without an act is worth 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lived {
    pub worth: f64,
    pub acts: usize,
    pub hurts: usize,
}

/// The world of one agent.
#[derive(Default)]
pub struct World {
    is_turned: AtomicBool,
    lived: Mutex<Lived>,
}

impl World {
    pub fn turn(&self, is_turned: bool) {
        self.is_turned.store(is_turned, Ordering::SeqCst);
    }

    /// The acts since the last call.
    pub fn take(&self) -> Lived {
        std::mem::take(&mut self.lived.lock())
    }

    /// Adds the acts of this world to the tools of its agent.
    ///
    /// # Errors
    /// A tool of such a name exists already.
    pub fn furnish(self: &Arc<Self>, tools: &mut ToolRegistry) -> Result<(), RegistryError> {
        for thing in &THINGS {
            let spec = ToolSpec::new(thing.act, "Something that can be done with it.");
            let (effect, scene) = (EffectClass::Reversible, vec![thing.name.to_owned()]);
            let spec = ToolSpec { effect, scene, unasked: true, ..spec };
            tools.register(Arc::new(Act { spec, thing, world: Arc::clone(self) }))?;
        }
        Ok(())
    }
}

struct Act {
    spec: ToolSpec,
    thing: &'static Thing,
    world: Arc<World>,
}

impl Tool for Act {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, _params: &Value, _permit: &Permit<'_>, _hands: &Hands) -> ToolOutcome {
        let worth = self.thing.worth(self.world.is_turned.load(Ordering::SeqCst));
        let hurts = worth < HURTS;
        let mut lived = self.world.lived.lock();
        *lived = Lived { worth: lived.worth + worth, acts: lived.acts + 1, hurts: lived.hurts + usize::from(hurts) };
        match hurts {
            true => ToolOutcome::failed(ToolFailure::new(ErrorKind::Failed, "it hurts")),
            false => ToolOutcome::done(json!({})).with_reward(worth),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_is_in_sight_is_drawn_evenly_and_the_same_for_the_same_seed() {
        let names = |seed, at| in_sight(seed, at).map(|thing| thing.name);
        assert_eq!(names(3, 9), names(3, 9));
        let mut seen = [0_usize; THINGS.len()];
        for opportunity in 0..6_000 {
            let drawn = names(5, opportunity);
            assert_eq!(BTreeSet::from(drawn).len(), IN_SIGHT, "no thing twice");
            for name in drawn {
                seen[THINGS.iter().position(|thing| thing.name == name).expect("a thing")] += 1;
            }
        }
        assert!(seen.iter().all(|count| (2_800..3_200).contains(count)), "{seen:?}");
        assert!((0..100).any(|at| names(1, at) != names(2, at)));
    }

    #[test]
    fn chance_takes_all_acts_and_nothing_alike_and_the_best_lets_pass_what_is_bad() {
        let [fire, food, water, ..] = &THINGS;
        assert_eq!(at_random(&[fire, food], false), 0.0);
        assert!((at_random(&[fire, water], false) + 0.5).abs() < 1e-12);
        assert_eq!((at_best(&[fire, water], false), at_best(&[fire, water], true)), (0.0, 0.6));
    }
}
