//! Episodes of a file whose ids belong to other episodes here. A record that depends on such an episode is still
//! imported, but without the episode's id, as if sleep had removed it. Otherwise it would seem to be about the other
//! episode.

use std::collections::BTreeSet;

use maxim_bus::signals::concepts::Layer;
use maxim_bus::signals::layers::Named;
use serde_json::Value as Json;

use crate::source_hash;

/// Members of records that hold a list of episode ids. Beside the list, `others` says whether there were more.
const LISTS: [&str; 2] = ["episodes", "evidence"];
/// A member that holds pairs of an id and what was said in that episode.
const SAID: &str = "said";
/// A member that holds one id, empty when it is removed.
const ONE: &str = "episode";
/// A member that holds hashes of ids (`FewSources`), or such members by name; empty when not all are known.
const HASHES: &str = "of";

/// The refused episodes of a file.
pub(super) struct Refused {
    ids: BTreeSet<String>,
    hashes: BTreeSet<u64>,
}

impl Refused {
    /// The records that have no id here.
    pub fn among(names: &[Named]) -> Self {
        let refused = names.iter().filter(|named| named.record.layer == Layer::Hippocampus && named.here.is_none());
        let ids: BTreeSet<String> = refused.map(|named| named.record.id.clone()).collect();
        let hashes = ids.iter().map(|id| source_hash(id)).collect();
        Self { ids, hashes }
    }

    /// Removes their ids from a record.
    pub fn leave_out_of(&self, record: &mut Json) {
        if self.ids.is_empty() {
            return;
        }
        match record {
            Json::Array(items) => items.iter_mut().for_each(|item| self.leave_out_of(item)),
            Json::Object(members) => {
                let mut is_less = false;
                for (name, value) in members.iter_mut() {
                    match (name.as_str(), &mut *value) {
                        (list, Json::Array(items)) if LISTS.contains(&list) || list == SAID => {
                            let before = items.len();
                            items.retain(|item| !self.is_one(item) && !self.is_one(&item[0]));
                            is_less |= items.len() < before;
                        }
                        (HASHES, Json::Object(lists)) => lists.values_mut().for_each(|list| self.unname(list)),
                        (HASHES, list) => self.unname(list),
                        (ONE, one) if self.is_one(one) => *one = "".into(),
                        _ => {}
                    }
                    self.leave_out_of(value);
                }
                if let Some(others) = members.get_mut("others").filter(|_| is_less) {
                    *others = true.into();
                }
            }
            _ => {}
        }
    }

    fn is_one(&self, id: &Json) -> bool {
        id.as_str().is_some_and(|id| self.ids.contains(id))
    }

    fn unname(&self, hashes: &mut Json) {
        let Some(list) = hashes.as_array_mut() else { return };
        if list.iter().filter_map(Json::as_u64).any(|hash| self.hashes.contains(&hash)) {
            list.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::signals::concepts::MemoryRef;
    use serde_json::json;

    use super::*;
    use crate::{FewSources, Sources};

    #[test]
    fn only_what_has_an_id_of_another_here_is_left_out() {
        let named = |layer, id: &str, here: Option<&str>| Named {
            record: MemoryRef::new(layer, id),
            here: here.map(str::to_owned),
        };
        let refused = Refused::among(&[
            named(Layer::Hippocampus, "a", None),
            named(Layer::Hippocampus, "b", Some("b")),
            named(Layer::Atl, "c", None),
        ]);
        let sources = |ids: &[&str]| {
            let mut sources = Sources::default();
            ids.iter().for_each(|id| sources.note(id, 9));
            sources
        };
        let few = |ids: &[&str]| {
            let mut few = FewSources::default();
            (0..).zip(ids).for_each(|(before, id)| few.note(id, before));
            few
        };
        let mut record = json!({
            "name": "a", "words": ["a", "b"],
            "links": [{"episodes": ["a", "b", "c"], "of": few(&["a", "b"])}, {"episodes": ["b"], "of": few(&["b"])}],
            "taught": sources(&["a", "b"]), "untaught": sources(&["b", "c"]),
            "by_word": {"of": {"x": few(&["a"]), "y": few(&["b"])}},
            "said": [["a", true], ["b", false]], "evidence": ["a", "b"],
            "reached": [{"episode": "a", "goal": "a"}, {"episode": "b", "goal": "a"}],
        });
        let mut left = record.clone();
        left["links"][0] = json!({"episodes": ["b", "c"], "of": []});
        left["taught"] = json!(Sources::new(["b".to_owned()].into(), true));
        left["by_word"]["of"]["x"] = json!([]);
        left["said"] = json!([["b", false]]);
        left["evidence"] = json!(["b"]);
        left["reached"][0]["episode"] = json!("");
        refused.leave_out_of(&mut record);
        assert_eq!(record, left);
    }
}
