//! The index: which tools fit a goal, by their words, their meaning, and the goals they served before.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::catalog::{ToolText, is_plainer};
use super::law::{DESCRIBED, HUB, HUB_AFTER, MEANING, PRIOR, SHOWN_LEAST, SUCCESS, bar, rarity, saturated, shown};
use super::learned::{Goal, Learned, Sample, Sampled};
use super::soft::SoftTerms;
use maxim_language::{Encoder, Stems};

/// A tool's place in a ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    pub name: String,
    /// Comparable only within one ranking.
    pub score: f64,
}

/// Tools for a goal, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    pub tools: Vec<Ranked>,
    /// How many of them to show with their schemas.
    pub shown: usize,
}

/// Ranks tools. Its state is a function of the catalog and of the set of successes, not of their order.
pub struct ToolIndex {
    encoder: Arc<dyn Encoder>,
    stems: Stems,
    tools: Vec<Tool>,
    /// Of all tools' directions.
    mean_gist: Vec<f64>,
    places: BTreeMap<String, usize>,
    vocabulary: Vocabulary,
    learned: BTreeMap<String, Learned>,
    sample: Sample,
    soft: RefCell<SoftTerms>,
    calibration: OnceCell<Calibration>,
}

struct Tool {
    name: String,
    /// Weights of its own words in tenths, by place in the vocabulary.
    own: BTreeMap<u32, u32>,
    /// Direction of its description.
    gist: Vec<f64>,
    /// Tokens of its whole schema, and of its name.
    tokens: (usize, usize),
}

#[derive(Default)]
struct Vocabulary {
    places: HashMap<String, u32>,
    /// Stem, and the word that stands for it.
    entries: Vec<(String, String)>,
    /// How often each word of a stem was met; the most frequent one stands for it, of equals the plainest.
    forms: Vec<BTreeMap<String, u64>>,
}

/// The result of all successes together.
struct Calibration {
    /// Weight of each word in each tool in tenths, learned ones included: by word, tools ascending.
    postings: Vec<Vec<(u32, u32)>>,
    /// Sum of a tool's weights, in tenths.
    lengths: Vec<u32>,
    average: f64,
    mean_goal: Vec<f64>,
    /// Unit length, or zero.
    centroids: Vec<Vec<f64>>,
    /// The part of a tool's score that it gets for every goal. It is subtracted.
    hubs: Vec<f64>,
    bar: f64,
}

impl ToolIndex {
    /// `tokens` counts those of a text, by the model's tokenizer or an estimate.
    pub fn new(catalog: &[ToolText], encoder: Arc<dyn Encoder>, tokens: impl Fn(&str) -> usize) -> Self {
        let (stems, mut vocabulary, mut soft) = (Stems::default(), Vocabulary::default(), SoftTerms::default());
        let mut tools: Vec<Tool> = Vec::with_capacity(catalog.len());
        let mut places = BTreeMap::new();
        for text in catalog {
            if places.contains_key(&text.name) {
                continue;
            }
            let weights = text.weights(&stems);
            let own = weights
                .into_iter()
                .map(|(stem, (weight, word))| (vocabulary.place(&stem, &word, 1, &mut soft, &*encoder), weight));
            let own = own.collect();
            let gist = encoder.embed(&text.gist()).vector().iter().map(|x| f64::from(*x)).collect();
            let full = serde_json::json!({
                "name": text.name, "description": text.description, "parameters": text.parameters,
            });
            let tokens = (tokens(&full.to_string()), tokens(&text.name));
            places.insert(text.name.clone(), tools.len());
            tools.push(Tool { name: text.name.clone(), own, gist, tokens });
        }
        let (learned, sample) = (BTreeMap::new(), Sample::default());
        let (soft, calibration) = (RefCell::new(soft), OnceCell::new());
        let mean_gist = mean_gist(&tools, encoder.dims());
        Self { encoder, stems, tools, mean_gist, places, vocabulary, learned, sample, soft, calibration }
    }

    pub fn goal(&self, text: &str) -> Goal {
        Goal::new(text, &self.stems, &*self.encoder)
    }

    pub fn knows(&self, tool: &str) -> bool {
        self.places.contains_key(tool)
    }

    /// Successes it learned from. A success of several tools counts for each.
    pub fn successes(&self) -> u64 {
        self.learned.values().map(|learned| u64::from(learned.successes)).sum()
    }

    /// A tool's stored record with one more success, and the change of the sample. `turn`: the turn, if known.
    pub fn with_success(&self, goal: &Goal, tool: &str, turn: &str) -> (Learned, Option<(u64, Sampled)>, Option<u64>) {
        let mut learned = self.learned.get(tool).cloned().unwrap_or_default();
        learned.add(goal, turn, self.encoder.id());
        let (sampled, leaves) = self.sample.with(goal, tool, turn);
        (learned, sampled, leaves)
    }

    /// The tool served the goal.
    pub fn learn(&mut self, goal: &Goal, tool: &str) {
        self.learn_in(goal, tool, "");
    }

    /// The tool served the goal in this turn.
    pub(super) fn learn_in(&mut self, goal: &Goal, tool: &str, turn: &str) {
        let (learned, sampled, leaves) = self.with_success(goal, tool, turn);
        self.restore(tool.to_owned(), learned);
        if let Some(key) = leaves {
            self.sample.remove(key);
        }
        if let Some((key, sampled)) = sampled {
            self.sample.put(key, sampled);
        }
    }

    /// Restores a tool's record.
    pub fn restore(&mut self, tool: String, learned: Learned) {
        let soft = self.soft.get_mut();
        let before = self.learned.get(&tool).map(|learned| &learned.words);
        for (word, count) in &learned.words {
            let more = count.saturating_sub(before.and_then(|before| before.get(word)).copied().unwrap_or(0));
            if let Some(stem) = self.stems.of(word).filter(|_| more > 0) {
                self.vocabulary.place(&stem, word, more.into(), soft, &*self.encoder);
            }
        }
        self.learned.insert(tool, learned);
        self.calibration.take();
    }

    /// A goal of the sample as it was kept.
    pub fn restore_sampled(&mut self, key: u64, sampled: Sampled) {
        self.sample.put(key, sampled);
        self.calibration.take();
    }

    /// Removes a goal from the sample.
    pub(super) fn forget_sampled(&mut self, key: u64) {
        self.sample.remove(key);
        self.calibration.take();
    }

    /// Records of the tools that served a goal of these turns, without the words that no other goal had.
    pub(super) fn words_without(&self, gone: &BTreeSet<u64>) -> Vec<(String, Learned)> {
        let left = |(tool, learned): (&String, &Learned)| Some((tool.clone(), learned.without(gone)?));
        self.learned.iter().filter_map(left).collect()
    }

    /// The sampled goals of these turns, and whether no other turn had them.
    pub(super) fn sampled_in(&self, gone: &BTreeSet<u64>) -> Vec<(u64, Sampled, bool)> {
        let named = self.sample.by_key().filter(|(_, sampled)| sampled.of.names(gone));
        let left = named.map(|(key, sampled)| {
            let mut sampled = sampled.clone();
            let is_spent = sampled.of.forget(gone);
            (key, sampled, is_spent)
        });
        left.collect()
    }

    /// All tools, best first; equal ones by name.
    pub fn rank(&self, goal: &Goal) -> Ranking {
        let calibration = self.calibration.get_or_init(|| self.calibrated());
        let scores = self.corrected(self.fits(goal, calibration), calibration);
        let mut order: Vec<usize> = (0..self.tools.len()).collect();
        order.sort_by(|a, b| {
            scores[*b].total_cmp(&scores[*a]).then_with(|| self.tools[*a].name.cmp(&self.tools[*b].name))
        });
        let sorted: Vec<f64> = order.iter().map(|at| scores[*at]).collect();
        let full: Vec<usize> = order.iter().map(|at| self.tools[*at].tokens.0).collect();
        let names: Vec<usize> = order.iter().map(|at| self.tools[*at].tokens.1).collect();
        let shown = shown(&sorted, &full, &names, calibration.bar).max(SHOWN_LEAST.min(order.len()));
        let tools = order.iter().map(|at| Ranked { name: self.tools[*at].name.clone(), score: scores[*at] });
        Ranking { tools: tools.collect(), shown }
    }

    /// Tokens of all whole schemas, and of the shown ones with the names of the rest.
    pub fn tokens(&self, ranking: &Ranking) -> (usize, usize) {
        let full = self.tools.iter().map(|tool| tool.tokens.0).sum();
        let cost = |(at, ranked): (usize, &Ranked)| {
            let tool = self.places.get(&ranked.name).map(|place| &self.tools[*place]);
            tool.map_or(0, |tool| if at < ranking.shown { tool.tokens.0 } else { tool.tokens.1 })
        };
        (full, ranking.tools.iter().enumerate().map(cost).sum())
    }

    fn corrected(&self, fits: Vec<f64>, calibration: &Calibration) -> Vec<f64> {
        let mean = calibration.hubs.iter().sum::<f64>() / calibration.hubs.len().max(1) as f64;
        fits.into_iter().zip(&calibration.hubs).map(|(fit, hub)| fit - (hub - mean)).collect()
    }

    /// Coverage of the goal's words and nearness of its meaning, for each tool.
    fn fits(&self, goal: &Goal, calibration: &Calibration) -> Vec<f64> {
        let mut coverage = vec![0.0; self.tools.len()];
        let (mut weight, total) = (0.0, self.tools.len());
        let mut best = vec![0.0f64; total];
        for (stem, word) in &goal.words {
            let own = self.vocabulary.places.get(stem).copied();
            let count = |place: u32| calibration.postings[place as usize].len();
            let rare = rarity(total, own.map_or(0, count));
            weight += rare;
            best.fill(0.0);
            let mut stand_in = |place: u32, strength: f64| {
                for (tool, held) in &calibration.postings[place as usize] {
                    let length = f64::from(calibration.lengths[*tool as usize]) / calibration.average;
                    let hit = strength * saturated(*held, length);
                    let best = &mut best[*tool as usize];
                    *best = best.max(hit);
                }
            };
            if let Some(own) = own {
                stand_in(own, 1.0);
            }
            let entries = &self.vocabulary.entries;
            let name = |place: u32| entries[place as usize].0.as_str();
            for (near, place) in self.soft.borrow_mut().of(stem, word, own, &*self.encoder, name) {
                stand_in(place, f64::from(near) * rarity(total, count(place)).min(rare) / rare);
            }
            coverage.iter_mut().zip(&best).for_each(|(sum, hit)| *sum += rare * hit);
        }
        let direction = unit(goal.direction().zip(&calibration.mean_goal).map(|(x, mean)| x - mean).collect());
        let known = goal.vector.iter().any(|step| *step != 0);
        coverage
            .iter()
            .zip(&calibration.centroids)
            .map(|(sum, centroid)| {
                let meaning = if known { dot(&direction, centroid) } else { 0.0 };
                (if weight > 0.0 { sum / weight } else { 0.0 }) + MEANING * meaning
            })
            .collect()
    }

    fn calibrated(&self) -> Calibration {
        let mut calibration = self.counted();
        let goals: Vec<(Goal, &Sampled)> = self.sample.iter().map(|past| (self.goal(&past.goal), past)).collect();
        let fits: Vec<Vec<f64>> = goals.iter().map(|(goal, _)| self.fits(goal, &calibration)).collect();
        let whole = (self.successes() as f64 / HUB_AFTER).min(1.0);
        calibration.hubs = (0..self.tools.len())
            .map(|at| {
                let foreign =
                    goals.iter().zip(&fits).filter(|((_, past), _)| !past.used.contains_key(&self.tools[at].name));
                let (sum, count) = foreign.fold((0.0, 0u32), |(sum, count), (_, fits)| (sum + fits[at], count + 1));
                if count == 0 { 0.0 } else { HUB * whole * sum / f64::from(count) }
            })
            .collect();
        let mut shares = Vec::new();
        for ((goal, past), fits) in goals.iter().zip(fits) {
            shares.extend(self.shares(goal, past, fits, &calibration));
        }
        calibration.bar = bar(shares, usize::try_from(self.successes()).unwrap_or(usize::MAX));
        calibration
    }

    /// Score of each tool that served a goal over the best one, as if the goal had not been learned from.
    fn shares(&self, goal: &Goal, past: &Sampled, mut fits: Vec<f64>, calibration: &Calibration) -> Vec<f64> {
        let used: Vec<(usize, u32)> =
            past.used.iter().filter_map(|(name, count)| Some((*self.places.get(name)?, *count))).collect();
        for (at, count) in &used {
            fits[*at] = self.without(goal, *at, *count, calibration);
        }
        let scores = self.corrected(fits, calibration);
        let best = scores.iter().copied().fold(f64::MIN, f64::max);
        let share = |(at, _): &(usize, u32)| if best > 0.0 { (scores[*at] / best).max(0.0) } else { 1.0 };
        used.iter().map(share).collect()
    }

    /// How well a tool would fit a goal without `count` of its successes with it.
    fn without(&self, goal: &Goal, at: usize, count: u32, calibration: &Calibration) -> f64 {
        let total = self.tools.len();
        let taken = SUCCESS * count;
        let length = calibration.lengths[at].saturating_sub(taken * goal.words.len() as u32).max(1);
        let length = f64::from(length) / calibration.average;
        let places = |stem: &str| self.vocabulary.places.get(stem).copied();
        let held = |place: u32| {
            let postings = &calibration.postings[place as usize];
            let weight = postings.binary_search_by_key(&(at as u32), |(tool, _)| *tool).map_or(0, |i| postings[i].1);
            let served = goal.words.contains_key(&self.vocabulary.entries[place as usize].0);
            if served { weight.saturating_sub(taken) } else { weight }
        };
        let (mut sum, mut weight) = (0.0, 0.0);
        for (stem, word) in &goal.words {
            let own = places(stem);
            let rarity_of = |place: u32| rarity(total, calibration.postings[place as usize].len());
            let rare = own.map_or_else(|| rarity(total, 0), rarity_of);
            let entries = &self.vocabulary.entries;
            let name = |place: u32| entries[place as usize].0.as_str();
            let near = self.soft.borrow_mut().of(stem, word, own, &*self.encoder, name);
            let soft =
                near.into_iter().map(|(near, place)| (place, f64::from(near) * rarity_of(place).min(rare) / rare));
            let hits = own.map(|own| (own, 1.0)).into_iter().chain(soft);
            let best = hits.map(|(place, strength)| strength * saturated(held(place), length)).fold(0.0, f64::max);
            weight += rare;
            sum += rare * best;
        }
        let tool = &self.tools[at];
        let learned =
            self.learned.get(&tool.name).filter(|learned| learned.encoder.as_ref() == Some(self.encoder.id()));
        let served = f64::from(count);
        let rest: Vec<f64> = match learned {
            Some(learned) => learned
                .direction()
                .zip(goal.direction())
                .zip(&calibration.mean_goal)
                .map(|((sum, own), mean)| sum - served * own - (f64::from(learned.successes) - served) * mean)
                .collect(),
            None => vec![0.0; self.encoder.dims()],
        };
        let centroid = unit(
            rest.iter()
                .zip(&tool.gist)
                .zip(&self.mean_gist)
                .map(|((rest, gist), mean)| DESCRIBED * (gist - mean) + rest)
                .collect(),
        );
        let direction = unit(goal.direction().zip(&calibration.mean_goal).map(|(x, mean)| x - mean).collect());
        (if weight > 0.0 { sum / weight } else { 0.0 }) + MEANING * dot(&direction, &centroid)
    }

    /// Words and centroids with all successes, without corrections.
    fn counted(&self) -> Calibration {
        let mut postings: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.vocabulary.entries.len()];
        let mut lengths = Vec::with_capacity(self.tools.len());
        for (at, tool) in self.tools.iter().enumerate() {
            let mut weights = tool.own.clone();
            for (word, count) in self.learned.get(&tool.name).into_iter().flat_map(|learned| &learned.words) {
                let place = self.stems.of(word).and_then(|stem| self.vocabulary.places.get(&stem).copied());
                if let Some(place) = place {
                    let held = weights.entry(place).or_default();
                    *held = held.saturating_add(SUCCESS.saturating_mul(*count));
                }
            }
            lengths.push(weights.values().fold(0u32, |sum, weight| sum.saturating_add(*weight)));
            weights.iter().for_each(|(place, weight)| postings[*place as usize].push((at as u32, *weight)));
        }
        let sum: f64 = lengths.iter().map(|length| f64::from(*length)).sum();
        let average = (sum / lengths.len().max(1) as f64).max(1e-9);
        let mean_gist = &self.mean_gist;
        let ours = |learned: &&Learned| learned.encoder.as_ref() == Some(self.encoder.id());
        let mut mean_goal: Vec<f64> = mean_gist.iter().map(|x| PRIOR * x).collect();
        let mut count = PRIOR;
        for learned in self.learned.values().filter(ours) {
            mean_goal.iter_mut().zip(learned.direction()).for_each(|(sum, x)| *sum += x);
            count += f64::from(learned.successes);
        }
        mean_goal.iter_mut().for_each(|sum| *sum /= count);
        let centroid = |tool: &Tool| {
            let learned = self.learned.get(&tool.name).filter(ours);
            let mut centroid: Vec<f64> =
                tool.gist.iter().zip(mean_gist).map(|(gist, mean)| DESCRIBED * (gist - mean)).collect();
            if let Some(learned) = learned {
                let served = f64::from(learned.successes);
                let goals = learned.direction().zip(&mean_goal).map(|(sum, mean)| sum - served * mean);
                centroid.iter_mut().zip(goals).for_each(|(sum, x)| *sum += x);
            }
            unit(centroid)
        };
        let centroids = self.tools.iter().map(centroid).collect();
        let hubs = vec![0.0; self.tools.len()];
        Calibration { postings, lengths, average, mean_goal, centroids, hubs, bar: 0.0 }
    }
}

impl Vocabulary {
    fn place(&mut self, stem: &str, word: &str, times: u64, soft: &mut SoftTerms, encoder: &dyn Encoder) -> u32 {
        let Some(place) = self.places.get(stem).copied() else {
            let place = self.entries.len() as u32;
            self.places.insert(stem.to_owned(), place);
            self.entries.push((stem.to_owned(), word.to_owned()));
            self.forms.push(BTreeMap::from([(word.to_owned(), times)]));
            soft.push(word, encoder);
            return place;
        };
        let forms = &mut self.forms[place as usize];
        *forms.entry(word.to_owned()).or_default() += times;
        let held = &mut self.entries[place as usize].1;
        let before = |a: &(&String, &u64), b: &(&String, &u64)| {
            a.1.cmp(b.1).then_with(|| is_plainer(a.0, b.0).cmp(&is_plainer(b.0, a.0)))
        };
        if let Some((most, _)) = forms.iter().max_by(before).filter(|(most, _)| *most != held) {
            most.clone_into(held);
            soft.change(place, most, encoder);
        }
        place
    }
}

fn mean_gist(tools: &[Tool], dims: usize) -> Vec<f64> {
    let mut mean = vec![0.0; dims];
    for tool in tools {
        mean.iter_mut().zip(&tool.gist).for_each(|(sum, x)| *sum += x / tools.len() as f64);
    }
    mean
}

fn unit(mut vector: Vec<f64>) -> Vec<f64> {
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 1e-9 {
        vector.iter_mut().for_each(|x| *x /= length);
    } else {
        vector.fill(0.0);
    }
    vector
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
