//! The configured numbers as the rooms' laws.

use jiff::SignedDuration;
use maxim_actors::learning::bridges::{AskingLaw, ContextLaw};
use maxim_actors::learning::cerebellum::program::SkillLaw;
use maxim_actors::learning::intraparietal_sulcus::law::QuickLaw;
use maxim_actors::learning::nucleus_accumbens::law::PredictionLaw;
use maxim_actors::learning::significance::law::SignificanceLaw;
use maxim_actors::learning::statistician::law::PatternLaw;
use maxim_actors::memory::anterior_temporal_lobe::model::ConceptLaw;
use maxim_actors::memory::entorhinal_cortex::law::LikenessWeights;
use maxim_actors::memory::hippocampus::law::LinkLaw;
use maxim_actors::memory::hippocampus::retention::RetentionLaw;
use maxim_actors::memory::hippocampus::spreading::Spreading;
use maxim_actors::memory::hippocampus::text_index::Weights;
use maxim_actors::memory::suprachiasmatic_nucleus::oscillators::HebbLaw;
use maxim_actors::memory::suprachiasmatic_nucleus::rhythm::RhythmLaw;

use super::words::signed;
use crate::config::{self, Settings};

/// The laws of the rooms that remember and learn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Laws {
    pub links: LinkLaw,
    pub recall: Weights,
    pub retention: RetentionLaw,
    pub hebb: HebbLaw,
    pub rhythm: RhythmLaw,
    pub prediction: PredictionLaw,
    pub likeness: LikenessWeights,
    pub concepts: ConceptLaw,
    pub quick: QuickLaw,
    pub patterns: PatternLaw,
    pub skills: SkillLaw,
    pub significance: SignificanceLaw,
    pub contexts: ContextLaw,
    pub asking: AskingLaw,
}

impl Laws {
    pub fn of(settings: &Settings) -> Self {
        Self {
            links: links(&settings.hippocampus),
            recall: recall(&settings.recall),
            retention: retention(&settings.sleep),
            hebb: clocks(&settings.suprachiasmatic_nucleus).0,
            rhythm: clocks(&settings.suprachiasmatic_nucleus).1,
            prediction: prediction(&settings.nucleus_accumbens),
            likeness: likeness(&settings.entorhinal_cortex),
            concepts: concepts(&settings.anterior_temporal_lobe),
            quick: quick(&settings.intraparietal_sulcus),
            patterns: patterns(&settings.statistician),
            skills: skills(&settings.cerebellum),
            significance: significance(&settings.significance),
            contexts: bridges(&settings.bridges).0,
            asking: bridges(&settings.bridges).1,
        }
    }
}

fn links(keys: &config::HippocampusLaw) -> LinkLaw {
    let config::HippocampusLaw {
        association_overlap,
        association_goal,
        association_proximity,
        association_floor,
        associations_max,
        surprise,
        causes_max,
        sitting_gap,
        spreading_decay,
        spreading_hops,
        spreading_floor,
    } = keys;
    LinkLaw {
        overlap: *association_overlap,
        goal: *association_goal,
        proximity: *association_proximity,
        floor: *association_floor,
        associations: *associations_max as usize,
        surprise: *surprise,
        causes: *causes_max as usize,
        sitting_gap: signed(sitting_gap.get()),
        spreading: Spreading { decay: *spreading_decay, hops: *spreading_hops as usize, cut_off: *spreading_floor },
    }
}

fn recall(keys: &config::RecallLaw) -> Weights {
    let config::RecallLaw {
        neighbour_decay,
        neighbour_steps,
        silent,
        sitting,
        date,
        other_people,
        mention,
        answer,
        question,
        follow,
        particular,
        related_words,
        word_forms,
        meaning,
        meaning_near,
        encoder_meaning,
        encoder_meaning_near,
    } = keys;
    Weights {
        neighbour_decay: *neighbour_decay as f32,
        neighbour_steps: *neighbour_steps as usize,
        silent: *silent as f32,
        sitting: *sitting as f32,
        date: *date as f32,
        other: *other_people as f32,
        mention: *mention as f32,
        answer: *answer as f32,
        question: *question as f32,
        follow: *follow as f32,
        particular: *particular as f32,
        related: *related_words as usize,
        forms: *word_forms as f32,
        alike: *meaning as f32,
        alike_near: *meaning_near as f32,
        meant: *encoder_meaning as f32,
        meant_near: *encoder_meaning_near as f32,
    }
}

fn bridges(keys: &config::BridgeLaw) -> (ContextLaw, AskingLaw) {
    let config::BridgeLaw {
        danger_similar_from,
        danger_cases_min,
        asking_cases_min,
        asking_unanswered_below,
        asking_trusted_from,
        asking_unwanted_to,
        asking_holds,
    } = keys;
    let asking = AskingLaw {
        least: *asking_cases_min,
        unanswered: *asking_unanswered_below,
        trusted: *asking_trusted_from,
        unwanted: *asking_unwanted_to,
        holds: signed(asking_holds.get()),
    };
    (ContextLaw { similar: *danger_similar_from, least: *danger_cases_min as usize }, asking)
}

fn days(span: SignedDuration) -> f64 {
    span.as_secs_f64() / 86_400.0
}

fn retention(keys: &config::SleepLaw) -> RetentionLaw {
    let config::SleepLaw {
        trace_decay,
        idle,
        remove_below,
        whole_from,
        edge,
        salience,
        novelty,
        success,
        person,
        sole_factor,
    } = keys;
    RetentionLaw {
        trace_decay: *trace_decay,
        idle_days: days(signed(idle.get())),
        low: *remove_below,
        whole: *whole_from,
        sole: *sole_factor,
        edge: *edge,
        salience: *salience,
        novelty: *novelty,
        success: *success,
        person: *person,
    }
}

fn clocks(keys: &config::ClockLaw) -> (HebbLaw, RhythmLaw) {
    let config::ClockLaw { coupling, hebb_rate, hebb_keep, hebb_max, false_discoveries, rhythm_events_min } = keys;
    let hebb = HebbLaw { coupling: *coupling, rate: *hebb_rate, keep: *hebb_keep, most: *hebb_max };
    (hebb, RhythmLaw { false_discoveries: *false_discoveries, least_events: *rhythm_events_min })
}

fn prediction(keys: &config::AccumbensLaw) -> PredictionLaw {
    let config::AccumbensLaw {
        kinds_max: _,
        confidence_first,
        confidence_growth,
        confidence_max,
        recency_half_life,
        recency_floor,
        strange_context,
        context_prior,
        borrowed,
        lends_from,
    } = keys;
    PredictionLaw {
        confidence_first: *confidence_first,
        confidence_growth: *confidence_growth,
        confidence_most: *confidence_max,
        half_life: signed(recency_half_life.get()),
        recency_floor: *recency_floor,
        strange_context: *strange_context,
        context_prior: *context_prior,
        borrowed: *borrowed,
        lends_from: *lends_from,
    }
}

fn likeness(keys: &config::LikenessLaw) -> LikenessWeights {
    let config::LikenessLaw { semantic, structural, temporal, context } = keys;
    LikenessWeights { semantic: *semantic, structural: *structural, temporal: *temporal, context: *context }
}

fn concepts(keys: &config::ConceptLaw) -> ConceptLaw {
    let config::ConceptLaw { same_name, consolidated_after, confidence_first, confidence_growth, confidence_max } =
        keys;
    ConceptLaw {
        same: *same_name,
        consolidated_after: signed(consolidated_after.get()),
        confidence_first: *confidence_first,
        confidence_growth: *confidence_growth,
        confidence_most: *confidence_max,
    }
}

/// Days after which a record of numbers that nobody asked for is made small.
pub fn numbers(keys: &config::NumberLaw) -> f64 {
    let config::NumberLaw { consolidated_after } = keys;
    days(signed(consolidated_after.get()))
}

fn quick(keys: &config::QuickLaw) -> QuickLaw {
    let config::QuickLaw { weber, odd_from, significance, values_min } = keys;
    QuickLaw { weber: *weber, least_values: *values_min as usize, significance: *significance, odd: *odd_from }
}

fn patterns(keys: &config::PatternLaw) -> PatternLaw {
    let config::PatternLaw { sure, times, asks_after, broken, misses, promoted_from } = keys;
    PatternLaw {
        sure: *sure,
        times: *times,
        enough: *asks_after as usize,
        broken: *broken,
        misses: *misses,
        promoted_from: *promoted_from,
    }
}

fn skills(keys: &config::SkillLaw) -> SkillLaw {
    let config::SkillLaw {
        repetitions,
        gain,
        loss,
        offered_from,
        forgotten_below,
        predicts_from,
        felt_from,
        confidence_first,
        confidence_growth,
        confidence_max,
    } = keys;
    SkillLaw {
        repetitions: *repetitions as usize,
        gain: *gain,
        loss: *loss,
        offered: *offered_from,
        forgotten: *forgotten_below,
        predicts_from: *predicts_from,
        felt: *felt_from,
        confidence_first: *confidence_first,
        confidence_growth: *confidence_growth,
        confidence_most: *confidence_max,
    }
}

fn significance(keys: &config::SignificanceLaw) -> SignificanceLaw {
    let config::SignificanceLaw { judged_after, eta, surprise } = keys;
    SignificanceLaw { judged_after: signed(judged_after.get()), eta: *eta, surprise: *surprise }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configurations_defaults_are_the_laws_own() {
        assert_eq!(Laws::of(&Settings::default()), Laws::default());
    }
}
