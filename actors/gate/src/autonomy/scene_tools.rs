//! Tools that come and go with the scene.
//!
//! Law: a tool that names things of the scene can be called while one of these things is around. At most `most` of them
//! are on (see [`SceneTools::off`]). Beyond that the least recently used are off; a thing's arrival counts as a use of
//! its tool. A call counts as a use too, even one that is refused. So a tool that was off for lack of room is on at the
//! next try, in the place of another.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::scene::SceneNoticed;
use serde::{Deserialize, Serialize};

use maxim_tools::{ToolRegistry, ToolSpec};

/// A thing that was last seen longer ago than this isn't around any more.
const GONE: SignedDuration = SignedDuration::from_mins(10);
/// A thing that is still around is recorded again after this time.
const AGAIN: SignedDuration = SignedDuration::from_secs(30);
/// Things that are remembered, at most.
const THINGS: usize = 256;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SceneTools {
    /// By thing: since when it is around, and when it was last seen.
    around: BTreeMap<String, (Timestamp, Timestamp)>,
    used: BTreeMap<String, Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SceneToolsEvent {
    Seen { names: Vec<String>, at: Timestamp },
    Used { tool: String, at: Timestamp },
}

impl SceneTools {
    pub fn apply(&mut self, event: SceneToolsEvent) {
        match event {
            SceneToolsEvent::Seen { names, at } => {
                self.around.retain(|_, (_, last)| at.duration_since(*last) < GONE);
                for name in names {
                    self.around.entry(name).or_insert((at, at)).1 = at;
                }
                while self.around.len() > THINGS {
                    let oldest = self.around.iter().min_by_key(|(_, (_, last))| *last).map(|(name, _)| name.clone());
                    self.around.retain(|name, _| Some(name) != oldest.as_ref());
                }
            }
            SceneToolsEvent::Used { tool, at } => drop(self.used.insert(tool, at)),
        }
    }

    /// What a look at the scene changes; `None` if no tool depends on it or nothing is new.
    pub fn seen(&self, noticed: &SceneNoticed, tools: &ToolRegistry, now: Timestamp) -> Option<SceneToolsEvent> {
        let matters = |name: &String| tools.specs().any(|spec| spec.scene.contains(name));
        let fresh = noticed.things.iter().filter(|thing| now.duration_since(thing.last_seen) < AGAIN);
        let names: Vec<String> = fresh.map(|thing| thing.name.clone()).filter(matters).collect();
        let is_known = |name: &String| self.around.get(name).is_some_and(|(_, last)| now.duration_since(*last) < AGAIN);
        (!names.iter().all(is_known)).then_some(SceneToolsEvent::Seen { names, at: now })
    }

    /// Since when the newest of a tool's things is around; `None` if none is.
    fn here(&self, spec: &ToolSpec, now: Timestamp) -> Option<Timestamp> {
        let seen = spec.scene.iter().filter_map(|name| self.around.get(name));
        seen.filter(|(_, last)| now.duration_since(*last) < GONE).map(|(since, _)| *since).max()
    }

    /// Scene tools that can't be called now, and why.
    pub fn off(&self, tools: &ToolRegistry, now: Timestamp, most: usize) -> BTreeMap<String, String> {
        let mut off = BTreeMap::new();
        let mut on: Vec<(Timestamp, &str)> = Vec::new();
        for spec in tools.specs().filter(|spec| !spec.scene.is_empty()) {
            match self.here(spec, now) {
                Some(since) => {
                    let used = self.used.get(&spec.name).copied();
                    on.push((used.map_or(since, |used| used.max(since)), &spec.name));
                }
                None => {
                    let why = format!("{} comes with {}, which isn't around now", spec.name, spec.scene.join(" or "));
                    off.insert(spec.name.clone(), why);
                }
            }
        }
        on.sort_by(|a, b| b.cmp(a));
        off.extend(on.into_iter().skip(most).map(|(_, name)| {
            let why = format!(
                "{name} was switched off as the least recently used, because more than {most} tools of the scene are here; \
                 it is on when you ask for it again"
            );
            (name.to_owned(), why)
        }));
        off
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use maxim_bus::latch::Permit;
    use maxim_bus::signals::scene::{SceneThing, ThingKind};
    use maxim_bus::units::{Confidence, Novelty, Salience};

    use super::*;
    use maxim_region::rig::monday_morning;
    use maxim_tools::{Hands, Tool, ToolOutcome};

    struct Switch(ToolSpec);

    impl Tool for Switch {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn run(&self, _params: &serde_json::Value, _permit: &Permit<'_>, _hands: &Hands) -> ToolOutcome {
            ToolOutcome::done(serde_json::Value::Null)
        }
    }

    fn lamps(count: usize) -> ToolRegistry {
        let mut tools = ToolRegistry::default();
        for number in 0..count {
            let spec = ToolSpec::new(&format!("switch_{number}"), "Switches a lamp.");
            let spec = ToolSpec { scene: vec![format!("lamp {number}")], ..spec };
            tools.register(Arc::new(Switch(spec))).expect("a good spec");
        }
        tools
    }

    fn noticed(names: &[usize], at: Timestamp) -> SceneNoticed {
        let thing = |number: &usize| SceneThing {
            name: format!("lamp {number}"),
            kind: ThingKind::Object,
            confidence: Confidence::clamped(0.9),
            novelty: Novelty::clamped(1.0),
            salience: Salience::clamped(0.5),
            last_seen: at,
            sightings: 1,
            dwell_s: None,
        };
        SceneNoticed { things: names.iter().map(thing).collect(), gaze: None, pose: None }
    }

    fn off(scene: &SceneTools, tools: &ToolRegistry, at: Timestamp) -> Vec<String> {
        scene.off(tools, at, 2).into_keys().collect()
    }

    #[test]
    fn a_tool_is_on_while_its_thing_is_around_and_the_least_recently_used_makes_room() {
        let (tools, begun) = (lamps(3), monday_morning());
        let later = |seconds| begun + SignedDuration::from_secs(seconds);
        let mut scene = SceneTools::default();
        assert_eq!(off(&scene, &tools, begun).len(), 3);
        for (at, lamp) in [(0, 0), (40, 1), (80, 2)] {
            let event = scene.seen(&noticed(&[lamp], later(at)), &tools, later(at)).expect("new");
            scene.apply(event);
        }
        assert!(scene.seen(&noticed(&[2], later(81)), &tools, later(81)).is_none(), "nothing is new");
        assert_eq!(off(&scene, &tools, later(90)), ["switch_0"]);
        assert!(scene.off(&tools, later(90), 2)["switch_0"].contains("least recently used"));
        scene.apply(SceneToolsEvent::Used { tool: "switch_0".into(), at: later(100) });
        assert_eq!(off(&scene, &tools, later(101)), ["switch_1"]);
        assert!(scene.off(&tools, later(660), 2)["switch_1"].contains("isn't around"));
        assert_eq!(
            off(&scene, &tools, later(660)),
            ["switch_0", "switch_1"],
            "only lamp 2 was seen within ten minutes"
        );
    }
}
