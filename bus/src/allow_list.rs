//! Who may: a list of names that a person wrote, closed unless it says otherwise.

use serde::{Deserialize, Serialize};

/// Names of senders or recipients. An entry is a whole name in any case, `*` for everybody, or `*` before an ending, such
/// as `*@example.org`. An empty list holds nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AllowList(Vec<String>);

impl AllowList {
    pub fn new(entries: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(entries.into_iter().map(Into::into).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn holds(&self, name: &str) -> bool {
        let name = name.trim().to_lowercase();
        !name.is_empty()
            && self.0.iter().map(|entry| entry.trim().to_lowercase()).any(|entry| match entry.strip_prefix('*') {
                Some(ending) => name.ends_with(ending),
                None => name == entry,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_holds_nobody_and_a_star_stands_for_a_beginning() {
        assert!(!AllowList::default().holds("anna"));
        let list = AllowList::new(["+15550100", "*@example.org", "Bo"]);
        for name in ["+15550100", "anna@example.org", "ANNA@Example.Org", "bo", " Bo "] {
            assert!(list.holds(name), "{name}");
        }
        for name in ["+155501001", "anna@example.org.evil", "", "b", "+1555010"] {
            assert!(!list.holds(name), "{name}");
        }
        assert!(AllowList::new(["*"]).holds("anybody"));
        assert!(!AllowList::new(["*", ""]).holds(""));
    }
}
