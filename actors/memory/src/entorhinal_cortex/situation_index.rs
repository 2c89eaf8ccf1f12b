//! All situations in memory: vectors with their signatures, and the other compared parts, by place.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::signals::similarity::LikenessParts;

use super::law::{self, LikenessWeights};
use super::model::{Cue, Item};
use super::sight::Sight;
use crate::suprachiasmatic_nucleus::law::TimeSignature;
use maxim_language::nearest::{ALL_BELOW, looked_at, near};
use maxim_language::packed::PackedVector;
use maxim_language::signature::{Signature, signature};
use maxim_language::{EncoderId, Stems};

/// Newest items of one tool, object or person that are compared.
const NEWEST_OF_A_KEY: usize = 256;

/// The layer of an empty place.
const NOWHERE: u32 = u32::MAX;

/// Steps in which a share of a period is stored.
const STEPS: f64 = 65_536.0;

fn share(steps: u16) -> f64 {
    f64::from(steps) / STEPS
}

/// Names as numbers.
#[derive(Default)]
struct Names {
    ids: HashMap<String, u32>,
    all: Vec<String>,
}

impl Names {
    fn id(&mut self, name: &str) -> u32 {
        let name = name.trim().to_lowercase();
        if let Some(known) = self.ids.get(&name) {
            return *known;
        }
        let id = self.all.len() as u32;
        self.all.push(name.clone());
        self.ids.insert(name, id);
        id
    }

    fn known(&self, name: &str) -> u32 {
        self.ids.get(&name.trim().to_lowercase()).copied().unwrap_or(u32::MAX)
    }
}

/// Places by the number of a name, ascending.
#[derive(Default)]
struct Lists(Vec<Vec<u32>>);

impl Lists {
    fn get(&self, name: u32) -> Option<&Vec<u32>> {
        self.0.get(name as usize)
    }

    fn of(&mut self, name: u32) -> &mut Vec<u32> {
        let at = name as usize;
        if self.0.len() <= at {
            self.0.resize_with(at + 1, Vec::new);
        }
        &mut self.0[at]
    }
}

/// The parts that are compared beside the meaning.
#[derive(Clone, Debug, Default)]
struct Traits {
    tool: Option<u32>,
    goal: Option<u32>,
    mode: Option<u32>,
    success: Option<bool>,
    /// Sorted.
    objects: Box<[u32]>,
    people: Box<[u32]>,
    /// Fractions of day, week, month and year in [`STEPS`].
    phases: [u16; 4],
}

/// All compared parts of an item, on the way to or from the disk.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub layer: u32,
    pub tool: Option<u32>,
    pub goal: Option<u32>,
    pub mode: Option<u32>,
    pub success: Option<bool>,
    pub phases: [u16; 4],
    /// Microseconds since 1970.
    pub at: i64,
    pub objects: Vec<u32>,
    pub people: Vec<u32>,
    pub is_forgotten: bool,
    pub scale: f32,
    pub signature: Signature,
}

/// An item similar to the cue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likeness {
    pub item: u32,
    pub score: f64,
    pub parts: LikenessParts,
}

/// The encoder for comparing texts, and the cosine at which they count as similar.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    pub sight: &'a Sight,
    pub floor: f32,
}

/// The index. Items are numbered from 0 in order of arrival.
pub struct SituationIndex {
    weights: LikenessWeights,
    floor: f32,
    zone: TimeZone,
    sight: Sight,
    traits: Vec<Traits>,
    names: Names,
    /// Stems of each goal, by the number of its name.
    goals: HashMap<u32, BTreeSet<String>>,
    stems: Stems,
    by_tool: Lists,
    by_object: Lists,
    by_person: Lists,
    /// The layer of each place, or [`NOWHERE`]. It is stored apart because every question reads it thousands of times.
    layers: Vec<u32>,
    /// The time of each place in microseconds since 1970. It is checked before any other part of a place is read.
    times: Vec<i64>,
    live: usize,
}

impl SituationIndex {
    pub fn new(encoder: EncoderId, dims: usize, floor: f32, zone: TimeZone) -> Self {
        Self {
            weights: LikenessWeights::default(),
            floor,
            zone,
            sight: Sight::new(encoder, dims),
            traits: Vec::new(),
            names: Names::default(),
            goals: HashMap::new(),
            stems: Stems::default(),
            by_tool: Lists::default(),
            by_object: Lists::default(),
            by_person: Lists::default(),
            layers: Vec::new(),
            times: Vec::new(),
            live: 0,
        }
    }

    /// Changes the weights of the parts of likeness.
    pub fn weighing(self, weights: LikenessWeights) -> Self {
        Self { weights, ..self }
    }

    pub fn len(&self) -> usize {
        self.live
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of places, forgotten ones included.
    pub fn places(&self) -> u32 {
        self.traits.len() as u32
    }

    /// Puts an item at its place: a new one at the end, a known one again. A vector of another encoder is left out.
    /// Then the item is only found by its structure until [`SituationIndex::set_vector`].
    pub fn put(&mut self, place: u32, item: &Item) {
        while self.places() < place {
            self.push_empty();
        }
        if place == self.places() {
            self.push_empty();
        }
        if item.encoder == *self.sight.encoder() {
            self.sight.set(place, &item.vector, Some(item.signature));
        } else {
            self.sight.clear(place);
        }
        self.unlist(place);
        let traits = self.traits_of(item);
        let layer = self.names.id(&item.situation.layer);
        self.times[place as usize] = item.situation.at.as_microsecond();
        self.list(place, layer, traits);
    }

    fn list(&mut self, place: u32, layer: u32, traits: Traits) {
        for (lists, ids) in [
            (&mut self.by_tool, traits.tool.as_slice()),
            (&mut self.by_object, &*traits.objects),
            (&mut self.by_person, &*traits.people),
        ] {
            for id in ids {
                let list = lists.of(*id);
                if list.last().is_none_or(|last| *last < place) {
                    list.push(place);
                } else if let Err(at) = list.binary_search(&place) {
                    list.insert(at, place);
                }
            }
        }
        self.traits[place as usize] = traits;
        self.set_layer(place, layer);
    }

    fn set_layer(&mut self, place: u32, layer: u32) {
        let before = std::mem::replace(&mut self.layers[place as usize], layer);
        self.live += usize::from(before == NOWHERE && layer != NOWHERE);
        self.live -= usize::from(before != NOWHERE && layer == NOWHERE);
    }

    pub fn encoder(&self) -> &EncoderId {
        self.sight.encoder()
    }

    pub fn dims(&self) -> usize {
        self.sight.dims()
    }

    /// Names, by their numbers.
    pub fn names(&self) -> &[String] {
        &self.names.all
    }

    /// The number of a name; a new name gets one.
    pub fn name(&mut self, name: &str) -> u32 {
        self.names.id(name)
    }

    pub fn row(&self, place: u32) -> Row {
        let at = place as usize;
        let traits = self.traits.get(at).cloned().unwrap_or_default();
        Row {
            layer: self.layer(place),
            tool: traits.tool,
            goal: traits.goal,
            mode: traits.mode,
            success: traits.success,
            phases: traits.phases,
            at: self.time(place),
            objects: traits.objects.into_vec(),
            people: traits.people.into_vec(),
            is_forgotten: self.layer(place) == NOWHERE,
            scale: self.sight.scale(place),
            signature: self.sight.signature(place),
        }
    }

    /// `None` if the place has no vector of this encoder.
    pub fn vector(&self, place: u32) -> Option<PackedVector> {
        self.sight.vector(place)
    }

    pub fn steps(&self, place: u32) -> &[i8] {
        self.sight.steps(place)
    }

    /// Reserves room for this many more items.
    pub fn reserve(&mut self, items: usize) {
        self.sight.reserve(items);
        self.traits.reserve(items);
        self.layers.reserve(items);
        self.times.reserve(items);
    }

    /// Appends an item as it was packed. Its name numbers are those of this index, and its goal must be known by
    /// [`SituationIndex::know_goal`].
    pub fn push_row(&mut self, row: Row, steps: impl Iterator<Item = i8>) {
        let place = self.places();
        self.sight.push(row.scale, steps, row.signature);
        self.push_nowhere();
        if row.is_forgotten {
            return;
        }
        let Row { layer, tool, goal, mode, success, phases, at, objects, people, .. } = row;
        self.times[place as usize] = at;
        let (objects, people) = (objects.into_boxed_slice(), people.into_boxed_slice());
        self.list(place, layer, Traits { tool, goal, mode, success, objects, people, phases });
    }

    /// Stores the stems of a goal.
    pub fn know_goal(&mut self, goal: Option<u32>) {
        if let Some(id) = goal.filter(|id| !self.goals.contains_key(id))
            && let Some(name) = self.names.all.get(id as usize)
        {
            self.goals.insert(id, self.stems.of_text(name).into_iter().collect());
        }
    }

    /// Adds empty places.
    pub fn push_places(&mut self, count: u32) {
        (0..count).for_each(|_| self.push_empty());
    }

    fn push_empty(&mut self) {
        self.sight.push_empty();
        self.push_nowhere();
    }

    fn push_nowhere(&mut self) {
        self.traits.push(Traits::default());
        self.layers.push(NOWHERE);
        self.times.push(0);
    }

    /// Microseconds since 1970; 0 for an empty place.
    pub fn time(&self, place: u32) -> i64 {
        self.times.get(place as usize).copied().unwrap_or_default()
    }

    fn layer(&self, place: u32) -> u32 {
        self.layers.get(place as usize).copied().unwrap_or(NOWHERE)
    }

    fn unlist(&mut self, place: u32) {
        let old = std::mem::take(&mut self.traits[place as usize]);
        for (lists, ids) in [
            (&mut self.by_tool, old.tool.as_slice()),
            (&mut self.by_object, &*old.objects),
            (&mut self.by_person, &*old.people),
        ] {
            for id in ids {
                lists.of(*id).retain(|held| *held != place);
            }
        }
    }

    pub fn set_vector(&mut self, place: u32, vector: &PackedVector) {
        if place < self.places() {
            self.sight.set(place, vector, None);
        }
    }

    pub fn has_vector(&self, place: u32) -> bool {
        self.sight.has(place)
    }

    pub fn forget(&mut self, place: u32) {
        if self.layer(place) != NOWHERE {
            self.set_layer(place, NOWHERE);
            self.times[place as usize] = 0;
            self.unlist(place);
            self.sight.clear(place);
        }
    }

    /// Elapsed fractions of day, week, month and year, in steps.
    fn phases(&self, at: Timestamp) -> [u16; 4] {
        TimeSignature::of(at, &self.zone).phases.to_array().map(|phase| (phase * STEPS) as u16)
    }

    fn traits_of(&mut self, item: &Item) -> Traits {
        let situation = &item.situation;
        let phases = self.phases(situation.at);
        let names = &mut self.names;
        let sorted = |list: &[String], names: &mut Names| {
            let mut ids: Vec<u32> = list.iter().map(|name| names.id(name)).collect();
            ids.sort_unstable();
            ids.dedup();
            ids.into_boxed_slice()
        };
        let traits = Traits {
            tool: situation.tool.as_deref().map(|tool| names.id(tool)),
            goal: situation.goal.as_deref().map(|goal| names.id(goal)),
            mode: situation.mode.as_deref().map(|mode| names.id(mode)),
            success: situation.success,
            objects: sorted(&situation.objects, names),
            people: sorted(&situation.people, names),
            phases,
        };
        self.know_goal(traits.goal);
        traits
    }

    /// The most similar situations, best first. Among equals, the newest comes first.
    pub fn find(&self, cue: &Cue, limit: usize, allowed: impl Fn(u32) -> bool) -> Vec<Likeness> {
        self.find_by(Look { sight: &self.sight, floor: self.floor }, cue, limit, allowed)
    }

    /// The same by the vectors of another encoder, which also made the cue's vector.
    pub fn find_by(&self, look: Look<'_>, cue: &Cue, limit: usize, allowed: impl Fn(u32) -> bool) -> Vec<Likeness> {
        let asked = self.asked(cue);
        let wanted = |place: u32| self.is_wanted(place, asked.layer) && allowed(place);
        let candidates = self.candidates(look.sight, cue, &asked, &wanted);
        let in_turn = look.sight.in_turn(&candidates);
        let mut found: Vec<Likeness> = in_turn.map(|place| self.compare(look, cue, &asked, place)).collect();
        found.retain(|likeness| likeness.score > 0.0);
        let order = |a: &Likeness, b: &Likeness| b.score.total_cmp(&a.score).then(b.item.cmp(&a.item));
        if limit < found.len() {
            found.select_nth_unstable_by(limit, order);
            found.truncate(limit);
        }
        found.sort_by(order);
        found
    }

    /// The nearest of a layer to a text by the vector alone, with their cosines, nearest first.
    pub fn nearest(&self, sight: &Sight, text: &PackedVector, layer: &str, limit: usize) -> Vec<(u32, f32)> {
        let layer = Some(self.names.known(layer));
        let wanted = |place: u32| self.is_wanted(place, layer) && sight.has(place);
        let places = match sight.len() {
            few if few <= ALL_BELOW => (0..few as u32).filter(|place| wanted(*place)).collect(),
            many => {
                let looked_at = looked_at(many).max(limit);
                near(&signature(text.numbers()), sight.signatures(), looked_at, |at| wanted(at as u32))
            }
        };
        let cosine = |place: u32| Some((place, sight.cosine(place, text)?));
        let mut found: Vec<(u32, f32)> = sight.in_turn(&places).filter_map(cosine).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        found.truncate(limit);
        found
    }

    /// Whether a situation had this mode and this outcome, as far as they are given.
    pub fn was(&self, place: u32, mode: Option<&str>, success: Option<bool>) -> bool {
        let Some(traits) = self.traits.get(place as usize) else { return false };
        let is_in = |mode: &str| traits.mode == Some(self.names.known(mode));
        mode.is_none_or(is_in) && (success.is_none() || traits.success == success)
    }

    fn is_wanted(&self, place: u32, layer: Option<u32>) -> bool {
        let own = self.layer(place);
        own != NOWHERE && layer.is_none_or(|layer| layer == own)
    }

    /// Likeness of a cue and all items, compared one by one: the reference for [`SituationIndex::find`].
    pub fn find_exactly(&self, cue: &Cue, limit: usize) -> Vec<Likeness> {
        let asked = self.asked(cue);
        let look = Look { sight: &self.sight, floor: self.floor };
        let places = (0..self.places()).filter(|place| self.layer(*place) != NOWHERE);
        let mut found: Vec<Likeness> = places.map(|place| self.compare(look, cue, &asked, place)).collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.item.cmp(&a.item)));
        found.truncate(limit);
        found
    }

    fn asked(&self, cue: &Cue) -> Asked {
        let known = |name: &Option<String>| name.as_deref().map(|name| self.names.known(name));
        let sorted = |list: &[String]| {
            let mut ids: Vec<u32> = list.iter().map(|name| self.names.known(name)).collect();
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        let is_named = cue.tool.is_some() || cue.goal.is_some() || cue.mode.is_some();
        let holds = !cue.objects.is_empty() || !cue.people.is_empty();
        Asked {
            layer: known(&cue.layer),
            tool: known(&cue.tool),
            goal: known(&cue.goal),
            goal_stems: cue.goal.as_deref().map(|goal| self.stems.of_text(goal).into_iter().collect()),
            mode: known(&cue.mode),
            objects: sorted(&cue.objects),
            people: sorted(&cue.people),
            phases: cue.at.map(|at| self.phases(at).map(share)),
            has_traits: is_named || holds || cue.success.is_some() || cue.at.is_some(),
        }
    }

    /// Places that may be among the best: near in meaning, or with a common tool, object or person.
    fn candidates(&self, sight: &Sight, cue: &Cue, asked: &Asked, wanted: &impl Fn(u32) -> bool) -> Vec<u32> {
        let count = self.traits.len();
        if count <= ALL_BELOW {
            return (0..count as u32).filter(|place| wanted(*place)).collect();
        }
        let mut places: Vec<u32> = Vec::new();
        if let Some(text) = &cue.text {
            let asked = signature(text.numbers());
            let meant = |at: usize| sight.has(at as u32) && wanted(at as u32);
            places = near(&asked, sight.signatures(), looked_at(count), meant);
        }
        let lists = asked.tool.iter().filter_map(|id| self.by_tool.get(*id));
        let lists = lists.chain(asked.objects.iter().filter_map(|id| self.by_object.get(*id)));
        for list in lists.chain(asked.people.iter().filter_map(|id| self.by_person.get(*id))) {
            places.extend(list.iter().rev().copied().filter(|place| wanted(*place)).take(NEWEST_OF_A_KEY));
        }
        if cue.text.is_none() && asked.goal.is_some() {
            let goal = |place: &u32| self.traits[*place as usize].goal == asked.goal && wanted(*place);
            places.extend((0..count as u32).rev().filter(goal).take(NEWEST_OF_A_KEY));
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    fn compare(&self, look: Look<'_>, cue: &Cue, asked: &Asked, place: u32) -> Likeness {
        let semantic = cue
            .text
            .as_ref()
            .map(|text| look.sight.cosine(place, text).map_or(0.0, |cosine| law::semantic(cosine, look.floor)));
        // Hundreds of places are far apart in memory, so parts that aren't asked for aren't read.
        let rest = asked.has_traits.then(|| self.compare_traits(cue, asked, place, semantic.is_some()));
        let parts = LikenessParts { semantic, ..rest.unwrap_or_default() };
        Likeness { item: place, score: law::likeness(&parts, &self.weights), parts }
    }

    fn compare_traits(&self, cue: &Cue, asked: &Asked, place: u32, has_text: bool) -> LikenessParts {
        let item = &self.traits[place as usize];
        let same = |a: Option<u32>, b: Option<u32>| a.map(|a| Some(a) == b);
        let outcome = cue.success.zip(item.success).map(|(a, b)| a == b);
        let people = law::overlap(&asked.people, &item.people);
        let objects = law::overlap(&asked.objects, &item.objects);
        let mut structural = law::structural(same(asked.tool, item.tool), outcome, objects, people);
        if structural.is_none() && !has_text {
            // A question for only a person means the person.
            structural = people;
        }
        let goal = asked.goal_stems.as_ref().map(|stems| {
            let other = item.goal.and_then(|goal| self.goals.get(&goal));
            match other {
                _ if asked.goal == item.goal => 1.0,
                Some(other) if !(stems.is_empty() || other.is_empty()) => {
                    let shared = stems.intersection(other).count();
                    shared as f64 / (stems.len() + other.len() - shared) as f64
                }
                _ => 0.0,
            }
        });
        let context = law::context(goal, same(asked.mode, item.mode));
        let temporal =
            asked.phases.map(|phases| law::temporal(TimeSignature::likeness(phases, item.phases.map(share))));
        LikenessParts { semantic: None, structural, temporal, context }
    }
}

/// A cue in the index's numbers; an unknown name fits nothing.
struct Asked {
    layer: Option<u32>,
    tool: Option<u32>,
    goal: Option<u32>,
    goal_stems: Option<BTreeSet<String>>,
    mode: Option<u32>,
    objects: Vec<u32>,
    people: Vec<u32>,
    phases: Option<[f64; 4]>,
    /// The cue has more than a text.
    has_traits: bool,
}
