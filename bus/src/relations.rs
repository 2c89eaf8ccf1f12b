//! Kinds of relations between concepts, including those proposed at run time.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A mug is a container.
pub const IS_A: &str = "IS_A";
pub const HAS_PART: &str = "HAS_PART";
pub const PART_OF: &str = "PART_OF";
pub const CAUSES: &str = "CAUSES";
pub const PROPERTY_OF: &str = "PROPERTY_OF";
pub const EXECUTES_WITH: &str = "EXECUTES_WITH";
pub const PREDICTS: &str = "PREDICTS";
/// With phase and coupling.
pub const PHASE_LOCKED_TO: &str = "PHASE_LOCKED_TO";
pub const TRENDS_WITH: &str = "TRENDS_WITH";
pub const CORRELATES_WITH: &str = "CORRELATES_WITH";
pub const RELATED_TO: &str = "RELATED_TO";

/// Relation types at most, so that outsiders can't fill the registry.
pub const MOST_TYPES: usize = 256;

/// Activation that passes against the direction of a relation that isn't symmetric, as a share of its weight.
pub const AGAINST: f64 = 0.5;

/// A kind of relation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelationType {
    pub name: String,
    pub symmetric: bool,
    /// The inverse type, which says the same from the other side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inverse: Option<String>,
    /// Who proposed it; none for built-in types.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// A proposal that the registry refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRegistered {
    #[error("relation type {0:?} is not usable: give 1 to 48 letters, digits and '_', starting with a letter")]
    Name(String),
    #[error("relation type {name} is registered already as {known}; use it as it is, or choose another name")]
    Differs { name: String, known: String },
    #[error("relation type {0} can't be symmetric and have an inverse; give one of them")]
    Both(String),
    #[error("there are {MOST_TYPES} relation types; use one of them")]
    Full,
}

/// All types, by name. The built-in ones can't be changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelationTypes {
    types: BTreeMap<String, RelationType>,
}

impl Default for RelationTypes {
    fn default() -> Self {
        let built_in = [
            (IS_A, false, None),
            (HAS_PART, false, Some(PART_OF)),
            (PART_OF, false, Some(HAS_PART)),
            (CAUSES, false, None),
            (PROPERTY_OF, false, None),
            (EXECUTES_WITH, false, None),
            (PREDICTS, false, None),
            (PHASE_LOCKED_TO, false, None),
            (TRENDS_WITH, true, None),
            (CORRELATES_WITH, true, None),
            (RELATED_TO, true, None),
        ];
        let types = built_in.map(|(name, symmetric, inverse)| {
            let inverse = inverse.map(str::to_owned);
            (name.to_owned(), RelationType { name: name.into(), symmetric, inverse, by: None, at: None })
        });
        Self { types: types.into() }
    }
}

/// Normalizes a name: "is a", "Is-A" and "IS_A" give the same result.
pub fn normal_type(name: &str) -> String {
    let upper = name.trim().to_uppercase();
    upper.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

impl RelationTypes {
    pub fn get(&self, name: &str) -> Option<&RelationType> {
        self.types.get(&normal_type(name))
    }

    pub fn iter(&self) -> impl Iterator<Item = &RelationType> {
        self.types.values()
    }

    pub fn len(&self) -> usize {
        self.types.len()
    }

    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    pub fn is_symmetric(&self, name: &str) -> bool {
        self.get(name).is_some_and(|kind| kind.symmetric)
    }

    /// What a proposal would add: the type, and its inverse where one is named. Empty if both are already known as
    /// proposed.
    ///
    /// # Errors
    /// The name is malformed, or another type has it.
    pub fn propose(
        &self,
        name: &str,
        symmetric: bool,
        inverse: Option<&str>,
        by: &str,
        at: Timestamp,
    ) -> Result<Vec<RelationType>, NotRegistered> {
        let (name, inverse) = (checked(name)?, inverse.map(checked).transpose()?);
        if symmetric && inverse.is_some() {
            return Err(NotRegistered::Both(name));
        }
        let typed = |name: &String, inverse: Option<&String>| RelationType {
            name: name.clone(),
            symmetric,
            inverse: inverse.cloned(),
            by: Some(by.chars().take(100).collect()),
            at: Some(at),
        };
        let mut wanted = vec![typed(&name, inverse.as_ref())];
        if let Some(inverse) = inverse.filter(|inverse| *inverse != name) {
            wanted.push(typed(&inverse, Some(&name)));
        }
        let mut fresh = Vec::new();
        for kind in wanted {
            match self.types.get(&kind.name) {
                None => fresh.push(kind),
                Some(known) if known.symmetric == kind.symmetric && known.inverse == kind.inverse => {}
                Some(known) => return Err(differs(known)),
            }
        }
        if self.types.len() + fresh.len() > MOST_TYPES { Err(NotRegistered::Full) } else { Ok(fresh) }
    }

    pub fn register(&mut self, kind: RelationType) {
        self.types.entry(kind.name.clone()).or_insert(kind);
    }
}

fn differs(known: &RelationType) -> NotRegistered {
    let words = match (&known.inverse, known.symmetric) {
        (Some(inverse), _) => format!("the inverse of {inverse}"),
        (None, true) => "symmetric".into(),
        (None, false) => "directed".into(),
    };
    NotRegistered::Differs { name: known.name.clone(), known: words }
}

fn checked(name: &str) -> Result<String, NotRegistered> {
    let normal = normal_type(name);
    let good = normal.starts_with(|c: char| c.is_ascii_alphabetic())
        && normal.len() <= 48
        && normal.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if good { Ok(normal) } else { Err(NotRegistered::Name(name.chars().take(60).collect())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn propose(types: &RelationTypes, name: &str, symmetric: bool, inverse: Option<&str>) -> Result<usize, String> {
        let fresh = types.propose(name, symmetric, inverse, "anna", Timestamp::UNIX_EPOCH);
        fresh.map(|fresh| fresh.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn names_are_read_in_any_spelling() {
        let types = RelationTypes::default();
        assert_eq!(types.get("is a").map(|kind| kind.name.as_str()), Some(IS_A));
        assert_eq!(types.get("part-of").and_then(|kind| kind.inverse.as_deref()), Some(HAS_PART));
        assert!(types.is_symmetric("trends_with") && !types.is_symmetric("causes"));
        assert!(types.get("likes").is_none());
    }

    #[test]
    fn a_new_type_brings_its_inverse_and_is_remembered_with_who_proposed_it() {
        let mut types = RelationTypes::default();
        let fresh = types.propose("employs", false, Some("works for"), "anna", Timestamp::UNIX_EPOCH);
        fresh.expect("new").into_iter().for_each(|kind| types.register(kind));
        assert_eq!(types.get("WORKS_FOR").and_then(|kind| kind.inverse.as_deref()), Some("EMPLOYS"));
        assert_eq!(types.get("employs").and_then(|kind| kind.by.as_deref()), Some("anna"));
        assert_eq!(propose(&types, "Employs", false, Some("WORKS FOR")), Ok(0));
        let text = serde_json::to_string(&types).expect("plain data");
        assert_eq!(serde_json::from_str::<RelationTypes>(&text).expect("its own form"), types);
    }

    #[test]
    fn what_is_known_otherwise_or_no_name_is_refused_with_the_reason() {
        let types = RelationTypes::default();
        assert!(propose(&types, "is_a", true, None).expect_err("known").contains("IS_A is registered already"));
        assert!(propose(&types, "17", false, None).expect_err("no name").contains("\"17\""));
        assert!(propose(&types, "x", true, Some("y")).expect_err("both").contains("symmetric"));
        assert_eq!(propose(&types, "related to", true, None), Ok(0));
    }
}
