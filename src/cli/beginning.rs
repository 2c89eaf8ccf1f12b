//! An id by its beginning, as people give it.

use serde_json::Value;

use super::table::printable;
use super::{CliError, Exit};

/// What ids are looked for in, and what is said where none fits.
pub struct Known<'a> {
    /// The answer of the daemon.
    pub answer: &'a Value,
    /// The member that lists what has an `id`.
    pub list: &'static str,
    /// Said of what was given where nothing begins so.
    pub missing: fn(&str) -> String,
    pub fix: &'static str,
}

impl Known<'_> {
    /// The one id that begins so.
    ///
    /// # Errors
    /// None begins so, or several do.
    pub fn whole(&self, given: &str) -> Result<String, CliError> {
        let ids = self.answer[self.list].as_array().into_iter().flatten().filter_map(|one| one["id"].as_str());
        let fits: Vec<&str> = ids.filter(|id| !given.is_empty() && id.starts_with(given)).collect();
        match fits[..] {
            [id] => Ok(id.to_owned()),
            [] => Err(CliError::new(Exit::NotHeld, (self.missing)(&format!("{:?}", printable(given))), self.fix)),
            _ => {
                let found = format!("{} ids begin with {given}", fits.len());
                Err(CliError::new(Exit::Usage, found, "give more of the id"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_beginning_that_fits_one_id_is_enough() {
        let answer = json!({"goals": [{"id": "0192-aaaa"}, {"id": "0192-bbbb"}]});
        let known =
            Known { answer: &answer, list: "goals", missing: |given| format!("there is no goal {given}"), fix: "look" };
        assert_eq!(known.whole("0192-a").expect("one"), "0192-aaaa");
        assert_eq!(known.whole("0192").expect_err("two").exit(), Exit::Usage);
        for none in ["", "0193", "0192-aaaab"] {
            let error = known.whole(none).expect_err("none");
            assert_eq!(error.exit(), Exit::NotHeld);
            assert!(error.to_string().contains(&format!("there is no goal {none:?}")), "{error}");
        }
    }
}
