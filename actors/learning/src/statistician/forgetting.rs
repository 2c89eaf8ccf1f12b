//! Removed episodes and records: metrics drop the ids of the episodes. A metric with nothing but forgotten content is
//! removed. A pattern whose record a person has forgotten no longer counts until it appears again.

use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::numbers::PatternDropped;

use super::model::Metric;
use super::region::{Statistician, StatisticianEvent};
use maxim_region::{Hears, Pulse};

impl Hears<RecordsRemoved> for Statistician {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        match removed.layer {
            Layer::Hippocampus => self.let_go(removed, pulse),
            Layer::AngularGyrus if removed.forgotten => {
                let is_of = |metric: &Metric| metric.record.as_ref().is_some_and(|record| removed.ids.contains(record));
                for (name, _) in self.metrics().iter().filter(|(_, metric)| is_of(metric)) {
                    pulse.keep(StatisticianEvent::Dropped { metric: name.to_owned() });
                }
            }
            _ => {}
        }
    }
}

impl Statistician {
    fn let_go(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        let held: Vec<(&str, &Metric)> = self.metrics().iter().filter(|(_, it)| it.sources.holds(removed)).collect();
        let is_open = self.goals.keys().any(|turn| removed.ids.contains(&turn.to_string()));
        if held.is_empty() && !is_open && !removed.forgotten {
            return;
        }
        for (name, metric) in held {
            if metric.sources.clone().let_go(removed) && metric.pattern.is_some() {
                let reason = "its observations were forgotten".into();
                pulse.emit(PatternDropped { metric: name.to_owned(), reason });
            }
        }
        pulse.keep_gone(StatisticianEvent::LetGo(removed.clone()), removed.forgotten);
    }
}
